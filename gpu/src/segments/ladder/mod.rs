//! The rungs below `best`.

pub mod naive;
pub mod warp_per_segment;
