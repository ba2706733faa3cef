//! Reversal: the elements of an array from the last one to the first.
//!
//! | variant | idea |
//! | --- | --- |
//! | `best` | a thread per element |

mod best;
pub mod policy;

pub use best::{ReverseBest, reverse_best};

use crate::catalogue::declare_family;

declare_family! {
    name: "reverse",
    summary: "the elements of an array from the last one to the first",
    ladder: [],
    best: {
        idea: "a thread per element",
        kernels: ["reverse_best"],
    },
}
