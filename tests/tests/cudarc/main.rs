//! One program with `warpwright` and the crate `cudarc`, which opens the driver by itself: on mock devices, and on a
//! card. One in which `cudarc` links the driver is in `package.rs`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::env;
use std::path::Path;
use std::process::Command;

use warpwright::Error;
use warpwright_tests::devices::{self, Executor};
use warpwright_tests::faults::{self, Behind, Driver};

mod calls;

include!("share.rs");

/// Tells a process that it is a child.
const CHILD: &str = "WARPWRIGHT_TEST_CHILD";

#[test]
fn child() {
    if faults::is_child().is_some() {
        let driver = faults::driver(Behind::RealDriver).expect("a driver");
        calls::in_place(&driver, Behind::RealDriver).expect("no call fails");
        println!("{SHARED}");
    }
    if env::var_os(CHILD).is_some_and(|name| name == "cudarc") {
        let driver = Driver::open(Path::new("libcuda.so.1")).expect("the dynamic linker finds it");
        driver.devices(1, 1 << 30);
        share(false).expect("no call fails");
        lend(false).expect("no call fails");
        give(&driver).expect("no call fails");
        calls::in_place(&driver, Behind::Mock).expect("no call fails");
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
    lend(true).expect("no call fails");
}

/// Prints the calls, of which `docs/AT-HOME.md` shows those of a card.
#[test]
fn nothing_is_copied_and_nobody_waits_on_the_real_driver() {
    if Executor::Cuda.devices().is_empty() {
        devices::leave_out(1);
        return;
    }
    let mut program = Command::new(env::current_exe().expect("a path"));
    program.args(["child", "--exact", "--nocapture"]);
    match faults::in_child(&mut program, Behind::RealDriver) {
        Ok(output) => {
            assert!(output.contains(SHARED), "{output}");
            print!("{output}");
        }
        Err(why) => panic!("{why}"),
    }
}

/// Memory of `cudarc` is used where it is, in order with the streams of `cudarc`. `kernels`: whether the device runs kernels.
fn lend(kernels: bool) -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::cuda(0)?;
    let theirs = CudaContext::new(0)?;
    let (stream, other) = (theirs.new_stream()?, theirs.new_stream()?);
    for stream in [&stream, &theirs.default_stream()] {
        let mut slice = stream.clone_htod(&[3_u32, 1, 2, 9])?;
        let lent = device.cudarc_view(&slice)?;
        assert_eq!(lent.view().to_vec()?, [3, 1, 2, 9]);
        assert_eq!(
            lent.view().device().cuda_stream(),
            Some(stream.cu_stream().cast())
        );
        if kernels {
            assert_eq!(device.sum(lent.view())?, 15);
        }
        drop(lent);
        let part = slice.slice(1..3);
        assert_eq!(device.cudarc_view(&part)?.view().to_vec()?, [1, 2]);
        let mut lent = device.cudarc_view_mut(&mut slice)?;
        lent.view_mut().upload(&[7, 8, 9, 10])?;
        assert_eq!(lent.view().to_vec()?, [7, 8, 9, 10]);
        drop(lent);
        assert_eq!(other.clone_dtoh(&slice)?, [7, 8, 9, 10]);
        let mut part = slice.slice_mut(2..);
        device.cudarc_view_mut(&mut part)?.view_mut().clear()?;
        assert_eq!(stream.clone_dtoh(&slice)?, [7, 8, 0, 0]);
        if kernels {
            let mut lent = device.cudarc_view_mut(&mut slice)?;
            let sorted = device.sort_in_place(lent.view_mut());
            sorted?;
            drop(lent);
            assert_eq!(other.clone_dtoh(&slice)?, [0, 0, 7, 8]);
            other.memcpy_htod(&[7, 8, 0, 0], &mut slice)?;
        }
        let vector = device.cudarc_vector(slice)?;
        assert_eq!(vector.to_vec()?, [7, 8, 0, 0]);
        drop(vector);
    }
    let none = stream.null::<f32>()?;
    assert_eq!(device.cudarc_view(&none)?.view().len(), 0);
    // The handle of this stream means another stream in another thread.
    let mut each_thread = theirs.per_thread_stream().null::<f32>()?;
    let refused = |error: Option<Error>| {
        let text = error.expect("an error").to_string();
        assert!(text.contains("`per_thread_stream`"), "{text}");
    };
    refused(device.cudarc_view(&each_thread).err());
    refused(device.cudarc_view_mut(&mut each_thread).err());
    refused(device.cudarc_vector(each_thread).err());
    theirs.check_err()?;
    Ok(())
}

/// A slice that is given away is freed in order, and the host does not wait. Memory of another device is refused.
fn give(driver: &Driver) -> Result<(), Box<dyn std::error::Error>> {
    driver.devices(2, 1 << 30);
    let device = Device::cuda(0)?;
    let stream = CudaContext::new(0)?.new_stream()?;
    let slice = stream.clone_htod(&[3_u32, 1, 2])?;
    let (vector, made) = driver.calls_of(|| device.cudarc_vector(slice));
    let waits = |calls: &[String]| calls.iter().any(|call| call.contains("Synchronize"));
    assert!(!waits(&made), "{made:?}");
    let vector = vector?;
    let ((), made) = driver.calls_of(|| drop(vector));
    assert!(
        made.iter().any(|call| call.starts_with("cuMemFreeAsync")),
        "{made:?}"
    );
    assert!(!waits(&made), "{made:?}");
    let elsewhere = CudaContext::new(1)?.new_stream()?.clone_htod(&[1_u32])?;
    let error = device.cudarc_view(&elsewhere).expect_err("another device");
    assert!(
        error.to_string().contains("primary context of cuda:0"),
        "{error}"
    );
    Ok(())
}
