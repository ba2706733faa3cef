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
    let read = input::read_stream(bytes).map(|input| input.array);
    if let Ok(array) = &read {
        // No format holds more elements than these in a byte: PNG of one bit a pixel, well compressed.
        assert!(array.len() <= 8 * 1032 * bytes.len(), "{}", array.shape());
    }
    array_or_one_line(read);
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
