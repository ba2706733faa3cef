//! The builder's options.

use std::path::{Path, PathBuf};

use system::environment::variable;

use crate::options::{DebugInfo, EmitOption, PanicMessages};
use crate::{Module, NvvmArch, PtxVersion, Toolchain, ToolchainOptions};

/// Builds a crate of kernels to PTX.
///
/// The crate must be a library with entries of `extern "ptx-kernel"`, and `#![no_std]` on the target `nvptx64-nvidia-cuda`.
/// See the [crate's page](crate) for the steps and the requirements of a build.
#[derive(Debug, Clone)]
pub struct CudaBuilder {
    pub(crate) path_to_crate: PathBuf,
    /// Whether to compile for release; `true` by default. If `false`, the device checks arithmetic overflow and debug
    /// assertions, and a failed check traps. Both builds are optimized.
    pub release: bool,
    /// The path to copy the finished PTX file to; for [`build`](Self::build) only.
    pub ptx_file_copy_path: Option<PathBuf>,
    /// The architecture; `Compute75` by default.
    pub arch: NvvmArch,
    /// Whether `f32` arithmetic flushes subnormal numbers to zero; `false` by default.
    pub ftz: bool,
    /// Whether `f32` square roots are approximate; `false` by default.
    pub fast_sqrt: bool,
    /// Whether `f32` divisions are approximate; `false` by default.
    pub fast_div: bool,
    /// Whether `a * b + c` may become one fused instruction; `false` by default, unlike in Rust-CUDA. Each operation then
    /// rounds as Rust specifies, and a kernel gives the same bits on the CPU. `mul_add` is always fused.
    pub fma_contraction: bool,
    /// The message that a panic on the device prints before the launch ends with an error; [`PanicMessages::Place`] by
    /// default.
    pub panic_messages: PanicMessages,
    /// Whether a build that is not for release has source lines, as with [`DebugInfo::LineTables`]; `true` by default. It
    /// has no effect on a release build, as in Rust-CUDA; there [`debug`](Self#structfield.debug) turns lines on.
    pub generate_line_info: bool,
    /// Whether the linked crates are optimized together; `true` by default, with [`release`](Self#structfield.release) and
    /// without. rustc has already optimized each crate by itself. If `false`, functions stay calls where rustc left them,
    /// for reading the code or for a debugger.
    pub nvvm_opts: bool,
    /// Whether the code is for the ray tracer OptiX, as in Rust-CUDA: the crates see `cfg(optix)`, and a panic traps
    /// without a message; `false` by default.
    pub optix: bool,
    /// Rust-CUDA's option to call libdevice instead of the crate `libm`; `false` by default. A build with `true` is an
    /// error: libdevice is part of the CUDA toolkit, which this builder does not need.
    pub override_libm: bool,
    /// Whether static tables that no kernel writes go to constant memory, which has 64 KiB; `false` by default.
    pub use_constant_memory_space: bool,
    /// The intermediate file to keep beside the PTX.
    pub emit: Option<EmitOption>,
    /// The debug information to generate; none by default.
    pub debug: DebugInfo,
    /// Additional arguments for cargo.
    pub build_args: Vec<String>,
    /// The path to write the LLVM IR to from which the PTX was made.
    pub final_module_path: Option<PathBuf>,
    /// Whether cargo's progress and the compiler's warnings go to standard error; `false` by default.
    pub verbose: bool,
    pub(crate) modules: Vec<Module>,
    pub(crate) only: Option<Vec<String>>,
    pub(crate) ptx_version: Option<PtxVersion>,
    pub(crate) tools: ToolchainOptions,
    pub(crate) install_tools: bool,
    pub(crate) target_dir: Option<PathBuf>,
}

impl CudaBuilder {
    /// Creates a builder for the crate whose `Cargo.toml` is in `path_to_crate_root`.
    pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
        Self {
            path_to_crate: path_to_crate_root.as_ref().to_owned(),
            release: true,
            ptx_file_copy_path: None,
            arch: NvvmArch::default(),
            ftz: false,
            fast_sqrt: false,
            fast_div: false,
            fma_contraction: false,
            panic_messages: PanicMessages::Place,
            generate_line_info: true,
            nvvm_opts: true,
            optix: false,
            override_libm: false,
            use_constant_memory_space: false,
            emit: None,
            debug: DebugInfo::None,
            build_args: Vec::new(),
            final_module_path: None,
            verbose: false,
            modules: Vec::new(),
            only: None,
            ptx_version: None,
            tools: ToolchainOptions::from_env(),
            install_tools: variable("WARPWRIGHT_INSTALL_TOOLS").is_some_and(|v| v == "1"),
            target_dir: None,
        }
    }

    /// Adds arguments for cargo, such as `--features`.
    #[must_use]
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args
            .extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets the debug information to generate.
    #[must_use]
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.debug = debug;
        self
    }

    /// Sets whether to compile for release. See [`release`](Self#structfield.release).
    #[must_use]
    pub fn release(mut self, release: bool) -> Self {
        self.release = release;
        self
    }

    /// Sets the architecture. The PTX runs on it and on all later ones.
    #[must_use]
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = arch;
        self
    }

    /// Sets whether `f32` arithmetic flushes subnormal numbers to zero.
    #[must_use]
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.ftz = ftz;
        self
    }

    /// Sets whether `f32` square roots are approximate.
    #[must_use]
    pub fn fast_sqrt(mut self, fast_sqrt: bool) -> Self {
        self.fast_sqrt = fast_sqrt;
        self
    }

    /// Sets whether `f32` divisions are approximate.
    #[must_use]
    pub fn fast_div(mut self, fast_div: bool) -> Self {
        self.fast_div = fast_div;
        self
    }

    /// Sets whether `a * b + c` may be fused. See [`fma_contraction`](Self#structfield.fma_contraction).
    #[must_use]
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self.fma_contraction = fma_contraction;
        self
    }

    /// Sets the message that a panic prints. See [`PanicMessages`].
    #[must_use]
    pub fn panic_messages(mut self, panic_messages: PanicMessages) -> Self {
        self.panic_messages = panic_messages;
        self
    }

    /// Sets whether a build that is not for release has source lines. See
    /// [`generate_line_info`](Self#structfield.generate_line_info).
    #[must_use]
    pub fn generate_line_info(mut self, generate_line_info: bool) -> Self {
        self.generate_line_info = generate_line_info;
        self
    }

    /// Sets whether the linked crates are optimized together. See [`nvvm_opts`](Self#structfield.nvvm_opts).
    #[must_use]
    pub fn nvvm_opts(mut self, nvvm_opts: bool) -> Self {
        self.nvvm_opts = nvvm_opts;
        self
    }

    /// Sets whether the code is for OptiX. See [`optix`](Self#structfield.optix).
    #[must_use]
    pub fn optix(mut self, optix: bool) -> Self {
        self.optix = optix;
        self
    }

    /// Requests libdevice instead of `libm`, which a build refuses. See [`override_libm`](Self#structfield.override_libm).
    #[must_use]
    pub fn override_libm(mut self, override_libm: bool) -> Self {
        self.override_libm = override_libm;
        self
    }

    /// Sets whether static tables go to constant memory. See
    /// [`use_constant_memory_space`](Self#structfield.use_constant_memory_space).
    #[must_use]
    pub fn use_constant_memory_space(mut self, use_constant_memory_space: bool) -> Self {
        self.use_constant_memory_space = use_constant_memory_space;
        self
    }

    /// Keeps the optimized LLVM IR beside the PTX, as `<module>.ll`.
    #[must_use]
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.emit = emit_llvm_ir.then_some(EmitOption::LlvmIr);
        self
    }

    /// Keeps the optimized LLVM bitcode beside the PTX, as `<module>.bc`.
    #[must_use]
    pub fn emit_llvm_bitcode(mut self, emit_llvm_bitcode: bool) -> Self {
        self.emit = emit_llvm_bitcode.then_some(EmitOption::Bitcode);
        self
    }

    /// Writes the LLVM IR from which the PTX was made to this file, as in Rust-CUDA; for [`build`](Self::build) only.
    #[must_use]
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module_path = Some(path.as_ref().to_owned());
        self
    }

    /// Copies the finished PTX file to this path. Missing folders are created.
    #[must_use]
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.ptx_file_copy_path = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the version of PTX to write. The default is [`NvvmArch::default_ptx_version`].
    #[must_use]
    pub fn ptx_version(mut self, version: PtxVersion) -> Self {
        self.ptx_version = Some(version);
        self
    }

    /// Divides the entries into modules, for [`build_modules`](Self::build_modules).
    #[must_use]
    pub fn modules(mut self, modules: impl IntoIterator<Item = Module>) -> Self {
        self.modules.extend(modules);
        self
    }

    /// Builds only the modules of these names. The check that each entry belongs to one module still covers all modules.
    #[must_use]
    pub fn only(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.only
            .get_or_insert_default()
            .extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets the Rust compiler for device code.
    #[must_use]
    pub fn rustc(mut self, path: impl AsRef<Path>) -> Self {
        self.tools.rustc = Some(path.as_ref().to_owned());
        self
    }

    /// Sets the folder that holds `llvm-link`, `opt` and `llc`.
    #[must_use]
    pub fn llvm_bin(mut self, folder: impl AsRef<Path>) -> Self {
        self.tools.llvm_bin = Some(folder.as_ref().to_owned());
        self
    }

    /// Sets all tools at once, for example to those of [`Toolchain::discover`].
    #[must_use]
    pub fn toolchain(mut self, toolchain: &Toolchain) -> Self {
        self.tools.rustc = Some(toolchain.rustc.clone());
        self.tools.llvm_bin = Some(toolchain.llvm_bin.clone());
        self
    }

    /// Sets whether missing tools may be installed. The default is `false`, since a build script should not install
    /// packages unasked.
    #[must_use]
    pub fn install_tools(mut self, install: bool) -> Self {
        self.install_tools = install;
        self
    }

    /// Sets the folder for all files that the build writes. The default is `cuda-builder` in the target folder of the
    /// workspace. It must not be the target folder of the cargo that runs the build script, since that cargo holds its
    /// lock.
    #[must_use]
    pub fn target_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.target_dir = Some(folder.as_ref().to_owned());
        self
    }

    /// Sets whether cargo's progress and the compiler's warnings go to standard error.
    #[must_use]
    pub fn verbose(mut self, verbose: bool) -> Self {
        self.verbose = verbose;
        self
    }

    /// Returns the debug information that [`debug`](Self#structfield.debug) and
    /// [`generate_line_info`](Self#structfield.generate_line_info) request.
    pub(crate) fn debug_info(&self) -> DebugInfo {
        match self.debug {
            DebugInfo::None if self.generate_line_info && !self.release => DebugInfo::LineTables,
            asked => asked,
        }
    }

    /// Returns the message that a panic prints, given [`optix`](Self#structfield.optix).
    pub(crate) fn messages(&self) -> PanicMessages {
        match self.optix {
            true => PanicMessages::None,
            false => self.panic_messages,
        }
    }
}
