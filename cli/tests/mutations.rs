//! Damaged files and odd arguments: a bounded number of mutations of the corpus, the same in every run. The
//! fuzzer in `fuzz/`, which looks for new paths in the code, starts from the same corpus.
#![allow(missing_docs)]

mod targets;

use std::path::Path;

/// Mutations per target; `WARPWRIGHT_MUTATIONS` asks for another number.
const MUTATIONS: u64 = 20_000;

/// Numbers by xorshift (Marsaglia 2003).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Words that programs trip over, as bytes and in decimal digits.
const AWKWARD: [i64; 10] = [
    0,
    -1,
    1,
    0x7f,
    0xff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    i64::MAX,
    i64::MIN,
];

fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], numbers: &mut Numbers) {
    let at = numbers.below(bytes.len() + 1);
    let end = (at + numbers.below(9)).min(bytes.len());
    let awkward = AWKWARD[numbers.below(AWKWARD.len())];
    let insert = match numbers.below(8) {
        0 if at < bytes.len() => {
            bytes[at] ^= 1 << numbers.below(8);
            return;
        }
        1 => Vec::new(),
        2 => bytes[at..end].to_vec(),
        3 => awkward.to_le_bytes()[..1 << numbers.below(4)].to_vec(),
        4 => awkward.to_be_bytes()[8 - (1 << numbers.below(4))..].to_vec(),
        5 => awkward.to_string().into_bytes(),
        6 => {
            let other = &seeds[numbers.below(seeds.len())];
            let from = numbers.below(other.len() + 1);
            other[from..(from + numbers.below(40)).min(other.len())].to_vec()
        }
        _ => vec![numbers.next() as u8],
    };
    // In the place of what is there, or before it.
    let removed = if numbers.below(2) == 0 { end } else { at };
    bytes.splice(at..removed, insert);
}

fn run(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(name);
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let seeds: Vec<Vec<u8>> = paths
        .iter()
        .map(|path| std::fs::read(path).expect("a file of the corpus"))
        .collect();
    assert!(seeds.len() >= 4, "{name} has few seeds");
    seeds.iter().for_each(|seed| target(seed));
    let count = std::env::var("WARPWRIGHT_MUTATIONS").ok();
    let count = count.map_or(MUTATIONS, |count| count.parse().expect("a number"));
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for i in 0..count {
        let mut bytes = seeds[numbers.below(seeds.len())].clone();
        for _ in 0..=numbers.below(6) {
            mutate(&mut bytes, &seeds, &mut numbers);
        }
        let survived = std::panic::catch_unwind(|| target(&bytes)).is_ok();
        assert!(survived, "{name}, mutation {i}: {}", bytes.escape_ascii());
    }
    println!("{name}: {} seeds, {count} mutations", seeds.len());
}

#[test]
fn npy_files() {
    run(targets::TARGETS[0].0, targets::TARGETS[0].1);
}

#[test]
fn files_of_any_format() {
    run(targets::TARGETS[1].0, targets::TARGETS[1].1);
}

#[test]
fn arguments() {
    run(targets::TARGETS[2].0, targets::TARGETS[2].1);
}
