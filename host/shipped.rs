//! The library's PTX and machine code as files. A checkout has them in a folder. A package has one compressed archive in its
//! place, because crates.io takes no crate of more than 10 MB; `cargo xtask package` makes it, and has this file as a module.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;

/// The folder of a checkout: `<architecture>/<family>.ptx`, and `<architecture>/kernels.tar` with a file `<kernel>.cubin` for
/// each kernel.
pub const FOLDER: &str = "ptx";

/// The archive of a package: the same files, by `tar` and Zstandard with a large window. A module has most in common with that
/// of another architecture, which is tens of megabytes away.
pub const ARCHIVE: &str = "ptx.tar.zst";

/// A file of an architecture.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    /// The folder: `sm_90`.
    pub arch: String,
    /// The name in this folder.
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Returns where the files of the crate in `root` are: in the folder of a checkout if there is one.
///
/// # Errors
/// If there is neither.
pub fn source(root: &Path) -> io::Result<&'static str> {
    let sources = [FOLDER, ARCHIVE];
    let found = sources.into_iter().find(|it| root.join(it).exists());
    found.ok_or_else(|| {
        let text = format!(
            "{FOLDER} or {ARCHIVE} required, which `cargo xtask package` puts in a package"
        );
        io::Error::new(io::ErrorKind::NotFound, text)
    })
}

/// Returns the files of a folder, in order.
///
/// # Errors
/// If one cannot be read, or has a name that is no text.
pub fn read(folder: &Path) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    for arch in fs::read_dir(folder)? {
        let arch = arch?;
        // The manifest lies beside the architectures.
        if !arch.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(arch.path())? {
            let file = file?;
            files.push(File {
                arch: text(arch.file_name().to_str())?,
                name: text(file.file_name().to_str())?,
                bytes: fs::read(file.path())?,
            });
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the files of an archive, in order.
///
/// # Errors
/// If the archive is no such archive.
pub fn unpack(archive: impl Read) -> io::Result<Vec<File>> {
    let decoder = StreamingDecoder::new(archive).map_err(io::Error::other)?;
    let mut files = Vec::new();
    for entry in tar::Archive::new(decoder).entries()? {
        let mut entry = entry?;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        let path = entry.path()?;
        files.push(File {
            arch: text(path.parent().and_then(Path::to_str))?,
            name: text(path.file_name().and_then(|name| name.to_str()))?,
            bytes,
        });
    }
    files.sort();
    Ok(files)
}

fn text(name: Option<&str>) -> io::Result<String> {
    let text = name.ok_or_else(|| io::Error::other("a name of text required"))?;
    Ok(text.to_owned())
}
