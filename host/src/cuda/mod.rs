//! The CUDA executor: devices, contexts, streams, memory and launches, on top of the project's crate `cust`, which opens
//! the driver at the first call.
//!
//! This is the only part of the library that names `cust`, and all of it is private to the crate. Nothing here panics:
//! every error of the driver is a [`CudaError`] with the driver function, its code, the code's name and a message. This
//! module adds the following to `cust`: there is one context per device and process, which is made current before each
//! call. If destroying an object fails, it is tried once more, but not if the context is lost.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `error.rs` | [`CudaError`] |
//! | `device.rs` | [`devices`], [`CudaDeviceInfo`] |
//! | `context.rs` | [`CudaContext`]: one per device and process, current on the calling thread |
//! | `kept.rs` | driver objects that are destroyed when they are dropped |
//! | `stream.rs` | [`CudaStream`], [`CudaEvent`] |
//! | `wait.rs` | [`CudaWait`]: waits for events by a waker |
//! | `graph.rs` | captures of a stream, [`CudaWork`], [`CudaGraph`] |
//! | `memory.rs` | [`CudaMemory`], [`PinnedMemory`], copies |
//! | `peers.rs` | access of devices to each other's memory |
//! | `module.rs` | [`CudaModule`], [`CudaFunction`], launches, [`LoadedModules`] |
//! | `tensor_map.rs` | [`encode_tensor_map`] |
//! | `tables.rs` | the constant tables of a module, and the streams that read them |

mod context;
mod device;
mod error;
mod graph;
mod kept;
mod memory;
mod module;
mod peers;
mod stream;
mod tables;
mod tensor_map;
#[cfg(test)]
mod tests;
mod wait;

pub(crate) use context::CudaContext;
pub(crate) use device::{CudaDeviceInfo, device_count, device_info, devices};
pub(crate) use error::{CudaError, CudaErrorKind, is_device_fault};
pub(crate) use graph::{CudaGraph, CudaWork};
pub(crate) use memory::{CudaMemory, Found, PinnedMemory};
pub(crate) use module::{CudaFunction, CudaModule, Loaded, LoadedModules};
pub(crate) use stream::{CudaEvent, CudaStream, Owner};
pub(crate) use tensor_map::encode as encode_tensor_map;
pub(crate) use wait::CudaWait;

// Only the tests use these.
#[cfg(test)]
pub(crate) use device::init;
#[cfg(test)]
pub(crate) use memory::DEVICE_ALIGN;
