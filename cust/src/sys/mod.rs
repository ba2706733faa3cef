//! The driver's own declarations, as far as this crate uses them: [types](self#types), constants and
//! [functions](self#functions), with NVIDIA's names.
//!
//! Enumerations are plain numbers. A driver may be newer than these lines, and a number without a name here is then still
//! a number.
//!
//! The functions take the form that has been declared for the CUDA version beside each in the source: `cuMemAlloc` is what
//! a driver exports as `cuMemAlloc_v2`. Without a driver, or where a driver lacks one, a function does nothing and
//! returns a code that [`CudaError::from_code`](crate::error::CudaError::from_code) knows.

#![allow(non_camel_case_types, non_snake_case)]

mod functions;
mod types;

pub use functions::*;
pub use types::*;

#[cfg(test)]
mod tests;
