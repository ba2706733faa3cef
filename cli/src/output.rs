//! Writes results to files, completely or not at all.
//!
//! A result goes to a temporary file in the target folder, which is renamed when it is complete. A failure or a signal leaves
//! neither a partial file nor a damaged older one. An output that is not a regular file, such as a FIFO or a device, is written
//! directly.

mod place;
mod temporary;

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::array::{Array, Dtype, Shape};
use crate::error::{Error, Result};
use crate::npy;
use crate::picture::{self, PictureFormat};
use place::{Place, folder};
use temporary::Temporary;
#[cfg(unix)]
pub use temporary::remove_on_signals;

/// The size of the write buffer in bytes.
const BUFFER: usize = 1 << 20;

/// The formats that an output's extension can select.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Npy,
    Picture(PictureFormat),
    Svg,
}

/// An output that can be written: its folder existed when the target was made.
#[derive(Debug, Clone)]
pub struct Target {
    /// The path as the caller gave it, for messages.
    path: PathBuf,
    place: Place,
    format: Format,
}

/// A complete result that is not yet in its place. Dropping it removes all traces.
#[derive(Debug)]
pub struct Staged<'a> {
    content: Content<'a>,
    /// The file that holds the content; `None` for a stream.
    file: Option<Temporary>,
    target: Target,
}

/// The content of an output.
#[derive(Debug, Clone, Copy)]
enum Content<'a> {
    Array(&'a Array),
    Text(&'a str),
}

impl Target {
    /// Makes a target for an array: `.npy`, `.png`, `.jpg` or `.jpeg`, in upper or lower case. A FIFO, a device or an open file
    /// such as `/dev/stdout` without an extension gets `.npy`.
    ///
    /// Another extension is a usage error. A missing folder, a read-only file and an output that is itself a folder are
    /// failures.
    pub fn array(path: &Path) -> Result<Target> {
        let accepted = [
            ("npy", Format::Npy),
            ("png", Format::Picture(PictureFormat::Png)),
            ("jpg", Format::Picture(PictureFormat::Jpeg)),
            ("jpeg", Format::Picture(PictureFormat::Jpeg)),
        ];
        Target::one_of(path, &accepted)
    }

    /// Makes a target for numbers that no picture can hold: `.npy` only.
    pub fn npy(path: &Path) -> Result<Target> {
        Target::one_of(path, &[("npy", Format::Npy)])
    }

    /// Makes a target for a plot: `.svg` only.
    pub fn plot(path: &Path) -> Result<Target> {
        Target::one_of(path, &[("svg", Format::Svg)])
    }

    /// Makes a target for the formats of these extensions. Streams without an extension get the first one.
    fn one_of(path: &Path, accepted: &[(&str, Format)]) -> Result<Target> {
        let place = || Place::of(path).map_err(|error| error.within(path.display()));
        let extension = path
            .extension()
            .map(|e| e.to_string_lossy().to_ascii_lowercase());
        let (format, place) = match extension {
            None if matches!(place(), Ok(Place::Stream)) => (accepted[0].1, Place::Stream),
            extension => match accepted
                .iter()
                .find(|(name, _)| extension.as_deref() == Some(name))
            {
                Some((_, format)) => (*format, place()?),
                None => return Err(unknown_extension(path, accepted)),
            },
        };
        Ok(Target {
            path: path.to_owned(),
            place,
            format,
        })
    }

    /// Returns the path of the result.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that an array can be written in this target's format, before the computation.
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

    /// Writes an array to a temporary file in the target's folder; [`put`] moves it to its place.
    pub fn stage_array<'a>(&self, array: &'a Array) -> Result<Staged<'a>> {
        self.check(array.dtype(), array.shape())?;
        self.stage(Content::Array(array))
    }

    /// Writes a text to a temporary file in the target's folder; [`put`] moves it to its place.
    pub fn stage_text<'a>(&self, text: &'a str) -> Result<Staged<'a>> {
        self.stage(Content::Text(text))
    }

    fn stage<'a>(&self, content: Content<'a>) -> Result<Staged<'a>> {
        let mut staged = Staged {
            content,
            file: None,
            target: self.clone(),
        };
        if let Place::File { path, replaced } = &self.place {
            let file = Temporary::new(folder(path), replaced.as_ref()).map_err(|error| {
                self.named(Error::failed(format!(
                    "no file can be made in its folder: {error}"
                )))
            })?;
            let writer = file
                .file()
                .map_err(write_error)
                .map_err(|e| self.named(e))?;
            staged.write(writer)?;
            staged.file = Some(file);
        }
        Ok(staged)
    }

    /// Returns an error that begins with this output's name.
    fn named(&self, error: Error) -> Error {
        error.within(self.path.display())
    }
}

/// Moves several results to their places. Streams come first, since they may fail.
///
/// # Errors
/// Those of [`Staged::commit`]. If the reader of a stream closed it, the other results are in their places.
pub fn put(mut results: Vec<Staged<'_>>) -> Result<()> {
    results.sort_by_key(|result| result.file.is_some());
    let mut closed = Ok(());
    for result in results {
        match result.commit() {
            Err(Error::OutputClosed) => closed = Err(Error::OutputClosed),
            other => other?,
        }
    }
    closed
}

impl Staged<'_> {
    fn write(&self, writer: impl Write) -> Result<()> {
        let mut writer = BufWriter::with_capacity(BUFFER, writer);
        let written = match (self.content, self.target.format) {
            (Content::Array(array), Format::Picture(format)) => {
                picture::write(&mut writer, array, format)
            }
            (Content::Array(array), _) => npy::write(&mut writer, array),
            (Content::Text(text), _) => writer.write_all(text.as_bytes()).map_err(write_error),
        };
        let written = written.and_then(|()| writer.flush().map_err(write_error));
        // Dropping the buffer must not try again to write what could not be written.
        let _ = writer.into_parts();
        written.map_err(|error| self.target.named(error))
    }

    /// Moves the result to its place, over an older file of that name if there is one, or writes it to the stream.
    ///
    /// # Errors
    /// Returns [`Error::OutputClosed`] if the reader of the stream closed it.
    pub fn commit(mut self) -> Result<()> {
        match (self.file.take(), &self.target.place) {
            (Some(file), Place::File { path, .. }) => file.keep(path).map_err(|error| {
                let text = format!("cannot be put in its place: {error}");
                self.target.named(Error::failed(text))
            }),
            _ => self.write_stream(),
        }
    }

    fn write_stream(&self) -> Result<()> {
        // The result is appended to an open file that is a regular one.
        let opened = OpenOptions::new().append(true).open(&self.target.path);
        let mut stream = Stream {
            file: opened.map_err(|error| self.target.named(write_error(error)))?,
            closed: false,
        };
        let written = self.write(&mut stream);
        if stream.closed {
            Err(Error::OutputClosed)
        } else {
            written
        }
    }
}

/// A stream that records whether its reader has closed it.
struct Stream {
    file: std::fs::File,
    closed: bool,
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        let kind = written.as_ref().err().map(io::Error::kind);
        self.closed |= kind == Some(io::ErrorKind::BrokenPipe);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn unknown_extension(path: &Path, accepted: &[(&str, Format)]) -> Error {
    let accepted: Vec<_> = accepted
        .iter()
        .map(|(name, _)| format!(".{name}"))
        .collect();
    Error::usage(format!(
        "the extension of an output decides its format; {} can be written here",
        accepted.join(" ")
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
