//! The parts of Rust-CUDA's crate `blastoff` that its examples use, for a cuBLAS that is opened at run time. The original crate
//! needs a toolkit when it is built.
//!
//! `cargo xtask rust-cuda` writes this crate beside the copy of the examples.

use std::error::Error;
use std::ffi::{c_int, c_void};
use std::fmt;

use cust::memory::{GpuBox, GpuBuffer};
use cust::stream::Stream;
use libloading::{Library, Symbol};

/// The file names of cuBLAS, the newest first.
const NAMES: &[&str] = &[
    "libcublas.so.13",
    "libcublas.so.12",
    "libcublas.so.11",
    "cublas64_13.dll",
    "cublas64_12.dll",
    "cublas64_11.dll",
];

/// `CUBLAS_POINTER_MODE_DEVICE`.
const ON_DEVICE: c_int = 1;

type Handle = *mut c_void;
type Gemm<T> = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const T,
    *const T,
    c_int,
    *const T,
    c_int,
    *const T,
    *mut T,
    c_int,
) -> c_int;

/// The reason why a product failed.
#[derive(Debug)]
pub enum BlasError {
    /// No library with one of the names was found; the reason for the last one.
    NotFound(String),
    /// The library lacks this function.
    NoFunction(String),
    /// The status that this function returned, which is not 0.
    Status(&'static str, c_int),
    /// A size that is too large for cuBLAS, or for the matrix.
    Size(usize),
}

impl fmt::Display for BlasError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(reason) => {
                let names = NAMES.join(", ");
                write!(f, "cuBLAS: one of {names} required, none found: {reason}")
            }
            Self::NoFunction(reason) => write!(f, "cuBLAS: {reason}"),
            Self::Status(function, status) => {
                write!(f, "cuBLAS: {function} gave the status {status}")
            }
            Self::Size(size) => write!(
                f,
                "cuBLAS: sizes below 2^31 and matrices as large as them required, given {size}"
            ),
        }
    }
}

impl Error for BlasError {}

/// The operation on a matrix before the product.
#[derive(Debug, Clone, Copy)]
pub enum MatrixOp {
    /// No operation.
    None,
    /// The transpose.
    Transpose,
    /// The conjugate transpose.
    ConjugateTranspose,
}

/// An element type.
pub trait Element: cust::memory::DeviceCopy {
    /// The name of the function for the product.
    const FUNCTION: &'static str;
}

impl Element for f32 {
    const FUNCTION: &'static str = "cublasSgemm_v2";
}

impl Element for f64 {
    const FUNCTION: &'static str = "cublasDgemm_v2";
}

/// The state of cuBLAS for a CUDA context.
pub struct CublasContext {
    library: Library,
    handle: Handle,
}

impl CublasContext {
    /// Opens the library and makes a state for the current context. Scalars are on the device.
    pub fn new() -> Result<Self, BlasError> {
        let mut reason = String::new();
        let opened = NAMES.iter().find_map(|name| {
            // SAFETY: the library is NVIDIA's, whose start-up code is meant to run.
            unsafe { Library::new(*name) }
                .map_err(|error| reason = error.to_string())
                .ok()
        });
        let library = opened.ok_or(BlasError::NotFound(reason))?;
        let mut context = Self {
            library,
            handle: std::ptr::null_mut(),
        };
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: the functions have these parameters, and `handle` may be written.
        unsafe {
            type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
            let status = context.function::<Create>("cublasCreate_v2")?(&raw mut handle);
            checked("cublasCreate_v2", status)?;
            context.handle = handle;
            type SetMode = unsafe extern "C" fn(Handle, c_int) -> c_int;
            let status =
                context.function::<SetMode>("cublasSetPointerMode_v2")?(handle, ON_DEVICE);
            checked("cublasSetPointerMode_v2", status)?;
        }
        Ok(context)
    }

    /// # Safety
    /// The function has type `T`.
    unsafe fn function<T>(&self, name: &str) -> Result<Symbol<'_, T>, BlasError> {
        // SAFETY: the caller keeps the contract.
        unsafe { self.library.get(name.as_bytes()) }
            .map_err(|error| BlasError::NoFunction(error.to_string()))
    }

    /// Queues `c = alpha * op(a) * op(b) + beta * c` of column-major matrices. `op(a)` has `m` rows and `k` columns, and
    /// `op(b)` has `k` rows and `n` columns.
    #[allow(clippy::too_many_arguments)]
    pub fn gemm<T: Element>(
        &mut self,
        stream: &Stream,
        m: usize,
        n: usize,
        k: usize,
        alpha: &impl GpuBox<T>,
        a: &impl GpuBuffer<T>,
        lda: usize,
        op_a: MatrixOp,
        beta: &impl GpuBox<T>,
        b: &impl GpuBuffer<T>,
        ldb: usize,
        op_b: MatrixOp,
        c: &mut impl GpuBuffer<T>,
        ldc: usize,
    ) -> Result<(), BlasError> {
        let int = |size: usize| c_int::try_from(size).map_err(|_| BlasError::Size(size));
        let columns = |op, plain, other| if matches!(op, MatrixOp::None) { plain } else { other };
        for (len, ld, columns) in [
            (a.len(), lda, columns(op_a, k, m)),
            (b.len(), ldb, columns(op_b, n, k)),
            (c.len(), ldc, n),
        ] {
            // cuBLAS checks the rows against `ld` itself.
            if ld.checked_mul(columns).is_none_or(|needed| needed > len) {
                return Err(BlasError::Size(len));
            }
        }
        // SAFETY: the functions have these parameters, the context's handle is valid, and the matrices have the given sizes.
        unsafe {
            type SetStream = unsafe extern "C" fn(Handle, cust::sys::CUstream) -> c_int;
            let set = self.function::<SetStream>("cublasSetStream_v2")?;
            checked("cublasSetStream_v2", set(self.handle, stream.as_inner()))?;
            let status = self.function::<Gemm<T>>(T::FUNCTION)?(
                self.handle,
                op_a as c_int,
                op_b as c_int,
                int(m)?,
                int(n)?,
                int(k)?,
                alpha.as_device_ptr().as_ptr(),
                a.as_device_ptr().as_ptr(),
                int(lda)?,
                b.as_device_ptr().as_ptr(),
                int(ldb)?,
                beta.as_device_ptr().as_ptr(),
                c.as_device_ptr().as_mut_ptr(),
                int(ldc)?,
            );
            checked(T::FUNCTION, status)
        }
    }
}

impl Drop for CublasContext {
    fn drop(&mut self) {
        type Destroy = unsafe extern "C" fn(Handle) -> c_int;
        // SAFETY: the function has this parameter, and the handle is not used afterwards. A status cannot be reported here.
        unsafe {
            if let Ok(destroy) = self.function::<Destroy>("cublasDestroy_v2") {
                destroy(self.handle);
            }
        }
    }
}

fn checked(function: &'static str, status: c_int) -> Result<(), BlasError> {
    match status {
        0 => Ok(()),
        status => Err(BlasError::Status(function, status)),
    }
}
