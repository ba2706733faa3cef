//! cuBLASLt: products with an epilogue, and of elements of 8 bits.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::rc::Rc;

use libloading::Library;
use warpwright::{Device, Vector};

use super::super::{Result, pointer};
use super::cublas::Blas;
use super::{Absent, library};

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

/// The library and one of its handles.
pub struct CublasLt {
    handle: Rc<Handle>,
    device: Device,
    version: String,
}

struct Handle {
    library: Library,
    raw: *mut c_void,
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

type Make = unsafe extern "C" fn(*mut *mut c_void) -> c_uint;
type MakeDescription = unsafe extern "C" fn(*mut *mut c_void, c_uint, c_uint) -> c_uint;
type MakeLayout = unsafe extern "C" fn(*mut *mut c_void, c_uint, u64, u64, i64) -> c_uint;
type Set = unsafe extern "C" fn(*mut c_void, c_uint, *const c_void, usize) -> c_uint;
type Choose = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    c_int,
    *mut Heuristic,
    *mut c_int,
) -> c_uint;
type Matmul = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *const c_void,
    *const c_void,
    *mut c_void,
    *const c_void,
    *mut c_void,
    *const c_void,
    *const c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *const [u64; 8],
    *mut c_void,
    usize,
    *mut c_void,
) -> c_uint;

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
    pub fn open(device: &Device) -> Result<Self, String> {
        Self::opened(device).map_err(|error| error.to_string())
    }

    fn opened(device: &Device) -> Result<Self> {
        let (library, path) = library::open(&NAMES)?;
        let mut raw = null_mut();
        // SAFETY: the signatures are those of `cublasLt.h`; the first function writes one handle.
        let number = unsafe {
            let create: Make = *library.get(b"cublasLtCreate\0")?;
            let version: unsafe extern "C" fn() -> usize = *library.get(b"cublasLtGetVersion\0")?;
            check("cublasLtCreate", create(&mut raw))?;
            version()
        };
        Ok(Self {
            handle: Rc::new(Handle { library, raw }),
            device: device.clone(),
            version: format!("{number} from {path}"),
        })
    }

    /// Returns its version and path.
    pub fn version(&self) -> String {
        self.version.clone()
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
        // cuBLAS is column-major: the transpose of C is that of B times that of A. SAFETY: the signatures are those of
        // `cublasLt.h`. The objects are small, and live as long as the process.
        let (set, choose, matmul) = unsafe {
            let library = &handle.library;
            let make: MakeDescription = *library.get(b"cublasLtMatmulDescCreate\0")?;
            check(
                "cublasLtMatmulDescCreate",
                make(&mut description, types.compute, types.factor),
            )?;
            let make: MakeLayout = *library.get(b"cublasLtMatrixLayoutCreate\0")?;
            let of_b = match kind {
                Kind::Layer => [n, k],
                Kind::AlongK { .. } => [k, n],
            };
            let sides = [of_b, [k, m], [n, m]];
            let numbers = [types.operands, types.operands, types.result];
            for ((layout, [rows, columns]), ty) in layouts.iter_mut().zip(sides).zip(numbers) {
                let code = make(layout, ty, rows as u64, columns as u64, rows as i64);
                check("cublasLtMatrixLayoutCreate", code)?;
            }
            let make: Make = *library.get(b"cublasLtMatmulPreferenceCreate\0")?;
            check("cublasLtMatmulPreferenceCreate", make(&mut preference))?;
            let prefer: Set = *library.get(b"cublasLtMatmulPreferenceSetAttribute\0")?;
            let code = prefer(
                preference,
                WORKSPACE,
                std::ptr::from_ref(&WORKSPACE_BYTES).cast(),
                size_of::<usize>(),
            );
            check("cublasLtMatmulPreferenceSetAttribute", code)?;
            let set: Set = *library.get(b"cublasLtMatmulDescSetAttribute\0")?;
            let choose: Choose = *library.get(b"cublasLtMatmulAlgoGetHeuristic\0")?;
            let matmul: Matmul = *library.get(b"cublasLtMatmul\0")?;
            (set, choose, matmul)
        };
        let [of_b, of_a, of_c] = layouts;
        // SAFETY: as above; the values have the sizes of the attributes.
        let set = move |attribute, value: *const c_void, bytes| unsafe {
            let code = set(description, attribute, value, bytes);
            check("cublasLtMatmulDescSetAttribute", code)
        };
        let (attribute, value) = match kind {
            Kind::Layer => (EPILOGUE, &GELU_BIAS),
            Kind::AlongK { .. } => (TRANSPOSE_FIRST, &TRANSPOSED),
        };
        set(
            attribute,
            std::ptr::from_ref(value).cast(),
            size_of::<c_uint>(),
        )?;
        if let Kind::AlongK { fast } = kind {
            let fast = u8::from(fast);
            set(FAST_SUMS, std::ptr::from_ref(&fast).cast(), 1)?;
        }
        let set_bias = move |bias: u64| {
            set(
                BIAS_POINTER,
                std::ptr::from_ref(&bias).cast(),
                size_of::<u64>(),
            )
        };
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
            choose(
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
        check("cublasLtMatmulAlgoGetHeuristic", code)?;
        if found == 0 {
            return Err("cublasLtMatmulAlgoGetHeuristic: no algorithm".into());
        }
        Ok(move |[a, b, bias, c]: [u64; 4]| {
            if has_bias {
                set_bias(bias)?;
            }
            let (a, b, c) = (a as *const c_void, b as *const c_void, c as *mut c_void);
            let [one, zero] = &T::FACTORS;
            // SAFETY: as above; the callers give the addresses of three such matrices, and of a bias.
            let code = unsafe {
                matmul(
                    handle.raw,
                    description,
                    std::ptr::from_ref(one).cast(),
                    b,
                    of_b,
                    a,
                    of_a,
                    std::ptr::from_ref(zero).cast(),
                    c,
                    of_c,
                    c,
                    of_c,
                    &chosen.algorithm,
                    pointer(&mut workspace) as *mut c_void,
                    WORKSPACE_BYTES,
                    stream,
                )
            };
            check("cublasLtMatmul", code)
        })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: as above; the handle is not used after this. An error here cannot be reported.
        unsafe {
            if let Ok(destroy) = self
                .library
                .get::<unsafe extern "C" fn(*mut c_void) -> c_uint>(b"cublasLtDestroy\0")
            {
                let _ = destroy(self.raw);
            }
        }
    }
}

fn check(call: &str, code: c_uint) -> Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(format!("{call}: status {code} of cuBLASLt").into()),
    }
}
