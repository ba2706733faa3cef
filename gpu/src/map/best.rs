//! `best`: 16-byte accesses, one per thread.

use cuda_std::{
    map::{First, MapFn, Passed, Second, map_wide},
    prelude::*,
};

use super::{functions::*, instances::with_functions, policy::Policy, wave::Wave};
use crate::tuning::numbers;

/// Applies the function to chunks of elements, one chunk per thread, each 16 bytes of the largest type: see [`map_wide`].
///
/// Launch: blocks of [`Policy::block`](super::policy::Policy::block) threads, one thread per chunk; any other shape gives the
/// same result. No shared memory. The launch bounds make eight blocks resident at once, for which the wave spills 4 bytes on
/// compute capability 9.0, and on 8.0 the sine 4, the power 16 and the wave 24; on 7.5 nothing spills. Reads every element of
/// the inputs that the function takes once, and writes every element of `output` once. The bits depend on the function and the
/// elements alone.
///
/// # Safety
/// The inputs that the function takes are as long as `output`, and do not overlap it.
#[kernel(
    launch_bounds(
        numbers::<Policy, F::Out>(ROW).block as u32,
        numbers::<Policy, F::Out>(ROW).resident
    ),
    instances = with_functions,
    tuned(sin: 0..6, sqrt: 0..6)
)]
pub unsafe fn map_best<F: MapFn, const ROW: usize>(
    function: Passed<F>,
    first: Global<First<F>>,
    second: Global<Second<F>>,
    output: GlobalMut<F::Out>,
) {
    map_wide(function, first, second, output);
}
