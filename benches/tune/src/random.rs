//! Every row of the random numbers, for uniform and normal `f32`.

use cuda_std::{prelude::*, random::Philox4x32};
use warpwright_gpu::{
    random::{self, Distribution, Normal, Uniform, policy::Policy},
    tuning::{Row, Tuned},
};

macro_rules! with_rows {
    ($callback:ident) => {
        $callback! {
            uniform_0: (Uniform<f32>, 0),
            uniform_1: (Uniform<f32>, 1),
            uniform_2: (Uniform<f32>, 2),
            uniform_3: (Uniform<f32>, 3),
            uniform_4: (Uniform<f32>, 4),
            uniform_5: (Uniform<f32>, 5),
            uniform_6: (Uniform<f32>, 6),
            uniform_7: (Uniform<f32>, 7),
            uniform_8: (Uniform<f32>, 8),
            uniform_9: (Uniform<f32>, 9),
            normal_0: (Normal<f32>, 0),
            normal_1: (Normal<f32>, 1),
            normal_2: (Normal<f32>, 2),
            normal_3: (Normal<f32>, 3),
            normal_4: (Normal<f32>, 4),
            normal_5: (Normal<f32>, 5),
            normal_6: (Normal<f32>, 6),
            normal_7: (Normal<f32>, 7),
            normal_8: (Normal<f32>, 8),
            normal_9: (Normal<f32>, 9),
        }
    };
}

const fn policy<const ROW: usize>() -> Policy {
    <Row<ROW> as Tuned<Policy>>::POLICY
}

/// [`random_best_philox`](random::random_best_philox) by the numbers of a row.
///
/// # Safety
/// As for that.
#[kernel(
    launch_bounds(policy::<ROW>().block as u32, policy::<ROW>().resident),
    instances = with_rows
)]
pub unsafe fn tune_random_philox<D: Distribution, const ROW: usize>(
    output: GlobalMut<D::Out>,
    distribution: D,
    keys: [[u32; 2]; Philox4x32::ROUNDS],
    first: u64,
) {
    // SAFETY: by the contract.
    unsafe { random::random_best_philox(output, distribution, keys, first) }
}

/// [`random_best_xorwow`](random::random_best_xorwow) by the numbers of a row.
///
/// # Safety
/// As for that.
#[kernel(
    launch_bounds(policy::<ROW>().block as u32, policy::<ROW>().resident),
    instances = with_rows
)]
pub unsafe fn tune_random_xorwow<D: Distribution, const ROW: usize>(
    output: GlobalMut<D::Out>,
    distribution: D,
    states: GlobalMut<u32>,
    first: u64,
) {
    // SAFETY: by the contract.
    unsafe { random::random_best_xorwow(output, distribution, states, first) }
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
                        &random::RandomBestPhilox::<$of>::DESCRIPTOR,
                        &TuneRandomPhilox::<$of, $row>::DESCRIPTOR,
                    ],
                    [
                        &random::RandomBestXorwow::<$of>::DESCRIPTOR,
                        &TuneRandomXorwow::<$of, $row>::DESCRIPTOR,
                    ],
                ])),*] };
        }
        with_rows!(list)
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub use table::candidates;
