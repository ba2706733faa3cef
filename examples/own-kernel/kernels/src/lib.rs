//! The kernels, which are compiled to PTX for the GPU, and for the host like any other crate.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]

use cuda_std::{GpuFloat, float::accurate, map::MapFn, prelude::*};

/// The number of threads per block of every kernel here.
pub const BLOCK: usize = 256;

/// A number type that a kernel computes with and takes as a parameter.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Real: GpuFloat + cuda_std::kernel::ByValue {}
#[cfg(not(target_arch = "nvptx64"))]
impl<T: GpuFloat + cuda_std::kernel::ByValue> Real for T {}
// The host decides which types can be parameters; the device has no launches.
#[cfg(target_arch = "nvptx64")]
pub use cuda_std::GpuFloat as Real;

/// Computes `y[i] = a * x[i] + y[i]`, rounded once, for every element of `y`.
///
/// Launch: one thread per element; spare threads do nothing.
///
/// # Safety
/// `x` must have as many elements as `y`.
#[kernel(launch_bounds(BLOCK as u32), instances(f32, f64))]
pub unsafe fn saxpy<T: Real>(a: T, x: Global<T>, y: GlobalMut<T>) {
    let i = thread::index_1d_wide();
    if i < y.len() {
        y.set(i, a.mul_add(x.get(i), y.get(i)));
    }
}

/// Computes the inclusive scan of each block of 256 elements, and writes each block's sum to `totals`. Sums wrap around.
///
/// Launch: `ceil(n / 256)` blocks of 256 threads. Shared memory: 1 KiB, static.
///
/// Method: Hillis and Steele, "Data parallel algorithms", 1986: in every round each element is added to the element
/// `distance` further on, and the distance doubles.
///
/// # Safety
/// `output` must have as many elements as `input`, and `totals` one per block.
#[kernel(launch_bounds(BLOCK as u32))]
pub unsafe fn scan_blocks(input: Global<u32>, output: GlobalMut<u32>, totals: GlobalMut<u32>) {
    let tile = shared![u32; BLOCK];
    let tid = thread::thread_idx_x() as usize;
    let i = thread::index_1d_wide();
    let mut sum = if i < input.len() { input.get(i) } else { 0 };
    let mut distance = 1;
    while distance < BLOCK {
        tile.set(tid, sum);
        thread::sync_threads();
        if tid >= distance {
            sum = sum.wrapping_add(tile.get(tid - distance));
        }
        // No lane writes before every lane has read.
        thread::sync_threads();
        distance *= 2;
    }
    if i < output.len() {
        output.set(i, sum);
    }
    if tid == BLOCK - 1 {
        totals.set(thread::block_idx_x() as usize, sum);
    }
}

/// Adds the sum of all previous blocks to each element: the second half of a scan over many blocks.
///
/// Launch: as for [`scan_blocks`].
///
/// # Safety
/// `sums` must have one element per block: the inclusive scan of the blocks' totals.
#[kernel(launch_bounds(BLOCK as u32))]
pub unsafe fn add_block_sums(sums: Global<u32>, output: GlobalMut<u32>) {
    let i = thread::index_1d_wide();
    let block = thread::block_idx_x() as usize;
    if block > 0 && i < output.len() {
        output.set(i, output.get(i).wrapping_add(sums.get(block - 1)));
    }
}

/// The logistic function `1 / (1 + e^(-steepness x))`: a map function with a parameter.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Logistic {
    /// The steepness of the curve.
    pub steepness: f32,
}

// SAFETY: one plain number.
unsafe impl MapFn for Logistic {
    type In = f32;
    type Out = f32;

    fn call(self, _index: usize, x: f32) -> f32 {
        1.0 / (1.0 + accurate::exp(-self.steepness * x))
    }
}

cuda_std::map_kernel!(logistic: Logistic);
