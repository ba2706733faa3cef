//! NVIDIA's command-line tools from Python packages, which need no CUDA installation.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::lock::FileLock;
use crate::toolchain::{on_path, user_folder};
use crate::{CudaBuilderError, process};

const LIMIT: Duration = Duration::from_secs(600);

/// A Python package of fixed version that holds programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wheel {
    /// The package's name.
    pub package: &'static str,
    /// The version that is installed.
    pub version: &'static str,
}

/// Holds `ptxas`: the version that fits driver 580.
pub const NVCC: Wheel = Wheel {
    package: "nvidia-cuda-nvcc",
    version: "13.0.88",
};

/// Holds `nvdisasm`. The package has no 13.0; this one reads what `ptxas` 13.0 writes.
pub const NVDISASM: Wheel = Wheel {
    package: "nvidia-cuda-nvdisasm",
    version: "13.2.51",
};

/// Holds `cuobjdump`. The package has no 13.0; this one reads what `ptxas` 13.0 writes.
pub const CUOBJDUMP: Wheel = Wheel {
    package: "nvidia-cuda-cuobjdump",
    version: "13.2.51",
};

impl Wheel {
    /// The program of this package if it was installed before.
    pub fn installed(&self, program: &str) -> Option<PathBuf> {
        find_program(&self.folder(), program)
    }

    /// The program of this package; it is installed with `pip` if it is not there yet, into
    /// `WARPWRIGHT_TOOLS_DIR` or a folder of the user's cache. Processes that install at the same time
    /// wait for each other.
    ///
    /// # Errors
    /// [`CudaBuilderError::Tools`] with what `pip` wrote and what to type.
    pub fn install(&self, program: &str, verbose: bool) -> Result<PathBuf, CudaBuilderError> {
        if let Some(found) = self.installed(program) {
            return Ok(found);
        }
        let folder = self.folder();
        let _lock = FileLock::acquire(&folder.with_extension("lock"))?;
        if let Some(found) = self.installed(program) {
            return Ok(found);
        }
        let failed = |reason: String| {
            CudaBuilderError::Tools(format!(
                "{program}: installing it failed; type `{}`\n  {reason}",
                self.advice()
            ))
        };
        let python = on_path("python3")
            .or_else(|| on_path("python"))
            .ok_or_else(|| failed("no Python is on PATH".to_owned()))?;
        // What is only half there must not be found: the folder gets its name at the end.
        let unfinished = folder.with_extension("new");
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished)
                .map_err(CudaBuilderError::io("removing", &unfinished))?;
        }
        let mut command = Command::new(python);
        command
            .env("PIP_ROOT_USER_ACTION", "ignore")
            .args([
                "-m",
                "pip",
                "install",
                "--no-deps",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .args(["--no-input", "--only-binary", ":all:", "--target"])
            .arg(&unfinished)
            .arg(format!("{}=={}", self.package, self.version));
        if verbose {
            eprintln!(
                "{program}: installing {} {} with pip",
                self.package, self.version
            );
        }
        let output = process::run(&mut command, Some(LIMIT), verbose)
            .map_err(|error| failed(format!("pip {error}")))?;
        if !output.status.success() {
            return Err(failed(output.stderr.trim().to_owned()));
        }
        let there = find_program(&unfinished, program);
        there.ok_or_else(|| failed(format!("`{program}` is not in the package")))?;
        fs::rename(&unfinished, &folder).map_err(CudaBuilderError::io("writing", &folder))?;
        self.installed(program)
            .ok_or_else(|| failed("it is gone again".to_owned()))
    }

    /// What to type to install it by hand.
    pub(super) fn advice(&self) -> String {
        format!(
            "pip install --no-deps --target <folder> {}=={}",
            self.package, self.version
        )
    }

    fn folder(&self) -> PathBuf {
        let tools = env::var_os("WARPWRIGHT_TOOLS_DIR")
            .filter(|folder| !folder.is_empty())
            .map_or_else(|| user_folder().join("tools"), PathBuf::from);
        // No point in the name: the lock's name replaces what follows one.
        tools.join(format!(
            "{}-{}",
            self.package,
            self.version.replace('.', "_")
        ))
    }
}

/// Looks for the program in the packages' layouts: `nvidia/cu13/bin`, `nvidia/cuda_nvcc/bin`.
fn find_program(folder: &Path, program: &str) -> Option<PathBuf> {
    let name = format!("{program}{}", env::consts::EXE_SUFFIX);
    let mut parts: Vec<PathBuf> = fs::read_dir(folder.join("nvidia"))
        .ok()?
        .flatten()
        .map(|entry| entry.path().join("bin").join(&name))
        .collect();
    parts.sort();
    parts.into_iter().find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_either_layout() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(find_program(folder.path(), "ptxas"), None);
        let bin = folder.path().join("nvidia/cu13/bin");
        fs::create_dir_all(&bin).unwrap();
        assert_eq!(find_program(folder.path(), "ptxas"), None);
        let program = bin.join(format!("ptxas{}", env::consts::EXE_SUFFIX));
        fs::write(&program, "").unwrap();
        assert_eq!(find_program(folder.path(), "ptxas"), Some(program));
    }

    #[test]
    fn the_advice_names_the_exact_version() {
        assert!(NVCC.advice().ends_with("nvidia-cuda-nvcc==13.0.88"));
    }
}
