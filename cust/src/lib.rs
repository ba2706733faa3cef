//! Safe bindings to the CUDA driver, with the names and signatures of Rust-CUDA's crate `cust`.
//!
//! The build links no library and searches for none. The driver's library is opened at the first call. Without a driver,
//! every call returns [`CudaError::NoDriver`](error::CudaError::NoDriver).
//!
//! ```
//! use cust::prelude::*;
//!
//! fn sum_of_two(ptx: &str) -> cust::error::CudaResult<Vec<f32>> {
//!     let _context = cust::quick_init()?;
//!     let module = Module::from_ptx(ptx, &[])?;
//!     let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//!     let kernel = module.get_function("add_one")?;
//!     let buffer = [1.0_f32, 2.0].as_dbuf()?;
//!     // SAFETY: the kernel takes a pointer and a length, and stays in bounds.
//!     unsafe { launch!(kernel<<<1, 32, 0, stream>>>(buffer.as_device_ptr(), buffer.len()))? };
//!     stream.synchronize()?;
//!     buffer.as_host_vec()
//! }
//!
//! match sum_of_two("…") {
//!     Ok(values) => println!("{values:?}"),
//!     Err(error) => println!("{error}"), // one line, for instance that there is no driver
//! }
//! ```
//!
//! The `README.md` lists the differences from Rust-CUDA's crate.

// Makes the derive's path `::cust` valid in this crate too.
extern crate self as cust;

pub mod context;
pub mod device;
pub mod driver;
pub mod error;
pub mod event;
pub mod external;
pub mod function;
pub mod graph;
mod image;
pub mod launch;
pub mod link;
pub mod memory;
pub mod module;
pub mod prelude;
pub mod stream;
pub mod sys;
pub mod tensor_map;
pub mod util;

pub use warpwright_cust_derive::DeviceCopy;

use crate::context::{Context, ContextFlags};
use crate::device::Device;
use crate::error::{CudaResult, ToResult};

bitflags::bitflags! {
    /// Flags of [`init`]. CUDA defines none so far.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct CudaFlags: u32 {
        #[doc(hidden)]
        const _ZERO = 0;
    }
}

/// Initializes the driver. Call this once per process, before any other function; further calls do no harm.
///
/// # Errors
/// Returns [`CudaError::NoDriver`](error::CudaError::NoDriver) if there is no driver,
/// [`CudaError::NoDevice`](error::CudaError::NoDevice) if there is no device, or another error of the driver.
pub fn init(flags: CudaFlags) -> CudaResult<()> {
    // SAFETY: the call takes no pointers.
    unsafe { sys::cuInit(flags.bits()) }.to_result()
}

/// Initializes the driver and makes the primary context of the first device current. Keep the returned context for as long
/// as the device is used.
///
/// # Errors
/// Returns [`CudaError::NoDriver`](error::CudaError::NoDriver) if there is no driver,
/// [`CudaError::NoDevice`](error::CudaError::NoDevice) if there is no device, or another error of the driver.
#[must_use = "the context is given back when this is dropped"]
pub fn quick_init() -> CudaResult<Context> {
    init(CudaFlags::empty())?;
    let context = Context::new(Device::get_device(0)?)?;
    context.set_flags(ContextFlags::SCHED_AUTO)?;
    Ok(context)
}

/// A version of CUDA.
#[derive(Debug, Hash, Eq, PartialEq, Ord, PartialOrd, Copy, Clone)]
pub struct CudaApiVersion {
    version: i32,
}

impl CudaApiVersion {
    /// Returns the latest CUDA version that the driver supports.
    ///
    /// # Errors
    /// Returns [`CudaError::NoDriver`](error::CudaError::NoDriver) if there is no driver.
    pub fn get() -> CudaResult<CudaApiVersion> {
        let mut version = 0;
        // SAFETY: the pointer is valid for a write.
        unsafe { sys::cuDriverGetVersion(&mut version) }.to_result()?;
        Ok(Self { version })
    }

    pub(crate) fn of_number(number: u32) -> Self {
        Self {
            version: i32::try_from(number).unwrap_or(i32::MAX),
        }
    }

    /// Returns the major version.
    #[inline]
    pub fn major(self) -> i32 {
        self.version / 1000
    }

    /// Returns the minor version.
    #[inline]
    pub fn minor(self) -> i32 {
        (self.version % 1000) / 10
    }
}

pub(crate) mod private {
    /// Seals a trait: only types of this crate implement it.
    pub trait Sealed {}
}
