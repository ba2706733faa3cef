//! The driver API's declarations that this crate uses: [types](self#types), constants and [functions](self#functions), with
//! NVIDIA's names.
//!
//! Enumerations are plain integers, because a newer driver may return values that have no name here.
//!
//! Each function is the form of the CUDA version that stands beside it in the source: `cuMemAlloc` is what a driver exports
//! as `cuMemAlloc_v2`. If there is no driver, or if the driver lacks the function, a call does nothing and returns a code
//! that [`CudaError::from_code`](crate::error::CudaError::from_code) knows.

#![allow(non_camel_case_types, non_snake_case)]

mod functions;
mod types;

pub use functions::*;
pub use types::*;

#[cfg(test)]
mod tests;
