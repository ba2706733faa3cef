//! `best`: a thread per element.

use cuda_std::prelude::*;

use super::policy::BLOCK;

/// Writes the elements of `input` to `output`, the last one first.
///
/// Launch: a thread per element, in blocks of 256; no shared memory. Moves 8 bytes for each element. Exact.
///
/// # Safety
/// `output` has as many elements as `input` and does not overlap it.
#[kernel(launch_bounds(BLOCK as u32))]
pub unsafe fn reverse_best(input: Global<u32>, output: GlobalMut<u32>) {
    let i = thread::index_1d_wide();
    if i < input.len() {
        output.set(i, input.get(input.len() - 1 - i));
    }
}
