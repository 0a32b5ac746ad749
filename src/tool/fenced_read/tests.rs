//! Every way out of a folder that is known, one row each.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    process::Command,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use cap_std::ambient_authority;
use tempfile::TempDir;

use super::*;

const MAX: u64 = 100;

/// `root/` is the fence; `secret`, `root2/` lie beside it.
struct Fixture {
    base: TempDir,
    dir: Dir,
}

impl Fixture {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir(base.path().join("root2")).unwrap();
        fs::write(base.path().join("secret"), "secret").unwrap();
        fs::write(base.path().join("root2/secret"), "secret").unwrap();
        fs::write(root.join("a.txt"), "inside").unwrap();
        fs::write(root.join("sub/b"), "below").unwrap();
        let dir = open(&root);
        Self { base, dir }
    }

    fn root(&self) -> std::path::PathBuf {
        self.base.path().join("root")
    }

    fn outside(&self) -> std::path::PathBuf {
        self.base.path().join("secret")
    }

    /// Reads, and checks what holds for every answer.
    fn read(&self, path: &str) -> Result<String, ReadError> {
        let result = fenced_read(&self.dir, path, MAX);
        let shown = format!(
            "{result:?} {}",
            result.clone().unwrap_or_else(|e| e.to_string())
        );
        let host = self.base.path().to_str().unwrap();
        assert!(!shown.contains("secret"), "{path}: {shown}");
        assert!(!shown.contains(host), "{path}: {shown}");
        result
    }
}

fn open(path: &Path) -> Dir {
    Dir::open_ambient_dir(path, ambient_authority()).unwrap()
}

fn ok(text: &str) -> Result<String, ReadError> {
    Ok(text.to_owned())
}

#[test]
fn names() {
    let f = Fixture::new();
    fs::write(f.root().join("%2e%2e"), "literal").unwrap();
    fs::write(f.root().join("..\\a"), "literal").unwrap();
    fs::write(f.root().join("empty"), "").unwrap();
    let absolute_inside = f.root().join("a.txt");
    let long_name = "n".repeat(256);
    let long_path = "p/".repeat(2100);
    let table = [
        ("a.txt", ok("inside")),
        ("./a.txt", ok("inside")),
        ("sub/../a.txt", ok("inside")),
        ("sub//b", ok("below")),
        ("empty", ok("")),
        ("..", Err(ReadError::Outside)),
        ("../secret", Err(ReadError::Outside)),
        ("sub/../../secret", Err(ReadError::Outside)),
        ("../root/a.txt", Err(ReadError::Outside)),
        ("../root2/secret", Err(ReadError::Outside)),
        ("/etc/passwd", Err(ReadError::Absolute)),
        ("//a.txt", Err(ReadError::Absolute)),
        (absolute_inside.to_str().unwrap(), Err(ReadError::Absolute)),
        ("", Err(ReadError::Empty)),
        ("a.txt\0", Err(ReadError::Nul)),
        ("none", Err(ReadError::NotFound)),
        ("a.txt/x", Err(ReadError::NotFound)),
        ("a.txt/", Err(ReadError::NotFound)),
        (".", Err(ReadError::Folder)),
        ("sub", Err(ReadError::Folder)),
        ("sub/", Err(ReadError::Folder)),
        // Names that mean something elsewhere are plain names here.
        ("%2e%2e", ok("literal")),
        ("..\\a", ok("literal")),
        ("%2e%2e/secret", Err(ReadError::NotFound)),
        ("..\\secret", Err(ReadError::NotFound)),
        ("file://a.txt", Err(ReadError::NotFound)),
        ("~/a.txt", Err(ReadError::NotFound)),
        ("C:\\a.txt", Err(ReadError::NotFound)),
        ("CON", Err(ReadError::NotFound)),
        ("a.txt:stream", Err(ReadError::NotFound)),
        ("\u{ff0e}\u{ff0e}/secret", Err(ReadError::NotFound)),
    ];
    for (path, want) in table {
        assert_eq!(f.read(path), want, "{path:?}");
    }
    for path in [long_name, long_path] {
        assert!(matches!(f.read(&path), Err(ReadError::Io(_))), "{path:?}");
    }
    #[cfg(target_os = "linux")]
    assert_eq!(f.read("A.TXT"), Err(ReadError::NotFound));
}

#[test]
fn symbolic_links() {
    let f = Fixture::new();
    let link = |name: &str, to: &Path| symlink(to, f.root().join(name)).unwrap();
    link("inside", Path::new("sub/b"));
    link("up", Path::new("sub/../a.txt"));
    link("folder", Path::new("sub"));
    link("absolute_inside", &f.root().join("a.txt"));
    link("outside", Path::new("../secret"));
    link("absolute_outside", &f.outside());
    link("folder_outside", Path::new("../root2"));
    link("out_and_back", Path::new("../root/a.txt"));
    link("dangling", Path::new("none"));
    link("loop", Path::new("loop"));
    let table = [
        ("inside", ok("below")),
        ("up", ok("inside")),
        ("folder/b", ok("below")),
        ("absolute_inside", Err(ReadError::Outside)),
        ("outside", Err(ReadError::Outside)),
        ("absolute_outside", Err(ReadError::Outside)),
        ("folder_outside/secret", Err(ReadError::Outside)),
        ("out_and_back", Err(ReadError::Outside)),
        ("dangling", Err(ReadError::NotFound)),
    ];
    for (path, want) in table {
        assert_eq!(f.read(path), want, "{path}");
    }
    let looping = f.read("loop");
    assert!(
        matches!(&looping, Err(ReadError::Io(why)) if why.contains("symbolic links")),
        "{looping:?}"
    );
}

#[test]
fn a_hard_link_is_refused() {
    let f = Fixture::new();
    fs::hard_link(f.outside(), f.root().join("hard")).unwrap();
    assert_eq!(f.read("hard"), Err(ReadError::HardLink));
}

#[test]
fn what_is_no_file_never_blocks() {
    let f = Fixture::new();
    let made = Command::new("mkfifo")
        .arg(f.root().join("fifo"))
        .status()
        .unwrap();
    assert!(made.success());
    let _socket = UnixListener::bind(f.root().join("socket")).unwrap();
    let devices = open(Path::new("/dev"));
    let (sender, results) = mpsc::channel();
    thread::spawn(move || {
        for path in ["fifo", "socket"] {
            sender.send((path, f.read(path))).unwrap();
        }
        for path in ["null", "zero"] {
            sender
                .send((path, fenced_read(&devices, path, MAX)))
                .unwrap();
        }
    });
    for _ in 0..4 {
        let (path, result) = results.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(result, Err(ReadError::NotRegular), "{path}");
    }
}

#[test]
fn sizes() {
    let f = Fixture::new();
    let too_large = Err(ReadError::TooLarge { max: MAX });
    fs::write(f.root().join("max"), "x".repeat(100)).unwrap();
    fs::write(f.root().join("over"), "x".repeat(101)).unwrap();
    fs::File::create(f.root().join("sparse"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    assert_eq!(f.read("max"), ok(&"x".repeat(100)));
    assert_eq!(f.read("over"), too_large);
    assert_eq!(f.read("sparse"), too_large);
    assert!(
        f.read("sparse")
            .unwrap_err()
            .to_string()
            .contains("larger than 100 bytes")
    );
    // Nothing overflows at the other end.
    assert_eq!(fenced_read(&f.dir, "a.txt", u64::MAX), ok("inside"));
    assert_eq!(
        fenced_read(&f.dir, "a.txt", 0),
        Err(ReadError::TooLarge { max: 0 })
    );
}

#[test]
fn what_is_not_text_is_named() {
    let f = Fixture::new();
    let other = "binary data, or text in another encoding";
    let table: [(&[u8], &str); 5] = [
        (b"\x89PNG\r\n\x1a\n1234", "a PNG image"),
        (b"\x1f\x8b\x08", "gzip data"),
        (b"\xff\xfea\0", "UTF-16 text"),
        (b"caf\xe9", other),
        (b"cut off: \xe2\x82", other),
    ];
    for (bytes, kind) in table {
        fs::write(f.root().join("binary"), bytes).unwrap();
        let want = ReadError::NotText {
            size: bytes.len(),
            kind,
        };
        assert_eq!(f.read("binary"), Err(want));
    }
}

/// `/proc` is a mount point on any Linux, so the root folder shows what a mount inside a fence does.
#[cfg(target_os = "linux")]
#[test]
fn another_file_system_is_refused() {
    let root = open(Path::new("/"));
    for path in ["proc/self/environ", "proc/cpuinfo"] {
        assert_eq!(
            fenced_read(&root, path, MAX),
            Err(ReadError::OtherFileSystem),
            "{path}"
        );
    }
    let magic = fenced_read(&open(Path::new("/proc")), "self/root/etc/hostname", MAX);
    assert!(
        matches!(magic, Err(ReadError::Io(_) | ReadError::Outside)),
        "{magic:?}"
    );
}

/// A link that is swapped between an inside and an outside target while it is being read.
#[test]
fn a_swapped_link_never_leads_out() {
    let f = Fixture::new();
    let root = f.root();
    symlink("a.txt", root.join("to_inside")).unwrap();
    symlink("../secret", root.join("to_outside")).unwrap();
    let done = AtomicBool::new(false);
    let (mut inside, mut refused) = (0u32, 0u32);
    thread::scope(|scope| {
        scope.spawn(|| {
            let next = root.join("next");
            while !done.load(Ordering::Relaxed) {
                for target in ["a.txt", "../secret"] {
                    symlink(target, &next).unwrap();
                    fs::rename(&next, root.join("link")).unwrap();
                }
            }
        });
        let start = Instant::now();
        let enough = |inside, refused| match start.elapsed().as_secs() {
            0 => false,
            // A busy machine may need longer to show both.
            seconds => (inside > 0 && refused > 0) || seconds > 20,
        };
        while !enough(inside, refused) {
            match fenced_read(&f.dir, "link", MAX) {
                Ok(text) if text == "inside" => inside += 1,
                Ok(text) => {
                    done.store(true, Ordering::Relaxed);
                    panic!("read {text:?}");
                }
                Err(_) => refused += 1,
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(
        inside > 0 && refused > 0,
        "no race: {inside} read, {refused} refused"
    );
}
