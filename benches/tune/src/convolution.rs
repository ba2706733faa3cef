//! Every row of the convolutions, for `f32`.

use cuda_std::prelude::*;
use warpwright_gpu::{
    convolution::{
        self, Boundary, Sample,
        policy::{BEST_BLOCK, BEST_CHUNKS, Policy},
    },
    tuning::{Row, Tuned},
};

/// Outputs of a thread, in chunks of four.
const OUTPUTS: usize = 4 * BEST_CHUNKS;

macro_rules! with_rows {
    ($callback:ident) => {
        $callback! {
            f32_0: (f32, 0),
            f32_1: (f32, 1),
            f32_2: (f32, 2),
            f32_3: (f32, 3),
            f32_4: (f32, 4),
            f32_5: (f32, 5),
            f32_6: (f32, 6),
            f32_7: (f32, 7),
            f32_8: (f32, 8),
        }
    };
}

const fn policy<const ROW: usize>() -> Policy {
    <Row<ROW> as Tuned<Policy>>::POLICY
}

/// [`convolution_best`](convolution::convolution_best) by the numbers of a row, for chunks of four elements.
///
/// # Safety
/// As for that.
#[kernel(
    launch_bounds(BEST_BLOCK as u32, policy::<ROW>().resident),
    instances = with_rows
)]
pub unsafe fn tune_convolution<T: Sample, const ROW: usize>(
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    mask_width: usize,
    copies_apart: usize,
    tiles: u32,
    boundary: Boundary,
) {
    // SAFETY: by the contract.
    unsafe {
        convolution::convolution_best::<T, 4, OUTPUTS>(
            input,
            output,
            width,
            mask_width,
            copies_apart,
            tiles,
            boundary,
        )
    }
}

/// [`convolution_best_long`](convolution::convolution_best_long) by the numbers of a row, for chunks of four elements.
///
/// # Safety
/// As for that.
#[kernel(
    launch_bounds(BEST_BLOCK as u32, policy::<ROW>().long_resident),
    instances = with_rows
)]
pub unsafe fn tune_convolution_long<T: Sample, const ROW: usize>(
    input: Global<T>,
    mask: Global<T::Sum>,
    output: GlobalMut<T>,
    width: usize,
    boundary: Boundary,
) {
    // SAFETY: by the contract.
    unsafe {
        convolution::convolution_best_long::<T, 4, OUTPUTS>(input, mask, output, width, boundary)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod table {
    use cuda_std::kernel::Kernel;

    use super::*;
    use crate::Candidate;

    /// The candidates.
    pub fn candidates() -> Vec<Candidate<Policy>> {
        macro_rules! list {
            ($($suffix:ident: ($of:ty, $row:literal),)*) => { vec![$(Candidate::new(stringify!($suffix), $row, policy::<$row>(), vec![
                    [
                        &convolution::ConvolutionBest::<$of, 4, OUTPUTS>::DESCRIPTOR,
                        &TuneConvolution::<$of, $row>::DESCRIPTOR,
                    ],
                    [
                        &convolution::ConvolutionBestLong::<$of, 4, OUTPUTS>::DESCRIPTOR,
                        &TuneConvolutionLong::<$of, $row>::DESCRIPTOR,
                    ],
                ])),*] };
        }
        with_rows!(list)
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub use table::candidates;
