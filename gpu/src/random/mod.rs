//! Random numbers: arrays of random words, and of numbers from a distribution.
//!
//! | variant | idea |
//! | --- | --- |
//! | `per_thread` | a generator per thread, one element stored at a time |
//! | `best` | the same numbers, four words and one 16-byte store at a time |
//!
//! # Which element gets which number
//! A generator makes one stream of 32-bit words. The words are used four at a time: quad `q` holds words `4q` to `4q + 3`.
//! Every element is made from the words of one quad, at a place that depends only on its number in the stream, and not on the
//! variant, the launch, the device, or how the stream is divided into calls.
//!
//! | distribution | words per element | elements of quad `q` |
//! | --- | --- | --- |
//! | [`Bits`], [`Uniform<f32>`], [`PoissonCount`] | 1 | each word |
//! | [`Normal<f32>`], [`LogNormal<f32>`] | 1 | two pairs, each from two words |
//! | [`Uniform<f64>`] | 2 | each two words |
//! | [`Normal<f64>`], [`LogNormal<f64>`] | 2 | one pair from all words |
//!
//! Philox4x32-10: quad `q` is the generator's block `q` of the chosen sequence, so any quad can be made at any time. XORWOW:
//! quad `q` comes from sequence `q % 65536` (counted from the first chosen one), which gives four consecutive words for every
//! quad. The states of these 65536 sequences are in device memory, word by word; each state is that at the start of its
//! sequence's first quad that is not used up.
//!
//! An element is written once: `n * size` bytes. The arithmetic is that of [`cuda_std::random`], whose order is fixed, so every
//! variant gives the same bits on every device.

mod best;
mod distribution;
#[cfg(feature = "ladder")]
mod ladder;
pub mod policy;
mod setup;
mod source;

pub use best::{RandomBestPhilox, RandomBestXorwow, random_best_philox, random_best_xorwow};
pub use distribution::{
    Bits, Distribution, DistributionCopy, LogNormal, Normal, PoissonCount, Quad, Uniform,
};
#[cfg(feature = "ladder")]
pub use ladder::*;
pub use setup::{RandomSetup, random_setup};

use crate::catalogue::declare_family;

declare_family! {
    name: "random",
    summary: "random words and uniform, normal, log-normal and Poisson numbers, by Philox4x32-10 or XORWOW",
    ladder: [
        PerThread {
            name: "per_thread",
            idea: "a generator per thread, one element stored at a time: a warp's store meets every fourth element",
            kernels: [
                "random_setup",
                "random_per_thread_philox",
                "random_per_thread_xorwow",
            ],
        },
    ],
    best: {
        idea: "four words at a time and one 16-byte store: a warp's store is one stretch of memory",
        kernels: ["random_setup", "random_best_philox", "random_best_xorwow"],
    },
}

/// Calls `$callback!` with one row per instance: its suffix and its generic argument.
macro_rules! with_distributions {
    ($callback:ident) => {
        $callback! {
            bits: (Bits),
            uniform_f32: (Uniform<f32>),
            uniform_f64: (Uniform<f64>),
            normal_f32: (Normal<f32>),
            normal_f64: (Normal<f64>),
            log_normal_f32: (LogNormal<f32>),
            log_normal_f64: (LogNormal<f64>),
            poisson: (PoissonCount),
        }
    };
}
use with_distributions;

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use super::*;
    use cuda_std::kernel::{Entry, EntryOf};

    /// The kernel that makes the states of XORWOW.
    pub const SETUP: EntryOf<RandomSetup> = Entry::of::<RandomSetup>();

    /// The kernels of a distribution.
    ///
    /// # Safety
    /// The constants must be kernels of this family: the library keeps their contracts when it launches them.
    pub unsafe trait Kernels: Distribution {
        /// The kernel of `per_thread` with Philox4x32-10.
        #[cfg(feature = "ladder")]
        const PER_THREAD: EntryOf<RandomPerThreadPhilox<Self>>;
        /// The kernel of `best` with Philox4x32-10.
        const BEST: EntryOf<RandomBestPhilox<Self>>;
        /// Returns the kernel of a variant with XORWOW.
        fn xorwow(variant: Variant) -> EntryOf<RandomBestXorwow<Self>>;
    }

    macro_rules! kernels {
        ($($suffix:ident: ($distribution:ty),)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Kernels for $distribution {
                #[cfg(feature = "ladder")]
                const PER_THREAD: EntryOf<RandomPerThreadPhilox<Self>> =
                    Entry::of::<RandomPerThreadPhilox<$distribution>>();
                const BEST: EntryOf<RandomBestPhilox<Self>> =
                    Entry::of::<RandomBestPhilox<$distribution>>();

                fn xorwow(variant: Variant) -> EntryOf<RandomBestXorwow<Self>> {
                    match variant {
                        #[cfg(feature = "ladder")]
                        Variant::PerThread => Entry::of::<RandomPerThreadXorwow<$distribution>>(),
                        Variant::Best => Entry::of::<RandomBestXorwow<$distribution>>(),
                    }
                }
            }
        )* };
    }
    with_distributions!(kernels);
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::{Kernels, SETUP};
