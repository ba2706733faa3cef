//! Reads an input from a file or standard input, in any of the supported formats.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek};
use std::path::Path;

use warpwright::Device;

use crate::array::Array;
use crate::error::{Error, Result};
use crate::npy;
use crate::picture::{self, PictureFormat};
use crate::progress;

/// The number of bytes at the start of a file that identify a format.
const START: usize = 8;

/// The minimum number of bytes that are read from a stream at once.
const PIECE: usize = 1 << 16;

/// An input file's array, and what had to be converted to get it.
#[derive(Debug)]
pub struct Input {
    /// The values of the input.
    pub array: Array,
    /// The original pixels of a picture that was not gray, such as `8-bit RGB`.
    pub converted_from: Option<String>,
}

/// Reads `.npy`, PNG or JPEG, identified by the first bytes; `-` is standard input.
///
/// Errors begin with the file's name.
pub fn read(path: &Path) -> Result<Input> {
    if path.as_os_str() == "-" {
        return read_stream(std::io::stdin().lock()).map_err(|e| e.within("standard input"));
    }
    read_file(path).map_err(|error| error.within(path.display()))
}

fn read_file(path: &Path) -> Result<Input> {
    let file = File::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::failed("no such file: check the name of the input"),
        _ => Error::failed(format!("cannot be opened: {error}")),
    })?;
    let metadata = file
        .metadata()
        .map_err(|e| Error::failed(format!("cannot be read: {e}")))?;
    if metadata.is_dir() {
        return Err(Error::failed("is a folder: give a .npy, PNG or JPEG file"));
    }
    if !metadata.is_file() {
        return read_stream(file);
    }
    let bar = progress::bytes("reading", metadata.len());
    let result = read_seekable(BufReader::new(bar.wrap_read(file)), metadata.len());
    bar.finish_and_clear();
    result
}

/// Reads from a stream without a known length, such as a pipe. If its first bytes are those of a format and the memory
/// suffices, the whole stream is read first. Errors do not name the stream.
pub fn read_stream(mut reader: impl Read) -> Result<Input> {
    let unreadable = |error| Error::failed(format!("cannot be read: {error}"));
    let mut bytes = Vec::new();
    reader
        .by_ref()
        .take(START as u64)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    format(&bytes)?;
    let most = Device::cpu().free_memory().unwrap_or(u64::MAX);
    loop {
        let before = bytes.len();
        // The system promises more memory than it has. The buffer grows by doubling, and the bytes are read once more.
        let fits = (before as u64).saturating_mul(3) < most && bytes.try_reserve(before).is_ok();
        if !fits {
            return Err(Error::failed(format!(
                "more than {before} bytes and no end, and not enough memory for more: give it as a file"
            )));
        }
        reader
            .by_ref()
            .take((before.max(PIECE)) as u64)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        if bytes.len() == before {
            break;
        }
    }
    let length = bytes.len() as u64;
    read_seekable(Cursor::new(bytes), length)
}

/// An input format.
enum Format {
    Npy,
    Picture(PictureFormat),
}

/// Returns the format that the first bytes identify.
fn format(start: &[u8]) -> Result<Format> {
    if start.is_empty() {
        Err(Error::failed(
            "the file is empty: give a .npy, PNG or JPEG file",
        ))
    } else if start.starts_with(npy::MAGIC) {
        Ok(Format::Npy)
    } else if start.starts_with(picture::PNG_MAGIC) {
        Ok(Format::Picture(PictureFormat::Png))
    } else if start.starts_with(picture::JPEG_MAGIC) {
        Ok(Format::Picture(PictureFormat::Jpeg))
    } else {
        Err(Error::failed(
            "neither .npy nor PNG nor JPEG: convert it, or check the name",
        ))
    }
}

fn read_seekable(mut reader: impl BufRead + Seek, length: u64) -> Result<Input> {
    let mut start = [0u8; START];
    let start = &mut start[..length.min(START as u64) as usize];
    reader
        .read_exact(start)
        .and_then(|()| reader.rewind())
        .map_err(|error| Error::failed(format!("cannot be read: {error}")))?;
    match format(start)? {
        Format::Npy => Ok(Input {
            array: npy::read(reader, length)?,
            converted_from: None,
        }),
        Format::Picture(format) => {
            let picture = picture::read(reader, format)?;
            Ok(Input {
                array: picture.array,
                converted_from: picture.converted_from,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Data;

    #[test]
    fn the_format_is_told_by_the_content() {
        let array = Array::U8(Data::vector(vec![1, 2, 3]));
        let mut bytes = Vec::new();
        npy::write(&mut bytes, &array).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("misnamed.png");
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&path).unwrap().array, array);
        assert_eq!(read_stream(&bytes[..]).unwrap().array, array);
    }

    #[test]
    fn errors_name_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input.npy");
        for (content, part) in [
            (None, "no such file"),
            (Some(&b""[..]), "empty"),
            (Some(b"text"), "neither"),
            (Some(b"\x93NUMPY"), "truncated"),
            (Some(b"\x89PNG\r\n\x1a\n"), "PNG"),
            (Some(b"\xff\xd8\xff"), "JPEG"),
        ] {
            if let Some(content) = content {
                std::fs::write(&path, content).unwrap();
            }
            let text = read(&path).unwrap_err().to_string();
            assert!(
                text.contains("input.npy: ") && text.contains(part),
                "{text}"
            );
        }
        let text = read(folder.path()).unwrap_err().to_string();
        assert!(text.contains("is a folder"), "{text}");
    }
}
