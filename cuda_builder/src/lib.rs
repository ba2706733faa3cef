//! Builds CUDA kernels written in Rust to PTX.
//!
//! The interface is that of Rust-CUDA's `cuda_builder`. The implementation uses a stock Rust compiler and the LLVM tools of
//! the same major version. It needs no CUDA toolkit and no private compiler crates. A build script looks like this:
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
//! Differences from Rust-CUDA: [`CudaBuilder::fma_contraction`] is off by default; `override_libm` is off by default and
//! refused; [`CudaBuilder::release`] does not change `nvvm_opts`. A panic prints its location and message, see
//! [`PanicMessages`].
//!
//! # Requirements
//! - A Rust compiler of version 1.96 or newer, its library sources, and `llvm-link`, `opt` and `llc` of the LLVM major
//!   version that the compiler was built with (22 or newer). [`Toolchain`] searches for them, in this order: the builder's
//!   own settings and the environment variables below; rustup's toolchains; the system's packages.
//! - Nothing is installed unless [`CudaBuilder::install_tools`] or `WARPWRIGHT_INSTALL_TOOLS=1` requests it.
//! - The first build compiles `core` from source, which takes about 20 s on two cores. It also compiles `alloc` if a crate
//!   of the build uses it (`extern crate alloc`; cuda_std's feature `alloc`): the builder learns that from the compiler and
//!   continues with `alloc`. Builds with and without panic messages each have their own `core`. Cargo fetches the standard
//!   library's dependencies from the registry.
//!
//! # Environment variables
//! | variable | meaning |
//! | --- | --- |
//! | `WARPWRIGHT_RUSTC` | path of the Rust compiler for device code |
//! | `WARPWRIGHT_LLVM_BIN` | folder that holds `llvm-link`, `opt` and `llc` |
//! | `WARPWRIGHT_INSTALL_TOOLS` | `1`: missing tools may be installed |
//! | `WARPWRIGHT_PTXAS` | path of `ptxas`, see [`assemble`] |
//! | `WARPWRIGHT_TOOLS_DIR` | folder where [`assemble`] keeps the tools that it installs; no other user may be able to write to it |
//!
//! A process with raised privileges (set-user-ID and the like) ignores the variables and starts no program.
//!
//! # Steps of a build
//! 1. `cargo rustc` compiles the crate, its dependencies and `core` for `nvptx64-nvidia-cuda` to LLVM
//!    bitcode.
//! 2. `llvm-link` links exactly the libraries that this build reported. All crates except `core` get `no_std`,
//!    `feature(abi_ptx)` and `feature(asm_experimental_arch)`, and the architecture's names `compute_75` and so on as
//!    target features.
//! 3. Panic messages lose their arguments, see [`PanicMessages::Place`]. Items that `#[externally_visible]` marks are kept.
//!    Statics of the sections `.cuda_std.shared` and `.cuda_std.constant` go to those address spaces.
//! 4. Launch bounds are read from the statics `__launch_bounds__<entry>` and become attributes of the entries; the statics
//!    are removed. The entries are the functions with the calling convention `ptx_kernel`.
//! 5. `opt` keeps the entries of one module, infers address spaces, and optimizes.
//! 6. `llc` writes the PTX.
//!
//! The PTX depends only on the sources, the compiler and the options. It does not depend on the folder of the crate or on
//! earlier builds.

#![warn(missing_docs)]

mod arch;
pub mod assemble;
mod build;
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
