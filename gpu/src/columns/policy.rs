//! Tuning of the reductions of columns, as data.

use crate::tuning::{self, Choice};

/// Threads of a block of `column_per_thread`.
pub const RUNG_BLOCK: usize = 256;
/// Threads of a block of `four_columns_per_thread`: as many columns as a block of the other, so that as many
/// multiprocessors have a part in it.
pub const FOUR_BLOCK: usize = RUNG_BLOCK / 4;

/// Threads of a block of `best`, no fewer than a tile has columns.
pub const BEST_BLOCK: usize = 512;
/// Lanes that take a row of a tile of `best`, as powers of two, 16 bytes each: 512 bytes, or 128. The wide one reads what
/// lies together; the narrow one leaves a fourth of the totals per block, and 4 threads of it share a fold where one
/// of the wide tile has it alone, so the totals of four times as many blocks meet at once.
pub const BEST_LANES_LOG2: [u32; 2] = [5, 3];

/// The numbers of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Blocks per multiprocessor, at most.
    pub blocks: u32,
    /// Blocks that have to be resident at once.
    pub resident: u32,
    /// Rows of which a thread has 16 bytes in flight: 2, 4 or 8.
    pub unroll: usize,
    /// Whether the next of those rows are loaded before the last ones are added.
    pub ahead: bool,
    /// Totals that a thread combines at most, all of which it has in flight at once: 8 or 16; of 32 the larger totals have no
    /// room in registers.
    pub members: usize,
}

impl Policy {
    /// Blocks of a tile of so many columns whose totals the last one of them combines: 512 threads share the columns.
    #[inline(always)]
    pub const fn group(&self, columns: usize) -> usize {
        self.members * (BEST_BLOCK / columns)
    }

    /// Rows that a block takes at least, so that every load of a thread is one of several.
    pub const fn least_rows(&self, lanes_log2: u32) -> usize {
        (BEST_BLOCK >> lanes_log2) * self.unroll
    }
}

const fn policy(blocks: u32, resident: u32, unroll: usize, members: usize) -> Policy {
    Policy {
        blocks,
        resident,
        unroll,
        ahead: false,
        members,
    }
}

const fn ahead(policy: Policy) -> Policy {
    Policy {
        ahead: true,
        ..policy
    }
}

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        // What 64 registers per thread allow, whose 1024 threads with 64 bytes each in flight are four times what the
        // latency of an H100's memory takes to be hidden.
        policy(2, 2, 4, 16),
        // For bytes one, as the blocks' totals are four to eight times as large as what they come from.
        policy(1, 2, 4, 16),
        policy(3, 3, 4, 16),
        policy(2, 2, 2, 16),
        policy(2, 2, 8, 16),
        policy(1, 2, 8, 16),
        policy(1, 1, 8, 16),
        policy(2, 2, 4, 8),
        ahead(policy(1, 1, 4, 16)),
        ahead(policy(2, 2, 4, 16)),
    ];
    const CHOICES: &'static [Choice] = &[Choice::up_to(1, 8), Choice::always(0)];
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]] =
        &[super::best::COLUMNS_BEST_ROWS];
}

/// Rows that a block takes at most: a part holds no more elements.
pub const fn most_rows(lanes_log2: u32) -> usize {
    (BEST_BLOCK >> lanes_log2) * crate::axis::CHUNK
}

/// Bytes of a row that a block of `best` takes.
pub const fn tile_bytes(lanes_log2: u32) -> usize {
    16 << lanes_log2
}

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

/// Whether rows of so many bytes leave more than a fifth of their tiles of so many bytes empty.
fn wasteful(row_bytes: usize, tile: usize) -> bool {
    row_bytes.div_ceil(tile).saturating_mul(tile) > row_bytes / 4 * 5
}

/// How `best` sees a matrix of `height` x `width` elements of `size` bytes whose first one has `address`.
/// The matrix has elements.
pub fn view(address: u64, height: usize, width: usize, size: usize) -> View {
    let lanes = 16 / size;
    let head = (lanes - (address % 16) as usize / size) % lanes;
    // The least multiple of the width that is one of 16 bytes.
    let common = 1 << width.trailing_zeros().min(lanes.trailing_zeros());
    let least = (lanes / common).saturating_mul(width);
    let [wide, narrow] = BEST_LANES_LOG2.map(tile_bytes);
    let mut period = least;
    // Rows that are aligned as they are, and fill narrow tiles, need no last pass.
    if least != width || head > 0 || wasteful(width * size, narrow) {
        // Ends at 5 tiles at the latest, which leave less than a fifth of the last of 6 empty.
        while period < 5 * wide / size && wasteful(period * size, wide) {
            period += least;
        }
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

/// How `best` shares a matrix among blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiling {
    /// Lanes that take a row of a tile, as a power of two.
    pub lanes_log2: u32,
    /// Columns of a tile.
    pub columns: usize,
    /// Tiles of a row.
    pub tiles: usize,
    /// Rows that a block takes.
    pub rows_per_block: usize,
    /// Blocks of a tile.
    pub blocks: usize,
    /// Blocks of a tile whose totals one of them combines, at most.
    pub group: usize,
}

impl Tiling {
    /// Tiles of so many lanes for elements of `size` bytes: as many blocks as are resident at once (`filling`), no more
    /// than there is work for, and no fewer than parts can hold. A few more than one fold takes are not worth another.
    pub fn new(policy: &Policy, seen: &View, size: usize, lanes_log2: u32, filling: usize) -> Self {
        let columns = tile_bytes(lanes_log2) / size;
        let tiles = seen.period.div_ceil(columns);
        let least = policy.least_rows(lanes_log2);
        let group = policy.group(columns);
        let most = (seen.rows / least).max(1);
        let mut blocks = (filling / tiles).clamp(1, most);
        if blocks > group && blocks <= group / 8 * 9 {
            blocks = group;
        }
        let fair = seen.rows.div_ceil(blocks);
        // Rows left over are read with less in flight: a few more for each block cost less.
        let whole = fair.next_multiple_of(least);
        let rows_per_block = if whole - fair <= fair / 16 {
            whole
        } else {
            fair
        }
        .min(most_rows(lanes_log2));
        Self {
            lanes_log2,
            columns,
            tiles,
            rows_per_block,
            blocks: seen.rows.div_ceil(rows_per_block),
            group,
        }
    }

    /// Wide tiles, unless much of the last one would be empty, or they need two levels or more and narrow ones fewer: a level
    /// is a write, a wait and a read of every block, one after the other.
    pub fn choose(policy: &Policy, seen: &View, size: usize, filling: usize) -> Self {
        let [wide, narrow] =
            BEST_LANES_LOG2.map(|lanes| Self::new(policy, seen, size, lanes, filling));
        let empty = wasteful(seen.period * size, tile_bytes(wide.lanes_log2));
        if empty || wide.levels() > narrow.levels().max(1) {
            narrow
        } else {
            wide
        }
    }

    /// Folds that the blocks' totals pass through, one after the other.
    pub fn levels(&self) -> usize {
        levels(self.blocks, self.group).count()
    }

    /// Totals of a tile (of all its columns) that all levels write, and the tickets that they take.
    pub fn tree(&self) -> (usize, usize) {
        tree(self.blocks, self.group)
    }
}

/// Totals that each level folds, for so many blocks of a tile and so many at most in one fold.
fn levels(blocks: usize, group: usize) -> impl Iterator<Item = usize> {
    let next = move |count: &usize| Some(count.div_ceil(group));
    core::iter::successors(Some(blocks), next).take_while(|count| *count > 1)
}

/// Totals of a tile that all levels of the tree of `best` write, and the tickets that they take, for so
/// many blocks per tile, of which one fold takes `group`.
pub fn tree(blocks: usize, group: usize) -> (usize, usize) {
    levels(blocks, group).fold((0, 0), |(totals, tickets), count| {
        (totals + count, tickets + count.div_ceil(group))
    })
}
