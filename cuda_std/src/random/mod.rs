//! Random numbers in kernels: generators that give the same words as cuRAND's device generators, and distributions.
//!
//! A generator is a plain value that a lane keeps in registers. Two lanes with the same seed and different sequence numbers
//! draw from streams that do not overlap:
//!
//! ```
//! use cuda_std::random::{Philox4x32, normal_pair_f32, uniform_f32};
//!
//! # let lane = 7;
//! let mut random = Philox4x32::new(1234, lane, 0);
//! let x = uniform_f32(random.next_word()); // in (0, 1]
//! let (y, z) = normal_pair_f32(random.next_word(), random.next_word());
//! # assert!(x > 0.0 && x <= 1.0 && y.is_finite() && z.is_finite());
//! ```
//!
//! | generator | state | period | sequences | skipping |
//! | --- | --- | --- | --- | --- |
//! | [`Philox4x32`] | 128-bit counter, 64-bit key | 2^130 words per seed | 2^64 of 2^66 words | free |
//! | [`Xorwow`] | 160 bits and a 32-bit counter | 2^192 - 2^32 words | 2^64 starts that lie 2^67 words apart | about 160 steps per bit of the distance |
//!
//! All computations are integer arithmetic and float arithmetic in a fixed order, so a kernel gets the same bits on the GPU
//! and on the CPU executor. With the feature `rand_core` both generators implement `rand_core::RngCore` and `SeedableRng`
//! of the version that `rand` 0.9 uses.

// An iterator over an array keeps its state in local memory on the GPU. An indexed loop unrolls.
#![allow(clippy::needless_range_loop)]

mod jump;
mod normal;
mod philox;
mod poisson;
mod poisson_table;
mod xorwow;

pub use normal::{
    MOST_NORMAL_F32, MOST_NORMAL_F64, exp_f32, exp_f64, exp_moderate_f32, exp_moderate_f64,
    normal_pair_f32, normal_pair_f64, normal_pair_scaled_f32, normal_pair_scaled_f64,
};
pub use philox::Philox4x32;
pub use poisson::Poisson;
pub use poisson_table::PoissonColumns;
#[cfg(not(target_arch = "nvptx64"))]
pub use poisson_table::PoissonTable;
pub use xorwow::Xorwow;

use crate::GpuFloat;

/// Returns a number in (0, 1] from one word: `word * 2^-32 + 2^-33`, rounded to `f32` (cuRAND's conversion).
///
/// The numbers are uniformly distributed: near 1, where numbers are 2^-24 apart, each comes from 256 words.
#[inline(always)]
pub fn uniform_f32(word: u32) -> f32 {
    const STEP: f32 = 1.0 / 4_294_967_296.0;
    (word as f32).mul_add_(STEP, STEP / 2.0)
}

/// Returns a number in (0, 1] from two words: 53 bits `z = low ^ (high << 21)`, then `z * 2^-53 + 2^-54`, rounded to `f64`
/// (cuRAND's conversion).
#[inline(always)]
pub fn uniform_f64(low: u32, high: u32) -> f64 {
    const STEP: f64 = 1.0 / 9_007_199_254_740_992.0;
    let bits = u64::from(low) ^ (u64::from(high) << 21);
    (bits as f64).mul_add_(STEP, STEP / 2.0)
}

/// [`GpuFloat::mul_add`] under a name that `std`'s method does not shadow on the host.
trait Fused: Sized {
    fn mul_add_(self, factor: Self, summand: Self) -> Self;
}

impl<T: GpuFloat> Fused for T {
    #[inline(always)]
    fn mul_add_(self, factor: Self, summand: Self) -> Self {
        GpuFloat::mul_add(self, factor, summand)
    }
}

/// Implements the traits of `rand_core` with a generator's own methods.
#[cfg(feature = "rand_core")]
macro_rules! rand_core_traits {
    ($generator:ident) => {
        impl rand_core::RngCore for $generator {
            #[inline(always)]
            fn next_u32(&mut self) -> u32 {
                self.next_word()
            }

            /// Draws the low half first.
            #[inline(always)]
            fn next_u64(&mut self) -> u64 {
                let low = self.next_word();
                u64::from(low) | u64::from(self.next_word()) << 32
            }

            /// Fills with words, little-endian. The unused bytes of the last word are discarded.
            fn fill_bytes(&mut self, bytes: &mut [u8]) {
                for chunk in bytes.chunks_mut(4) {
                    let word = self.next_word().to_le_bytes();
                    for (byte, from) in chunk.iter_mut().zip(word) {
                        *byte = from;
                    }
                }
            }
        }

        /// Creates the generator at the start of sequence 0. The seed is the 64-bit seed, little-endian.
        impl rand_core::SeedableRng for $generator {
            type Seed = [u8; 8];

            fn from_seed(seed: [u8; 8]) -> Self {
                Self::new(u64::from_le_bytes(seed), 0, 0)
            }

            fn seed_from_u64(seed: u64) -> Self {
                Self::new(seed, 0, 0)
            }
        }
    };
}

#[cfg(feature = "rand_core")]
rand_core_traits!(Philox4x32);
#[cfg(feature = "rand_core")]
rand_core_traits!(Xorwow);
