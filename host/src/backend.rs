//! What the executors are given and promise: a launch, and the alignment of memory.

use std::ffi::c_void;

use cuda_std::constant::ConstantValues;
use cuda_std::kernel::{KernelDescriptor, LaunchConfig};

use crate::module::Module;

/// The least alignment of [`Memory`](crate::executor::Memory) in bytes. Elements that need more do not compile:
///
/// ```compile_fail
/// #[derive(Clone, Copy)]
/// #[repr(C, align(512))]
/// struct Far([u8; 512]);
/// unsafe impl bytemuck::Zeroable for Far {}
/// unsafe impl bytemuck::Pod for Far {}
///
/// let _ = warpwright::Device::cpu().zeros::<Far>(1);
/// ```
pub(crate) const DEVICE_ALIGN: usize = 256;
/// The least alignment of [`Pinned`](crate::executor::Pinned) memory in bytes.
pub(crate) const PINNED_ALIGN: usize = 64;

/// A launch, without the executor that runs it.
pub(crate) struct Launch<'a> {
    pub operation: &'static str,
    pub kernel: &'a KernelDescriptor,
    pub config: LaunchConfig,
    /// The raw parameters, as [`KernelDescriptor::params`] lists them.
    pub params: &'a [*const c_void],
    /// The module of the kernel. `None` for the library's own.
    #[cfg_attr(
        not(feature = "cuda"),
        expect(dead_code, reason = "the driver alone loads modules")
    )]
    pub module: Option<&'a Module>,
    /// Constant tables that the kernel reads, with the values that this launch sees. There are never more values than a
    /// table has elements.
    pub constants: &'a [ConstantValues<'a>],
}
