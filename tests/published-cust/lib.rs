//! The names of `signatures.rs` are those of the published crate `cust`, when this is compiled.

#![allow(
    unused,
    clippy::type_complexity,
    reason = "signatures stand as the crate has them"
)]

use cust as c;

/// The numbers of the crate's errors.
macro_rules! same_errors {
    ($($name:ident = $number:literal,)*) => {
        const _: () = { $( assert!(CudaError::$name as u32 == $number); )* };
    };
}

include!("signatures.rs");
