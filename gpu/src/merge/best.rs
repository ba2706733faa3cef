//! `best`: merge path, a tile per block.

use cuda_std::{
    merge::{Compared, Sides, THREADS, Values, merge_pair_tiles, merge_tiles},
    prelude::*,
};

use super::{order::Ascending, policy::RESIDENT};
use crate::sort::{Bits, Twist};

/// Merges two sorted arrays: see [`merge_tiles`].
///
/// Launch: a block of 256 threads for each tile of [`tile_len`](cuda_std::merge::tile_len) keys of the output; dynamic shared
/// memory of [`shared_bytes`](cuda_std::merge::shared_bytes). Reads and writes every key once. Exact.
///
/// # Safety
/// The contract of [`merge_tiles`] must hold.
#[kernel(
    launch_bounds(THREADS as u32, RESIDENT),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
pub unsafe fn merge_best<U: Bits>(
    twist: Twist<U>,
    a: Global<U>,
    b: Global<U>,
    output: GlobalMut<U>,
    control: GlobalMut<u32>,
) {
    merge_tiles(
        Compared::by(Ascending::of(twist)),
        Sides::Arrays(a, b),
        output,
        control,
    );
}

/// Merges two sorted arrays of keys, and their values with them: see [`merge_pair_tiles`].
///
/// Launch: as for [`merge_best`], with shared memory of [`pairs_shared_bytes`](cuda_std::merge::pairs_shared_bytes). Reads and
/// writes every key and every value once. Exact.
///
/// # Safety
/// The contract of [`merge_pair_tiles`] must hold; `bytes` is the size of a value.
#[kernel(
    launch_bounds(THREADS as u32, RESIDENT),
    instances(b1: (u8), b2: (u16), b4: (u32), b8: (u64))
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn merge_best_pairs<U: Bits>(
    twist: Twist<U>,
    a: Global<U>,
    b: Global<U>,
    output: GlobalMut<U>,
    control: GlobalMut<u32>,
    a_values: Global<u8>,
    b_values: Global<u8>,
    values: GlobalMut<u8>,
    bytes: u32,
) {
    let values = Values {
        a: a_values,
        b: b_values,
        output: values,
        bytes,
    };
    merge_pair_tiles(
        Compared::by(Ascending::of(twist)),
        [a, b],
        output,
        control,
        values,
    );
}
