//! Sets of lanes, and the order in which lanes run.

use super::Order;

/// The mask of the first `count` lanes of a warp.
pub(super) fn mask_of_first(count: u32) -> u32 {
    if count >= 32 {
        u32::MAX
    } else {
        (1 << count) - 1
    }
}

/// The lanes of a mask, by their linear index, where the warp begins with lane `first`.
pub(super) fn lanes_of(first: u32, mask: u32) -> impl Iterator<Item = u32> {
    let mut rest = mask;
    core::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let lane = rest.trailing_zeros();
        rest &= rest - 1;
        Some(first + lane)
    })
}

/// Puts lanes into the launch's order.
pub(super) fn order_lanes(lanes: &mut [u32], order: Order, block: [u32; 3]) {
    match order {
        Order::Forward => {}
        Order::Backward => lanes.reverse(),
        Order::Seeded(seed) => {
            // SplitMix64 (Steele, Lea, Flood 2014) drives a Fisher-Yates shuffle.
            let mut state = seed
                ^ (u64::from(block[0]) << 32 | u64::from(block[1]) << 16 | u64::from(block[2]))
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut next = move || {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = state;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^ (z >> 31)
            };
            for last in (1..lanes.len()).rev() {
                lanes.swap(last, (next() % (last as u64 + 1)) as usize);
            }
        }
    }
}
