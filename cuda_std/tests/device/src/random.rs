//! `random`, by the generators' own methods and through the traits of `rand_core`.

use cuda_std::{
    prelude::*,
    random::{
        Philox4x32, Poisson, Xorwow, exp_f32, exp_f64, normal_pair_f32, normal_pair_f64,
        uniform_f32, uniform_f64,
    },
};
use rand_core::{RngCore, SeedableRng};

/// A generator with sequences.
pub trait Sequences: RngCore + SeedableRng + 'static {
    /// Word `offset` of sequence `number`.
    fn sequence(seed: u64, number: u64, offset: u64) -> Self;
}

macro_rules! sequences {
    ($($generator:ident),*) => { $(
        impl Sequences for $generator {
            fn sequence(seed: u64, number: u64, offset: u64) -> Self {
                Self::new(seed, number, offset)
            }
        }
    )* };
}
sequences!(Philox4x32, Xorwow);

/// How many of `tries` random points of the unit square lie within the quarter of a circle: a function of
/// any generator.
pub fn hits(random: &mut impl RngCore, tries: u32) -> u32 {
    let mut hits = 0;
    for _ in 0..tries {
        let x = uniform_f32(random.next_u32());
        let y = uniform_f32(random.next_u32());
        hits += u32::from(x * x + y * y <= 1.0);
    }
    hits
}

/// Element `i` is the number of hits of sequence `i`.
#[kernel(launch_bounds(128), instances(philox: (Philox4x32), xorwow: (Xorwow)))]
pub unsafe fn count_hits<G: Sequences>(output: GlobalMut<u32>, seed: u64, tries: u32) {
    let i = thread::index_1d_wide();
    if i < output.len() {
        let mut random = G::sequence(seed, i as u64, 0);
        output.set(i, hits(&mut random, tries));
    }
}

/// Words and numbers of every kind from a seed, a sequence and an offset: 10 elements per thread.
#[kernel(launch_bounds(128), instances(philox: (Philox4x32), xorwow: (Xorwow)))]
pub unsafe fn random_numbers<G: Sequences>(places: Global<[u64; 3]>, results: GlobalMut<u64>) {
    let i = thread::index_1d_wide();
    let [seed, sequence, offset] = places.get(i);
    let mut random = G::sequence(seed, sequence, offset);
    let put = |at: usize, value: u64| results.set(10 * i + at, value);
    put(0, random.next_u32().into());
    put(1, random.next_u64());
    let words = [(); 4].map(|()| random.next_u32());
    put(2, uniform_f64(words[0], words[1]).to_bits());
    let (x, y) = normal_pair_f32(words[2], words[3]);
    put(3, u64::from(x.to_bits()) | u64::from(y.to_bits()) << 32);
    put(4, exp_f32(x).to_bits().into());
    let (x, y) = normal_pair_f64(words);
    put(5, x.to_bits());
    put(6, y.to_bits());
    put(7, exp_f64(x).to_bits());
    // Means on both sides of the two methods' border.
    for (at, mean) in [(8, 4.5), (9, 321.0)] {
        let number = Poisson::new(mean).map_or(u32::MAX, |poisson| poisson.sample(words));
        put(at, number.into());
    }
}
