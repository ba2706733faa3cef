//! Sets of lanes, and the order in which lanes run.

use super::Order;

/// Returns the mask of the first `count` lanes of a warp.
pub(super) fn mask_of_first(count: u32) -> u32 {
    if count >= 32 {
        u32::MAX
    } else {
        (1 << count) - 1
    }
}

/// Returns the linear indices of the lanes of a mask, for a warp that begins with lane `first`.
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

/// Sorts lanes in the launch's order.
pub(super) fn order_lanes(lanes: &mut [u32], order: Order, block: [u32; 3]) {
    match order {
        Order::Forward => {}
        Order::Backward => lanes.reverse(),
        Order::Seeded(seed) => {
            let mut state = seed
                ^ (u64::from(block[0]) << 32 | u64::from(block[1]) << 16 | u64::from(block[2]))
                    .wrapping_mul(GOLDEN);
            let mut next = move || {
                state = state.wrapping_add(GOLDEN);
                mix(state)
            };
            for last in (1..lanes.len()).rev() {
                lanes.swap(last, (next() % (last as u64 + 1)) as usize);
            }
        }
    }
}

/// The increment of SplitMix64 (Steele, Lea, Flood 2014). `mix` is its output function.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns the `count`-th pseudo-random number of a lane of a block.
pub(super) fn draw(seed: u64, block: [u32; 3], lane: u32, count: u32) -> u64 {
    let [x, y, z] = block.map(u64::from);
    let place = mix(x << 32 | y << 16 | z).wrapping_add(u64::from(lane) << 32 | u64::from(count));
    mix(seed.wrapping_add(GOLDEN) ^ mix(place.wrapping_mul(GOLDEN)))
}

/// The order in which the blocks of a launch run.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockOrder {
    order: Order,
    blocks: u64,
}

impl BlockOrder {
    pub fn new(order: Order, blocks: u64) -> Self {
        Self { order, blocks }
    }

    /// Returns the linear index of the block at `position` of the order.
    pub fn block(&self, position: u64) -> u64 {
        match self.order {
            Order::Forward => position,
            Order::Backward => self.blocks - 1 - position,
            Order::Seeded(seed) => {
                // A Feistel network of four rounds permutes the next larger power of four. A result outside the range goes
                // through it again until it is inside.
                let half = (64 - (self.blocks - 1).leading_zeros()).div_ceil(2).max(1);
                let low = (1 << half) - 1;
                let mut block = position;
                loop {
                    let (mut left, mut right) = (block >> half, block & low);
                    for round in 1..=4 {
                        let key = seed.wrapping_add(GOLDEN.wrapping_mul(round));
                        (left, right) = (right, left ^ mix(right ^ key) & low);
                    }
                    block = left << half | right;
                    if block < self.blocks {
                        return block;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_runs_once_in_every_order() {
        for blocks in [1_u64, 2, 3, 17, 64, 1000] {
            for order in Order::several(6) {
                let order = BlockOrder::new(order, blocks);
                let mut seen: Vec<u64> = (0..blocks).map(|i| order.block(i)).collect();
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..blocks), "{order:?}");
            }
        }
        let large = BlockOrder::new(Order::Seeded(7), 1 << 47);
        assert!((0..100).all(|i| large.block(i) < 1 << 47));
    }
}
