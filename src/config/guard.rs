//! Keeps the sealed halves out of everything that an agent, or who writes for it, is given.

use std::{
    collections::HashSet,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{Resolved, files, kinds::Misfit};
use crate::error::Problem;

/// Which file or folder something is, by whatever path, link or mount it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// What a path leads to, links followed.
    ///
    /// # Errors
    /// When nothing is there, or it may not be looked at.
    pub fn of(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|metadata| Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }

    /// A path and the folders above it, as far as they are there. Links are followed, and a part
    /// that is not there yet is taken as it is written.
    pub fn with_all_above(path: &Path) -> impl Iterator<Item = Self> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut real = PathBuf::new();
        for part in path.components() {
            real.push(part);
            real = match real.canonicalize() {
                Ok(there) => there,
                Err(_) if part == std::path::Component::ParentDir => {
                    real.pop();
                    real.pop();
                    real
                }
                Err(_) => real,
            };
        }
        let above: Vec<Self> = real
            .ancestors()
            .filter_map(|at| Self::of(at).ok())
            .collect();
        above.into_iter()
    }
}

/// What is sealed, and what stands beside it.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    /// No file that is read for another purpose may be one of these.
    sealed: HashSet<FileId>,
    /// No folder that is given to an agent may hold one of these: the sealed files, and the files
    /// in their folders.
    beside: HashSet<FileId>,
    /// The folders of sealed files, and all above them.
    above: HashSet<FileId>,
}

impl Guard {
    /// Guards the sealed file at this path, whether it is there yet or not, and all files of
    /// `folder`, where sealed files are kept when nothing else is said.
    #[must_use]
    pub fn new(sealed: Option<&Path>, folder: &Path) -> Self {
        let mut guard = Self::default();
        guard.sealed.extend(files_in(folder));
        if let Some(file) = sealed {
            guard.sealed.extend(FileId::of(file));
            // A link stands in another folder than what it leads to.
            for file in [Some(file.to_owned()), file.canonicalize().ok()] {
                guard.folder(file.as_deref().and_then(Path::parent));
            }
        }
        if folder.is_dir() {
            guard.folder(Some(folder));
        }
        guard.beside.extend(guard.sealed.iter().copied());
        guard
    }

    fn folder(&mut self, folder: Option<&Path>) {
        let Some(folder) = folder else { return };
        let here = Path::new(".");
        let folder = if folder.as_os_str().is_empty() {
            here
        } else {
            folder
        };
        self.beside.extend(files_in(folder));
        self.above.extend(FileId::with_all_above(folder));
    }

    /// Whether a file is a sealed one, or another name of it.
    #[must_use]
    pub fn is_sealed(&self, file: &Path) -> bool {
        FileId::of(file).is_ok_and(|id| self.sealed.contains(&id))
    }

    /// Whether a folder is, or holds, one with a sealed file, or holds another name of a file in
    /// such a folder.
    #[must_use]
    pub fn is_held_by(&self, folder: &Path) -> bool {
        let is_above = FileId::of(folder).is_ok_and(|id| self.above.contains(&id));
        let holds = |(_, file): &(String, PathBuf)| {
            FileId::of(file).is_ok_and(|id| self.beside.contains(&id))
        };
        // A folder that cannot be listed is refused for that, where it is read.
        is_above || files::list(folder).is_ok_and(|files| files.iter().any(holds))
    }
}

/// The files that stand in a folder, links to files too.
fn files_in(folder: &Path) -> impl Iterator<Item = FileId> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let path = entry.path();
        path.is_file().then(|| FileId::of(&path).ok()).flatten()
    })
}

impl Resolved {
    /// The paths of the config that lead to something sealed.
    #[must_use]
    pub fn exposures(&self, guard: &Guard) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut tell = |path: &[&str], message: String| {
            problems.push(self.settings.problem(path, Misfit::from(message)));
        };
        if let Some(pages) = &self.tools.web_fetch_pages {
            let folder = &pages.folder.path;
            if guard.is_held_by(folder) {
                let message = held(folder);
                tell(&["tools", "web_fetch", "pages"], message);
            }
        }
        for server in &self.tools.mcp {
            for path in server.paths() {
                let path_of_key = ["tools", "mcp", &server.name, "command"];
                if guard.is_sealed(path) {
                    tell(&path_of_key, is(path));
                } else if path.is_dir() && guard.is_held_by(path) {
                    tell(&path_of_key, held(path));
                }
            }
        }
        let named = |section: &'static str, key: &'static str| {
            self.settings
                .names_of(section)
                .map(move |at| [section, at.name.as_str(), key])
        };
        let mut files = vec![vec!["session", "prompt"]];
        files.extend(named("variants", "prompt").map(Vec::from));
        files.extend(named("models", "scripts").map(Vec::from));
        for path in files {
            if let Some(file) = self.settings.located(&path)
                && guard.is_sealed(&file.path)
            {
                tell(&path, is(&file.path));
            }
        }
        problems
    }
}

/// What is wrong with a folder that [`Guard::is_held_by`] refuses.
pub(super) fn held(folder: &Path) -> String {
    let folder = folder.display();
    format!("{folder} holds the sealed halves: an agent could read them")
}

/// What is wrong with a file that [`Guard::is_sealed`] refuses.
pub(super) fn is(file: &Path) -> String {
    format!("{} is a file of sealed halves", file.display())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn by_whatever_way() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for folder in ["vault/deep", "box/in", "linked", "clean", "default"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for file in [
            "vault/a.jsonl",
            "vault/b.jsonl",
            "vault/deep/c",
            "clean/d",
            "default/e",
        ] {
            fs::write(at(file), file).unwrap();
        }
        symlink(at("vault/a.jsonl"), at("linked/sealed.jsonl")).unwrap();
        symlink(at("vault"), at("alias")).unwrap();
        fs::hard_link(at("vault/b.jsonl"), at("box/in/innocent")).unwrap();
        fs::hard_link(at("vault/a.jsonl"), at("prompt.md")).unwrap();
        let guard = Guard::new(Some(&at("linked/sealed.jsonl")), &at("default"));
        for (folder, is_held) in [
            ("", true),
            ("vault", true),
            ("alias", true),
            ("vault/deep/..", true),
            ("linked", true),
            ("box", true),
            ("default", true),
            ("vault/deep", false),
            ("clean", false),
            ("nowhere", false),
        ] {
            assert_eq!(guard.is_held_by(&at(folder)), is_held, "{folder}");
        }
        for (file, is_sealed) in [
            ("vault/a.jsonl", true),
            ("linked/sealed.jsonl", true),
            ("alias/a.jsonl", true),
            ("prompt.md", true),
            ("default/e", true),
            ("vault/b.jsonl", false),
            ("clean/d", false),
            ("nowhere", false),
        ] {
            assert_eq!(guard.is_sealed(&at(file)), is_sealed, "{file}");
        }
        // A sealed file that is not there yet.
        let guard = Guard::new(Some(&at("vault/later.jsonl")), &at("none"));
        assert!(guard.is_held_by(&at("vault")) && !guard.is_held_by(&at("linked")));
        assert!(!Guard::new(None, &at("none")).is_held_by(dir.path()));
    }

    #[test]
    fn folders_above_what_is_not_there_yet() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("box/in")).unwrap();
        symlink(at("box/in"), at("link")).unwrap();
        let id = FileId::of(&at("box")).unwrap();
        for (path, is_inside) in [
            ("box", true),
            ("box/new/run", true),
            ("link/new", true),
            ("link/../new", true),
            ("new/../box/run", true),
            ("box/../new", false),
            ("box/new/../../run", false),
        ] {
            let above = FileId::with_all_above(&at(path)).any(|a| a == id);
            assert_eq!(above, is_inside, "{path}");
        }
    }
}
