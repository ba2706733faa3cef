//! Launches of as many blocks as are resident, which take one tile after the other.

use cuda_std::kernel::KernelDescriptor;

use super::plan::Plan;
use crate::{error::Result, module::Module};

/// The architecture from which on copies to shared memory are asynchronous.
const ASYNCHRONOUS: u32 = 80;
/// The most static shared memory of a kernel with persistent blocks.
const STATIC_BYTES: usize = 3 << 10;

/// The numbers of a kernel whose blocks have a ring of tiles in shared memory each.
pub struct Persistent {
    /// The threads of a block.
    pub threads: usize,
    /// The dynamic shared memory of a block in bytes.
    pub shared_bytes: usize,
    /// The resident blocks per multiprocessor.
    pub resident: u32,
    /// The tickets that a block takes before its first tile.
    pub slots: usize,
}

impl Persistent {
    /// Returns the number of blocks for these tiles, or 0 if the device has no asynchronous copies or no room for so many
    /// blocks. Without a module the kernel is one of the library's; a user's module has such a kernel only if it has
    /// asynchronous copies.
    pub fn blocks(
        &self,
        plan: &Plan<'_>,
        kernel: (&'static KernelDescriptor, Option<&Module>),
        tiles: usize,
    ) -> Result<usize> {
        let info = plan.device.info();
        let is_new = kernel.1.is_some()
            || info.compute_capability.is_none()
            || plan.device.executor.architecture(plan.family.name) >= ASYNCHRONOUS;
        if !is_new || self.shared_bytes + STATIC_BYTES > info.shared_bytes_per_block {
            return Ok(0);
        }
        let (threads, bytes) = (self.threads as u32, self.shared_bytes as u32);
        let resident = (plan.device)
            .resident_blocks(plan.operation, kernel, threads, bytes)?
            .unwrap_or(self.resident);
        let blocks = info.multiprocessors.max(1) as usize * resident as usize;
        // Fewer copies in flight than planned hide less. Tickets are counted in 32 bits.
        if resident < self.resident || tiles + blocks * self.slots > u32::MAX as usize {
            return Ok(0);
        }
        Ok(blocks.min(tiles))
    }
}
