//! Pinned (page-locked) host memory.

mod locked_box;
mod locked_buffer;

pub use self::locked_box::*;
pub use self::locked_buffer::*;
