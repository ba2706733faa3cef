//! `naive`: a thread per segment.

use cuda_std::{bf16, f16, prelude::*};

use crate::{
    reduce::{Max, Min, Product, Sum},
    segments::{Offsets, Segmented, policy::BLOCK, with_operators},
};

/// Writes to `output[s]` the reduction of segment `s`. For `count` see [`Offsets::new`].
///
/// Launch: a thread per segment, or more, in blocks of 256. No shared memory. Reads every element once; the reads of a warp are
/// as far apart as its segments.
///
/// Determinism: the elements of a segment are combined in their order.
///
/// # Safety
/// The offsets do not fall, and lie in the input. `output` has an element per segment and does not overlap the inputs.
#[kernel(launch_bounds(BLOCK as u32), instances = with_operators)]
pub unsafe fn segments_naive<R: Segmented>(
    input: Global<R::In>,
    offsets: Global<u32>,
    per_offset: u32,
    count: Global<u64>,
    output: GlobalMut<R::Out>,
) {
    let offsets = Offsets::new(offsets, per_offset, count, input.len());
    let s = thread::index_1d_wide();
    if s < offsets.len() {
        let mut all = R::IDENTITY;
        let (mut i, end) = (offsets.get(s), offsets.get(s + 1));
        while i < end {
            all = R::combine(all, R::load(input.get(i), i));
            i += 1;
        }
        output.set(s, R::finish(all));
    }
}
