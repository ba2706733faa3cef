//! Pinned host memory, for asynchronous copies.

use std::{marker::PhantomData, sync::Arc};

use crate::{
    backend::PINNED_ALIGN,
    buffer::{Element, Vector, bytes_of},
    device::Device,
    error::{Error, InvalidKind, Result},
    executor::Pinned,
};

/// Pinned host memory: copies between it and the device are asynchronous and overlap with other work.
///
/// Reading, writing or dropping the memory waits for the copy under way.
#[derive(Debug)]
pub struct PinnedVec<T> {
    memory: Pinned,
    len: usize,
    device: Device,
    /// The handle on whose stream the last copy was queued.
    busy: Option<Device>,
    marker: PhantomData<T>,
}

impl Device {
    /// Allocates pinned host memory of `len` elements, set to zero. On the CPU it is ordinary memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the system cannot pin that much memory, [`Error::Driver`].
    pub fn pinned<T: Element>(&self, len: usize) -> Result<PinnedVec<T>> {
        const {
            assert!(
                align_of::<T>() <= PINNED_ALIGN,
                "pinned elements are aligned to 64 bytes at most"
            )
        };
        let bytes = bytes_of::<T>("pinned", len)?;
        Ok(PinnedVec {
            memory: self.executor.allocate_pinned("pinned", bytes)?,
            len,
            device: self.clone(),
            busy: None,
            marker: PhantomData,
        })
    }
}

impl<T> PinnedVec<T> {
    /// Waits for the copy under way.
    ///
    /// # Errors
    /// [`Error::Driver`] if the copy failed, or if the driver cannot tell. In the second case the memory stays
    /// inaccessible.
    pub fn wait(&mut self) -> Result<()> {
        if let Some(device) = &self.busy {
            device.executor.synchronize()?;
            self.busy = None;
        }
        Ok(())
    }
}

impl<T: Element> PinnedVec<T> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the elements. Waits for the copy under way.
    ///
    /// # Errors
    /// As for [`wait`](Self::wait).
    pub fn as_mut_slice(&mut self) -> Result<&mut [T]> {
        self.wait()?;
        // SAFETY: the memory has `len` elements of plain data, was aligned and zeroed when allocated, and no copy is under
        // way.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.memory.pointer().cast(), self.len) })
    }

    fn start_copy(
        &mut self,
        operation: &'static str,
        len: usize,
        device: &Device,
        copy: impl FnOnce(*mut u8, &Device) -> Result<()>,
    ) -> Result<()> {
        self.device.require_same(operation, device)?;
        if len != self.len {
            return Err(Error::invalid(
                InvalidKind::Length,
                operation,
                format!("pinned memory of {len} elements"),
                format!("{}", self.len),
            ));
        }
        if self
            .busy
            .as_ref()
            .is_some_and(|busy| !Arc::ptr_eq(&busy.executor, &device.executor))
        {
            self.wait()?;
        }
        self.busy = Some(device.clone());
        copy(self.memory.pointer(), device)
    }
}

impl<T> Drop for PinnedVec<T> {
    fn drop(&mut self) {
        // A device fault is reported again by the next call. Any other error may concern only the wait, and the copy may
        // still run: the memory is not freed.
        if let Err(error) = self.wait().or_else(|_| self.wait())
            && !error.is_device_fault()
        {
            std::mem::forget(std::mem::replace(&mut self.memory, Pinned::none()));
        }
    }
}

impl<T: Element> Vector<T> {
    /// Queues a copy of the elements into pinned memory and does not wait: see [`PinnedVec`]. Only if a copy of another handle
    /// with this memory is under way, waits for that one first.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `to` has another length or belongs to another device, [`Error::Driver`], [`Error::Unwritten`] by a
    /// check of the CPU executor.
    pub fn download_pinned(&self, to: &mut PinnedVec<T>) -> Result<()> {
        let from = self.view();
        to.start_copy(
            "download_pinned",
            self.len(),
            self.device(),
            |pinned, device| {
                let bytes = size_of::<T>() * from.len();
                // SAFETY: both sides have `bytes` bytes. The pinned memory cannot be accessed before the copy is done.
                unsafe { device.executor.copy_out(pinned, from.address(), bytes) }
            },
        )
    }

    /// Queues a copy from pinned memory to the elements and does not wait, except as in
    /// [`download_pinned`](Self::download_pinned): see [`PinnedVec`].
    ///
    /// # Errors
    /// [`Error::Invalid`] if `from` has another length or belongs to another device, [`Error::Driver`].
    pub fn upload_pinned(&mut self, from: &mut PinnedVec<T>) -> Result<()> {
        let to = self.view_mut();
        from.start_copy("upload_pinned", to.len(), to.device(), |pinned, device| {
            let bytes = size_of::<T>() * to.len();
            // SAFETY: as for `download_pinned`; `&mut self` excludes other accesses to the elements.
            unsafe { device.executor.copy_in_pinned(to.address(), pinned, bytes) }
        })
    }
}
