//! Assembles PTX with NVIDIA's `ptxas`, which reports the resources of each kernel. It needs no GPU.
//!
//! ```no_run
//! use cuda_builder::{NvvmArch, assemble::Ptxas};
//!
//! # fn main() -> Result<(), cuda_builder::CudaBuilderError> {
//! let assembly = Ptxas::discover()?.assemble("kernels.ptx".as_ref(), NvvmArch::Compute80)?;
//! // Fails if a kernel has more variables than registers.
//! for kernel in assembly.without_spills()?.kernels {
//!     println!("{}: {} registers", kernel.name, kernel.registers);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The search for `ptxas` looks at `WARPWRIGHT_PTXAS`, `PATH`, the `bin` folders of `CUDA_HOME` and `CUDA_PATH`,
//! `/usr/local/cuda/bin`, and the tools that were installed before. [`Ptxas::install`] installs it from the Python package
//! `nvidia-cuda-nvcc` if `pip` is available, and checks it against a known hash.

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

/// A working `ptxas`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ptxas {
    /// The path of the program.
    pub path: PathBuf,
    /// The version, such as `13.0.88`.
    pub version: String,
}

impl Ptxas {
    /// Finds the `ptxas` of this machine. Installs nothing.
    ///
    /// # Errors
    /// Returns [`CudaBuilderError::Tools`] if there is none, or if the one that `WARPWRIGHT_PTXAS` names does not work.
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

    /// Finds the `ptxas` of this machine, or installs it with `pip` if there is none.
    ///
    /// # Errors
    /// Returns [`CudaBuilderError::Tools`], which lists what was tried.
    pub fn install(verbose: bool) -> Result<Self, CudaBuilderError> {
        match Self::discover() {
            Ok(found) => Ok(found),
            // A program that the user named and that does not work must not be replaced silently.
            Err(error) if variable("WARPWRIGHT_PTXAS").is_some() => Err(error),
            Err(_) => Self::at(&NVCC.install("ptxas", verbose)?),
        }
    }

    /// Uses the `ptxas` at `path`.
    ///
    /// # Errors
    /// Returns [`CudaBuilderError::Tools`] if the program does not report its version.
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

    /// Assembles the PTX file for `arch`, which must be the file's architecture or a later one, and returns the resources
    /// of each kernel.
    ///
    /// # Errors
    /// Returns [`CudaBuilderError::BuildFailed`] with the output of `ptxas`, or with what it says of products by warpgroups
    /// that do not overlap (`wgmma`) and of register counts that it ignores (`setmaxnreg`): a kernel is made of these for
    /// speed alone.
    pub fn assemble(&self, ptx: &Path, arch: NvvmArch) -> Result<Assembly, CudaBuilderError> {
        self.run(ptx, arch, None)
    }

    /// Assembles like [`assemble`](Self::assemble) and writes the machine code to the file `cubin`.
    ///
    /// # Errors
    /// Returns the errors of [`assemble`](Self::assemble).
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
        // Line tables in the PTX only take effect with this option.
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
        if let Some(losses) = report::losses(&written) {
            return Err(failed(losses));
        }
        Ok(report::parse(&written))
    }
}
