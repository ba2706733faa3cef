//! The build itself: from a builder's options to its modules.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::builder::CudaBuilder;
use crate::compile::{self, CrateInfo};
use crate::lock::FileLock;
use crate::options::{DebugInfo, PanicMessages};
use crate::pipeline::Pipeline;
use crate::{BuiltModule, CudaBuilderError, PtxVersion, Toolchain};

impl CudaBuilder {
    /// Builds the crate to one PTX file and returns its path: that of [`copy_to`](Self::copy_to) if set, else
    /// [`ptx_path`](Self::ptx_path).
    ///
    /// # Errors
    /// Returns a [`CudaBuilderError`]. It is an error if [`modules`](Self::modules) was set.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        if !self.modules.is_empty() || self.only.is_some() {
            return Err(CudaBuilderError::Modules(
                "build: one module required, given a division into several; `build_modules` builds \
                 those"
                    .to_owned(),
            ));
        }
        let built = self.run()?;
        // Without a division there is exactly one module.
        let Some(module) = built.into_iter().next() else {
            return Err(CudaBuilderError::Modules(
                "build: a module required, given none".into(),
            ));
        };
        if let Some(copy) = &self.final_module_path {
            let ir = module.path.with_extension("ll");
            make_parent(copy).map_err(CudaBuilderError::io("writing", copy))?;
            fs::copy(&ir, copy).map_err(CudaBuilderError::io("writing", copy))?;
        }
        match &self.ptx_file_copy_path {
            None => Ok(module.path),
            Some(copy) => {
                make_parent(copy).map_err(CudaBuilderError::FailedToCopyPtxFile)?;
                fs::copy(&module.path, copy).map_err(CudaBuilderError::FailedToCopyPtxFile)?;
                Ok(copy.clone())
            }
        }
    }

    /// Builds the crate to the modules of [`modules`](Self::modules), in their order, or to one module of the crate's name
    /// if none were set.
    ///
    /// # Errors
    /// Returns a [`CudaBuilderError`]. It is an error if an entry belongs to no module or to two, or if a prefix or name of
    /// a module matches no entry.
    pub fn build_modules(self) -> Result<Vec<BuiltModule>, CudaBuilderError> {
        self.run()
    }

    /// Returns the path of the PTX file that [`build`](Self::build) writes, before any copy.
    ///
    /// # Errors
    /// Returns the errors of [`build`](Self::build) for missing tools or a missing crate.
    pub fn ptx_path(&self) -> Result<PathBuf, CudaBuilderError> {
        let toolchain = self.find_tools()?;
        let info = compile::crate_info(&toolchain, &self.path_to_crate, false)?;
        let folder = self.module_folder(&info, &self.resolve_target_dir(&info));
        Ok(folder.join(format!("{}.ptx", module_name(&info))))
    }

    fn run(&self) -> Result<Vec<BuiltModule>, CudaBuilderError> {
        let ptx_version = self.checked_ptx_version()?;
        self.check_options()?;
        if !self.path_to_crate.join("Cargo.toml").is_file() {
            return Err(CudaBuilderError::CratePathDoesntExist(
                self.path_to_crate.clone(),
            ));
        }
        let toolchain = self.find_tools()?;
        let paths =
            self.debug_info() == DebugInfo::LineTables || self.messages() != PanicMessages::None;
        let info = compile::crate_info(&toolchain, &self.path_to_crate, paths)?;
        let target_dir = self.resolve_target_dir(&info);
        let folder = self.module_folder(&info, &target_dir);
        fs::create_dir_all(&folder).map_err(CudaBuilderError::io("creating", &folder))?;
        // Builds with the same options write the same files, so they take turns.
        let _lock = FileLock::acquire(&folder.join(".lock"))?;
        let mut flags = compile::rustflags(self, &toolchain, &info);
        let cargo_target = target_dir.join(cargo_target_name(&flags));
        flags.push(compile::generated(&cargo_target));
        let pipeline = Pipeline {
            builder: self,
            toolchain: &toolchain,
            folder: &folder,
            default_module: &module_name(&info),
            ptx_version,
        };
        let text = {
            // Cargo removes a library before it compiles it again, which may happen for the options of another build. So
            // nobody else builds in cargo's folder until the libraries are linked.
            let _lock = FileLock::acquire(&cargo_target.with_extension("lock"))?;
            let libraries = compile::compile(self, &toolchain, &info, &flags, &cargo_target)?;
            if in_build_script() {
                print_reruns(&compile::sources(self, &info, &cargo_target));
            }
            pipeline.link(&libraries)?
        };
        pipeline.run(text, &self.modules, self.only.as_deref())
    }

    /// Refuses unsupported options.
    fn check_options(&self) -> Result<(), CudaBuilderError> {
        if self.override_libm {
            return Err(CudaBuilderError::BuildFailed {
                step: "choosing options".to_owned(),
                message: "override_libm: `false` required, given `true`: calls of `libm` would become calls of \
                          libdevice, which is part of the CUDA toolkit; cuda_std's `GpuFloat` and `float` have the \
                          functions in Rust"
                    .to_owned(),
            });
        }
        Ok(())
    }

    fn find_tools(&self) -> Result<Toolchain, CudaBuilderError> {
        if self.install_tools {
            Toolchain::install(&self.tools, self.verbose)
        } else {
            Toolchain::discover_with(&self.tools)
        }
    }

    fn checked_ptx_version(&self) -> Result<PtxVersion, CudaBuilderError> {
        let minimum = self.arch.minimum_ptx_version();
        let version = self.ptx_version.unwrap_or(self.arch.default_ptx_version());
        if version < minimum {
            return Err(CudaBuilderError::BuildFailed {
                step: format!("choosing a PTX version for {}", self.arch),
                message: format!("{minimum} or newer required, given {version}"),
            });
        }
        Ok(version)
    }

    fn resolve_target_dir(&self, info: &CrateInfo) -> PathBuf {
        let folder = self.target_dir.clone().unwrap_or_else(|| {
            let parent = target_of_build_script()
                .or_else(|| env::var_os("CARGO_TARGET_DIR").map(PathBuf::from))
                .unwrap_or_else(|| info.target_directory.clone());
            parent.join("cuda-builder")
        });
        resolved(&folder)
    }

    /// Returns the folder of the modules, one for each set of options that changes the PTX.
    fn module_folder(&self, info: &CrateInfo, target_dir: &Path) -> PathBuf {
        let options = format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            info.root,
            self.messages(),
            self.nvvm_opts,
            self.optix,
            self.use_constant_memory_space,
            self.release,
            self.ftz,
            self.fast_sqrt,
            self.fast_div,
            self.fma_contraction,
            self.debug_info(),
            self.build_args,
            self.ptx_version,
            self.modules,
            self.tools,
        );
        let name = format!("{}-{:016x}", self.arch, fnv1a(options.as_bytes()));
        target_dir.join("modules").join(&info.name).join(name)
    }
}

/// Returns the absolute path of a folder, which need not exist, without `..` and symbolic links.
///
/// Cargo runs in the crate's folder, where a relative path would name another folder. The path is part of the compiler's flags:
/// if it were written in two ways, each build would compile again what the other one has compiled.
fn resolved(folder: &Path) -> PathBuf {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    // There `absolute` removes `..`, and `canonicalize` returns paths that many programs do not understand.
    if cfg!(windows) {
        return folder;
    }
    let there = folder
        .ancestors()
        .find_map(|part| Some((part, fs::canonicalize(part).ok()?)));
    match there {
        Some((part, real)) => match folder.strip_prefix(part) {
            Ok(rest) if rest.as_os_str().is_empty() => real,
            Ok(rest) => real.join(rest),
            Err(_) => folder,
        },
        None => folder,
    }
}

/// Returns the name of cargo's target folder below the builder's. Cargo does not distinguish libraries by flags that remap
/// paths, so builds of two workspaces would otherwise replace each other's `core`.
fn cargo_target_name(flags: &[String]) -> String {
    format!("crates-{:016x}", fnv1a(flags.join("\n").as_bytes()))
}

/// Returns the name of the single module of a crate that is not divided.
fn module_name(info: &CrateInfo) -> String {
    info.name.replace('-', "_")
}

fn make_parent(path: &Path) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Returns the 64-bit FNV-1a hash, which is the same in every process and good enough to distinguish folders.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns whether cargo runs this as a build script. Only then do cargo's instructions belong on standard output.
fn in_build_script() -> bool {
    [
        env::var_os("OUT_DIR"),
        env::var_os("TARGET"),
        env::var_os("HOST"),
        env::var_os("NUM_JOBS"),
        env::var_os("RUSTC"),
    ]
    .iter()
    .all(Option::is_some)
}

/// Returns the target folder that contains a build script's output folder.
fn target_of_build_script() -> Option<PathBuf> {
    if !in_build_script() {
        return None;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR")?);
    out.ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file())
        .map(Path::to_owned)
}

fn print_reruns(files: &[PathBuf]) {
    for file in files {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    for key in [
        "WARPWRIGHT_RUSTC",
        "WARPWRIGHT_LLVM_BIN",
        "WARPWRIGHT_INSTALL_TOOLS",
    ] {
        println!("cargo:rerun-if-env-changed={key}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Module, NvvmArch};

    #[test]
    fn hash_has_the_published_values() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn a_ptx_version_that_the_architecture_does_not_know_is_refused() {
        let builder = CudaBuilder::new(".")
            .arch(NvvmArch::Compute90)
            .ptx_version(PtxVersion::new(7, 0));
        let error = builder.checked_ptx_version().unwrap_err().to_string();
        assert!(
            error.contains("7.8 or newer required, given 7.0"),
            "{error}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_has_one_path_however_it_is_written() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path().canonicalize().unwrap();
        fs::create_dir(parent.join("tests")).unwrap();
        std::os::unix::fs::symlink(&parent, parent.join("link")).unwrap();
        let expected = parent.join("target");
        for made in [false, true] {
            if made {
                fs::create_dir(&expected).unwrap();
            }
            for written in ["target", "tests/../target", "link/target", "./target"] {
                assert_eq!(
                    resolved(&parent.join(written)),
                    expected,
                    "{written} {made}"
                );
            }
        }
    }

    #[test]
    fn a_path_without_a_crate_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = CudaBuilder::new(folder.path()).build().unwrap_err();
        assert!(
            matches!(error, CudaBuilderError::CratePathDoesntExist(_)),
            "{error}"
        );
    }

    #[test]
    fn one_file_and_several_modules_are_not_mixed_up() {
        let error = CudaBuilder::new(".")
            .modules([Module::family("a")])
            .build()
            .unwrap_err();
        assert!(
            error.to_string().contains("`build_modules` builds those"),
            "{error}"
        );
    }
}
