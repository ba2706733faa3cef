//! Every row of the histograms, for bytes and for even parts of a range of `f32`.

use cuda_std::prelude::*;
use warpwright_gpu::{
    histogram::{self, BinNumber, Binning, EvenRange, policy::Policy},
    tuning::{Row, Tuned},
};

macro_rules! with_rows {
    ($callback:ident) => {
        $callback! {
            u8_0: (BinNumber<u8>, 0),
            u8_1: (BinNumber<u8>, 1),
            u8_2: (BinNumber<u8>, 2),
            u8_3: (BinNumber<u8>, 3),
            u8_4: (BinNumber<u8>, 4),
            u8_5: (BinNumber<u8>, 5),
            u8_6: (BinNumber<u8>, 6),
            u8_7: (BinNumber<u8>, 7),
            u8_8: (BinNumber<u8>, 8),
            f32_0: (EvenRange<f32>, 0),
            f32_1: (EvenRange<f32>, 1),
            f32_2: (EvenRange<f32>, 2),
            f32_3: (EvenRange<f32>, 3),
            f32_4: (EvenRange<f32>, 4),
            f32_5: (EvenRange<f32>, 5),
            f32_6: (EvenRange<f32>, 6),
            f32_7: (EvenRange<f32>, 7),
            f32_8: (EvenRange<f32>, 8),
        }
    };
}

const fn policy<const ROW: usize>() -> Policy {
    <Row<ROW> as Tuned<Policy>>::POLICY
}

/// [`histogram_best`](histogram::histogram_best) by the numbers of a row.
///
/// # Safety
/// As for that.
#[kernel(launch_bounds(policy::<ROW>().most_threads() as u32), instances = with_rows)]
pub unsafe fn tune_histogram<B: Binning, const ROW: usize>(
    input: Global<B::In>,
    counts: GlobalMut<u64>,
    binning: B,
    copies_log2: u32,
    slice_bins: u32,
) {
    histogram::count_all::<B, Row<ROW>>(input, counts, binning, copies_log2, slice_bins);
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
                        &histogram::HistogramBest::<$of>::DESCRIPTOR,
                        &TuneHistogram::<$of, $row>::DESCRIPTOR,
                    ],
                ])),*] };
        }
        with_rows!(list)
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub use table::candidates;
