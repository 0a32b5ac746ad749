//! Programs under a keeper: whatever they do, nothing of them is left.
//!
//! Each has a variable that no other process of this machine has, and hands it to all that it starts:
//! what has it is there because of the test.
#![cfg(target_os = "linux")]

use std::{
    env, fs,
    os::unix::process::ExitStatusExt as _,
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use farm::fence::{KEEP, Keeper, Kept, Launch, NOT_FOUND, NOT_STARTED};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Background, Folder, PATIENCE};

/// Starts five processes that mean to stay: a plain child, one in a session of its own with a child,
/// an orphan in a session of its own, and one that is stopped. None of them minds SIGTERM.
const FAMILY: &str = r#"
trap '' TERM
sleep 120 &
setsid sh -c 'sleep 120 & wait' &
(setsid sleep 120 &)
sleep 120 &
kill -STOP $!
"#;

/// A place for programs, whose path marks them. What is left of them is killed with the test.
struct Place {
    folder: Folder,
    mark: String,
}

impl Place {
    fn new() -> Self {
        let folder = Folder::new();
        let mark = format!("FENCE_MARK={}", folder.path("").display());
        Self { folder, mark }
    }

    fn env(&self) -> Vec<(String, String)> {
        let (name, value) = self.mark.split_once('=').unwrap();
        vec![
            (name.to_owned(), value.to_owned()),
            ("PATH".to_owned(), env::var("PATH").unwrap()),
        ]
    }

    /// Starts a script under a keeper.
    fn start(&self, script: &str) -> Kept {
        self.folder.write("script", script);
        self.launch(&["sh", "script"])
    }

    fn launch(&self, command: &[&str]) -> Kept {
        let env = self.env();
        let launch = Launch {
            command: command.iter().map(Into::into).collect(),
            env: env.into_iter().map(|(a, b)| (a.into(), b.into())).collect(),
            folder: self.folder.path(""),
        };
        keeper().start(&launch).unwrap()
    }

    /// The same for a program that is not started by the library.
    fn command(&self, command: &mut Command, script: &str) -> Background {
        self.folder.write("script", script);
        let child = command
            .env_clear()
            .envs(self.env())
            .current_dir(self.folder.path(""))
            .spawn();
        Background(child.unwrap())
    }

    /// The marked processes, dead ones left out: a keeper's and its program's among them.
    fn alive(&self) -> Vec<i32> {
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|e| e.file_name().to_str()?.parse().ok());
        pids.filter(|pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let mut variables = environ.split(|b| *b == 0);
            variables.any(|v| v == self.mark.as_bytes())
        })
        .collect()
    }

    /// Waits until there are so many.
    #[track_caller]
    fn until(&self, count: impl Fn(usize) -> bool) {
        let began = Instant::now();
        while !count(self.alive().len()) {
            assert!(began.elapsed() < PATIENCE, "there are {:?}", self.shown());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Nothing is left, now.
    #[track_caller]
    fn is_empty(&self) {
        assert_eq!(self.shown(), [""; 0]);
    }

    fn shown(&self) -> Vec<String> {
        let stat = |pid| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        self.alive().into_iter().map(stat).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for pid in self.alive() {
            signal(pid, Signal::KILL);
        }
    }
}

fn keeper() -> Keeper {
    Keeper::new(assert_cmd::cargo::cargo_bin!("farm"), [KEEP, "--"])
}

fn signal(pid: i32, signal: Signal) {
    // It may be gone.
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

/// Waits for the end, and sees that nothing is left at that moment.
async fn end(place: &Place, kept: Kept) -> ExitStatus {
    let ended = tokio::time::timeout(PATIENCE, kept.ended()).await;
    let status = ended.expect("it does not end").unwrap();
    place.is_empty();
    status
}

#[tokio::test]
async fn streams_pass_and_the_end_of_the_input_ends_it() {
    let place = Place::new();
    let mut kept = place.start("echo aside >&2; cat; exit 7");
    let mut stdin = kept.stdin.take().unwrap();
    stdin.write_all(b"17 * 23\n").await.unwrap();
    let mut stdout = kept.stdout.take().unwrap();
    let mut line = [0; 8];
    stdout.read_exact(&mut line).await.unwrap();
    assert_eq!(&line, b"17 * 23\n");
    // What was on its way is not lost.
    stdin.write_all(b"391").await.unwrap();
    drop(stdin);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "391");
    let mut aside = String::new();
    let mut stderr = kept.stderr.take().unwrap();
    stderr.read_to_string(&mut aside).await.unwrap();
    assert_eq!(aside, "aside\n");
    assert_eq!(end(&place, kept).await.code(), Some(7));
}

#[tokio::test]
async fn the_end_of_the_input_ends_all() {
    let place = Place::new();
    let mut kept = place.start(&format!("{FAMILY} cat; exit 7"));
    // The keeper, the shell, its cat, and the five.
    place.until(|n| n == 8);
    drop(kept.stdin.take());
    assert_eq!(end(&place, kept).await.code(), Some(7));
}

#[tokio::test]
async fn a_program_that_ends_leaves_nobody() {
    let place = Place::new();
    let kept = place.start(&format!("{FAMILY} exit 3"));
    // Its input is still open.
    let status = tokio::time::timeout(PATIENCE, kept.ended()).await;
    place.is_empty();
    assert_eq!(status.unwrap().unwrap().code(), Some(3));
}

#[tokio::test]
async fn who_minds_no_signal_is_killed() {
    let place = Place::new();
    let mut kept = place.start(&format!("{FAMILY} while :; do sleep 1; done"));
    place.until(|n| n >= 8);
    drop(kept.stdin.take());
    assert_eq!(end(&place, kept).await.code(), Some(128 + 9));
}

#[tokio::test]
async fn who_minds_sigterm_may_clean_up() {
    let place = Place::new();
    let script = "trap 'echo > cleaned; exit 5' TERM; echo > ready; while :; do sleep 0.01; done";
    let kept = place.start(script);
    place.folder.wait_for("ready");
    kept.stop();
    assert_eq!(end(&place, kept).await.code(), Some(5));
    assert_eq!(place.folder.read("cleaned"), "\n");
}

#[tokio::test]
async fn forking_on_and_on_does_not_help() {
    let hare = "[ $1 = 0 ] || setsid sh hare $(($1 - 1)) &";
    let table = [
        (
            "i=0; while [ $i -lt 400 ]; do sleep 120 & i=$((i + 1)); done; wait",
            100,
        ),
        // Each lives for a moment, in a session of its own, and is an orphan.
        ("sh hare 5000; sh hare 5000; sh hare 5000; sleep 120", 2),
    ];
    for (script, many) in table {
        let place = Place::new();
        place.folder.write("hare", hare);
        let kept = place.start(script);
        place.until(|n| n >= many);
        kept.stop();
        end(&place, kept).await;
    }
}

#[tokio::test]
async fn a_program_that_does_not_read_ends_too() {
    let place = Place::new();
    let mut kept = place.start("echo > ready; while :; do sleep 1; done");
    place.folder.wait_for("ready");
    let mut stdin = kept.stdin.take().unwrap();
    let full = async {
        loop {
            stdin.write_all(&[b'x'; 4096]).await.unwrap();
        }
    };
    // Asked once, it writes for as long as the pipe has room.
    tokio::select! {
        biased;
        () = full => {}
        () = std::future::ready(()) => {}
    }
    drop(stdin);
    assert_eq!(end(&place, kept).await.code(), Some(128 + 15));
}

#[tokio::test]
async fn nobody_needs_to_wait() {
    let place = Place::new();
    let mut kept = place.start(&format!("{FAMILY} cat"));
    place.until(|n| n == 8);
    let me = rustix::process::getpid().as_raw_pid();
    let keeper = *place
        .alive()
        .iter()
        .find(|p| parent(**p) == Some(me))
        .unwrap();
    // Somebody else may still hold on to the streams.
    let _streams = (kept.stdin.take(), kept.stdout.take());
    drop(kept);
    let began = Instant::now();
    // Until it is reaped, there is a line for it.
    while parent(keeper) == Some(me) {
        assert!(began.elapsed() < PATIENCE, "the keeper is not reaped");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    place.is_empty();
}

fn parent(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let parent = status.lines().find_map(|l| l.strip_prefix("PPid:"));
    parent?.trim().parse().ok()
}

#[tokio::test]
async fn a_closed_output_is_heard() {
    let place = Place::new();
    let mut kept = place.start("exec >&-; cat; exit 4");
    let mut said = String::new();
    let mut stdout = kept.stdout.take().unwrap();
    let read = stdout.read_to_string(&mut said);
    let heard = tokio::time::timeout(PATIENCE, read).await;
    assert_eq!(heard.expect("it is not heard").unwrap(), 0);
    drop(kept.stdin.take());
    assert_eq!(end(&place, kept).await.code(), Some(4));
}

#[tokio::test]
async fn the_environment_is_what_was_given() {
    let place = Place::new();
    let table = [
        vec!["env", "-0"],
        // The keeper has no more to show.
        vec!["sh", "-c", "cat /proc/$PPID/environ"],
    ];
    for command in table {
        let mut kept = place.launch(&command);
        let mut said = String::new();
        let mut stdout = kept.stdout.take().unwrap();
        stdout.read_to_string(&mut said).await.unwrap();
        let env = place.env();
        let want: String = env.iter().map(|(a, b)| format!("{a}={b}\0")).collect();
        assert_eq!(said, want, "{command:?}");
        assert_eq!(end(&place, kept).await.code(), Some(0));
    }
}

#[tokio::test]
async fn what_cannot_be_started_is_told() {
    let place = Place::new();
    place.folder.write("text", "no program");
    let table = [
        (
            "nobody-knows-this",
            NOT_FOUND,
            "cannot start \"nobody-knows-this\": there is no such program, or what runs it is not there\n",
        ),
        (
            "./text",
            NOT_STARTED,
            "cannot start \"./text\": Permission denied (os error 13)\n",
        ),
    ];
    for (program, code, why) in table {
        let mut kept = place.launch(&[program]);
        let mut said = String::new();
        let mut stderr = kept.stderr.take().unwrap();
        stderr.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, why);
        assert_eq!(end(&place, kept).await.code(), Some(i32::from(code)));
    }
    let mut launch = Launch {
        command: vec!["true".into()],
        env: Vec::new(),
        folder: place.folder.path("missing"),
    };
    assert!(keeper().start(&launch).is_err());
    launch.command.clear();
    launch.folder = place.folder.path("");
    assert!(keeper().start(&launch).is_err());
}

#[tokio::test]
async fn what_a_killed_keeper_leaves_is_ended() {
    let place = Place::new();
    let script = "trap '' TERM; sleep 120 & setsid sh -c 'sleep 120 & wait' & kill -9 $PPID; wait";
    let kept = place.start(script);
    let status = end(&place, kept).await;
    assert_eq!(status.signal(), Some(9));
}

#[tokio::test]
async fn a_stopped_keeper_is_not_waited_for() {
    let place = Place::new();
    let kept = place.start(&format!("{FAMILY} kill -STOP $PPID; echo > ready; wait"));
    place.folder.wait_for("ready");
    place.until(|n| n == 7);
    kept.stop();
    assert_eq!(end(&place, kept).await.signal(), Some(9));
}

/// A keeper whose parent is a shell of the test, and its input a named pipe.
fn under_a_shell(place: &Place, shell: &str, script: &str) -> Background {
    let farm = assert_cmd::cargo::cargo_bin!("farm");
    let keep = format!("mkfifo in; \"$0\" {KEEP} -- sh script < in & {shell}");
    let mut command = Command::new("sh");
    let shell = place.command(command.args(["-c", &keep]).arg(farm), script);
    place.folder.wait_for("ready");
    shell
}

#[test]
fn the_death_of_the_owner_ends_all() {
    // What is in its input is read by nobody.
    let script = format!("{FAMILY} echo > ready; while :; do sleep 1; done");
    let place = Place::new();
    let shell = under_a_shell(&place, "exec > in; echo 17; exec sleep 120", &script);
    place.until(|n| n >= 9);
    drop(shell);
    place.until(|n| n == 0);
}

#[test]
fn holding_the_own_input_does_not_help() {
    let script = format!("{FAMILY} exec 9> /proc/self/fd/0; echo > ready; sleep 120");
    let place = Place::new();
    let shell = under_a_shell(&place, "exec > in; exec sleep 120", &script);
    place.until(|n| n == 9);
    drop(shell);
    place.until(|n| n == 0);
}

#[test]
fn the_end_of_the_input_counts_and_not_who_started_it() {
    // The keeper's parent lives on; the pipe is held by another process.
    let script = format!("{FAMILY} echo > ready; cat; sleep 120");
    let place = Place::new();
    let holder = "sh -c 'echo $$ > holder; exec sleep 120' > in & sleep 120";
    let shell = under_a_shell(&place, holder, &script);
    place.until(|n| n == 11);
    let holder = place.folder.read("holder").trim().parse().unwrap();
    signal(holder, Signal::KILL);
    // The shell and its sleep.
    place.until(|n| n == 2);
    drop(shell);
}

#[test]
fn signals_to_the_keeper_end_all() {
    let script = format!("{FAMILY} trap - TERM; echo > ready; wait");
    let farm = assert_cmd::cargo::cargo_bin!("farm");
    for kind in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        let place = Place::new();
        let mut command = Command::new(farm);
        command.args([KEEP, "--", "sh", "script"]);
        let mut keeper = place.command(command.stdin(Stdio::piped()), &script);
        place.folder.wait_for("ready");
        place.until(|n| n == 7);
        signal(keeper.0.id().cast_signed(), kind);
        let input = keeper.0.stdin.take();
        let status = keeper.0.wait().unwrap();
        drop(input);
        place.is_empty();
        assert_eq!(status.code(), Some(128 + 15), "{kind:?}");
    }
}
