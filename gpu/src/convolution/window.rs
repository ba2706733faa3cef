//! The parts that the variants share: the origin of a block, and the start of a window.

use cuda_std::thread;

/// Returns the row of this block, counted from the top, and its first output in that row. Each block takes `span` neighboring
/// outputs. Blocks are numbered along the rows, which are `width` long.
#[inline(always)]
pub fn block_origin(width: usize, span: usize) -> (usize, usize) {
    // Only a grid for one row has its last block start before the row's end; it needs no division.
    let last = thread::grid_dim_x() - 1;
    if last as usize * span < width {
        return (0, thread::block_idx_x() as usize * span);
    }
    let across = width.div_ceil(span) as u32;
    let block = thread::block_idx_x();
    ((block / across) as usize, (block % across) as usize * span)
}

/// Returns the column where the window of output `column` starts.
#[inline(always)]
pub fn window_start(column: usize, mask_width: usize) -> isize {
    column as isize - (mask_width / 2) as isize
}
