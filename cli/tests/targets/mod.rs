//! What hostile bytes are given to: the readers, and the parser of the program's arguments. Each panics where
//! it finds something wrong. `mutations.rs` here and the fuzzer in `fuzz/` call them.
#![allow(dead_code, missing_docs)]

#[path = "../../src/args.rs"]
mod args;

use std::io::Cursor;

use clap::Parser;
use warpwright_cli::array::Array;
use warpwright_cli::error::Result;
use warpwright_cli::{input, npy};

/// A name, and what is called with bytes of any kind.
pub type Target = (&'static str, fn(&[u8]));

/// A target by its name, which is also that of its folder in `corpus`.
pub const TARGETS: [Target; 3] = [
    ("npy", npy_file),
    ("input", input_file),
    ("arguments", arguments),
];

/// The most pixels that a picture may declare here: what it declares is what it takes.
const MOST_PIXELS: u64 = 1 << 22;

fn array_or_one_line(read: Result<Array>) {
    match read {
        // What could be read can be written, and is then the same.
        Ok(array) => {
            let mut bytes = Vec::new();
            npy::write(&mut bytes, &array).expect("there is room");
            let again = npy::read(Cursor::new(&bytes), bytes.len() as u64).expect("our own file");
            assert_eq!(
                (again.shape(), again.dtype()),
                (array.shape(), array.dtype())
            );
            let mut twice = Vec::new();
            npy::write(&mut twice, &again).expect("there is room");
            assert_eq!(bytes, twice);
        }
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
        }
    }
}

/// A `.npy` file.
pub fn npy_file(bytes: &[u8]) {
    array_or_one_line(npy::read(Cursor::new(bytes), bytes.len() as u64));
}

/// A file of any format.
pub fn input_file(bytes: &[u8]) {
    if !declares_more_than(bytes, MOST_PIXELS) {
        array_or_one_line(input::read_stream(bytes).map(|input| input.array));
    }
}

/// Whether a picture says that it has more pixels than these: a PNG in its first chunk, a JPEG in any frame
/// header.
fn declares_more_than(bytes: &[u8], most: u64) -> bool {
    let big = |at: usize, len: usize| {
        let part = bytes.get(at..at + len)?;
        Some(
            part.iter()
                .fold(0, |number, byte| number << 8 | u64::from(*byte)),
        )
    };
    let pixels = |width: Option<u64>, height: Option<u64>| {
        width.unwrap_or(0).saturating_mul(height.unwrap_or(0)) > most
    };
    if bytes.starts_with(b"\x89PNG") {
        return pixels(big(16, 4), big(20, 4));
    }
    // A marker of a frame, its length, the precision, and the sizes.
    bytes.windows(2).enumerate().any(|(at, marker)| {
        marker[0] == 0xff
            && (0xc0..=0xcf).contains(&marker[1])
            && pixels(big(at + 5, 2), big(at + 7, 2))
    })
}

/// Arguments, a line each.
pub fn arguments(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let words = std::iter::once("warpwright").chain(text.lines());
    match args::Args::try_parse_from(words) {
        Ok(args) => assert!(!format!("{args:?}").is_empty()),
        Err(error) => assert!(!error.render().to_string().is_empty()),
    }
}
