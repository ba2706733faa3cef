//! A value in host memory and in device memory.

use std::ops::{Deref, DerefMut};

use super::{CopyDestination, DeviceBox};
use crate::error::CudaResult;
use crate::memory::{DeviceCopy, DevicePointer};

/// A value in host memory with a second one in device memory. The two are only copied by explicit calls.
#[derive(Debug)]
pub struct DeviceVariable<T: DeviceCopy> {
    mem: DeviceBox<T>,
    var: T,
}

impl<T: DeviceCopy> DeviceVariable<T> {
    /// Creates the variable with the value `var` on the host and on the device.
    ///
    /// # Errors
    /// Returns the driver's error of the allocation or the copy.
    pub fn new(var: T) -> CudaResult<Self> {
        Ok(Self {
            mem: DeviceBox::new(&var)?,
            var,
        })
    }

    /// Copies the host value to the device.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn copy_htod(&mut self) -> CudaResult<()> {
        self.mem.copy_from(&self.var)
    }

    /// Copies the device value to the host.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn copy_dtoh(&mut self) -> CudaResult<()> {
        self.mem.copy_to(&mut self.var)
    }

    /// Returns the pointer to the device value.
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
