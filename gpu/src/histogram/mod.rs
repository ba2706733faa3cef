//! Histogram: the number of values in each bin.
//!
//! | variant | idea |
//! | --- | --- |
//! | `serial` | one pass on the host: the reference |
//! | `global_atomic` | a grid-stride loop, one global atomic per value |
//! | `privatized` | a sub-histogram per block in shared memory, merged with global atomics |
//! | `privatized_coarsened` | the same with many chunks per block |
//! | `best` | 16-byte loads and a sub-histogram per lane where there is room |
//!
//! A value outside of the bins is not counted; the number of such values is part of the result. Counts are exact, so every
//! variant gives the same result on every device. Every value is read once: `n * size` bytes. With more bins than shared memory
//! holds, the privatized variants read the values once per slice of bins.

mod best;
mod binning;
mod global_atomic;
#[cfg(feature = "ladder")]
mod ladder;
pub mod policy;

pub use best::{HistogramBest, histogram_best};
pub use binning::{BinNumber, Binning, BinningCopy, EvenRange};
pub use global_atomic::{HistogramGlobalAtomic, histogram_global_atomic};
#[cfg(feature = "ladder")]
pub use ladder::*;

use crate::catalogue::declare_family;

declare_family! {
    name: "histogram",
    summary: "counts per bin: values as bin numbers, or evenly divided ranges",
    ladder: [
        Serial {
            name: "serial",
            idea: "one pass on the host: the reference",
            kernels: [],
        },
        GlobalAtomic {
            name: "global_atomic",
            idea: "grid-stride loop, one global atomic per value",
            kernels: ["histogram_global_atomic"],
        },
        Privatized {
            name: "privatized",
            idea: "a sub-histogram per block in shared memory, one chunk per block",
            kernels: ["histogram_privatized"],
        },
        PrivatizedCoarsened {
            name: "privatized_coarsened",
            idea: "the same with many chunks per block: fewer merges",
            kernels: ["histogram_privatized_coarsened"],
        },
    ],
    best: {
        idea: "16-byte loads, one sub-histogram per lane of a warp: no two lanes share a bank",
        kernels: ["histogram_best", "histogram_global_atomic"],
    },
}

/// Calls `$callback!` with one row per instance: its suffix and its generic argument.
macro_rules! with_binnings {
    ($callback:ident) => {
        $callback! {
            u8: (BinNumber<u8>),
            u16: (BinNumber<u16>),
            u32: (BinNumber<u32>),
            even_f32: (EvenRange<f32>),
            even_f64: (EvenRange<f64>),
        }
    };
}
use with_binnings;

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use super::*;
    use cuda_std::kernel::{Entry, EntryOf};

    /// The kernels of a binning.
    ///
    /// # Safety
    /// The constants must be kernels of this family: the library keeps their contracts when it launches them.
    pub unsafe trait Kernels: Binning {
        /// The kernel of `global_atomic`, which `best` also launches where there are very many bins.
        const GLOBAL_ATOMIC: EntryOf<HistogramGlobalAtomic<Self>>;
        /// The kernel of `privatized`.
        #[cfg(feature = "ladder")]
        const PRIVATIZED: EntryOf<HistogramPrivatized<Self>>;
        /// The kernel of `privatized_coarsened`.
        #[cfg(feature = "ladder")]
        const PRIVATIZED_COARSENED: EntryOf<HistogramPrivatizedCoarsened<Self>>;
        /// The kernel of `best`.
        const BEST: EntryOf<HistogramBest<Self>>;
    }

    macro_rules! kernels {
        ($($suffix:ident: ($binning:ty),)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Kernels for $binning {
                const GLOBAL_ATOMIC: EntryOf<HistogramGlobalAtomic<Self>> =
                    Entry::of::<HistogramGlobalAtomic<$binning>>();
                #[cfg(feature = "ladder")]
                const PRIVATIZED: EntryOf<HistogramPrivatized<Self>> =
                    Entry::of::<HistogramPrivatized<$binning>>();
                #[cfg(feature = "ladder")]
                const PRIVATIZED_COARSENED: EntryOf<HistogramPrivatizedCoarsened<Self>> =
                    Entry::of::<HistogramPrivatizedCoarsened<$binning>>();
                const BEST: EntryOf<HistogramBest<Self>> = Entry::of::<HistogramBest<$binning>>();
            }
        )* };
    }
    with_binnings!(kernels);
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::Kernels;
