//! Random numbers: the streams, the distributions, and what the numbers look like.
//!
//! | file | question |
//! | --- | --- |
//! | `stream.rs` | is every element the one that its place in the stream says, however the stream is cut and launched? |
//! | `accuracy.rs` | how far are the transformations from what they stand for? |
//! | `statistics.rs` | do the numbers follow their distributions? |
//! | `peer.rs` | are the words those of cuRAND's device generators? |
//! | `own_kernel.rs` | can a user's kernel draw its own, through `rand_core`? |
//! | `rates.rs` | how fast do they come? |

mod accuracy;
mod own_kernel;
mod peer;
mod rates;
mod statistics;
mod stream;

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
};

use cuda_std::random::{
    PoissonTable, Xorwow, exp_f32, exp_f64, normal_pair_scaled_f32, normal_pair_scaled_f64,
    uniform_f32, uniform_f64,
};
use warpwright::{Element, Generator, RandomGenerator, Result, Vector};
use warpwright_gpu::random::policy::SEQUENCES;

/// Both kinds.
const GENERATORS: [Generator; 2] = [Generator::Philox, Generator::Xorwow];

/// Words `from` to `from + len - 1` of a stream, by the definition: Philox from its paper, one block at a time;
/// XORWOW from a generator for each of the sequences.
fn words(generator: Generator, seed: u64, sequence: u64, from: u64, len: usize) -> Vec<u32> {
    let mut words = vec![0; len];
    let mut put = |word: u64, value: u32| {
        let place = word.wrapping_sub(from);
        if place < len as u64 {
            words[place as usize] = value;
        }
    };
    // The stream's last word is word `u64::MAX`.
    let end = from / 4 + (from % 4 + len as u64).div_ceil(4);
    for first in 0..SEQUENCES as u64 {
        let quads = from / 4..end;
        // The quads of this sequence; for Philox there is one of all.
        let stride = match generator {
            Generator::Philox if first == 0 => 1,
            Generator::Xorwow => SEQUENCES as u64,
            _ => break,
        };
        let mut quad = quads.start + first.wrapping_sub(quads.start) % stride;
        let number = sequence.wrapping_mul(SEQUENCES as u64).wrapping_add(first);
        let mut register = None;
        while quad < quads.end {
            let block = match generator {
                Generator::Philox => philox(quad, sequence, seed),
                _ => {
                    let register = register
                        .get_or_insert_with(|| Xorwow::new(seed, number, quad / stride * 4));
                    std::array::from_fn(|_| register.next_word())
                }
            };
            for (word, value) in (0..).zip(block) {
                put(4 * quad + word, value);
            }
            quad += stride;
        }
    }
    words
}

/// Ten rounds as the paper draws them: two S-boxes of a product each, and a permutation.
fn philox(counter: u64, sequence: u64, key: u64) -> [u32; 4] {
    let halves = |value: u64| (value as u32, (value >> 32) as u32);
    let ((mut r0, mut l0), (mut r1, mut l1)) = (halves(counter), halves(sequence));
    for round in 0..10_u32 {
        let (k0, k1) = halves(key);
        let k0 = k0.wrapping_add(round.wrapping_mul(0x9e37_79b9));
        let k1 = k1.wrapping_add(round.wrapping_mul(0xbb67_ae85));
        let (low0, high0) = halves(u64::from(r0) * 0xd251_1f53);
        let (low1, high1) = halves(u64::from(r1) * 0xcd9e_8d57);
        (r0, l0, r1, l1) = (high1 ^ l0 ^ k0, low1, high0 ^ l1 ^ k1, low0);
    }
    [r0, l0, r1, l1]
}

/// A distribution: how the library makes it, and how a quad of words does.
trait Draw: Copy + Debug {
    type Out: Element + Debug + PartialEq;
    /// Elements of a quad.
    const PER_QUAD: usize;
    fn draw(self, generator: &mut RandomGenerator, len: usize) -> Result<Vector<Self::Out>>;
    fn elements(self, quad: [u32; 4]) -> Vec<Self::Out>;

    /// Elements `first` to `first + len - 1` of a stream.
    fn wanted(
        self,
        generator: Generator,
        seed: u64,
        sequence: u64,
        first: u64,
        len: usize,
    ) -> Vec<Self::Out> {
        let per_quad = Self::PER_QUAD as u64;
        let start = first / per_quad;
        let end = start + (first % per_quad + len as u64).div_ceil(per_quad);
        let words = words(
            generator,
            seed,
            sequence,
            4 * start,
            4 * (end - start) as usize,
        );
        let elements = words.chunks_exact(4);
        let elements =
            elements.flat_map(|quad| self.elements([quad[0], quad[1], quad[2], quad[3]]));
        elements
            .skip((first - start * per_quad) as usize)
            .take(len)
            .collect()
    }
}

#[derive(Debug, Clone, Copy)]
struct Bits;
#[derive(Debug, Clone, Copy)]
struct UniformF32;
#[derive(Debug, Clone, Copy)]
struct UniformF64;
#[derive(Debug, Clone, Copy)]
struct NormalF32(f32, f32);
#[derive(Debug, Clone, Copy)]
struct NormalF64(f64, f64);
#[derive(Debug, Clone, Copy)]
struct LogNormalF32(f32, f32);
#[derive(Debug, Clone, Copy)]
struct LogNormalF64(f64, f64);
#[derive(Debug, Clone, Copy)]
struct PoissonOf(f64);

macro_rules! draws {
    ($($name:ident: $out:ty, $per_quad:literal, |$self:ident, $random:ident, $len:ident| $draw:expr, |$quad:ident| $elements:expr;)*) => { $(
        impl Draw for $name {
            type Out = $out;
            const PER_QUAD: usize = $per_quad;
            fn draw($self, $random: &mut RandomGenerator, $len: usize) -> Result<Vector<$out>> {
                $draw
            }
            fn elements($self, $quad: [u32; 4]) -> Vec<$out> {
                $elements
            }
        }
    )* };
}
draws! {
    Bits: u32, 4, |self, random, len| random.bits(len), |quad| quad.to_vec();
    UniformF32: f32, 4, |self, random, len| random.uniform(len), |quad| quad.map(uniform_f32).to_vec();
    UniformF64: f64, 2, |self, random, len| random.uniform(len),
        |quad| vec![uniform_f64(quad[0], quad[1]), uniform_f64(quad[2], quad[3])];
    NormalF32: f32, 4, |self, random, len| random.normal(len, self.0, self.1), |quad| {
        let (a, b) = normal_pair_scaled_f32(quad[0], quad[1], self.0, self.1);
        let (c, d) = normal_pair_scaled_f32(quad[2], quad[3], self.0, self.1);
        vec![a, b, c, d]
    };
    NormalF64: f64, 2, |self, random, len| random.normal(len, self.0, self.1), |quad| {
        let (a, b) = normal_pair_scaled_f64(quad, self.0, self.1);
        vec![a, b]
    };
    LogNormalF32: f32, 4, |self, random, len| random.log_normal(len, self.0, self.1), |quad| {
        let normal = NormalF32(self.0, self.1).elements(quad);
        normal.into_iter().map(exp_f32).collect()
    };
    LogNormalF64: f64, 2, |self, random, len| random.log_normal(len, self.0, self.1), |quad| {
        let normal = NormalF64(self.0, self.1).elements(quad);
        normal.into_iter().map(exp_f64).collect()
    };
    PoissonOf: u32, 4, |self, random, len| random.poisson(len, self.0), |quad| {
        let table = poisson_table(self.0);
        quad.map(|word| table.sample(word)).to_vec()
    };
}

/// The table of a mean, made once.
fn poisson_table(mean: f64) -> Arc<PoissonTable> {
    static TABLES: Mutex<Vec<Arc<PoissonTable>>> = Mutex::new(Vec::new());
    let mut tables = TABLES.lock().unwrap();
    if let Some(table) = tables.iter().find(|table| table.mean() == mean) {
        return Arc::clone(table);
    }
    let table = Arc::new(PoissonTable::new(mean).unwrap());
    tables.push(Arc::clone(&table));
    table
}

/// Calls `$function` with each distribution.
macro_rules! for_each_distribution {
    ($function:ident($($argument:expr),*)) => {
        $function($($argument,)* $crate::Bits);
        $function($($argument,)* $crate::UniformF32);
        $function($($argument,)* $crate::UniformF64);
        $function($($argument,)* $crate::NormalF32(-1.5, 3.25));
        $function($($argument,)* $crate::NormalF64(-1.5, 3.25));
        $function($($argument,)* $crate::LogNormalF32(0.5, 0.25));
        $function($($argument,)* $crate::LogNormalF64(0.5, 0.25));
        $function($($argument,)* $crate::PoissonOf(3.5));
        $function($($argument,)* $crate::PoissonOf(77.0));
        // A table that is too large for shared memory.
        $function($($argument,)* $crate::PoissonOf(2e5));
    };
}
use for_each_distribution;
