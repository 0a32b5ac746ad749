//! farm in the background: what it says on the way, signals that it gets, and how it ends.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
};

use crate::support::{Background, Folder, PATIENCE, process};

/// farm at work in a folder; it is killed with the test.
pub(crate) struct Running {
    child: Background,
    /// Lines of stderr, read at once: nobody waits for a reader.
    said: Receiver<String>,
}

impl Running {
    /// Starts it with these arguments.
    pub(crate) fn start<'a>(folder: &Folder, args: impl IntoIterator<Item = &'a str>) -> Self {
        Self::start_with(folder, args, &[])
    }

    /// The same with these variables.
    pub(crate) fn start_with<'a>(
        folder: &Folder,
        args: impl IntoIterator<Item = &'a str>,
        env: &[(&str, &str)],
    ) -> Self {
        let child = process()
            .args(args)
            .envs(env.iter().copied())
            .current_dir(folder.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = Background(child.unwrap());
        let stderr = BufReader::new(child.0.stderr.take().unwrap());
        let (say, said) = channel();
        thread::spawn(move || {
            let lines = stderr.lines().map_while(Result::ok);
            // Nobody listens any more when the test is over.
            lines.map(|line| say.send(line)).find(Result::is_err)
        });
        Self { child, said }
    }

    /// Reads on to a line that holds these words.
    #[track_caller]
    pub(crate) fn until(&mut self, words: &str) {
        let mut said = String::new();
        loop {
            let Ok(line) = self.said.recv_timeout(PATIENCE) else {
                panic!("it did not say {words:?}:\n{said}");
            };
            if line.contains(words) {
                return;
            }
            said += &line;
            said.push('\n');
        }
    }

    /// Sends SIG`name`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.0.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end: the exit code, none when a signal ended it, and what it said since it was
    /// listened to last.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let rest = self.said.iter().map(|line| line + "\n").collect();
        (self.child.0.wait().unwrap().code(), rest)
    }
}
