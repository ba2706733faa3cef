//! `warp_per_segment`: a warp per segment.

use cuda_std::{bf16, f16, prelude::*, warp};

use crate::{
    reduce::{Max, Min, Product, Sum},
    segments::{Offsets, Segmented, policy::BLOCK, with_operators},
};

/// Writes to `output[s]` the reduction of segment `s`. For `count` see [`Offsets::new`].
///
/// Launch: a warp per segment, or more, in blocks of 256 threads. No shared memory. Reads every element once, the lanes of a
/// warp side by side.
///
/// Determinism: lane `l` combines the elements `l`, `l + 32` and so on of a segment, and a tree combines the lanes.
///
/// # Safety
/// The offsets do not fall, and lie in the input. `output` has an element per segment and does not overlap the inputs.
#[kernel(launch_bounds(BLOCK as u32), instances = with_operators)]
pub unsafe fn segments_warp_per_segment<R: Segmented>(
    input: Global<R::In>,
    offsets: Global<u32>,
    per_offset: u32,
    count: Global<u64>,
    output: GlobalMut<R::Out>,
) {
    let offsets = Offsets::new(offsets, per_offset, count, input.len());
    let (s, lane) = (thread::index_1d_wide() / 32, warp::lane_id() as usize);
    if s < offsets.len() {
        let mut all = R::IDENTITY;
        let (begin, end) = (offsets.get(s), offsets.get(s + 1));
        let mut i = begin + lane;
        while i < end {
            all = R::combine(all, R::load(input.get(i), i));
            i += 32;
        }
        let all = warp::reduce(all, R::combine);
        if lane == 31 {
            output.set(s, R::finish(all));
        }
    }
}
