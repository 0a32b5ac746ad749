//! The folder that one session's tools see: a fresh copy of its case's `files`.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::{ambient_authority, fs::Dir};

/// A session's own folder; removed when the last holder lets go.
#[derive(Debug)]
pub struct SessionFiles {
    path: PathBuf,
    dir: Arc<Dir>,
}

impl SessionFiles {
    /// Copies the folder `from` to `to`, which is emptied first, and opens it. The folder that `to` is
    /// in is not made: in a run folder that is gone, nothing is to grow anew. Blocks.
    ///
    /// # Errors
    /// When something in `from` is neither a file nor a folder, or cannot be copied.
    pub fn copy(from: &Path, to: PathBuf) -> io::Result<Self> {
        if to.exists() {
            fs::remove_dir_all(&to)?;
        }
        copy_dir(from, &to)?;
        let dir = Arc::new(Dir::open_ambient_dir(&to, ambient_authority())?);
        Ok(Self { path: to, dir })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder, opened.
    #[must_use]
    pub fn dir(&self) -> Arc<Dir> {
        self.dir.clone()
    }
}

impl Drop for SessionFiles {
    fn drop(&mut self) {
        let path = std::mem::take(&mut self.path);
        // What is left behind is removed with the run's whole `work` folder at its end.
        let remove = move || drop(fs::remove_dir_all(path));
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(remove)),
            Err(_) => remove(),
        }
    }
}

fn copy_dir(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy_dir(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
        } else {
            let what = format!("{} is neither a file nor a folder", entry.path().display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_fresh_and_goes_away() {
        let tmp = tempfile::tempdir().unwrap();
        let (from, to) = (tmp.path().join("from"), tmp.path().join("work/x"));
        fs::create_dir_all(from.join("sub")).unwrap();
        fs::write(from.join("sub/a.txt"), "a").unwrap();
        fs::create_dir_all(&to).unwrap();
        fs::write(to.join("stale"), "").unwrap();
        let files = SessionFiles::copy(&from, to.clone()).unwrap();
        assert_eq!(files.dir().read_to_string("sub/a.txt").unwrap(), "a");
        assert!(!to.join("stale").exists());
        drop(files);
        assert!(!to.exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_refused() {
        let tmp = tempfile::tempdir().unwrap();
        let from = tmp.path().join("from");
        fs::create_dir_all(&from).unwrap();
        std::os::unix::fs::symlink("/etc", from.join("link")).unwrap();
        assert!(SessionFiles::copy(&from, tmp.path().join("to")).is_err());
    }
}
