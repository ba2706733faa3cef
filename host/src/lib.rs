//! GPU primitives on CUDA devices and on the CPU, with kernels written in Rust.
//!
//! ```
//! use warpwright::Device;
//!
//! # fn main() -> warpwright::Result<()> {
//! let device = Device::auto()?; // a CUDA device, else the CPU
//! let values = device.upload(&[3.0_f32, 1.0, 2.0])?;
//! assert_eq!(device.sum(&values)?, 6.0);
//! assert_eq!(device.argmin(&values)?, Some(1));
//!
//! let image = device.upload_matrix(&[1_u8, 2, 3, 4, 5, 6], 2, 3)?;
//! assert_eq!(device.transpose(&image)?.to_vec()?, [1, 4, 2, 5, 3, 6]);
//! # Ok(())
//! # }
//! ```
//!
//! Each operation chooses its best variant. A request of the operation has options: it selects a variant, and it can be
//! prepared once and queued many times. The slower variants are the rungs of a ladder, which are compiled with the feature
//! `ladder`: see [`families`].
//!
//! Your own kernels run in the same way, on a CUDA device and on the CPU: write them with `cuda_std`, build them with
//! `cuda_builder`, and launch them with [`Device::launch`].

mod architecture;
#[cfg(feature = "arrow")]
mod arrow;
mod backend;
mod buffer;
#[cfg(feature = "candle")]
mod candle;
#[cfg(feature = "cuda")]
mod code;
mod copies;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg_attr(not(feature = "cuda"), path = "no_cuda.rs")]
mod cuda_backend;
#[cfg(feature = "cudarc")]
mod cudarc;
mod device;
#[cfg(feature = "dlpack")]
mod dlpack;
mod error;
mod event;
mod executor;
#[cfg(feature = "faer")]
mod faer;
mod foreign;
mod graph;
mod launch;
mod matrix;
mod module;
mod named;
#[cfg(feature = "ndarray")]
mod ndarray;
pub mod ops;
mod pinned;
mod ptx;
mod rect;
#[cfg(feature = "tch")]
mod tch;
mod tensor_map;

pub use buffer::{Element, Vector, VectorView, VectorViewMut};
#[cfg(feature = "candle")]
pub use candle::{CandleElement, CandleMemory};
pub use cuda_std::{self, kernel::LaunchConfig};
#[cfg(feature = "cudarc")]
pub use cudarc::{CudarcMemory, CudarcMemoryMut, CudarcView, CudarcViewMut};
#[cfg(feature = "tuning")]
#[doc(hidden)]
pub use device::Candidate;
pub use device::{CpuOptions, Device, DeviceInfo, DeviceKind};
pub use error::{Error, InvalidKind, Result};
pub use event::{Event, EventFuture};
pub use graph::Graph;
pub use launch::{Arg, Args};
pub use matrix::{Matrix, MatrixView};
pub use module::Module;
pub use ops::random::{Generator, RandomGenerator};
pub use ops::{convolution::Boundary, histogram::Histogram};
pub use pinned::PinnedVec;
pub use rect::{MatrixRect, MatrixRectMut};
#[cfg(feature = "tch")]
pub use tch::TchElement;
pub use warpwright_gpu::{Family, Variant};

/// Returns all families of kernels with their variants.
pub fn families() -> &'static [Family] {
    warpwright_gpu::FAMILIES
}

/// Returns the PTX of the library's kernel `name` as a module of its own.
///
/// The text is what the library gives to the driver of a device of this compute capability. Load it with
/// [`Module::from_ptx`] or by other means, or read it. The names are in the catalogue ([`families`]). Returns `None` if
/// there is no such kernel, or none that the device can run.
pub fn kernel_ptx(name: &str, compute_capability: (u32, u32)) -> Option<String> {
    module::own_kernel(name, compute_capability)
}
