//! Reads JPEG: checks that a file is complete, and decodes its pixels.
//!
//! The decoder makes a picture from the data that is there and guesses the rest. This module first goes through the same codes
//! without making pixels (ITU-T T.81, annexes B, F and G). Each scan must hold the codes of all of its blocks and nothing else,
//! each coefficient must be given in full, and an end marker must follow. Data in which a wrong bit leads to as many other
//! codes passes, because JPEG has no check value.

mod blocks;
mod codes;

use std::io::Read;

use image::{DynamicImage, GrayImage, RgbImage};
use jpeg_decoder::{Decoder, PixelFormat};

use super::{Problem, check_size};
use blocks::{Component, Scan};
use codes::Codes;

/// The maximum number of scans. Encoders write about ten; a hostile file of many scans costs time for each.
const MAX_SCANS: usize = 100;

/// A result, or what is wrong with a file.
type Result<T> = std::result::Result<T, String>;

/// Decodes the file of `length` bytes, if that takes at most the given memory.
pub(super) fn decode(
    mut reader: impl Read,
    length: u64,
    memory: u64,
) -> std::result::Result<DynamicImage, Problem> {
    if length > memory {
        return Err(Problem::TooLarge);
    }
    let mut bytes = Vec::new();
    reader
        .read_to_end(&mut bytes)
        .map_err(|error| format!("it cannot be read: {error}"))?;
    let progressive = check(&bytes)?;

    let mut decoder = Decoder::new(&bytes[..]);
    decoder.set_max_decoding_buffer_size(usize::try_from(memory).unwrap_or(usize::MAX));
    let decoding = |error: jpeg_decoder::Error| error.to_string();
    decoder.read_info().map_err(decoding)?;
    let info = decoder.info().ok_or("it has no frame")?;
    let (width, height) = (info.width.into(), info.height.into());
    // A progressive picture is kept as coefficients of 16 bits.
    let sample = if progressive { 3 } else { 1 };
    check_size(
        (width, height),
        info.pixel_format.pixel_bytes() * sample,
        memory,
    )?;
    let samples = decoder.decode().map_err(decoding)?;
    let image = match info.pixel_format {
        PixelFormat::L8 => GrayImage::from_raw(width, height, samples).map(DynamicImage::from),
        PixelFormat::RGB24 => RgbImage::from_raw(width, height, samples).map(DynamicImage::from),
        PixelFormat::CMYK32 => {
            RgbImage::from_raw(width, height, rgb(&samples)).map(DynamicImage::from)
        }
        PixelFormat::L16 => None,
    };
    Ok(image.ok_or("it has another size than its header says")?)
}

/// Returns the light that inks of these amounts leave of white light.
fn rgb(inks: &[u8]) -> Vec<u8> {
    let left = |ink: u8, black: u8| (u16::from(255 - ink) * u16::from(255 - black) + 127) / 255;
    let pixels = inks.chunks_exact(4);
    pixels
        .flat_map(|p| [p[0], p[1], p[2]].map(|ink| left(ink, p[3]) as u8))
        .collect()
}

/// The position in a file, and what its segments have defined so far.
struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    frame: Option<Frame>,
    /// The codes of DC and of AC coefficients that are defined at this point.
    codes: [[Option<Codes>; 4]; 2],
    /// The number of MCUs between restart markers; 0 without them.
    restart: usize,
}

/// The contents of a frame header.
struct Frame {
    progressive: bool,
    components: Vec<Component>,
}

/// Goes through a file from its first marker to its last, and returns whether it is progressive.
fn check(bytes: &[u8]) -> Result<bool> {
    let mut walk = Walk {
        bytes,
        at: 2, // Behind the start marker, by which the format was told.
        frame: None,
        codes: Default::default(),
        restart: 0,
    };
    let mut scans = 0;
    loop {
        match walk.marker()? {
            0xd9 => return walk.finish(),
            // A restart marker after the last interval, which some encoders write, has no meaning.
            0xd0..=0xd7 if scans > 0 => {}
            0x00..=0x01 | 0xd0..=0xd8 => return Err("a marker is where none belongs".into()),
            0xc0..=0xc2 => walk.frame_header()?,
            0xc4 => walk.huffman_tables()?,
            marker @ (0xc3 | 0xc5..=0xcf | 0xdc) => {
                return Err(format!(
                    "marker {marker:02X}: baseline, extended and progressive Huffman coding of 8 bits are supported"
                ));
            }
            0xda => {
                scans += 1;
                if scans > MAX_SCANS {
                    return Err(format!("more than {MAX_SCANS} scans"));
                }
                walk.scan()?;
            }
            0xdd => {
                let segment = walk.segment()?;
                let [high, low] = *segment else {
                    return Err("the restart interval is damaged".into());
                };
                walk.restart = usize::from(u16::from_be_bytes([high, low]));
            }
            // Quantization tables, which the decoder checks, and segments that do not affect the picture.
            _ => drop(walk.segment()?),
        }
    }
}

/// Returns the error for a file that ends early.
fn early_end() -> String {
    "the file ends early".into()
}

impl<'a> Walk<'a> {
    /// Returns the next marker, after any number of fill bytes.
    fn marker(&mut self) -> Result<u8> {
        if *self.bytes.get(self.at).ok_or_else(early_end)? != 0xff {
            return Err("there are bytes where a marker belongs".into());
        }
        while *self.bytes.get(self.at).ok_or_else(early_end)? == 0xff {
            self.at += 1;
        }
        self.at += 1;
        Ok(self.bytes[self.at - 1])
    }

    /// Returns the parameters of a marker.
    fn segment(&mut self) -> Result<&'a [u8]> {
        let rest = self.bytes.get(self.at..).ok_or_else(early_end)?;
        let length = rest.first_chunk().ok_or_else(early_end)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let segment = rest.get(2..length.max(2)).ok_or_else(early_end)?;
        self.at += length.max(2);
        Ok(segment)
    }

    fn frame_header(&mut self) -> Result<()> {
        let progressive = self.bytes[self.at - 1] == 0xc2;
        let segment = self.segment()?;
        if self.frame.is_some() {
            return Err("there is more than one frame".into());
        }
        let Some((&[precision, h1, h0, w1, w0, count], parameters)) = segment.split_first_chunk()
        else {
            return Err("the frame header is damaged".into());
        };
        let height = usize::from(u16::from_be_bytes([h1, h0]));
        let width = usize::from(u16::from_be_bytes([w1, w0]));
        if precision != 8 || !matches!(count, 1..=4) || parameters.len() != 3 * usize::from(count) {
            return Err("8 bits and 1 to 4 components are supported".into());
        }
        let samplings = parameters.chunks_exact(3).map(|p| (p[1] >> 4, p[1] & 15));
        let sides = samplings.clone().flat_map(|(h, v)| [h, v]);
        if width == 0 || height == 0 || !sides.clone().all(|side| matches!(side, 1..=4)) {
            return Err("the frame header is damaged".into());
        }
        let widest = samplings.clone().map(|(h, _)| h).max().unwrap_or(1);
        let highest = samplings.map(|(_, v)| v).max().unwrap_or(1);
        let components: Vec<_> = parameters
            .chunks_exact(3)
            .map(|p| {
                Component::new(
                    p[0],
                    (p[1] >> 4, p[1] & 15),
                    (widest, highest),
                    (width, height),
                )
            })
            .collect();
        // A block needs at least the shortest code, one bit, for its DC coefficient, and one more bit for its end unless the
        // picture is progressive. No valid file promises more blocks than that allows.
        let blocks: u64 = components.iter().map(|c| c.blocks() as u64).sum();
        let least = blocks * if progressive { 1 } else { 2 };
        let most = 8 * self.bytes.len() as u64;
        if least > most {
            return Err(format!(
                "{width} x {height} pixels are {blocks} blocks of 8 x 8, which take {least} bits at least, and \
                 the file has {most}"
            ));
        }
        self.frame = Some(Frame {
            progressive,
            components,
        });
        Ok(())
    }

    fn huffman_tables(&mut self) -> Result<()> {
        let mut rest = self.segment()?;
        while let Some((&place, behind)) = rest.split_first() {
            let (codes, behind) = Codes::read(behind)?;
            let (kind, number) = (usize::from(place >> 4), usize::from(place & 15));
            let slot = self
                .codes
                .get_mut(kind)
                .and_then(|kind| kind.get_mut(number));
            *slot.ok_or("a Huffman table has a number that there is not")? = Some(codes);
            rest = behind;
        }
        Ok(())
    }

    fn scan(&mut self) -> Result<()> {
        let segment = self.segment()?;
        let frame = self
            .frame
            .as_mut()
            .ok_or("there is a scan before a frame")?;
        let data = &self.bytes[self.at..];
        let scan = Scan::new(segment, frame.progressive, &mut frame.components)?;
        self.at += scan.read(data, &self.codes, self.restart)?;
        Ok(())
    }

    /// Checks the state at the end marker.
    fn finish(self) -> Result<bool> {
        let frame = self.frame.ok_or("there is no frame")?;
        match frame.components.iter().all(Component::complete) {
            true => Ok(frame.progressive),
            false => Err("scans are missing".into()),
        }
    }
}
