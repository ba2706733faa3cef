//! Kernels that do what programs do: they panic, allocate, and call published crates.
//!
//! The workspace's test `programs` runs them on both executors.
#![allow(clippy::missing_safety_doc)]

pub mod allocations;
pub mod hashes;
pub mod panics;
