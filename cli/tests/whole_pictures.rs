//! A picture is read whole or not at all, and none that its file cannot hold.
#![allow(missing_docs)]

use std::io::Cursor;
use std::path::Path;

use warpwright_cli::array::{Array, Data, Shape};
use warpwright_cli::error::Result;
use warpwright_cli::picture::{self, Picture, PictureFormat};

fn read(bytes: &[u8], format: PictureFormat) -> Result<Picture> {
    picture::read(Cursor::new(bytes), format)
}

#[track_caller]
fn refused(bytes: &[u8], format: PictureFormat, what: &str) -> String {
    match read(bytes, format) {
        Ok(picture) => panic!("{what}: read as {}", picture.array.shape()),
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains('\n'), "{text}");
            text
        }
    }
}

/// The pictures of the corpus of this format: baseline and progressive JPEG with and without restart markers,
/// subsampled, in several scans and grey; PNG of each depth.
fn pictures(format: PictureFormat) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/input");
    let extension = match format {
        PictureFormat::Png => ".png",
        PictureFormat::Jpeg => ".jpg",
    };
    let mut pictures: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .filter(|(name, _)| name.ends_with(extension))
        // What promises more than it holds.
        .filter(|(name, _)| !name.starts_with("huge") && !name.starts_with("truncated"))
        .map(|(name, path)| (name, std::fs::read(path).unwrap()))
        .collect();
    pictures.sort();
    assert!(pictures.len() >= 5, "the corpus has few {extension} files");
    pictures
}

/// The places of a JPEG's data: behind the header of each scan, up to the next marker that is no restart.
fn entropy_coded(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    let mut at = 2;
    while bytes[at + 1] != 0xd9 {
        let scan = bytes[at + 1] == 0xda;
        at += 2 + usize::from(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]]));
        if scan {
            let marker =
                |at: &usize| bytes[*at] == 0xff && !matches!(bytes[at + 1], 0 | 0xd0..=0xd7);
            let end = (at..).find(marker).unwrap();
            ranges.push(at..end);
            at = end;
        }
    }
    ranges
}

/// The picture that the JPEG files of the corpus but `grey.jpg` were made from by libjpeg's `cjpeg`, in grey:
/// noise on a slope, in colour or of one component.
fn original(colour: bool) -> Vec<f32> {
    let mut state = 12_345_u32;
    let mut pixel = |at: u32| {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345) & 0x7fff_ffff;
        let (x, y, noise) = (at % 37, at / 37, (state >> 16) % 40);
        let value = |slope: u32| ((slope + noise) % 256) as f32;
        match colour {
            true => 0.2126 * value(x * 7) + 0.7152 * value(y * 8) + 0.0722 * value((x + y) * 3),
            false => value(x * 5 + y * 3),
        }
    };
    (0..37 * 29).map(&mut pixel).collect()
}

#[test]
fn pictures_of_every_kind_are_read() {
    for (name, bytes) in pictures(PictureFormat::Jpeg) {
        let picture = read(&bytes, PictureFormat::Jpeg).unwrap_or_else(|e| panic!("{name}: {e}"));
        let Array::U8(data) = picture.array else {
            panic!("{name} is not u8");
        };
        if name == "grey.jpg" {
            continue;
        }
        assert_eq!(data.shape().to_string(), "29 x 37", "{name}");
        let colour = name != "progressive-restarts.jpg";
        assert_eq!(picture.converted_from.is_some(), colour, "{name}");
        // Of each row, so that a part that is missing counts.
        let expected = original(colour);
        for (row, (found, expected)) in data
            .values()
            .chunks(37)
            .zip(expected.chunks(37))
            .enumerate()
        {
            let differences = found
                .iter()
                .zip(expected)
                .map(|(a, b)| (f32::from(*a) - b).abs());
            let mean = differences.sum::<f32>() / 37.0;
            assert!(mean < 25.0, "{name}, row {row}: {mean} off in the mean");
        }
    }
    for (name, bytes) in pictures(PictureFormat::Png) {
        read(&bytes, PictureFormat::Png).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn no_part_of_a_picture_is_taken_for_the_whole() {
    for format in [PictureFormat::Jpeg, PictureFormat::Png] {
        for (name, bytes) in pictures(format) {
            for length in 0..bytes.len() {
                refused(
                    &bytes[..length],
                    format,
                    &format!("{length} bytes of {name}"),
                );
            }
        }
    }
}

#[test]
fn what_is_behind_the_end_of_a_picture_is_not_looked_at() {
    for format in [PictureFormat::Jpeg, PictureFormat::Png] {
        for (name, bytes) in pictures(format) {
            let more = [&bytes[..], b"a second picture"].concat();
            assert_eq!(
                read(&more, format).expect(&name).array,
                read(&bytes, format).expect(&name).array
            );
        }
    }
}

#[test]
fn a_jpeg_with_an_early_end_marker_is_refused() {
    for (name, bytes) in pictures(PictureFormat::Jpeg) {
        for scan in entropy_coded(&bytes) {
            for at in scan {
                // As of a file that was cut and closed, and of one in which two bytes were changed.
                let cut = [&bytes[..at], b"\xff\xd9"].concat();
                refused(&cut, PictureFormat::Jpeg, &format!("{name} closed at {at}"));
                for marker in [0xd9, 0xda, 0xc4] {
                    let mut changed = bytes.clone();
                    changed[at..at + 2].copy_from_slice(&[0xff, marker]);
                    if changed != bytes {
                        let what = format!("{name} with marker {marker:02x} at {at}");
                        refused(&changed, PictureFormat::Jpeg, &what);
                    }
                }
            }
        }
    }
}

/// What is changed within a JPEG's data may stand for as many other codes, which nothing can tell; but data that
/// ends before the last block, or behind it, is refused.
#[test]
fn a_jpeg_whose_data_is_too_long_or_too_short_is_refused() {
    for (name, bytes) in pictures(PictureFormat::Jpeg) {
        for scan in entropy_coded(&bytes) {
            for removed in 1..=scan.len() {
                let mut changed = bytes.clone();
                changed.drain(scan.end - removed..scan.end);
                let what = format!("{name} without {removed} bytes before {}", scan.end);
                refused(&changed, PictureFormat::Jpeg, &what);
            }
            for added in 1..9 {
                let mut changed = bytes.clone();
                changed.splice(scan.end..scan.end, std::iter::repeat_n(0x55, added));
                let what = format!("{name} with {added} bytes more before {}", scan.end);
                refused(&changed, PictureFormat::Jpeg, &what);
            }
        }
    }
}

#[test]
fn a_jpeg_without_one_of_its_scans_is_refused() {
    for (name, bytes) in pictures(PictureFormat::Jpeg) {
        for scan in entropy_coded(&bytes) {
            // The marker, the length and the parameters before the data.
            let header = (0..scan.start - 4).rev();
            let header = header
                .into_iter()
                .find(|&at| bytes[at..at + 2] == [0xff, 0xda])
                .unwrap();
            let mut changed = bytes.clone();
            changed.drain(header..scan.end);
            refused(
                &changed,
                PictureFormat::Jpeg,
                &format!("{name} without {header}.."),
            );
            let twice = bytes[header..scan.end].to_vec();
            let mut changed = bytes.clone();
            changed.splice(header..header, twice);
            refused(
                &changed,
                PictureFormat::Jpeg,
                &format!("{name} with {header}.. twice"),
            );
        }
    }
}

#[test]
fn no_changed_bit_of_a_png_goes_unseen() {
    for (name, bytes) in pictures(PictureFormat::Png) {
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                refused(
                    &changed,
                    PictureFormat::Png,
                    &format!("{name}, bit {bit} of byte {at}"),
                );
            }
        }
    }
}

/// The check value of a PNG chunk: CRC-32 of its type and its data.
fn crc(bytes: &[u8]) -> u32 {
    let byte = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    };
    !bytes.iter().fold(!0, byte)
}

/// A chunk of a PNG.
fn chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let body = [name, data].concat();
    let length = data.len() as u32;
    [&length.to_be_bytes()[..], &body, &crc(&body).to_be_bytes()].concat()
}

/// A PNG of this size, whose header and check values are right.
fn png(width: u32, height: u32, depth: u8, interlaced: u8, data: &[u8]) -> Vec<u8> {
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    let header = [&size[..], &[depth, 0, 0, 0, interlaced]].concat();
    [
        picture::PNG_MAGIC,
        &chunk(b"IHDR", &header),
        &chunk(b"IDAT", data),
        &chunk(b"IEND", &[]),
    ]
    .concat()
}

/// Bytes without compression, as deflate stores them, in zlib's frame.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u16;
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    [
        &[0x78, 1, 1][..],
        &length.to_le_bytes(),
        &(!length).to_le_bytes(),
        bytes,
        &(high << 16 | low).to_be_bytes(),
    ]
    .concat()
}

#[test]
fn a_png_of_fewer_rows_than_it_declares_is_refused() {
    // Four rows of five pixels, each with a byte for its filter.
    let rows = [0, 1, 2, 3, 4, 5].repeat(4);
    let whole = png(5, 4, 8, 0, &stored(&rows));
    assert!(read(&whole, PictureFormat::Png).is_ok());
    for length in 0..rows.len() {
        let less = png(5, 4, 8, 0, &stored(&rows[..length]));
        refused(
            &less,
            PictureFormat::Png,
            &format!("{length} bytes of rows"),
        );
    }
    let mut wrong = stored(&rows);
    *wrong.last_mut().unwrap() ^= 1;
    refused(
        &png(5, 4, 8, 0, &wrong),
        PictureFormat::Png,
        "a wrong check value of zlib",
    );
}

#[test]
fn a_png_larger_than_its_bytes_can_hold_is_refused_at_once() {
    for (width, height, depth, interlaced) in [
        (20_000, 20_000, 8, 0),
        (20_000, 20_000, 16, 1),
        (65_535, 65_535, 1, 0),
        (65_535, 65_535, 1, 1),
        (1, 65_535, 8, 0),
    ] {
        let bytes = png(width, height, depth, interlaced, &stored(&[0; 4]));
        let text = refused(&bytes, PictureFormat::Png, "a few bytes");
        let given = format!("the file's {} bytes", bytes.len());
        for part in [&format!("{width} x {height}"), "1032", &given] {
            assert!(text.contains(part), "{text}");
        }
    }
}

/// The frame header of a JPEG changed to these sides.
fn resized(bytes: &[u8], width: u16, height: u16) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let frame = bytes
        .windows(2)
        .position(|pair| matches!(pair, [0xff, 0xc0..=0xc2]));
    let at = frame.unwrap() + 5;
    bytes[at..at + 2].copy_from_slice(&height.to_be_bytes());
    bytes[at + 2..at + 4].copy_from_slice(&width.to_be_bytes());
    bytes
}

#[test]
fn a_jpeg_larger_than_its_bytes_can_hold_is_refused_at_once() {
    for (name, bytes) in pictures(PictureFormat::Jpeg) {
        for (width, height) in [(20_000, 20_000), (65_535, 65_535), (65_535, 8), (1, 65_535)] {
            let text = refused(&resized(&bytes, width, height), PictureFormat::Jpeg, &name);
            assert!(text.contains("blocks of 8 x 8"), "{name}: {text}");
        }
        // What might be true by the number of its bytes.
        for (width, height) in [(37, 30 + 8), (37 + 16, 29), (200, 200)] {
            refused(&resized(&bytes, width, height), PictureFormat::Jpeg, &name);
        }
    }
}

/// A progressive JPEG of one value, in as few bits as there can be: one for the DC coefficient of a block, and
/// one code for no others in 16384 blocks.
fn smallest_jpeg(side: u16) -> Vec<u8> {
    let blocks = usize::from(side / 8) * usize::from(side / 8);
    assert_eq!(blocks % 16_384, 0);
    let [high, low] = side.to_be_bytes();
    let zeros = |bits: usize| vec![0; bits / 8];
    let one_code =
        |place, symbol| [&[0xff, 0xc4, 0, 20, place, 1][..], &[0; 15], &[symbol]].concat();
    [
        &[0xff, 0xd8, 0xff, 0xdb, 0, 67, 0][..],
        &[1; 64],
        &[0xff, 0xc2, 0, 11, 8, high, low, high, low, 1, 1, 0x11, 0],
        &one_code(0, 0),
        &[0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0],
        &zeros(blocks),
        &one_code(0x10, 0xe0),
        &[0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0],
        &zeros(blocks / 16_384 * 15),
        &[0xff, 0xd9],
    ]
    .concat()
}

#[test]
fn the_smallest_jpeg_of_its_size_is_read() {
    let bytes = smallest_jpeg(4096);
    let pixels = 4096 * 4096;
    assert!(pixels / bytes.len() > 500, "{} bytes", bytes.len());
    let Array::U8(data) = read(&bytes, PictureFormat::Jpeg).unwrap().array else {
        panic!("not u8")
    };
    assert_eq!(data.values().len(), pixels);
    assert!(data.values().iter().all(|&value| value == 128));
    refused(
        &resized(&bytes, 4104, 4096),
        PictureFormat::Jpeg,
        "a column more",
    );
}

#[test]
fn flat_pictures_of_16384_x_16384_are_read() {
    let side = 16_384;
    let shape = Shape::Matrix {
        height: side,
        width: side,
    };
    let flat = Array::U8(Data::new(shape, vec![128; side * side]).unwrap());
    for format in [PictureFormat::Jpeg, PictureFormat::Png] {
        let mut bytes = Vec::new();
        picture::write(&mut bytes, &flat, format).unwrap();
        let read = read(&bytes, format).unwrap().array;
        assert!(read == flat, "{format:?} of {} bytes", bytes.len());
    }
}

/// The most that a PNG's compression makes of a file: one bit a pixel, and the strongest compression.
#[test]
fn a_png_of_the_strongest_compression_is_read() {
    let (side, mut bytes) = (16_384, Vec::new());
    let mut encoder = png::Encoder::new(&mut bytes, side, side);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::NoFilter);
    let rows = vec![0; (side * side / 8) as usize];
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&rows).unwrap();
    writer.finish().unwrap();
    assert!(rows.len() / bytes.len() > 900, "{} bytes", bytes.len());
    let picture = read(&bytes, PictureFormat::Png).unwrap();
    assert_eq!(picture.array.shape().to_string(), "16384 x 16384");
}

/// A text of 4 GiB in a few megabytes, which a picture may have beside it.
#[test]
fn compressed_texts_of_a_png_are_left_alone() {
    let rows = stored(&[0, 7, 0, 9]);
    let plain = png(1, 2, 8, 0, &rows);
    // A text and a profile whose compressed data is none.
    let text = chunk(b"zTXt", b"Comment\0\0not zlib at all");
    let profile = chunk(b"iCCP", b"profile\0\0not zlib at all");
    let with = [&plain[..33], &profile, &text, &plain[33..]].concat();
    assert_eq!(
        read(&with, PictureFormat::Png).unwrap().array,
        read(&plain, PictureFormat::Png).unwrap().array
    );
}
