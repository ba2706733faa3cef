//! The rungs of the ladder below `best`, which are compiled with the feature `ladder` alone.

pub(super) mod look_back;
pub(super) mod naive;
pub(super) mod reduce_then_scan;
