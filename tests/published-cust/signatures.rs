// The names of Rust-CUDA's crate `cust` as published (0.3.2), with their types and numbers: `c` is that crate, or the
// project's own of the same name. Included by `lib.rs`, which holds these lines to the published crate, and by
// `tests/tests/cust_parity.rs`, which holds the project's own to them. Both define `same_errors!`.

use std::ffi::{CStr, c_void};
use std::path::Path;
use std::time::Duration;

use c::context::legacy::{self, ContextStack, StreamPriorityRange, UnownedContext};
use c::context::{
    CacheConfig, Context, ContextFlags, ContextHandle, CurrentContext, ResourceLimit, SharedMemoryConfig,
};
use c::device::{Device, DeviceAttribute, Devices};
use c::error::{CudaError, CudaResult, DropResult};
use c::event::{Event, EventFlags, EventStatus};
use c::external::ExternalMemory;
use c::function::{BlockSize, Function, FunctionAttribute, GridSize};
use c::link::Linker;
use c::memory::*;
use c::module::{JitFallback, Module, ModuleJitOption, OptLevel, Symbol};
use c::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use c::util::{DeviceCopyExt, SliceExt};
use c::{CudaApiVersion, CudaFlags};

/// Counts the names that were compared, so that an empty comparison cannot pass.
macro_rules! same {
    ($count:ident: $($path:expr => $ty:ty;)*) => {
        const $count: usize = {
            let mut count = 0;
            $(
                let _: $ty = $path;
                count += 1;
            )*
            count
        };
    };
}

same! { START:
    c::init => fn(CudaFlags) -> CudaResult<()>;
    c::quick_init => fn() -> CudaResult<Context>;
    CudaFlags::empty => fn() -> CudaFlags;
    CudaApiVersion::get => fn() -> CudaResult<CudaApiVersion>;
    CudaApiVersion::major => fn(CudaApiVersion) -> i32;
    CudaApiVersion::minor => fn(CudaApiVersion) -> i32;
}

same! { CONTEXTS:
    Context::new => fn(Device) -> CudaResult<Context>;
    Context::reset => unsafe fn(&Device) -> CudaResult<()>;
    Context::set_flags => fn(&Context, ContextFlags) -> CudaResult<()>;
    Context::get_api_version => fn(&Context) -> CudaResult<CudaApiVersion>;
    Context::drop => fn(Context) -> DropResult<Context>;
    Context::clone => fn(&Context) -> Context;
    CurrentContext::get_cache_config => fn() -> CudaResult<CacheConfig>;
    CurrentContext::get_device => fn() -> CudaResult<Device>;
    CurrentContext::get_flags => fn() -> CudaResult<ContextFlags>;
    CurrentContext::get_resource_limit => fn(ResourceLimit) -> CudaResult<usize>;
    CurrentContext::get_shared_memory_config => fn() -> CudaResult<SharedMemoryConfig>;
    CurrentContext::get_stream_priority_range => fn() -> CudaResult<StreamPriorityRange>;
    CurrentContext::set_cache_config => fn(CacheConfig) -> CudaResult<()>;
    CurrentContext::set_resource_limit => fn(ResourceLimit, usize) -> CudaResult<()>;
    CurrentContext::set_shared_memory_config => fn(SharedMemoryConfig) -> CudaResult<()>;
    CurrentContext::set_current::<Context> => fn(&Context) -> CudaResult<()>;
    CurrentContext::synchronize => fn() -> CudaResult<()>;
    ContextFlags::SCHED_SPIN => ContextFlags;
    ContextFlags::MAP_HOST => ContextFlags;
    ContextFlags::LMEM_RESIZE_TO_MAX => ContextFlags;
    ContextFlags::SCHED_YIELD => ContextFlags;
    ContextFlags::SCHED_BLOCKING_SYNC => ContextFlags;
    ContextFlags::SCHED_AUTO => ContextFlags;
}

same! { LEGACY_CONTEXTS:
    legacy::Context::create_and_push => fn(legacy::ContextFlags, Device) -> CudaResult<legacy::Context>;
    legacy::Context::get_api_version => fn(&legacy::Context) -> CudaResult<CudaApiVersion>;
    legacy::Context::get_unowned => fn(&legacy::Context) -> UnownedContext;
    legacy::Context::drop => fn(legacy::Context) -> DropResult<legacy::Context>;
    UnownedContext::get_api_version => fn(&UnownedContext) -> CudaResult<CudaApiVersion>;
    UnownedContext::clone => fn(&UnownedContext) -> UnownedContext;
    ContextStack::pop => fn() -> CudaResult<UnownedContext>;
    ContextStack::push::<UnownedContext> => fn(&UnownedContext) -> CudaResult<()>;
    legacy::CurrentContext::get_cache_config => fn() -> CudaResult<legacy::CacheConfig>;
    legacy::CurrentContext::get_current => fn() -> CudaResult<UnownedContext>;
    legacy::CurrentContext::get_device => fn() -> CudaResult<Device>;
    legacy::CurrentContext::set_current::<legacy::Context> => fn(&legacy::Context) -> CudaResult<()>;
    legacy::CurrentContext::set_resource_limit => fn(legacy::ResourceLimit, usize) -> CudaResult<()>;
    legacy::CurrentContext::synchronize => fn() -> CudaResult<()>;
    StreamPriorityRange { least: 0, greatest: 0 }.least => i32;
}

same! { DEVICES:
    Device::num_devices => fn() -> CudaResult<u32>;
    Device::get_device => fn(u32) -> CudaResult<Device>;
    Device::devices => fn() -> CudaResult<Devices>;
    Device::total_memory => fn(Device) -> CudaResult<usize>;
    Device::name => fn(Device) -> CudaResult<String>;
    Device::get_attribute => fn(Device, DeviceAttribute) -> CudaResult<i32>;
    Device::as_raw => fn(&Device) -> i32;
    Devices::next => fn(&mut Devices) -> Option<CudaResult<Device>>;
}

same! { MODULES:
    Module::from_file::<&Path> => fn(&'static Path) -> CudaResult<Module>;
    Module::from_fatbin::<Vec<u8>> => fn(Vec<u8>, &[ModuleJitOption]) -> CudaResult<Module>;
    Module::from_cubin::<Vec<u8>> => fn(Vec<u8>, &[ModuleJitOption]) -> CudaResult<Module>;
    Module::from_ptx_cstr => fn(&CStr, &[ModuleJitOption]) -> CudaResult<Module>;
    Module::from_ptx::<String> => fn(String, &[ModuleJitOption]) -> CudaResult<Module>;
    Module::get_global::<u32> => for<'a> fn(&'a Module, &CStr) -> CudaResult<Symbol<'a, u32>>;
    Module::get_function::<String> => fn(&Module, String) -> CudaResult<Function<'_>>;
    Module::drop => fn(Module) -> DropResult<Module>;
    <Symbol<'static, u32> as CopyDestination<u32>>::copy_from => fn(&mut Symbol<'static, u32>, &u32) -> CudaResult<()>;
    <Symbol<'static, u32> as CopyDestination<u32>>::copy_to => fn(&Symbol<'static, u32>, &mut u32) -> CudaResult<()>;
    ModuleJitOption::MaxRegisters => fn(u32) -> ModuleJitOption;
    ModuleJitOption::OptLevel => fn(OptLevel) -> ModuleJitOption;
    ModuleJitOption::DetermineTargetFromContext => ModuleJitOption;
    ModuleJitOption::Fallback => fn(JitFallback) -> ModuleJitOption;
    ModuleJitOption::GenerateLineInfo => fn(bool) -> ModuleJitOption;
    ModuleJitOption::Target(c::module::JitTarget::Compute75) => ModuleJitOption;
    Linker::new => fn() -> CudaResult<Linker>;
    Linker::complete => fn(Linker) -> CudaResult<Vec<u8>>;
}

/// What takes any type that has a trait cannot be named as a function.
#[allow(dead_code)]
fn adds_to_a_linker(linker: &mut Linker) -> [CudaResult<()>; 3] {
    [linker.add_ptx("x"), linker.add_cubin([0]), linker.add_fatbin(vec![0])]
}

same! { FUNCTIONS:
    Function::get_attribute => fn(&Function<'static>, FunctionAttribute) -> CudaResult<i32>;
    Function::set_cache_config => fn(&mut Function<'static>, CacheConfig) -> CudaResult<()>;
    Function::set_shared_memory_config => fn(&mut Function<'static>, SharedMemoryConfig) -> CudaResult<()>;
    Function::available_dynamic_shared_memory_per_block
        => fn(&Function<'static>, GridSize, BlockSize) -> CudaResult<usize>;
    Function::max_active_blocks_per_multiprocessor => fn(&Function<'static>, BlockSize, usize) -> CudaResult<u32>;
    Function::suggested_launch_configuration => fn(&Function<'static>, usize, BlockSize) -> CudaResult<(u32, u32)>;
    GridSize::x => fn(u32) -> GridSize;
    GridSize::xy => fn(u32, u32) -> GridSize;
    GridSize::xyz => fn(u32, u32, u32) -> GridSize;
    BlockSize::x => fn(u32) -> BlockSize;
    BlockSize::xy => fn(u32, u32) -> BlockSize;
    BlockSize::xyz => fn(u32, u32, u32) -> BlockSize;
    <GridSize as From<u32>>::from => fn(u32) -> GridSize;
    <GridSize as From<(u32, u32)>>::from => fn((u32, u32)) -> GridSize;
    <GridSize as From<(u32, u32, u32)>>::from => fn((u32, u32, u32)) -> GridSize;
    <BlockSize as From<u32>>::from => fn(u32) -> BlockSize;
    <BlockSize as From<(u32, u32, u32)>>::from => fn((u32, u32, u32)) -> BlockSize;
    <BlockSize as From<&BlockSize>>::from => fn(&'static BlockSize) -> BlockSize;
}

same! { STREAMS:
    Stream::new => fn(StreamFlags, Option<i32>) -> CudaResult<Stream>;
    Stream::get_flags => fn(&Stream) -> CudaResult<StreamFlags>;
    Stream::get_priority => fn(&Stream) -> CudaResult<i32>;
    Stream::synchronize => fn(&Stream) -> CudaResult<()>;
    Stream::launch::<u32, (u32, u32)>
        => unsafe fn(&Stream, &Function<'static>, u32, (u32, u32), u32, &[*mut c_void]) -> CudaResult<()>;
    Stream::drop => fn(Stream) -> DropResult<Stream>;
    StreamFlags::DEFAULT => StreamFlags;
    StreamFlags::NON_BLOCKING => StreamFlags;
    StreamWaitEventFlags::DEFAULT => StreamWaitEventFlags;
    Event::new => fn(EventFlags) -> CudaResult<Event>;
    Event::record => fn(&Event, &Stream) -> CudaResult<()>;
    Event::query => fn(&Event) -> CudaResult<EventStatus>;
    Event::synchronize => fn(&Event) -> CudaResult<()>;
    Event::elapsed_time_f32 => fn(&Event, &Event) -> CudaResult<f32>;
    Event::elapsed => fn(&Event, &Event) -> CudaResult<Duration>;
    Event::drop => fn(Event) -> DropResult<Event>;
    EventFlags::DEFAULT => EventFlags;
    EventFlags::BLOCKING_SYNC => EventFlags;
    EventFlags::DISABLE_TIMING => EventFlags;
    EventFlags::INTERPROCESS => EventFlags;
    EventStatus::Ready => EventStatus;
    EventStatus::NotReady => EventStatus;
}

same! { BUFFERS:
    DeviceBuffer::<u32>::uninitialized => unsafe fn(usize) -> CudaResult<DeviceBuffer<u32>>;
    DeviceBuffer::<u32>::uninitialized_async => unsafe fn(usize, &Stream) -> CudaResult<DeviceBuffer<u32>>;
    DeviceBuffer::<u32>::drop_async => fn(DeviceBuffer<u32>, &Stream) -> CudaResult<()>;
    DeviceBuffer::<u32>::from_raw_parts => unsafe fn(DevicePointer<u32>, usize) -> DeviceBuffer<u32>;
    DeviceBuffer::<u32>::drop => fn(DeviceBuffer<u32>) -> DropResult<DeviceBuffer<u32>>;
    DeviceBuffer::<u32>::zeroed => fn(usize) -> CudaResult<DeviceBuffer<u32>>;
    DeviceBuffer::<u32>::zeroed_async => unsafe fn(usize, &Stream) -> CudaResult<DeviceBuffer<u32>>;
    DeviceBuffer::<u32>::cast::<u8> => fn(DeviceBuffer<u32>) -> DeviceBuffer<u8>;
    DeviceBuffer::<u32>::try_cast::<u8> => fn(DeviceBuffer<u32>) -> Result<DeviceBuffer<u8>, bytemuck::PodCastError>;
    DeviceBuffer::<u32>::from_slice => fn(&[u32]) -> CudaResult<DeviceBuffer<u32>>;
    DeviceBuffer::<u32>::from_slice_async => unsafe fn(&[u32], &Stream) -> CudaResult<DeviceBuffer<u32>>;
    DeviceBuffer::<u32>::as_slice => fn(&DeviceBuffer<u32>) -> &DeviceSlice<u32>;
    DeviceSlice::<u32>::len => fn(&DeviceSlice<u32>) -> usize;
    DeviceSlice::<u32>::is_empty => fn(&DeviceSlice<u32>) -> bool;
    DeviceSlice::<u32>::as_device_ptr => fn(&DeviceSlice<u32>) -> DevicePointer<u32>;
    DeviceSlice::<u32>::as_host_vec => fn(&DeviceSlice<u32>) -> CudaResult<Vec<u32>>;
    DeviceSlice::<u32>::set_8 => fn(&mut DeviceSlice<u32>, u8) -> CudaResult<()>;
    DeviceSlice::<u32>::set_8_async => unsafe fn(&mut DeviceSlice<u32>, u8, &Stream) -> CudaResult<()>;
    DeviceSlice::<u32>::set_16 => fn(&mut DeviceSlice<u32>, u16) -> CudaResult<()>;
    DeviceSlice::<u32>::set_16_async => unsafe fn(&mut DeviceSlice<u32>, u16, &Stream) -> CudaResult<()>;
    DeviceSlice::<u32>::set_32 => fn(&mut DeviceSlice<u32>, u32) -> CudaResult<()>;
    DeviceSlice::<u32>::set_32_async => unsafe fn(&mut DeviceSlice<u32>, u32, &Stream) -> CudaResult<()>;
    DeviceSlice::<u32>::set_zero => fn(&mut DeviceSlice<u32>) -> CudaResult<()>;
    DeviceSlice::<u32>::set_zero_async => unsafe fn(&mut DeviceSlice<u32>, &Stream) -> CudaResult<()>;
    <DeviceSlice<u32> as CopyDestination<[u32]>>::copy_from => fn(&mut DeviceSlice<u32>, &[u32]) -> CudaResult<()>;
    <DeviceSlice<u32> as CopyDestination<Vec<u32>>>::copy_to => fn(&DeviceSlice<u32>, &mut Vec<u32>) -> CudaResult<()>;
    <DeviceSlice<u32> as CopyDestination<DeviceSlice<u32>>>::copy_from
        => fn(&mut DeviceSlice<u32>, &DeviceSlice<u32>) -> CudaResult<()>;
    <DeviceSlice<u32> as CopyDestination<DeviceBuffer<u32>>>::copy_to
        => fn(&DeviceSlice<u32>, &mut DeviceBuffer<u32>) -> CudaResult<()>;
    <DeviceSlice<u32> as AsyncCopyDestination<LockedBuffer<u32>>>::async_copy_from
        => unsafe fn(&mut DeviceSlice<u32>, &LockedBuffer<u32>, &Stream) -> CudaResult<()>;
    <DeviceSlice<u32> as AsyncCopyDestination<DeviceSlice<u32>>>::async_copy_to
        => unsafe fn(&DeviceSlice<u32>, &mut DeviceSlice<u32>, &Stream) -> CudaResult<()>;
    <DeviceSlice<u32> as AsyncCopyDestination<DeviceBuffer<u32>>>::async_copy_from
        => unsafe fn(&mut DeviceSlice<u32>, &DeviceBuffer<u32>, &Stream) -> CudaResult<()>;
}

same! { BOXES:
    DeviceBox::<u32>::new => fn(&u32) -> CudaResult<DeviceBox<u32>>;
    DeviceBox::<u32>::new_async => unsafe fn(&u32, &Stream) -> CudaResult<DeviceBox<u32>>;
    DeviceBox::<u32>::drop_async => fn(DeviceBox<u32>, &Stream) -> CudaResult<()>;
    DeviceBox::<u32>::as_host_value => fn(&DeviceBox<u32>) -> CudaResult<u32>;
    DeviceBox::<u32>::zeroed => fn() -> CudaResult<DeviceBox<u32>>;
    DeviceBox::<u32>::zeroed_async => unsafe fn(&Stream) -> CudaResult<DeviceBox<u32>>;
    DeviceBox::<u32>::uninitialized => unsafe fn() -> CudaResult<DeviceBox<u32>>;
    DeviceBox::<u32>::uninitialized_async => unsafe fn(&Stream) -> CudaResult<DeviceBox<u32>>;
    DeviceBox::<u32>::from_raw => unsafe fn(u64) -> DeviceBox<u32>;
    DeviceBox::<u32>::from_device => unsafe fn(DevicePointer<u32>) -> DeviceBox<u32>;
    DeviceBox::<u32>::into_device => fn(DeviceBox<u32>) -> DevicePointer<u32>;
    DeviceBox::<u32>::as_device_ptr => fn(&DeviceBox<u32>) -> DevicePointer<u32>;
    DeviceBox::<u32>::drop => fn(DeviceBox<u32>) -> DropResult<DeviceBox<u32>>;
    <DeviceBox<u32> as CopyDestination<u32>>::copy_from => fn(&mut DeviceBox<u32>, &u32) -> CudaResult<()>;
    <DeviceBox<u32> as CopyDestination<DeviceBox<u32>>>::copy_to
        => fn(&DeviceBox<u32>, &mut DeviceBox<u32>) -> CudaResult<()>;
    <DeviceBox<u32> as AsyncCopyDestination<u32>>::async_copy_to
        => unsafe fn(&DeviceBox<u32>, &mut u32, &Stream) -> CudaResult<()>;
    DeviceVariable::<u32>::new => fn(u32) -> CudaResult<DeviceVariable<u32>>;
    DeviceVariable::<u32>::copy_htod => fn(&mut DeviceVariable<u32>) -> CudaResult<()>;
    DeviceVariable::<u32>::copy_dtoh => fn(&mut DeviceVariable<u32>) -> CudaResult<()>;
    DeviceVariable::<u32>::as_device_ptr => fn(&DeviceVariable<u32>) -> DevicePointer<u32>;
    LockedBox::<u32>::uninitialized => unsafe fn() -> CudaResult<LockedBox<u32>>;
    LockedBox::<u32>::new => fn(&u32) -> CudaResult<LockedBox<u32>>;
    LockedBox::<u32>::into_raw => fn(LockedBox<u32>) -> *mut u32;
    LockedBox::<u32>::from_raw => unsafe fn(*mut u32) -> LockedBox<u32>;
    LockedBuffer::<u32>::new => fn(&u32, usize) -> CudaResult<LockedBuffer<u32>>;
    LockedBuffer::<u32>::from_slice => fn(&[u32]) -> CudaResult<LockedBuffer<u32>>;
    LockedBuffer::<u32>::uninitialized => unsafe fn(usize) -> CudaResult<LockedBuffer<u32>>;
    LockedBuffer::<u32>::as_slice => fn(&LockedBuffer<u32>) -> &[u32];
    LockedBuffer::<u32>::as_mut_slice => fn(&mut LockedBuffer<u32>) -> &mut [u32];
    LockedBuffer::<u32>::from_raw_parts => unsafe fn(*mut u32, usize) -> LockedBuffer<u32>;
    LockedBuffer::<u32>::drop => fn(LockedBuffer<u32>) -> DropResult<LockedBuffer<u32>>;
}

same! { UNIFIED:
    UnifiedBox::<u32>::new => fn(u32) -> CudaResult<UnifiedBox<u32>>;
    UnifiedBox::<u32>::uninitialized => unsafe fn() -> CudaResult<UnifiedBox<u32>>;
    UnifiedBox::<u32>::from_raw => unsafe fn(*mut u32) -> UnifiedBox<u32>;
    UnifiedBox::<u32>::from_unified => unsafe fn(UnifiedPointer<u32>) -> UnifiedBox<u32>;
    UnifiedBox::<u32>::into_unified => fn(UnifiedBox<u32>) -> UnifiedPointer<u32>;
    UnifiedBox::<u32>::as_unified_ptr => fn(&UnifiedBox<u32>) -> UnifiedPointer<u32>;
    UnifiedBox::<u32>::leak => fn(UnifiedBox<u32>) -> &'static mut u32;
    UnifiedBox::<u32>::drop => fn(UnifiedBox<u32>) -> DropResult<UnifiedBox<u32>>;
    UnifiedBuffer::<u32>::new => fn(&u32, usize) -> CudaResult<UnifiedBuffer<u32>>;
    UnifiedBuffer::<u32>::from_slice => fn(&[u32]) -> CudaResult<UnifiedBuffer<u32>>;
    UnifiedBuffer::<u32>::uninitialized => unsafe fn(usize) -> CudaResult<UnifiedBuffer<u32>>;
    UnifiedBuffer::<u32>::as_slice => fn(&UnifiedBuffer<u32>) -> &[u32];
    UnifiedBuffer::<u32>::as_mut_slice => fn(&mut UnifiedBuffer<u32>) -> &mut [u32];
    UnifiedBuffer::<u32>::as_unified_ptr => fn(&mut UnifiedBuffer<u32>) -> UnifiedPointer<u32>;
    UnifiedBuffer::<u32>::from_raw_parts => unsafe fn(UnifiedPointer<u32>, usize) -> UnifiedBuffer<u32>;
    UnifiedBuffer::<u32>::drop => fn(UnifiedBuffer<u32>) -> DropResult<UnifiedBuffer<u32>>;
    <UnifiedBuffer<u32> as MemoryAdvise<u32>>::prefetch_to_host => fn(&UnifiedBuffer<u32>, &Stream) -> CudaResult<()>;
    <UnifiedBuffer<u32> as MemoryAdvise<u32>>::prefetch_to_device
        => fn(&UnifiedBuffer<u32>, &Stream, &Device) -> CudaResult<()>;
    <UnifiedBox<u32> as MemoryAdvise<u32>>::advise_read_mostly => fn(&UnifiedBox<u32>, bool) -> CudaResult<()>;
    <UnifiedBox<u32> as MemoryAdvise<u32>>::preferred_location => fn(&UnifiedBox<u32>, Option<Device>) -> CudaResult<()>;
    <UnifiedBox<u32> as MemoryAdvise<u32>>::unset_preferred_location => fn(&UnifiedBox<u32>) -> CudaResult<()>;
    <UnifiedBuffer<u32> as GpuBuffer<u32>>::len => fn(&UnifiedBuffer<u32>) -> usize;
    <DeviceBuffer<u32> as GpuBuffer<u32>>::as_device_ptr => fn(&DeviceBuffer<u32>) -> DevicePointer<u32>;
    <UnifiedBox<u32> as GpuBox<u32>>::as_device_ptr => fn(&UnifiedBox<u32>) -> DevicePointer<u32>;
    <DeviceBox<u32> as DeviceMemory>::as_raw_ptr => fn(&DeviceBox<u32>) -> u64;
    <DeviceBuffer<u32> as DeviceMemory>::size_in_bytes => fn(&DeviceBuffer<u32>) -> usize;
}

same! { POINTERS:
    cuda_malloc::<u32> => unsafe fn(usize) -> CudaResult<DevicePointer<u32>>;
    cuda_malloc_async::<u32> => unsafe fn(&Stream, usize) -> CudaResult<DevicePointer<u32>>;
    cuda_free_async::<u32> => unsafe fn(&Stream, DevicePointer<u32>) -> CudaResult<()>;
    cuda_malloc_unified::<u32> => unsafe fn(usize) -> CudaResult<UnifiedPointer<u32>>;
    cuda_free::<u32> => unsafe fn(DevicePointer<u32>) -> CudaResult<()>;
    cuda_free_unified::<u32> => unsafe fn(UnifiedPointer<u32>) -> CudaResult<()>;
    cuda_malloc_locked::<u32> => unsafe fn(usize) -> CudaResult<*mut u32>;
    cuda_free_locked::<u32> => unsafe fn(*mut u32) -> CudaResult<()>;
    memcpy_htod => unsafe fn(u64, *const c_void, usize) -> CudaResult<()>;
    mem_get_info => fn() -> CudaResult<(usize, usize)>;
    DevicePointer::<u32>::as_ptr => fn(&DevicePointer<u32>) -> *const u32;
    DevicePointer::<u32>::as_mut_ptr => fn(&DevicePointer<u32>) -> *mut u32;
    DevicePointer::<u32>::as_raw => fn(&DevicePointer<u32>) -> u64;
    DevicePointer::<u32>::from_raw => fn(u64) -> DevicePointer<u32>;
    DevicePointer::<u32>::is_null => fn(DevicePointer<u32>) -> bool;
    DevicePointer::<u32>::null => fn() -> DevicePointer<u32>;
    DevicePointer::<u32>::offset => unsafe fn(DevicePointer<u32>, isize) -> DevicePointer<u32>;
    DevicePointer::<u32>::wrapping_offset => fn(DevicePointer<u32>, isize) -> DevicePointer<u32>;
    DevicePointer::<u32>::add => unsafe fn(DevicePointer<u32>, usize) -> DevicePointer<u32>;
    DevicePointer::<u32>::sub => unsafe fn(DevicePointer<u32>, usize) -> DevicePointer<u32>;
    DevicePointer::<u32>::wrapping_add => fn(DevicePointer<u32>, usize) -> DevicePointer<u32>;
    DevicePointer::<u32>::wrapping_sub => fn(DevicePointer<u32>, usize) -> DevicePointer<u32>;
    DevicePointer::<u32>::cast::<u8> => fn(DevicePointer<u32>) -> DevicePointer<u8>;
    UnifiedPointer::<u32>::wrap => unsafe fn(*mut u32) -> UnifiedPointer<u32>;
    UnifiedPointer::<u32>::as_raw => fn(UnifiedPointer<u32>) -> *const u32;
    UnifiedPointer::<u32>::as_raw_mut => fn(&mut UnifiedPointer<u32>) -> *mut u32;
    UnifiedPointer::<u32>::is_null => fn(UnifiedPointer<u32>) -> bool;
    UnifiedPointer::<u32>::null => fn() -> UnifiedPointer<u32>;
    UnifiedPointer::<u32>::add => unsafe fn(UnifiedPointer<u32>, usize) -> UnifiedPointer<u32>;
    UnifiedPointer::<u32>::wrapping_sub => fn(UnifiedPointer<u32>, usize) -> UnifiedPointer<u32>;
    <u32 as DeviceCopyExt>::as_dbox => fn(&u32) -> CudaResult<DeviceBox<u32>>;
    <&'static [u32] as SliceExt<u32>>::as_dbuf => fn(&&'static [u32]) -> CudaResult<DeviceBuffer<u32>>;
    <[u32; 3] as SliceExt<u32>>::as_unified_buf => fn(&[u32; 3]) -> CudaResult<UnifiedBuffer<u32>>;
    ExternalMemory::import => unsafe fn(i32, usize) -> CudaResult<ExternalMemory>;
    ExternalMemory::reimport => unsafe fn(&mut ExternalMemory, i32, usize) -> CudaResult<()>;
    ExternalMemory::mapped_buffer::<u32> => fn(&ExternalMemory, usize, usize) -> CudaResult<DevicePointer<u32>>;
}

/// Both spellings of a launch, with values of some types.
///
/// # Safety
/// The kernel takes these.
#[allow(dead_code)]
unsafe fn launches(module: &Module, kernel: Function<'_>, stream: Stream) -> CudaResult<()> {
    use c::launch;
    let block = BlockSize::xy(8, 8);
    // SAFETY: by the contract.
    unsafe {
        launch!(kernel<<<(1, 2), block, 0, stream>>>(1_u32, DevicePointer::<u8>::null()))?;
        launch!(module.kernel<<<1, &block, 16, stream>>>(2.5_f64,))
    }
}

const fn may_go_to_another_thread<T: Send + Sync>() {}
const _: () = {
    may_go_to_another_thread::<Context>();
    may_go_to_another_thread::<UnownedContext>();
    may_go_to_another_thread::<Stream>();
    may_go_to_another_thread::<Event>();
    may_go_to_another_thread::<Module>();
    may_go_to_another_thread::<Function<'static>>();
    may_go_to_another_thread::<DeviceBuffer<u32>>();
    may_go_to_another_thread::<DeviceBox<u32>>();
    may_go_to_another_thread::<UnifiedBox<u32>>();
    may_go_to_another_thread::<LockedBuffer<u32>>();
    may_go_to_another_thread::<CudaError>();
};

#[allow(dead_code)]
fn handle_of<C: ContextHandle>(context: &C) -> usize {
    context.get_inner() as usize
}

/// The same numbers, when this is compiled.
macro_rules! same_numbers {
    ($($value:expr => $number:literal;)*) => {
        const _: () = { $( assert!($value == $number); )* };
    };
}

same_numbers! {
    DeviceAttribute::MaxThreadsPerBlock as u32 => 1;
    DeviceAttribute::WarpSize as u32 => 10;
    DeviceAttribute::MultiprocessorCount as u32 => 16;
    DeviceAttribute::L2CacheSize as u32 => 38;
    DeviceAttribute::MaxThreadsPerMultiprocessor as u32 => 39;
    DeviceAttribute::ComputeCapabilityMajor as u32 => 75;
    DeviceAttribute::ManagedMemory as u32 => 83;
    DeviceAttribute::CanUseHostPointerForRegisteredMem as u32 => 91;
    DeviceAttribute::MaximumSurfacecubemapWidth as u32 => 66;
    FunctionAttribute::MaxThreadsPerBlock as u32 => 0;
    FunctionAttribute::NumRegisters as u32 => 4;
    FunctionAttribute::CacheModeCa as u32 => 7;
    ResourceLimit::MaxL2FetchGranularity as u32 => 5;
    CacheConfig::PreferEqual as u32 => 3;
    SharedMemoryConfig::EightByteBankSize as u32 => 2;
    OptLevel::O4 as u32 => 4;
    ContextFlags::all().bits() => 31;
    EventFlags::all().bits() => 7;
    StreamFlags::all().bits() => 1;
}

same_errors! {
    InvalidValue = 1,
    OutOfMemory = 2,
    NotInitialized = 3,
    Deinitialized = 4,
    ProfilerDisabled = 5,
    ProfilerNotInitialized = 6,
    ProfilerAlreadyStarted = 7,
    ProfilerAlreadyStopped = 8,
    NoDevice = 100,
    InvalidDevice = 101,
    InvalidImage = 200,
    InvalidContext = 201,
    ContextAlreadyCurrent = 202,
    MapFailed = 205,
    UnmapFailed = 206,
    ArrayIsMapped = 207,
    AlreadyMapped = 208,
    NoBinaryForGpu = 209,
    AlreadyAcquired = 210,
    NotMapped = 211,
    NotMappedAsArray = 212,
    NotMappedAsPointer = 213,
    EccUncorrectable = 214,
    UnsupportedLimit = 215,
    ContextAlreadyInUse = 216,
    PeerAccessUnsupported = 217,
    InvalidPtx = 218,
    InvalidGraphicsContext = 219,
    NvlinkUncorrectable = 220,
    InvalidSource = 300,
    FileNotFound = 301,
    SharedObjectSymbolNotFound = 302,
    SharedObjectInitFailed = 303,
    OperatingSystemError = 304,
    InvalidHandle = 400,
    NotFound = 500,
    NotReady = 600,
    IllegalAddress = 700,
    LaunchOutOfResources = 701,
    LaunchTimeout = 702,
    LaunchIncompatibleTexturing = 703,
    PeerAccessAlreadyEnabled = 704,
    PeerAccessNotEnabled = 705,
    PrimaryContextActive = 708,
    ContextIsDestroyed = 709,
    AssertError = 710,
    TooManyPeers = 711,
    HostMemoryAlreadyRegistered = 712,
    HostMemoryNotRegistered = 713,
    HardwareStackError = 714,
    IllegalInstruction = 715,
    MisalignedAddress = 716,
    InvalidAddressSpace = 717,
    InvalidProgramCounter = 718,
    LaunchFailed = 719,
    NotPermitted = 800,
    NotSupported = 801,
    UnknownError = 999,
    InvalidMemoryAllocation = 100100,
}
