//! cuRAND's host API.

use std::ffi::{c_int, c_uint, c_void};

use libloading::Library;
use warpwright::{Device, Generator};
use warpwright_workloads::random::Distribution;

use super::super::Result;
use super::{Absent, library};

/// The library.
pub struct Curand {
    library: Library,
    version: String,
    stream: *mut c_void,
}

type Handle = *mut c_void;

/// The file names to look for.
pub const NAMES: [&str; 2] = ["libcurand.so.10", "libcurand.so"];

impl Curand {
    /// Opens the library.
    ///
    /// # Errors
    /// Returns the reason why it is missing.
    pub fn open(device: &Device) -> Result<Self, String> {
        let stream = device.cuda_stream().ok_or("a CUDA device required")?;
        let (library, path) = library::open(&NAMES)?;
        let mut number: c_int = 0;
        // SAFETY: the signature is that of `curand.h`.
        let code = unsafe {
            let version: unsafe extern "C" fn(*mut c_int) -> c_uint = *library
                .get(b"curandGetVersion\0")
                .map_err(|error| error.to_string())?;
            version(&mut number)
        };
        check("curandGetVersion", code).map_err(|error| error.to_string())?;
        Ok(Self {
            library,
            version: format!("{number} from {path}"),
            stream,
        })
    }

    /// Returns its version and path.
    pub fn version(&self) -> String {
        self.version.clone()
    }

    fn function<F: Copy>(&self, name: &str) -> Result<F> {
        // SAFETY: every use gives the signature of `curand.h`; the library stays open as long as `self`.
        Ok(unsafe { *self.library.get::<F>(format!("{name}\0").as_bytes())? })
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
        type Two = unsafe extern "C" fn(Handle, *mut c_void, usize) -> c_uint;
        type Normal = unsafe extern "C" fn(Handle, *mut c_void, usize, f32, f32) -> c_uint;
        type Poisson = unsafe extern "C" fn(Handle, *mut c_void, usize, f64) -> c_uint;
        let create: unsafe extern "C" fn(*mut Handle, c_uint) -> c_uint =
            self.function("curandCreateGenerator")?;
        let set_stream: unsafe extern "C" fn(Handle, *mut c_void) -> c_uint =
            self.function("curandSetStream")?;
        let set_seed: unsafe extern "C" fn(Handle, u64) -> c_uint =
            self.function("curandSetPseudoRandomGeneratorSeed")?;
        let set_up: unsafe extern "C" fn(Handle) -> c_uint =
            self.function("curandGenerateSeeds")?;
        let destroy: unsafe extern "C" fn(Handle) -> c_uint =
            self.function("curandDestroyGenerator")?;
        let (uniform, normal): (Two, Normal) = (
            self.function("curandGenerateUniform")?,
            self.function("curandGenerateNormal")?,
        );
        let log_normal: Normal = self.function("curandGenerateLogNormal")?;
        let poisson: Poisson = self.function("curandGeneratePoisson")?;
        // CURAND_RNG_PSEUDO_XORWOW and CURAND_RNG_PSEUDO_PHILOX4_32_10.
        let number = if kind == Generator::Xorwow { 101 } else { 161 };
        let mut handle = std::ptr::null_mut();
        // SAFETY: the function writes one handle.
        check("curandCreateGenerator", unsafe {
            create(&mut handle, number)
        })?;
        let generator = Made { handle, destroy };
        // SAFETY: the generator is alive.
        unsafe {
            check("curandSetStream", set_stream(handle, self.stream))?;
            check("curandSetPseudoRandomGeneratorSeed", set_seed(handle, 2026))?;
            check("curandGenerateSeeds", set_up(handle))?;
        }
        Ok(move |to: u64| {
            // The closure captures the whole generator, so that it lives as long.
            let generator: &Made = &generator;
            let (handle, to) = (generator.handle, to as *mut c_void);
            // SAFETY: the callers give the address of room for this many numbers.
            let code = unsafe {
                match distribution {
                    Distribution::Uniform => uniform(handle, to, len),
                    Distribution::Normal(mean, deviation) => {
                        normal(handle, to, len, mean as f32, deviation as f32)
                    }
                    Distribution::LogNormal(mean, deviation) => {
                        log_normal(handle, to, len, mean as f32, deviation as f32)
                    }
                    Distribution::Poisson(mean) => poisson(handle, to, len, mean),
                    Distribution::Words => {
                        return Err("a distribution required, given words".into());
                    }
                }
            };
            check("cuRAND", code)
        })
    }
}

/// A generator.
struct Made {
    handle: Handle,
    destroy: unsafe extern "C" fn(Handle) -> c_uint,
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: the generator is alive, and is not used after this. An error here cannot be reported.
        let _ = unsafe { (self.destroy)(self.handle) };
    }
}

fn check(call: &str, code: c_uint) -> Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(format!("{call}: status {code} of cuRAND").into()),
    }
}
