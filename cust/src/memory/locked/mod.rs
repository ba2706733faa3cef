//! Memory of the host that is locked in place.

mod locked_box;
mod locked_buffer;

pub use self::locked_box::*;
pub use self::locked_buffer::*;
