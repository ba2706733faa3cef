//! Random numbers: the words, and the numbers that the distributions make from them.
//!
//! The oracle makes the words of Philox from its paper, and those of XORWOW by stepping through each of its sequences. Words
//! and uniform numbers must be equal. Normal and log-normal numbers are compared with the host's functions in `f64`, and
//! Poisson numbers with the device library's own table, looked up on the host.

use std::marker::PhantomData;
use std::ops::Range;

use warpwright::cuda_std::random::{PoissonTable, Xorwow};
use warpwright::{Device, Generator, RandomGenerator, Result, Vector};

use crate::parallel;
use crate::{
    Bits, Family, Number, Prepared, Problem, Scale, Verdict, Workload, with_variant, within,
};

/// The number of elements, and the number of the first one in the stream.
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
const SEQUENCES: u64 = 65_536;

/// A distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Words of 32 bits, all equally probable.
    Words,
    /// Uniform in (0, 1].
    Uniform,
    /// Normal, with this mean and standard deviation.
    Normal(f64, f64),
    /// Log-normal, with this mean and standard deviation of the logarithm.
    LogNormal(f64, f64),
    /// Poisson, with this mean.
    Poisson(f64),
}

impl Distribution {
    fn name(self) -> String {
        match self {
            Self::Words => "words".to_owned(),
            Self::Uniform => "uniform".to_owned(),
            Self::Normal(..) => "normal".to_owned(),
            Self::LogNormal(..) => "log-normal".to_owned(),
            Self::Poisson(mean) => format!("Poisson {mean}"),
        }
    }
}

/// An element type.
pub trait Random: Number {
    /// The number of elements that a quad of words makes.
    const PER_QUAD: u64;

    /// Fills a vector.
    ///
    /// # Errors
    /// Returns the library's errors.
    fn fill(
        random: &mut RandomGenerator,
        distribution: Distribution,
        output: &mut Vector<Self>,
    ) -> Result<()>;

    /// Makes a vector of `len` numbers.
    ///
    /// # Errors
    /// Returns the library's errors.
    fn made(
        random: &mut RandomGenerator,
        distribution: Distribution,
        len: usize,
    ) -> Result<Vector<Self>>;

    /// Returns the uniform numbers of a quad of words.
    fn uniform(quad: [u32; 4]) -> [f64; 4];
    /// Returns the normal numbers of a quad of words, and the error bound of the library's numbers.
    fn normal(quad: [u32; 4]) -> ([f64; 4], f64);
}

macro_rules! floats {
    ($($type:ident: $per_quad:literal, $uniform:ident, $normal:ident, $bound:literal;)*) => { $(
        impl Random for $type {
            const PER_QUAD: u64 = $per_quad;

            fn fill(
                random: &mut RandomGenerator,
                distribution: Distribution,
                output: &mut Vector<Self>,
            ) -> Result<()> {
                let output = output.view_mut();
                match distribution {
                    Distribution::Normal(mean, deviation) => {
                        random.fill_normal(output, mean as $type, deviation as $type)
                    }
                    Distribution::LogNormal(mean, deviation) => {
                        random.fill_log_normal(output, mean as $type, deviation as $type)
                    }
                    _ => random.fill_uniform(output),
                }
            }

            fn made(
                random: &mut RandomGenerator,
                distribution: Distribution,
                len: usize,
            ) -> Result<Vector<Self>> {
                match distribution {
                    Distribution::Normal(mean, deviation) => {
                        random.normal(len, mean as $type, deviation as $type)
                    }
                    Distribution::LogNormal(mean, deviation) => {
                        random.log_normal(len, mean as $type, deviation as $type)
                    }
                    _ => random.uniform(len),
                }
            }

            fn uniform(quad: [u32; 4]) -> [f64; 4] {
                $uniform(quad)
            }

            fn normal(quad: [u32; 4]) -> ([f64; 4], f64) {
                ($normal(quad), $bound)
            }
        }
    )* };
}
floats! {
    f32: 4, uniform_quad, normal_quad, 2e-6;
    f64: 2, uniform_pairs, normal_pair, 2e-14;
}

impl Random for u32 {
    const PER_QUAD: u64 = 4;

    fn fill(
        random: &mut RandomGenerator,
        distribution: Distribution,
        output: &mut Vector<Self>,
    ) -> Result<()> {
        match distribution {
            Distribution::Poisson(mean) => random.fill_poisson(output.view_mut(), mean),
            _ => random.fill_bits(output.view_mut()),
        }
    }

    fn made(
        random: &mut RandomGenerator,
        distribution: Distribution,
        len: usize,
    ) -> Result<Vector<Self>> {
        match distribution {
            Distribution::Poisson(mean) => random.poisson(len, mean),
            _ => random.bits(len),
        }
    }

    fn uniform(quad: [u32; 4]) -> [f64; 4] {
        quad.map(f64::from)
    }

    fn normal(quad: [u32; 4]) -> ([f64; 4], f64) {
        (quad.map(f64::from), 0.0)
    }
}

/// Random numbers from one place of a stream on.
#[derive(Clone)]
pub struct Draw<T> {
    generator: Generator,
    distribution: Distribution,
    len: usize,
    /// The number of the first element in the stream.
    first: u64,
    /// The seed and the sequence.
    stream: [u64; 2],
    what: PhantomData<fn(T)>,
}

impl<T> Draw<T> {
    /// Makes the draw of the first `len` numbers of a stream.
    pub fn new(generator: Generator, distribution: Distribution, len: usize) -> Self {
        Self {
            generator,
            distribution,
            len,
            first: 0,
            stream: [0x1234_5678_9abc_def0, 3],
            what: PhantomData,
        }
    }

    /// Returns the same draw from a later element of the stream on.
    #[must_use]
    pub fn starting_at(self, first: u64) -> Self {
        Self { first, ..self }
    }

    /// Returns the same draw from the first sequence of another seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        let stream = [seed, 0];
        Self { stream, ..self }
    }
}

/// The position in the stream at which the draw starts, in words, and the numbers.
pub type Answer<T> = (Option<u64>, Vec<T>);

impl<T: Random> Bits for Answer<T> {
    fn bits(&self) -> Vec<u8> {
        let (place, numbers) = self;
        let mut bits = place.unwrap_or(u64::MAX).to_ne_bytes().to_vec();
        bits.extend(numbers.bits());
        bits
    }
}

impl<T: Random> Problem for Draw<T> {
    type Input = ();
    type Answer = Answer<T>;
    /// The table of Poisson numbers, if there is one.
    type Truth = Option<PoissonTable>;

    fn family(&self) -> &'static str {
        "random"
    }

    fn name(&self) -> String {
        let (len, what, first) = (self.len, self.distribution.name(), self.first);
        format!(
            "{len} {what} {} from {first} on by {:?}",
            T::NAME,
            self.generator
        )
    }

    fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    fn input(&self, _: &Device, _: usize) -> Result<()> {
        Ok(())
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        (): &'a (),
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Answer<T>>> {
        let random = with_variant!(self.random(device)?, variant);
        let output = device.zeros::<T>(self.len)?;
        Ok(Prepared::new(
            (random, output, None),
            |(random, ..)| random.workspace_bytes(),
            |_| Vec::new(),
            |(random, output, _)| {
                random.calls(output, |random, output| {
                    T::fill(random, self.distribution, output)
                })
            },
            |(random, output, place)| {
                *place = random.position();
                T::fill(random, self.distribution, output)
            },
            |(_, output, place)| Ok((*place, output.to_vec()?)),
        ))
    }

    fn once(&self, device: &Device, (): &()) -> Result<Answer<T>> {
        let mut random = self.random(device)?;
        let place = random.position();
        let numbers = T::made(&mut random, self.distribution, self.len)?;
        Ok((place, numbers.to_vec()?))
    }

    fn truth(&self, _: usize) -> Option<PoissonTable> {
        match self.distribution {
            Distribution::Poisson(mean) => PoissonTable::new(mean),
            _ => None,
        }
    }

    fn check(&self, table: &Option<PoissonTable>, (place, found): &Answer<T>) -> Verdict {
        /// The maximum number of elements that are all checked. Of more, this many at either end are.
        const MOST: usize = 1 << 27;
        const END: u64 = 1 << 22;
        if found.len() != self.len {
            let (expected, found) = (self.len, found.len());
            return Err(format!("expected {expected} elements, found {found}"));
        }
        let words = place.ok_or("expected a place in the stream, found its end")?;
        let first = words * T::PER_QUAD / 4;
        let (quads, end) = (
            first / T::PER_QUAD,
            (first + found.len() as u64).div_ceil(T::PER_QUAD),
        );
        let wrong = |quad: u64, words: [u32; 4]| {
            let (expected, bound) = self.elements(table.as_ref(), words);
            let elements = expected.into_iter().take(T::PER_QUAD as usize).enumerate();
            elements
                .zip(quad * T::PER_QUAD..)
                .find_map(|((i, expected), number)| {
                    let index = number.checked_sub(first)? as usize;
                    let found = found.get(index)?.real();
                    let wrong = within(found, expected, bound[i]).err();
                    wrong.map(|text| format!("at {index}: {text}"))
                })
        };
        let parts = match found.len() {
            0..=MOST => [quads..end, end..end],
            _ => [
                quads..quads + END / T::PER_QUAD,
                end - END / T::PER_QUAD..end,
            ],
        };
        let wrong = parts.into_iter().find_map(|quads| self.find(quads, &wrong));
        wrong.map_or(Ok(()), Err)
    }
}

impl<T: Random> Draw<T> {
    /// Makes a generator that is at the first element.
    fn random(&self, device: &Device) -> Result<RandomGenerator> {
        let [seed, sequence] = self.stream;
        let random = device.generator(self.generator, seed)?;
        Ok(random
            .sequence(sequence)
            .offset(self.first * 4 / T::PER_QUAD))
    }

    /// Returns the elements of a quad of words, and the error bound of each.
    fn elements(&self, table: Option<&PoissonTable>, quad: [u32; 4]) -> ([f64; 4], [f64; 4]) {
        match self.distribution {
            Distribution::Words | Distribution::Uniform => (T::uniform(quad), [0.0; 4]),
            Distribution::Normal(mean, deviation) => {
                let (numbers, bound) = T::normal(quad);
                (
                    numbers.map(|z| mean + deviation * z),
                    [deviation * bound; 4],
                )
            }
            Distribution::LogNormal(mean, deviation) => {
                let (numbers, bound) = T::normal(quad);
                let numbers = numbers.map(|z| (mean + deviation * z).exp());
                (numbers, numbers.map(|number| number * bound * deviation))
            }
            Distribution::Poisson(_) => {
                let number = |word| table.map_or(f64::NAN, |table| f64::from(table.sample(word)));
                (quad.map(number), [0.0; 4])
            }
        }
    }

    /// Returns the first fault that `wrong` finds in some quads of words of the stream.
    fn find(
        &self,
        quads: Range<u64>,
        wrong: &(impl Fn(u64, [u32; 4]) -> Option<String> + Sync),
    ) -> Option<String> {
        let [seed, stream] = self.stream;
        if self.generator == Generator::Philox {
            let count = (quads.end - quads.start) as usize;
            return parallel::find(count, 1 << 12, |part| {
                let mut quads = part.map(|at| quads.start + at as u64);
                quads.find_map(|quad| wrong(quad, philox(quad, stream, seed)))
            });
        }
        // The quads are processed one sequence after the other, because XORWOW can only step.
        let starts = quads.start..quads.end.min(quads.start + SEQUENCES);
        let first = |start: u64| {
            let (sequence, round) = (start % SEQUENCES, start / SEQUENCES);
            let mut random = Xorwow::new(seed, stream * SEQUENCES + sequence, 4 * round);
            (start..quads.end)
                .step_by(SEQUENCES as usize)
                .find_map(|quad| wrong(quad, std::array::from_fn(|_| random.next_word())))
        };
        let count = (starts.end - starts.start) as usize;
        parallel::find(count, 64, |part| {
            let mut starts = part.map(|at| starts.start + at as u64);
            starts.find_map(first)
        })
    }
}

/// Returns a block of Philox4x32-10 as in its paper: ten rounds of two products and a permutation.
fn philox(block: u64, sequence: u64, key: u64) -> [u32; 4] {
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

/// Rounds once to `f32`, and again after the addition, which is exact in `f64`.
fn uniform(word: u32) -> f32 {
    let rounded = f64::from(word as f32);
    ((rounded + 0.5) / 4_294_967_296.0) as f32
}

fn uniform_quad(quad: [u32; 4]) -> [f64; 4] {
    quad.map(|word| uniform(word).into())
}

fn uniform_pair(low: u32, high: u32) -> f64 {
    let bits = u64::from(low) ^ u64::from(high) << 21;
    (bits as f64 + 0.5) / 9_007_199_254_740_992.0
}

fn uniform_pairs([a, b, c, d]: [u32; 4]) -> [f64; 4] {
    [uniform_pair(a, b), uniform_pair(c, d), f64::NAN, f64::NAN]
}

/// Returns two normal numbers from the uniform number of the radius, the part of a quarter turn, and the two bits.
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

fn normal_quad(quad: [u32; 4]) -> [f64; 4] {
    let pair = |first: u32, second: u32| {
        let part = f64::from((second << 2) as i32) / 4_294_967_296.0;
        let bit = |bit: u32| second >> bit & 1 != 0;
        box_muller(f64::from(uniform(first)), part, bit(30), bit(31))
    };
    let ([a, b], [c, d]) = (pair(quad[0], quad[1]), pair(quad[2], quad[3]));
    [a, b, c, d]
}

fn normal_pair(quad: [u32; 4]) -> [f64; 4] {
    let bits = u64::from(quad[2]) | u64::from(quad[3]) << 32;
    let part = (bits << 2) as i64 as f64 / 18_446_744_073_709_551_616.0;
    let bit = |bit: u32| bits >> bit & 1 != 0;
    let [a, b] = box_muller(uniform_pair(quad[0], quad[1]), part, bit(62), bit(63));
    [a, b, f64::NAN, f64::NAN]
}

/// The family `random`.
pub const FAMILY: Family = Family {
    name: "random",
    checks,
    timings,
    sizes: [20, 28],
    few: |len| {
        let (generator, numbers) = (Generator::Philox, Distribution::Uniform);
        Workload::new(Draw::<f32>::new(generator, numbers, len))
    },
    operations,
    same_everywhere: true,
};

/// Returns the problems that the variants are checked with.
fn checks(scale: Scale) -> Vec<Workload> {
    let (normal, log_normal) = (
        Distribution::Normal(2.0, 0.5),
        Distribution::LogNormal(0.0, 0.5),
    );
    let mut all = Vec::new();
    for generator in [Generator::Philox, Generator::Xorwow] {
        let all = &mut all;
        of_type::<u32>(all, scale, generator, Distribution::Words);
        for distribution in [Distribution::Uniform, normal, log_normal] {
            of_type::<f32>(all, scale, generator, distribution);
            of_type::<f64>(all, scale, generator, distribution);
        }
        for mean in [4.0, 500.0, 200_000.0] {
            of_type::<u32>(all, scale, generator, Distribution::Poisson(mean));
        }
    }
    all
}

fn of_type<T: Random>(
    all: &mut Vec<Workload>,
    scale: Scale,
    generator: Generator,
    distribution: Distribution,
) {
    for (len, first) in scale.all(&SHAPES, &LARGE) {
        all.push(Workload::new(Draw::<T> {
            first,
            ..Draw::new(generator, distribution, len)
        }));
    }
}

/// Returns the problems that the variants are timed with: uniform and normal `f32` by Philox, uniform `f32` by XORWOW. The
/// numbers are written and not read.
fn timings(size: usize) -> Vec<Workload> {
    [
        (Generator::Philox, Distribution::Uniform),
        (Generator::Philox, Distribution::Normal(0.0, 1.0)),
        (Generator::Xorwow, Distribution::Uniform),
    ]
    .map(|(generator, numbers)| Workload::new(Draw::<f32>::new(generator, numbers, size)))
    .into()
}

fn operations() -> Vec<Workload> {
    let (normal, poisson) = (Distribution::Normal(1.0, 2.0), Distribution::Poisson(3.5));
    let of = |generator| {
        [
            Workload::new(Draw::<u32>::new(generator, Distribution::Words, 3001)),
            Workload::new(Draw::<f64>::new(generator, Distribution::Uniform, 501)),
            Workload::new(Draw::<f32>::new(generator, normal, 3001)),
            Workload::new(Draw::<u32>::new(generator, poisson, 501)),
        ]
    };
    [Generator::Philox, Generator::Xorwow]
        .into_iter()
        .flat_map(of)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_gives_the_published_block() {
        // Random123's known-answer vectors of philox4x32 with 10 rounds.
        let block = philox(
            0x85a3_08d3_243f_6a88,
            0x0370_7344_1319_8a2e,
            0x299f_31d0_a409_3822,
        );
        assert_eq!(block, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
        assert_eq!(philox(0, 0, 0)[0], 0x6627_e8d5);
    }

    #[test]
    fn a_wrong_number_is_noticed_in_every_place() {
        let problem = Draw::<u32>::new(Generator::Philox, Distribution::Words, 10);
        let words: Vec<u32> = (0..4)
            .flat_map(|quad| philox(quad, problem.stream[1], problem.stream[0]))
            .collect();
        let right = (Some(3), words[3..13].to_vec());
        assert_eq!(problem.check(&None, &right), Ok(()));
        for at in 0..10 {
            let mut wrong = right.clone();
            wrong.1[at] ^= 1;
            let text = problem.check(&None, &wrong).unwrap_err();
            assert!(text.contains(&format!("at {at}:")), "{text}");
        }
        assert!(problem.check(&None, &(Some(4), right.1.clone())).is_err());
        assert!(problem.check(&None, &(None, right.1.clone())).is_err());
        assert!(problem.check(&None, &(Some(3), Vec::new())).is_err());
    }
}
