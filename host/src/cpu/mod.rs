//! The CPU executor, behind the library's executor interface.

pub(crate) mod memory;

use std::{
    alloc::Layout,
    ptr::NonNull,
    sync::{Arc, Mutex, PoisonError},
};

use cuda_std::{
    cpu::{Checks, DEFAULT_STACK_BYTES, Options, Order, memory as told, stack_bytes_from_env},
    kernel::{KernelDescriptor, LaunchConfig},
};

use crate::{
    backend::{DEVICE_ALIGN, Launch, Pointers},
    device::{CpuOptions, DeviceInfo, DeviceKind},
    error::{Error, Result},
};

/// The CPU as a device. All its work is done at once, so there is nothing to wait for.
#[derive(Debug, Clone)]
pub(crate) struct CpuBackend {
    info: DeviceInfo,
    /// The executor's options, or the error message if the environment asks for something invalid.
    options: std::result::Result<Options, String>,
    /// The work so far, if it is recorded instead of done.
    recorded: Option<Arc<Mutex<Vec<Recorded>>>>,
}

/// A piece of work that was recorded.
#[derive(Debug)]
pub(crate) enum Recorded {
    Fill {
        to: u64,
        value: u8,
        bytes: usize,
    },
    Copy {
        to: u64,
        from: u64,
        bytes: usize,
    },
    Launch {
        operation: &'static str,
        kernel: KernelDescriptor,
        config: LaunchConfig,
        /// The words of the raw parameters, each of which begins a new word.
        words: Vec<u64>,
    },
}

/// Host memory that serves as a device's memory.
#[derive(Debug)]
pub(crate) struct HostMemory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: plain memory, accessed only through the library, whose types keep readers and writers apart.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Returns memory of 0 bytes, at an address that is aligned and not null.
    pub fn none() -> Self {
        let layout = Layout::from_size_align(0, DEVICE_ALIGN).expect("no bytes");
        let start = NonNull::new(std::ptr::without_provenance_mut(DEVICE_ALIGN)).expect("not null");
        Self { start, layout }
    }

    pub fn pointer(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub fn address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            told::freed(self.start.as_ptr().addr());
            // SAFETY: allocated with this layout.
            unsafe { std::alloc::dealloc(self.start.as_ptr(), self.layout) };
        }
    }
}

impl CpuBackend {
    pub fn new(options: CpuOptions) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from) as u32;
        let info = DeviceInfo {
            kind: DeviceKind::Cpu,
            name: format!("CPU executor, {threads} threads"),
            memory_bytes: memory::total().unwrap_or(0),
            multiprocessors: threads,
            compute_capability: None,
            driver_version: None,
            shared_bytes_per_block: cuda_std::cpu::MAX_SHARED_BYTES,
            l2_bytes: 0,
        };
        Self {
            info,
            options: resolve(options),
            recorded: None,
        }
    }

    /// Returns a backend that records its work instead of doing it.
    pub fn recording(&self) -> Self {
        Self {
            recorded: Some(Arc::default()),
            ..self.clone()
        }
    }

    /// Takes what was recorded.
    pub fn recorded(&self) -> Vec<Recorded> {
        let locked = self.recorded.as_ref().map(|all| all.lock());
        let locked = locked.map(|all| all.unwrap_or_else(PoisonError::into_inner));
        locked.map_or_else(Vec::new, |mut all| std::mem::take(&mut *all))
    }

    /// Records `work` and returns true, if this backend records its work.
    fn records(&self, work: impl FnOnce() -> Recorded) -> bool {
        let Some(recorded) = &self.recorded else {
            return false;
        };
        let mut recorded = recorded.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.push(work());
        true
    }

    /// Does what was recorded.
    ///
    /// # Safety
    /// As for `Executor::launch_graph`.
    pub unsafe fn repeat(&self, work: &[Recorded]) -> Result<()> {
        work.iter().try_for_each(|work| match work {
            // SAFETY: by the contract.
            Recorded::Fill { to, value, bytes } => unsafe { self.fill(*to, *value, *bytes) },
            // SAFETY: by the contract.
            Recorded::Copy { to, from, bytes } => unsafe { self.copy_within(*to, *from, *bytes) },
            Recorded::Launch {
                operation,
                kernel,
                config,
                words,
            } => {
                let pointers = Pointers::new(kernel, words);
                let launch = Launch {
                    operation,
                    kernel,
                    config: *config,
                    params: pointers.as_slice(),
                    module: None,
                    constants: &[],
                };
                // SAFETY: by the contract.
                unsafe { self.launch(&launch) }
            }
        })
    }

    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    pub fn free_memory(&self) -> u64 {
        memory::free().unwrap_or(u64::MAX)
    }

    pub fn allocate(&self, operation: &'static str, bytes: usize) -> Result<HostMemory> {
        if bytes == 0 {
            return Ok(HostMemory::none());
        }
        let available = self.free_memory();
        let refuse = || Error::OutOfMemory {
            operation,
            device: DeviceKind::Cpu,
            requested: bytes as u64,
            free: Some(available),
        };
        if bytes as u64 > available {
            return Err(refuse());
        }
        let layout = Layout::from_size_align(bytes, DEVICE_ALIGN).map_err(|_| refuse())?;
        // SAFETY: the size of the layout is not 0.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        let start = NonNull::new(start).ok_or_else(refuse)?;
        // The system only promises large allocations until they are written to. Unwritten memory would still be reported as
        // free.
        if bytes >= 1 << 20 {
            for page in (0..bytes).step_by(4096) {
                // SAFETY: the address is within the allocation, to which nothing else has access yet.
                unsafe { start.add(page).write_volatile(0) };
            }
        }
        told::allocated(start.as_ptr().addr(), bytes);
        Ok(HostMemory { start, layout })
    }

    /// Sets bytes.
    ///
    /// # Safety
    /// As for `Executor::fill`.
    pub unsafe fn fill(&self, to: u64, value: u8, bytes: usize) -> Result<()> {
        if !self.records(|| Recorded::Fill { to, value, bytes }) {
            // SAFETY: by the contract.
            unsafe { std::ptr::write_bytes(to as *mut u8, value, bytes) };
            told::written(to as usize, bytes);
        }
        Ok(())
    }

    /// Copies from the host.
    ///
    /// # Safety
    /// As for `Executor::copy_in`.
    pub unsafe fn copy_in(&self, to: u64, from: *const u8, bytes: usize) {
        // SAFETY: by the contract.
        unsafe { std::ptr::copy_nonoverlapping(from, to as *mut u8, bytes) };
        told::written(to as usize, bytes);
    }

    /// Copies to the host. Under the check `init` all bytes must have been written.
    ///
    /// # Safety
    /// As for `Executor::copy_out`.
    pub unsafe fn copy_out(&self, to: *mut u8, from: u64, bytes: usize) -> Result<()> {
        let is_checked = (self.options.as_ref()).is_ok_and(|it| it.checks.contains(Checks::INIT));
        if is_checked && let Some(first) = told::first_unwritten(from as usize, bytes) {
            return Err(Error::Unwritten {
                operation: "copy to the host",
                first,
                bytes,
            });
        }
        // SAFETY: by the contract.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to, bytes) };
        Ok(())
    }

    /// Notes that the driver has written bytes of this device, in a copy from another one.
    pub fn written(&self, to: u64, bytes: usize) {
        told::written(to as usize, bytes);
    }

    /// Copies within the device.
    ///
    /// # Safety
    /// As for `Executor::copy_within`.
    pub unsafe fn copy_within(&self, to: u64, from: u64, bytes: usize) -> Result<()> {
        if !self.records(|| Recorded::Copy { to, from, bytes }) {
            // SAFETY: by the contract.
            unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes) };
            told::copied(to as usize, from as usize, bytes);
        }
        Ok(())
    }

    /// # Safety
    /// As for `Executor::launch`.
    pub unsafe fn launch(&self, launch: &Launch<'_>) -> Result<()> {
        let options = self.options.as_ref().map_err(|what| Error::Environment {
            operation: launch.operation,
            what: what.clone(),
        })?;
        let record = || Recorded::Launch {
            operation: launch.operation,
            kernel: *launch.kernel,
            config: launch.config,
            // SAFETY: by the contract there is a value behind each pointer.
            words: unsafe { Pointers::words(launch.kernel, launch.params) },
        };
        if self.records(record) {
            return Ok(());
        }
        // SAFETY: by the contract.
        unsafe {
            cuda_std::cpu::launch_with_constants(
                launch.kernel,
                &launch.config,
                launch.params,
                launch.constants,
                options,
            )
        }?;
        Ok(())
    }
}

/// Returns the options of the executor: those of `options`, else of the environment, else the defaults.
fn resolve(options: CpuOptions) -> std::result::Result<Options, String> {
    let checks = match options.checks {
        Some(checks) => checks,
        None => Checks::from_env()?.unwrap_or_default(),
    };
    let order = match options.order {
        Some(order) => order,
        None => Order::from_env()?.unwrap_or_default(),
    };
    let stack_bytes = match options.stack_bytes {
        Some(bytes) => bytes,
        None => stack_bytes_from_env()?.unwrap_or(DEFAULT_STACK_BYTES),
    };
    Ok(Options {
        order,
        checks,
        stack_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Vector};

    #[test]
    fn the_host_reads_what_was_written() {
        let with = |checks| Device::cpu_with(CpuOptions::default().checks(checks));
        let checked = with(Checks::INIT);
        let three = checked.upload(&[1_u32, 2, 3]).unwrap();
        let mut four = Vector::<u32>::uninit(&checked, "a test", 4).unwrap();
        four.slice_mut(..3).unwrap().copy_from(&three).unwrap();
        assert_eq!(four.slice(..3).unwrap().to_vec().unwrap(), [1, 2, 3]);
        let error = four.to_vec().unwrap_err();
        assert_eq!(
            error.to_string(),
            "copy to the host: 16 written bytes required, byte 12 of them was never written"
        );
        four.slice_mut(3..)
            .unwrap()
            .copy_from(three.slice(..1).unwrap())
            .unwrap();
        assert_eq!(four.to_vec().unwrap(), [1, 2, 3, 1]);

        let unchecked = with(Checks::MEM);
        let four = Vector::<u32>::uninit(&unchecked, "a test", 4).unwrap();
        assert_eq!(four.to_vec().unwrap().len(), 4);
    }
}
