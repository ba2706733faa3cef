//! A test of a program on a machine without a driver.

use std::env;

use cust::device::Device;
use cust::error::CudaError;
use cust::memory::{DeviceBuffer, mem_get_info};
use cust::module::Module;

/// One test only, because the environment belongs to the process.
#[test]
fn every_call_says_that_there_is_no_driver() {
    // SAFETY: nothing else runs in this process.
    unsafe { env::set_var("WARPWRIGHT_LIBCUDA", "there-is-no-such-library.so") };
    let error = cust::quick_init().expect_err("there is no driver");
    assert_eq!((error, error.code()), (CudaError::NoDriver, 100_102));
    let text = error.to_string();
    assert!(
        text.starts_with("no CUDA driver: WARPWRIGHT_LIBCUDA: there-is-no-such-library.so: "),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1, "{text}");
    assert_eq!(Device::num_devices(), Err(CudaError::NoDriver));
    assert_eq!(
        DeviceBuffer::from_slice(&[1]).err(),
        Some(CudaError::NoDriver)
    );
    assert_eq!(mem_get_info(), Err(CudaError::NoDriver));
    assert_eq!(Module::from_ptx("", &[]).err(), Some(CudaError::NoDriver));
    assert!(cust::driver::library().is_err() && !cust::driver::has_function("cuInit"));
    // The driver's errors have names without a driver too.
    assert_eq!(
        CudaError::OutOfMemory.to_string(),
        "CUDA_ERROR_OUT_OF_MEMORY (2)"
    );
    assert_eq!(
        CudaError::from_code(4321).to_string(),
        "unrecognized error (4321)"
    );
}
