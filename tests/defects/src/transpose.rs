//! Defects planted in the transposes of `gpu/src/transpose`.

use cuda_std::prelude::*;

use crate::NOTHING;

const TILE: usize = 16;
const WIDE: usize = 32;
const ROWS: usize = 8;

/// Column and row of this lane in its tile, and the tile's first column and row.
#[inline(always)]
fn place(width: usize, side: usize) -> (usize, usize, usize, usize) {
    let across = width.div_ceil(side) as u32;
    let tile = thread::block_idx_x();
    (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
        (tile % across) as usize * side,
        (tile / across) as usize * side,
    )
}

// What is wrong with `tiled` and `padded`.
wrong! { in_transpose_tiled:
    /// There is no barrier between filling the tile and reading it.
    NO_BARRIER = 1, // AT: tiled for race, init
    /// The barrier is where only the lanes that fill the tile come.
    BARRIER_IN_BRANCH = 2, // AT: tiled for sync
    /// Lanes outside of the matrix return before the barrier.
    EARLY_RETURN = 3, // AT: tiled for sync
    /// One side only is looked at when the tile is read.
    ONE_BOUND = 4, // AT: tiled for init
    /// The tile is read by another pitch than it is written by.
    TWO_PITCHES = 5, // AT: tiled for init
    /// Nothing, in `padded`, which [`TWO_PITCHES`] is made from.
    PADDED = 7,
}

wrong! { in_transpose_tiles:
    /// The tile is taken again without a barrier.
    REUSED_TILE = 6, // AT: tiled for race
}

/// `tiled`, and `padded` by pitches of its own, for the tile at `left`, `top`.
#[inline(always)]
fn tiled<const WRONG: u32>(
    tile: Shared<u32>,
    input: Global<u32>,
    output: GlobalMut<u32>,
    width: usize,
    left: usize,
    top: usize,
) {
    let height = input.len() / width;
    let (filled, taken) = match WRONG {
        PADDED => (TILE + 1, TILE + 1),
        TWO_PITCHES => (TILE + 1, TILE + 2),
        _ => (TILE, TILE),
    };
    let (column, row, ..) = place(width, TILE);
    let (x, y) = (left + column, top + row);
    if x < width && y < height {
        tile.set(row * filled + column, input.get(y * width + x)); // HERE: race of REUSED_TILE
        if WRONG == BARRIER_IN_BRANCH {
            thread::sync_threads(); // HERE: sync of BARRIER_IN_BRANCH
        }
    } else if WRONG == EARLY_RETURN {
        return;
    }
    if WRONG == BARRIER_IN_BRANCH {
        return;
    }
    if WRONG != NO_BARRIER {
        thread::sync_threads(); // HERE: sync of EARLY_RETURN
    }
    let (x, y) = (left + row, top + column);
    if x < width && (y < height || WRONG == ONE_BOUND) {
        let value = tile.get(column * taken + row); // HERE: race, init of NO_BARRIER, ONE_BOUND, TWO_PITCHES
        output.set(x * height + y, value);
    }
}

/// `tiled`, or `padded`.
#[kernel(launch_bounds(256), instances = in_transpose_tiled)]
pub unsafe fn transpose_tiled<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    width: usize,
) {
    let tile = shared![u32; TILE * (TILE + 2)];
    let (_, _, left, top) = place(width, TILE);
    tiled::<WRONG>(tile, input, output, width, left, top);
}

/// `tiled` over a column of tiles per block.
#[kernel(launch_bounds(256), instances = in_transpose_tiles)]
pub unsafe fn transpose_tiles<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    width: usize,
) {
    let tile = shared![u32; TILE * TILE];
    let (_, _, left, _) = place(width, TILE);
    let mut top = 0;
    while top < input.len() / width {
        tiled::<WRONG>(tile, input, output, width, left, top);
        if WRONG != REUSED_TILE {
            thread::sync_threads();
        }
        top += TILE;
    }
}

// What is wrong with `best`.
wrong! { in_transpose_best:
    /// The first of the rows that a lane moves is left out.
    MISSING_ROUND = 1, // AT: transpose_best for init
    /// The tile has no room for the padding.
    SHORT_TILE = 2, // AT: transpose_best for mem
}

/// `best`.
#[kernel(launch_bounds(256), instances = in_transpose_best)]
pub unsafe fn transpose_best<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    width: usize,
) {
    let height = input.len() / width;
    let tile = match WRONG {
        SHORT_TILE => shared![u32; WIDE * WIDE],
        _ => shared![u32; WIDE * (WIDE + 1)],
    };
    let (column, row, left, top) = place(width, WIDE);
    for round in usize::from(WRONG == MISSING_ROUND)..WIDE / ROWS {
        let (x, y) = (left + column, top + row + round * ROWS);
        if x < width && y < height {
            let cell = (row + round * ROWS) * (WIDE + 1) + column;
            tile.set(cell, input.get(y * width + x)); // HERE: mem
        }
    }
    thread::sync_threads();
    for round in 0..WIDE / ROWS {
        let (x, y) = (left + row + round * ROWS, top + column);
        if x < width && y < height {
            let value = tile.get(column * (WIDE + 1) + row + round * ROWS); // HERE: init
            output.set(x * height + y, value);
        }
    }
}

// What is wrong with `naive`.
wrong! { in_transpose_naive:
    /// There is `<=` for `<`.
    OFF_BY_ONE = 1, // AT: transpose_naive
    /// It is in place: a block writes where another reads.
    IN_PLACE = 2, // AT: transpose_naive for race
}

/// `naive`.
#[kernel(launch_bounds(256), instances = in_transpose_naive)]
pub unsafe fn transpose_naive<const WRONG: u32>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    width: usize,
) {
    let height = input.len() / width;
    let (column, row, left, top) = place(width, TILE);
    let (x, y) = (left + column, top + row);
    if x < width && (y < height || (WRONG == OFF_BY_ONE && y == height)) {
        let value = match WRONG {
            IN_PLACE => output.get(y * width + x),
            _ => input.get(y * width + x), // HERE: mem
        };
        output.set(x * height + y, value); // HERE: race
    }
}
