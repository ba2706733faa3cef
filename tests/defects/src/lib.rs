//! Kernels with a planted defect each: what the sanitizer has to see.
//!
//! Each is made from a real kernel by a small change, which its first line names, and comes in two
//! instances: `correct`, and `defect` with the change. The lines where the defect shows carry a comment
//! `HERE:` with the checks that may report it there; `AT:` names a function of the same file that has
//! such lines, and may go on with `for` and the one check of those there that counts. `ORDERS:` names the orders of blocks
//! and lanes in which the defect shows, where it does not in all. All kernels have the same parameters, so that one
//! program can launch any of them: on the CPU executor, and as PTX on a card under compute-sanitizer.
#![cfg_attr(
    target_arch = "nvptx64",
    no_std,
    feature(abi_ptx, asm_experimental_arch)
)]
// Loops over constants are written out by index, as in the real kernels.
#![allow(clippy::missing_safety_doc, clippy::needless_range_loop)]

pub mod async_copy;
pub mod columns;
pub mod convolution;
pub mod gemm;
#[cfg(not(target_arch = "nvptx64"))]
pub mod harness;
pub mod histogram;
pub mod map;
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

/// How a defect is launched.
#[derive(Debug, Clone, Copy)]
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

/// Calls `$callback!` with every defect: its module, its kernel, the kernel's marker and its shape.
#[macro_export]
macro_rules! for_each_defect {
    ($callback:ident) => {
        $callback! {
            transpose: transpose_tiled_no_barrier TransposeTiledNoBarrier TILES;
            transpose: transpose_tiled_barrier_in_branch TransposeTiledBarrierInBranch TILES;
            transpose: transpose_tiled_early_return TransposeTiledEarlyReturn TILES;
            transpose: transpose_tiled_one_bound TransposeTiledOneBound TILES;
            transpose: transpose_padded_two_pitches TransposePaddedTwoPitches TILES;
            transpose: transpose_best_missing_round TransposeBestMissingRound WIDE_TILES;
            transpose: transpose_best_short_tile TransposeBestShortTile WIDE_TILES;
            transpose: transpose_naive_off_by_one TransposeNaiveOffByOne TILES;
            transpose: transpose_reused_tile TransposeReusedTile REUSED_TILE;
            transpose: transpose_in_place TransposeInPlace TILES;
            reduce: reduce_sequential_no_first_barrier ReduceSequentialNoFirstBarrier LINE;
            reduce: reduce_sequential_no_step_barrier ReduceSequentialNoStepBarrier LINE;
            reduce: reduce_sequential_off_by_one ReduceSequentialOffByOne LINE;
            reduce: reduce_sequential_barrier_in_branch ReduceSequentialBarrierInBranch LINE;
            reduce: reduce_sequential_two_barriers ReduceSequentialTwoBarriers LINE;
            reduce: reduce_sequential_one_helper_twice ReduceSequentialOneHelperTwice LINE;
            reduce: reduce_two_arrays_of_one_place ReduceTwoArraysOfOnePlace LINE;
            reduce: reduce_flag_never_set ReduceFlagNeverSet LINE;
            reduce: reduce_interleaved_tail_unwritten ReduceInterleavedTailUnwritten LINE;
            reduce_warp: reduce_last_warp_no_sync_before_write ReduceLastWarpNoSyncBeforeWrite LINE;
            reduce_warp: reduce_last_warp_no_sync_behind_write ReduceLastWarpNoSyncBehindWrite LINE;
            reduce_warp: reduce_last_warp_half_mask ReduceLastWarpHalfMask LINE;
            reduce_warp: reduce_last_warp_shuffle_for_sync ReduceLastWarpShuffleForSync LINE;
            reduce_warp: reduce_shuffle_wrong_mask ReduceShuffleWrongMask LINE;
            reduce_warp: reduce_shuffle_source_outside_of_mask ReduceShuffleSourceOutsideOfMask LINE;
            reduce_warp: reduce_shuffle_absent_lanes ReduceShuffleAbsentLanes LINE;
            reduce_warp: reduce_shuffle_results_unwritten ReduceShuffleResultsUnwritten LINE;
            reduce_warp: reduce_shuffle_no_barrier ReduceShuffleNoBarrier LINE;
            reduce_warp: reduce_shuffle_reused_results ReduceShuffleReusedResults LINE;
            reduce_best: reduce_best_no_release ReduceBestNoRelease LINE;
            reduce_best: reduce_best_no_acquire ReduceBestNoAcquire LINE;
            reduce_best: reduce_best_fence_of_the_block ReduceBestFenceOfTheBlock LINE;
            reduce_best: reduce_best_plain_ticket ReduceBestPlainTicket LINE;
            reduce_best: reduce_best_partial_unwritten ReduceBestPartialUnwritten FRESH;
            reduce_best: reduce_best_flag_no_barrier ReduceBestFlagNoBarrier LINE;
            reduce_best: reduce_atomic_clear_not_released ReduceAtomicClearNotReleased LINE;
            reduce_best: reduce_atomic_no_barrier_behind_clear ReduceAtomicNoBarrierBehindClear LINE;
            reduce: reduce_cascaded_off_by_one ReduceCascadedOffByOne LINE;
            reduce: reduce_add_on_load_unguarded ReduceAddOnLoadUnguarded LINE;
            reduce: reduce_folding_in_place ReduceFoldingInPlace LINE;
            reduce: reduce_finish_shared_place ReduceFinishSharedPlace LINE;
            histogram: histogram_global_plain HistogramGlobalPlain BINS;
            histogram: histogram_shared_plain HistogramSharedPlain BINS;
            histogram: histogram_no_clear HistogramNoClear BINS;
            histogram: histogram_clear_short HistogramClearShort BINS;
            histogram: histogram_no_barrier_behind_clear HistogramNoBarrierBehindClear BINS;
            histogram: histogram_no_barrier_before_merge HistogramNoBarrierBeforeMerge BINS;
            histogram: histogram_plain_merge HistogramPlainMerge BINS;
            histogram: histogram_early_return HistogramEarlyReturn BINS;
            histogram: histogram_bin_unchecked HistogramBinUnchecked BINS;
            histogram: histogram_best_no_spare_bin HistogramBestNoSpareBin TWO_COPIES;
            histogram: histogram_carves_too_much HistogramCarvesTooMuch BINS;
            histogram: histogram_best_misaligned HistogramBestMisaligned BINS;
            histogram: histogram_view_too_long HistogramViewTooLong BINS;
            histogram: histogram_overlapping_arrays HistogramOverlappingArrays TWO_COPIES;
            histogram: histogram_global_block_scope HistogramGlobalBlockScope BINS;
            histogram: histogram_global_two_widths HistogramGlobalTwoWidths BINS;
            gemm: gemm_tiled_no_barrier_behind_load GemmTiledNoBarrierBehindLoad SQUARE;
            gemm: gemm_tiled_no_barrier_behind_use GemmTiledNoBarrierBehindUse SQUARE;
            gemm: gemm_tiled_early_return GemmTiledEarlyReturn SQUARE;
            gemm: gemm_tiled_edge_unwritten GemmTiledEdgeUnwritten SQUARE;
            gemm: gemm_naive_one_too_many GemmNaiveOneTooMany SQUARE;
            async_copy: gemm_async_wait_behind_use GemmAsyncWaitBehindUse SQUARE;
            async_copy: gemm_async_one_group_less GemmAsyncOneGroupLess SQUARE;
            async_copy: gemm_async_no_barrier_behind_wait GemmAsyncNoBarrierBehindWait SQUARE;
            async_copy: gemm_async_no_barrier_behind_use GemmAsyncNoBarrierBehindUse SQUARE;
            async_copy: gemm_async_one_buffer GemmAsyncOneBuffer SQUARE;
            async_copy: gemm_async_one_tile_too_many GemmAsyncOneTileTooMany SQUARE;
            convolution: convolution_missing_halo ConvolutionMissingHalo WINDOW;
            convolution: convolution_no_barrier ConvolutionNoBarrier WINDOW;
            convolution: convolution_short_halo ConvolutionShortHalo WINDOW;
            convolution: convolution_best_no_sync_behind_use ConvolutionBestNoSyncBehindUse STRIPS;
            convolution: convolution_basic_unguarded ConvolutionBasicUnguarded WINDOW;
            convolution: convolution_in_place ConvolutionInPlace WINDOW;
            columns: columns_best_no_barrier ColumnsBestNoBarrier COLUMNS;
            columns: columns_best_fence_too_early ColumnsBestFenceTooEarly COLUMNS;
            columns: columns_best_plain_reset ColumnsBestPlainReset COLUMNS;
            columns: columns_best_no_barrier_before_meeting ColumnsBestNoBarrierBeforeMeeting COLUMNS;
            columns: columns_four_past_the_last ColumnsFourPastTheLast FOUR_COLUMNS;
            rows: rows_block_per_row_no_barrier RowsBlockPerRowNoBarrier ONE_BLOCK;
            rows: rows_chunk_plain RowsChunkPlain ONE_BLOCK;
            rows: rows_best_lanes_gone RowsBestLanesGone ONE_BLOCK;
            rows: rows_long_no_barrier RowsLongNoBarrier ROWS;
            random: random_shared_state RandomSharedState STATES;
            random: random_state_not_set_up RandomStateNotSetUp NEW_STATES;
            random: random_quad_twice RandomQuadTwice QUAD;
            map: map_rolled_block_stride MapRolledBlockStride SAME;
            map: map_direct_unguarded MapDirectUnguarded SHORTER;
            map: map_best_ragged_tail MapBestRaggedTail RAGGED;
            async_copy: map_async_result_one_step_on MapAsyncResultOneStepOn IN_PLACE;
            scan: scan_states_of_an_earlier_launch ScanStatesOfAnEarlierLaunch TWO_SCANS;
            scan: scan_state_before_its_value ScanStateBeforeItsValue SCAN;
            scan: scan_no_acquire ScanNoAcquire SCAN;
            scan: scan_tile_by_block_index ScanTileByBlockIndex SCAN;
            scan: scan_torn_state ScanTornState SCAN;
            segments: segments_best_no_barrier SegmentsBestNoBarrier LINE;
            select: select_best_no_barrier SelectBestNoBarrier LINE;
            select: select_persistent_read_late SelectPersistentReadLate LINE;
            sort: sort_best_no_barrier SortBestNoBarrier LINE;
            top_k: top_k_best_no_barrier TopKBestNoBarrier LINE;
            map: map_best_alignment_unchecked MapBestAlignmentUnchecked UNALIGNED;
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
        /// The kernel's name.
        pub name: &'static str,
        /// The source file's stem.
        pub file: &'static str,
        /// The source.
        pub source: &'static str,
        /// How it is launched.
        pub shape: Shape,
        /// The unchanged kernel, and the one with the defect.
        pub kernels: [&'static KernelDescriptor; 2],
    }

    macro_rules! table {
        ($($module:ident: $name:ident $marker:ident $shape:ident;)*) => {
            /// All defects.
            pub static DEFECTS: &[Defect] = &[$(Defect {
                name: stringify!($name),
                file: stringify!($module),
                source: include_str!(concat!(stringify!($module), ".rs")),
                shape: $shape,
                kernels: [
                    &$module::$marker::<false>::DESCRIPTOR,
                    &$module::$marker::<true>::DESCRIPTOR,
                ],
            }),*];
        };
    }
    for_each_defect!(table);
}
#[cfg(not(target_arch = "nvptx64"))]
pub use table::{DEFECTS, Defect};
