//! The single interface between the operations and the two executors.
//!
//! An operation prepares a launch (kernel, shape, raw parameters). Only this file decides where it runs.

pub(crate) mod capture;
pub(crate) mod copies;
mod foreign;

pub(crate) use crate::cuda_backend::CudaWait as Wait;
pub(crate) use foreign::ForeignMemory;

use std::{
    any::Any,
    ffi::c_void,
    sync::Arc,
    task::Waker,
    time::{Duration, Instant},
};

use cuda_std::constant::ConstantValues;
use cuda_std::kernel::KernelDescriptor;
use cuda_std::tensor_map::{EncodedTensorMap, TiledMatrix};

use capture::Part;

use crate::{
    backend::Launch,
    cpu,
    cuda_backend::{self, CudaBackend, CudaGraph, CudaMark, CudaMemory, CudaWait, PinnedMemory},
    device::{CpuOptions, DeviceInfo},
    error::{Error, InvalidKind, Result},
    module::Module,
};

/// The executor of a device.
#[derive(Debug)]
pub(crate) enum Executor {
    Cpu(cpu::CpuBackend),
    Cuda(CudaBackend),
}

/// Device memory. Dropping it frees it after the queued work.
#[derive(Debug)]
pub(crate) enum Memory {
    Cpu(cpu::HostMemory),
    Cuda(CudaMemory),
    /// Memory of somebody else, on either device.
    Foreign(ForeignMemory),
}

impl Memory {
    /// Returns the address of the first byte. Memory of the library's own is aligned to
    /// [`DEVICE_ALIGN`](crate::backend::DEVICE_ALIGN), memory of others as its elements require.
    pub fn address(&self) -> u64 {
        match self {
            Self::Cpu(memory) => memory.address(),
            Self::Cuda(memory) => memory.pointer(),
            Self::Foreign(memory) => memory.address(),
        }
    }
}

/// Pinned host memory, for asynchronous copies. It starts out as zeros.
#[derive(Debug)]
pub(crate) enum Pinned {
    Cpu(cpu::HostMemory),
    Cuda(PinnedMemory),
}

impl Pinned {
    /// Returns memory of 0 bytes.
    pub fn none() -> Self {
        Self::Cpu(cpu::HostMemory::none())
    }

    /// Returns the address of the first byte.
    pub fn pointer(&self) -> *mut u8 {
        match self {
            Self::Cpu(memory) => memory.pointer(),
            Self::Cuda(memory) => memory.pointer().as_ptr(),
        }
    }
}

/// Work that was captured.
#[derive(Debug)]
pub(crate) enum Recorded {
    Cpu(Vec<cpu::Recorded>),
    Cuda(CudaGraph),
}

/// A point in a stream.
#[derive(Debug, Clone)]
pub(crate) enum Mark {
    Cpu(Instant),
    Cuda(CudaMark),
}

impl Mark {
    /// Returns the time from `start` to this point. Waits for both.
    pub fn since(&self, start: &Self) -> Result<Duration> {
        match (self, start) {
            (Self::Cpu(end), Self::Cpu(start)) => Ok(end.duration_since(*start)),
            (Self::Cuda(end), Self::Cuda(start)) => end.since(start),
            _ => Err(Error::invalid(
                InvalidKind::Value,
                "time",
                "two points of one device",
                "points of two",
            )),
        }
    }

    /// Waits for the work before this point.
    pub fn synchronize(&self) -> Result<()> {
        match self {
            Self::Cpu(_) => Ok(()),
            Self::Cuda(mark) => mark.synchronize(),
        }
    }

    /// Returns how the work before this point has ended. `None` if it has not: then `waker` is called when it has. `wait` is
    /// the wait for this point, if one is under way.
    pub fn poll(&self, wait: &mut Option<CudaWait>, waker: &Waker) -> Option<Result<()>> {
        match self {
            Self::Cpu(_) => Some(Ok(())),
            Self::Cuda(mark) => mark.poll(wait, waker),
        }
    }
}

impl Executor {
    pub fn cpu(options: CpuOptions) -> Self {
        Self::Cpu(cpu::CpuBackend::new(options))
    }

    pub fn cuda(ordinal: usize) -> Result<Self> {
        CudaBackend::supported(ordinal).map(Self::Cuda)
    }

    /// Returns the ordinal of the first supported CUDA device.
    pub fn first_supported() -> Result<Option<usize>> {
        cuda_backend::first_supported()
    }

    pub fn list() -> Vec<DeviceInfo> {
        let mut all = cuda_backend::list();
        all.push(cpu::CpuBackend::new(CpuOptions::default()).info().clone());
        all
    }

    pub fn info(&self) -> &DeviceInfo {
        match self {
            Self::Cpu(backend) => backend.info(),
            Self::Cuda(backend) => backend.info(),
        }
    }

    pub fn free_memory(&self) -> Result<u64> {
        match self {
            Self::Cpu(backend) => Ok(backend.free_memory()),
            Self::Cuda(backend) => backend.free_memory(),
        }
    }

    pub fn new_stream(&self) -> Result<Self> {
        match self {
            Self::Cpu(backend) => Ok(Self::Cpu(backend.clone())),
            Self::Cuda(backend) => Ok(Self::Cuda(backend.new_stream()?)),
        }
    }

    /// Returns an executor of the same device on a stream that somebody else owns. `owner` keeps the stream alive.
    ///
    /// # Safety
    /// The stream must be alive while the executor is. The stream for each thread (2) must be used on one thread alone.
    pub unsafe fn on_stream(
        &self,
        operation: &'static str,
        stream: *mut c_void,
        owner: Option<Box<dyn Any + Send + Sync>>,
    ) -> Result<Self> {
        match self {
            Self::Cpu(_) => Err(Error::invalid(
                InvalidKind::Foreign,
                operation,
                "a CUDA device",
                self.info().kind.to_string(),
            )),
            // SAFETY: by the contract.
            Self::Cuda(backend) => {
                unsafe { backend.on_stream(operation, stream, owner) }.map(Self::Cuda)
            }
        }
    }

    /// Fails if the device cannot use the `bytes` bytes at `address`, as far as that is known.
    pub fn require_own(&self, operation: &'static str, address: u64, bytes: usize) -> Result<()> {
        match self {
            Self::Cpu(_) if cuda_backend::is_device_memory(address) => Err(Error::invalid(
                InvalidKind::Foreign,
                operation,
                "memory of the host",
                format!("{address:#x}, memory of a CUDA device"),
            )),
            Self::Cpu(_) => Ok(()),
            Self::Cuda(backend) => backend.require_own(operation, address, bytes),
        }
    }

    pub fn synchronize(&self) -> Result<()> {
        match self {
            Self::Cpu(_) => Ok(()),
            Self::Cuda(backend) => backend.synchronize(),
        }
    }

    pub fn cuda_stream(&self) -> Option<*mut c_void> {
        match self {
            Self::Cpu(_) => None,
            Self::Cuda(backend) => Some(backend.stream()),
        }
    }

    /// Makes a point after the work that is queued now. It is `timed` to measure the time between two.
    pub fn mark(&self, operation: &'static str, timed: bool) -> Result<Mark> {
        capture::refuse(operation)?;
        match self {
            Self::Cpu(_) => Ok(Mark::Cpu(Instant::now())),
            Self::Cuda(backend) => backend.mark(operation, timed).map(Mark::Cuda),
        }
    }

    /// Makes this handle's later work wait for the work before a point.
    pub fn wait_mark(&self, mark: &Mark) -> Result<()> {
        capture::refuse("wait_event")?;
        match (self, mark) {
            (Self::Cuda(backend), Mark::Cuda(mark)) => backend.wait_mark(mark),
            _ => Ok(()),
        }
    }

    /// Returns an executor that records its work instead of doing it.
    pub fn begin_capture(&self) -> Result<Self> {
        Ok(match self {
            Self::Cpu(backend) => Self::Cpu(backend.recording()),
            Self::Cuda(backend) => Self::Cuda(backend.begin_capture()?),
        })
    }

    /// Returns what an executor has recorded, which records no more.
    pub fn end_capture(&self) -> Result<Recorded> {
        Ok(match self {
            Self::Cpu(backend) => Recorded::Cpu(backend.recorded()),
            Self::Cuda(backend) => Recorded::Cuda(backend.end_capture()?),
        })
    }

    /// Replaces what a graph does by what an executor has recorded, which records no more. The parts must be the same.
    pub fn end_update(&self, graph: &mut Recorded) -> Result<()> {
        match (self, graph) {
            (Self::Cpu(backend), Recorded::Cpu(work)) => {
                *work = backend.recorded();
                Ok(())
            }
            (Self::Cuda(backend), Recorded::Cuda(graph)) => backend.end_update(graph),
            _ => Ok(()),
        }
    }

    /// Has an executor that records its work record no more.
    pub fn abandon_capture(&self) {
        match self {
            Self::Cpu(_) => {}
            Self::Cuda(backend) => backend.abandon_capture(),
        }
    }

    /// Queues work that was captured on this device.
    ///
    /// # Safety
    /// Each part of the work must be sound now: as for [`fill`](Self::fill), [`copy_within`](Self::copy_within) and
    /// [`launch`](Self::launch).
    pub unsafe fn launch_graph(&self, graph: &mut Recorded) -> Result<()> {
        capture::refuse("launch of a graph")?;
        match (self, graph) {
            // SAFETY: by the contract.
            (Self::Cpu(backend), Recorded::Cpu(work)) => unsafe { backend.repeat(work) },
            // SAFETY: by the contract.
            (Self::Cuda(backend), Recorded::Cuda(graph)) => unsafe { backend.launch_graph(graph) },
            _ => Ok(()),
        }
    }

    /// Allocates `bytes` bytes. The contents are unspecified. They can be read, but not under the CPU executor's check `init`.
    pub fn allocate(&self, operation: &'static str, bytes: usize) -> Result<Memory> {
        capture::refuse(operation)?;
        match self {
            Self::Cpu(backend) => backend.allocate(operation, bytes).map(Memory::Cpu),
            Self::Cuda(backend) => backend.allocate(operation, bytes).map(Memory::Cuda),
        }
    }

    /// Allocates pinned memory of `bytes` bytes.
    pub fn allocate_pinned(&self, operation: &'static str, bytes: usize) -> Result<Pinned> {
        capture::refuse(operation)?;
        match self {
            Self::Cpu(backend) => backend.allocate(operation, bytes).map(Pinned::Cpu),
            Self::Cuda(backend) => backend.allocate_pinned(operation, bytes).map(Pinned::Cuda),
        }
    }

    /// Queues a fill: sets `bytes` bytes at `to` to `value`.
    ///
    /// # Safety
    /// The bytes must lie within memory of this device that nothing else uses, except work queued here.
    pub unsafe fn fill(&self, to: u64, value: u8, bytes: usize) -> Result<()> {
        let part = (bytes > 0).then_some(Part::Fill);
        // SAFETY: by the contract.
        let fill = |recorder: &Self| unsafe { recorder.fill(to, value, bytes) };
        if capture::records(self, "fill", part, fill)? {
            return Ok(());
        }
        match self {
            // SAFETY: by the contract.
            Self::Cpu(backend) => unsafe { backend.fill(to, value, bytes) },
            // SAFETY: by the contract.
            Self::Cuda(backend) => unsafe { backend.fill(to, value, bytes) },
        }
    }

    /// Queues a copy from the host. `from` is no longer needed on return. If it is pinned memory, the copy is waited for.
    ///
    /// # Safety
    /// As for [`fill`](Self::fill) at `to`. `from` must be readable.
    pub unsafe fn copy_in(&self, to: u64, from: *const u8, bytes: usize) -> Result<()> {
        capture::refuse("upload")?;
        match self {
            Self::Cpu(backend) => {
                // SAFETY: by the contract.
                unsafe { backend.copy_in(to, from, bytes) };
                Ok(())
            }
            // SAFETY: by the contract.
            Self::Cuda(backend) => unsafe { backend.copy_in(to, from, bytes) },
        }
    }

    /// Queues a copy from pinned memory and returns at once.
    ///
    /// # Safety
    /// As for [`copy_in`](Self::copy_in). `from` must stay readable and unchanged until the copy is done.
    pub unsafe fn copy_in_pinned(&self, to: u64, from: *const u8, bytes: usize) -> Result<()> {
        capture::refuse("upload_pinned")?;
        match self {
            Self::Cpu(backend) => {
                // SAFETY: by the contract.
                unsafe { backend.copy_in(to, from, bytes) };
                Ok(())
            }
            // SAFETY: by the contract.
            Self::Cuda(backend) => unsafe { backend.copy_in_pinned(to, from, bytes) },
        }
    }

    /// Queues a copy to the host.
    ///
    /// # Safety
    /// `from` must lie within memory of this device. `to` must be writable, and must not be accessed until the copy is
    /// done.
    pub unsafe fn copy_out(&self, to: *mut u8, from: u64, bytes: usize) -> Result<()> {
        capture::refuse("download")?;
        match self {
            // SAFETY: by the contract.
            Self::Cpu(backend) => unsafe { backend.copy_out(to, from, bytes) },
            // SAFETY: by the contract.
            Self::Cuda(backend) => unsafe { backend.copy_out(to, from, bytes) },
        }
    }

    /// Queues a copy within the device.
    ///
    /// # Safety
    /// Both ranges must lie within memory of this device and must not overlap; as for [`fill`](Self::fill) at `to`.
    pub unsafe fn copy_within(&self, to: u64, from: u64, bytes: usize) -> Result<()> {
        let part = (bytes > 0).then_some(Part::Copy);
        // SAFETY: by the contract.
        let copy = |recorder: &Self| unsafe { recorder.copy_within(to, from, bytes) };
        if capture::records(self, "copy", part, copy)? {
            return Ok(());
        }
        match self {
            // SAFETY: by the contract.
            Self::Cpu(backend) => unsafe { backend.copy_within(to, from, bytes) },
            // SAFETY: by the contract.
            Self::Cuda(backend) => unsafe { backend.copy_within(to, from, bytes) },
        }
    }

    /// Makes this handle's later work wait for the work that `other` has queued so far.
    pub fn wait_for(&self, other: &Self) -> Result<()> {
        match (self, other) {
            (Self::Cuda(own), Self::Cuda(other)) => own.wait_for(other),
            _ => Ok(()),
        }
    }

    /// Compiles a module now.
    pub fn load(&self, module: &Module) -> Result<()> {
        match self {
            Self::Cpu(_) => Ok(()),
            Self::Cuda(backend) => backend.load_user(module),
        }
    }

    /// Queues an update of a constant table of a user's module. There must not be more values than the table has elements.
    pub fn set_constant(&self, module: &Module, values: &ConstantValues<'_>) -> Result<()> {
        capture::refuse("set_constant")?;
        match self {
            Self::Cpu(_) => {
                values.set_for_cpu();
                Ok(())
            }
            Self::Cuda(backend) => backend.set_constant(module, values),
        }
    }

    /// Returns the architecture of the family's module that runs on this device: 75 for compute capability 7.5.
    pub fn architecture(&self, family: &str) -> u32 {
        match self {
            Self::Cpu(_) => warpwright_gpu::tuning::ARCHITECTURE,
            Self::Cuda(backend) => backend.architecture(family),
        }
    }

    /// Returns whether the family has a module that is specific to this device's architecture, as `sm_90a` is to 9.0. The CPU
    /// executor has every instruction.
    pub fn is_specific(&self, family: &str) -> bool {
        match self {
            Self::Cpu(_) => true,
            Self::Cuda(backend) => backend.is_specific(family),
        }
    }

    /// Encodes the tensor map of a matrix in this device's memory. Both executors take the same matrices.
    pub fn tensor_map(
        &self,
        operation: &'static str,
        matrix: &TiledMatrix,
    ) -> Result<EncodedTensorMap> {
        let for_cpu = EncodedTensorMap::for_cpu(matrix).map_err(|error| {
            let given = format!("{:?}", error.given);
            Error::invalid(InvalidKind::Value, operation, error.required, given)
        })?;
        match self {
            Self::Cpu(_) => Ok(for_cpu),
            Self::Cuda(backend) => backend.tensor_map(operation, matrix),
        }
    }

    /// Returns the number of resident blocks of a kernel on a multiprocessor. `None` if there is no such limit. Without a
    /// module the kernel is one of the library's.
    pub fn resident_blocks(
        &self,
        operation: &'static str,
        kernel: (&KernelDescriptor, Option<&Module>),
        threads: u32,
        shared_bytes: u32,
    ) -> Result<Option<u32>> {
        match self {
            Self::Cpu(_) => Ok(None),
            Self::Cuda(backend) => backend
                .resident_blocks(operation, kernel, threads, shared_bytes)
                .map(Some),
        }
    }

    /// Queues a launch.
    ///
    /// # Safety
    /// The arguments must uphold the kernel's contract: its views must be of memory of this device, and the kernel's
    /// `# Safety` section must hold.
    pub unsafe fn launch(&self, launch: &Launch<'_>) -> Result<()> {
        let part = Some(Part::Launch(launch.kernel.name));
        let record = |recorder: &Self| {
            if !launch.constants.is_empty() {
                // Other work may set the table to other values before the graph runs.
                capture::refuse(launch.operation)?;
            }
            // SAFETY: by the contract.
            unsafe { recorder.launch(launch) }
        };
        if capture::records(self, launch.operation, part, record)? {
            return Ok(());
        }
        match self {
            // SAFETY: by the contract.
            Self::Cpu(backend) => unsafe { backend.launch(launch) },
            // SAFETY: by the contract.
            Self::Cuda(backend) => unsafe { backend.launch(launch) },
        }
    }
}

/// Runs `work` on `user`'s stream, ordered after the work that `owners` have queued and before what they queue later.
///
/// While this thread captures, the owners are noted instead, and the graph is ordered with them.
///
/// If an owner cannot be made to wait, this function waits for the work, because the owner may free or overwrite its memory
/// as soon as this returns.
pub(crate) fn ordered<'a, T>(
    user: &Arc<Executor>,
    owners: impl Iterator<Item = &'a Arc<Executor>> + Clone,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    if capture::uses(owners.clone()) {
        // The graph is ordered where it is launched.
        return work();
    }
    let others = owners.filter(|owner| !Arc::ptr_eq(owner, user));
    for owner in others.clone() {
        user.wait_for(owner)?;
    }
    let value = work();
    let mut waits = Ok(());
    for owner in others {
        if let Err(error) = owner.wait_for(user) {
            // An error of the wait is dropped: the next call would return it again.
            let _ = user.synchronize();
            waits = waits.and(Err(error));
        }
    }
    let value = value?;
    waits.map(|()| value)
}
