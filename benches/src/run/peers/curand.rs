//! cuRAND's host API.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::rc::Rc;

use warpwright::{Device, Generator};
use warpwright_workloads::random::Distribution;

use super::super::Result;
use super::library::functions;
use super::{Absent, check};

type Raw = *mut c_void;

functions! {
    /// The functions, with the signatures of `curand.h`.
    Functions -> c_uint:
    version = "curandGetVersion" (*mut c_int);
    create = "curandCreateGenerator" (*mut Raw, c_uint);
    destroy = "curandDestroyGenerator" (Raw);
    set_stream = "curandSetStream" (Raw, Raw);
    set_seed = "curandSetPseudoRandomGeneratorSeed" (Raw, u64);
    set_up = "curandGenerateSeeds" (Raw);
    uniform = "curandGenerateUniform" (Raw, Raw, usize);
    normal = "curandGenerateNormal" (Raw, Raw, usize, f32, f32);
    log_normal = "curandGenerateLogNormal" (Raw, Raw, usize, f32, f32);
    poisson = "curandGeneratePoisson" (Raw, Raw, usize, f64);
}

/// The library.
pub struct Curand {
    functions: Rc<Functions>,
    /// Its version and path.
    pub version: String,
    stream: Raw,
}

/// The file names to look for.
pub const NAMES: [&str; 2] = ["libcurand.so.10", "libcurand.so"];

impl Curand {
    /// Opens the library.
    ///
    /// # Errors
    /// Returns the reason why it is missing.
    pub fn open(device: &Device) -> Result<Self> {
        let stream = device.cuda_stream().ok_or("a CUDA device required")?;
        let (functions, path) = Functions::open(&NAMES)?;
        let mut number = 0;
        // SAFETY: the function writes one number.
        let code = unsafe { (functions.version)(&mut number) };
        check("cuRAND", "curandGetVersion", code)?;
        Ok(Self {
            functions: Rc::new(functions),
            version: format!("{number} from {path}"),
            stream,
        })
    }

    /// Returns a function that makes `len` numbers at an address, with a generator that is already set up.
    ///
    /// # Errors
    /// Returns an error if it could not be prepared.
    pub fn numbers(
        &self,
        kind: Generator,
        distribution: Distribution,
        len: usize,
    ) -> Result<impl FnMut(u64) -> Result<()> + use<>, Absent> {
        Ok(self.prepared(kind, distribution, len)?)
    }

    fn prepared(
        &self,
        kind: Generator,
        distribution: Distribution,
        len: usize,
    ) -> Result<impl FnMut(u64) -> Result<()> + use<>> {
        // CURAND_RNG_PSEUDO_XORWOW and CURAND_RNG_PSEUDO_PHILOX4_32_10.
        let number = if kind == Generator::Xorwow { 101 } else { 161 };
        let (functions, mut raw) = (self.functions.clone(), null_mut());
        // SAFETY: the function writes one generator.
        let code = unsafe { (functions.create)(&mut raw, number) };
        check("cuRAND", "curandCreateGenerator", code)?;
        let generator = Made { functions, raw };
        let functions = &self.functions;
        // SAFETY: the generator and the stream are alive.
        unsafe {
            let code = (functions.set_stream)(raw, self.stream);
            check("cuRAND", "curandSetStream", code)?;
            let code = (functions.set_seed)(raw, 2026);
            check("cuRAND", "curandSetPseudoRandomGeneratorSeed", code)?;
            check("cuRAND", "curandGenerateSeeds", (functions.set_up)(raw))?;
        }
        Ok(move |to: u64| {
            // The closure captures the whole generator, so that it lives as long.
            let Made { functions, raw } = &generator;
            let (raw, to) = (*raw, to as Raw);
            // SAFETY: the callers give the address of room for this many numbers.
            let code = unsafe {
                match distribution {
                    Distribution::Uniform => (functions.uniform)(raw, to, len),
                    Distribution::Normal(mean, deviation) => {
                        (functions.normal)(raw, to, len, mean as f32, deviation as f32)
                    }
                    Distribution::LogNormal(mean, deviation) => {
                        (functions.log_normal)(raw, to, len, mean as f32, deviation as f32)
                    }
                    Distribution::Poisson(mean) => (functions.poisson)(raw, to, len, mean),
                    Distribution::Words => {
                        return Err("a distribution required, given words".into());
                    }
                }
            };
            check("cuRAND", "numbers", code)
        })
    }
}

/// A generator.
struct Made {
    functions: Rc<Functions>,
    raw: Raw,
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: the generator is alive, and is not used after this. An error here cannot be reported.
        let _ = unsafe { (self.functions.destroy)(self.raw) };
    }
}
