//! The numbers of the reversal.

/// The threads of a block.
pub const BLOCK: usize = 256;
