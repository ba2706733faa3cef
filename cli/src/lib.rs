//! The parts of the program `warpwright` that are not about command lines: file formats, output
//! files, plots, a synthetic picture, and the checks and timings behind `verify` and `ladder`.
//!
//! The kernels and the operations live in the library `warpwright`; this crate brings files to them and
//! their results back into files.

pub mod array;
pub mod error;
pub mod input;
pub mod ladder;
pub mod npy;
pub mod output;
pub mod picture;
pub mod plot;
pub mod progress;
pub mod render;
pub mod ulp;
pub mod verify;
