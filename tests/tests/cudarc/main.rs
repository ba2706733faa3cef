//! One program with `warpwright` and the crate `cudarc`, which opens the driver by itself: on mock devices, and on a
//! card. One in which `cudarc` links the driver is in `package.rs`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::env;
use std::path::Path;
use std::process::Command;

use warpwright_tests::devices::{self, Executor};
use warpwright_tests::faults::{self, Driver};

include!("share.rs");

/// Tells a process that it is a child.
const CHILD: &str = "WARPWRIGHT_TEST_CHILD";

#[test]
fn child() {
    if env::var_os(CHILD).is_some_and(|name| name == "cudarc") {
        let driver = Driver::open(Path::new("libcuda.so.1")).expect("the dynamic linker finds it");
        driver.devices(1, 1 << 30);
        share(false).expect("no call fails");
        assert_eq!(driver.wrong(), "");
    }
}

#[test]
fn a_driver_that_both_open_is_shared() {
    let folder = faults::stand_in().expect("a folder");
    let output = Command::new(env::current_exe().expect("a path"))
        .args(["child", "--exact", "--nocapture"])
        .env(CHILD, "cudarc")
        .env_remove("WARPWRIGHT_LIBCUDA")
        .env("LD_LIBRARY_PATH", folder.path())
        .output()
        .expect("the test executable starts");
    let (printed, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success() && printed.contains(SHARED),
        "{printed}\n{errors}"
    );
}

#[test]
fn the_real_driver_is_shared() {
    if Executor::Cuda.devices().is_empty() {
        devices::leave_out(1);
        return;
    }
    share(true).expect("no call fails");
}
