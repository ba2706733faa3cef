//! cuBLAS.

use std::ffi::{c_int, c_longlong, c_uint, c_void};
use std::rc::Rc;

use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};
use libloading::Library;
use warpwright::Device;
use warpwright::ops::gemm::Rounded;

use super::super::Result;
use super::{Absent, library};

/// The file names to look for.
pub const NAMES: [&str; 4] = [
    "libcublas.so.13",
    "libcublas.so.12",
    "libcublas.so.11",
    "libcublas.so",
];
/// `CUBLAS_DEFAULT_MATH`, `CUBLAS_PEDANTIC_MATH` and `CUBLAS_TF32_TENSOR_OP_MATH`.
const MATH: (c_uint, c_uint) = (0, 2);
const TF32: c_uint = 3;

/// The library and one of its handles, in our stream.
pub struct Cublas {
    handle: Rc<Handle>,
    version: String,
}

struct Handle {
    library: Library,
    raw: *mut c_void,
}

/// The GEMM that takes the types of matrices, and the one that computes any number of products.
const EXTENDED: &str = "cublasGemmEx";
const OF_STACKS: &str = "cublasGemmStridedBatchedEx";
/// `CUBLAS_GEMM_DEFAULT`.
const ALGORITHM: c_int = -1;

/// The numbers that the functions for types of matrices take.
#[derive(Clone, Copy)]
pub struct Types {
    /// The type of A and B.
    pub operands: c_uint,
    /// The type of C.
    pub result: c_uint,
    /// The type of sums.
    pub compute: c_uint,
    /// The type of factors.
    pub factor: c_uint,
}

impl Types {
    /// Elements of 16 bits with this number, and sums in `f32`: `CUBLAS_COMPUTE_32F` and `CUDA_R_32F`.
    const fn half(number: c_uint) -> Self {
        Self {
            operands: number,
            result: number,
            compute: 68,
            factor: 0,
        }
    }

    /// `CUDA_R_8F_E4M3`, sums in `f32`, and results of the type with this number, which cuBLASLt alone has.
    const fn e4m3(result: c_uint) -> Self {
        Self {
            operands: 28,
            result,
            compute: 68,
            factor: 0,
        }
    }

    /// `CUDA_R_32F` and `CUBLAS_COMPUTE_32F`, which keeps to the handle's math mode.
    const F32: Self = Self {
        operands: 0,
        result: 0,
        compute: 68,
        factor: 0,
    };

    /// `CUDA_R_64F` and `CUBLAS_COMPUTE_64F`.
    const F64: Self = Self {
        operands: 1,
        result: 1,
        compute: 70,
        factor: 1,
    };

    /// `CUDA_R_8I`, `CUDA_R_32I`, `CUBLAS_COMPUTE_32I`.
    const I8: Self = Self {
        operands: 3,
        result: 10,
        compute: 72,
        factor: 10,
    };
}

/// An element type of A and B.
pub trait Blas: Copy + 'static {
    /// The type of factors and sums.
    type Factor: Copy + 'static;
    /// The name of the type's GEMM.
    const FUNCTION: &'static str;
    /// The numbers for the functions that take the types of matrices, if there is a product of two matrices of this type.
    const TYPES: Option<Types>;
    /// The math mode: pedantic if the library might otherwise use shorter numbers.
    const MATH: c_uint;
    /// 1 and 0.
    const FACTORS: [Self::Factor; 2];
    /// Whether B must be transposed, and A not.
    const ALONG_K: bool = false;
    /// Whether only cuBLASLt has this type.
    const BY_LT: bool = false;
}

macro_rules! types {
    ($($ty:ident: $factor:ident, $function:expr, $types:expr, $math:expr;)*) => { $(
        impl Blas for $ty {
            type Factor = $factor;
            const FUNCTION: &'static str = $function;
            const TYPES: Option<Types> = $types;
            const MATH: c_uint = $math;
            const FACTORS: [$factor; 2] = [1.0, 0.0];
        }
    )* };
}
types! {
    f32: f32, "cublasSgemm_v2", Some(Types::F32), MATH.1;
    f64: f64, "cublasDgemm_v2", Some(Types::F64), MATH.0;
    f16: f32, EXTENDED, Some(Types::half(2)), MATH.0;
    bf16: f32, EXTENDED, Some(Types::half(14)), MATH.0;
}

macro_rules! eight_bits {
    ($($ty:ty: $types:expr;)*) => { $(
        impl Blas for $ty {
            type Factor = f32;
            const FUNCTION: &'static str = EXTENDED;
            const TYPES: Option<Types> = $types;
            const MATH: c_uint = MATH.0;
            const FACTORS: [f32; 2] = [1.0, 0.0];
            const ALONG_K: bool = true;
            const BY_LT: bool = true;
        }
    )* };
}
// There are no products of two matrices of `F8E5M2`.
eight_bits! {
    F8E4M3: Some(Types::e4m3(0));
    Rounded<F8E4M3, bf16>: Some(Types::e4m3(14));
    F8E5M2: None;
}

impl Blas for i8 {
    type Factor = i32;
    const FUNCTION: &'static str = EXTENDED;
    const TYPES: Option<Types> = Some(Types::I8);
    const MATH: c_uint = MATH.0;
    const FACTORS: [i32; 2] = [1, 0];
    const ALONG_K: bool = true;
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

type GemmEx = unsafe extern "C" fn(
    *mut c_void,
    c_uint,
    c_uint,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    c_uint,
    c_int,
    *const c_void,
    c_uint,
    c_int,
    *const c_void,
    *mut c_void,
    c_uint,
    c_int,
    c_uint,
    c_int,
) -> c_uint;

type GemmOfStacks = unsafe extern "C" fn(
    *mut c_void,
    c_uint,
    c_uint,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    c_uint,
    c_int,
    c_longlong,
    *const c_void,
    c_uint,
    c_int,
    c_longlong,
    *const c_void,
    *mut c_void,
    c_uint,
    c_int,
    c_longlong,
    c_int,
    c_uint,
    c_int,
) -> c_uint;

/// A GEMM of the library.
#[derive(Clone, Copy)]
enum Function<T> {
    /// Of one type.
    Typed(Gemm<T>),
    /// Of the types with these numbers.
    Extended(GemmEx, Types),
    /// The same for several products.
    OfStacks(GemmOfStacks, Types),
}

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

    /// Returns `count` products of row-major matrices, one after the other in memory: `shape` has the rows of A, the columns of
    /// B, and the common dimension. `transposed` says whether memory has the transposes of A and of B, and `tf32` whether `f32`
    /// is rounded to TF32. It takes the addresses of A, B and C.
    ///
    /// # Errors
    /// Returns an error if it could not be prepared.
    pub fn product<T: Blas>(
        &self,
        shape: [usize; 3],
        count: usize,
        transposed: [bool; 2],
        tf32: bool,
    ) -> Result<impl FnMut([u64; 3]) -> Result<()> + use<T>, Absent> {
        if T::ALONG_K && transposed != [false, true] {
            let reason = "only products with B transposed of i8";
            return Err(Absent::Missing(reason.to_owned()));
        }
        Ok(self.prepared::<T>(shape, count, transposed, tf32)?)
    }

    fn prepared<T: Blas>(
        &self,
        [m, n, k]: [usize; 3],
        count: usize,
        transposed: [bool; 2],
        tf32: bool,
    ) -> Result<impl FnMut([u64; 3]) -> Result<()> + use<T>> {
        let types = T::TYPES.ok_or("a type of two matrices required")?;
        let [next_a, next_b, next_c] = [m * k, k * n, m * n].map(|it| it as c_longlong);
        let count = c_int::try_from(count)?;
        let handle = self.handle.clone();
        let (m, n, k) = (
            c_int::try_from(m)?,
            c_int::try_from(n)?,
            c_int::try_from(k)?,
        );
        // SAFETY: the signatures are those of `cublas_v2.h`; the library is open as long as the handle.
        let (gemm, mode) = unsafe {
            let name = if count > 1 { OF_STACKS } else { T::FUNCTION };
            let name = format!("{name}\0");
            let gemm: Function<T::Factor> = match T::FUNCTION {
                _ if count > 1 => Function::OfStacks(*handle.library.get(name.as_bytes())?, types),
                EXTENDED => Function::Extended(*handle.library.get(name.as_bytes())?, types),
                _ => Function::Typed(*handle.library.get(name.as_bytes())?),
            };
            let mode: unsafe extern "C" fn(*mut c_void, c_uint) -> c_uint =
                *handle.library.get(b"cublasSetMathMode\0")?;
            (gemm, mode)
        };
        // SAFETY: the handle is alive.
        let math = if tf32 { TF32 } else { T::MATH };
        check("cublasSetMathMode", unsafe { mode(handle.raw, math) })?;
        let [op_a, op_b] = transposed.map(c_uint::from);
        // The lengths of lines in memory.
        let (lda, ldb) = (
            if transposed[0] { m } else { k },
            if transposed[1] { k } else { n },
        );
        Ok(move |[a, b, c]: [u64; 3]| {
            let (a, b, c) = (a as *const c_void, b as *const c_void, c as *mut c_void);
            // cuBLAS is column-major: the transpose of C is that of B times that of A. SAFETY: the callers give the addresses
            // of three such matrices.
            let (raw, [one, zero]) = (handle.raw, &T::FACTORS);
            let code = unsafe {
                match gemm {
                    Function::Typed(gemm) => {
                        gemm(raw, op_b, op_a, n, m, k, one, b, ldb, a, lda, zero, c, n)
                    }
                    Function::Extended(gemm, types) => gemm(
                        raw,
                        op_b,
                        op_a,
                        n,
                        m,
                        k,
                        std::ptr::from_ref(one).cast(),
                        b,
                        types.operands,
                        ldb,
                        a,
                        types.operands,
                        lda,
                        std::ptr::from_ref(zero).cast(),
                        c,
                        types.result,
                        n,
                        types.compute,
                        ALGORITHM,
                    ),
                    Function::OfStacks(gemm, types) => gemm(
                        raw,
                        op_b,
                        op_a,
                        n,
                        m,
                        k,
                        std::ptr::from_ref(one).cast(),
                        b,
                        types.operands,
                        ldb,
                        next_b,
                        a,
                        types.operands,
                        lda,
                        next_a,
                        std::ptr::from_ref(zero).cast(),
                        c,
                        types.result,
                        n,
                        next_c,
                        count,
                        types.compute,
                        ALGORITHM,
                    ),
                }
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
