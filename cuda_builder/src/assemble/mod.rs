//! Assembling PTX with NVIDIA's `ptxas`, to see what a kernel needs; no GPU takes part.
//!
//! ```no_run
//! use cuda_builder::{NvvmArch, assemble::Ptxas};
//!
//! # fn main() -> Result<(), cuda_builder::CudaBuilderError> {
//! let assembly = Ptxas::discover()?.assemble("kernels.ptx".as_ref(), NvvmArch::Compute80)?;
//! for kernel in assembly.kernels {
//!     println!("{}: {} registers", kernel.name, kernel.registers);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `ptxas` is looked for in `WARPWRIGHT_PTXAS`, on `PATH`, in the `bin` folders of `CUDA_HOME` and
//! `CUDA_PATH`, in `/usr/local/cuda/bin`, and among the tools installed before. [`Ptxas::install`]
//! gets it from the Python package `nvidia-cuda-nvcc` where `pip` is there, checked against a hash of ours.

mod report;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use system::environment::variable;

pub use report::{Assembly, KernelUsage};
pub use wheel::{CUOBJDUMP, NVCC, NVDISASM, Wheel};

use crate::toolchain::{ask, on_path};
use crate::{CudaBuilderError, NvvmArch, process};

/// A `ptxas` that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ptxas {
    /// The program.
    pub path: PathBuf,
    /// Its version, such as `13.0.88`.
    pub version: String,
}

impl Ptxas {
    /// The `ptxas` of this machine. Installs nothing.
    ///
    /// # Errors
    /// [`CudaBuilderError::Tools`] if there is none, or if the one that `WARPWRIGHT_PTXAS` names does
    /// not answer.
    pub fn discover() -> Result<Self, CudaBuilderError> {
        if let Some(path) = variable("WARPWRIGHT_PTXAS") {
            return Self::at(Path::new(&path));
        }
        let toolkits = [variable("CUDA_HOME"), variable("CUDA_PATH")]
            .into_iter()
            .flatten()
            .map(PathBuf::from);
        let in_toolkits = toolkits
            .chain([PathBuf::from("/usr/local/cuda")])
            .map(|folder| {
                folder
                    .join("bin")
                    .join(format!("ptxas{}", env::consts::EXE_SUFFIX))
            });
        let found = on_path("ptxas")
            .into_iter()
            .chain(in_toolkits)
            .filter(|path| path.is_file())
            .find_map(|path| Self::at(&path).ok());
        if let Some(found) = found {
            return Ok(found);
        }
        match NVCC.installed("ptxas")? {
            Some(path) => Self::at(&path),
            None => Err(CudaBuilderError::Tools(format!(
                "ptxas: the program required, found none; type `{}` and set WARPWRIGHT_PTXAS, or \
                 install a CUDA toolkit",
                NVCC.advice()
            ))),
        }
    }

    /// The `ptxas` of this machine; where there is none, it is installed with `pip`.
    ///
    /// # Errors
    /// [`CudaBuilderError::Tools`] with what was tried.
    pub fn install(verbose: bool) -> Result<Self, CudaBuilderError> {
        match Self::discover() {
            Ok(found) => Ok(found),
            // A program that was named and does not answer is not to be replaced silently.
            Err(error) if variable("WARPWRIGHT_PTXAS").is_some() => Err(error),
            Err(_) => Self::at(&NVCC.install("ptxas", verbose)?),
        }
    }

    /// The `ptxas` at `path`.
    ///
    /// # Errors
    /// [`CudaBuilderError::Tools`] if it does not tell its version.
    pub fn at(path: &Path) -> Result<Self, CudaBuilderError> {
        let text = ask(path, &["--version"])
            .map_err(|reason| CudaBuilderError::Tools(format!("ptxas: {reason}")))?;
        let version = report::version(&text).ok_or_else(|| {
            CudaBuilderError::Tools(format!(
                "ptxas: {} does not tell its version",
                path.display()
            ))
        })?;
        Ok(Self {
            path: path.to_owned(),
            version,
        })
    }

    /// Assembles the PTX file for `arch`, which must be the architecture that it names or a later
    /// one, and gives what each kernel needs.
    ///
    /// # Errors
    /// [`CudaBuilderError::BuildFailed`] with what `ptxas` wrote.
    pub fn assemble(&self, ptx: &Path, arch: NvvmArch) -> Result<Assembly, CudaBuilderError> {
        self.run(ptx, arch, None)
    }

    /// As [`assemble`](Self::assemble), and keeps the machine code in the file `cubin`.
    ///
    /// # Errors
    /// As `assemble`.
    pub fn assemble_to(
        &self,
        ptx: &Path,
        arch: NvvmArch,
        cubin: &Path,
    ) -> Result<Assembly, CudaBuilderError> {
        self.run(ptx, arch, Some(cubin))
    }

    fn run(
        &self,
        ptx: &Path,
        arch: NvvmArch,
        cubin: Option<&Path>,
    ) -> Result<Assembly, CudaBuilderError> {
        let text = fs::read_to_string(ptx).map_err(CudaBuilderError::io("reading", ptx))?;
        let mut command = Command::new(&self.path);
        command.arg("-v").arg(format!("-arch={arch}"));
        // Line tables in the PTX are of use only if they are asked for here too.
        if text.contains("\n\t.loc") {
            command.arg("-lineinfo");
        }
        command.arg(ptx);
        match cubin {
            Some(file) => command.arg("-o").arg(file),
            None => command.args(["-o", if cfg!(windows) { "NUL" } else { "/dev/null" }]),
        };
        let failed = |message: String| CudaBuilderError::BuildFailed {
            step: format!("assembling {} for {arch}", ptx.display()),
            message,
        };
        let output = process::run(&mut command, None, false)
            .map_err(|error| failed(format!("`{}` {error}", self.path.display())))?;
        // `ptxas` writes its report to one stream and its errors to the other.
        let written = String::from_utf8_lossy(&output.stdout).into_owned() + &output.stderr;
        if !output.status.success() {
            return Err(failed(written));
        }
        Ok(report::parse(&written))
    }
}
