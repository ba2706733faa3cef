//! Sets of lanes, and the order in which lanes run.

use super::Order;
use crate::kernel::LaunchConfig;

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

/// The order in which the blocks of a launch run: clusters in any order, each with its blocks by their ranks.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockOrder {
    order: Order,
    config: LaunchConfig,
    /// The size of a cluster, and the number of its blocks.
    cluster: [u32; 3],
    per_cluster: u64,
    clusters: u64,
}

impl BlockOrder {
    /// Makes the order for a grid that is a multiple of the clusters' size.
    pub fn new(order: Order, config: &LaunchConfig, cluster: [u32; 3]) -> Self {
        let per_cluster = cluster.iter().map(|size| u64::from(*size)).product();
        Self {
            order,
            config: *config,
            cluster,
            per_cluster,
            clusters: config.blocks() / per_cluster,
        }
    }

    /// Returns the linear index of the block at `position` of the order.
    pub fn block(&self, position: u64) -> u64 {
        let cluster = self.cluster_at(position / self.per_cluster);
        let rank = (position % self.per_cluster) as u32;
        self.config.block_of_cluster(self.cluster, cluster, rank)
    }

    /// Returns the number of the cluster at `position` of their order.
    fn cluster_at(&self, position: u64) -> u64 {
        match self.order {
            Order::Forward => position,
            Order::Backward => self.clusters - 1 - position,
            Order::Seeded(seed) => {
                // A Feistel network of four rounds permutes the next larger power of four. A result outside the range goes
                // through it again until it is inside.
                let half = (64 - (self.clusters - 1).leading_zeros())
                    .div_ceil(2)
                    .max(1);
                let low = (1 << half) - 1;
                let mut cluster = position;
                loop {
                    let (mut left, mut right) = (cluster >> half, cluster & low);
                    for round in 1..=4 {
                        let key = seed.wrapping_add(GOLDEN.wrapping_mul(round));
                        (left, right) = (right, left ^ mix(right ^ key) & low);
                    }
                    cluster = left << half | right;
                    if cluster < self.clusters {
                        return cluster;
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
        let grid = |grid: [u32; 3]| LaunchConfig {
            grid,
            ..LaunchConfig::linear(1, 32)
        };
        for (blocks, cluster) in [
            ([1, 1, 1], [1; 3]),
            ([2, 1, 1], [1; 3]),
            ([3, 1, 1], [1; 3]),
            ([17, 1, 1], [1; 3]),
            ([8, 4, 2], [1; 3]),
            ([1000, 1, 1], [2, 1, 1]),
            ([6, 4, 9], [2, 1, 3]),
            ([2, 8, 1], [1, 4, 1]),
        ] {
            let config = grid(blocks);
            for order in Order::several(6) {
                let order = BlockOrder::new(order, &config, cluster);
                let mut seen: Vec<u64> = (0..config.blocks()).map(|i| order.block(i)).collect();
                // The blocks of a cluster follow each other, and are neighbours by their ranks.
                let size = cluster.iter().product::<u32>() as usize;
                for members in seen.chunks(size) {
                    let first = config.block_at(members[0]);
                    for (rank, member) in members.iter().enumerate() {
                        let [x, y, z] = config.block_at(*member);
                        let rank = rank as u32;
                        let own = [
                            rank % cluster[0],
                            rank / cluster[0] % cluster[1],
                            rank / (cluster[0] * cluster[1]),
                        ];
                        let expected: [u32; 3] = core::array::from_fn(|i| first[i] + own[i]);
                        assert_eq!([x, y, z], expected, "{order:?}");
                    }
                }
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..config.blocks()), "{order:?}");
            }
        }
        let huge = grid([1 << 30, 1 << 15, 4]);
        let large = BlockOrder::new(Order::Seeded(7), &huge, [1; 3]);
        assert!((0..100).all(|i| large.block(i) < 1 << 47));
    }
}
