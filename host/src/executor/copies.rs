//! Copies between the memory of two handles, on one device or on two.

use std::{iter, sync::Arc};

use super::{Executor, capture, ordered};
use crate::error::Result;

/// The rows that a copy consists of.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub count: usize,
    /// The bytes of a row.
    pub bytes: usize,
    /// The bytes from the start of a row to that of the next one, at the target.
    pub to_stride: usize,
    /// The same at the source.
    pub from_stride: usize,
}

impl Rows {
    /// Returns `bytes` bytes in a row.
    pub fn one(bytes: usize) -> Self {
        Self {
            count: 1,
            bytes,
            to_stride: bytes,
            from_stride: bytes,
        }
    }

    /// Returns the same bytes as one row, if the rows adjoin at both ends.
    fn joined(self) -> Self {
        let adjoin = self.to_stride == self.bytes && self.from_stride == self.bytes;
        if adjoin {
            Self::one(self.count * self.bytes)
        } else {
            self
        }
    }

    /// Calls `copy` for each row with its addresses at the target and at the source.
    fn each(self, to: u64, from: u64, copy: impl Fn(u64, u64) -> Result<()>) -> Result<()> {
        let at = |start: u64, row: usize, stride: usize| start + (row * stride) as u64;
        (0..self.count)
            .try_for_each(|row| copy(at(to, row, self.to_stride), at(from, row, self.from_stride)))
    }
}

/// Copies `rows` from memory of `source` at the address `from` to memory of `target` at the address `to`.
///
/// The copy is in order with the work of both handles. A CUDA source's stream makes it, so the source may be freed in the
/// stream's order as soon as this returns, and a device writes to its peer and reads nothing from it. The host waits if the
/// source is on a CUDA device and the target on the CPU.
///
/// # Safety
/// The rows must lie within memory of the two handles' devices and must not overlap; as for [`Executor::fill`] at `to`.
pub(crate) unsafe fn copy(
    operation: &'static str,
    (target, to): (&Arc<Executor>, u64),
    (source, from): (&Arc<Executor>, u64),
    rows: Rows,
) -> Result<()> {
    let rows = rows.joined();
    let bytes = rows.bytes;
    if bytes == 0 || rows.count == 0 {
        return Ok(());
    }
    if source.info().kind != target.info().kind {
        capture::refuse(operation)?;
    }
    match (&**source, &**target) {
        (Executor::Cpu(_), Executor::Cuda(_)) => rows.each(to, from, |to, from| {
            // SAFETY: by the contract.
            unsafe { target.copy_in(to, from as *const u8, bytes) }
        }),
        (Executor::Cuda(_), Executor::Cpu(host)) => {
            let copied = rows.each(to, from, |to, from| {
                // SAFETY: by the contract; the wait below keeps `to` until the copy is done.
                unsafe { source.copy_out(to as *mut u8, from, bytes) }?;
                host.written(to, bytes);
                Ok(())
            });
            // A failed wait is tried once more, because the target may be freed after this.
            let wait = || source.synchronize();
            let done = wait().or_else(|error| wait().and(Err(error)));
            copied.and(done)
        }
        (Executor::Cuda(own), Executor::Cuda(peer)) if own.info().kind != peer.info().kind => {
            own.connect(peer)?;
            ordered(source, iter::once(target), || {
                rows.each(to, from, |to, from| {
                    // SAFETY: by the contract.
                    unsafe { own.copy_to_peer(peer, to, from, bytes) }
                })
            })
        }
        _ => ordered(source, iter::once(target), || {
            rows.each(to, from, |to, from| {
                // SAFETY: by the contract.
                unsafe { source.copy_within(to, from, bytes) }
            })
        }),
    }
}
