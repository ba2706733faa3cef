//! Tests against a make-believe driver, `driver-door/fake_driver.rs`, which is compiled with
//! `rustc` on the way.

use super::with_library;
use crate::cuda::{
    self, CudaContext, CudaErrorKind, CudaMemory, CudaModule, CudaStream, PinnedMemory,
};
use crate::cuda_backend::CudaBackend;
use crate::{Device, DeviceKind, Error};
use std::ffi::c_void;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::{env, fs, process, thread};
use warpwright_gpu::reduce;

/// Compiles the driver, once per process, and gives the path of the shared library. Where there is
/// no compiler, `WARPWRIGHT_FAKE_DRIVER` names the library compiled elsewhere.
fn fake_driver() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| env::var_os("WARPWRIGHT_FAKE_DRIVER").map_or_else(compile, PathBuf::from))
        .clone()
}

fn compile() -> PathBuf {
    let folder = PathBuf::from(env!("OUT_DIR")).join("fake_driver");
    fs::create_dir_all(&folder).expect("a folder for the driver");
    let (source, library) = (folder.join("fake_driver.rs"), folder.join("libcuda.so.1"));
    // Another run may use the library at this moment: it is replaced whole.
    let fresh = folder.join(format!("libcuda.so.{}", process::id()));
    fs::write(&source, include_str!("../../../driver-door/fake_driver.rs"))
        .expect("the driver's source");
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc)
        .args(["--crate-type", "cdylib", "--edition", "2024", "-o"])
        .args([&fresh, &source])
        .output()
        .unwrap_or_else(|e| {
            panic!(
                "{}: {e}: required is a Rust compiler or the library, as WARPWRIGHT_FAKE_DRIVER",
                rustc.display()
            )
        });
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    fs::rename(&fresh, &library).expect("the driver in its place");
    library
}

fn with_fake_driver(test: &str, body: fn()) {
    with_library(&format!("fake_driver::{test}"), fake_driver, body);
}

fn open() -> (Arc<CudaContext>, Arc<CudaStream>) {
    let context = CudaContext::open(0).expect("the fake device opens");
    let stream = Arc::new(CudaStream::new(&context).expect("it has streams"));
    (context, stream)
}

#[test]
fn the_device_is_described() {
    with_fake_driver("the_device_is_described", || {
        let devices = cuda::devices();
        let [device] = devices.as_slice() else {
            panic!("{devices:?}")
        };
        assert_eq!((device.ordinal, device.name.as_str()), (0, "Fake GPU"));
        assert_eq!(device.memory_bytes, 1 << 30);
        assert_eq!(device.driver_version, (13, 1));
        assert_eq!(device.multiprocessors, 160);
        assert_eq!(device.compute_capability, (750, 760));
        assert_eq!(
            (device.l2_bytes, device.shared_bytes_per_block_optin),
            (380, 970)
        );
        assert!(!device.memory_pools);

        let error = cuda::device_info(7).expect_err("there is one device");
        assert_eq!(error.kind(), CudaErrorKind::NoDevice);
        assert!(
            error
                .to_string()
                .contains("device 7 was asked for, the only device is 0"),
            "{error}"
        );
    });
}

#[test]
fn all_arguments_arrive() {
    with_fake_driver("all_arguments_arrive", || {
        type Clamp = extern "C" fn(
            u64,
            f64,
            u32,
            f32,
            u64,
            f64,
            u64,
            f64,
            u64,
            f64,
            u64,
            f64,
            u64,
            f64,
            u8,
            f64,
            u64,
            f64,
            u64,
            f64,
        ) -> u32;
        // SAFETY: the fake driver's function has this signature.
        let function: Clamp =
            unsafe { std::mem::transmute(cust::sys::cuTexRefSetMipmapLevelClamp as *const c_void) };
        // By the slow way, then by the fast one.
        for _ in 0..2 {
            let first_wrong = function(
                1, 2.0, 3, 4.0, 5, 6.0, 7, 8.0, 9, 10.0, 11, 12.0, 13, 14.0, 15, 16.0, 17, 18.0,
                19, 20.0,
            );
            assert_eq!(first_wrong, 0);
        }
        assert_eq!(
            function(
                1, 2.0, 3, 4.0, 5, 6.0, 7, 8.0, 9, 10.0, 11, 12.0, 13, 14.0, 15, 16.5, 17, 18.0,
                19, 20.0
            ),
            16
        );
    });
}

#[test]
fn threads_race_to_the_first_call() {
    with_fake_driver("threads_race_to_the_first_call", || {
        const THREADS: u32 = 16;
        let start = std::sync::Barrier::new(THREADS as usize);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    start.wait();
                    assert_eq!(cust::init(cust::CudaFlags::empty()), Ok(()));
                });
            }
        });
        // SAFETY: the fake driver's function takes nothing and returns a number.
        let inits: extern "C" fn() -> u32 =
            unsafe { std::mem::transmute(cust::sys::cuProfilerStop as *const c_void) };
        assert_eq!(inits(), THREADS);
    });
}

#[test]
fn contexts_are_shared_and_current_everywhere() {
    with_fake_driver("contexts_are_shared_and_current_everywhere", || {
        let (context, _stream) = open();
        assert!(Arc::ptr_eq(
            &context,
            &CudaContext::open(0).expect("it opens again")
        ));
        let error = CudaContext::open(1).expect_err("there is one device");
        assert_eq!(error.kind(), CudaErrorKind::NoDevice);
        // Another library sets its own context, on this thread or on a new one.
        for _ in 0..2 {
            // SAFETY: the fake driver takes any number.
            unsafe { cust::sys::cuCtxSetCurrent(std::ptr::without_provenance_mut(64)) };
            context.make_current().expect("it can be set");
            let mut current = std::ptr::null_mut();
            // SAFETY: the function writes one handle.
            unsafe { cust::sys::cuCtxGetCurrent(&mut current) };
            assert_eq!(current.addr(), 0x1000);
        }
        thread::spawn(move || context.make_current())
            .join()
            .expect("no panic")
            .expect("it can be set");
    });
}

#[test]
fn nothing_is_asked_for_no_bytes() {
    with_fake_driver("nothing_is_asked_for_no_bytes", || {
        let (context, stream) = open();
        let memory = CudaMemory::allocate(&stream, 0).expect("no bytes are always there");
        assert_eq!(
            (memory.bytes(), memory.pointer() % cuda::DEVICE_ALIGN as u64),
            (0, 0)
        );
        assert_ne!(memory.pointer(), 0);
        let pinned = PinnedMemory::allocate(&context, 0).expect("no bytes are always there");
        assert_eq!(pinned.bytes(), 0);
        // The fake driver has no function for any of these: a call would be an error.
        let (device, host) = (memory.pointer(), pinned.pointer().as_ptr());
        // SAFETY: no bytes are touched.
        unsafe {
            stream.memset(device, 0, 0).expect("nothing to do");
            stream
                .copy_to_device(device, host, 0)
                .expect("nothing to do");
            stream.copy_to_host(host, device, 0).expect("nothing to do");
            stream
                .copy_on_device(device, device, 0)
                .expect("nothing to do");
        }
        // SAFETY: the fake driver lacks the function, so that nothing is touched.
        let error = unsafe { stream.memset(device, 0, 1) }.expect_err("a byte is something");
        assert_eq!((error.call, error.code), ("cuMemsetD8Async", 500));
        assert!(
            error
                .message
                .contains("lacks cuMemsetD8Async: a newer driver is required"),
            "{error}"
        );
    });
}

#[test]
fn too_much_memory() {
    with_fake_driver("too_much_memory", || {
        let (_context, stream) = open();
        assert_eq!(
            CudaMemory::allocate(&stream, 100)
                .expect("there is room")
                .bytes(),
            100
        );
        let error = CudaMemory::allocate(&stream, 3 << 30).expect_err("there is 1 GiB");
        assert_eq!(error.kind(), CudaErrorKind::OutOfMemory);
        assert_eq!(
            error.to_string(),
            "cuMemAlloc_v2 failed with CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"
        );
        let device = Device::cuda(0).expect("the fake device opens");
        assert_eq!(
            device
                .zeros::<u8>(3 << 30)
                .expect_err("there is 1 GiB")
                .to_string(),
            format!(
                "zeros: {} bytes of memory on cuda:0 required, {} of {} are free",
                3u64 << 30,
                1 << 29,
                1 << 30
            )
        );
    });
}

/// What the driver reads later is waited for, unless it is the library's own pinned memory; the fake driver's
/// waiting always fails, which shows where it is done.
#[test]
fn a_copy_from_pinned_memory_is_waited_for() {
    with_fake_driver("a_copy_from_pinned_memory_is_waited_for", || {
        // SAFETY: the process runs this one test, and no other thread looks at the environment.
        unsafe { env::set_var("WARPWRIGHT_FAKE_SYNCHRONIZE", "999") };
        let device = Device::cuda(0).expect("the fake device opens");
        let mut vector = device.upload(&[1u8, 2, 3]).expect("this is not pinned");
        let error = vector.upload(&[0xfa, 2, 3]).expect_err("this is");
        assert!(matches!(error, Error::Driver { code: 999, .. }), "{error}");
        let mut pinned = device.pinned(3).expect("there is room");
        pinned.as_mut_slice().expect("nothing is under way")[0] = 0xfa;
        vector
            .upload_pinned(&mut pinned)
            .expect("it is not waited for");
        // The memory stays out of reach until the copy is known to be done, and is not given back before.
        for _ in 0..3 {
            let error = pinned.as_mut_slice().expect_err("the copy may go on");
            assert!(matches!(error, Error::Driver { code: 999, .. }), "{error}");
        }
        drop(pinned);
        // SAFETY: the fake driver's function takes nothing and returns a number.
        let frees: extern "C" fn() -> u32 =
            unsafe { std::mem::transmute(cust::sys::cuProfilerStart as *const c_void) };
        assert_eq!(frees(), 0);
        drop(device.pinned::<u8>(3).expect("there is room"));
        assert_eq!(frees(), 1);
    });
}

fn auto_after(code: &str) -> crate::Result<Device> {
    // SAFETY: the process runs this one test, and no other thread looks at the environment.
    unsafe { env::set_var("WARPWRIGHT_FAKE_INIT", code) };
    Device::auto()
}

#[test]
fn auto_takes_the_cpu_where_there_is_no_device() {
    with_fake_driver("auto_takes_the_cpu_where_there_is_no_device", || {
        let device = auto_after("100").expect("the CPU");
        assert_eq!(device.kind(), DeviceKind::Cpu);
    });
}

#[test]
fn auto_reports_a_driver_that_does_not_fit() {
    with_fake_driver("auto_reports_a_driver_that_does_not_fit", || {
        let error = auto_after("803").expect_err("there is a GPU");
        assert!(matches!(error, Error::NoDevice { .. }), "{error}");
        assert!(error.to_string().contains("cuInit failed with"), "{error}");
        assert!(error.to_string().contains("803"), "{error}");
    });
}

#[test]
fn auto_reports_a_driver_that_fails() {
    with_fake_driver("auto_reports_a_driver_that_fails", || {
        let error = auto_after("999").expect_err("there is a GPU");
        assert!(matches!(error, Error::Driver { code: 999, .. }), "{error}");
    });
}

#[test]
fn unknown_codes_are_told() {
    with_fake_driver("unknown_codes_are_told", || {
        let (_context, stream) = open();
        let error = stream
            .synchronize()
            .expect_err("the fake driver returns 226");
        assert_eq!(
            (error.code, error.name.as_str()),
            (226, "CUDA_ERROR_CONTAINED")
        );
        assert_eq!(error.kind(), CudaErrorKind::DeviceFault);
    });
}

#[test]
fn modules_and_launches() {
    with_fake_driver("modules_and_launches", || {
        let (context, stream) = open();
        let error = CudaModule::from_ptx(&context, "bad").expect_err("the fake driver refuses it");
        assert_eq!((error.code, error.kind()), (218, CudaErrorKind::Module));
        assert!(error.message.ends_with("line 1; fatal: bad"), "{error}");
        let error = CudaModule::from_ptx(&context, "a\0b").expect_err("NUL ends a C string");
        assert_eq!(error.kind(), CudaErrorKind::Module);

        let module = CudaModule::from_ptx(&context, "good").expect("the fake driver takes it");
        let error = module
            .get_function("other")
            .expect_err("there is one kernel");
        assert!(error.to_string().contains("\"other\""), "{error}");
        assert!(module.get_function("ker\0nel").is_err());
        let function = module.get_function("kernel").expect("this one");
        let attributes = function.attributes();
        assert_eq!(
            (
                attributes.max_threads_per_block,
                attributes.static_shared_bytes
            ),
            (100, 101)
        );
        assert_eq!((attributes.local_bytes, attributes.registers), (103, 104));

        let value = 0x0123_4567_89ab_cdef_u64;
        let params = [(&raw const value).cast::<c_void>()];
        let (grid, block) = ([1, 2, 3], [4, 5, 6]);
        // SAFETY: nothing is run; the parameter is readable.
        unsafe { function.launch(grid, block, 60_000, &stream, &params) }.expect("as expected");
        // SAFETY: as above.
        let error = unsafe { function.launch(grid, block, 200_000, &stream, &params) }
            .expect_err("more than the device has");
        assert_eq!(error.call, "cuFuncSetAttribute");
        assert!(
            error
                .message
                .contains("200000 bytes of dynamic shared memory"),
            "{error}"
        );
        // SAFETY: as above.
        let error = unsafe { function.launch([0, 1, 1], block, 0, &stream, &params) }
            .expect_err("no blocks");
        assert_eq!(error.kind(), CudaErrorKind::LaunchLimits);
        assert!(
            error.message.contains("kernel kernel with grid [0, 1, 1]"),
            "{error}"
        );
    });
}

/// What `auto` launches for a sum, asked of a device of compute capability `major`.0 that refuses machine code with
/// `refusal`; and the modules of PTX and of machine code that were loaded for it.
fn load_a_kernel(major: &str, refusal: Option<&str>) -> (crate::Result<u32>, [u32; 2]) {
    // SAFETY: the process runs this one test, and no other thread looks at the environment.
    unsafe {
        env::set_var("WARPWRIGHT_FAKE_MAJOR", major);
        if let Some(code) = refusal {
            env::set_var("WARPWRIGHT_FAKE_CODE", code);
        }
    }
    let backend = CudaBackend::open(0).expect("the fake device opens");
    let kernel = <reduce::Sum<f32> as reduce::Kernels>::FIRST
        .into_iter()
        .find(|kernel| kernel.name.starts_with("reduce_best__"))
        .expect("the last rung");
    let blocks = backend.resident_blocks("sum", (kernel, None), 256, 0);
    // Loaded once, whatever of.
    if blocks.is_ok() {
        backend
            .resident_blocks("sum", (kernel, None), 256, 0)
            .expect("as before");
    }
    // SAFETY: the fake driver's function takes and returns a number.
    let loads: extern "C" fn(u32) -> u32 =
        unsafe { std::mem::transmute(cust::sys::cuCtxGetCacheConfig as *const c_void) };
    (blocks, [loads(0), loads(1)])
}

#[test]
fn machine_code_is_taken_where_it_is_for_the_device() {
    with_fake_driver("machine_code_is_taken_where_it_is_for_the_device", || {
        let (blocks, loaded) = load_a_kernel("9", None);
        assert_eq!((blocks.expect("loaded"), loaded), (3, [0, 1]));
    });
}

#[test]
fn ptx_is_taken_where_there_is_no_code_for_the_device() {
    with_fake_driver("ptx_is_taken_where_there_is_no_code_for_the_device", || {
        let (blocks, loaded) = load_a_kernel("10", None);
        assert_eq!((blocks.expect("loaded"), loaded), (3, [1, 0]));
    });
}

#[test]
fn ptx_is_taken_where_the_driver_refuses_the_code() {
    with_fake_driver("ptx_is_taken_where_the_driver_refuses_the_code", || {
        let (blocks, loaded) = load_a_kernel("9", Some("209"));
        assert_eq!((blocks.expect("loaded"), loaded), (3, [1, 0]));
    });
}

#[test]
fn ptx_is_taken_where_it_is_asked_for() {
    with_fake_driver("ptx_is_taken_where_it_is_asked_for", || {
        let folder = env::temp_dir().join(format!("warpwright-ptx-{}", std::process::id()));
        let text =
            crate::module::packed_kernel("reduce_best__sum_f32", (9, 0)).expect("it is packed");
        std::fs::create_dir_all(folder.join("sm_75")).expect("a folder");
        std::fs::write(folder.join("sm_75/reduce.ptx"), text).expect("a file");
        // SAFETY: the process runs this one test, and no other thread looks at the environment.
        unsafe { env::set_var("WARPWRIGHT_PTX_DIR", &folder) };
        let (blocks, loaded) = load_a_kernel("9", None);
        std::fs::remove_dir_all(folder).expect("it was there");
        assert_eq!((blocks.expect("loaded"), loaded), (3, [1, 0]));
    });
}

#[test]
fn another_error_of_loading_code_is_told() {
    with_fake_driver("another_error_of_loading_code_is_told", || {
        let (blocks, loaded) = load_a_kernel("9", Some("2"));
        let error = blocks.expect_err("the driver has no memory");
        assert!(matches!(error, Error::Driver { code: 2, .. }), "{error}");
        assert_eq!(loaded, [0, 0]);
    });
}
