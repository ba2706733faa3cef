//! The tuning of the reductions of columns.

use crate::tuning::{self, Choice};

/// The number of threads of a block of `column_per_thread`.
pub const RUNG_BLOCK: usize = 256;
/// The number of threads of a block of `four_columns_per_thread`. A block takes as many columns as one of `column_per_thread`,
/// so that both use as many multiprocessors.
pub const FOUR_BLOCK: usize = RUNG_BLOCK / 4;

/// The number of threads of a block of `best`, at least the number of columns of a tile.
pub const BEST_BLOCK: usize = 512;
/// The numbers of lanes that take a row of a tile of `best`, as powers of two. Each lane takes 16 bytes, so a row is 512 or 128
/// bytes. The wide tile reads larger contiguous pieces. The narrow tile has a fourth of the totals per block, and 4 of its
/// threads share a fold that one thread of a wide tile does alone, so one fold combines the totals of four times as many
/// blocks.
pub const BEST_LANES_LOG2: [u32; 2] = [5, 3];

/// The policy of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The maximum number of blocks per multiprocessor.
    pub blocks: u32,
    /// The number of blocks that must be resident at once.
    pub resident: u32,
    /// The number of rows of which a thread has 16 bytes in flight: 2, 4 or 8.
    pub unroll: usize,
    /// Whether the next rows are loaded before the last ones are added.
    pub ahead: bool,
    /// The maximum number of totals that a thread combines, all in flight at once: 8 or 16. 32 of the larger totals do not fit
    /// in registers.
    pub members: usize,
}

impl Policy {
    /// Returns the number of blocks of a tile of `columns` columns whose totals the last one combines. 512 threads share the
    /// columns.
    #[inline(always)]
    pub const fn group(&self, columns: usize) -> usize {
        self.members * (BEST_BLOCK / columns)
    }

    /// Returns the minimum number of rows of a block, so that a thread has several loads in flight.
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
        // 64 registers per thread allow this. 1024 threads with 64 bytes each in flight are four times what hides the latency
        // of an H100's memory.
        policy(2, 2, 4, 16),
        // One for bytes, because the blocks' totals are four to eight times as large as the elements.
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

/// Returns the maximum number of rows of a block: a part holds no more elements.
pub const fn most_rows(lanes_log2: u32) -> usize {
    (BEST_BLOCK >> lanes_log2) * crate::axis::CHUNK
}

/// Returns the bytes of a row that a block of `best` takes.
pub const fn tile_bytes(lanes_log2: u32) -> usize {
    16 << lanes_log2
}

/// The columns of a block of the last pass, one per thread along x.
pub const FOLD_COLUMNS: usize = 32;
/// The threads of the last pass that share a column.
pub const FOLD_ROWS: usize = 16;

/// The shape in which `best` reads a matrix.
///
/// Elements of one column lie `width` apart, so they have the same residue modulo any multiple of the width. `best` takes the
/// flat array, from its first 16-byte boundary on, as a matrix whose rows are `period` elements long. The period is a multiple
/// of the width, chosen so that all rows are aligned and little of the last tile is empty. If that shape is not the matrix
/// itself, a last pass folds the totals of the period onto the columns, and adds the elements before the boundary and after the
/// last whole row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// The elements before the first 16-byte boundary.
    pub head: usize,
    /// The distance from one row to the next, in elements.
    pub period: usize,
    /// The number of whole rows; 0 if the last pass reads the matrix itself.
    pub rows: usize,
    /// Whether a last pass must follow.
    pub fold: bool,
}

/// Returns whether rows of `row_bytes` bytes leave more than a fifth of their tiles of `tile` bytes empty.
fn wasteful(row_bytes: usize, tile: usize) -> bool {
    row_bytes.div_ceil(tile).saturating_mul(tile) > row_bytes / 4 * 5
}

/// Returns the shape in which `best` reads a matrix of `height` x `width` elements of `size` bytes whose first element has
/// `address`. The matrix must not be empty.
pub fn view(address: u64, height: usize, width: usize, size: usize) -> View {
    let lanes = 16 / size;
    let head = (lanes - (address % 16) as usize / size) % lanes;
    // The least multiple of the width whose rows take a multiple of 16 bytes.
    let common = 1 << width.trailing_zeros().min(lanes.trailing_zeros());
    let least = (lanes / common).saturating_mul(width);
    let [wide, narrow] = BEST_LANES_LOG2.map(tile_bytes);
    let mut period = least;
    // Rows that are aligned and fill narrow tiles need no last pass.
    if least != width || head > 0 || wasteful(width * size, narrow) {
        // The loop ends at 5 tiles at the latest: they leave less than a fifth of the last of 6 empty.
        while period < 5 * wide / size && wasteful(period * size, wide) {
            period += least;
        }
    }
    let repeat = period / width;
    let elements = height * width;
    let head = head.min(elements);
    let fold = repeat > 1 || head > 0;
    // The totals of a period are written and read again, so there must be many times as many elements.
    let worth = !fold || height.saturating_mul(size) / 64 >= repeat;
    View {
        head,
        period,
        rows: if worth { (elements - head) / period } else { 0 },
        fold,
    }
}

/// How `best` divides a matrix among blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiling {
    /// The number of lanes that take a row of a tile, as a power of two.
    pub lanes_log2: u32,
    /// The columns of a tile.
    pub columns: usize,
    /// The tiles of a row.
    pub tiles: usize,
    /// The rows of a block.
    pub rows_per_block: usize,
    /// The blocks of a tile.
    pub blocks: usize,
    /// The maximum number of blocks of a tile whose totals one of them combines.
    pub group: usize,
}

impl Tiling {
    /// Divides a matrix into tiles of `2^lanes_log2` lanes, for elements of `size` bytes. It makes as many blocks as are
    /// resident at once (`filling`), no more than there is work for, and no fewer than parts can hold. A few blocks more than
    /// one fold takes are not worth another fold.
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
        // Rows left over are read with fewer loads in flight. Giving each block a few more rows costs less.
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

    /// Chooses wide tiles, unless much of the last one would be empty, or they need two or more levels and narrow tiles need
    /// fewer. A level is a write, a wait and a read of every block, one after the other.
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

    /// Returns the number of folds that the blocks' totals pass through in turn.
    pub fn levels(&self) -> usize {
        levels(self.blocks, self.group).count()
    }

    /// Returns the number of totals of a tile (of all its columns) that all levels write, and the number of tickets that they
    /// take.
    pub fn tree(&self) -> (usize, usize) {
        tree(self.blocks, self.group)
    }
}

/// Returns the number of totals that each level folds, for `blocks` blocks of a tile and at most `group` in one fold.
fn levels(blocks: usize, group: usize) -> impl Iterator<Item = usize> {
    let next = move |count: &usize| Some(count.div_ceil(group));
    core::iter::successors(Some(blocks), next).take_while(|count| *count > 1)
}

/// Returns the number of totals of a tile that all levels of the tree of `best` write, and the number of tickets that they
/// take, for `blocks` blocks per tile, of which one fold takes `group`.
pub fn tree(blocks: usize, group: usize) -> (usize, usize) {
    levels(blocks, group).fold((0, 0), |(totals, tickets), count| {
        (totals + count, tickets + count.div_ceil(group))
    })
}
