//! Tests without a driver, or with another library in its place.

use super::{LIBRARY, with_variable};
use crate::cuda::{self, CudaContext, CudaErrorKind};

fn with_library(test: &str, library: &'static str, body: fn()) {
    let test = format!("no_driver::{test}");
    with_variable(&test, || (LIBRARY, library.into()), body);
}

#[test]
fn no_library() {
    with_library("no_library", "/nonexistent/libcuda.so.1", || {
        assert_eq!(cuda::devices(), []);
        let error = cuda::init().expect_err("no driver, no start");
        assert_eq!((error.call, error.code()), ("cuInit", 100_102));
        assert_eq!(error.kind(), CudaErrorKind::NoDriver);
        assert!(error.means_no_device());
        let text = error.to_string();
        assert!(
            text.starts_with(
                "cuInit: no CUDA driver: WARPWRIGHT_LIBCUDA: /nonexistent/libcuda.so.1: "
            ),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1, "{text}");
        assert_eq!(CudaContext::open(0).expect_err("no device either"), error);
        assert!(cust::driver::library().is_err());
    });
}

#[test]
fn not_a_library() {
    const TEXT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    with_library("not_a_library", TEXT, || {
        let error = cuda::init().expect_err("a text is no driver");
        assert_eq!(error.kind(), CudaErrorKind::NoDriver, "{error}");
        assert!(error.to_string().contains("README.md"), "{error}");
        assert_eq!(cuda::devices(), []);
    });
}

#[test]
fn another_library() {
    with_library("another_library", "libm.so.6", || {
        let error = cuda::init().expect_err("the C library's mathematics is no driver");
        // The code of `cust` for a missing function, the third that it calls.
        assert_eq!((error.call, error.code()), ("cuInit", 100_202));
        assert_eq!(error.kind(), CudaErrorKind::Other);
        assert!(!error.means_no_device());
        assert_eq!(
            error.to_string(),
            "cuInit: the CUDA driver libm.so.6 has no function cuInit: a newer driver is required"
        );
        assert_eq!(cuda::devices(), []);
        assert_eq!(cust::driver::library(), Ok("libm.so.6"));
    });
}
