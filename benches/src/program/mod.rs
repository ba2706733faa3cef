//! The parts of the program.

pub mod counting;
pub mod files;
#[cfg(feature = "tuning")]
pub mod tune;
