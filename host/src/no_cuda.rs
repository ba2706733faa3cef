//! Replacements for the CUDA side in a build without it: types that have no values, so their methods can never be called.

use std::{any::Any, ffi::c_void, ptr::NonNull, task::Waker, time::Duration};

use cuda_std::{
    constant::ConstantValues,
    kernel::KernelDescriptor,
    tensor_map::{EncodedTensorMap, TiledMatrix},
};

use crate::{
    backend::Launch,
    device::{DeviceInfo, DeviceKind},
    error::{Error, Result},
    module::Module,
};

/// No device.
#[derive(Debug)]
pub(crate) enum CudaBackend {}
/// No device's memory.
#[derive(Debug)]
pub(crate) enum CudaMemory {}
/// No pinned memory.
#[derive(Debug)]
pub(crate) enum PinnedMemory {}
/// No point in a stream.
#[derive(Debug, Clone)]
pub(crate) enum CudaMark {}
/// No wait for one.
#[derive(Debug)]
pub(crate) enum CudaWait {}

/// No captured work.
#[derive(Debug)]
pub(crate) enum CudaGraph {}

pub(crate) fn list() -> Vec<DeviceInfo> {
    Vec::new()
}

pub(crate) fn first_supported() -> Result<Option<usize>> {
    Ok(None)
}

pub(crate) fn is_device_memory(_address: u64) -> bool {
    false
}

pub(crate) fn is_device_fault(_code: u32) -> bool {
    false
}

impl CudaBackend {
    pub fn supported(ordinal: usize) -> Result<Self> {
        Err(Error::NoDevice {
            device: DeviceKind::Cuda { ordinal },
            reason: "this build has no CUDA side: it needs the feature `cuda`".to_owned(),
        })
    }
}

impl CudaBackend {
    /// # Safety
    /// None: this method cannot be called.
    pub unsafe fn on_stream(
        &self,
        _: &'static str,
        _: *mut c_void,
        _: Option<Box<dyn Any + Send + Sync>>,
    ) -> Result<Self> {
        match *self {}
    }
}

/// Declares methods of a type that has no values.
macro_rules! never {
    ($ty:ident: $($name:ident($($arg:ty),*) -> $result:ty;)*) => {
        impl $ty { $(
            pub fn $name(&self, $(_: $arg),*) -> $result {
                match *self {}
            }
        )* }
    };
    (unsafe $ty:ident: $($name:ident($($arg:ty),*);)*) => {
        impl $ty { $(
            /// # Safety
            /// None: this method cannot be called.
            pub unsafe fn $name(&self, $(_: $arg),*) -> Result<()> {
                match *self {}
            }
        )* }
    };
}
never! {
    CudaBackend:
    info() -> &DeviceInfo;
    free_memory() -> Result<u64>;
    new_stream() -> Result<Self>;
    synchronize() -> Result<()>;
    stream() -> *mut c_void;
    require_own(&'static str, u64, usize) -> Result<()>;
    begin_capture() -> Result<Self>;
    end_capture() -> Result<CudaGraph>;
    end_update(&mut CudaGraph) -> Result<()>;
    abandon_capture() -> ();
    mark(&'static str, bool) -> Result<CudaMark>;
    wait_mark(&CudaMark) -> Result<()>;
    wait_for(&Self) -> Result<()>;
    connect(&Self) -> Result<()>;
    allocate(&'static str, usize) -> Result<CudaMemory>;
    allocate_pinned(&'static str, usize) -> Result<PinnedMemory>;
    load_user(&Module) -> Result<()>;
    set_constant(&Module, &ConstantValues<'_>) -> Result<()>;
    architecture(&str) -> u32;
    is_specific(&str) -> bool;
    tensor_map(&'static str, &TiledMatrix) -> Result<EncodedTensorMap>;
    resident_blocks(&'static str, (&KernelDescriptor, Option<&Module>), u32, u32) -> Result<u32>;
}
never! {
    unsafe CudaBackend:
    fill(u64, u8, usize);
    copy_in(u64, *const u8, usize);
    copy_in_pinned(u64, *const u8, usize);
    copy_out(*mut u8, u64, usize);
    copy_within(u64, u64, usize);
    copy_to_peer(&Self, u64, u64, usize);
    launch(&Launch<'_>);
    launch_graph(&mut CudaGraph);
}
never! {
    CudaMemory:
    pointer() -> u64;
}
never! {
    PinnedMemory:
    pointer() -> NonNull<u8>;
}
never! {
    CudaMark:
    since(&Self) -> Result<Duration>;
    synchronize() -> Result<()>;
    poll(&mut Option<CudaWait>, &Waker) -> Option<Result<()>>;
}
