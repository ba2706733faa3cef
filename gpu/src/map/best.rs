//! `best`: 16-byte accesses, several in flight.

use cuda_std::{
    map::{First, MapFn, MapInput, Passed, Second, map_wide_by},
    prelude::*,
};

use super::{functions::*, instances::with_functions, policy::Policy, wave::Wave};
use crate::tuning::{Shipped, Tuned, shipped};

/// Applies the function to chunks of elements, 16 bytes of the largest type in each, two chunks per thread
/// in flight where there is one input, else one: see [`map_wide`].
///
/// Launch: a block of 256 threads for as many chunks as they take at once; any other shape gives the same
/// result. No shared memory. Five blocks are resident at once by the launch bounds, for which the sine and the cosine
/// spill 8 bytes on compute capability 8.0; on 7.5 and 9.0 nothing does.
/// Reads every element of the inputs that the function takes once, and writes every element of `output`
/// once. The bits depend on the function and the elements alone.
///
/// # Safety
/// The inputs that the function takes are as long as `output`, and do not overlap it.
#[kernel(
    launch_bounds(
        shipped::<Policy, F::Out>().block as u32,
        shipped::<Policy, F::Out>().resident
    ),
    instances = with_functions
)]
pub unsafe fn map_best<F: MapFn>(
    function: Passed<F>,
    first: Global<First<F>>,
    second: Global<Second<F>>,
    output: GlobalMut<F::Out>,
) {
    apply_all::<F, Shipped<F::Out>>(function, first, second, output);
}

/// [`map_best`] by the numbers of a row.
#[inline(always)]
#[track_caller]
pub fn apply_all<F: MapFn, N: Tuned<Policy>>(
    function: Passed<F>,
    first: Global<First<F>>,
    second: Global<Second<F>>,
    output: GlobalMut<F::Out>,
) {
    const { assert!(matches!(N::POLICY.chunks[F::In::ARRAYS], 1 | 2)) };
    match const { N::POLICY.chunks[F::In::ARRAYS] } {
        2 => map_wide_by::<F, 2>(function, first, second, output),
        _ => map_wide_by::<F, 1>(function, first, second, output),
    }
}
