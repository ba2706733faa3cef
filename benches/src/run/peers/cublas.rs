//! cuBLAS.

use std::ffi::{c_int, c_uint, c_void};
use std::rc::Rc;

use libloading::Library;
use warpwright::Device;

use super::super::Result;
use super::{Absent, library};

/// The file names to look for.
pub const NAMES: [&str; 4] = [
    "libcublas.so.13",
    "libcublas.so.12",
    "libcublas.so.11",
    "libcublas.so",
];
/// `CUBLAS_DEFAULT_MATH` and `CUBLAS_PEDANTIC_MATH`.
const MATH: (c_uint, c_uint) = (0, 2);

/// The library and one of its handles, in our stream.
pub struct Cublas {
    handle: Rc<Handle>,
    version: String,
}

struct Handle {
    library: Library,
    raw: *mut c_void,
}

/// An element type.
pub trait Blas: Copy + 'static {
    /// The name of the type's GEMM.
    const FUNCTION: &'static str;
    /// The math mode: pedantic if the library might otherwise use shorter numbers.
    const MATH: c_uint;
    /// 1.
    const ONE: Self;
    /// 0.
    const ZERO: Self;
}

impl Blas for f32 {
    const FUNCTION: &'static str = "cublasSgemm_v2";
    const MATH: c_uint = MATH.1;
    const ONE: Self = 1.0;
    const ZERO: Self = 0.0;
}

impl Blas for f64 {
    const FUNCTION: &'static str = "cublasDgemm_v2";
    const MATH: c_uint = MATH.0;
    const ONE: Self = 1.0;
    const ZERO: Self = 0.0;
}

type Gemm<T> = unsafe extern "C" fn(
    *mut c_void,
    c_uint,
    c_uint,
    c_int,
    c_int,
    c_int,
    *const T,
    *const c_void,
    c_int,
    *const c_void,
    c_int,
    *const T,
    *mut c_void,
    c_int,
) -> c_uint;

impl Cublas {
    /// Opens the library.
    ///
    /// # Errors
    /// Returns the reason why it is missing.
    pub fn open(device: &Device) -> Result<Self, String> {
        Self::opened(device).map_err(|error| error.to_string())
    }

    fn opened(device: &Device) -> Result<Self> {
        let stream = device.cuda_stream().ok_or("a CUDA device required")?;
        let (library, path) = library::open(&NAMES)?;
        let (mut raw, mut number) = (std::ptr::null_mut(), 0);
        // SAFETY: the signatures are those of `cublas_v2.h`; the first function writes one handle.
        unsafe {
            let create: unsafe extern "C" fn(*mut *mut c_void) -> c_uint =
                *library.get(b"cublasCreate_v2\0")?;
            let set_stream: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_uint =
                *library.get(b"cublasSetStream_v2\0")?;
            let version: unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_uint =
                *library.get(b"cublasGetVersion_v2\0")?;
            check("cublasCreate", create(&mut raw))?;
            check("cublasSetStream", set_stream(raw, stream))?;
            check("cublasGetVersion", version(raw, &mut number))?;
        }
        Ok(Self {
            handle: Rc::new(Handle { library, raw }),
            version: format!("{number} from {path}"),
        })
    }

    /// Returns its version and path.
    pub fn version(&self) -> String {
        self.version.clone()
    }

    /// Returns the product of two row-major square matrices. It takes the addresses of A, B and C.
    ///
    /// # Errors
    /// Returns an error if it could not be prepared.
    pub fn product<T: Blas>(
        &self,
        side: usize,
    ) -> Result<impl FnMut([u64; 3]) -> Result<()> + use<T>, Absent> {
        Ok(self.prepared::<T>(side)?)
    }

    fn prepared<T: Blas>(
        &self,
        side: usize,
    ) -> Result<impl FnMut([u64; 3]) -> Result<()> + use<T>> {
        let (handle, side) = (self.handle.clone(), c_int::try_from(side)?);
        // SAFETY: the signatures are those of `cublas_v2.h`; the library is open as long as the handle.
        let (gemm, mode) = unsafe {
            let gemm: Gemm<T> = *handle
                .library
                .get(format!("{}\0", T::FUNCTION).as_bytes())?;
            let mode: unsafe extern "C" fn(*mut c_void, c_uint) -> c_uint =
                *handle.library.get(b"cublasSetMathMode\0")?;
            (gemm, mode)
        };
        // SAFETY: the handle is alive.
        check("cublasSetMathMode", unsafe { mode(handle.raw, T::MATH) })?;
        Ok(move |[a, b, c]: [u64; 3]| {
            let (a, b, c) = (a as *const c_void, b as *const c_void, c as *mut c_void);
            // cuBLAS is column-major: the transpose of C is that of B times that of A. SAFETY: the callers give the addresses
            // of three such matrices.
            let code = unsafe {
                gemm(
                    handle.raw,
                    0,
                    0,
                    side,
                    side,
                    side,
                    &T::ONE,
                    b,
                    side,
                    a,
                    side,
                    &T::ZERO,
                    c,
                    side,
                )
            };
            check(T::FUNCTION, code)
        })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: as above; the handle is not used after this. An error here cannot be reported.
        unsafe {
            if let Ok(destroy) = self
                .library
                .get::<unsafe extern "C" fn(*mut c_void) -> c_uint>(b"cublasDestroy_v2\0")
            {
                let _ = destroy(self.raw);
            }
        }
    }
}

fn check(call: &str, code: c_uint) -> Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(format!("{call}: status {code} of cuBLAS").into()),
    }
}
