//! `cust` against Rust-CUDA's crate of the same name, as published (0.3.2).
//!
//! `published-cust/signatures.rs` states names with their types and numbers. They are compiled twice, with `c` as the one crate
//! and as the other: here, and by a test here in a crate of its own, outside of the workspace. What both have must take the
//! same types, with the same `unsafe`. Where Rust-CUDA's main branch has moved on from that release the project's crate follows
//! the branch; those names stand at the end, with the branch's types. Nothing is run: what ours does is tested in its own
//! folder.
#![allow(
    clippy::type_complexity,
    reason = "signatures stand as the crates have them"
)]

use std::process::Command;
use std::{env, fs};

use cust as c;

/// The errors with their numbers, as the published crate has them.
macro_rules! same_errors {
    ($($name:ident = $number:literal,)*) => {
        const ERRORS: &[(CudaError, u32)] = &[$( (CudaError::$name, $number) ),*];
    };
}

include!("../published-cust/signatures.rs");

#[test]
fn errors_have_the_same_names_and_numbers() {
    assert!(ERRORS.len() > 50);
    for (error, number) in ERRORS {
        assert_eq!(error.code(), *number, "{error:?}");
        assert_eq!(CudaError::from_code(*number), *error);
    }
}

#[test]
fn no_list_of_names_is_empty() {
    let lists = [
        START,
        CONTEXTS,
        LEGACY_CONTEXTS,
        DEVICES,
        MODULES,
        FUNCTIONS,
        STREAMS,
        BUFFERS,
        BOXES,
        UNIFIED,
        POINTERS,
    ];
    assert!(
        lists.iter().sum::<usize>() >= 230 && !lists.contains(&0),
        "{lists:?}"
    );
}

/// The published crate's build script wants to see a toolkit, which is a folder with another in it. It is not linked.
#[test]
fn the_published_crate_has_these_names() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("published-cust");
    let toolkit = target.join("toolkit");
    fs::create_dir_all(toolkit.join("lib64")).expect("a folder");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let output = Command::new(cargo)
        .args(["check", "--quiet", "--locked"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("published-cust"))
        .env("CARGO_TARGET_DIR", &target)
        .env("CUDA_LIBRARY_PATH", &toolkit)
        .output()
        .expect("cargo starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Where Rust-CUDA's main branch has other types than the release, or more names.
mod main_branch {
    use cust::device::Device;
    use cust::error::CudaResult;
    use cust::event::Event;
    use cust::memory::*;
    use cust::module::{Module, ModuleJitOption};
    use cust::stream::{Stream, StreamWaitEventFlags};
    use cust::sys;
    use std::ffi::c_void;

    same! { NAMES:
        Device::uuid => fn(Device) -> CudaResult<[u8; 16]>;
        Module::as_inner => fn(&Module) -> sys::CUmodule;
        Stream::as_inner => fn(&Stream) -> sys::CUstream;
        Stream::wait_event => fn(&Stream, &Event, StreamWaitEventFlags) -> CudaResult<()>;
        Stream::add_callback::<fn(CudaResult<()>)> => fn(&Stream, Box<fn(CudaResult<()>)>) -> CudaResult<()>;
        ModuleJitOption::GenerateDebugInfo => fn(bool) -> ModuleJitOption;
        ModuleJitOption::Target => fn(sys::CUjit_target) -> ModuleJitOption;
        ModuleJitOption::into_raw => fn(&[ModuleJitOption]) -> (Vec<sys::CUjit_option>, Vec<*mut c_void>);
        DeviceSlice::<u32>::from_raw_parts => unsafe fn(DevicePointer<u32>, usize) -> &'static DeviceSlice<u32>;
        DeviceSlice::<u32>::from_raw_parts_mut => unsafe fn(DevicePointer<u32>, usize) -> &'static mut DeviceSlice<u32>;
        LockedBox::<u32>::as_raw => fn(&LockedBox<u32>) -> *mut u32;
        memcpy_dtoh => unsafe fn(*mut c_void, sys::CUdeviceptr, usize) -> CudaResult<()>;
        memcpy_2d_htod::<u32> => unsafe fn(DevicePointer<u32>, usize, *const u32, usize, usize, usize) -> CudaResult<()>;
        memcpy_2d_dtoh::<u32> => unsafe fn(*mut u32, usize, DevicePointer<u32>, usize, usize, usize) -> CudaResult<()>;
        cuda_malloc_pitched::<u32> => unsafe fn(usize, usize) -> CudaResult<(DevicePointer<u32>, usize)>;
    }

    #[test]
    fn names_of_the_main_branch_are_there() {
        assert_eq!(NAMES, 15);
    }
}
