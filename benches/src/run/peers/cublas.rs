//! cuBLAS.

use std::ffi::{c_int, c_longlong, c_uint, c_void};
use std::ptr::{from_ref, null_mut};
use std::rc::Rc;

use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};
use warpwright::Device;
use warpwright::ops::gemm::ResultIn;

use super::super::Result;
use super::library::functions;
use super::{Absent, check};

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

type Raw = *mut c_void;
type Matrix = *const c_void;

functions! {
    /// The functions, with the signatures of `cublas_v2.h`. cuBLAS is column-major, so that B comes before A.
    Functions -> c_uint:
    create = "cublasCreate_v2" (*mut Raw);
    destroy = "cublasDestroy_v2" (Raw);
    set_stream = "cublasSetStream_v2" (Raw, Raw);
    version = "cublasGetVersion_v2" (Raw, *mut c_int);
    set_math = "cublasSetMathMode" (Raw, c_uint);
    // Handle; transpositions; sides; factor; B and its lines; A and its lines; factor; C and its lines.
    single = "cublasSgemm_v2" (
        Raw, c_uint, c_uint, c_int, c_int, c_int, Matrix, Matrix, c_int, Matrix, c_int, Matrix, Raw, c_int
    );
    double = "cublasDgemm_v2" (
        Raw, c_uint, c_uint, c_int, c_int, c_int, Matrix, Matrix, c_int, Matrix, c_int, Matrix, Raw, c_int
    );
    // The same with the type of each matrix behind it, then the type of sums, and the algorithm.
    extended = "cublasGemmEx" (
        Raw, c_uint, c_uint, c_int, c_int, c_int, Matrix, Matrix, c_uint, c_int, Matrix, c_uint, c_int,
        Matrix, Raw, c_uint, c_int, c_uint, c_int
    );
    // The same with the distance to the next matrix behind the lines of each, and the number of products.
    of_stacks = "cublasGemmStridedBatchedEx" (
        Raw, c_uint, c_uint, c_int, c_int, c_int, Matrix, Matrix, c_uint, c_int, c_longlong, Matrix, c_uint, c_int, c_longlong,
        Matrix, Raw, c_uint, c_int, c_longlong, c_int, c_uint, c_int
    );
}

/// The library and one of its handles, in our stream.
pub struct Cublas {
    handle: Rc<Handle>,
    /// Its version and path.
    pub version: String,
}

struct Handle {
    functions: Functions,
    raw: Raw,
}

/// A GEMM of the library.
#[derive(Debug, Clone, Copy)]
pub enum Function {
    /// That of `f32`.
    Single,
    /// That of `f64`.
    Double,
    /// That of the types with given numbers.
    Extended,
}

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
    /// Elements of 16 bits and results with these numbers, and sums in `f32`: `CUBLAS_COMPUTE_32F` and `CUDA_R_32F`.
    const fn half(operands: c_uint, result: c_uint) -> Self {
        Self {
            operands,
            result,
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
    /// The type's GEMM.
    const FUNCTION: Function;
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
    ($($ty:ty: $factor:ident, $function:expr, $types:expr, $math:expr;)*) => { $(
        impl Blas for $ty {
            type Factor = $factor;
            const FUNCTION: Function = $function;
            const TYPES: Option<Types> = $types;
            const MATH: c_uint = $math;
            const FACTORS: [$factor; 2] = [1.0, 0.0];
        }
    )* };
}
types! {
    f32: f32, Function::Single, Some(Types::F32), MATH.1;
    f64: f64, Function::Double, Some(Types::F64), MATH.0;
    f16: f32, Function::Extended, Some(Types::half(2, 2)), MATH.0;
    bf16: f32, Function::Extended, Some(Types::half(14, 14)), MATH.0;
    ResultIn<f16, f32>: f32, Function::Extended, Some(Types::half(2, 0)), MATH.0;
    ResultIn<bf16, f32>: f32, Function::Extended, Some(Types::half(14, 0)), MATH.0;
}

macro_rules! eight_bits {
    ($($ty:ty: $types:expr;)*) => { $(
        impl Blas for $ty {
            type Factor = f32;
            const FUNCTION: Function = Function::Extended;
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
    ResultIn<F8E4M3, bf16>: Some(Types::e4m3(14));
    F8E5M2: None;
}

impl Blas for i8 {
    type Factor = i32;
    const FUNCTION: Function = Function::Extended;
    const TYPES: Option<Types> = Some(Types::I8);
    const MATH: c_uint = MATH.0;
    const FACTORS: [i32; 2] = [1, 0];
    const ALONG_K: bool = true;
}

impl Cublas {
    /// Opens the library.
    ///
    /// # Errors
    /// Returns the reason why it is missing.
    pub fn open(device: &Device) -> Result<Self> {
        let stream = device.cuda_stream().ok_or("a CUDA device required")?;
        let (functions, path) = Functions::open(&NAMES)?;
        let (mut raw, mut number) = (null_mut(), 0);
        // SAFETY: the first function writes one handle, the last one a number; the stream is alive.
        unsafe {
            check("cuBLAS", "cublasCreate", (functions.create)(&mut raw))?;
            check(
                "cuBLAS",
                "cublasSetStream",
                (functions.set_stream)(raw, stream),
            )?;
            check(
                "cuBLAS",
                "cublasGetVersion",
                (functions.version)(raw, &mut number),
            )?;
        }
        Ok(Self {
            handle: Rc::new(Handle { functions, raw }),
            version: format!("{number} from {path}"),
        })
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
        let math = if tf32 { TF32 } else { T::MATH };
        // SAFETY: the handle is alive.
        let code = unsafe { (handle.functions.set_math)(handle.raw, math) };
        check("cuBLAS", "cublasSetMathMode", code)?;
        let [op_a, op_b] = transposed.map(c_uint::from);
        // The lengths of lines in memory.
        let (lda, ldb) = (
            if transposed[0] { m } else { k },
            if transposed[1] { k } else { n },
        );
        Ok(move |[a, b, c]: [u64; 3]| {
            let (a, b, c) = (a as Matrix, b as Matrix, c as Raw);
            let Handle { functions, raw } = &*handle;
            let factors = &T::FACTORS;
            let [one, zero] = factors.each_ref().map(|it| from_ref(it).cast::<c_void>());
            let [operands, result] = [types.operands, types.result];
            // cuBLAS is column-major: the transpose of C is that of B times that of A. SAFETY: the callers give the addresses
            // of three such matrices.
            let code = unsafe {
                if count > 1 {
                    (functions.of_stacks)(
                        *raw,
                        op_b,
                        op_a,
                        n,
                        m,
                        k,
                        one,
                        b,
                        operands,
                        ldb,
                        next_b,
                        a,
                        operands,
                        lda,
                        next_a,
                        zero,
                        c,
                        result,
                        n,
                        next_c,
                        count,
                        types.compute,
                        ALGORITHM,
                    )
                } else {
                    let typed = match T::FUNCTION {
                        Function::Single => Some(functions.single),
                        Function::Double => Some(functions.double),
                        Function::Extended => None,
                    };
                    match typed {
                        Some(gemm) => {
                            gemm(*raw, op_b, op_a, n, m, k, one, b, ldb, a, lda, zero, c, n)
                        }
                        None => (functions.extended)(
                            *raw,
                            op_b,
                            op_a,
                            n,
                            m,
                            k,
                            one,
                            b,
                            operands,
                            ldb,
                            a,
                            operands,
                            lda,
                            zero,
                            c,
                            result,
                            n,
                            types.compute,
                            ALGORITHM,
                        ),
                    }
                }
            };
            check("cuBLAS", "a product", code)
        })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is alive, and is not used after this. An error here cannot be reported.
        let _ = unsafe { (self.functions.destroy)(self.raw) };
    }
}
