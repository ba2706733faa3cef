//! Temporary files, which are removed after a failure or a signal.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

/// The files that exist now. The lock is held while a file is made, moved or removed.
static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn files() -> MutexGuard<'static, Vec<PathBuf>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is removed unless it is kept.
#[derive(Debug)]
pub(super) struct Temporary(Option<NamedTempFile>);

impl Temporary {
    /// Makes a file in this folder. If it replaces a file it gets that file's permissions and, if allowed, its owner; otherwise
    /// it gets those of an ordinary new file.
    pub(super) fn new(folder: &Path, replaced: Option<&Metadata>) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".warpwright-");
        // A private file must not be readable by others while it is written.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(
            match replaced {
                Some(_) => 0o600,
                None => 0o666,
            },
        ));
        let temporary = {
            let mut files = files();
            let file = builder.tempfile_in(folder)?;
            files.push(file.path().to_owned());
            Temporary(Some(file))
        };
        #[cfg(unix)]
        if let Some(replaced) = replaced {
            become_like(temporary.file()?, replaced)?;
        }
        Ok(temporary)
    }

    /// Returns the open file.
    pub(super) fn file(&self) -> io::Result<&File> {
        let file = self.0.as_ref().map(NamedTempFile::as_file);
        file.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Moves the file to its place, over an older one.
    pub(super) fn keep(mut self, place: &Path) -> io::Result<()> {
        let mut files = files();
        let Some(file) = self.0.take() else {
            return Ok(());
        };
        files.retain(|path| path != file.path());
        file.persist(place).map(drop).map_err(|error| error.error)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut files = files();
        if let Some(file) = self.0.take() {
            files.retain(|path| path != file.path());
            drop(file);
        }
    }
}

/// Gives a file the permissions of another, and the owner if that is allowed.
#[cfg(unix)]
fn become_like(file: &File, other: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let now = file.metadata()?;
    let same_group = now.gid() == other.gid() || fchown(file, None, Some(other.gid())).is_ok();
    let same_user = now.uid() == other.uid() || fchown(file, Some(other.uid()), None).is_ok();
    // A file must not keep set-user or set-group bits under another owner.
    let bits = if same_user && same_group {
        0o7777
    } else {
        0o777
    };
    file.set_permissions(PermissionsExt::from_mode(other.mode() & bits))
}

/// Makes SIGHUP, SIGINT, SIGTERM and SIGXCPU remove the files that are not yet in their places and end the process with status
/// 128 + signal. Signals that the process was started to ignore, as by `nohup`, stay ignored. A file that grows beyond the
/// process's limit becomes a write error instead of a signal.
///
/// # Errors
/// Returns the system's error.
#[cfg(unix)]
pub fn remove_on_signals() -> io::Result<()> {
    use std::sync::{Arc, atomic::AtomicBool};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};

    let ignored = ignored_signals();
    let mut wanted = vec![SIGHUP, SIGINT, SIGTERM, SIGXCPU];
    wanted.retain(|signal| ignored >> (signal - 1) & 1 == 0);
    let mut signals = signal_hook::iterator::Signals::new(wanted)?;
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if let Some(signal) = signals.forever().next() {
                // The lock is held to the end, so that no file is made or moved any more.
                let files = files();
                for file in &*files {
                    let _ = std::fs::remove_file(file);
                }
                // The process exits immediately, because other threads are still working.
                signal_hook::low_level::exit(128 + signal);
            }
        })
        .map(drop)
}

/// Returns a bit for each signal that the process was started to ignore, as far as the system reports.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or(0)
}
