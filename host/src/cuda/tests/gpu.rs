//! Tests on a device. Without a device they are skipped, and say so; `WARPWRIGHT_REQUIRE_CUDA=1` makes that a failure.

use crate::cuda::{
    self, CudaContext, CudaErrorKind, CudaEvent, CudaMemory, CudaModule, CudaStream, PinnedMemory,
};
use std::ffi::c_void;
use std::sync::Arc;
use std::{env, thread};

/// `fill_add(out: *mut u32, len: u32, value: u32)`: `out[i] = i + value`, one thread per element, through shared memory of
/// any size.
const PTX: &str = r#"
.version 6.3
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry fill_add(.param .u64 out, .param .u32 len, .param .u32 value)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    ld.param.u64 %d0, [out];
    ld.param.u32 %r0, [len];
    ld.param.u32 %r1, [value];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r0;
    @%p ret;
    add.u32 %r6, %r5, %r1;
    cvta.to.global.u64 %d1, %d0;
    mul.wide.u32 %d2, %r5, 4;
    add.u64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r6;
    ret;
}
"#;

fn open() -> Option<(Arc<CudaContext>, Arc<CudaStream>)> {
    if cuda::devices().is_empty() {
        let reason = cuda::init()
            .err()
            .map_or_else(|| "no device".to_owned(), |e| e.to_string());
        let required = env::var_os("WARPWRIGHT_REQUIRE_CUDA").is_some_and(|value| value == "1");
        assert!(!required, "WARPWRIGHT_REQUIRE_CUDA=1 and {reason}");
        eprintln!("left out, there is no CUDA device: {reason}");
        return None;
    }
    let context = CudaContext::open(0).expect("device 0 opens");
    let stream = Arc::new(CudaStream::new(&context).expect("a stream"));
    Some((context, stream))
}

#[test]
fn copies_there_and_back() {
    let Some((context, stream)) = open() else {
        return;
    };
    let (free, total) = context.mem_get_info().expect("sizes");
    assert!(0 < free && free <= total && total <= context.info().memory_bytes + (1 << 30));
    let data: Vec<u8> = (0..100_003u32).map(|i| (i * 7) as u8).collect();
    let bytes = data.len();
    let first = CudaMemory::allocate(&stream, bytes).expect("memory");
    let second = CudaMemory::allocate(&stream, bytes).expect("memory");
    assert_eq!(first.pointer() % cuda::DEVICE_ALIGN as u64, 0);
    let mut pinned = PinnedMemory::allocate(&context, bytes).expect("pinned memory");
    let mut back = vec![0u8; bytes];
    // SAFETY: all sizes are `bytes`, and the stream is synchronized before the host memory is read.
    unsafe {
        stream
            .copy_to_device(first.pointer(), data.as_ptr(), bytes)
            .expect("to the device");
        stream.memset(first.pointer() + 5, 0xee, 3).expect("set");
        stream
            .copy_on_device(second.pointer(), first.pointer(), bytes)
            .expect("on the device");
        stream
            .copy_to_host(pinned.pointer().as_ptr(), second.pointer(), bytes)
            .expect("back");
        stream
            .copy_to_host(back.as_mut_ptr(), second.pointer(), bytes)
            .expect("back");
    }
    stream.synchronize().expect("no fault");
    let mut expected = data;
    expected[5..8].fill(0xee);
    assert_eq!(back, expected);
    // SAFETY: the copies are done, and the memory is not used otherwise.
    assert_eq!(
        unsafe { std::slice::from_raw_parts_mut(pinned_pointer(&mut pinned), bytes) },
        expected
    );
}

fn pinned_pointer(pinned: &mut PinnedMemory) -> *mut u8 {
    pinned.pointer().as_ptr()
}

#[test]
fn launches_from_several_threads() {
    let Some((context, _)) = open() else { return };
    let module = CudaModule::from_ptx(&context, PTX).expect("the module compiles");
    let function = module
        .get_function("fill_add")
        .expect("the kernel is there");
    assert!(function.attributes().max_threads_per_block >= 256);
    assert!(function.max_active_blocks(256, 0).expect("occupancy") >= 1);
    let most = context.info().shared_bytes_per_block_optin;
    thread::scope(|scope| {
        for value in 0..4u32 {
            let (context, function) = (&context, &function);
            scope.spawn(move || {
                let stream = Arc::new(CudaStream::new(context).expect("a stream"));
                let len = 1000 + value;
                let memory = CudaMemory::allocate(&stream, len as usize * 4).expect("memory");
                let pointer = memory.pointer();
                let params: [*const c_void; 3] = [
                    (&raw const pointer).cast(),
                    (&raw const len).cast(),
                    (&raw const value).cast(),
                ];
                let start = stream.record().expect("an event");
                // Some launches use more than 48 KiB of shared memory.
                let shared = if value % 2 == 0 { 0 } else { most };
                // SAFETY: these are the kernel's parameters, and the memory has `len` elements.
                unsafe {
                    function.launch(
                        [len.div_ceil(256), 1, 1],
                        [256, 1, 1],
                        shared,
                        &stream,
                        &params,
                    )
                }
                .expect("a launch");
                let end = stream.record().expect("an event");
                let mut back = vec![0u32; len as usize];
                // SAFETY: the sizes agree, and the stream is synchronized before the vector is read.
                unsafe { stream.copy_to_host(back.as_mut_ptr().cast(), pointer, len as usize * 4) }
                    .expect("back");
                stream.synchronize().expect("no fault");
                assert!(back.iter().zip(value..).all(|(&got, right)| got == right));
                assert!(end.elapsed_since(&start).expect("a time").as_secs_f64() < 10.0);
            });
        }
    });
    let stream = CudaStream::new(&context).expect("a stream");
    // SAFETY: the launch is refused before the kernel runs.
    let error =
        unsafe { function.launch([1, 1, 1], [2048, 1, 1], 0, &stream, &[std::ptr::null(); 3]) }
            .expect_err("2048 threads are too many");
    assert_eq!(error.kind(), CudaErrorKind::LaunchLimits, "{error}");
    // SAFETY: as above.
    let error = unsafe {
        function.launch(
            [1, 1, 1],
            [32, 1, 1],
            most + 1,
            &stream,
            &[std::ptr::null(); 3],
        )
    }
    .expect_err("more shared memory than there is");
    assert!(
        error
            .to_string()
            .contains("bytes of dynamic shared memory was asked for"),
        "{error}"
    );
}

#[test]
fn streams_wait_for_each_other() {
    let Some((context, first)) = open() else {
        return;
    };
    let second = Arc::new(CudaStream::new(&context).expect("a stream"));
    let bytes = 1 << 26;
    let memory = CudaMemory::allocate(&first, bytes).expect("memory");
    let mut back = vec![0u8; bytes];
    // SAFETY: the second stream waits for the first and the first for the second; sizes agree.
    unsafe {
        for value in 0..20 {
            first.memset(memory.pointer(), value, bytes).expect("set");
        }
        second.wait_for(&first).expect("wait");
        second
            .copy_to_host(back.as_mut_ptr(), memory.pointer(), bytes)
            .expect("back");
        first.wait_for(&second).expect("wait");
    }
    drop(memory);
    second.synchronize().expect("no fault");
    assert!(back.iter().all(|&value| value == 19));
    let untimed = CudaEvent::without_timing(&context).expect("an event");
    untimed.record(&first).expect("recorded");
    assert!(
        untimed.elapsed_since(&untimed).is_err(),
        "it was made without timing"
    );
}

#[test]
fn errors_of_the_real_driver() {
    let Some((context, stream)) = open() else {
        return;
    };
    let error = CudaMemory::allocate(&stream, 1 << 50).expect_err("a petabyte");
    assert_eq!(error.kind(), CudaErrorKind::OutOfMemory, "{error}");
    let error = CudaModule::from_ptx(&context, ".version 6.3\n.target sm_75\nnonsense\n")
        .expect_err("nonsense");
    assert_eq!(error.kind(), CudaErrorKind::Module, "{error}");
    assert!(
        error.to_string().contains("line 3"),
        "the compiler's log is in the message: {error}"
    );
    let module = CudaModule::from_ptx(&context, PTX).expect("the module compiles");
    let error = module
        .get_function("no_such_kernel")
        .expect_err("there is one kernel");
    assert!(error.to_string().contains("no_such_kernel"), "{error}");
    let error = CudaContext::open(1000).expect_err("not that many devices");
    assert_eq!(error.kind(), CudaErrorKind::NoDevice, "{error}");
    assert_eq!(cuda::devices()[0], *context.info());
}
