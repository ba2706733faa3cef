//! Ranks of a warp's items by a digit, without memory: lane `d` counts digit `d`.

use super::{FULL_MASK, ballot, exclusive_scan, lane_id, shuffle};
use crate::{
    block::{DigitRanks, is_tile},
    unrolled,
};

/// Ranks the items of a tile by their digits of `BITS` bits, stable. `before` and `count` of the result are those of the digit
/// that is this lane's index.
///
/// The items are in striped order: item `k` of lane `l` is the tile's item `k * 32 + l`. `BITS` is at most 5, so that there is
/// a lane for each digit. Higher bits of `digits` must be 0. All 32 lanes must call this.
///
/// `BITS` ballots and two shuffles per item, and 6 shuffles. No shared memory, no barrier.
///
/// ```
/// use cuda_std::{prelude::*, unrolled};
///
/// /// Puts the values of each warp's tile of 32 * 8 in the order of their lowest 4 bits.
/// #[kernel]
/// pub unsafe fn by_low_bits(values: Global<u32>, sorted: GlobalMut<u32>) {
///     let first = thread::index_1d_wide() / 32 * 256;
///     if first < values.len() {
///         let items = warp::load_striped::<_, 8>(values, first);
///         let ranked = warp::rank_digits::<8, 4>(items.map(|item| item & 15));
///         unrolled!(k < 8 => { sorted.set(first + ranked.ranks[k] as usize, items[k]); });
///     }
/// }
/// ```
#[inline(always)]
#[track_caller]
pub fn rank_digits<const ITEMS: usize, const BITS: u32>(digits: [u32; ITEMS]) -> DigitRanks<ITEMS> {
    const { assert!(is_tile(32, ITEMS) && BITS > 0 && BITS <= 5) };
    let lane = lane_id();
    let (mut ranks, mut count) = ([0; ITEMS], 0);
    unrolled!(k < ITEMS of 32 => {
        // The lanes with this lane's digit, and those whose digit this lane counts.
        let (mut same, mut counted) = (FULL_MASK, FULL_MASK);
        let mut bit = 0;
        while bit < BITS {
            let one = digits[k] >> bit & 1 != 0;
            let ones = ballot(FULL_MASK, one);
            same &= if one { ones } else { !ones };
            counted &= if lane >> bit & 1 != 0 { ones } else { !ones };
            bit += 1;
        }
        let lower = same & ((1 << lane) - 1);
        ranks[k] = shuffle(FULL_MASK, count, digits[k]) + lower.count_ones();
        count += counted.count_ones();
    });
    let is_digit = lane < 1 << BITS;
    let count = if is_digit { count } else { 0 };
    let before = exclusive_scan(count, 0, |a, b| a + b);
    unrolled!(k < ITEMS of 32 => { ranks[k] += shuffle(FULL_MASK, before, digits[k]); });
    DigitRanks {
        ranks,
        before: if is_digit { before } else { 0 },
        count,
    }
}
