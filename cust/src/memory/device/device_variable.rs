//! A value on the host and on a device.

use std::ops::{Deref, DerefMut};

use super::{CopyDestination, DeviceBox};
use crate::error::CudaResult;
use crate::memory::{DeviceCopy, DevicePointer};

/// A value on the host with a second one on a device; copies from the one to the other are made when they are asked for.
#[derive(Debug)]
pub struct DeviceVariable<T: DeviceCopy> {
    mem: DeviceBox<T>,
    var: T,
}

impl<T: DeviceCopy> DeviceVariable<T> {
    /// The value, on both.
    ///
    /// # Errors
    /// What the driver says of the allocation and the copy.
    pub fn new(var: T) -> CudaResult<Self> {
        Ok(Self {
            mem: DeviceBox::new(&var)?,
            var,
        })
    }

    /// Copies the host's value to the device.
    ///
    /// # Errors
    /// What the driver says.
    pub fn copy_htod(&mut self) -> CudaResult<()> {
        self.mem.copy_from(&self.var)
    }

    /// Copies the device's value to the host.
    ///
    /// # Errors
    /// What the driver says.
    pub fn copy_dtoh(&mut self) -> CudaResult<()> {
        self.mem.copy_to(&mut self.var)
    }

    /// The address of the device's value.
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.mem.as_device_ptr()
    }
}

impl<T: DeviceCopy> Deref for DeviceVariable<T> {
    type Target = T;

    fn deref(&self) -> &Self::Target {
        &self.var
    }
}

impl<T: DeviceCopy> DerefMut for DeviceVariable<T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.var
    }
}
