//! `best`: tiles that are moved by words of several elements and turned in registers.

mod packed;
mod single;
mod wide;

use cuda_std::prelude::*;

use super::policy::{BEST_BAND, BEST_RESIDENT, BEST_THREADS, Best};

/// Shared memory of a block, in units of 16 bytes: the most that a tile of any size takes.
const SHARED_UNITS: usize = {
    let (mut most, mut i) = (0, 0);
    while i < Best::SIZES.len() {
        let bytes = Best::of(Best::SIZES[i]).shared_bytes();
        if bytes > most {
            most = bytes;
        }
        i += 1;
    }
    most.div_ceil(16)
};

/// Transposes a `height` x `width` row-major matrix through square tiles. A tile is moved by words of `K`
/// elements, 4 bytes for elements of 1 and 2 bytes and 16 bytes for larger ones. A thread takes `K` words, one below
/// the other, exchanges their elements in registers, so that it has `K` words of the output, and puts
/// these into `K` planes of shared memory, whose rows are one word longer than they need to be: no two lanes
/// meet in a bank, neither there nor when a row of the output is read back. All loads of a thread are in flight at once.
///
/// Where the rows do not begin at multiples of a word, elements of 1 and 2 bytes are shifted into place from neighbouring
/// words, and elements of 4 and 8 bytes are moved singly.
///
/// Launch: one block of 256 threads per tile of [`Best::tile`] elements a side, in bands; static shared memory of up to 17408 bytes.
/// Moves `2 * width * height * size_of::<T>()` bytes. Exact.
///
/// # Safety
/// `input` and `output` have `width * height` elements and do not overlap.
#[kernel(
    launch_bounds(BEST_THREADS as u32, BEST_RESIDENT),
    instances(b1: (u8, 4), b2: (u16, 2), b4: (u32, 4), b8: (u64, 2), b16: (u128, 1))
)]
pub unsafe fn transpose_best<T: Copy, const K: usize>(
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    height: usize,
) {
    let best = const { Best::of(size_of::<T>()) };
    const { assert!(Best::of(size_of::<T>()).elements() == K) };
    let memory = shared![u128; SHARED_UNITS];
    let (left, top) = banded_origin(width, height, best.tile());
    let tile = Tile {
        input,
        output,
        width,
        height,
        left,
        top,
        whole: left + best.tile() <= width && top + best.tile() <= height,
    };
    let word_bytes = size_of::<T>() * K;
    let in_words = width.is_multiple_of(K)
        && height.is_multiple_of(K)
        && input.as_ptr().addr().is_multiple_of(word_bytes)
        && output.as_ptr().addr().is_multiple_of(word_bytes);
    if size_of::<T>() < 4 {
        packed::transpose::<T, K>(tile, memory, in_words);
    } else if K == 1 || in_words {
        wide::transpose::<T, K>(tile, memory);
    } else {
        single::transpose::<T>(tile, memory);
    }
}

/// A block's part of the work: the tile whose first element is in column `left` and row `top`.
#[derive(Clone, Copy)]
struct Tile<T> {
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    height: usize,
    left: usize,
    top: usize,
    /// Whether all of it is within the matrix.
    whole: bool,
}

/// A view of the block's shared memory as words of another type.
#[inline(always)]
#[track_caller]
fn shared_as<T: Copy>(memory: Shared<u128>) -> Shared<T> {
    // SAFETY: the same memory, whose alignment is enough for every type that the family knows.
    unsafe { Shared::from_raw_parts(memory.as_ptr().cast(), memory.len() * 16 / size_of::<T>()) }
}

/// The tile of this block: its first column and row. Blocks go down [`BEST_BAND`] tiles, then on to the next
/// tiles to the right: those that run together read and write a square region, so that both sides' rows are
/// long pieces of memory.
#[inline(always)]
fn banded_origin(width: usize, height: usize, side: usize) -> (usize, usize) {
    let (across, down) = (width.div_ceil(side) as u32, height.div_ceil(side) as u32);
    let block = thread::block_idx_x();
    let per_band = across * down.min(BEST_BAND);
    let (band, within) = (block / per_band, block % per_band);
    let first = band * BEST_BAND;
    let rows = (down - first).min(BEST_BAND);
    (
        (within / rows) as usize * side,
        (first + within % rows) as usize * side,
    )
}
