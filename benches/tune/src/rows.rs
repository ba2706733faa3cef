//! Every row of the table for sums of rows, for `u8` and `f32`.

use cuda_std::prelude::*;
use warpwright_gpu::{
    axis::{Along, Sum},
    rows::{self, policy::Policy},
    tuning::{Row, Tuned},
};

macro_rules! with_rows {
    ($callback:ident) => {
        $callback! {
            u8_0: (Sum<u8>, 0),
            u8_1: (Sum<u8>, 1),
            u8_2: (Sum<u8>, 2),
            u8_3: (Sum<u8>, 3),
            u8_4: (Sum<u8>, 4),
            u8_5: (Sum<u8>, 5),
            u8_6: (Sum<u8>, 6),
            u8_7: (Sum<u8>, 7),
            f32_0: (Sum<f32>, 0),
            f32_1: (Sum<f32>, 1),
            f32_2: (Sum<f32>, 2),
            f32_3: (Sum<f32>, 3),
            f32_4: (Sum<f32>, 4),
            f32_5: (Sum<f32>, 5),
            f32_6: (Sum<f32>, 6),
            f32_7: (Sum<f32>, 7),
        }
    };
}

const fn policy<const ROW: usize>() -> Policy {
    <Row<ROW> as Tuned<Policy>>::POLICY
}

/// [`rows_best`](rows::rows_best) by the numbers of a row.
///
/// # Safety
/// As for that.
#[kernel(launch_bounds(policy::<ROW>().block as u32), instances = with_rows)]
pub unsafe fn tune_rows<A: Along, const ROW: usize>(
    input: Global<A::In>,
    output: GlobalMut<A::Out>,
    width: usize,
    lanes_log2: u32,
) {
    rows::short::<A, Row<ROW>>(input, output, width, lanes_log2);
}

/// [`rows_best_long`](rows::rows_best_long) by the numbers of a row.
///
/// # Safety
/// As for that.
#[kernel(launch_bounds(policy::<ROW>().block as u32), instances = with_rows)]
pub unsafe fn tune_rows_long<A: Along, const ROW: usize>(
    input: Global<A::In>,
    totals: GlobalMut<A::Acc>,
    tickets: GlobalMut<u32>,
    output: GlobalMut<A::Out>,
    width: usize,
    blocks: u32,
    elements_per_block: usize,
) {
    rows::long::<A, Row<ROW>>(
        input,
        totals,
        tickets,
        output,
        width,
        blocks,
        elements_per_block,
    );
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
                        &rows::RowsBest::<$of>::DESCRIPTOR,
                        &TuneRows::<$of, $row>::DESCRIPTOR,
                    ],
                    [
                        &rows::RowsBestLong::<$of>::DESCRIPTOR,
                        &TuneRowsLong::<$of, $row>::DESCRIPTOR,
                    ],
                ])),*] };
        }
        with_rows!(list)
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub use table::candidates;
