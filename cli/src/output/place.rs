//! The kind of thing that an output's path names.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The maximum number of links that are followed, as on Linux.
const MOST_LINKS: usize = 40;

/// The destination of an output.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// A regular file that is created or replaced.
    File {
        /// The path of the file itself, after all links.
        path: PathBuf,
        /// The metadata of the file that exists.
        replaced: Option<Metadata>,
    },
    /// A stream to write to: a FIFO, a device, or an open file of a process such as `/dev/stdout`.
    Stream,
}

impl Place {
    /// Follows links and finds what is there. Errors do not name the output.
    pub(super) fn of(output: &Path) -> Result<Place> {
        let mut path = output.to_owned();
        for _ in 0..MOST_LINKS {
            if is_open_file(&path) {
                return match fs::metadata(&path) {
                    Ok(there) if there.is_dir() => Err(is_a_folder()),
                    Ok(_) => Ok(Place::Stream),
                    Err(error) => Err(unusable(error)),
                };
            }
            let there = match fs::symlink_metadata(&path) {
                Ok(there) => there,
                Err(error) if error.kind() == ErrorKind::NotFound => return new_file(path),
                Err(error) => return Err(unusable(error)),
            };
            if there.is_symlink() {
                let link = fs::read_link(&path).map_err(unusable)?;
                path = folder(&path).join(link);
            } else if there.is_dir() {
                return Err(is_a_folder());
            } else if there.is_file() {
                check_writable(&path, &there)?;
                let replaced = Some(there);
                return Ok(Place::File { path, replaced });
            } else {
                return Ok(Place::Stream);
            }
        }
        Err(Error::failed(format!(
            "more than {MOST_LINKS} links lead on: name a file for the output"
        )))
    }
}

fn new_file(path: PathBuf) -> Result<Place> {
    let folder = folder(&path);
    if !folder.is_dir() {
        return Err(Error::failed(format!(
            "the folder {} does not exist: create it or name another",
            folder.display()
        )));
    }
    let replaced = None;
    Ok(Place::File { path, replaced })
}

/// Refuses a file that the user may not write. Replacing a file needs no permission for the file itself, so this must be
/// checked.
fn check_writable(path: &Path, there: &Metadata) -> Result<()> {
    // The superuser can open any file.
    #[cfg(unix)]
    let read_only = std::os::unix::fs::MetadataExt::mode(there) & 0o200 == 0;
    #[cfg(not(unix))]
    let read_only = there.permissions().readonly();
    if read_only {
        return Err(Error::failed(
            "is read-only: allow its owner to write it, or name another output",
        ));
    }
    let opened = fs::OpenOptions::new().write(true).open(path);
    opened.map(drop).map_err(unusable)
}

/// Returns whether a path names an open file of a process. The target of its link need not exist any more.
fn is_open_file(path: &Path) -> bool {
    let Ok(folder) = fs::canonicalize(folder(path)) else {
        return false;
    };
    folder.ends_with("fd") && (folder.starts_with("/proc") || folder.starts_with("/dev"))
}

fn is_a_folder() -> Error {
    Error::failed("is a folder: give the name of a file for the output")
}

fn unusable(error: std::io::Error) -> Error {
    Error::failed(format!("cannot be written: {error}"))
}

/// Returns the folder of a file.
pub(super) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
