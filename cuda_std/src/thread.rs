//! Indices of a lane in its block and grid, the block's barrier, and fences.

use crate::imp;

macro_rules! special_register {
    ($($(#[$doc:meta])* $name:ident: $register:ident, $axis:literal;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            imp::$register::<$axis>()
        }
    )* };
}

special_register! {
    /// Returns the lane's index in its block along x.
    thread_idx_x: thread_idx, 0;
    /// Returns the lane's index in its block along y.
    thread_idx_y: thread_idx, 1;
    /// Returns the lane's index in its block along z.
    thread_idx_z: thread_idx, 2;
    /// Returns the block's index in the grid along x.
    block_idx_x: block_idx, 0;
    /// Returns the block's index in the grid along y.
    block_idx_y: block_idx, 1;
    /// Returns the block's index in the grid along z.
    block_idx_z: block_idx, 2;
    /// Returns the block's size along x.
    block_dim_x: block_dim, 0;
    /// Returns the block's size along y.
    block_dim_y: block_dim, 1;
    /// Returns the block's size along z.
    block_dim_z: block_dim, 2;
    /// Returns the grid's size along x, in blocks.
    grid_dim_x: grid_dim, 0;
    /// Returns the grid's size along y, in blocks.
    grid_dim_y: grid_dim, 1;
    /// Returns the grid's size along z, in blocks.
    grid_dim_z: grid_dim, 2;
}

/// Returns the same as [`thread_idx_x`], read from the special register here.
///
/// The compiler reads an index once, and keeps it, or what it has computed of it, in registers. Behind a loop that needs all
/// registers, what is computed of this one takes none during the loop.
#[inline(always)]
pub fn thread_idx_x_again() -> u32 {
    imp::thread_idx_x_again()
}

#[cfg(any(feature = "glam", feature = "vek"))]
pub use vectors::*;

/// Vector types. Rust-CUDA's `cuda_std` 0.2 returns `vek`'s vectors, and later versions `glam`'s. Both have the fields `x`,
/// `y`, `z`.
#[cfg(any(feature = "glam", feature = "vek"))]
mod vectors {
    use super::*;
    #[cfg(feature = "glam")]
    use glam::{UVec2 as Index2, UVec3 as Index3};
    #[cfg(not(feature = "glam"))]
    type Index2 = vek::Vec2<u32>;
    #[cfg(not(feature = "glam"))]
    type Index3 = vek::Vec3<u32>;

    /// Returns the lane's index in its block.
    #[inline(always)]
    pub fn thread_idx() -> Index3 {
        Index3::new(thread_idx_x(), thread_idx_y(), thread_idx_z())
    }

    /// Returns the block's index in the grid.
    #[inline(always)]
    pub fn block_idx() -> Index3 {
        Index3::new(block_idx_x(), block_idx_y(), block_idx_z())
    }

    /// Returns the block's size.
    #[inline(always)]
    pub fn block_dim() -> Index3 {
        Index3::new(block_dim_x(), block_dim_y(), block_dim_z())
    }

    /// Returns the grid's size in blocks.
    #[inline(always)]
    pub fn grid_dim() -> Index3 {
        Index3::new(grid_dim_x(), grid_dim_y(), grid_dim_z())
    }

    /// Returns the lane's index in a two-dimensional launch. Each axis wraps at 2^32.
    #[inline(always)]
    pub fn index_2d() -> Index2 {
        Index2::new(
            thread_idx_x().wrapping_add(block_idx_x().wrapping_mul(block_dim_x())),
            thread_idx_y().wrapping_add(block_idx_y().wrapping_mul(block_dim_y())),
        )
    }

    /// Returns the lane's index in a three-dimensional launch. Each axis wraps at 2^32.
    #[inline(always)]
    pub fn index_3d() -> Index3 {
        let Index2 { x, y } = index_2d();
        let z = thread_idx_z().wrapping_add(block_idx_z().wrapping_mul(block_dim_z()));
        Index3::new(x, y, z)
    }
}

/// Returns the lane's index in a one-dimensional launch: `thread_idx_x + block_idx_x * block_dim_x`. It wraps at 2^32; use
/// [`index_1d_wide`] for larger grids.
#[inline(always)]
pub fn index_1d() -> u32 {
    thread_idx_x().wrapping_add(block_idx_x().wrapping_mul(block_dim_x()))
}

/// Returns [`index_1d`] in 64 bits.
#[inline(always)]
pub fn index_1d_wide() -> usize {
    thread_idx_x() as usize + block_idx_x() as usize * block_dim_x() as usize
}

/// Returns the number of lanes of a one-dimensional launch, which is the stride of a grid-stride loop.
#[inline(always)]
pub fn grid_stride() -> usize {
    grid_dim_x() as usize * block_dim_x() as usize
}

/// Returns the lane's linear index in its block, x fastest.
#[inline(always)]
pub fn linear_thread_idx() -> u32 {
    thread_idx_x() + block_dim_x() * (thread_idx_y() + block_dim_y() * thread_idx_z())
}

/// Returns the lane's linear index in the grid: blocks in order (x fastest), and lanes in order within them. It wraps at
/// 2^32.
#[inline(always)]
pub fn index() -> u32 {
    let block =
        block_idx_x()
            .wrapping_add(grid_dim_x().wrapping_mul(
                block_idx_y().wrapping_add(grid_dim_y().wrapping_mul(block_idx_z())),
            ));
    let block_size = block_dim_x() * block_dim_y() * block_dim_z();
    block
        .wrapping_mul(block_size)
        .wrapping_add(linear_thread_idx())
}

/// Returns whether this is the first lane of the first block.
#[inline(always)]
pub fn first() -> bool {
    index() == 0 && block_idx_x() == 0 && block_idx_y() == 0 && block_idx_z() == 0
}

/// Returns the number of lanes of a warp, 32.
#[inline(always)]
pub fn warp_size() -> u32 {
    32
}

/// Waits until every lane of the block has reached the barrier, and makes their writes to shared and global memory visible
/// to each other. Every lane of the block must reach it, at the same source line.
#[inline(always)]
#[track_caller]
pub fn sync_threads() {
    imp::sync_threads();
}

/// Waits at barrier `barrier` until `threads` lanes of the block have reached it, and makes their writes to shared and global
/// memory visible to each other. Other lanes of the block take no part.
///
/// `barrier` is 1 to 15 (barrier 0 is that of [`sync_threads`]), and `threads` a multiple of 32. All lanes that meet must
/// give the same `threads`, and a warp's lanes must reach the barrier together, at one source line; different warps may be at
/// different lines. The CPU executor ends the launch with an error if any of this does not hold. One instruction on the GPU
/// (`bar.sync barrier, threads`).
#[inline(always)]
#[track_caller]
pub fn sync_threads_named(barrier: u32, threads: u32) {
    imp::sync_threads_named(barrier, threads);
}

/// A [`sync_threads`] that returns the number of lanes whose `predicate` is not zero.
#[inline(always)]
#[track_caller]
pub fn sync_threads_count(predicate: u32) -> u32 {
    imp::sync_threads_count(predicate)
}

/// A [`sync_threads`] that returns 1 if every lane's `predicate` is not zero, else 0.
#[inline(always)]
#[track_caller]
pub fn sync_threads_and(predicate: u32) -> u32 {
    imp::sync_threads_and(predicate)
}

/// A [`sync_threads`] that returns 1 if any lane's `predicate` is not zero, else 0.
#[inline(always)]
#[track_caller]
pub fn sync_threads_or(predicate: u32) -> u32 {
    imp::sync_threads_or(predicate)
}

/// Orders this lane's memory accesses before the fence with those after it, as seen by the lanes of its block.
#[inline(always)]
#[track_caller]
pub fn block_fence() {
    imp::fence_block();
}

/// Orders this lane's memory accesses before the fence with those after it, as seen by the lanes of its grid.
#[inline(always)]
#[track_caller]
pub fn grid_fence() {
    imp::fence_device();
}

/// Orders this lane's memory accesses before the fence with those after it, as seen by all lanes of the device.
#[inline(always)]
#[track_caller]
pub fn device_fence() {
    imp::fence_device();
}

/// Orders this lane's memory accesses before the fence with those after it, as seen by all devices and the host.
#[inline(always)]
#[track_caller]
pub fn system_fence() {
    imp::fence_system();
}

/// Suspends the lane for about `nanos` nanoseconds, at most a millisecond. The CPU executor runs other lanes meanwhile.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn nanosleep(nanos: u32) {
    imp::nanosleep(nanos);
}

/// Gives up registers of this warp's threads, so that each keeps `COUNT`: a multiple of 8 from 24 to 256
/// (`setmaxnreg.dec.sync.aligned`). [`increase_registers`] of other warps can take them.
///
/// All warps of a warpgroup, four warps of which the first has a number that is a multiple of 4, must execute this. The kernel
/// must have launch bounds with a minimum number of blocks, and what it needs later must fit. The instruction needs a module
/// for `sm_90a`. The CPU executor has no registers to share.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
#[inline(always)]
pub fn decrease_registers<const COUNT: u32>() {
    const { assert!(COUNT >= 24 && COUNT <= 256 && COUNT.is_multiple_of(8)) };
    imp::decrease_registers::<COUNT>();
}

/// Waits until the block has registers that others have [given up](decrease_registers), and takes so many that each of this
/// warp's threads has `COUNT` (`setmaxnreg.inc.sync.aligned`). The same rules hold.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
#[inline(always)]
pub fn increase_registers<const COUNT: u32>() {
    const { assert!(COUNT >= 24 && COUNT <= 256 && COUNT.is_multiple_of(8)) };
    imp::increase_registers::<COUNT>();
}
