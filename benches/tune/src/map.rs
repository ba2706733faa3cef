//! Every row of the maps, for the sine and the square root.

use cuda_std::{
    map::{First, MapFn, Passed, Second, map_wide},
    prelude::*,
};
use warpwright_gpu::{
    map::{
        functions::{Sin, Sqrt},
        policy::Policy,
    },
    tuning::{Row, Tuned},
};

macro_rules! with_rows {
    ($callback:ident) => {
        $callback! {
            sin_0: (Sin, 0),
            sin_1: (Sin, 1),
            sin_2: (Sin, 2),
            sin_3: (Sin, 3),
            sin_4: (Sin, 4),
            sin_5: (Sin, 5),
            sqrt_0: (Sqrt, 0),
            sqrt_1: (Sqrt, 1),
            sqrt_2: (Sqrt, 2),
            sqrt_3: (Sqrt, 3),
            sqrt_4: (Sqrt, 4),
            sqrt_5: (Sqrt, 5),
        }
    };
}

const fn policy<const ROW: usize>() -> Policy {
    <Row<ROW> as Tuned<Policy>>::POLICY
}

/// [`map_best`](warpwright_gpu::map::map_best) by the numbers of a row.
///
/// # Safety
/// As for that.
#[kernel(
    launch_bounds(policy::<ROW>().block as u32, policy::<ROW>().resident),
    instances = with_rows
)]
pub unsafe fn tune_map<F: MapFn, const ROW: usize>(
    function: Passed<F>,
    first: Global<First<F>>,
    second: Global<Second<F>>,
    output: GlobalMut<F::Out>,
) {
    map_wide(function, first, second, output);
}

#[cfg(not(target_arch = "nvptx64"))]
mod table {
    use cuda_std::kernel::Kernel;
    use warpwright_gpu::map::MapBest;

    use super::*;
    use crate::Candidate;

    /// The candidates.
    pub fn candidates() -> Vec<Candidate<Policy>> {
        macro_rules! list {
            ($($suffix:ident: ($of:ty, $row:literal),)*) => { vec![$(Candidate::new(stringify!($suffix), $row, policy::<$row>(), vec![
                    [
                        &MapBest::<$of>::DESCRIPTOR,
                        &TuneMap::<$of, $row>::DESCRIPTOR,
                    ],
                ])),*] };
        }
        with_rows!(list)
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub use table::candidates;
