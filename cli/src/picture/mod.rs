//! Grayscale pictures: reads and writes PNG and JPEG.

mod jpeg;
mod png;

use std::io::{BufRead, Seek, SeekFrom, Write};

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ColorType, DynamicImage, ExtendedColorType, ImageEncoder};

use warpwright::Device;

use crate::array::{Array, Data, Dtype, Shape};
use crate::error::{Error, Result};

/// The maximum side of a picture: JPEG's own limit, and far beyond practical PNG files.
const MAX_SIDE: u32 = 65_535;

/// The maximum memory for decoding a picture. A few bytes of PNG can promise any size.
const MAX_BYTES: u64 = 8 << 30;

/// The JPEG quality, of 100: high enough that the blocks are not visible in a transposed photograph.
const JPEG_QUALITY: u8 = 92;

/// The first bytes of a PNG file.
pub const PNG_MAGIC: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The first bytes of a JPEG file.
pub const JPEG_MAGIC: &[u8] = b"\xff\xd8\xff";

/// A file format for pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureFormat {
    /// Portable Network Graphics: lossless, 8 and 16 bits.
    Png,
    /// JPEG: lossy, 8 bits.
    Jpeg,
}

impl PictureFormat {
    fn name(self) -> &'static str {
        match self {
            PictureFormat::Png => "PNG",
            PictureFormat::Jpeg => "JPEG",
        }
    }
}

/// A picture as a matrix of gray values.
#[derive(Debug)]
pub struct Picture {
    /// `U8` or `U16`, one value per pixel, rows from the top.
    pub array: Array,
    /// The original pixels of a file that was not only gray, such as `8-bit RGB`.
    pub converted_from: Option<String>,
}

/// Reads a picture. Gray of 8 and 16 bits stays as it is (fewer bits are widened to 8). Color, and gray with transparency,
/// become 8-bit luma (BT.709 weights, transparency ignored).
///
/// A picture is read completely or not at all. A PNG must have all of its rows, its end chunk and the right check values. Each
/// scan of a JPEG must have the codes of all of its blocks, and an end marker must follow. Data after the end is ignored. A
/// picture with more pixels than the file's size can hold is refused before memory is allocated.
pub fn read(mut reader: impl BufRead + Seek, format: PictureFormat) -> Result<Picture> {
    let length = reader
        .seek(SeekFrom::End(0))
        .and_then(|length| reader.rewind().map(|()| length))
        .map_err(|error| Error::failed(format!("cannot be read: {error}")))?;
    // The system promises more memory than it has, and kills a program that uses it.
    let free = Device::cpu().free_memory().unwrap_or(MAX_BYTES);
    let memory = MAX_BYTES.min(free);
    let image = match format {
        PictureFormat::Png => png::decode(reader, length, memory),
        PictureFormat::Jpeg => jpeg::decode(reader, length, memory),
    };
    let image = image.map_err(|problem| problem.error(format))?;
    let shape = Shape::Matrix {
        height: image.height() as usize,
        width: image.width() as usize,
    };
    let color = image.color();
    let (array, converted_from) = match image {
        DynamicImage::ImageLuma8(grey) => (pixels(shape, grey.into_raw(), Array::U8)?, None),
        DynamicImage::ImageLuma16(grey) => (pixels(shape, grey.into_raw(), Array::U16)?, None),
        other => (
            pixels(shape, other.into_luma8().into_raw(), Array::U8)?,
            Some(color_name(color)),
        ),
    };
    Ok(Picture {
        array,
        converted_from,
    })
}

/// The reason why a picture is not read.
enum Problem {
    /// The picture exceeds the limits.
    TooLarge,
    /// The file violates the format.
    Damaged(String),
}

impl From<&str> for Problem {
    fn from(text: &str) -> Self {
        Problem::Damaged(text.to_owned())
    }
}

impl From<String> for Problem {
    fn from(text: String) -> Self {
        Problem::Damaged(text)
    }
}

impl Problem {
    fn error(self, format: PictureFormat) -> Error {
        let name = format.name();
        match self {
            Problem::TooLarge => Error::failed(format!(
                "the {name} picture is larger than {MAX_SIDE} pixels a side, {} GiB or the free memory: give it as \
                 .npy",
                MAX_BYTES >> 30
            )),
            Problem::Damaged(text) => Error::failed(format!(
                "not a readable {name} picture ({}): copy or save it again",
                crate::error::one_line(&text)
            )),
        }
    }
}

/// Checks that a picture of this size is within the limits. Decoding takes `per_pixel` bytes a pixel.
fn check_size(
    (width, height): (u32, u32),
    per_pixel: usize,
    memory: u64,
) -> std::result::Result<(), Problem> {
    let pixels = u64::from(width) * u64::from(height);
    // Converting to gray takes one more byte per pixel.
    let bytes = pixels * (per_pixel as u64 + u64::from(per_pixel > 1));
    match width.max(height) <= MAX_SIDE && bytes <= memory {
        true => Ok(()),
        false => Err(Problem::TooLarge),
    }
}

/// Returns zeros for `count` samples of a picture.
fn zeros<T: bytemuck::Zeroable + Clone>(count: usize) -> std::result::Result<Vec<T>, Problem> {
    let mut samples = Vec::new();
    samples
        .try_reserve_exact(count)
        .map_err(|_| Problem::TooLarge)?;
    samples.resize(count, T::zeroed());
    Ok(samples)
}

fn pixels<T>(shape: Shape, values: Vec<T>, wrap: fn(Data<T>) -> Array) -> Result<Array> {
    let data = Data::new(shape, values).ok_or_else(|| {
        Error::failed("the decoder gave another number of pixels than the picture has")
    })?;
    Ok(wrap(data))
}

fn color_name(color: ColorType) -> String {
    let channels = match color.channel_count() {
        1 => "grey",
        2 => "grey with transparency",
        3 => "RGB",
        _ => "RGB with transparency",
    };
    format!(
        "{}-bit {channels}",
        color.bits_per_pixel() / u16::from(color.channel_count())
    )
}

/// Checks that an array can be written in this format, before any work is done.
///
/// PNG supports matrices of `u8` and `u16`, and JPEG of `u8`, with at least one pixel and at most 65,535 a side.
pub fn check_writable(dtype: Dtype, shape: Shape, format: PictureFormat) -> Result<()> {
    let name = format.name();
    match (dtype, format) {
        (Dtype::U8, _) | (Dtype::U16, PictureFormat::Png) => {}
        (Dtype::U16, PictureFormat::Jpeg) => {
            return Err(Error::failed(
                "JPEG holds 8 bits a pixel and the data is u16: write .png or .npy",
            ));
        }
        _ => {
            let accepted = if format == PictureFormat::Png {
                "u8 or u16"
            } else {
                "u8"
            };
            return Err(Error::failed(format!(
                "{name} holds {accepted} and the data is {dtype}: write .npy"
            )));
        }
    }
    match shape {
        Shape::Vector(_) => Err(Error::failed(format!(
            "{name} needs two axes and the data has one: write .npy"
        ))),
        Shape::Matrix { height, width } => match height.min(width) {
            0 => Err(Error::failed(format!(
                "{name} needs at least one pixel and the data is {height} x {width}: write .npy"
            ))),
            _ if height.max(width) > MAX_SIDE as usize => Err(Error::failed(format!(
                "{name} pictures are written up to {MAX_SIDE} pixels a side and the data is {height} x \
                 {width}: write .npy"
            ))),
            _ => Ok(()),
        },
    }
}

/// Writes a matrix as a grayscale picture. [`check_writable`] lists what is refused.
pub fn write(writer: impl Write, array: &Array, format: PictureFormat) -> Result<()> {
    check_writable(array.dtype(), array.shape(), format)?;
    let Shape::Matrix { height, width } = array.shape() else {
        return Err(Error::failed("a picture needs two axes"));
    };
    let (height, width) = (height as u32, width as u32);
    let (bytes, color): (&[u8], _) = match array {
        Array::U8(data) => (data.values(), ExtendedColorType::L8),
        Array::U16(data) => (bytemuck::cast_slice(data.values()), ExtendedColorType::L16),
        _ => return Err(Error::failed("a picture needs u8 or u16")),
    };
    let written = match format {
        PictureFormat::Png => {
            PngEncoder::new_with_quality(writer, CompressionType::Fast, FilterType::Adaptive)
                .write_image(bytes, width, height, color)
        }
        PictureFormat::Jpeg => JpegEncoder::new_with_quality(writer, JPEG_QUALITY)
            .write_image(bytes, width, height, color),
    };
    written.map_err(|error| match error {
        image::ImageError::IoError(error) => Error::failed(format!("cannot be written: {error}")),
        error => Error::failed(format!("cannot be written as {}: {error}", format.name())),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::{GrayAlphaImage, ImageFormat, Rgb, RgbImage};

    use super::*;

    fn matrix<T>(height: usize, width: usize, values: Vec<T>) -> Data<T> {
        Data::new(Shape::Matrix { height, width }, values).unwrap()
    }

    fn round_trip(array: &Array, format: PictureFormat) -> Array {
        let mut bytes = Vec::new();
        write(&mut bytes, array, format).unwrap();
        let picture = read(Cursor::new(bytes), format).unwrap();
        assert_eq!(picture.converted_from, None);
        picture.array
    }

    fn encoded(image: &DynamicImage) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn png_keeps_every_value() {
        let bytes = Array::U8(matrix(3, 5, (0..15).map(|i| i * 17).collect()));
        assert_eq!(round_trip(&bytes, PictureFormat::Png), bytes);
        let words = Array::U16(matrix(5, 3, (0..15).map(|i| i * 4369).collect()));
        assert_eq!(round_trip(&words, PictureFormat::Png), words);
    }

    #[test]
    fn jpeg_keeps_values_closely() {
        let values: Vec<u8> = (0..64 * 48)
            .map(|i| ((i % 48) * 4 + i / 48) as u8)
            .collect();
        let array = Array::U8(matrix(64, 48, values.clone()));
        let Array::U8(read) = round_trip(&array, PictureFormat::Jpeg) else {
            panic!("not u8")
        };
        assert_eq!(read.shape(), array.shape());
        let worst = values
            .iter()
            .zip(read.values())
            .map(|(a, b)| a.abs_diff(*b))
            .max();
        assert!(worst <= Some(8), "{worst:?}");
    }

    #[test]
    fn colour_becomes_luma_and_is_reported() {
        let mut image = RgbImage::new(2, 1);
        image.put_pixel(0, 0, Rgb([255, 255, 255]));
        image.put_pixel(1, 0, Rgb([0, 255, 0]));
        let picture = read(Cursor::new(encoded(&image.into())), PictureFormat::Png).unwrap();
        assert_eq!(picture.converted_from.as_deref(), Some("8-bit RGB"));
        let Array::U8(data) = picture.array else {
            panic!("not u8")
        };
        assert_eq!(data.values()[0], 255);
        assert!(
            (180..=184).contains(&data.values()[1]),
            "{:?}",
            data.values()
        );
        let transparent = DynamicImage::from(GrayAlphaImage::new(2, 2));
        let picture = read(Cursor::new(encoded(&transparent)), PictureFormat::Png).unwrap();
        assert_eq!(
            picture.converted_from.as_deref(),
            Some("8-bit grey with transparency")
        );
    }

    #[test]
    fn what_cannot_be_written_is_refused_with_advice() {
        for (array, format, parts) in [
            (
                Array::U16(matrix(1, 1, vec![0])),
                PictureFormat::Jpeg,
                ["u16", ".png"],
            ),
            (
                Array::F32(matrix(1, 1, vec![0.0])),
                PictureFormat::Png,
                ["f32", ".npy"],
            ),
            (
                Array::I32(matrix(1, 1, vec![0])),
                PictureFormat::Jpeg,
                ["i32", ".npy"],
            ),
            (
                Array::U8(Data::vector(vec![1, 2])),
                PictureFormat::Png,
                ["two axes", ".npy"],
            ),
            (
                Array::U8(matrix(0, 4, vec![])),
                PictureFormat::Png,
                ["0 x 4", ".npy"],
            ),
            (
                Array::U8(matrix(1, 70_000, vec![0; 70_000])),
                PictureFormat::Jpeg,
                ["65535", ".npy"],
            ),
        ] {
            let text = write(Vec::new(), &array, format).unwrap_err().to_string();
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        }
    }

    #[test]
    fn damaged_pictures_are_refused() {
        let mut bytes = Vec::new();
        let array = Array::U8(matrix(40, 40, (0..1600).map(|i| (i % 251) as u8).collect()));
        write(&mut bytes, &array, PictureFormat::Png).unwrap();
        for length in [0, 4, 8, 20, bytes.len() / 2] {
            let error = read(Cursor::new(&bytes[..length]), PictureFormat::Png).unwrap_err();
            assert!(!error.to_string().contains('\n'));
        }
        assert!(read(Cursor::new(&bytes), PictureFormat::Jpeg).is_err());
        // A width of 2^31 - 1 in the header of a file of a few bytes.
        bytes[16..20].copy_from_slice(&0x7fff_ffff_u32.to_be_bytes());
        assert!(read(Cursor::new(&bytes), PictureFormat::Png).is_err());
    }
}
