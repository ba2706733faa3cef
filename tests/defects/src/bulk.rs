//! Defects planted in a kernel whose tiles come and go by bulk copies, to two buffers in turn: a map of a ring of mbarriers.

use cuda_std::{
    bulk,
    mbarrier::{self, Mbarrier},
    prelude::*,
};

use crate::NOTHING;

const TILE: usize = 64;

// What is wrong with the map.
wrong! { in_bulk_map:
    /// The tile is read without a wait for its copy.
    NO_WAIT = 1, // AT: bulk_map
    /// The next tile goes where the last one is still on its way.
    ONE_BUFFER = 2, // AT: bulk_map for race
    /// The copy out need not see what was written.
    NO_PROXY_FENCE = 3, // AT: bulk_map for race
    /// A buffer is written while a copy out may still read it.
    NO_WAIT_FOR_READ = 4, // AT: bulk_map for race
    /// A phase expects bytes that nobody brings.
    BYTES_TOO_MANY = 5, // AT: bulk_map for sync
    /// A phase expects fewer bytes than its copy brings.
    BYTES_TOO_FEW = 6, // AT: bulk_map for sync
    /// A phase takes one arrival more than there are.
    ARRIVAL_TOO_FEW = 7, // AT: bulk_map for sync
    /// Copies complete on an mbarrier whose initialization they need not see.
    NO_INIT_FENCE = 8, // AT: bulk_map for sync
    /// The last copy out may still read when its lane returns.
    NOT_AWAITED = 9, // AT: bulk_map for sync
}

/// `output` is three times `input`, tile by tile.
#[kernel(launch_bounds(64), instances = in_bulk_map)]
pub unsafe fn bulk_map<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let (from, to) = (shared![u32; 2 * TILE], shared![u32; 2 * TILE]);
    let objects = shared![u64; 2];
    let filled = |buffer: usize| Mbarrier::new(objects, buffer);
    let t = thread::thread_idx_x() as usize;
    let tiles = input.len() / TILE;
    if t == 0 {
        let count = if WRONG == ARRIVAL_TOO_FEW { 2 } else { 1 };
        filled(0).init(count);
        filled(1).init(count);
        if WRONG != NO_INIT_FENCE {
            mbarrier::fence_init();
        }
    }
    thread::sync_threads();
    let start = |tile: usize| {
        if t == 0 && tile < tiles {
            let buffer = tile % 2;
            let bytes = match WRONG {
                BYTES_TOO_MANY => 4 * TILE + 16,
                BYTES_TOO_FEW => 4 * TILE - 16,
                _ => 4 * TILE,
            };
            let at = if WRONG == ONE_BUFFER {
                0
            } else {
                buffer * TILE
            };
            filled(buffer).arrive_expect_tx(bytes as u32);
            from.load_bulk(at, input, tile * TILE, TILE, filled(buffer)); // HERE: race, sync
        }
    };
    start(0);
    let mut tile = 0;
    while tile < tiles {
        start(tile + 1);
        let buffer = tile % 2;
        if WRONG != NO_WAIT {
            filled(buffer).wait((tile / 2 % 2) as u32); // HERE: sync
        }
        let at = if WRONG == ONE_BUFFER {
            0
        } else {
            buffer * TILE
        };
        let value = from.get(at + t); // HERE: race, init
        to.set(buffer * TILE + t, value.wrapping_mul(3)); // HERE: race
        if WRONG != NO_PROXY_FENCE {
            bulk::fence_proxy_async();
        }
        thread::sync_threads();
        if t == 0 {
            output.store_bulk(tile * TILE, to, buffer * TILE, TILE); // HERE: race, sync
            bulk::commit_group();
            if WRONG != NO_WAIT_FOR_READ {
                // The other buffer was read.
                bulk::wait_group_read::<1>();
            }
        }
        thread::sync_threads();
        tile += 1;
    }
    if t == 0 && WRONG != NOT_AWAITED {
        bulk::wait_group_read::<0>();
    }
}
