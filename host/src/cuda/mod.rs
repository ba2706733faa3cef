//! The CUDA executor: devices, contexts, streams, memory and launches, on top of `cust` and the
//! driver.
//!
//! This is the only place that names `cust`, and all of it is private to the crate. Nothing here
//! panics: every error of the driver is a [`CudaError`] with the driver function, its code, the
//! code's name and a message.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `door.rs` | the trampolines behind which `libcuda.so.1` is opened at the first call |
//! | `driver.rs` | driver functions declared with plain numbers as results |
//! | `error.rs` | [`CudaError`] |
//! | `device.rs` | [`devices`], [`CudaDeviceInfo`] |
//! | `context.rs` | [`CudaContext`]: one per device and process, current on whatever thread calls |
//! | `stream.rs` | [`CudaStream`], [`CudaEvent`] |
//! | `memory.rs` | [`CudaMemory`], [`PinnedMemory`], copies |
//! | `module.rs` | [`CudaModule`], [`CudaFunction`], launches |
//! | `tables.rs` | the constant tables of a module, and the streams that read them |

mod context;
mod device;
mod door;
mod driver;
mod error;
mod memory;
mod module;
mod stream;
mod tables;
#[cfg(test)]
mod tests;

pub(crate) use context::CudaContext;
pub(crate) use device::{CudaDeviceInfo, device_count, device_info, devices};
pub(crate) use error::{CudaError, CudaErrorKind, is_device_fault};
pub(crate) use memory::{CudaMemory, PinnedMemory};
pub(crate) use module::{CudaFunction, CudaModule};
pub(crate) use stream::{CudaEvent, CudaStream};

// What only the tests need.
#[cfg(test)]
pub(crate) use device::init;
#[cfg(test)]
pub(crate) use door::library as driver_library;
#[cfg(test)]
pub(crate) use memory::DEVICE_ALIGN;
