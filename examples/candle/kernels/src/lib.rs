//! The kernel, which is compiled to PTX for the GPU, and for the host like any other crate.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]

use cuda_std::prelude::*;

/// The number of threads per block.
pub const BLOCK: usize = 256;

/// Computes `max(x, 0)^2` of every element: the squared ReLU of So and others, "Primer", 2021.
///
/// Launch: one thread per element; spare threads do nothing.
///
/// # Safety
/// `y` must have as many elements as `x`.
#[kernel(launch_bounds(BLOCK as u32))]
pub unsafe fn squared_relu(x: Global<f32>, y: GlobalMut<f32>) {
    let i = thread::index_1d_wide();
    if i < x.len() {
        let positive = x.get(i).max(0.0);
        y.set(i, positive * positive);
    }
}
