//! `direct`: one thread per element.

use cuda_std::{
    map::{First, MapFn, Passed, Second, apply},
    prelude::*,
};

use crate::map::{functions::*, instances::with_functions, policy::BLOCK, wave::Wave};

/// Applies the function to the element of each thread. If the launch has fewer threads than elements, the other elements stay
/// unchanged without an error. The library launches enough threads.
///
/// Launch: one thread per element; blocks of up to 256 threads. No shared memory.
/// Reads every element of the inputs that the function takes once, and writes every element of `output`
/// once. The bits depend on the function and the elements alone.
///
/// # Safety
/// The inputs that the function takes are as long as `output`, and do not overlap it.
#[kernel(launch_bounds(BLOCK as u32), instances = with_functions)]
pub unsafe fn map_direct<F: MapFn>(
    function: Passed<F>,
    first: Global<First<F>>,
    second: Global<Second<F>>,
    output: GlobalMut<F::Out>,
) {
    let i = thread::index_1d_wide();
    if i < output.len() {
        output.set(i, apply(function, first, second, i));
    }
}
