//! Changes a file that is not farm's, such as a README: it must lose nothing of what others write.

use std::{
    fs::{self, File, Metadata, OpenOptions, Permissions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown},
    path::{Path, PathBuf},
};

use super::atomic::{refused, sync_folder};
use crate::{
    domain::{input, shell},
    error::{Context, Error, Result},
};

/// How often it is begun again; each time somebody else was quicker.
const TRIES: usize = 1000;

/// Replaces the text of a file by what `change` makes of it, whole or not at all, and flushed to the
/// disk; says whether that is another text. Whoever else edits it by this function waits. `change`
/// is called again when the file was replaced or rewritten meanwhile.
///
/// A symbolic link stays, and what it leads to is replaced. The new file has the permissions of the
/// old one and, where the system allows it, its owner and group. It is another inode: a hard link
/// keeps the old text, as it does with most editors. Writing into the old file would keep both
/// together, but a crash would leave half of a text.
///
/// # Errors
/// Those of `change`; when the file is not there, is no text, may not be written to or cannot be
/// locked; when others never leave it alone; and when the disk refuses. The old file then stands.
pub fn edit(file: &Path, change: impl Fn(&str) -> Result<String>) -> Result<bool> {
    for _ in 0..TRIES {
        let path = fs::canonicalize(file).input(|| unread(file))?;
        let Some(mut held) = hold(file, &path)? else {
            continue;
        };
        let mut old = String::new();
        held.read_to_string(&mut old).input(|| unread(file))?;
        let new = change(&old)?;
        if new == old {
            return Ok(false);
        }
        let grown = held
            .metadata()
            .and_then(|of| Grown::beside(&path, &of, new.as_bytes()))
            .map_err(|e| refused(file, e))?;
        // Editors take no lock.
        if is_at(&held, &path) && input::text(&path).is_ok_and(|now| now == old) {
            grown.replace(&path).map_err(|e| refused(file, e))?;
            return Ok(true);
        }
    }
    Err(
        Error::internal(format!("{} never stands still", file.display()))
            .hint("end what keeps writing it, then again"),
    )
}

/// The file, locked; none if it is no longer the one at `path` once it is.
fn hold(file: &Path, path: &Path) -> Result<Option<File>> {
    let of = input::open(path).and_then(|file| file.metadata());
    // Whoever may do everything may also write to what says that nobody is to.
    if of.input(|| unread(file))?.permissions().readonly() {
        return Err(unwritable(file));
    }
    let held = match OpenOptions::new().read(true).write(true).open(path) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            return Err(unwritable(file).caused_by(e));
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        held => held.input(|| unread(file))?,
    };
    held.lock().map_err(|e| {
        Error::internal(format!("{} cannot be locked: {e}", file.display()))
            .hint("copy it to a local disk and name it there")
            .caused_by(e)
    })?;
    Ok(is_at(&held, path).then_some(held))
}

fn is_at(file: &File, path: &Path) -> bool {
    let of = |of: &Metadata| (of.dev(), of.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(held), Ok(found)) => of(&held) == of(&found),
        _ => false,
    }
}

fn unread(file: &Path) -> String {
    format!("{} cannot be read", file.display())
}

fn unwritable(file: &Path) -> Error {
    let name = shell(&file.to_string_lossy());
    Error::input(format!("{} is not writable", file.display())).hint(format!(
        "`chmod u+w {name}` makes it so, if it is meant to change"
    ))
}

/// A whole file under a name of its own, until it has that of another; it goes if that never comes.
struct Grown(Option<PathBuf>);

impl Grown {
    /// In the folder of `path`, with the owner and the permissions of a file.
    fn beside(path: &Path, of: &Metadata, bytes: &[u8]) -> io::Result<Self> {
        let (grown, mut file) = Self::begin(path)?;
        // The owner first: the system takes some permissions from who gets a file.
        let (owner, group) = (Some(of.uid()), Some(of.gid()));
        if fchown(&file, owner, group).is_err() {
            // Not everybody may give a file away, or to this group.
            drop(fchown(&file, None, group));
        }
        file.set_permissions(Permissions::from_mode(of.mode()))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(grown)
    }

    fn begin(path: &Path) -> io::Result<(Self, File)> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let process = std::process::id();
        for n in 0u32.. {
            let name = path.with_file_name(format!(".farm-{process}-{n}.tmp"));
            match options.open(&name) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                file => return Ok((Self(Some(name)), file?)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn replace(mut self, path: &Path) -> io::Result<()> {
        if let Some(name) = &self.0 {
            fs::rename(name, path)?;
        }
        self.0 = None;
        sync_folder(path)
    }
}

impl Drop for Grown {
    fn drop(&mut self) {
        if let Some(name) = &self.0 {
            // Nothing can be done about one that stays.
            drop(fs::remove_file(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, os::unix::fs::symlink, thread};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_of_another_is_lost_when_many_edit_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.md");
        fs::write(&path, "").unwrap();
        thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for n in 0..20 {
                        let add = |old: &str| Ok(format!("{old}{writer}/{n}\n"));
                        assert!(edit(path, add).unwrap());
                    }
                });
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), 160);
        assert_eq!(names(dir.path()), ["a.md"]);
    }

    #[test]
    fn an_editor_that_takes_no_lock_loses_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        // Written into, and replaced.
        for replaces in [false, true] {
            fs::write(at("a.md"), "old").unwrap();
            let calls = Cell::new(0);
            let change = |old: &str| {
                calls.set(calls.get() + 1);
                if calls.get() == 1 {
                    fs::write(at("new"), "theirs").unwrap();
                    match replaces {
                        true => fs::rename(at("new"), at("a.md")).unwrap(),
                        false => drop(fs::copy(at("new"), at("a.md")).unwrap()),
                    }
                }
                Ok(format!("{old}, mine"))
            };
            assert!(edit(&at("a.md"), change).unwrap());
            assert_eq!(fs::read_to_string(at("a.md")).unwrap(), "theirs, mine");
            assert_eq!(calls.get(), 2);
        }
    }

    #[test]
    fn files_beside_it_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("a.md"), "old").unwrap();
        fs::write(at(".a.md.tmp"), "theirs").unwrap();
        fs::write(at("other"), "theirs").unwrap();
        let temporary = format!(".farm-{}-0.tmp", std::process::id());
        symlink("other", at(&temporary)).unwrap();
        symlink("a.md", at("link.md")).unwrap();
        assert!(edit(&at("link.md"), |_| Ok("new".to_owned())).unwrap());
        assert_eq!(fs::read_to_string(at("a.md")).unwrap(), "new");
        for name in [".a.md.tmp", "other"] {
            assert_eq!(fs::read_to_string(at(name)).unwrap(), "theirs");
        }
        assert!(at("link.md").is_symlink());
        let mut left = [".a.md.tmp", &temporary, "a.md", "link.md", "other"];
        left.sort_unstable();
        assert_eq!(names(dir.path()), left);
    }

    #[test]
    fn permissions_and_owner_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.md");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        // Only where the tests may give files away.
        drop(std::os::unix::fs::chown(&path, Some(12), Some(34)));
        let of = || {
            let of = fs::metadata(&path).unwrap();
            (of.mode(), of.uid(), of.gid())
        };
        let before = of();
        assert!(edit(&path, |_| Ok("new".to_owned())).unwrap());
        assert_eq!(of(), before);
    }

    #[test]
    fn what_may_not_change_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("a.md"), "old").unwrap();
        let new = |_: &str| Ok("new".to_owned());
        assert!(!edit(&at("a.md"), |old| Ok(old.to_owned())).unwrap());
        let error = edit(&at("a.md"), |_| Err(Error::input("no"))).unwrap_err();
        assert_eq!(error.message, "no");
        fs::set_permissions(at("a.md"), Permissions::from_mode(0o444)).unwrap();
        let error = edit(&at("a.md"), new).unwrap_err();
        assert!(error.message.ends_with("a.md is not writable"));
        assert!(error.hint.unwrap().contains("chmod u+w"));
        assert_eq!(fs::read_to_string(at("a.md")).unwrap(), "old");
        fs::write(at("bytes.md"), b"\xff").unwrap();
        for other in [at("none.md"), at("bytes.md"), dir.path().to_owned()] {
            let error = edit(&other, new).unwrap_err();
            assert!(error.message.ends_with(" cannot be read"), "{error}");
        }
        assert_eq!(names(dir.path()), ["a.md", "bytes.md"]);
    }
}
