//! What the kernels are compiled for.
//!
//! The builder's architecture goes to rustc as `-Ctarget-cpu`, and rustc sets a feature for it and for every earlier
//! one: `cfg(target_feature = "sm_80")` holds for compute capability 8.0 and later. So device code may have one body
//! with an instruction and one without; the same by a constant is
//! [`ComputeCapability::from_cuda_arch_env`].

/// A compute capability; later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum ComputeCapability {
    Compute35,
    Compute37,
    Compute50,
    Compute52,
    Compute53,
    Compute60,
    Compute61,
    Compute62,
    Compute70,
    Compute72,
    Compute75,
    Compute80,
    Compute86,
    Compute87,
    Compute89,
    Compute90,
    Compute100,
    Compute120,
}

impl ComputeCapability {
    /// The compute capability that the kernels are compiled for: a constant, so that the branch not taken
    /// is gone. On the CPU executor 7.5, the lowest that is supported.
    ///
    /// The compiler's `-Ctarget-cpu` decides, no environment variable; the name is Rust-CUDA's. Steps
    /// between the capabilities named here count as the one below.
    #[inline(always)]
    pub const fn from_cuda_arch_env() -> Self {
        if cfg!(target_feature = "sm_120") {
            Self::Compute120
        } else if cfg!(target_feature = "sm_100") {
            Self::Compute100
        } else if cfg!(target_feature = "sm_90") {
            Self::Compute90
        } else if cfg!(target_feature = "sm_89") {
            Self::Compute89
        } else if cfg!(target_feature = "sm_87") {
            Self::Compute87
        } else if cfg!(target_feature = "sm_86") {
            Self::Compute86
        } else if cfg!(target_feature = "sm_80") {
            Self::Compute80
        } else {
            Self::Compute75
        }
    }
}
