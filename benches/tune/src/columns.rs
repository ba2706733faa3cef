//! Every row of the table for sums of columns, for `u8` and `f32`.

use cuda_std::prelude::*;
use warpwright_gpu::{
    axis::{Along, Sum},
    columns::{
        self, Arguments,
        policy::{BEST_BLOCK, Policy},
    },
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
            u8_8: (Sum<u8>, 8),
            u8_9: (Sum<u8>, 9),
            f32_0: (Sum<f32>, 0),
            f32_1: (Sum<f32>, 1),
            f32_2: (Sum<f32>, 2),
            f32_3: (Sum<f32>, 3),
            f32_4: (Sum<f32>, 4),
            f32_5: (Sum<f32>, 5),
            f32_6: (Sum<f32>, 6),
            f32_7: (Sum<f32>, 7),
            f32_8: (Sum<f32>, 8),
            f32_9: (Sum<f32>, 9),
        }
    };
}

const fn policy<const ROW: usize>() -> Policy {
    <Row<ROW> as Tuned<Policy>>::POLICY
}

/// [`columns_best`](columns::columns_best) by the numbers of a row.
///
/// # Safety
/// As for that.
#[kernel(
    launch_bounds(BEST_BLOCK as u32, policy::<ROW>().resident),
    instances = with_rows
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn tune_columns<A: Along, const ROW: usize>(
    input: Global<A::In>,
    head: usize,
    period: usize,
    rows: usize,
    rows_per_block: usize,
    lanes_log2: u32,
    totals: GlobalMut<A::Acc>,
    tickets: GlobalMut<u32>,
    folded: GlobalMut<A::Acc>,
    output: GlobalMut<A::Out>,
    height: usize,
) {
    columns::by_tiles::<A, Row<ROW>>(Arguments {
        input,
        head,
        period,
        rows,
        rows_per_block,
        lanes_log2,
        totals,
        tickets,
        folded,
        output,
        height,
    });
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
                        &columns::ColumnsBest::<$of>::DESCRIPTOR,
                        &TuneColumns::<$of, $row>::DESCRIPTOR,
                    ],
                ])),*] };
        }
        with_rows!(list)
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub use table::candidates;
