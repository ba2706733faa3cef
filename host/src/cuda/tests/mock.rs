//! Tests with the mock driver of the workspace's `tests/fault-driver`. They compile it, and the dynamic linker finds it
//! before any other driver.

use super::compile::compiled;
use super::levers::{Driver, Plan};
use super::with_variable;
use crate::cuda::{
    self, CudaContext, CudaErrorKind, CudaMemory, CudaModule, CudaStream, PinnedMemory,
};
use crate::cuda_backend::CudaBackend;
use crate::{Device, DeviceKind, Error};
use cuda_std::tensor_map::{Swizzle, TiledMatrix};
use cust::device::DeviceAttribute;
use cust::sys;
use std::ffi::{OsString, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{env, fs, ptr, thread};
use warpwright_gpu::reduce;

/// The file name that the dynamic linker looks for.
const DRIVER: &str = "libcuda.so.1";
/// The variable with the folders that the dynamic linker searches first.
const FOLDERS: &str = "LD_LIBRARY_PATH";

/// `CUDA_ERROR_UNKNOWN`.
const UNKNOWN: u32 = 999;

const PTX: &str = ".version 6.3\n.target sm_75\n.entry kernel(.param .u64 x)\n{ ret; }\n";

/// Returns the folder of the mock driver. If `WARPWRIGHT_FAULT_DRIVER` names the driver, its file name must be the one that
/// the dynamic linker looks for.
fn folder() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = Path::new(env!("OUT_DIR")).join("fault-driver");
        if env::var_os("WARPWRIGHT_FAULT_DRIVER").is_none() {
            fs::create_dir_all(&folder).expect("a folder for the driver");
        }
        let library = compiled(&workspace, &folder.join(DRIVER));
        let name = library.file_name().unwrap_or_default();
        assert_eq!(name, DRIVER, "{}", library.display());
        library.parent().unwrap_or(&folder).to_owned()
    };
    PATH.get_or_init(make).clone()
}

/// Runs `body` in its own process, with one device of 1 GiB.
fn with_driver(test: &str, body: fn(&Driver)) {
    let folders = || {
        let given = env::var_os(FOLDERS).unwrap_or_default();
        let folders = [folder()].into_iter().chain(env::split_paths(&given));
        let folders = env::join_paths(folders).unwrap_or_else(|_| OsString::from(folder()));
        (FOLDERS, folders)
    };
    with_variable(&format!("mock::{test}"), folders, || {
        let driver = Driver::open(Path::new(DRIVER)).expect("the driver is found");
        driver.devices(1, 1 << 30);
        body(&driver);
        assert_eq!(cust::driver::library(), Ok(DRIVER));
    });
}

fn open() -> (Arc<CudaContext>, Arc<CudaStream>) {
    let context = CudaContext::open(0).expect("the device opens");
    let stream = Arc::new(CudaStream::new(&context).expect("it has streams"));
    (context, stream)
}

#[test]
fn the_device_is_described() {
    with_driver("the_device_is_described", |driver| {
        // An attribute that this driver does not know.
        driver.attribute(DeviceAttribute::L2CacheSize as i32, -1);
        let devices = cuda::devices();
        let [device] = devices.as_slice() else {
            panic!("{devices:?}")
        };
        let name = (device.ordinal, device.name.as_str());
        assert_eq!(name, (0, "Mock GPU"));
        assert_eq!(device.memory_bytes, 1 << 30);
        assert_eq!(device.driver_version, (13, 1));
        assert_eq!(device.multiprocessors, 4);
        assert_eq!(device.compute_capability, (8, 0));
        let shared = (
            device.shared_bytes_per_block,
            device.shared_bytes_per_block_optin,
        );
        assert_eq!((device.l2_bytes, shared), (0, (48 << 10, 227 << 10)));
        assert!(device.memory_pools);

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
fn contexts_are_shared_and_current_everywhere() {
    with_driver("contexts_are_shared_and_current_everywhere", |driver| {
        let (context, _stream) = open();
        let again = CudaContext::open(0).expect("it opens again");
        assert!(Arc::ptr_eq(&context, &again));
        assert_eq!(driver.live()[0], 1, "it is retained once");
        let error = CudaContext::open(1).expect_err("there is one device");
        assert_eq!(error.kind(), CudaErrorKind::NoDevice);
        let current = || {
            let mut current = ptr::null_mut();
            // SAFETY: the function writes one handle.
            assert_eq!(unsafe { sys::cuCtxGetCurrent(&mut current) }, 0);
            current
        };
        let ours = current();
        // Another library sets its own context, on this thread or on a new one.
        for _ in 0..2 {
            // SAFETY: the mock driver accepts any number.
            unsafe { sys::cuCtxSetCurrent(ptr::without_provenance_mut(64)) };
            context.make_current().expect("it can be set");
            assert_eq!(current(), ours);
        }
        thread::spawn(move || context.make_current())
            .join()
            .expect("no panic")
            .expect("it can be set");
    });
}

#[test]
fn tensor_maps_are_encoded_on_every_thread() {
    with_driver("tensor_maps_are_encoded_on_every_thread", |_driver| {
        let (context, _stream) = open();
        let matrix = TiledMatrix {
            address: 1 << 20,
            element_bytes: 2,
            sizes: [64, 64],
            stride: 128,
            tile: [64, 64],
            swizzle: Swizzle::Bytes128,
            stack: None,
            to_tf32: false,
        };
        // On a thread that has no context yet.
        thread::spawn(move || cuda::encode_tensor_map(&context, &matrix))
            .join()
            .expect("no panic")
            .expect("a map");
    });
}

#[test]
fn nothing_is_asked_for_no_bytes() {
    with_driver("nothing_is_asked_for_no_bytes", |driver| {
        let (context, stream) = open();
        let ((), calls) = driver.calls_of(|| {
            let memory = CudaMemory::allocate(&stream, 0).expect("no bytes are always there");
            let place = memory.pointer() % cuda::DEVICE_ALIGN as u64;
            assert_eq!((memory.bytes(), place), (0, 0));
            assert_ne!(memory.pointer(), 0);
            let pinned = PinnedMemory::allocate(&context, 0).expect("no bytes are always there");
            assert_eq!(pinned.bytes(), 0);
            let (device, host) = (memory.pointer(), pinned.pointer().as_ptr());
            // SAFETY: no bytes are accessed.
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
        });
        assert_eq!(calls, [""; 0]);
    });
}

#[test]
fn a_driver_that_lacks_a_function_is_too_old() {
    with_driver("a_driver_that_lacks_a_function_is_too_old", |driver| {
        driver.lack(c"cuMemsetD8Async");
        driver.lack(c"cuDeviceGetDefaultMemPool");
        let (_context, stream) = open();
        let (memory, calls) = driver.calls_of(|| CudaMemory::allocate(&stream, 8));
        let memory = memory.expect("there is room, if not in a pool");
        assert_eq!(calls, ["cuCtxGetCurrent", "cuMemAlloc_v2 8"]);
        // SAFETY: the driver lacks the function, so no memory is accessed.
        let error = unsafe { stream.memset(memory.pointer(), 0, 1) }.expect_err("there is none");
        assert_eq!(
            error.to_string(),
            "cuMemsetD8Async: the CUDA driver libcuda.so.1 has no function cuMemsetD8Async: a newer driver is required"
        );
        assert!((100_200..100_400).contains(&error.code()), "{error:?}");
        assert_eq!(error.kind(), CudaErrorKind::Other);
        let ((), calls) = driver.calls_of(|| drop(memory));
        assert_eq!(calls, ["cuCtxGetCurrent", "cuMemFree_v2"]);
        assert_eq!(driver.wrong(), "");
    });
}

#[test]
fn too_much_memory() {
    with_driver("too_much_memory", |driver| {
        driver.attribute(DeviceAttribute::MemoryPoolsSupported as i32, 0);
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
            "cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY (2)"
        );
        let device = Device::cuda(0).expect("the device opens");
        let error = device.zeros::<u8>(3 << 30).expect_err("there is 1 GiB");
        let (asked, all) = (3u64 << 30, 1 << 30);
        assert_eq!(
            error.to_string(),
            format!("zeros: {asked} bytes of memory on cuda:0 required, {all} are free")
        );
    });
}

/// A copy whose source the driver reads later is waited for, unless the source is the library's own pinned memory. Here
/// waiting always fails, which shows where it is done.
#[test]
fn a_copy_from_pinned_memory_is_waited_for() {
    with_driver("a_copy_from_pinned_memory_is_waited_for", |driver| {
        let pinned_pieces = || driver.live()[4];
        let device = Device::cuda(0).expect("the device opens");
        let mut vector = device.upload(&[1u8, 2, 3]).expect("memory");
        let mut elsewhere = device.pinned(3).expect("there is room");
        let mut pinned = device.pinned::<u8>(3).expect("there is room");
        driver.answer(c"cuStreamSynchronize", UNKNOWN);
        vector.upload(&[4, 5, 6]).expect("this is not pinned");
        let values = elsewhere.as_mut_slice().expect("nothing is under way");
        let error = vector.upload(values).expect_err("this is");
        assert!(
            matches!(error, Error::Driver { code: UNKNOWN, .. }),
            "{error}"
        );
        vector
            .upload_pinned(&mut pinned)
            .expect("it is not waited for");
        // The memory stays inaccessible until the copy is known to be done, and is not freed before.
        for _ in 0..3 {
            let error = pinned.as_mut_slice().expect_err("the copy may go on");
            assert!(
                matches!(error, Error::Driver { code: UNKNOWN, .. }),
                "{error}"
            );
        }
        drop(pinned);
        assert_eq!(pinned_pieces(), 2);
        drop(device.pinned::<u8>(3).expect("there is room"));
        drop(elsewhere);
        assert_eq!(pinned_pieces(), 1);
    });
}

/// Opens `auto` with a driver whose first call fails with `code`.
fn auto_after(driver: &Driver, code: u32) -> crate::Result<Device> {
    driver.answer(c"cuInit", code);
    Device::auto()
}

#[test]
fn auto_takes_the_cpu_where_there_is_no_device() {
    with_driver("auto_takes_the_cpu_where_there_is_no_device", |driver| {
        let device = auto_after(driver, 100).expect("the CPU");
        assert_eq!(device.kind(), DeviceKind::Cpu);
    });
}

#[test]
fn auto_reports_a_driver_that_does_not_fit() {
    with_driver("auto_reports_a_driver_that_does_not_fit", |driver| {
        let error = auto_after(driver, 803).expect_err("there is a GPU");
        assert!(matches!(error, Error::NoDevice { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("cuInit failed with CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)"),
            "{text}"
        );
    });
}

#[test]
fn auto_reports_a_driver_that_fails() {
    with_driver("auto_reports_a_driver_that_fails", |driver| {
        let error = auto_after(driver, UNKNOWN).expect_err("there is a GPU");
        assert!(
            matches!(error, Error::Driver { code: UNKNOWN, .. }),
            "{error}"
        );
    });
}

#[test]
fn errors_of_newer_drivers_are_told() {
    with_driver("errors_of_newer_drivers_are_told", |driver| {
        let (_context, stream) = open();
        for (code, kind, text) in [
            (
                226,
                CudaErrorKind::DeviceFault,
                "CUDA_ERROR_CONTAINED (226)",
            ),
            (4711, CudaErrorKind::Other, "unrecognized error (4711)"),
        ] {
            driver.answer(c"cuStreamSynchronize", code);
            let error = stream.synchronize().expect_err("what the driver returns");
            assert_eq!((error.code(), error.kind()), (code, kind));
            let whole = format!("cuStreamSynchronize failed with {text}");
            assert_eq!(error.to_string(), whole);
        }
    });
}

#[test]
fn modules_and_launches() {
    with_driver("modules_and_launches", |driver| {
        let (context, stream) = open();
        let error = CudaModule::from_ptx(&context, "bad").expect_err("the driver refuses it");
        assert_eq!((error.code(), error.kind()), (218, CudaErrorKind::Module));
        assert!(
            error.to_string().ends_with(": ptxas fatal: line 1: bad"),
            "{error}"
        );
        let error = CudaModule::from_ptx(&context, "a\0b").expect_err("NUL ends a C string");
        assert_eq!(error.kind(), CudaErrorKind::Module);

        let module = CudaModule::from_ptx(&context, PTX).expect("the driver takes it");
        let error = module
            .get_function("other")
            .expect_err("there is one kernel");
        assert_eq!(error.code(), 500);
        assert!(error.to_string().contains("\"other\""), "{error}");
        assert!(module.get_function("ker\0nel").is_err());
        let function = module.get_function("kernel").expect("this one");
        let attributes = function.attributes();
        assert_eq!(
            (
                attributes.max_threads_per_block,
                attributes.static_shared_bytes
            ),
            (1024, 0)
        );
        assert_eq!((attributes.local_bytes, attributes.registers), (0, 32));

        let value = 0x0123_4567_89ab_cdef_u64;
        let params = [(&raw const value).cast::<c_void>()];
        let (grid, block) = ([1, 2, 3], [4, 5, 6]);
        // SAFETY: nothing is run; the parameter is readable.
        let launch =
            |grid, shared| unsafe { function.launch(grid, block, shared, &stream, &params) };
        let (launched, calls) = driver.calls_of(|| launch(grid, 60_000));
        launched.expect("the device has that much");
        assert_eq!(
            calls,
            [
                "cuCtxGetCurrent",
                "cuFuncSetAttribute",
                "cuLaunchKernel kernel [1, 2, 3] [4, 5, 6] 60000 (0x123456789abcdef)",
            ]
        );
        let error = launch(grid, 300_000).expect_err("more than the device has");
        assert_eq!(error.call, "cuFuncSetAttribute");
        assert!(
            error
                .to_string()
                .contains("300000 bytes of dynamic shared memory"),
            "{error}"
        );
        let error = launch([0, 1, 1], 0).expect_err("no blocks");
        assert_eq!(error.kind(), CudaErrorKind::LaunchLimits);
        assert!(
            error
                .to_string()
                .contains("kernel kernel with grid [0, 1, 1]"),
            "{error}"
        );
    });
}

const LOAD: &str = "cuModuleLoadDataEx";

/// Asks for the kernel that `auto` launches for a sum, on a device of compute capability `major`.0 that refuses the first
/// module with `refusal`. Returns the result, and the numbers of modules of PTX and of machine code that were loaded.
fn load_a_kernel(
    driver: &Driver,
    major: i32,
    refusal: Option<u32>,
) -> (crate::Result<u32>, [usize; 2]) {
    driver.attribute(DeviceAttribute::ComputeCapabilityMajor as i32, major);
    let backend = CudaBackend::open(0).expect("the device opens");
    let kernel = <reduce::Sum<f32> as reduce::Kernels>::BEST.descriptor();
    if let Some(code) = refusal {
        // The call fails that follows the query of the thread's context.
        driver.arm(Plan::Once, 2, code);
    }
    let ask = || backend.resident_blocks("sum", (kernel, None), 256, 0);
    let (blocks, calls) = driver.calls_of(ask);
    if refusal.is_some() {
        assert_eq!(driver.disarm().1.as_deref(), Some(LOAD));
    }
    // A kernel is loaded once, from either source.
    if blocks.is_ok() {
        let (again, calls) = driver.calls_of(ask);
        assert_eq!((again.expect("as before"), calls), (8, Vec::new()));
    }
    let count = |given: &str| calls.iter().filter(|call| *call == given).count();
    // A call that fails shows no options; the options for PTX are about line information.
    assert_eq!(count(LOAD), usize::from(refusal.is_some()));
    (
        blocks,
        [" [(13, 0)]", " []"].map(|options| count(&format!("{LOAD}{options}"))),
    )
}

#[test]
fn machine_code_is_taken_where_it_is_for_the_device() {
    with_driver(
        "machine_code_is_taken_where_it_is_for_the_device",
        |driver| {
            let (blocks, loaded) = load_a_kernel(driver, 9, None);
            assert_eq!((blocks.expect("loaded"), loaded), (8, [0, 1]));
        },
    );
}

#[test]
fn ptx_is_taken_where_there_is_no_code_for_the_device() {
    with_driver(
        "ptx_is_taken_where_there_is_no_code_for_the_device",
        |driver| {
            let (blocks, loaded) = load_a_kernel(driver, 10, None);
            assert_eq!((blocks.expect("loaded"), loaded), (8, [1, 0]));
        },
    );
}

#[test]
fn ptx_is_taken_where_the_driver_refuses_the_code() {
    with_driver("ptx_is_taken_where_the_driver_refuses_the_code", |driver| {
        let (blocks, loaded) = load_a_kernel(driver, 9, Some(209));
        assert_eq!((blocks.expect("loaded"), loaded), (8, [1, 0]));
    });
}

#[test]
fn ptx_is_taken_where_it_is_asked_for() {
    with_driver("ptx_is_taken_where_it_is_asked_for", |driver| {
        let folder = env::temp_dir().join(format!("warpwright-ptx-{}", std::process::id()));
        let text =
            crate::module::packed_kernel("reduce_best__sum_f32", (9, 0)).expect("it is packed");
        fs::create_dir_all(folder.join("sm_75")).expect("a folder");
        fs::write(folder.join("sm_75/reduce.ptx"), text).expect("a file");
        // SAFETY: the process runs only this test, and no other thread reads the environment.
        unsafe { env::set_var("WARPWRIGHT_PTX_DIR", &folder) };
        let (blocks, loaded) = load_a_kernel(driver, 9, None);
        fs::remove_dir_all(folder).expect("it was there");
        assert_eq!((blocks.expect("loaded"), loaded), (8, [1, 0]));
    });
}

#[test]
fn another_error_of_loading_code_is_told() {
    with_driver("another_error_of_loading_code_is_told", |driver| {
        let (blocks, loaded) = load_a_kernel(driver, 9, Some(2));
        let error = blocks.expect_err("the driver has no memory");
        assert!(matches!(error, Error::Driver { code: 2, .. }), "{error}");
        assert_eq!(loaded, [0, 0]);
    });
}

#[test]
fn a_driver_too_old_for_the_ptx_is_told() {
    with_driver("a_driver_too_old_for_the_ptx_is_told", |driver| {
        let device = Device::cuda(0).expect("the device opens");
        let vector = device.upload(&[1_u32, 2, 3]).expect("it has room");
        driver.answer(c"cuModuleLoadDataEx", 222);
        let error = device.sum(&vector).expect_err("the driver refuses it");
        assert!(matches!(error, Error::Driver { code: 222, .. }), "{error}");
        let text = error.to_string();
        let advice = "the driver compiles PTX of CUDA 13.1 at most: a newer driver is required";
        assert!(text.contains(advice) && text.lines().count() == 1, "{text}");
        // Nothing of the refusal is kept.
        driver.answer(c"cuModuleLoadDataEx", 0);
        device.sum(&vector).expect("the driver takes it");
    });
}

#[test]
fn a_device_that_others_reset_is_told() {
    // `CUDA_ERROR_CONTEXT_IS_DESTROYED`, which calls return after another library has reset the device.
    const DESTROYED: u32 = 709;
    with_driver("a_device_that_others_reset_is_told", |driver| {
        let device = Device::cuda(0).expect("the device opens");
        let vector = device.upload(&[1_u32, 2, 3]).expect("it has room");
        driver.answer(c"cuMemcpyDtoHAsync_v2", DESTROYED);
        let error = vector.to_vec().expect_err("the context is gone");
        let lost = matches!(
            error,
            Error::Driver {
                code: DESTROYED,
                ..
            }
        );
        assert!(lost && error.is_device_fault(), "{error}");
        let text = error.to_string();
        let told = "the context is lost, and with it the device for the rest of the process";
        assert!(text.contains(told) && text.lines().count() == 1, "{text}");
        // Objects that are dropped now are left as they are: nothing panics and nothing waits.
        drop(vector);
        drop(device);
    });
}
