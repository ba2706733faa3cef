//! `best`: 16-byte accesses, several in flight.

use cuda_std::{
    map::{First, MapFn, Passed, Second, map_wide},
    prelude::*,
};

use super::{
    functions::*,
    instances::with_functions,
    policy::{BEST_RESIDENT, BLOCK},
    wave::Wave,
};

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
#[kernel(launch_bounds(BLOCK as u32, BEST_RESIDENT), instances = with_functions)]
pub unsafe fn map_best<F: MapFn>(
    function: Passed<F>,
    first: Global<First<F>>,
    second: Global<Second<F>>,
    output: GlobalMut<F::Out>,
) {
    map_wide(function, first, second, output);
}
