//! `rolled`: a grid-stride loop.

use cuda_std::{
    map::{First, MapFn, Passed, Second, apply},
    prelude::*,
};

use crate::map::{functions::*, instances::with_functions, policy::BLOCK, wave::Wave};

/// Applies the function in a grid-stride loop: each thread starts at its own element and advances by the number of threads of
/// the grid. With one block the stride is the block.
///
/// Launch: any number of blocks of up to 256 threads along x. No shared memory.
/// Reads every element of the inputs that the function takes once, and writes every element of `output`
/// once. The bits depend on the function and the elements alone.
///
/// # Safety
/// The inputs that the function takes are as long as `output`, and do not overlap it.
#[kernel(launch_bounds(BLOCK as u32), instances = with_functions)]
pub unsafe fn map_rolled<F: MapFn>(
    function: Passed<F>,
    first: Global<First<F>>,
    second: Global<Second<F>>,
    output: GlobalMut<F::Out>,
) {
    let mut i = thread::index_1d_wide();
    while i < output.len() {
        output.set(i, apply(function, first, second, i));
        i += thread::grid_stride();
    }
}
