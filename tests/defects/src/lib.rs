//! Kernels with a planted defect each: what the sanitizer has to see.
//!
//! Each is made from a real kernel by a small change. A kernel with one defect has two instances: `correct`, and `defect`
//! with the change. One with several has a number for each, which says what is wrong, and an instance for each beside
//! `NOTHING`. The lines where a defect shows carry a comment `HERE:` with the checks that may report it there, and `of` the
//! defects that they count for where they do not for all. They are in the kernel, or in the function of the same file that
//! `AT:` names, behind the defect's number or in the kernel: `AT:` may go on with `for` and the checks of those there that
//! count, and with `in the orders` of blocks and lanes in which the defect shows, where it does not in all. All kernels
//! have the same parameters, so that one program can launch any of them: on the CPU executor, and as PTX on a card under
//! compute-sanitizer.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, asm_experimental_arch)
)]
// Loops over constants are written out by index, as in the real kernels.
#![allow(clippy::missing_safety_doc, clippy::needless_range_loop)]

/// Numbers what can be wrong with a kernel, and makes the list of its instances: `NOTHING`, and one for each number.
macro_rules! wrong {
    ($list:ident: $($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        $($(#[$doc])* pub const $name: u32 = $number;)*
        macro_rules! $list {
            ($callback:ident) => { $callback! { NOTHING, $($name),* } };
        }
    };
}

pub mod async_copy;
pub mod bulk;
pub mod cluster;
pub mod columns;
pub mod convolution;
pub mod gemm;
#[cfg(not(target_arch = "nvptx64"))]
pub mod harness;
pub mod histogram;
pub mod map;
pub mod merge;
pub mod random;
pub mod reduce;
pub mod reduce_best;
pub mod reduce_warp;
pub mod rows;
pub mod scan;
pub mod segments;
pub mod select;
pub mod sort;
pub mod top_k;
pub mod transpose;
pub mod wgmma;

/// What is wrong with an unchanged kernel that others are made from by a number.
pub const NOTHING: u32 = 0;

/// How a defect is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Blocks along x and y.
    pub grid: [u32; 2],
    /// Threads of a block along x and y.
    pub block: [u32; 2],
    /// Dynamic shared memory in bytes.
    pub shared_bytes: u32,
    /// Elements of the input.
    pub input: usize,
    /// Elements of the output.
    pub output: usize,
    /// Elements of the scratch memory.
    pub scratch: usize,
    /// Whether nobody has written the scratch memory before the launch; it is zeros else.
    pub fresh: bool,
    /// The last parameter.
    pub n: usize,
    /// Launches, one after the other on the same memory.
    pub launches: u32,
}

/// Three blocks in a row, over an input that does not fill the last one; two bins of each kind.
const LINE: Shape = Shape {
    grid: [3, 1],
    block: [256, 1],
    shared_bytes: 0,
    input: 700,
    output: 1024,
    scratch: 1024,
    fresh: false,
    n: 0,
    launches: 1,
};
/// A matrix of 36 rows of 40 elements in tiles of 16.
const TILES: Shape = Shape {
    grid: [9, 1],
    block: [16, 16],
    input: 36 * 40,
    output: 36 * 40,
    n: 40,
    ..LINE
};
/// The same in tiles of 32.
const WIDE_TILES: Shape = Shape {
    grid: [4, 1],
    block: [32, 8],
    ..TILES
};
/// 50 bins.
const BINS: Shape = Shape {
    shared_bytes: 50 * 4,
    output: 50,
    n: 50,
    ..LINE
};
/// Two matrices of 40 rows and columns.
const SQUARE: Shape = Shape {
    grid: [3, 3],
    block: [16, 16],
    input: 2 * 40 * 40,
    output: 40 * 40,
    n: 40,
    ..LINE
};
/// Windows of nine elements.
const WINDOW: Shape = Shape {
    shared_bytes: (255 + 9) * 4,
    output: 700,
    n: 9,
    ..LINE
};
/// The same for blocks of a warp each, which go through eight tiles of 32 results.
const STRIPS: Shape = Shape {
    block: [32, 1],
    shared_bytes: (32 + 8) * 4,
    ..WINDOW
};
/// Three rows of 200 elements.
const ROWS: Shape = Shape {
    input: 600,
    output: 3,
    n: 200,
    ..LINE
};
/// The same for one block.
const ONE_BLOCK: Shape = Shape {
    grid: [1, 1],
    ..ROWS
};
/// 24 rows of 128 elements, which are one tile of columns.
const COLUMNS: Shape = Shape {
    shared_bytes: (1 + 4) * 256 * 4,
    input: 24 * 128,
    output: 128,
    n: 128,
    ..LINE
};
/// A warpgroup.
const WARPGROUP: Shape = Shape {
    grid: [1, 1],
    block: [128, 1],
    output: 64 * 64,
    ..LINE
};
/// Four rows of 150 elements, which four does not divide.
const FOUR_COLUMNS: Shape = Shape {
    input: 600,
    output: 150,
    n: 150,
    ..LINE
};
/// States of six words for 100 sequences.
const STATES: Shape = Shape {
    output: 100,
    scratch: 600,
    n: 100,
    ..LINE
};
/// The same, which nobody has written.
const NEW_STATES: Shape = Shape {
    fresh: true,
    ..STATES
};
/// Two elements within one quad.
const QUAD: Shape = Shape {
    output: 2,
    n: 1,
    ..LINE
};

/// Calls `$callback!` with every defect: its module, its name, its kernel's marker with what is wrong in the unchanged kernel
/// and in the one with the defect, and its shape.
#[macro_export]
macro_rules! for_each_defect {
    ($callback:ident) => {
        $callback! {
            transpose: transpose_tiled_no_barrier TransposeTiled[NOTHING, NO_BARRIER] TILES;
            transpose: transpose_tiled_barrier_in_branch TransposeTiled[NOTHING, BARRIER_IN_BRANCH] TILES;
            transpose: transpose_tiled_early_return TransposeTiled[NOTHING, EARLY_RETURN] TILES;
            transpose: transpose_tiled_one_bound TransposeTiled[NOTHING, ONE_BOUND] TILES;
            transpose: transpose_padded_two_pitches TransposeTiled[PADDED, TWO_PITCHES] TILES;
            transpose: transpose_best_missing_round TransposeBest[NOTHING, MISSING_ROUND] WIDE_TILES;
            transpose: transpose_best_short_tile TransposeBest[NOTHING, SHORT_TILE] WIDE_TILES;
            transpose: transpose_naive_off_by_one TransposeNaive[NOTHING, OFF_BY_ONE] TILES;
            transpose: transpose_reused_tile TransposeTiles[NOTHING, REUSED_TILE] REUSED_TILE;
            transpose: transpose_in_place TransposeNaive[NOTHING, IN_PLACE] TILES;
            reduce: reduce_sequential_no_first_barrier ReduceSequential[NOTHING, NO_FIRST_BARRIER] LINE;
            reduce: reduce_sequential_no_step_barrier ReduceSequential[NOTHING, NO_STEP_BARRIER] LINE;
            reduce: reduce_sequential_off_by_one ReduceSequential[NOTHING, OFF_BY_ONE] LINE;
            reduce: reduce_sequential_barrier_in_branch ReduceSequential[NOTHING, BARRIER_IN_BRANCH] LINE;
            reduce: reduce_sequential_two_barriers ReduceSequential[NOTHING, TWO_BARRIERS] LINE;
            reduce: reduce_sequential_one_helper_twice ReduceSequentialOneHelperTwice[false, true] LINE;
            reduce: reduce_two_arrays_of_one_place ReduceTwoArraysOfOnePlace[false, true] LINE;
            reduce: reduce_flag_never_set ReduceFlagNeverSet[false, true] LINE;
            reduce: reduce_interleaved_tail_unwritten ReduceInterleavedTailUnwritten[false, true] LINE;
            reduce_warp: reduce_last_warp_no_sync_before_write ReduceLastWarp[NOTHING, NO_SYNC_BEFORE_WRITE] LINE;
            reduce_warp: reduce_last_warp_no_sync_behind_write ReduceLastWarp[NOTHING, NO_SYNC_BEHIND_WRITE] LINE;
            reduce_warp: reduce_last_warp_half_mask ReduceLastWarpPairs[NOTHING, HALF_MASK] LINE;
            reduce_warp: reduce_last_warp_shuffle_for_sync ReduceLastWarpPairs[NOTHING, SHUFFLE_FOR_SYNC] LINE;
            reduce_warp: reduce_shuffle_wrong_mask ReduceShuffle[NOTHING, WRONG_MASK] LINE;
            reduce_warp: reduce_shuffle_source_outside_of_mask ReduceShuffleSourceOutsideOfMask[false, true] LINE;
            reduce_warp: reduce_shuffle_absent_lanes ReduceShuffle[NOTHING, ABSENT_LANES] LINE;
            reduce_warp: reduce_shuffle_results_unwritten ReduceBlockShuffle[NOTHING, RESULTS_UNWRITTEN] LINE;
            reduce_warp: reduce_shuffle_no_barrier ReduceBlockShuffle[NOTHING, NO_BARRIER] LINE;
            reduce_warp: reduce_shuffle_reused_results ReduceBlockShuffle[NOTHING, REUSED_RESULTS] LINE;
            reduce_best: reduce_best_no_release ReduceBest[NOTHING, NO_RELEASE] LINE;
            reduce_best: reduce_best_no_acquire ReduceBest[NOTHING, NO_ACQUIRE] LINE;
            reduce_best: reduce_best_fence_of_the_block ReduceBest[NOTHING, FENCE_OF_THE_BLOCK] LINE;
            reduce_best: reduce_best_plain_ticket ReduceBest[NOTHING, PLAIN_TICKET] LINE;
            reduce_best: reduce_best_partial_unwritten ReduceBest[NOTHING, PARTIAL_UNWRITTEN] FRESH;
            reduce_best: reduce_best_flag_no_barrier ReduceBest[NOTHING, FLAG_NO_BARRIER] LINE;
            reduce_best: reduce_atomic_clear_not_released ReduceAtomicClearNotReleased[false, true] LINE;
            reduce_best: reduce_atomic_no_barrier_behind_clear ReduceAtomicNoBarrierBehindClear[false, true] LINE;
            reduce: reduce_cascaded_off_by_one ReduceCascaded[NOTHING, BEHIND_THE_LAST] LINE;
            reduce: reduce_add_on_load_unguarded ReduceAddOnLoadUnguarded[false, true] LINE;
            reduce: reduce_folding_in_place ReduceFoldingInPlace[false, true] LINE;
            reduce: reduce_finish_shared_place ReduceCascaded[NOTHING, SHARED_PLACE] LINE;
            histogram: histogram_global_plain HistogramGlobal[NOTHING, GLOBAL_PLAIN] BINS;
            histogram: histogram_shared_plain HistogramPrivatized[NOTHING, SHARED_PLAIN] BINS;
            histogram: histogram_no_clear HistogramPrivatized[NOTHING, NO_CLEAR] BINS;
            histogram: histogram_clear_short HistogramPrivatized[NOTHING, CLEAR_SHORT] BINS;
            histogram: histogram_no_barrier_behind_clear HistogramPrivatized[NOTHING, NO_BARRIER_BEHIND_CLEAR] BINS;
            histogram: histogram_no_barrier_before_merge HistogramPrivatized[NOTHING, NO_BARRIER_BEFORE_MERGE] BINS;
            histogram: histogram_plain_merge HistogramPrivatized[NOTHING, PLAIN_MERGE] BINS;
            histogram: histogram_early_return HistogramPrivatized[NOTHING, EARLY_RETURN] BINS;
            histogram: histogram_bin_unchecked HistogramPrivatized[NOTHING, BIN_UNCHECKED] BINS;
            histogram: histogram_best_no_spare_bin HistogramBestNoSpareBin[false, true] TWO_COPIES;
            histogram: histogram_carves_too_much HistogramPrivatized[NOTHING, CARVES_TOO_MUCH] BINS;
            histogram: histogram_best_misaligned HistogramBestMisaligned[false, true] BINS;
            histogram: histogram_view_too_long HistogramGlobal[NOTHING, VIEW_TOO_LONG] BINS;
            histogram: histogram_overlapping_arrays HistogramOverlappingArrays[false, true] TWO_COPIES;
            histogram: histogram_global_block_scope HistogramGlobal[NOTHING, GLOBAL_BLOCK_SCOPE] BINS;
            histogram: histogram_global_two_widths HistogramGlobalTwoWidths[false, true] BINS;
            gemm: gemm_tiled_no_barrier_behind_load GemmTiled[NOTHING, NO_BARRIER_BEHIND_LOAD] SQUARE;
            gemm: gemm_tiled_no_barrier_behind_use GemmTiled[NOTHING, NO_BARRIER_BEHIND_USE] SQUARE;
            gemm: gemm_tiled_early_return GemmTiled[NOTHING, EARLY_RETURN] SQUARE;
            gemm: gemm_tiled_edge_unwritten GemmTiled[NOTHING, EDGE_UNWRITTEN] SQUARE;
            gemm: gemm_naive_one_too_many GemmNaiveOneTooMany[false, true] SQUARE;
            async_copy: gemm_async_wait_behind_use GemmAsync[NOTHING, WAIT_BEHIND_USE] SQUARE;
            async_copy: gemm_async_one_group_less GemmAsync[NOTHING, ONE_GROUP_LESS] SQUARE;
            async_copy: gemm_async_no_barrier_behind_wait GemmAsync[NOTHING, NO_BARRIER_BEHIND_WAIT] SQUARE;
            async_copy: gemm_async_no_barrier_behind_use GemmAsync[NOTHING, NO_BARRIER_BEHIND_USE] SQUARE;
            async_copy: gemm_async_one_buffer GemmAsync[NOTHING, ONE_BUFFER] SQUARE;
            async_copy: gemm_async_one_tile_too_many GemmAsync[NOTHING, ONE_TILE_TOO_MANY] SQUARE;
            bulk: bulk_map_no_wait BulkMap[NOTHING, NO_WAIT] BULK;
            bulk: bulk_map_one_buffer BulkMap[NOTHING, ONE_BUFFER] BULK;
            bulk: bulk_map_no_proxy_fence BulkMap[NOTHING, NO_PROXY_FENCE] BULK;
            bulk: bulk_map_no_wait_for_read BulkMap[NOTHING, NO_WAIT_FOR_READ] BULK;
            bulk: bulk_map_bytes_too_many BulkMap[NOTHING, BYTES_TOO_MANY] BULK;
            bulk: bulk_map_bytes_too_few BulkMap[NOTHING, BYTES_TOO_FEW] BULK;
            bulk: bulk_map_arrival_too_few BulkMap[NOTHING, ARRIVAL_TOO_FEW] BULK;
            bulk: bulk_map_no_init_fence BulkMap[NOTHING, NO_INIT_FENCE] BULK;
            bulk: bulk_map_not_awaited BulkMap[NOTHING, NOT_AWAITED] BULK;
            convolution: convolution_missing_halo ConvolutionTiled[NOTHING, MISSING_HALO] WINDOW;
            convolution: convolution_no_barrier ConvolutionTiled[NOTHING, NO_BARRIER] WINDOW;
            convolution: convolution_short_halo ConvolutionTiled[NOTHING, SHORT_HALO] WINDOW;
            convolution: convolution_best_no_sync_behind_use ConvolutionBestNoSyncBehindUse[false, true] STRIPS;
            convolution: convolution_basic_unguarded ConvolutionBasicUnguarded[false, true] WINDOW;
            convolution: convolution_in_place ConvolutionInPlace[false, true] WINDOW;
            columns: columns_best_no_barrier ColumnsBest[NOTHING, NO_BARRIER] COLUMNS;
            columns: columns_best_fence_too_early ColumnsBest[NOTHING, FENCE_TOO_EARLY] COLUMNS;
            columns: columns_best_plain_reset ColumnsBest[NOTHING, PLAIN_RESET] COLUMNS;
            columns: columns_best_no_barrier_before_meeting ColumnsBest[NOTHING, NO_BARRIER_BEFORE_MEETING] COLUMNS;
            columns: columns_four_past_the_last ColumnsFourPastTheLast[false, true] FOUR_COLUMNS;
            rows: rows_block_per_row_no_barrier RowsBlockPerRowNoBarrier[false, true] ONE_BLOCK;
            rows: rows_chunk_plain RowsChunkPlain[false, true] ONE_BLOCK;
            rows: rows_best_lanes_gone RowsBestLanesGone[false, true] ONE_BLOCK;
            rows: rows_long_no_barrier RowsLongNoBarrier[false, true] ROWS;
            random: random_shared_state RandomSharedState[false, true] STATES;
            random: random_state_not_set_up RandomStateNotSetUp[false, true] NEW_STATES;
            random: random_quad_twice RandomQuadTwice[false, true] QUAD;
            map: map_rolled_block_stride MapRolledBlockStride[false, true] SAME;
            map: map_direct_unguarded MapDirectUnguarded[false, true] SHORTER;
            map: map_best_ragged_tail MapBest[NOTHING, RAGGED_TAIL] RAGGED;
            async_copy: map_async_result_one_step_on MapAsyncResultOneStepOn[false, true] IN_PLACE;
            scan: scan_states_of_an_earlier_launch Scan[NOTHING, STATES_OF_AN_EARLIER_LAUNCH] TWO_SCANS;
            scan: scan_state_before_its_value Scan[NOTHING, STATE_BEFORE_ITS_VALUE] SCAN;
            scan: scan_no_acquire Scan[NOTHING, NO_ACQUIRE] SCAN;
            scan: scan_tile_by_block_index Scan[NOTHING, TILE_BY_BLOCK_INDEX] SCAN;
            scan: scan_torn_state Scan[WIDE, TORN_STATE] SCAN;
            segments: segments_best_no_barrier SegmentsBestNoBarrier[false, true] LINE;
            select: select_best_no_barrier SelectBestNoBarrier[false, true] LINE;
            select: select_persistent_read_late SelectPersistentReadLate[false, true] LINE;
            sort: sort_best_no_barrier SortBestNoBarrier[false, true] LINE;
            merge: merge_best_no_barrier MergeBestNoBarrier[false, true] LINE;
            top_k: top_k_best_no_barrier TopKBestNoBarrier[false, true] LINE;
            cluster: cluster_exchange_not_started ClusterExchange[NOTHING, NOT_STARTED] PAIRS;
            cluster: cluster_exchange_arrived_after_reads ClusterExchange[NOTHING, ARRIVED_AFTER_READS] PAIRS;
            cluster: cluster_exchange_wait_for_own_block ClusterExchange[NOTHING, WAIT_FOR_OWN_BLOCK] PAIRS;
            cluster: cluster_exchange_barrier_of_block ClusterExchange[NOTHING, BARRIER_OF_BLOCK] PAIRS;
            cluster: cluster_exchange_other_barrier ClusterExchange[NOTHING, OTHER_BARRIER] PAIRS;
            cluster: cluster_exchange_returned ClusterExchange[NOTHING, RETURNED] PAIRS;
            wgmma: wgmma_tiles_no_proxy_fence WgmmaTiles[NOTHING, NO_PROXY_FENCE] WARPGROUP;
            wgmma: wgmma_tiles_no_barrier WgmmaTiles[NOTHING, NO_BARRIER] WARPGROUP;
            wgmma: wgmma_tiles_written_in_flight WgmmaTiles[NOTHING, WRITTEN_IN_FLIGHT] WARPGROUP;
            wgmma: wgmma_tiles_other_tile WgmmaTiles[NOTHING, OTHER_TILE] WARPGROUP;
            wgmma: wgmma_tiles_line_unwritten WgmmaTiles[NOTHING, LINE_UNWRITTEN] WARPGROUP;
            wgmma: wgmma_tiles_not_aligned WgmmaTiles[NOTHING, NOT_ALIGNED] WARPGROUP;
            map: map_best_alignment_unchecked MapBest[NOTHING, ALIGNMENT_UNCHECKED] UNALIGNED;
        }
    };
}

/// 60 tiles, the last one not whole.
const SCAN: Shape = Shape {
    grid: [60, 1],
    block: [64, 1],
    input: 60 * 64 - 20,
    output: 60 * 64 - 20,
    ..LINE
};
/// The same twice.
const TWO_SCANS: Shape = Shape {
    launches: 2,
    ..SCAN
};
/// Three columns of tiles, each a block's.
const REUSED_TILE: Shape = Shape {
    grid: [3, 1],
    ..TILES
};
/// Scratch memory that nobody wrote.
const FRESH: Shape = Shape {
    fresh: true,
    ..LINE
};
/// Two arrays of 51 elements.
const TWO_COPIES: Shape = Shape {
    shared_bytes: 51 * 2 * 4,
    ..BINS
};
/// An input that starts behind a multiple of 16 bytes.
const UNALIGNED: Shape = Shape {
    input: 701,
    output: 700,
    n: 1,
    ..LINE
};
/// Fewer results than elements.
const SHORTER: Shape = Shape {
    input: 768,
    output: 700,
    ..LINE
};
/// Seven tiles of 64 elements for one block.
const BULK: Shape = Shape {
    grid: [1, 1],
    block: [64, 1],
    input: 7 * 64,
    output: 7 * 64,
    ..LINE
};
/// Two clusters of two blocks.
const PAIRS: Shape = Shape {
    grid: [4, 1],
    block: [64, 1],
    input: 4 * 64,
    output: 4 * 64,
    ..LINE
};
/// As many results as elements.
const SAME: Shape = Shape {
    output: 700,
    ..LINE
};
/// The same for one block, which takes three steps.
const IN_PLACE: Shape = Shape {
    grid: [1, 1],
    ..SAME
};
/// A length that four does not divide.
const RAGGED: Shape = Shape {
    input: 701,
    output: 701,
    ..LINE
};

#[cfg(not(target_arch = "nvptx64"))]
mod table {
    use cuda_std::kernel::{Kernel, KernelDescriptor};

    use super::*;

    /// A planted defect.
    #[derive(Debug)]
    pub struct Defect {
        /// What it is called.
        pub name: &'static str,
        /// The source file's stem.
        pub file: &'static str,
        /// The source.
        pub source: &'static str,
        /// Its number's name, or `true`.
        pub number: &'static str,
        /// How it is launched.
        pub shape: Shape,
        /// The unchanged kernel, and the one with the defect.
        pub kernels: [&'static KernelDescriptor; 2],
    }

    macro_rules! table {
        ($($module:ident: $name:ident $marker:ident[$right:tt, $wrong:tt] $shape:ident;)*) => {
            /// All defects.
            pub static DEFECTS: &[Defect] = &[$(Defect {
                name: stringify!($name),
                file: stringify!($module),
                source: include_str!(concat!(stringify!($module), ".rs")),
                number: stringify!($wrong),
                shape: $shape,
                kernels: {
                    use $module::*;
                    [&$marker::<$right>::DESCRIPTOR, &$marker::<$wrong>::DESCRIPTOR]
                },
            }),*];
        };
    }
    for_each_defect!(table);
}
#[cfg(not(target_arch = "nvptx64"))]
pub use table::{DEFECTS, Defect};
