//! What the executors are given and promise: a launch with its raw parameters, and the alignment of memory.

use std::{ffi::c_void, ptr};

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

/// Returns the number of words that a parameter of `bytes` bytes takes.
pub(crate) fn words_of(bytes: usize) -> usize {
    bytes.div_ceil(8)
}

/// The most raw parameters that a launch can have: those of the largest tuple of arguments, if all of them are views.
const MOST_PARAMS: usize = 32;

/// One pointer per raw parameter of a launch.
pub(crate) struct Pointers {
    all: [*const c_void; MOST_PARAMS],
    len: usize,
}

impl Pointers {
    /// Makes pointers into the words that were gathered for a kernel. They are valid as long as the words are.
    pub fn new(kernel: &KernelDescriptor, words: &[u64]) -> Self {
        let mut pointers = Self {
            all: [ptr::null(); MOST_PARAMS],
            len: 0,
        };
        let mut start = 0;
        for raw in kernel.params.iter().copied().flatten() {
            pointers.all[pointers.len] = words[start..].as_ptr().cast();
            pointers.len += 1;
            start += words_of(raw.size);
        }
        pointers
    }

    /// Copies the values of a kernel's raw parameters, as [`new`](Self::new) takes them.
    ///
    /// # Safety
    /// Each of `params` must point to a value of the kernel's raw parameter.
    pub unsafe fn words(kernel: &KernelDescriptor, params: &[*const c_void]) -> Vec<u64> {
        let mut words = Vec::new();
        for (raw, param) in kernel.params.iter().copied().flatten().zip(params) {
            let start = words.len();
            words.resize(start + words_of(raw.size), 0_u64);
            let to = words[start..].as_mut_ptr().cast::<u8>();
            // SAFETY: both sides have that many bytes.
            unsafe { to.copy_from_nonoverlapping(param.cast(), raw.size) };
        }
        words
    }

    pub fn as_slice(&self) -> &[*const c_void] {
        &self.all[..self.len]
    }
}
