//! Elementwise map: `output[i] = f(i, input[i])`.
//!
//! | variant | idea |
//! | --- | --- |
//! | `direct` | one thread per element |
//! | `rolled` | a loop whose stride is the whole grid: any launch shape does all the work |
//! | `best` | 16-byte loads and stores, a thread for each |
//!
//! The function is a type, [`MapFn`](cuda_std::map::MapFn), and every kernel is generic over it. [`functions`] has the
//! library's own functions. A user's crate makes a kernel of its own functions with [`cuda_std::map_kernel!`]. A function's
//! result does not depend on the variant or on the launch. Its operations are the same on every device, and so are the bits,
//! except for the hardware's approximations. Every element is read once and written once.
//!
//! [`Wave`] is the family's original function: it has no input, and takes two numbers from constant memory.

mod best;
pub mod functions;
mod instances;
#[cfg(feature = "ladder")]
mod ladder;
pub mod policy;
mod wave;

pub use best::{MapBest, map_best};
#[cfg(not(target_arch = "nvptx64"))]
pub use instances::{LibraryFn, all as kernels};
#[cfg(feature = "ladder")]
pub use ladder::*;
pub use wave::{MAP_COUNT, MAP_PI, Wave};

use crate::catalogue::declare_family;
use policy::Cut;

declare_family! {
    name: "map",
    summary: "a function of every element: sin cos exp ln tanh pow and others, and a user's own",
    cut: Cut,
    ladder: [
        Direct {
            name: "direct",
            idea: "one thread per element: wrong as soon as the launch is smaller than the work",
            kernels: ["map_direct"],
            cut: Cut::PerThread,
        },
        Rolled {
            name: "rolled",
            idea: "a loop whose stride is the whole grid: any launch shape gives the same result",
            kernels: ["map_rolled"],
            cut: Cut::Strided,
        },
    ],
    best: {
        idea: "16-byte loads and stores, a thread for each",
        kernels: ["map_best"],
        cut: Cut::Tiled,
    },
}
