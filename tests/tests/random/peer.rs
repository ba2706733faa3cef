//! The words of cuRAND's device generators, as `benches/curand/words.cu` prints them on a GPU.
//!
//! A line is: the generator (`philox` or `xorwow`), seed, sequence, offset (decimal), and eight words (hexadecimal).
//! `curand-words.txt` is what it printed on an NVIDIA H100, built with the nvcc and the cuRAND of CUDA 13.0.

use cuda_std::random::{Philox4x32, Xorwow};

/// The places that `words.cu` prints: seed, sequence, offset.
const PLACES: [(u64, u64, u64); 12] = [
    (0, 0, 0),
    (1234, 0, 0),
    (1234, 1, 0),
    (1234, 0, 1),
    (1234, 7, 3),
    (0xdead_beef_cafe_f00d, 65_535, 4),
    (0xdead_beef_cafe_f00d, 65_536, 1_000_003),
    (u64::MAX, 4_294_967_296, 4_294_967_295),
    (42, 1_000_000_007, 17_179_869_185),
    (42, 281_474_976_710_655, 6),
    (99, 3, 1_152_921_504_606_846_977),
    (99, 1_152_921_504_606_846_979, 2),
];

fn line(generator: &str, (seed, sequence, offset): (u64, u64, u64)) -> String {
    let words: Vec<String> = match generator {
        "philox" => {
            let mut random = Philox4x32::new(seed, sequence, offset);
            (0..8)
                .map(|_| format!("{:08x}", random.next_word()))
                .collect()
        }
        "xorwow" => {
            let mut random = Xorwow::new(seed, sequence, offset);
            (0..8)
                .map(|_| format!("{:08x}", random.next_word()))
                .collect()
        }
        other => panic!("no generator is called {other}"),
    };
    format!("{generator} {seed} {sequence} {offset} {}", words.join(" "))
}

/// All lines that this project's generators make, in the order of `words.cu`.
fn lines() -> Vec<String> {
    let generators = ["philox", "xorwow"];
    let lines = generators.map(|generator| PLACES.map(|place| line(generator, place)));
    lines.into_iter().flatten().collect()
}

#[test]
fn the_program_for_the_card_prints_these_places() {
    let program = include_str!("../../../benches/curand/words.cu");
    for (seed, sequence, offset) in PLACES {
        let row = format!("{{{seed}ull, {sequence}ull, {offset}ull}},");
        assert!(program.contains(&row), "{row}");
    }
}

#[test]
fn the_words_are_those_of_curand() {
    let printed: Vec<&str> = include_str!("curand-words.txt").lines().collect();
    assert_eq!(lines(), printed);
}

/// Prints the lines, to compare with those of the card: `cargo test -p warpwright-tests --test random -- --ignored
/// --nocapture print_the_words`.
#[test]
#[ignore = "prints"]
fn print_the_words() {
    for line in lines() {
        println!("{line}");
    }
}
