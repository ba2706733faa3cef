//! Stands in for the library `warpwright`, of which the readers of files and the parser of arguments need little: so that
//! fuzzing them does not compile the kernels with the fuzzer's instructions in them.

/// The CPU as a device.
pub struct Device;

impl Device {
    /// The one there is.
    pub fn cpu() -> Self {
        Self
    }

    /// What a fuzzer may take, in bytes.
    ///
    /// # Errors
    /// None.
    pub fn free_memory(&self) -> Result<u64, std::convert::Infallible> {
        Ok(1 << 30)
    }
}

/// What the arguments of the program ask of the library's operations.
pub mod ops {
    /// Of matrix products.
    pub mod gemm {
        /// How a matrix product of `f32` is computed. The library's names.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Precision {
            /// `exact`.
            Exact,
            /// `bf16x6`.
            Bf16x6,
            /// `tf32`.
            Tf32,
        }

        impl std::str::FromStr for Precision {
            type Err = String;

            fn from_str(name: &str) -> Result<Self, String> {
                match name {
                    "exact" => Ok(Self::Exact),
                    "bf16x6" => Ok(Self::Bf16x6),
                    "tf32" => Ok(Self::Tf32),
                    _ => Err(format!("one of exact, bf16x6, tf32 required, `{name}` given")),
                }
            }
        }
    }

    /// Of histograms.
    pub mod histogram {
        /// The most bins that the library counts.
        pub const MOST_BINS: usize = u32::MAX as usize - 1;
    }
}
