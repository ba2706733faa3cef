//! Which CUDA devices there are, and what they are like.

use super::driver::{self, driver};
use super::error::{CudaError, Result};
use cust::device::{Device, DeviceAttribute};
use std::ffi::c_int;
use std::sync::OnceLock;

/// `CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN`, which `cust` has no name for.
const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: c_int = 97;
/// `CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED`, which `cust` has no name for.
const MEMORY_POOLS_SUPPORTED: c_int = 115;

/// What the driver says about a device. Values that it does not give are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CudaDeviceInfo {
    /// The device's number, from 0, in the driver's order.
    pub(crate) ordinal: usize,
    /// The device's name, `"NVIDIA H100 80GB HBM3"` for one.
    pub(crate) name: String,
    /// The size of the device's memory in bytes.
    pub(crate) memory_bytes: u64,
    /// How many multiprocessors the device has.
    pub(crate) multiprocessors: u32,
    /// Major and minor compute capability: (9, 0) means sm_90.
    pub(crate) compute_capability: (u32, u32),
    /// Major and minor CUDA version that the driver supports.
    pub(crate) driver_version: (u32, u32),
    /// The size of the L2 cache in bytes.
    pub(crate) l2_bytes: u32,
    /// The most shared memory in bytes that a block has without asking for more.
    pub(crate) shared_bytes_per_block: u32,
    /// The most shared memory in bytes that a block can ask for.
    pub(crate) shared_bytes_per_block_optin: u32,
    /// Whether memory can be allocated in stream order.
    pub(crate) memory_pools: bool,
}

/// Starts the driver, once per process: after a failure the next call tries again.
///
/// # Errors
/// What `cuInit` returns: `CudaErrorKind::NoDriver` where there is no driver library.
pub(crate) fn init() -> Result<()> {
    static DONE: OnceLock<()> = OnceLock::new();
    if DONE.get().is_some() {
        return Ok(());
    }
    // Not `cust::init`: its error type has no code for a driver that does not fit its kernel module
    // (803) and others, and those are what a user needs to read. SAFETY: 0 is the only value that
    // `cuInit` takes.
    unsafe { driver!(cuInit(0)) }?;
    // Another thread may have said so before.
    let _ = DONE.set(());
    Ok(())
}

/// Lists the devices. Without a driver, or where it fails, the list is empty: [`init`] says why.
///
/// A device that cannot be described is left out; it keeps its ordinal.
pub(crate) fn devices() -> Vec<CudaDeviceInfo> {
    let Ok(count) = device_count() else {
        return Vec::new();
    };
    (0..count)
        .filter_map(|ordinal| device_info(ordinal).ok())
        .collect()
}

/// How many devices there are.
///
/// # Errors
/// As [`init`], and what the driver returns.
pub(crate) fn device_count() -> Result<usize> {
    init()?;
    let count = Device::num_devices().map_err(|e| from_cust("cuDeviceGetCount", e))?;
    // The driver counts in a C int, which `cust` casts: a nonsensical negative one counts as none.
    Ok(i32::try_from(count).map_or(0, |count| count as usize))
}

/// Describes device `ordinal`.
///
/// # Errors
/// As [`init`]; `CudaErrorKind::NoDevice` for a device that is not there.
pub(crate) fn device_info(ordinal: usize) -> Result<CudaDeviceInfo> {
    let device = get_device(ordinal)?;
    let memory = device
        .total_memory()
        .map_err(|e| from_cust("cuDeviceTotalMem", e))?;
    let version = driver_version()?;
    let attribute = |attribute: DeviceAttribute| attribute_or_zero(&device, attribute as c_int);
    Ok(CudaDeviceInfo {
        ordinal,
        name: device.name().map_err(|e| from_cust("cuDeviceGetName", e))?,
        memory_bytes: memory as u64,
        multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
        compute_capability: (
            attribute(DeviceAttribute::ComputeCapabilityMajor)?,
            attribute(DeviceAttribute::ComputeCapabilityMinor)?,
        ),
        driver_version: version,
        l2_bytes: attribute(DeviceAttribute::L2CacheSize)?,
        shared_bytes_per_block: attribute(DeviceAttribute::MaxSharedMemoryPerBlock)?,
        shared_bytes_per_block_optin: attribute_or_zero(
            &device,
            MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        )?,
        memory_pools: attribute_or_zero(&device, MEMORY_POOLS_SUPPORTED)? != 0,
    })
}

/// The CUDA version that the driver supports, major and minor.
///
/// # Errors
/// What the driver returns.
pub(crate) fn driver_version() -> Result<(u32, u32)> {
    let mut version: c_int = 0;
    // SAFETY: the function writes one int.
    unsafe { driver!(cuDriverGetVersion(&mut version)) }?;
    let version = version.max(0) as u32;
    Ok((version / 1000, version % 1000 / 10))
}

/// The driver's handle on device `ordinal`.
pub(super) fn get_device(ordinal: usize) -> Result<Device> {
    let count = device_count()?;
    if ordinal >= count {
        let devices = match count {
            0 => "there are no devices".to_owned(),
            1 => "the only device is 0".to_owned(),
            n => format!("the devices are 0 to {}", n - 1),
        };
        return Err(CudaError::new("cuDeviceGet", 101)
            .with(format_args!("device {ordinal} was asked for, {devices}")));
    }
    Device::get_device(ordinal as u32).map_err(|e| from_cust("cuDeviceGet", e))
}

/// An attribute; 0 for one that the driver does not know.
fn attribute_or_zero(device: &Device, attribute: c_int) -> Result<u32> {
    let mut value: c_int = 0;
    // SAFETY: the function writes one int.
    let asked = unsafe { driver!(cuDeviceGetAttribute(&mut value, attribute, device.as_raw())) };
    match asked {
        Ok(()) => Ok(value.max(0) as u32),
        Err(error) if error.code == driver::INVALID_VALUE => Ok(0),
        Err(error) => Err(error),
    }
}

/// `cust`'s errors of the driver bear the driver's codes.
pub(super) fn from_cust(call: &'static str, error: cust::error::CudaError) -> CudaError {
    CudaError::new(call, error as u32)
}
