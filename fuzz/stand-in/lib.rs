//! Stands in for the library `warpwright`, of which the readers of files want one thing: so that fuzzing them
//! does not compile the kernels with the fuzzer's instructions in them.

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
    /// Of histograms.
    pub mod histogram {
        /// The most bins that the library counts.
        pub const MOST_BINS: usize = u32::MAX as usize - 1;
    }
}
