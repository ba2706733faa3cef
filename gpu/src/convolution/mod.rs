//! One-dimensional convolution: `output[i]` is the sum of `mask[j] * input[i - width / 2 + j]` over the mask's `width` weights.
//!
//! | variant | idea |
//! | --- | --- |
//! | `basic` | one thread per output |
//! | `constant_mask` | the mask in constant memory |
//! | `tiled` | the input's part with its halo in shared memory |
//! | `best` | twenty outputs per thread, whose window moves through registers |
//!
//! The mask is not flipped (it is a correlation). It may have any width from 1 up, including even widths and widths larger than
//! the input. Values outside of the input are zero, the nearest element, or the elements from the other end on: see
//! [`Boundary`]. The input may be a matrix, each row of which is convolved separately.
//!
//! Elements are `u8`, `f32` and `f64`. The mask's weights are `f32` for the first two and `f64` for the last. Sums are of the
//! weights' type, start at 0 and go through the window in order, each weight by one fused multiply-add, also where it meets a
//! zero outside. So every variant gives the same bits on every device (except for the payload of a NaN). For `u8` the sum is
//! rounded to the nearest integer, ties to even, and limited to 0 to 255; NaN gives 0.
//!
//! For short masks `tiled` is no faster than `basic`: the first-level cache holds the neighbors too, and needs no
//! barrier.
//!
//! Every element is read once and written once: `2 * n * size` bytes, and `2 * n * width` operations.
//!
//! Blocks form a one-dimensional grid, row by row, so that the number of rows is not limited to the 65535 blocks that a grid
//! has along y.

mod best;
mod boundary;
#[cfg(feature = "ladder")]
mod ladder;
pub mod policy;
mod sample;
mod window;

pub use best::{ConvolutionBest, ConvolutionBestLong, convolution_best, convolution_best_long};
pub use boundary::Boundary;
#[cfg(feature = "ladder")]
pub use ladder::*;
pub use sample::{Sample, Weight};

use crate::catalogue::declare_family;

declare_family! {
    name: "convolution",
    summary: "one-dimensional convolution of a vector or of a matrix's rows, with any mask",
    ladder: [
        Basic {
            name: "basic",
            idea: "one thread per output, both ends checked for every element",
            kernels: ["convolution_basic"],
        },
        ConstantMask {
            name: "constant_mask",
            idea: "the mask in constant memory: one read serves a whole warp",
            kernels: ["convolution_constant_mask"],
        },
        Tiled {
            name: "tiled",
            idea: "the input's part and its halo in shared memory: nothing to check in the loop",
            kernels: ["convolution_tiled"],
        },
    ],
    best: {
        idea: "twenty outputs per thread, whose window moves through registers",
        kernels: ["convolution_best", "convolution_best_long"],
    },
}

#[cfg(not(target_arch = "nvptx64"))]
mod launch {
    use super::*;
    use cuda_std::kernel::{Entry, EntryOf};

    /// The kernels of an element type.
    ///
    /// # Safety
    /// The constants must be kernels of this family: the library keeps their contracts when it launches them.
    pub unsafe trait Kernels: Sample {
        /// The number of elements that take 16 bytes when they are as wide as a sum.
        const CHUNK: usize;
        /// The kernel of `basic`.
        #[cfg(feature = "ladder")]
        const BASIC: EntryOf<ConvolutionBasic<Self>>;
        /// The kernel of `constant_mask`.
        #[cfg(feature = "ladder")]
        const CONSTANT_MASK: EntryOf<ConvolutionTiled<Self>>;
        /// The kernel of `tiled`.
        #[cfg(feature = "ladder")]
        const TILED: EntryOf<ConvolutionTiled<Self>>;
        /// The kernel of `best`.
        const BEST: EntryOf<ConvolutionBest<Self, 1, 1>>;
        /// The kernel of `best` for a mask that is not in constant memory.
        const LONG: EntryOf<ConvolutionBestLong<Self, 1, 1>>;
    }

    macro_rules! kernels {
        ($($ty:ident: $chunk:literal;)*) => { $(
            // SAFETY: the kernels are those of this family.
            unsafe impl Kernels for $ty {
                const CHUNK: usize = $chunk;
                #[cfg(feature = "ladder")]
                const BASIC: EntryOf<ConvolutionBasic<Self>> = Entry::of::<ConvolutionBasic<$ty>>();
                #[cfg(feature = "ladder")]
                const CONSTANT_MASK: EntryOf<ConvolutionTiled<Self>> =
                    Entry::of::<ConvolutionConstantMask<$ty>>();
                #[cfg(feature = "ladder")]
                const TILED: EntryOf<ConvolutionTiled<Self>> = Entry::of::<ConvolutionTiled<$ty>>();
                const BEST: EntryOf<ConvolutionBest<Self, 1, 1>> =
                    Entry::of::<ConvolutionBest<$ty, $chunk, { $chunk * policy::BEST_CHUNKS }>>();
                const LONG: EntryOf<ConvolutionBestLong<Self, 1, 1>> =
                    Entry::of::<ConvolutionBestLong<$ty, $chunk, { $chunk * policy::BEST_CHUNKS }>>();
            }
        )* };
    }
    kernels! {
        u8: 4;
        f32: 4;
        f64: 2;
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub use launch::Kernels;
