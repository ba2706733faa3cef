//! `best`: tiles that are moved by words of several elements and turned in registers.

mod packed;
pub(super) mod shifted;
mod single;
mod turned;
mod wide;

use cuda_std::prelude::*;

use super::policy::{BEST_BAND, BEST_RESIDENT, BEST_THREADS, Best, SECTOR};

/// Transposes a `height` x `width` row-major matrix through tiles. A tile is moved by words of `K`
/// elements, 8 bytes for elements of 1 and 2 bytes and 16 bytes for larger ones. A thread takes `K` words, one below
/// the other, exchanges their elements in registers, so that it has `K` words of the output, and puts
/// these into `K` planes of shared memory, whose rows are one word longer than they need to be: no two lanes
/// meet in a bank, neither there nor when a row of the output is read back.
///
/// Where the rows do not begin at multiples of a word, elements of 1 and 2 bytes are shifted into place from neighbouring
/// words of 4 bytes, and elements of 4 and 8 bytes are moved singly. What a block writes of a row of the output begins at
/// a sector all the same, so that only the ends of rows are parts of sectors.
///
/// Launch: one block of 256 threads per tile of [`Best::tile_width`] by [`Best::tile_height`] elements, in bands; static
/// shared memory of up to 37376 bytes. Moves `2 * width * height * size_of::<T>()` bytes. Exact.
///
/// # Safety
/// `input` and `output` have `width * height` elements and do not overlap.
#[kernel(
    launch_bounds(BEST_THREADS as u32, BEST_RESIDENT),
    instances(b1: (u8, 8), b2: (u16, 4), b4: (u32, 4), b8: (u64, 2), b16: (u128, 1))
)]
pub unsafe fn transpose_best<T: Copy, const K: usize>(
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    height: usize,
) {
    let best = const { Best::of(size_of::<T>()) };
    const { assert!(Best::of(size_of::<T>()).elements() == K) };
    let memory = tile_memory::<T>();
    let (left, top) = banded_origin(width, height, best);
    let tile = Tile {
        input,
        output,
        width,
        height,
        left,
        top,
        whole: left + best.tile_width() <= width && top + best.tile_height() <= height,
    };
    let word_bytes = size_of::<T>() * K;
    let in_words = width.is_multiple_of(K)
        && height.is_multiple_of(K)
        && input.as_ptr().addr().is_multiple_of(word_bytes)
        && output.as_ptr().addr().is_multiple_of(word_bytes);
    if size_of::<T>() < 4 {
        if in_words {
            packed::transpose::<T, K>(tile, memory);
        } else if size_of::<T>() == 1 {
            shifted::transpose::<T, 4>(tile, memory);
        } else {
            shifted::transpose::<T, 2>(tile, memory);
        }
    } else if K == 1 || in_words {
        wide::transpose::<T, K>(tile, memory);
    } else {
        single::transpose::<T>(tile, memory);
    }
}

/// A block's part of the work: the tile whose first element is in column `left` and row `top`.
#[derive(Clone, Copy)]
pub(super) struct Tile<T> {
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    height: usize,
    left: usize,
    top: usize,
    /// Whether all of it is within the matrix.
    whole: bool,
}

impl<T: Copy> Tile<T> {
    /// Whether its rows of the output, begun at sectors, are all of one length: it is neither at the top, where they begin
    /// with the matrix, nor at another end.
    #[inline(always)]
    fn inner(self) -> bool {
        let down = const { Best::of(size_of::<T>()).tile_height() };
        self.whole && self.top > 0 && self.top + down + SECTOR / size_of::<T>() <= self.height
    }
}

/// Elements from element `i` to the first one that begins a sector.
#[inline(always)]
fn to_sector<T: Copy>(output: GlobalMut<T>, i: usize) -> usize {
    // The low bits are all that counts.
    let address = (output.as_ptr().addr() as u32).wrapping_add(i as u32 * size_of::<T>() as u32);
    (address.wrapping_neg() % SECTOR as u32) as usize / size_of::<T>()
}

/// The shared memory of a tile.
#[inline(always)]
fn tile_memory<T>() -> Shared<u128> {
    const fn units(element_bytes: usize) -> usize {
        Best::of(element_bytes).shared_bytes().div_ceil(16)
    }
    // Of these each instance has its own alone.
    match size_of::<T>() {
        1 => shared![u128; units(1)],
        2 => shared![u128; units(2)],
        4 => shared![u128; units(4)],
        8 => shared![u128; units(8)],
        _ => shared![u128; units(16)],
    }
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
fn banded_origin(width: usize, height: usize, best: Best) -> (usize, usize) {
    let (tile_width, tile_height) = (best.tile_width(), best.tile_height());
    let across = width.div_ceil(tile_width) as u32;
    let down = height.div_ceil(tile_height) as u32;
    let block = thread::block_idx_x();
    let per_band = across * down.min(BEST_BAND);
    let (band, within) = (block / per_band, block % per_band);
    let first = band * BEST_BAND;
    let rows = (down - first).min(BEST_BAND);
    (
        (within / rows) as usize * tile_width,
        (first + within % rows) as usize * tile_height,
    )
}
