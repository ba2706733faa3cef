//! Defects planted in products of a warpgroup, whose tiles its threads write themselves.

use cuda_std::{
    bf16, bulk,
    prelude::*,
    unrolled,
    wgmma::{self, PANEL, Sums, Tile},
};

use crate::NOTHING;

// What is wrong with the products.
wrong! { in_wgmma_tiles:
    /// The products need not see what was written.
    NO_PROXY_FENCE = 1, // AT: wgmma_tiles for race
    /// The products start before all threads have written.
    NO_BARRIER = 2, // AT: wgmma_tiles for race, init
    /// A tile is written while products may still read it.
    WRITTEN_IN_FLIGHT = 3, // AT: wgmma_tiles for race
    /// A warp multiplies another tile.
    OTHER_TILE = 4, // AT: wgmma_tiles for sync
    /// A tile has a line that nobody has written.
    LINE_UNWRITTEN = 5, // AT: wgmma_tiles for init
    /// The tiles start where no tile can.
    NOT_ALIGNED = 6, // AT: wgmma_tiles for mem
}

/// The sum of two products of 64 x 64 and 64 x 64 elements, whose bits are in `input`.
#[kernel(launch_bounds(128), instances = in_wgmma_tiles)]
pub unsafe fn wgmma_tiles<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    _n: usize,
) {
    let room = shared![bf16; 3 * PANEL + 512].skip_to_multiple(1024);
    let tiles = if WRONG == NOT_ALIGNED {
        room.skip(64)
    } else {
        room
    };
    let t = thread::thread_idx_x() as usize;
    let mut sums = <[f32; 32]>::ZERO;
    let mut step = 0;
    while step < 2 {
        let mut i = t;
        while i < 2 * PANEL {
            if WRONG != LINE_UNWRITTEN || i / 64 != 70 {
                let bits = input.get((step + i) % input.len());
                tiles.set(i, bf16::from_bits(bits as u16)); // HERE: race
            }
            i += 128;
        }
        if WRONG != NO_PROXY_FENCE {
            bulk::fence_proxy_async();
        }
        if WRONG != NO_BARRIER {
            thread::sync_threads();
        }
        let other = WRONG == OTHER_TILE && t / 32 == 3;
        let a = Tile::<bf16, true>::new(tiles, if other { PANEL } else { 0 });
        let b = Tile::<bf16, false>::new(tiles, PANEL);
        let mut products = wgmma::begin(&mut sums);
        products.add(a, b); // HERE: race, init, sync, mem
        let products = products.commit();
        if WRONG == WRITTEN_IN_FLIGHT {
            tiles.set(t, bf16::ZERO); // HERE: race
        }
        products.wait();
        thread::sync_threads();
        step += 1;
    }
    unrolled!(i < 32 of 32 => {
        let (row, column) = wgmma::place(t, i);
        output.set(row * 64 + column, sums[i].to_bits());
    });
}
