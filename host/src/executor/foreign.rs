//! Memory that somebody else owns.

use std::{any::Any, sync::Arc};

use super::Executor;

/// Memory that somebody else owns. Dropping it drops the owner, once the work that uses the memory is done or ordered.
pub(crate) struct ForeignMemory {
    address: u64,
    /// The owner, until it is dropped.
    owner: Option<Box<dyn Any + Send + Sync>>,
    /// The handle whose work uses the memory.
    executor: Arc<Executor>,
    /// Whether the owner frees the memory in the order of the handle's stream, so that nobody has to wait.
    in_order: bool,
}

impl ForeignMemory {
    /// Takes over memory at `address`. If `in_order` is true, dropping the owner frees it in the order of the executor's
    /// stream.
    pub fn new(
        address: u64,
        owner: Box<dyn Any + Send + Sync>,
        executor: &Arc<Executor>,
        in_order: bool,
    ) -> Self {
        Self {
            address,
            owner: Some(owner),
            executor: executor.clone(),
            in_order,
        }
    }

    /// Returns the address of the first byte.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for ForeignMemory {
    fn drop(&mut self) {
        let owner = self.owner.take();
        let wait = || self.executor.synchronize();
        // A failed wait is tried once more. After a device fault nothing runs any more.
        let waited = if self.in_order {
            Ok(())
        } else {
            wait().or_else(|_| wait())
        };
        if waited.is_err_and(|error| !error.is_device_fault()) {
            // The work may still run.
            std::mem::forget(owner);
        }
    }
}

impl std::fmt::Debug for ForeignMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ForeignMemory({:#x})", self.address)
    }
}
