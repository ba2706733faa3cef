//! What the workspace's tests share: the executors that there are, the cases, the oracles, and the rules
//! by which a result is compared with what it should be.
//!
//! A test takes its problems from [`cases`], which reads the catalogue: a variant that is added there is
//! tested without another line here. An element type has to be added to
//! [`for_each_number`], and `tests/catalogue.rs` fails until it is.

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
pub mod left_out;
pub mod mutants;
pub mod number;
pub mod operations;
pub mod oracle;
pub mod outside;

pub use number::Number;

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
