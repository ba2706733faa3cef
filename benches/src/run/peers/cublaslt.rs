//! cuBLASLt: products with an epilogue, and of elements of 8 bits.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{from_ref, null_mut};
use std::rc::Rc;

use warpwright::{Device, Vector};

use super::super::{Result, pointer};
use super::cublas::Blas;
use super::library::functions;
use super::{Absent, check};

/// The file names to look for.
pub const NAMES: [&str; 3] = [
    "libcublasLt.so.13",
    "libcublasLt.so.12",
    "libcublasLt.so.11",
];

/// `CUBLASLT_MATMUL_DESC_TRANSA`, `CUBLAS_OP_T`, `CUBLASLT_MATMUL_DESC_FAST_ACCUM`.
const TRANSPOSE_FIRST: c_uint = 3;
const TRANSPOSED: c_uint = 1;
const FAST_SUMS: c_uint = 25;
/// `CUBLASLT_MATMUL_DESC_EPILOGUE`, `CUBLASLT_MATMUL_DESC_BIAS_POINTER`, `CUBLASLT_EPILOGUE_GELU_BIAS`.
const EPILOGUE: c_uint = 7;
const BIAS_POINTER: c_uint = 8;
const GELU_BIAS: c_uint = 36;
/// `CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES`, and the size that NVIDIA advises for compute capability 9.0.
const WORKSPACE: c_uint = 1;
const WORKSPACE_BYTES: usize = 32 << 20;

type Raw = *mut c_void;
type Value = *const c_void;

functions! {
    /// The functions, with the signatures of `cublasLt.h`. cuBLASLt is column-major, so that B comes before A.
    Functions -> c_uint:
    create = "cublasLtCreate" (*mut Raw);
    destroy = "cublasLtDestroy" (Raw);
    version = "cublasLtGetVersion" () -> usize;
    // Types of sums and of factors.
    make_description = "cublasLtMatmulDescCreate" (*mut Raw, c_uint, c_uint);
    set = "cublasLtMatmulDescSetAttribute" (Raw, c_uint, Value, usize);
    // Type, rows, columns, and the length of a line.
    make_layout = "cublasLtMatrixLayoutCreate" (*mut Raw, c_uint, u64, u64, i64);
    make_preference = "cublasLtMatmulPreferenceCreate" (*mut Raw);
    prefer = "cublasLtMatmulPreferenceSetAttribute" (Raw, c_uint, Value, usize);
    // Handle, description; layouts of B, A, C and the result; preference; how many results are wanted, they, how many they are.
    choose = "cublasLtMatmulAlgoGetHeuristic" (Raw, Raw, Raw, Raw, Raw, Raw, Raw, c_int, *mut Heuristic, *mut c_int);
    // Handle, description; factor; B, A, factor, C and the result, with their layouts; algorithm, workspace, its size, stream.
    matmul = "cublasLtMatmul" (
        Raw, Raw, Value, Value, Raw, Value, Raw, Value, Value, Raw, Raw, Raw, *const [u64; 8], Raw, usize, Raw
    );
}

/// The library and one of its handles.
pub struct CublasLt {
    handle: Rc<Handle>,
    device: Device,
    /// Its version and path.
    pub version: String,
}

struct Handle {
    functions: Functions,
    raw: Raw,
}

/// `cublasLtMatmulHeuristicResult_t`
#[repr(C)]
struct Heuristic {
    algorithm: [u64; 8],
    workspace: usize,
    state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

/// What is computed.
#[derive(Clone, Copy)]
enum Kind {
    /// A product, a bias, and the Gaussian error linear unit.
    Layer,
    /// A product with B transposed, and whether sums are rounded less often.
    AlongK { fast: bool },
}

impl CublasLt {
    /// Opens the library.
    ///
    /// # Errors
    /// Returns the reason why it is missing.
    pub fn open(device: &Device) -> Result<Self> {
        let (functions, path) = Functions::open(&NAMES)?;
        let mut raw = null_mut();
        // SAFETY: the first function writes one handle.
        let (code, number) = unsafe { ((functions.create)(&mut raw), (functions.version)()) };
        check("cuBLASLt", "cublasLtCreate", code)?;
        Ok(Self {
            handle: Rc::new(Handle { functions, raw }),
            device: device.clone(),
            version: format!("{number} from {path}"),
        })
    }

    /// Returns the product of two row-major matrices, plus a bias for each column, under the Gaussian error linear unit by the
    /// hyperbolic tangent: `shape` has the rows of A, the columns of B, and the common dimension. It takes the addresses of A,
    /// B, the bias and C.
    ///
    /// # Errors
    /// Returns an error if it could not be prepared.
    pub fn layer<T: Blas>(
        &self,
        shape: [usize; 3],
    ) -> Result<impl FnMut([u64; 4]) -> Result<()> + use<T>, Absent> {
        Ok(self.prepared::<T>(shape, Kind::Layer)?)
    }

    /// Returns the product of a row-major matrix and the transpose of one: `shape` is as for [`layer`](Self::layer). If `fast`
    /// is true, sums of numbers of 8 bits stay in the tensor cores. It takes the addresses of A, B and C.
    ///
    /// # Errors
    /// Returns an error if it could not be prepared.
    pub fn product<T: Blas>(
        &self,
        shape: [usize; 3],
        fast: bool,
    ) -> Result<impl FnMut([u64; 3]) -> Result<()> + use<T>, Absent> {
        let mut product = self.prepared::<T>(shape, Kind::AlongK { fast })?;
        Ok(move |[a, b, c]: [u64; 3]| product([a, b, 0, c]))
    }

    fn prepared<T: Blas>(
        &self,
        [m, n, k]: [usize; 3],
        kind: Kind,
    ) -> Result<impl FnMut([u64; 4]) -> Result<()> + use<T>> {
        let handle = self.handle.clone();
        let types = T::TYPES.ok_or("a type of two matrices required")?;
        let stream = self.device.cuda_stream().ok_or("a CUDA device required")?;
        let mut workspace: Vector<u8> = self.device.zeros(WORKSPACE_BYTES)?;
        let (mut description, mut preference) = (null_mut(), null_mut());
        let mut layouts = [null_mut(); 3];
        let functions = &handle.functions;
        // cuBLAS is column-major: the transpose of C is that of B times that of A. SAFETY: each function writes one object, or
        // reads a value of its attribute's size. The objects are small, and live as long as the process.
        unsafe {
            let code = (functions.make_description)(&mut description, types.compute, types.factor);
            check("cuBLASLt", "cublasLtMatmulDescCreate", code)?;
            let of_b = match kind {
                Kind::Layer => [n, k],
                Kind::AlongK { .. } => [k, n],
            };
            let sides = [of_b, [k, m], [n, m]];
            let numbers = [types.operands, types.operands, types.result];
            for ((layout, [rows, columns]), ty) in layouts.iter_mut().zip(sides).zip(numbers) {
                let [height, width] = [rows as u64, columns as u64];
                let code = (functions.make_layout)(layout, ty, height, width, rows as i64);
                check("cuBLASLt", "cublasLtMatrixLayoutCreate", code)?;
            }
            let code = (functions.make_preference)(&mut preference);
            check("cuBLASLt", "cublasLtMatmulPreferenceCreate", code)?;
            let bytes = from_ref(&WORKSPACE_BYTES).cast();
            let code = (functions.prefer)(preference, WORKSPACE, bytes, size_of::<usize>());
            check("cuBLASLt", "cublasLtMatmulPreferenceSetAttribute", code)?;
        }
        let [of_b, of_a, of_c] = layouts;
        let set = functions.set;
        // SAFETY: as above; the values have the sizes of the attributes.
        let set = move |attribute, value: Value, bytes| unsafe {
            let code = set(description, attribute, value, bytes);
            check("cuBLASLt", "cublasLtMatmulDescSetAttribute", code)
        };
        let (attribute, value) = match kind {
            Kind::Layer => (EPILOGUE, &GELU_BIAS),
            Kind::AlongK { .. } => (TRANSPOSE_FIRST, &TRANSPOSED),
        };
        set(attribute, from_ref(value).cast(), size_of::<c_uint>())?;
        if let Kind::AlongK { fast } = kind {
            set(FAST_SUMS, from_ref(&u8::from(fast)).cast(), 1)?;
        }
        let set_bias = move |bias: u64| set(BIAS_POINTER, from_ref(&bias).cast(), size_of::<u64>());
        // The alignment of the workspace, which is that of a bias of ours.
        let has_bias = matches!(kind, Kind::Layer);
        if has_bias {
            set_bias(pointer(&mut workspace))?;
        }
        let mut chosen = Heuristic {
            algorithm: [0; 8],
            workspace: 0,
            state: 0,
            waves: 0.0,
            reserved: [0; 4],
        };
        let mut found = 0;
        // SAFETY: as above; there is room for one result.
        let code = unsafe {
            (functions.choose)(
                handle.raw,
                description,
                of_b,
                of_a,
                of_c,
                of_c,
                preference,
                1,
                &mut chosen,
                &mut found,
            )
        };
        check("cuBLASLt", "cublasLtMatmulAlgoGetHeuristic", code)?;
        if found == 0 {
            return Err("cublasLtMatmulAlgoGetHeuristic: no algorithm".into());
        }
        Ok(move |[a, b, bias, c]: [u64; 4]| {
            if has_bias {
                set_bias(bias)?;
            }
            let (a, b, c) = (a as Value, b as Value, c as Raw);
            let [one, zero] = &T::FACTORS;
            // SAFETY: as above; the callers give the addresses of three such matrices, and of a bias.
            let code = unsafe {
                (handle.functions.matmul)(
                    handle.raw,
                    description,
                    from_ref(one).cast(),
                    b,
                    of_b,
                    a,
                    of_a,
                    from_ref(zero).cast(),
                    c,
                    of_c,
                    c,
                    of_c,
                    &chosen.algorithm,
                    pointer(&mut workspace) as Raw,
                    WORKSPACE_BYTES,
                    stream,
                )
            };
            check("cuBLASLt", "cublasLtMatmul", code)
        })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is alive, and is not used after this. An error here cannot be reported.
        let _ = unsafe { (self.functions.destroy)(self.raw) };
    }
}
