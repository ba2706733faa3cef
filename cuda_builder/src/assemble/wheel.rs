//! Installs NVIDIA's command-line tools from Python packages, without a CUDA installation.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::lock::FileLock;
use crate::toolchain::{on_path, private, refused, tools_folder};
use crate::{CudaBuilderError, process};

const LIMIT: Duration = Duration::from_secs(600);

/// The name of the file beside a package that holds the version and the hashes that `pip` was given.
const REQUIREMENTS: &str = "requirements.txt";

/// A Python package with programs, of fixed version and content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wheel {
    /// The name of the package.
    pub package: &'static str,
    /// The version to install.
    pub version: &'static str,
    /// The SHA-256 hashes of the package's wheels in hexadecimal, one for each platform. No other file is unpacked.
    pub sha256: &'static [&'static str],
}

// The hashes are those of the index, https://pypi.org/simple/<package>/. `sha256sum` of the wheels gave the same on
// 2026-11-22. The order is Linux on x86-64 and on aarch64 (both manylinux2014), Windows on x86-64.

/// The package with `ptxas`, in the version that fits driver 580.
pub const NVCC: Wheel = Wheel {
    package: "nvidia-cuda-nvcc",
    version: "13.0.88",
    sha256: &[
        "56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03",
        "c7ff28f86a24effdc6c034fa15230c549a273e4771b10a7fec14996f8cf3307f",
        "7c3a32c8ca9866addfd784da363ddee2f6874d560027a296f583e86a61f2d543",
    ],
};

/// The package with `nvdisasm`. It has no version 13.0; this version reads the output of `ptxas` 13.0.
pub const NVDISASM: Wheel = Wheel {
    package: "nvidia-cuda-nvdisasm",
    version: "13.2.51",
    sha256: &[
        "5a7acf77c55d6d2911ed6155d4d5bc156ffadf9df7a68a89b0c1155f4b13688c",
        "483c8f652c1ca006135584b4faf7ea1d2bafe4c40ec1c9ef57a04c6acfbdd57f",
        "e907c512732878be0f4f140c96b4024b96b66ec45672894bb8128ca8733ccdbf",
    ],
};

/// The package with `cuobjdump`. It has no version 13.0; this version reads the output of `ptxas` 13.0.
pub const CUOBJDUMP: Wheel = Wheel {
    package: "nvidia-cuda-cuobjdump",
    version: "13.2.51",
    sha256: &[
        "95c69d3ddf0c2c1f535ec44c3433a66aeee19f588d9d22f73356e20b25f12b50",
        "f2f3bc433a91f4ff910841f2de8bc9e7ce92556602d6e363054fe2bb62a587c4",
        "3b6dda842ae5369d6045b3b01a45050eeb32df8dc8f6ef2aeb2760fadc22eccf",
    ],
};

impl Wheel {
    /// Returns the path of the package's program if it was installed before.
    ///
    /// # Errors
    /// Returns [`CudaBuilderError::Tools`] if another user could have changed the program.
    pub fn installed(&self, program: &str) -> Result<Option<PathBuf>, CudaBuilderError> {
        let folder = self.folder();
        if fs::symlink_metadata(&folder).is_err() {
            return Ok(None);
        }
        private(program, &tools_folder())?;
        let folder = private(program, &folder)?;
        // A program that was unpacked for another version or other hashes is not run.
        if fs::read_to_string(folder.join(REQUIREMENTS)).ok() != Some(self.requirements()) {
            return Ok(None);
        }
        let Some(path) = find_program(&folder, program) else {
            return Ok(None);
        };
        system::folder::check_below(&folder, &path).map_err(|reason| refused(program, &reason))?;
        Ok(Some(path))
    }

    /// Returns the path of the package's program. If it is missing, `pip` installs it into `WARPWRIGHT_TOOLS_DIR` or a
    /// folder in the user's cache, and refuses a wheel with another hash. Processes that install at the same time wait for
    /// each other.
    ///
    /// # Errors
    /// Returns [`CudaBuilderError::Tools`] with the output of `pip` and the command to type, or if another user can write
    /// to the folder.
    pub fn install(&self, program: &str, verbose: bool) -> Result<PathBuf, CudaBuilderError> {
        if let Some(found) = self.installed(program)? {
            return Ok(found);
        }
        let tools = private(program, &tools_folder())?;
        let folder = tools.join(self.name());
        let _lock = FileLock::acquire(&folder.with_extension("lock"))?;
        if let Some(found) = self.installed(program)? {
            return Ok(found);
        }
        // A partial installation must not be found, so the folder gets its name at the end.
        let unfinished = folder.with_extension("new");
        remove(&unfinished)?;
        let done = self.unpack(program, &tools, &unfinished, verbose);
        if done.is_err() {
            // Leftovers are never used, and the next attempt removes them.
            let _ = remove(&unfinished);
        }
        done?;
        remove(&folder)?;
        fs::rename(&unfinished, &folder).map_err(CudaBuilderError::io("writing", &folder))?;
        self.installed(program)?
            .ok_or_else(|| self.failed(program, "it is gone again"))
    }

    /// Runs `pip` to unpack the package into the new folder `to`.
    fn unpack(
        &self,
        program: &str,
        tools: &Path,
        to: &Path,
        verbose: bool,
    ) -> Result<(), CudaBuilderError> {
        let failed = |reason: &str| self.failed(program, reason);
        let python = on_path("python3")
            .or_else(|| on_path("python"))
            .ok_or_else(|| failed("no Python is on PATH"))?;
        let to = private(program, to)?;
        let requirements = to.join(REQUIREMENTS);
        fs::write(&requirements, self.requirements())
            .map_err(CudaBuilderError::io("writing", &requirements))?;
        let mut command = Command::new(python);
        command
            .env("PIP_ROOT_USER_ACTION", "ignore")
            .args(["-m", "pip", "install", "--require-hashes", "--no-deps"])
            .args(["--quiet", "--disable-pip-version-check", "--no-input"])
            .args(["--only-binary", ":all:", "--no-compile", "--target"])
            .arg(&to)
            .arg("-r")
            .arg(&requirements)
            // With `-m`, Python searches the working directory for modules first.
            .current_dir(tools);
        if verbose {
            eprintln!(
                "{program}: installing {} {} with pip",
                self.package, self.version
            );
        }
        let output = process::run(&mut command, Some(LIMIT), verbose)
            .map_err(|error| failed(&format!("pip {error}")))?;
        if !output.status.success() {
            return Err(failed(output.stderr.trim()));
        }
        system::folder::take_from_others(&to).map_err(|reason| failed(&reason))?;
        find_program(&to, program)
            .ok_or_else(|| failed(&format!("`{program}` is not in the package")))?;
        Ok(())
    }

    fn failed(&self, program: &str, reason: &str) -> CudaBuilderError {
        CudaBuilderError::Tools(format!(
            "{program}: installing it failed; type `{}`\n  {reason}",
            self.advice()
        ))
    }

    /// Returns the command that installs the package by hand, with the same check.
    pub(super) fn advice(&self) -> String {
        format!(
            "echo '{}' > {REQUIREMENTS} && pip install --no-deps --require-hashes --target <folder> -r {REQUIREMENTS}",
            self.requirements().trim_end()
        )
    }

    /// Returns the version and the hashes in the form that `pip` reads.
    fn requirements(&self) -> String {
        let hashes = self
            .sha256
            .iter()
            .map(|hash| format!(" --hash=sha256:{hash}"));
        format!(
            "{}=={}{}\n",
            self.package,
            self.version,
            hashes.collect::<String>()
        )
    }

    fn folder(&self) -> PathBuf {
        tools_folder().join(self.name())
    }

    fn name(&self) -> String {
        // The name contains no dot, since the lock file's extension would replace the part after it.
        format!("{}-{}", self.package, self.version.replace('.', "_"))
    }
}

/// Removes the folder if it exists.
fn remove(folder: &Path) -> Result<(), CudaBuilderError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(CudaBuilderError::io("removing", folder)(error))
        }
        _ => Ok(()),
    }
}

/// Searches for the program in the packages' layouts: `nvidia/cu13/bin`, `nvidia/cuda_nvcc/bin`.
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
    fn the_advice_names_the_exact_version_and_its_hashes() {
        let advice = NVCC.advice();
        assert!(
            advice.contains("nvidia-cuda-nvcc==13.0.88 --hash=sha256:56fe502e"),
            "{advice}"
        );
        assert!(advice.contains(" --require-hashes "), "{advice}");
    }

    #[test]
    fn every_package_has_the_hash_of_three_wheels() {
        for wheel in [NVCC, NVDISASM, CUOBJDUMP] {
            let mut hashes = wheel.sha256.to_vec();
            hashes.sort_unstable();
            hashes.dedup();
            assert_eq!(hashes.len(), 3, "{wheel:?}");
            let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
            let whole = |hash: &&str| hash.len() == 64 && hash.chars().all(is_digit);
            assert!(hashes.iter().all(whole), "{wheel:?}");
        }
    }
}
