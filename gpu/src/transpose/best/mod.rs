//! `best`: tiles that are moved by words of several elements, which are transposed in registers.
//!
//! ```text
//! block (tile):
//!     load K words of K elements each, one below the other           (coalesced: neighboring lanes, neighboring words)
//!     transpose the K x K elements in registers
//!     put word j into plane j of shared memory                       (rows are padded by a word: no bank conflicts)
//!     barrier
//!     read words of the output's rows from the planes, store them    (coalesced again)
//! ```
//!
//! Moving one element at a time would take K times as many instructions, which is the limit for small elements. If rows do not
//! begin at multiples of a word, `shifted` (1 and 2 bytes) and `single` (4 and 8 bytes) move the tile.

mod packed;
mod shifted;
mod single;
mod turned;
mod wide;

use cuda_std::prelude::*;

use super::policy::{Policy, SECTOR, word_elements};
use crate::tuning::{ARCHITECTURE, Numbers, Tuned, chosen, numbers};

/// Transposes a `height` x `width` row-major matrix through tiles. A tile is moved by words of `K` elements: 8 bytes for
/// elements of 1 and 2 bytes, and 16 bytes for larger ones. A thread takes `K` words, one below the other, and transposes their
/// elements in registers, which gives `K` words of the output. It stores these in `K` planes of shared memory, whose rows are
/// padded by one word: there are no bank conflicts, neither here nor when a row of the output is read back.
///
/// If the rows do not begin at multiples of a word, elements of 1 and 2 bytes are shifted into place from neighboring words of
/// 4 bytes, and elements of 4 and 8 bytes are moved singly. The part of an output row that a block writes still begins at a
/// sector, so that only the ends of rows are partial sectors.
///
/// Launch: one block of [`Policy::threads`] threads per tile of [`Policy::tile_width`] by [`Policy::tile_height`] elements,
/// in bands of [`Policy::band`]; static shared memory of up to 37376 bytes. Moves `2 * width * height * size_of::<T>()` bytes.
/// Exact.
///
/// # Safety
/// `input` and `output` have `width * height` elements and do not overlap.
#[kernel(
    launch_bounds(numbers::<Policy, T>(ROW).threads as u32, numbers::<Policy, T>(ROW).resident),
    instances(b1: (u8, 8), b2: (u16, 4), b4: (u32, 4), b8: (u64, 2), b16: (u128, 1)),
    tuned(b1 as u8: 0..8, b2 as u16: 0..8, b4 as f32: 8..16, b8 as f64: 8..16, b16 as u128: 16..24)
)]
pub unsafe fn transpose_best<T: Copy + 'static, const K: usize, const ROW: usize>(
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    height: usize,
) {
    by_tiles::<T, Numbers<T, ROW>, K>(input, output, width, height);
}

/// The body of [`transpose_best`], with the values of the policy row `N`.
#[inline(always)]
#[track_caller]
fn by_tiles<T: Copy + 'static, N: Tuned<Policy>, const K: usize>(
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    height: usize,
) {
    const { assert!(word_elements(size_of::<T>()) == K) };
    const { assert!(N::POLICY.fits(size_of::<T>())) };
    let memory = tile_memory::<T, N>();
    let (left, top) = banded_origin::<T, N>(width, height);
    let tile = Tile {
        input,
        output,
        width,
        height,
        left,
        top,
        whole: left + tile_width::<T, N>() <= width && top + tile_height::<T, N>() <= height,
    };
    let word_bytes = size_of::<T>() * K;
    let in_words = width.is_multiple_of(K)
        && height.is_multiple_of(K)
        && input.as_ptr().addr().is_multiple_of(word_bytes)
        && output.as_ptr().addr().is_multiple_of(word_bytes);
    if size_of::<T>() < 4 {
        if in_words {
            packed::transpose::<T, N, K>(tile, memory);
        } else if size_of::<T>() == 1 {
            shifted::transpose::<T, N, 4>(tile, memory);
        } else {
            shifted::transpose::<T, N, 2>(tile, memory);
        }
    } else if K == 1 || in_words {
        wide::transpose::<T, N, K>(tile, memory);
    } else {
        single::transpose::<T, N>(tile, memory);
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
    /// Whether the whole tile is within the matrix.
    whole: bool,
}

impl<T: Copy> Tile<T> {
    /// Returns whether all output rows of the tile, which begin at sectors, have the same length: the tile is neither at the
    /// top, where output rows begin with the matrix, nor at another edge.
    #[inline(always)]
    fn inner<N: Tuned<Policy>>(self) -> bool {
        let down = tile_height::<T, N>();
        self.whole && self.top > 0 && self.top + down + SECTOR / size_of::<T>() <= self.height
    }
}

/// Returns the elements of a tile's row.
const fn tile_width<T, N: Tuned<Policy>>() -> usize {
    N::POLICY.tile_width(size_of::<T>())
}

/// Returns the elements of a tile's column.
const fn tile_height<T, N: Tuned<Policy>>() -> usize {
    N::POLICY.tile_height(size_of::<T>())
}

/// Returns the number of elements from element `i` to the first one that begins a sector.
#[inline(always)]
fn to_sector<T: Copy>(output: GlobalMut<T>, i: usize) -> usize {
    // Only the low bits matter.
    let address = (output.as_ptr().addr() as u32).wrapping_add(i as u32 * size_of::<T>() as u32);
    (address.wrapping_neg() % SECTOR as u32) as usize / size_of::<T>()
}

/// Returns the shared memory of a tile, of the size that the shipped row needs.
#[inline(always)]
fn tile_memory<T, N: Tuned<Policy>>() -> Shared<u128> {
    const fn units(element_bytes: usize) -> usize {
        let shipped: Policy = chosen(ARCHITECTURE, element_bytes);
        shipped.shared_bytes(element_bytes).div_ceil(16)
    }
    const { assert!(N::POLICY.shared_bytes(size_of::<T>()) <= 16 * units(size_of::<T>())) };
    // Each instance has only one of these arrays.
    match size_of::<T>() {
        1 => shared![u128; units(1)],
        2 => shared![u128; units(2)],
        4 => shared![u128; units(4)],
        8 => shared![u128; units(8)],
        _ => shared![u128; units(16)],
    }
}

/// Returns a view of the block's shared memory as elements of another type.
#[inline(always)]
#[track_caller]
fn shared_as<T: Copy>(memory: Shared<u128>) -> Shared<T> {
    // SAFETY: the view covers the same memory, whose alignment is sufficient for every type of the family.
    unsafe { Shared::from_raw_parts(memory.as_ptr().cast(), memory.len() * 16 / size_of::<T>()) }
}

/// Returns the first column and row of this block's tile. Blocks go down [`Policy::band`] tiles, then continue with the tiles
/// to the right.
#[inline(always)]
fn banded_origin<T, N: Tuned<Policy>>(width: usize, height: usize) -> (usize, usize) {
    let (tile_width, tile_height) = (tile_width::<T, N>(), tile_height::<T, N>());
    let most = N::POLICY.band;
    let across = width.div_ceil(tile_width) as u32;
    let down = height.div_ceil(tile_height) as u32;
    let block = thread::block_idx_x();
    let per_band = across * down.min(most);
    let (band, within) = (block / per_band, block % per_band);
    let first = band * most;
    let rows = (down - first).min(most);
    (
        (within / rows) as usize * tile_width,
        (first + within % rows) as usize * tile_height,
    )
}
