//! Checks of the random numbers: the words, and what the distributions make of them.
//!
//! The words of Philox are made from its paper, those of XORWOW by stepping through each of its sequences. Words and uniform
//! numbers have to be equal; normal and log-normal numbers are held against the host's functions in `f64`;
//! Poisson numbers against the device library's own table, looked up on the host.

use std::sync::LazyLock;

use warpwright::cuda_std::random::{PoissonTable, Xorwow};
use warpwright::{Device, Element, Generator, RandomGenerator, Result, Vector};

use super::{Case, Scale, Wrong};

/// Numbers of elements, and of the first.
const SHAPES: [(usize, u64); 8] = [
    (0, 0),
    (1, 0),
    (2, 1),
    (7, 3),
    (64, 0),
    (1000, 2),
    (4099, 1),
    (20_000, 0),
];
/// The same for a GPU.
const LARGE: [(usize, u64); 3] = [(1 << 22, 0), (1_000_003, 5), (300_000, 1 << 33)];

/// The sequences of XORWOW that make one stream.
pub(crate) const SEQUENCES: u64 = 65_536;

const SEED: u64 = 0x1234_5678_9abc_def0;
const SEQUENCE: u64 = 3;

/// What the elements of a quad of words have to be near, how near, and in how many parts a quad comes.
type Oracle = fn([u32; 4]) -> Vec<(f64, f64)>;

pub(super) fn cases(scale: Scale) -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in [Generator::Philox, Generator::Xorwow] {
        distribution(
            &mut cases,
            scale,
            kind,
            "words",
            |random, len| random.bits(len),
            |quad| quad.map(|word| (f64::from(word), 0.0)).to_vec(),
        );
        distribution(
            &mut cases,
            scale,
            kind,
            "uniform f32",
            |random, len| random.uniform::<f32>(len),
            |quad| quad.map(|word| (f64::from(uniform(word)), 0.0)).to_vec(),
        );
        distribution(
            &mut cases,
            scale,
            kind,
            "uniform f64",
            |random, len| random.uniform::<f64>(len),
            |quad| {
                vec![
                    (uniform_pair(quad[0], quad[1]), 0.0),
                    (uniform_pair(quad[2], quad[3]), 0.0),
                ]
            },
        );
        distribution(
            &mut cases,
            scale,
            kind,
            "normal f32",
            |random, len| random.normal(len, 2.0_f32, 0.5),
            |quad| {
                let near = |z: f64| (2.0 + 0.5 * z, 1e-6);
                normal_quad(quad).map(near).to_vec()
            },
        );
        distribution(
            &mut cases,
            scale,
            kind,
            "normal f64",
            |random, len| random.normal(len, 2.0_f64, 0.5),
            |quad| normal_pair(quad).map(|z| (2.0 + 0.5 * z, 1e-14)).to_vec(),
        );
        distribution(
            &mut cases,
            scale,
            kind,
            "log-normal f32",
            |random, len| random.log_normal(len, 0.0_f32, 0.5),
            |quad| {
                let near = |z: f64| ((0.5 * z).exp(), 1e-6 * (0.5 * z).exp());
                normal_quad(quad).map(near).to_vec()
            },
        );
        distribution(
            &mut cases,
            scale,
            kind,
            "log-normal f64",
            |random, len| random.log_normal(len, 0.0_f64, 0.5),
            |quad| {
                let near = |z: f64| ((0.5 * z).exp(), 1e-14 * (0.5 * z).exp());
                normal_pair(quad).map(near).to_vec()
            },
        );
        distribution(
            &mut cases,
            scale,
            kind,
            "Poisson 4",
            |random, len| random.poisson(len, 4.0),
            |quad| poisson(0, quad),
        );
        distribution(
            &mut cases,
            scale,
            kind,
            "Poisson 500",
            |random, len| random.poisson(len, 500.0),
            |quad| poisson(1, quad),
        );
        distribution(
            &mut cases,
            scale,
            kind,
            "Poisson 200000",
            |random, len| random.poisson(len, 200_000.0),
            |quad| poisson(2, quad),
        );
    }
    cases
}

fn distribution<T: Element + Into<f64>>(
    cases: &mut Vec<Case>,
    scale: Scale,
    kind: Generator,
    name: &str,
    draw: fn(&mut RandomGenerator, usize) -> Result<Vector<T>>,
    oracle: Oracle,
) {
    let mut shapes = SHAPES.to_vec();
    if scale == Scale::Large {
        shapes.extend(LARGE);
    }
    for (len, first) in shapes {
        let name = format!("{len} {name} from {first} on by {kind:?}");
        cases.push(Case::new(name, move |device, variant| {
            check(device, variant, kind, (len, first), draw, oracle)
        }));
    }
}

fn check<T: Element + Into<f64>>(
    device: &Device,
    variant: &str,
    kind: Generator,
    (len, first): (usize, u64),
    draw: fn(&mut RandomGenerator, usize) -> Result<Vector<T>>,
    oracle: Oracle,
) -> std::result::Result<(), Wrong> {
    let per_quad = oracle([0; 4]).len() as u64;
    let random = device.generator(kind, SEED)?.sequence(SEQUENCE);
    let mut random = random.offset(first * 4 / per_quad).variant(variant);
    let found = draw(&mut random, len)?.to_vec()?;
    if found.len() != len {
        let text = format!("expected {len} elements, found {}", found.len());
        return Err(Wrong::Result(text));
    }
    let mut source = Source::new(kind);
    // By quads of one sequence after the other, as XORWOW can only step.
    let quads = first / per_quad..(first + len as u64).div_ceil(per_quad);
    for quad in source.order(quads) {
        let elements = oracle(source.words(quad));
        for (i, (expected, bound)) in elements.into_iter().enumerate() {
            let Some(index) = (quad * per_quad + i as u64).checked_sub(first) else {
                continue;
            };
            let Some(value) = found.get(index as usize) else {
                continue;
            };
            let value: f64 = (*value).into();
            let error = (value - expected).abs();
            // Not of a NaN.
            let near = error <= bound;
            if !near {
                return Err(Wrong::Result(format!(
                    "at {index}: expected {expected} within {bound}, found {value}"
                )));
            }
        }
    }
    Ok(())
}

/// The words of the stream, quad by quad.
enum Source {
    Philox,
    /// A sequence, the round of its next quad, and its state.
    Xorwow(Option<(u64, u64, Xorwow)>),
}

impl Source {
    fn new(kind: Generator) -> Self {
        match kind {
            Generator::Philox => Self::Philox,
            _ => Self::Xorwow(None),
        }
    }

    /// The order in which the quads are had most easily.
    fn order(&self, quads: std::ops::Range<u64>) -> Vec<u64> {
        let mut order: Vec<u64> = quads.collect();
        if let Self::Xorwow(_) = self {
            order.sort_by_key(|quad| (quad % SEQUENCES, *quad));
        }
        order
    }

    fn words(&mut self, quad: u64) -> [u32; 4] {
        match self {
            Self::Philox => philox(quad, SEQUENCE, SEED),
            Self::Xorwow(state) => {
                let (sequence, round) = (quad % SEQUENCES, quad / SEQUENCES);
                let mut random = match state.take() {
                    Some((number, next, random)) if (number, next) == (sequence, round) => random,
                    _ => Xorwow::new(SEED, SEQUENCE * SEQUENCES + sequence, 4 * round),
                };
                let words = std::array::from_fn(|_| random.next_word());
                *state = Some((sequence, round + 1, random));
                words
            }
        }
    }
}

/// A block of Philox4x32-10, as its paper draws it: ten rounds of two products and a permutation.
pub(crate) fn philox(block: u64, sequence: u64, key: u64) -> [u32; 4] {
    let halves = |value: u64| (value as u32, (value >> 32) as u32);
    let ((mut a, mut b), (mut c, mut d)) = (halves(block), halves(sequence));
    for round in 0..10_u32 {
        let (k, l) = halves(key);
        let k = k.wrapping_add(round.wrapping_mul(0x9e37_79b9));
        let l = l.wrapping_add(round.wrapping_mul(0xbb67_ae85));
        let (low, high) = halves(u64::from(a) * 0xd251_1f53);
        let (lower, higher) = halves(u64::from(c) * 0xcd9e_8d57);
        (a, b, c, d) = (higher ^ b ^ k, lower, high ^ d ^ l, low);
    }
    [a, b, c, d]
}

/// Rounded once to `f32`, and once more after the addition, which is exact in `f64`.
pub(crate) fn uniform(word: u32) -> f32 {
    let rounded = f64::from(word as f32);
    ((rounded + 0.5) / 4_294_967_296.0) as f32
}

fn uniform_pair(low: u32, high: u32) -> f64 {
    let bits = u64::from(low) ^ u64::from(high) << 21;
    (bits as f64 + 0.5) / 9_007_199_254_740_992.0
}

/// Two normal numbers: the uniform one that gives the radius, the part of a quarter turn, and the two bits.
fn box_muller(uniform: f64, part: f64, exchange: bool, turn: bool) -> [f64; 2] {
    let radius = (-2.0 * uniform.ln()).sqrt();
    let (sine, cosine) = (part * std::f64::consts::FRAC_PI_2).sin_cos();
    let cosine = if turn { -cosine } else { cosine };
    if exchange {
        [radius * sine, radius * cosine]
    } else {
        [radius * cosine, radius * sine]
    }
}

pub(crate) fn normal_quad(quad: [u32; 4]) -> [f64; 4] {
    let pair = |first: u32, second: u32| {
        let part = f64::from((second << 2) as i32) / 4_294_967_296.0;
        let bit = |bit: u32| second >> bit & 1 != 0;
        box_muller(f64::from(uniform(first)), part, bit(30), bit(31))
    };
    let ([a, b], [c, d]) = (pair(quad[0], quad[1]), pair(quad[2], quad[3]));
    [a, b, c, d]
}

fn normal_pair(quad: [u32; 4]) -> [f64; 2] {
    let bits = u64::from(quad[2]) | u64::from(quad[3]) << 32;
    let part = (bits << 2) as i64 as f64 / 18_446_744_073_709_551_616.0;
    let bit = |bit: u32| bits >> bit & 1 != 0;
    box_muller(uniform_pair(quad[0], quad[1]), part, bit(62), bit(63))
}

/// The numbers of the table of one of the means that are checked.
fn poisson(mean: usize, quad: [u32; 4]) -> Vec<(f64, f64)> {
    static TABLES: LazyLock<[Option<PoissonTable>; 3]> =
        LazyLock::new(|| [4.0, 500.0, 200_000.0].map(PoissonTable::new));
    let number = |word| {
        TABLES[mean]
            .as_ref()
            .map_or(f64::NAN, |table| f64::from(table.sample(word)))
    };
    quad.map(|word| (number(word), 0.0)).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_gives_the_published_block() {
        // Random123's known-answer vectors, of philox4x32 with 10 rounds.
        let block = philox(
            0x85a3_08d3_243f_6a88,
            0x0370_7344_1319_8a2e,
            0x299f_31d0_a409_3822,
        );
        assert_eq!(block, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
        assert_eq!(philox(0, 0, 0)[0], 0x6627_e8d5);
    }
}
