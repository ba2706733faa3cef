//! Tuning of the reductions of columns, as data.

/// Threads of a block of `column_per_thread`.
pub const RUNG_BLOCK: usize = 256;
/// Threads of a block of `four_columns_per_thread`: as many columns as a block of the other, so that as many
/// multiprocessors have a part in it.
pub const FOUR_BLOCK: usize = RUNG_BLOCK / 4;

/// Warps of a block of `best`, each of which takes every 16th row.
pub const BEST_WARPS: usize = 16;
/// Threads of a block of `best`.
pub const BEST_BLOCK: usize = BEST_WARPS * 32;
/// Blocks of `best` per multiprocessor, for elements of so many bytes: what 64 registers per thread allow, whose 1024 threads
/// with 64 bytes each in flight are four times what the latency of an H100's memory takes to be hidden. For bytes one, as
/// the blocks' totals are four to eight times as large as what they come from.
pub const fn best_blocks_per_multiprocessor(element_bytes: usize) -> u32 {
    if element_bytes == 1 { 1 } else { 2 }
}
/// Rows of which a thread of `best` has 16 bytes in flight.
pub const BEST_UNROLL: usize = 4;
/// Bytes of a row that a block of `best` takes: 16 per lane.
pub const BEST_TILE_BYTES: usize = 32 * 16;
/// Rows that a block takes at least, so that every load of a thread is one of four.
pub const BEST_LEAST_ROWS: usize = BEST_WARPS * BEST_UNROLL;
/// Rows that a block takes at most: a part holds no more elements.
pub const BEST_MOST_ROWS: usize = BEST_WARPS * crate::axis::CHUNK;
/// Blocks of a tile whose totals the last one of them combines: a thread of it has all of them in flight at once.
pub const BEST_GROUP: usize = 16;

/// Columns of a block of the last pass, one per thread along x.
pub const FOLD_COLUMNS: usize = 32;
/// Threads of the last pass that share a column.
pub const FOLD_ROWS: usize = 16;

/// How `best` sees a matrix.
///
/// Elements of one column lie `width` apart, so they also have one residue modulo any multiple of the
/// width. `best` takes the flat array, from its first 16-byte boundary on, as a matrix whose rows are
/// `period` elements long: a multiple of the width whose rows are all aligned, and do not leave much of
/// the last tile empty. Where that is not the matrix itself, a last pass folds the totals of the period
/// onto the columns, and adds the elements before the boundary and behind the last whole row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Elements before the first 16-byte boundary.
    pub head: usize,
    /// Elements from a row to the next.
    pub period: usize,
    /// Whole rows; 0 where the last pass takes the matrix as it is.
    pub rows: usize,
    /// Whether a last pass has to follow.
    pub fold: bool,
}

/// How `best` sees a matrix of `height` x `width` elements of `size` bytes whose first one has `address`.
/// The matrix has elements.
pub fn view(address: u64, height: usize, width: usize, size: usize) -> View {
    let (lanes, tile) = (16 / size, BEST_TILE_BYTES / size);
    let head = (lanes - (address % 16) as usize / size) % lanes;
    // The least multiple of the width that is one of 16 bytes.
    let common = 1 << width.trailing_zeros().min(lanes.trailing_zeros());
    let least = (lanes / common).saturating_mul(width);
    let wasteful = |period: usize| period.div_ceil(tile).saturating_mul(tile) > period / 4 * 5;
    let mut period = least;
    // Ends at 5 tiles at the latest, which leave less than a fifth of the last of 6 empty.
    while wasteful(period) && period < 5 * tile {
        period += least;
    }
    let repeat = period / width;
    let elements = height * width;
    let head = head.min(elements);
    let fold = repeat > 1 || head > 0;
    // The totals of a period are written and read again: the elements have to be many times as much.
    let worth = !fold || height.saturating_mul(size) / 64 >= repeat;
    View {
        head,
        period,
        rows: if worth { (elements - head) / period } else { 0 },
        fold,
    }
}

/// Rows that a block takes, for so many rows and tiles: as many blocks as are resident at once
/// (`filling`), no more than there is work for, and no fewer than parts can hold.
pub fn rows_per_block(rows: usize, tiles: usize, filling: usize) -> usize {
    let most = (rows / BEST_LEAST_ROWS).max(1);
    let blocks = (filling / tiles).clamp(1, most);
    rows.div_ceil(blocks).min(BEST_MOST_ROWS)
}

/// Totals of a tile that all levels of the tree of `best` write, and the tickets that they take, for so
/// many blocks per tile.
pub fn tree(blocks: usize) -> (usize, usize) {
    let (mut totals, mut tickets, mut count) = (0, 0, blocks);
    while count > 1 {
        totals += count;
        count = count.div_ceil(BEST_GROUP);
        tickets += count;
    }
    (totals, tickets)
}
