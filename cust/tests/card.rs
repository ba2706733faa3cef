//! Tests on a device. Without a device they are skipped and print that; `WARPWRIGHT_REQUIRE_CUDA=1` makes this a failure.

use std::env;
use std::time::Duration;

use cust::context::{Context, CurrentContext};
use cust::device::{Device, DeviceAttribute};
use cust::error::CudaError;
use cust::event::{Event, EventFlags, EventStatus};
use cust::function::FunctionAttribute;
use cust::graph::{CaptureMode, Graph, GraphCreationFlags, GraphNodeType};
use cust::launch::{LaunchConfig, parameter};
use cust::link::Linker;
use cust::memory::{
    AsyncCopyDestination, CopyDestination, DeviceBox, DeviceBuffer, LockedBuffer, MemoryPool,
    UnifiedBuffer, cuda_free, cuda_free_async, cuda_malloc_pitched, mem_get_info, memcpy_2d_dtoh,
    memcpy_2d_htod,
};
use cust::module::{Module, ModuleJitOption, OptLevel};
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use cust::tensor_map::{TensorDataType, TiledTensor};
use cust::util::SliceExt;
use cust::{kernel_invocation, launch};

/// Two kernels. `vecadd(a, b, out: *f32, n: u32)` adds two vectors. `add_scale(out: *u32, n: u32)` adds the global `scale`
/// to each element through dynamic shared memory.
const PTX: &str = r#"
.version 6.3
.target sm_75
.address_size 64
.visible .global .align 4 .b8 scale[4];
.extern .shared .align 16 .b8 dynamic[];
.visible .entry vecadd(.param .u64 a, .param .u64 b, .param .u64 out, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %d<8>;
    ld.param.u64 %d0, [a];
    ld.param.u64 %d1, [b];
    ld.param.u64 %d2, [out];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p ret;
    mul.wide.u32 %d3, %r4, 4;
    cvta.to.global.u64 %d0, %d0;
    cvta.to.global.u64 %d1, %d1;
    cvta.to.global.u64 %d2, %d2;
    add.u64 %d4, %d0, %d3;
    add.u64 %d5, %d1, %d3;
    add.u64 %d6, %d2, %d3;
    ld.global.f32 %f0, [%d4];
    ld.global.f32 %f1, [%d5];
    add.f32 %f2, %f0, %f1;
    st.global.f32 [%d6], %f2;
    ret;
}
.visible .entry add_scale(.param .u64 out, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<10>;
    .reg .b64 %d<6>;
    ld.param.u64 %d0, [out];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p ret;
    ld.global.u32 %r5, [scale];
    mov.u32 %r8, dynamic;
    mad.lo.u32 %r9, %r3, 4, %r8;
    st.shared.u32 [%r9], %r5;
    ld.shared.u32 %r5, [%r9];
    mul.wide.u32 %d1, %r4, 4;
    cvta.to.global.u64 %d0, %d0;
    add.u64 %d2, %d0, %d1;
    ld.global.u32 %r6, [%d2];
    add.u32 %r7, %r6, %r5;
    st.global.u32 [%d2], %r7;
    ret;
}
"#;

/// Returns the first device's context and a stream, or `None` if there is no device.
fn open() -> Option<(Context, Stream)> {
    let context = match cust::quick_init() {
        Ok(context) => context,
        Err(error) => {
            let required = env::var_os("WARPWRIGHT_REQUIRE_CUDA").is_some_and(|value| value == "1");
            assert!(!required, "WARPWRIGHT_REQUIRE_CUDA=1 and {error}");
            eprintln!("1 test left out, there is no CUDA device: {error}");
            return None;
        }
    };
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
    Some((context, stream))
}

fn module() -> Module {
    let (module, log) = Module::from_ptx_with_log(PTX, &[]);
    module.unwrap_or_else(|error| panic!("{error}: {}", log.error))
}

#[test]
fn every_function_is_in_the_driver() {
    let Some(_open) = open() else { return };
    let (major, minor) = cust::CudaApiVersion::get()
        .map(|it| (it.major(), it.minor()))
        .expect("a version");
    // The newest functions of this crate are of CUDA 12.0.
    if major < 12 {
        eprintln!("left out, the driver is for CUDA {major}.{minor}");
        return;
    }
    let names = [
        "cuInit",
        "cuGraphInstantiateWithFlags",
        "cuTensorMapEncodeIm2col",
        "cuTensorMapEncodeTiled",
        "cuLaunchKernelEx",
        "cuGraphExecUpdate",
    ];
    for name in names {
        assert!(cust::driver::has_function(name), "{name}");
    }
}

#[test]
fn vectors_are_added() {
    let Some((_context, stream)) = open() else {
        return;
    };
    let module = module();
    let vecadd = module.get_function("vecadd").expect("a kernel");
    let n = 100_003;
    let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..n).map(|i| (2 * i) as f32).collect();
    let (a_there, b_there) = (
        a.as_slice().as_dbuf().expect("a buffer"),
        b.as_slice().as_dbuf().expect("a buffer"),
    );
    let out = DeviceBuffer::<f32>::zeroed(n).expect("a buffer");
    let (blocks, threads) = vecadd
        .suggested_launch_configuration(0, 0.into())
        .expect("a shape");
    assert!(blocks > 0 && (32..=1024).contains(&threads));
    let grid = (n as u32).div_ceil(threads);
    // SAFETY: the arguments match the kernel's parameters, and the kernel stays in bounds.
    unsafe {
        launch!(vecadd<<<grid, threads, 0, stream>>>(
            a_there.as_device_ptr(), b_there.as_device_ptr(), out.as_device_ptr(), n as u32
        ))
        .expect("queued");
    }
    stream.synchronize().expect("done");
    let sums: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    assert_eq!(out.as_host_vec(), Ok(sums));
}

#[test]
fn copies_events_and_streams_are_in_order() {
    let Some((_context, stream)) = open() else {
        return;
    };
    let other = Stream::new(StreamFlags::NON_BLOCKING, Some(-1)).expect("a stream");
    let from = LockedBuffer::new(&7_u32, 1 << 20).expect("locked memory");
    let mut back = LockedBuffer::new(&0_u32, 1 << 20).expect("locked memory");
    let mut there = DeviceBuffer::from_slice(&vec![0_u32; 1 << 20]).expect("a buffer");
    let (start, copied, end) = (
        Event::new(EventFlags::DEFAULT).expect("an event"),
        Event::new(EventFlags::DISABLE_TIMING).expect("an event"),
        Event::new(EventFlags::DEFAULT).expect("an event"),
    );
    let (sender, receiver) = std::sync::mpsc::channel();
    // SAFETY: all buffers live until the last stream has finished, and nothing else uses them.
    unsafe {
        start.record(&stream).expect("recorded");
        there.async_copy_from(&from, &stream).expect("queued");
        copied.record(&stream).expect("recorded");
        other
            .wait_event(&copied, StreamWaitEventFlags::DEFAULT)
            .expect("queued");
        there.async_copy_to(&mut back, &other).expect("queued");
    }
    other
        .add_callback(Box::new(move |status| sender.send(status).expect("sent")))
        .expect("queued");
    other.synchronize().expect("done");
    end.record(&stream).expect("recorded");
    end.synchronize().expect("done");
    assert!(back.iter().all(|value| *value == 7));
    assert_eq!(
        (end.query(), stream.query()),
        (Ok(EventStatus::Ready), Ok(true))
    );
    let time = end.elapsed(&start).expect("a time");
    assert!(
        time > Duration::ZERO && time < Duration::from_secs(60),
        "{time:?}"
    );
    assert_eq!(receiver.recv_timeout(Duration::from_secs(10)), Ok(Ok(())));
}

#[test]
fn globals_and_shared_memory_reach_the_kernel() {
    let Some((_context, stream)) = open() else {
        return;
    };
    let module = module();
    let mut kernel = module.get_function("add_scale").expect("a kernel");
    let mut scale = module.get_global::<u32>(c"scale").expect("a global");
    scale.copy_from(&5).expect("a copy");
    let mut value = 0;
    scale.copy_to(&mut value).expect("a copy");
    assert_eq!(value, 5);
    assert_eq!(
        module.get_global::<u64>(c"scale").err(),
        Some(CudaError::InvalidValue)
    );
    let device = CurrentContext::get_device().expect("a device");
    let most = device
        .get_attribute(DeviceAttribute::MaxSharedMemoryPerBlockOptin)
        .expect("a size");
    let bytes = most as u32;
    assert!(bytes > 48 * 1024, "{bytes}");
    let out = DeviceBuffer::from_slice(&[1_u32; 1000]).expect("a buffer");
    // SAFETY: the arguments match the kernel's parameters, and the kernel stays in bounds.
    let refused =
        unsafe { launch!(kernel<<<4, 256, bytes, stream>>>(out.as_device_ptr(), 1000_u32)) };
    assert_eq!(refused, Err(CudaError::InvalidValue), "not allowed yet");
    kernel
        .set_max_dynamic_shared_memory(bytes as usize)
        .expect("allowed");
    // SAFETY: as above.
    unsafe { launch!(kernel<<<4, 256, bytes, stream>>>(out.as_device_ptr(), 1000_u32)) }
        .expect("queued");
    stream.synchronize().expect("done");
    assert_eq!(out.as_host_vec(), Ok(vec![6; 1000]));
    assert!(
        kernel
            .get_attribute(FunctionAttribute::NumRegisters)
            .expect("a number")
            > 0
    );
    assert!(
        kernel
            .max_active_blocks_per_multiprocessor(256.into(), 0)
            .expect("a number")
            > 0
    );
    assert!(
        kernel
            .available_dynamic_shared_memory_per_block(1.into(), 256.into())
            .expect("bytes")
            > 0
    );
    if device.get_attribute(DeviceAttribute::ClusterLaunch) == Ok(1) {
        let config = LaunchConfig::new(4, 256).shared_bytes(1024).cluster(2);
        assert!(kernel.max_active_clusters(&config).expect("a number") > 0);
        assert!(
            kernel
                .max_potential_cluster_size(&config)
                .expect("a number")
                >= 2
        );
        let (pointer, n) = (out.as_device_ptr(), 1000_u32);
        // SAFETY: as above.
        unsafe { stream.launch_with(&kernel, &config, &[parameter(&pointer), parameter(&n)]) }
            .expect("queued");
        stream.synchronize().expect("done");
        assert_eq!(out.as_host_vec(), Ok(vec![11; 1000]));
    }
}

#[test]
fn a_captured_graph_is_replayed_and_updated() {
    let Some((_context, stream)) = open() else {
        return;
    };
    let module = module();
    let kernel = module.get_function("add_scale").expect("a kernel");
    module
        .get_global::<u32>(c"scale")
        .expect("a global")
        .copy_from(&3)
        .expect("a copy");
    let mut out = DeviceBuffer::from_slice(&[1_u32; 64]).expect("a buffer");
    stream
        .begin_capture(CaptureMode::ThreadLocal)
        .expect("begun");
    // SAFETY: all resources live until the graph has run; the kernel stays in bounds.
    unsafe {
        out.set_32_async(10, &stream).expect("captured");
        launch!(kernel<<<1, 64, 256, stream>>>(out.as_device_ptr(), 64_u32)).expect("captured");
    }
    let graph = stream.end_capture().expect("a graph");
    assert_eq!((graph.num_nodes(), graph.num_edges()), (Ok(2), Ok(1)));
    let types: Vec<_> = graph
        .nodes()
        .expect("nodes")
        .iter()
        .map(|node| graph.node_type(*node))
        .collect();
    assert!(
        types.contains(&Ok(GraphNodeType::KernelInvocation)),
        "{types:?}"
    );
    assert_eq!(out.as_host_vec(), Ok(vec![1; 64]), "nothing was done yet");
    // SAFETY: the module and the memory are valid.
    unsafe {
        let mut exec = graph.instantiate().expect("a graph to launch");
        for _ in 0..3 {
            exec.launch(&stream).expect("queued");
        }
        stream.synchronize().expect("done");
        assert_eq!(out.as_host_vec(), Ok(vec![13; 64]));
        let mut own = Graph::new(GraphCreationFlags::NONE).expect("a graph");
        let pointer = out.as_device_ptr();
        let first = own
            .add_kernel_node(
                kernel_invocation!(kernel<<<1, 64, 256>>>(pointer, 64_u32)),
                [],
            )
            .expect("a node");
        own.add_kernel_node(
            kernel_invocation!(kernel<<<1, 64, 256>>>(pointer, 32_u32)),
            [first],
        )
        .expect("a node");
        assert!(exec.update(&own).is_err(), "another form");
        let mut exec = own.instantiate().expect("a graph to launch");
        exec.launch(&stream).expect("queued");
        stream.synchronize().expect("done");
        let halves = [vec![19; 32], vec![16; 32]].concat();
        assert_eq!(out.as_host_vec(), Ok(halves));
        exec.set_kernel_node(
            first,
            kernel_invocation!(kernel<<<1, 64, 256>>>(pointer, 0_u32)),
        )
        .expect("another launch");
        exec.launch(&stream).expect("queued");
        stream.synchronize().expect("done");
        let halves = [vec![22; 32], vec![16; 32]].concat();
        assert_eq!(out.as_host_vec(), Ok(halves));
    }
}

#[test]
fn unified_and_pitched_memory_hold_values() {
    let Some((_context, stream)) = open() else {
        return;
    };
    let module = module();
    let kernel = module.get_function("add_scale").expect("a kernel");
    module
        .get_global::<u32>(c"scale")
        .expect("a global")
        .copy_from(&2)
        .expect("a copy");
    let mut values = UnifiedBuffer::from_slice(&[1_u32, 2, 3, 4]).expect("unified memory");
    let pointer = cust::memory::GpuBuffer::as_device_ptr(&values);
    // SAFETY: the kernel stays in bounds, and the host waits for it.
    unsafe { launch!(kernel<<<1, 32, 128, stream>>>(pointer, 4_u32)) }.expect("queued");
    stream.synchronize().expect("done");
    assert_eq!(values.as_slice(), [3, 4, 5, 6]);
    values.as_mut_slice()[0] = 9;
    assert_eq!(values[0], 9);
    let from: Vec<u32> = (0..12).collect();
    let mut back = [0_u32; 6];
    // SAFETY: both ends have three rows of two elements.
    unsafe {
        let (room, pitch) = cuda_malloc_pitched::<u32>(2, 3).expect("room");
        memcpy_2d_htod(room, pitch, from.as_ptr().add(1), 16, 2, 3).expect("a copy");
        memcpy_2d_dtoh(back.as_mut_ptr(), 8, room, pitch, 2, 3).expect("a copy");
        cuda_free(room).expect("freed");
    }
    assert_eq!(back, [1, 2, 5, 6, 9, 10]);
    assert_eq!(
        DeviceBox::new(&1.5_f64).and_then(|it| it.as_host_value()),
        Ok(1.5)
    );
}

#[test]
fn pools_and_the_devices_memory_are_counted() {
    let Some((_context, stream)) = open() else {
        return;
    };
    let (free, total) = mem_get_info().expect("numbers");
    assert!(0 < free && free <= total);
    let device = CurrentContext::get_device().expect("a device");
    assert!(device.total_memory().expect("bytes") >= total);
    assert!(device.uuid().expect("an identity") != [0; 16]);
    if device.get_attribute(DeviceAttribute::MemoryPoolsSupported) != Ok(1) {
        eprintln!("left out, the device has no memory pools");
        return;
    }
    let pool = MemoryPool::new(device, 0).expect("a pool");
    pool.set_release_threshold(u64::MAX).expect("set");
    assert_eq!(pool.release_threshold(), Ok(u64::MAX));
    // SAFETY: the memory is never read, and each allocation is freed once.
    unsafe {
        let room = pool.malloc_async::<u64>(&stream, 1 << 16).expect("room");
        assert!(pool.used_bytes().expect("bytes") >= 1 << 19);
        cuda_free_async(&stream, room).expect("freed");
        let buffer = DeviceBuffer::<u32>::zeroed_async(1000, &stream).expect("a buffer");
        stream.synchronize().expect("done");
        assert_eq!(buffer.as_host_vec(), Ok(vec![0; 1000]));
        buffer.drop_async(&stream).expect("queued");
        stream.synchronize().expect("done");
    }
    pool.trim_to(0).expect("trimmed");
    assert_eq!(pool.used_bytes(), Ok(0));
    assert!(Device::num_devices().expect("a number") > 0);
}

#[test]
fn images_that_are_none_are_errors_and_the_log_says_why() {
    let Some((_context, _stream)) = open() else {
        return;
    };
    let error = Module::from_ptx("this is no PTX", &[]).expect_err("no PTX");
    assert_eq!(error, CudaError::InvalidImage);
    assert!(
        error
            .to_string()
            .contains("CUDA_ERROR_INVALID_IMAGE (200): "),
        "{error}"
    );
    let (module, log) = Module::from_ptx_with_log(PTX.replace("add.f32", "plus.f32"), &[]);
    assert_eq!(module.err(), Some(CudaError::InvalidPtx));
    assert!(log.error.contains("plus"), "{log:?}");
    assert!(Module::from_cubin([0x7f, b'E', b'L', b'F'], &[]).is_err());
    let options = [
        ModuleJitOption::MaxRegisters(32),
        ModuleJitOption::OptLevel(OptLevel::O1),
    ];
    assert!(Module::from_ptx(PTX, &options).is_ok());
    let mut linker = Linker::new().expect("a linker");
    linker.add_ptx(PTX).expect("added");
    let code = linker.complete().expect("machine code");
    let module = Module::from_cubin(&code, &[]).expect("a module");
    assert!(module.get_function("vecadd").is_ok());
    assert_eq!(
        module.get_function("missing").err(),
        Some(CudaError::NotFound)
    );
}

#[test]
fn a_tensor_map_is_encoded() {
    let Some((_context, _stream)) = open() else {
        return;
    };
    let device = CurrentContext::get_device().expect("a device");
    if device
        .get_attribute(DeviceAttribute::ComputeCapabilityMajor)
        .expect("a number")
        < 9
    {
        eprintln!("left out, the device has no tensor maps");
        return;
    }
    let buffer = DeviceBuffer::<f32>::zeroed(64 * 64).expect("a buffer");
    let tensor = TiledTensor::new(TensorDataType::F32, &[64, 64], &[256], &[16, 8]);
    let map = tensor.encode(buffer.as_device_ptr()).expect("a map");
    assert!(map.as_raw().opaque != [0; 16]);
    let mut other = map;
    other
        .replace_address(buffer.as_device_ptr().wrapping_add(1024))
        .expect("replaced");
    assert!(other != map);
    let wrong = TiledTensor::new(TensorDataType::F32, &[64, 64], &[100], &[16, 8]);
    assert_eq!(
        wrong.encode(buffer.as_device_ptr()).err(),
        Some(CudaError::InvalidValue)
    );
}
