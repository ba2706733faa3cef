//! The compute capability that the kernels are compiled for.
//!
//! The builder passes its architecture to rustc as `-Ctarget-cpu`. rustc then sets a target feature for it and for every
//! earlier architecture: `cfg(target_feature = "sm_80")` holds for compute capability 8.0 and later. With it, device code
//! can have one body with an instruction and one without. [`ComputeCapability::from_cuda_arch_env`] is the same as a
//! constant.

/// A compute capability. A later one compares greater.
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
    /// Returns the compute capability that the kernels are compiled for. The value is a constant, so the compiler removes
    /// the branch that is not taken. On the CPU executor it is 7.5, the lowest that is supported.
    ///
    /// The compiler's `-Ctarget-cpu` determines the value, not an environment variable; the name is Rust-CUDA's. An
    /// architecture between the ones named here counts as the one below it.
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
