//! The readers of the program `warpwright`, compiled alone: see `stand-in`.

#[path = "../../cli/src/array.rs"]
pub mod array;
#[path = "../../cli/src/error.rs"]
pub mod error;
#[path = "../../cli/src/input.rs"]
pub mod input;
#[path = "../../cli/src/npy/mod.rs"]
pub mod npy;
#[path = "../../cli/src/picture/mod.rs"]
pub mod picture;
#[path = "../../cli/src/progress.rs"]
pub mod progress;
