//! Builds CUDA kernels written in Rust to PTX.
//!
//! The interface is the one of Rust-CUDA's `cuda_builder`; what is behind it is a stock Rust
//! compiler and the LLVM tools of the same major version, with no CUDA toolkit and no private
//! compiler crates. A build script looks like this:
//!
//! ```no_run
//! use cuda_builder::{CudaBuilder, NvvmArch};
//!
//! let ptx = std::path::Path::new(&std::env::var("OUT_DIR").unwrap()).join("kernels.ptx");
//! CudaBuilder::new("../kernels")
//!     .arch(NvvmArch::Compute80)
//!     .copy_to(&ptx)
//!     .build()
//!     .unwrap();
//! ```
//!
//! Other than there, [`CudaBuilder::fma_contraction`] is off by default, and so is `override_libm`, which is refused;
//! [`CudaBuilder::release`] leaves `nvvm_opts` as it is. A panic prints where it is and what it says, see [`PanicMessages`].
//!
//! # What is needed
//! - A Rust compiler of version 1.96 or newer, its library sources, and `llvm-link`, `opt` and `llc`
//!   of the LLVM major version that the compiler was built with (22 or newer). They are looked for,
//!   in this order: the builder's own settings and the environment variables below; rustup's
//!   toolchains; the system's packages. [`Toolchain`] does the looking.
//! - Nothing is installed unless [`CudaBuilder::install_tools`] or `WARPWRIGHT_INSTALL_TOOLS=1` asks
//!   for it.
//! - The first build compiles `core` from source, which takes about 20 s on two cores, and `alloc` where a crate of the
//!   build asks for it (`extern crate alloc`; cuda_std's feature `alloc`): the compiler then says so, and the build goes
//!   on with it. Builds with and without the messages of panics have a `core` each. Cargo fetches the standard
//!   library's own dependencies from the registry for it.
//!
//! # Environment variables
//! | variable | meaning |
//! | --- | --- |
//! | `WARPWRIGHT_RUSTC` | path of the Rust compiler for device code |
//! | `WARPWRIGHT_LLVM_BIN` | folder that holds `llvm-link`, `opt` and `llc` |
//! | `WARPWRIGHT_INSTALL_TOOLS` | `1`: missing tools may be installed |
//! | `WARPWRIGHT_PTXAS` | path of `ptxas`, see [`assemble`] |
//! | `WARPWRIGHT_TOOLS_DIR` | where [`assemble`] keeps the tools it installs: a folder that nobody else can write to |
//!
//! In a process with raised privileges (set-user-ID and the like) they are ignored, and no program is started.
//!
//! # Steps of a build
//! 1. `cargo rustc` compiles the crate, its dependencies and `core` for `nvptx64-nvidia-cuda` to LLVM
//!    bitcode.
//! 2. `llvm-link` joins exactly the libraries that this build reported.
//!    All crates but `core` are given `no_std`, `feature(abi_ptx)` and `feature(asm_experimental_arch)`, and the names
//!    `compute_75` and so on of the architecture as target features.
//! 3. Messages of panics lose their arguments, see [`PanicMessages::Place`]; what `#[externally_visible]` marks stays.
//!    Statics of the sections `.cuda_std.shared` and `.cuda_std.constant` go to those kinds of memory.
//! 4. Launch bounds are read from the statics `__launch_bounds__<entry>` and become attributes of the
//!    entries; the statics are dropped. The entries are the functions of calling convention
//!    `ptx_kernel`.
//! 5. `opt` keeps the entries of one module and optimises, with address spaces inferred first.
//! 6. `llc` writes the PTX.
//!
//! The PTX depends on the sources, the compiler and the options, and on nothing else: not on the
//! folder that the crate lies in, and not on what was built before.

#![warn(missing_docs)]

mod arch;
pub mod assemble;
mod builder;
mod compile;
mod error;
mod ir;
mod lock;
mod module;
mod options;
mod pipeline;
mod process;
mod symbols;
mod toolchain;

pub use arch::{NvvmArch, ParseArchError, PtxVersion};
pub use builder::CudaBuilder;
pub use error::CudaBuilderError;
pub use module::{BuiltModule, EntryPoint, Module};
pub use options::{DebugInfo, EmitOption, PanicMessages};
pub use toolchain::{PINNED_RUST, Survey, Toolchain, ToolchainOptions, ToolchainSource};
