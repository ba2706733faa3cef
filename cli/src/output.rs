//! Writing results to files, whole or not at all.
//!
//! A result goes to a temporary file in the folder where it is wanted and is renamed when it is complete,
//! so that a failure on the way leaves neither half a file nor a damaged older one.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::array::{Array, Dtype, Shape};
use crate::error::{Error, Result};
use crate::npy;
use crate::picture::{self, PictureFormat};

/// The formats that an output's extension can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Npy,
    Picture(PictureFormat),
    Svg,
}

/// A place where a result may be written: its folder was there when it was made.
#[derive(Debug, Clone)]
pub struct Target {
    /// As the caller named it, for messages.
    path: PathBuf,
    /// The file to replace: what `path` links to, if it is a link.
    place: PathBuf,
    format: Format,
}

/// A result that is complete and not yet in its place. Dropping it leaves nothing behind.
#[derive(Debug)]
pub struct Staged {
    file: NamedTempFile,
    target: Target,
}

impl Target {
    /// A place for an array: `.npy`, `.png`, `.jpg` or `.jpeg`, in capitals or not.
    ///
    /// Another extension is a usage error; a missing folder and an output that is a folder itself are
    /// failures.
    pub fn array(path: &Path) -> Result<Target> {
        let format = match extension(path).as_deref() {
            Some("npy") => Format::Npy,
            Some("png") => Format::Picture(PictureFormat::Png),
            Some("jpg" | "jpeg") => Format::Picture(PictureFormat::Jpeg),
            _ => return Err(unknown_extension(path, ".npy .png .jpg .jpeg")),
        };
        Target::checked(path, format)
    }

    /// A place for numbers that no picture can hold: `.npy` alone.
    pub fn npy(path: &Path) -> Result<Target> {
        match extension(path).as_deref() {
            Some("npy") => Target::checked(path, Format::Npy),
            _ => Err(unknown_extension(path, ".npy")),
        }
    }

    /// A place for a plot: `.svg` alone.
    pub fn plot(path: &Path) -> Result<Target> {
        match extension(path).as_deref() {
            Some("svg") => Target::checked(path, Format::Svg),
            _ => Err(unknown_extension(path, ".svg")),
        }
    }

    fn checked(path: &Path, format: Format) -> Result<Target> {
        let failed = |text: String| Err(Error::failed(text).within(path.display()));
        if path.is_dir() {
            return failed("is a folder: give the name of a file for the output".to_owned());
        }
        let folder = folder(path);
        if !folder.is_dir() {
            return failed(format!(
                "the folder {} does not exist: create it or name another",
                folder.display()
            ));
        }
        let place = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Ok(Target {
            path: path.to_owned(),
            place,
            format,
        })
    }

    /// Where the result will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says whether an array can be written in the format of this place, before work is done for it.
    pub fn check(&self, dtype: Dtype, shape: Shape) -> Result<()> {
        match self.format {
            Format::Npy => Ok(()),
            Format::Picture(format) => picture::check_writable(dtype, shape, format)
                .map_err(|error| error.within(self.path.display())),
            Format::Svg => {
                Err(Error::failed("an array cannot be written as .svg").within(self.path.display()))
            }
        }
    }

    /// Writes an array next to its place; [`Staged::commit`] puts it there.
    pub fn stage_array(&self, array: &Array) -> Result<Staged> {
        self.check(array.dtype(), array.shape())?;
        self.stage(|writer| match self.format {
            Format::Picture(format) => picture::write(writer, array, format),
            Format::Npy | Format::Svg => npy::write(writer, array),
        })
    }

    /// Writes a text next to its place; [`Staged::commit`] puts it there.
    pub fn stage_text(&self, text: &str) -> Result<Staged> {
        self.stage(|writer| writer.write_all(text.as_bytes()).map_err(write_error))
    }

    fn stage(
        &self,
        write: impl FnOnce(&mut BufWriter<&mut std::fs::File>) -> Result<()>,
    ) -> Result<Staged> {
        let name = |error: Error| error.within(self.path.display());
        let mut file = temporary(folder(&self.place)).map_err(|error| {
            name(Error::failed(format!(
                "no file can be made in its folder: {error}"
            )))
        })?;
        let mut writer = BufWriter::with_capacity(1 << 20, file.as_file_mut());
        write(&mut writer)
            .and_then(|()| writer.flush().map_err(write_error))
            .map_err(name)?;
        drop(writer);
        Ok(Staged {
            file,
            target: self.clone(),
        })
    }
}

impl Staged {
    /// Puts the result in its place, over an older file of that name if there is one.
    pub fn commit(self) -> Result<()> {
        self.file
            .persist(&self.target.place)
            .map(drop)
            .map_err(|error| {
                Error::failed(format!("cannot be put in its place: {}", error.error))
                    .within(self.target.path.display())
            })
    }
}

/// A temporary file with the permissions that a file made in the ordinary way would have.
fn temporary(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".warpwright-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn extension(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

fn unknown_extension(path: &Path, accepted: &str) -> Error {
    Error::usage(format!(
        "the extension of an output decides its format; {accepted} can be written here"
    ))
    .within(path.display())
}

fn write_error(error: std::io::Error) -> Error {
    Error::failed(format!("cannot be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Data;

    fn bytes() -> Array {
        Array::U8(
            Data::new(
                Shape::Matrix {
                    height: 1,
                    width: 2,
                },
                vec![1, 2],
            )
            .unwrap(),
        )
    }

    fn entries(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn the_extension_decides() {
        let folder = tempfile::tempdir().unwrap();
        for (name, start) in [
            ("a.npy", &npy::MAGIC[..]),
            ("b.PNG", picture::PNG_MAGIC),
            ("c.jpg", picture::JPEG_MAGIC),
            ("d.Jpeg", picture::JPEG_MAGIC),
        ] {
            let path = folder.path().join(name);
            Target::array(&path)
                .unwrap()
                .stage_array(&bytes())
                .unwrap()
                .commit()
                .unwrap();
            assert!(std::fs::read(&path).unwrap().starts_with(start), "{name}");
        }
        assert_eq!(entries(folder.path()), 4);
        for name in ["x", "x.txt", "x.svg", ".npy", "x.npy.gz"] {
            let error = Target::array(&folder.path().join(name)).unwrap_err();
            assert_eq!(error.exit_status(), 2, "{name}");
            assert!(error.to_string().contains(".npy .png .jpg .jpeg"));
        }
        assert_eq!(
            Target::npy(Path::new("x.png")).unwrap_err().exit_status(),
            2
        );
        assert_eq!(
            Target::plot(Path::new("x.png")).unwrap_err().exit_status(),
            2
        );
    }

    #[test]
    fn nothing_is_left_until_the_commit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        std::fs::write(&path, "older").unwrap();
        let target = Target::array(&path).unwrap();
        drop(target.stage_array(&bytes()).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"older");
        assert_eq!(entries(folder.path()), 1);
        let float = Array::F32(
            Data::new(
                Shape::Matrix {
                    height: 1,
                    width: 1,
                },
                vec![1.0],
            )
            .unwrap(),
        );
        let picture = Target::array(&folder.path().join("b.png")).unwrap();
        assert!(picture.stage_array(&float).is_err());
        assert_eq!(entries(folder.path()), 1);
        target.stage_array(&bytes()).unwrap().commit().unwrap();
        assert!(std::fs::read(&path).unwrap().starts_with(npy::MAGIC));
        assert_eq!(entries(folder.path()), 1);
    }

    #[test]
    fn missing_folders_and_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = Target::array(&folder.path().join("no/a.npy")).unwrap_err();
        assert!(error.to_string().contains("does not exist"), "{error}");
        assert_eq!(error.exit_status(), 1);
        let inner = folder.path().join("inner.npy");
        std::fs::create_dir(&inner).unwrap();
        let error = Target::array(&inner).unwrap_err();
        assert!(error.to_string().contains("is a folder"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_are_those_of_an_ordinary_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let ordinary = folder.path().join("ordinary");
        std::fs::write(&ordinary, "").unwrap();
        let path = folder.path().join("a.npy");
        let link = folder.path().join("link.npy");
        Target::array(&path)
            .unwrap()
            .stage_array(&bytes())
            .unwrap()
            .commit()
            .unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&ordinary));
        std::os::unix::fs::symlink("a.npy", &link).unwrap();
        std::fs::write(&path, "").unwrap();
        Target::array(&link)
            .unwrap()
            .stage_array(&bytes())
            .unwrap()
            .commit()
            .unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(std::fs::read(&path).unwrap().starts_with(npy::MAGIC));
    }
}
