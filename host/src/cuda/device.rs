//! The CUDA devices and their properties.

use super::error::{CudaError, Result, of};
use cust::device::{Device, DeviceAttribute};
use cust::error::CudaError as DriverError;
use cust::{CudaApiVersion, CudaFlags};
use std::sync::OnceLock;

/// The driver's description of a device. A value that the driver does not report is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CudaDeviceInfo {
    /// The device's number, from 0, in the driver's order.
    pub(crate) ordinal: usize,
    /// The device's name, such as `"NVIDIA H100 80GB HBM3"`.
    pub(crate) name: String,
    /// The size of the device's memory in bytes.
    pub(crate) memory_bytes: u64,
    /// The number of multiprocessors.
    pub(crate) multiprocessors: u32,
    /// The compute capability, major and minor: (9, 0) means sm_90.
    pub(crate) compute_capability: (u32, u32),
    /// The CUDA version that the driver supports, major and minor.
    pub(crate) driver_version: (u32, u32),
    /// The size of the L2 cache in bytes.
    pub(crate) l2_bytes: u32,
    /// The most shared memory that a block can have without opting in to more, in bytes.
    pub(crate) shared_bytes_per_block: u32,
    /// The most shared memory that a block can opt in to, in bytes.
    pub(crate) shared_bytes_per_block_optin: u32,
    /// Whether memory can be allocated in stream order.
    pub(crate) memory_pools: bool,
}

/// Initializes the driver, once per process. After a failure the next call tries again.
///
/// # Errors
/// The errors of `cuInit`: `CudaErrorKind::NoDriver` if there is no driver library.
pub(crate) fn init() -> Result<()> {
    static DONE: OnceLock<()> = OnceLock::new();
    if DONE.get().is_some() {
        return Ok(());
    }
    cust::init(CudaFlags::empty()).map_err(of("cuInit"))?;
    // Another thread may have set it before.
    let _ = DONE.set(());
    Ok(())
}

/// Lists the devices. If there is no driver, or if it fails, the list is empty: [`init`] returns the reason.
///
/// A device that cannot be described is left out. The other devices keep their ordinals.
pub(crate) fn devices() -> Vec<CudaDeviceInfo> {
    let Ok(count) = device_count() else {
        return Vec::new();
    };
    (0..count)
        .filter_map(|ordinal| device_info(ordinal).ok())
        .collect()
}

/// Returns the number of devices.
///
/// # Errors
/// As for [`init`], and other errors of the driver.
pub(crate) fn device_count() -> Result<usize> {
    init()?;
    match Device::num_devices() {
        // The driver's count is a C int. A negative one, which makes no sense, counts as 0.
        Err(DriverError::UnexpectedValue) => Ok(0),
        count => Ok(count.map_err(of("cuDeviceGetCount"))? as usize),
    }
}

/// Returns the description of device `ordinal`.
///
/// # Errors
/// As for [`init`]; `CudaErrorKind::NoDevice` if there is no such device.
pub(crate) fn device_info(ordinal: usize) -> Result<CudaDeviceInfo> {
    let device = get_device(ordinal)?;
    let memory = device.total_memory().map_err(of("cuDeviceTotalMem"))?;
    let version = CudaApiVersion::get().map_err(of("cuDriverGetVersion"))?;
    let part = |number: i32| number.max(0) as u32;
    // An attribute that the driver does not know is 0.
    let attribute = |attribute: DeviceAttribute| match device.get_attribute(attribute) {
        Err(DriverError::InvalidValue) => Ok(0),
        value => value.map(part).map_err(of("cuDeviceGetAttribute")),
    };
    Ok(CudaDeviceInfo {
        ordinal,
        name: device.name().map_err(of("cuDeviceGetName"))?,
        memory_bytes: memory as u64,
        multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
        compute_capability: (
            attribute(DeviceAttribute::ComputeCapabilityMajor)?,
            attribute(DeviceAttribute::ComputeCapabilityMinor)?,
        ),
        driver_version: (part(version.major()), part(version.minor())),
        l2_bytes: attribute(DeviceAttribute::L2CacheSize)?,
        shared_bytes_per_block: attribute(DeviceAttribute::MaxSharedMemoryPerBlock)?,
        shared_bytes_per_block_optin: attribute(DeviceAttribute::MaxSharedMemoryPerBlockOptin)?,
        memory_pools: attribute(DeviceAttribute::MemoryPoolsSupported)? != 0,
    })
}

/// Returns the driver's handle of device `ordinal`.
pub(super) fn get_device(ordinal: usize) -> Result<Device> {
    let count = device_count()?;
    if ordinal >= count {
        let devices = match count {
            0 => "there are no devices".to_owned(),
            1 => "the only device is 0".to_owned(),
            n => format!("the devices are 0 to {}", n - 1),
        };
        return Err(CudaError::new("cuDeviceGet", DriverError::InvalidDevice)
            .with(format_args!("device {ordinal} was asked for, {devices}")));
    }
    Device::get_device(ordinal as u32).map_err(of("cuDeviceGet"))
}
