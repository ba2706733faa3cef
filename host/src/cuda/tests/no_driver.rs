//! What happens where there is no driver, or something else in its place.

use super::with_library;
use crate::cuda::{self, CudaContext, CudaErrorKind};

#[test]
fn no_library() {
    with_library(
        "no_driver::no_library",
        || "/nonexistent/libcuda.so.1".into(),
        || {
            assert_eq!(cuda::devices(), []);
            let error = cuda::init().expect_err("no driver, no start");
            assert_eq!((error.call, error.code), ("cuInit", 100));
            assert_eq!(error.name, "CUDA_ERROR_NO_DEVICE");
            assert_eq!(error.kind(), CudaErrorKind::NoDriver);
            assert!(
                error.message.contains("/nonexistent/libcuda.so.1"),
                "{error}"
            );
            assert!(error.message.contains("WARPWRIGHT_LIBCUDA"), "{error}");
            assert_eq!(CudaContext::open(0).expect_err("no device either"), error);
            assert!(cuda::driver_library().is_err());
            // Code that calls `cust` by itself gets on as well.
            assert_eq!(
                cust::init(cust::CudaFlags::empty()),
                Err(cust::error::CudaError::NoDevice)
            );
        },
    );
}

#[test]
fn not_a_library() {
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/driver-door/symbols.txt");
    with_library(
        "no_driver::not_a_library",
        || text.into(),
        || {
            let error = cuda::init().expect_err("a text is no driver");
            assert_eq!(error.kind(), CudaErrorKind::NoDriver, "{error}");
            assert!(error.message.contains("symbols.txt"), "{error}");
            assert_eq!(cuda::devices(), []);
        },
    );
}

#[test]
fn another_library() {
    with_library(
        "no_driver::another_library",
        || "libm.so.6".into(),
        || {
            let error = cuda::init().expect_err("the C library's mathematics is no driver");
            assert_eq!((error.call, error.code), ("cuInit", 500));
            assert_eq!(error.name, "CUDA_ERROR_NOT_FOUND");
            assert!(error.message.contains("libm.so.6 lacks cuInit"), "{error}");
            assert_eq!(cuda::devices(), []);
            assert_eq!(cuda::driver_library(), Ok("libm.so.6"));
        },
    );
}
