//! The shared parts of the workspace's tests: the executors, the cases, the oracles, and the rules for comparing a result with
//! the expected one.
//!
//! A test takes its problems from [`cases`], which reads the catalogue: a new variant is tested without further changes. A new
//! element type must be added to [`for_each_number`]; `tests/catalogue.rs` fails until it is.

pub mod axis;
pub mod cases;
pub mod compare;
pub mod convolution;
pub mod data;
pub mod device_library;
pub mod devices;
pub mod exact;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod faults;
pub mod keys;
pub mod left_out;
pub mod mutants;
pub mod number;
pub mod operations;
pub mod oracle;
pub mod outside;
pub mod panics;

pub use number::Number;

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
