//! Defects planted in the transposes of `gpu/src/transpose`.

use cuda_std::prelude::*;

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

/// `tiled` without the barrier between filling the tile and reading it.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn transpose_tiled_no_barrier<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    width: usize,
) {
    let height = input.len() / width;
    let tile = shared![u32; TILE * TILE];
    let (column, row, left, top) = place(width, TILE);
    let (x, y) = (left + column, top + row);
    if x < width && y < height {
        tile.set(row * TILE + column, input.get(y * width + x));
    }
    if !DEFECT {
        thread::sync_threads();
    }
    let (x, y) = (left + row, top + column);
    if x < width && y < height {
        let value = tile.get(column * TILE + row); // HERE: race, init
        output.set(x * height + y, value);
    }
}

/// `tiled` with the barrier where only the lanes that fill the tile come.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn transpose_tiled_barrier_in_branch<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    width: usize,
) {
    let height = input.len() / width;
    let tile = shared![u32; TILE * TILE];
    let (column, row, left, top) = place(width, TILE);
    let (x, y) = (left + column, top + row);
    if x < width && y < height {
        tile.set(row * TILE + column, input.get(y * width + x));
        if DEFECT {
            thread::sync_threads(); // HERE: sync
        }
    }
    if !DEFECT {
        thread::sync_threads();
    }
    let (x, y) = (left + row, top + column);
    if x < width && y < height && !DEFECT {
        output.set(x * height + y, tile.get(column * TILE + row));
    }
}

/// `tiled` whose lanes outside of the matrix return before the barrier.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn transpose_tiled_early_return<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    width: usize,
) {
    let height = input.len() / width;
    let tile = shared![u32; TILE * TILE];
    let (column, row, left, top) = place(width, TILE);
    let (x, y) = (left + column, top + row);
    if x < width && y < height {
        tile.set(row * TILE + column, input.get(y * width + x));
    } else if DEFECT {
        return;
    }
    thread::sync_threads(); // HERE: sync
    let (x, y) = (left + row, top + column);
    if x < width && y < height {
        output.set(x * height + y, tile.get(column * TILE + row));
    }
}

/// `tiled` that looks at one side only when it reads the tile.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn transpose_tiled_one_bound<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    width: usize,
) {
    let height = input.len() / width;
    let tile = shared![u32; TILE * TILE];
    let (column, row, left, top) = place(width, TILE);
    let (x, y) = (left + column, top + row);
    if x < width && y < height {
        tile.set(row * TILE + column, input.get(y * width + x));
    }
    thread::sync_threads();
    let (x, y) = (left + row, top + column);
    if x < width && (DEFECT || y < height) {
        let value = tile.get(column * TILE + row); // HERE: init
        output.set(x * height + y, value);
    }
}

/// `padded` whose tile is read by another pitch than it is written by.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn transpose_padded_two_pitches<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    width: usize,
) {
    let height = input.len() / width;
    let pitch = if DEFECT { TILE + 2 } else { TILE + 1 };
    let tile = shared![u32; TILE * (TILE + 2)];
    let (column, row, left, top) = place(width, TILE);
    let (x, y) = (left + column, top + row);
    if x < width && y < height {
        tile.set(row * (TILE + 1) + column, input.get(y * width + x));
    }
    thread::sync_threads();
    let (x, y) = (left + row, top + column);
    if x < width && y < height {
        let value = tile.get(column * pitch + row); // HERE: init
        output.set(x * height + y, value);
    }
}

/// `best` that leaves out the first of the rows that a lane moves.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn transpose_best_missing_round<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    width: usize,
) {
    let height = input.len() / width;
    let tile = shared![u32; WIDE * (WIDE + 1)];
    let (column, row, left, top) = place(width, WIDE);
    for round in DEFECT as usize..WIDE / ROWS {
        let (x, y) = (left + column, top + row + round * ROWS);
        if x < width && y < height {
            let cell = (row + round * ROWS) * (WIDE + 1) + column;
            tile.set(cell, input.get(y * width + x));
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

/// `best` whose tile has no room for the padding.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn transpose_best_short_tile<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    width: usize,
) {
    let height = input.len() / width;
    let tile = if DEFECT {
        shared![u32; WIDE * WIDE]
    } else {
        shared![u32; WIDE * (WIDE + 1)]
    };
    let (column, row, left, top) = place(width, WIDE);
    for round in 0..WIDE / ROWS {
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
            let value = tile.get(column * (WIDE + 1) + row + round * ROWS);
            output.set(x * height + y, value);
        }
    }
}

/// `naive` with `<=` for `<`.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn transpose_naive_off_by_one<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    width: usize,
) {
    let height = input.len() / width;
    let (column, row, left, top) = place(width, TILE);
    let (x, y) = (left + column, top + row);
    if x < width && (y < height || (DEFECT && y == height)) {
        output.set(x * height + y, input.get(y * width + x)); // HERE: mem, race
    }
}

/// `tiled` over two tiles per block that takes the tile again without a barrier.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn transpose_reused_tile<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    width: usize,
) {
    let height = input.len() / width;
    let tile = shared![u32; TILE * TILE];
    let (column, row, left, _) = place(width, TILE);
    let mut top = 0;
    while top < height {
        let (x, y) = (left + column, top + row);
        if x < width && y < height {
            tile.set(row * TILE + column, input.get(y * width + x)); // HERE: race
        }
        thread::sync_threads();
        let (x, y) = (left + row, top + column);
        if x < width && y < height {
            output.set(x * height + y, tile.get(column * TILE + row));
        }
        if !DEFECT {
            thread::sync_threads();
        }
        top += TILE;
    }
}

/// `naive` in place: a block writes where another reads.
#[kernel(launch_bounds(256), instances(correct: (false), defect: (true)))]
pub unsafe fn transpose_in_place<const DEFECT: bool>(
    input: Global<u32>,
    output: GlobalMut<u32>,
    _scratch: GlobalMut<u32>,
    width: usize,
) {
    let height = input.len() / width;
    let (column, row, left, top) = place(width, TILE);
    let (x, y) = (left + column, top + row);
    if x < width && y < height {
        let from = y * width + x;
        let value = if DEFECT {
            output.get(from)
        } else {
            input.get(from)
        };
        output.set(x * height + y, value); // HERE: race
    }
}
