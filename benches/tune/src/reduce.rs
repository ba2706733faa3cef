//! Every row of the reductions, for sums of `u8`, `f32` and `f64` and the position of the greatest `f32` and `u8`.

use cuda_std::prelude::*;
use warpwright_gpu::{
    reduce::{self, ArgMax, Reduction, Sum, policy::Policy},
    tuning::{Row, Tuned},
};

macro_rules! with_rows {
    ($callback:ident) => {
        $callback! {
            sum_u8_0: (Sum<u8>, 0),
            sum_u8_1: (Sum<u8>, 1),
            sum_u8_2: (Sum<u8>, 2),
            sum_u8_3: (Sum<u8>, 3),
            sum_u8_4: (Sum<u8>, 4),
            sum_u8_5: (Sum<u8>, 5),
            sum_u8_6: (Sum<u8>, 6),
            sum_u8_7: (Sum<u8>, 7),
            sum_u8_8: (Sum<u8>, 8),
            sum_u8_9: (Sum<u8>, 9),
            sum_u8_10: (Sum<u8>, 10),
            sum_u8_11: (Sum<u8>, 11),
            sum_f32_0: (Sum<f32>, 0),
            sum_f32_1: (Sum<f32>, 1),
            sum_f32_2: (Sum<f32>, 2),
            sum_f32_3: (Sum<f32>, 3),
            sum_f32_4: (Sum<f32>, 4),
            sum_f32_5: (Sum<f32>, 5),
            sum_f32_6: (Sum<f32>, 6),
            sum_f32_7: (Sum<f32>, 7),
            sum_f32_8: (Sum<f32>, 8),
            sum_f32_9: (Sum<f32>, 9),
            sum_f32_10: (Sum<f32>, 10),
            sum_f32_11: (Sum<f32>, 11),
            argmax_f32_0: (ArgMax<f32>, 0),
            argmax_f32_1: (ArgMax<f32>, 1),
            argmax_f32_2: (ArgMax<f32>, 2),
            argmax_f32_3: (ArgMax<f32>, 3),
            argmax_f32_4: (ArgMax<f32>, 4),
            argmax_f32_5: (ArgMax<f32>, 5),
            argmax_f32_6: (ArgMax<f32>, 6),
            argmax_f32_7: (ArgMax<f32>, 7),
            argmax_f32_8: (ArgMax<f32>, 8),
            argmax_f32_9: (ArgMax<f32>, 9),
            argmax_f32_10: (ArgMax<f32>, 10),
            argmax_f32_11: (ArgMax<f32>, 11),
            argmax_u8_0: (ArgMax<u8>, 0),
            argmax_u8_1: (ArgMax<u8>, 1),
            argmax_u8_2: (ArgMax<u8>, 2),
            argmax_u8_3: (ArgMax<u8>, 3),
            argmax_u8_4: (ArgMax<u8>, 4),
            argmax_u8_5: (ArgMax<u8>, 5),
            argmax_u8_6: (ArgMax<u8>, 6),
            argmax_u8_7: (ArgMax<u8>, 7),
            argmax_u8_8: (ArgMax<u8>, 8),
            argmax_u8_9: (ArgMax<u8>, 9),
            argmax_u8_10: (ArgMax<u8>, 10),
            argmax_u8_11: (ArgMax<u8>, 11),
            sum_f64_0: (Sum<f64>, 0),
            sum_f64_1: (Sum<f64>, 1),
            sum_f64_2: (Sum<f64>, 2),
            sum_f64_3: (Sum<f64>, 3),
            sum_f64_4: (Sum<f64>, 4),
            sum_f64_5: (Sum<f64>, 5),
            sum_f64_6: (Sum<f64>, 6),
            sum_f64_7: (Sum<f64>, 7),
            sum_f64_8: (Sum<f64>, 8),
            sum_f64_9: (Sum<f64>, 9),
            sum_f64_10: (Sum<f64>, 10),
            sum_f64_11: (Sum<f64>, 11),
        }
    };
}

const fn policy<const ROW: usize>() -> Policy {
    <Row<ROW> as Tuned<Policy>>::POLICY
}

/// [`reduce_best`](reduce::reduce_best) by the numbers of a row.
///
/// # Safety
/// As for that.
#[kernel(
    launch_bounds(policy::<ROW>().most_threads() as u32, policy::<ROW>().resident),
    instances = with_rows
)]
pub unsafe fn tune_reduce<R: Reduction, const ROW: usize>(
    input: Global<R::In>,
    per_block: usize,
    partials: GlobalMut<R::Acc>,
    ticket: GlobalMut<u32>,
    result: GlobalMut<R::Acc>,
) {
    reduce::in_one_launch::<R, Row<ROW>>(input, per_block, partials, ticket, result);
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
                        &reduce::ReduceBest::<$of>::DESCRIPTOR,
                        &TuneReduce::<$of, $row>::DESCRIPTOR,
                    ],
                ])),*] };
        }
        with_rows!(list)
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub use table::candidates;
