//! Sizes of the block's shared memory.

use crate::imp;

/// Bytes of dynamic shared memory that the launch gave each block.
#[inline(always)]
pub fn dynamic_smem_size() -> u32 {
    imp::dynamic_shared_bytes()
}

/// Bytes of shared memory that each block has in all, static and dynamic.
///
/// On the GPU it is rounded up to the unit that the hardware hands out, and may contain what the system
/// reserves; on the CPU executor it counts the static arrays that the block has come to so far.
#[inline(always)]
pub fn total_smem_size() -> u32 {
    imp::total_shared_bytes()
}
