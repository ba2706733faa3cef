//! Reads PNG: decodes the pixels, and checks that the file is complete.

use std::io::{BufRead, Seek};

use image::{DynamicImage, GrayAlphaImage, GrayImage, ImageBuffer, RgbImage, RgbaImage};
use png::{BitDepth, ColorType, DecodeOptions, Decoder, DecodingError, Info, Transformations};

use super::{MAX_SIDE, Problem, check_size, zeros};

/// The maximum number of bytes that deflate makes of one: a match of 258 takes at least one bit for its length and one for its
/// distance, so that 8 bits make 4 * 258.
const MOST_PER_BYTE: u64 = 1032;

/// Decodes a file of `length` bytes up to its end chunk, if that takes at most the given memory.
pub(super) fn decode(
    reader: impl BufRead + Seek,
    length: u64,
    memory: u64,
) -> Result<DynamicImage, Problem> {
    let mut options = DecodeOptions::default();
    options.set_ignore_adler32(false);
    options.set_skip_ancillary_crc_failures(false);
    // Compressed texts and profiles may have any size, and are not used.
    options.set_ignore_text_chunk(true);
    options.set_ignore_iccp_chunk(true);
    let mut decoder = Decoder::new_with_options(reader, options);
    decoder.set_limits(png::Limits {
        bytes: usize::try_from(memory).unwrap_or(usize::MAX),
    });
    decoder.set_transformations(Transformations::EXPAND);
    let header = decoder.read_header_info()?;
    let size @ (width, height) = header.size();
    if width.max(height) > MAX_SIDE {
        return Err(Problem::TooLarge);
    }
    let (rows, most) = (bytes_of_rows(header), length.saturating_mul(MOST_PER_BYTE));
    if rows > most {
        return Err(Problem::Damaged(format!(
            "{width} x {height} pixels are {rows} bytes before compression, and the file's {length} bytes hold \
             {MOST_PER_BYTE} times as many at most"
        )));
    }
    let mut reader = decoder.read_info()?;
    let (color, depth) = reader.output_color_type();
    let bytes = if depth == BitDepth::Sixteen { 2 } else { 1 };
    check_size(size, color.samples() * bytes, memory)?;
    let count = width as usize * height as usize * color.samples();
    let image = if depth == BitDepth::Sixteen {
        let mut words: Vec<u16> = zeros(count)?;
        reader.next_frame(bytemuck::cast_slice_mut(&mut words))?;
        for word in &mut words {
            *word = u16::from_be(*word);
        }
        match color {
            ColorType::Grayscale => {
                ImageBuffer::from_raw(width, height, words).map(DynamicImage::ImageLuma16)
            }
            ColorType::GrayscaleAlpha => {
                ImageBuffer::from_raw(width, height, words).map(DynamicImage::ImageLumaA16)
            }
            ColorType::Rgb => {
                ImageBuffer::from_raw(width, height, words).map(DynamicImage::ImageRgb16)
            }
            ColorType::Rgba => {
                ImageBuffer::from_raw(width, height, words).map(DynamicImage::ImageRgba16)
            }
            ColorType::Indexed => None,
        }
    } else {
        let mut bytes = zeros(count)?;
        reader.next_frame(&mut bytes)?;
        match color {
            ColorType::Grayscale => {
                GrayImage::from_raw(width, height, bytes).map(DynamicImage::from)
            }
            ColorType::GrayscaleAlpha => {
                GrayAlphaImage::from_raw(width, height, bytes).map(DynamicImage::from)
            }
            ColorType::Rgb => RgbImage::from_raw(width, height, bytes).map(DynamicImage::from),
            ColorType::Rgba => RgbaImage::from_raw(width, height, bytes).map(DynamicImage::from),
            ColorType::Indexed => None,
        }
    };
    reader.finish()?;
    Ok(image.ok_or("it has another size than its header says")?)
}

/// Returns the bytes of all rows before compression: each row has its packed pixels and a byte for its filter.
fn bytes_of_rows(header: &Info<'_>) -> u64 {
    let bits = header.bits_per_pixel() as u64;
    let pass = |(x, dx, y, dy): (u32, u32, u32, u32)| {
        let columns = u64::from(header.width.saturating_sub(x).div_ceil(dx));
        let rows = u64::from(header.height.saturating_sub(y).div_ceil(dy));
        // A pass without columns has no rows either.
        if columns == 0 {
            0
        } else {
            rows * (1 + (columns * bits).div_ceil(8))
        }
    };
    if !header.interlaced {
        return pass((0, 1, 0, 1));
    }
    // The passes of Adam7: the first column and the step, the first row and the step.
    const ADAM7: [(u32, u32, u32, u32); 7] = [
        (0, 8, 0, 8),
        (4, 8, 0, 8),
        (0, 4, 4, 8),
        (2, 4, 0, 4),
        (0, 2, 2, 4),
        (1, 2, 0, 2),
        (0, 1, 1, 2),
    ];
    ADAM7.into_iter().map(pass).sum()
}

impl From<DecodingError> for Problem {
    fn from(error: DecodingError) -> Self {
        match error {
            DecodingError::LimitsExceeded => Problem::TooLarge,
            error => Problem::Damaged(error.to_string()),
        }
    }
}
