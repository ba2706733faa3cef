//! The policy row with which a device's work is done: see [`warpwright_gpu::tuning`].
//!
//! It is the chosen row, unless a handle was given a candidate (feature `tuning`). `cargo xtask tune` runs every row
//! through the library's operations in this way. The feature is not part of the library's interface.

#[cfg(feature = "tuning")]
use std::{
    any::Any,
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use cuda_std::kernel::KernelDescriptor;
use warpwright_gpu::tuning::{Policy, chosen};

use super::Device;
use crate::{backend::Launch, error::Result, module::Module};

/// A handle's use of the tables: the chosen rows, or one candidate.
#[derive(Debug, Clone, Default)]
pub(super) struct Tuning {
    #[cfg(feature = "tuning")]
    candidate: Option<Arc<Candidate>>,
}

impl Tuning {
    /// Returns the kernel that replaces one of the library's, and its module. `None` if the library's own runs.
    #[cfg(feature = "tuning")]
    fn instead(&self, kernel: &KernelDescriptor) -> Option<&Instead> {
        self.candidate.as_ref()?.kernels.get(kernel.name)
    }
}

#[cfg(feature = "tuning")]
type Instead = (&'static KernelDescriptor, Option<Module>);

/// A row of a family's table, with kernels that are made for it. Not for users.
#[cfg(feature = "tuning")]
#[doc(hidden)]
#[derive(Debug)]
pub struct Candidate {
    policy: Box<dyn Any + Send + Sync>,
    /// By the names of the library's kernels that they replace.
    kernels: HashMap<&'static str, Instead>,
    launches: AtomicU64,
}

#[cfg(feature = "tuning")]
impl Candidate {
    /// Makes a candidate from a row and the kernels that replace the library's. `ptx` are modules with these kernels, the
    /// oldest architecture first: the last one that has a kernel is taken. Without any they run on the CPU executor only.
    ///
    /// # Errors
    /// [`Error::UnknownKernel`](crate::Error::UnknownKernel) if no module has one of the kernels.
    pub fn new(row: warpwright_gpu::tuning::Candidate, ptx: &[String]) -> Result<Self> {
        let (policy, pairs) = row.into_parts();
        let mut kernels = HashMap::new();
        for [own, other] in pairs {
            let module = match ptx {
                [] => None,
                texts => {
                    // One module per kernel, so that the driver compiles only kernels that are used.
                    let mut kernels = texts.iter().rev();
                    let text = kernels.find_map(|text| crate::ptx::slice(text, other.name));
                    let text = text.unwrap_or_default();
                    let module = Module::from_ptx(text)?;
                    module.require(other, "tune")?;
                    Some(module)
                }
            };
            kernels.insert(own.name, (other, module));
        }
        Ok(Self {
            policy,
            kernels,
            launches: AtomicU64::new(0),
        })
    }

    /// Returns how many times one of its kernels was launched.
    pub fn launches(&self) -> u64 {
        self.launches.load(Ordering::Relaxed)
    }
}

impl Device {
    /// Returns a handle to the same device and stream that uses a candidate for the operations it has kernels for. Not for
    /// users.
    #[cfg(feature = "tuning")]
    #[doc(hidden)]
    #[must_use]
    pub fn with_candidate(&self, candidate: Arc<Candidate>) -> Self {
        Self {
            executor: self.executor.clone(),
            tuning: Tuning {
                candidate: Some(candidate),
            },
        }
    }

    /// Returns the architecture by which the rows of a family's table are chosen on this device: 75 for compute capability
    /// 7.5. Not for users.
    #[cfg(feature = "tuning")]
    #[doc(hidden)]
    pub fn table_architecture(&self, family: &str) -> u32 {
        self.executor.architecture(family)
    }

    /// Returns the policy with which `kernel` is launched, for elements of `bytes` bytes.
    pub(crate) fn policy<P: Policy>(&self, kernel: &KernelDescriptor, bytes: usize) -> P {
        #[cfg(feature = "tuning")]
        if let Some(candidate) = &self.tuning.candidate
            && candidate.kernels.contains_key(kernel.name)
            && let Some(policy) = candidate.policy.downcast_ref()
        {
            return *policy;
        }
        let _ = kernel;
        chosen(self.executor.architecture(P::FAMILY), bytes)
    }

    /// Returns the number of resident blocks of a kernel on a multiprocessor. `None` if there is no such limit. Without a
    /// module the kernel is one of the library's.
    pub(crate) fn resident_blocks(
        &self,
        operation: &'static str,
        kernel: (&KernelDescriptor, Option<&Module>),
        threads: u32,
        shared_bytes: u32,
    ) -> Result<Option<u32>> {
        #[cfg(feature = "tuning")]
        let kernel = match self.tuning.instead(kernel.0) {
            Some((other, module)) if kernel.1.is_none() => (*other, module.as_ref()),
            _ => kernel,
        };
        self.executor
            .resident_blocks(operation, kernel, threads, shared_bytes)
    }

    /// Queues a launch of one of the library's kernels, or of a user's module.
    ///
    /// # Safety
    /// As for [`Executor::launch`](crate::executor::Executor::launch).
    pub(crate) unsafe fn launch_tuned(&self, launch: &Launch<'_>) -> Result<()> {
        #[cfg(feature = "tuning")]
        if launch.module.is_none()
            && let Some((kernel, module)) = self.tuning.instead(launch.kernel)
        {
            if let Some(candidate) = &self.tuning.candidate {
                candidate.launches.fetch_add(1, Ordering::Relaxed);
            }
            let instead = Launch {
                operation: launch.operation,
                kernel,
                config: launch.config,
                params: launch.params,
                module: module.as_ref(),
                constants: launch.constants,
            };
            // SAFETY: by the contract, which the kernel of another row shares.
            return unsafe { self.executor.launch(&instead) };
        }
        // SAFETY: by the contract.
        unsafe { self.executor.launch(launch) }
    }
}
