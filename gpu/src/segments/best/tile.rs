//! The reduction of a tile. The page of [`best`](super) has the loop; here is how a thread learns its cuts from offsets:
//!
//! ```text
//! flags[element] = 0, a byte each
//! for each cut of the tile, a thread per cut:
//!     atomic_add(word of flags[cut], 1 in its byte)
//!     if the cut before is the same: write the result of the segment between them, which has no elements
//! bits = the thread's elements whose byte is not 0; count = the sum of its bytes
//! ```
//!
//! So the loop over the elements tests one bit for each, as it does for runs of keys, whose bits come from memory. A search in
//! the offsets by every thread would take up to a dozen loads that depend on each other.

use cuda_std::{
    Plain, bf16, block, f16, misc::dp4a_u32, prelude::*, shared::DynamicShared, unrolled,
    view::Wide,
};

use super::join::{Part, Tiles, join, nothing};
use crate::{
    block::is_last,
    reduce::{Max, Min, Product, Sum},
    segments::{Cuts, Segmented, policy::*, with_operators},
};

/// Writes to `output` the reduction of every segment that ends in a tile, but for the first that ends there; and for each tile
/// what [`segments_join`](super::segments_join) takes. If `ticket` has an element, the last block does the work of that kernel
/// too.
///
/// `cuts` says where segments begin and where the last one ends: offsets of `per_cut` words, or for 0 a bit for each element
/// (see [`Cuts`]). Segment `s` ends at cut `s + 1`. Where several cuts are at one element, the segments between them have no
/// elements.
///
/// Launch: a block of 256 threads for each [`tile_len`] elements from element `first` on, with a last one that has the last cut
/// or the end of the array; dynamic shared memory of [`shared_bytes`]. Reads every element once and every cut twice.
///
/// Determinism: the order depends on the cuts and on `first` alone.
///
/// # Safety
/// The cuts do not fall, lie in the input or at its end, and at most [`MOST_EQUAL`] are equal. For offsets, `starts` is empty,
/// or as [`segments_starts`](super::segments_starts) writes it, with an element more than there are blocks. For bits, `first`
/// is 0, and `starts[g]` says how many cuts lie before element `g * KEY_GROUP`. `firsts`, `rests` and `ends` have an element
/// per block, `output` has one per segment; nothing overlaps. `ticket` is empty, or its element is 0, and there are at most
/// [`MOST_IN_ONE_LAUNCH`] blocks; the kernel leaves it 0.
#[kernel(
    launch_bounds(BLOCK as u32, resident(size_of::<R::In>())),
    instances = with_operators
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn segments_best<R: Segmented>(
    input: Global<R::In>,
    cuts: Global<u32>,
    per_cut: u32,
    first: usize,
    starts: Global<u64>,
    firsts: GlobalMut<R::Acc>,
    rests: GlobalMut<R::Acc>,
    ends: GlobalMut<u64>,
    ticket: GlobalMut<u32>,
    output: GlobalMut<R::Out>,
) {
    let tiles = Tiles::<R> {
        firsts,
        rests,
        ends,
    };
    let tile = thread::block_idx_x() as usize;
    let begin = first + tile * const { tile_len(size_of::<R::In>()) };
    reduce_tile(
        input,
        Cuts::new(cuts, per_cut),
        begin,
        starts,
        tiles,
        output,
    );
    if !ticket.is_empty() && is_last(ticket, 0, thread::grid_dim_x()) {
        let mut first = 0;
        while first < ends.len() {
            join(tiles, first, output);
            thread::sync_threads();
            first += BLOCK;
        }
    }
}

/// Reduces the tile of this block, whose first element is `begin`.
#[inline(always)]
#[track_caller]
fn reduce_tile<R: Segmented>(
    input: Global<R::In>,
    cuts: Cuts,
    begin: usize,
    starts: Global<u64>,
    tiles: Tiles<R>,
    output: GlobalMut<R::Out>,
) {
    let len = const { tile_len(size_of::<R::In>()) };
    let items = const { items(size_of::<R::In>()) };
    let chunks = const { chunks(size_of::<R::In>()) };
    let lanes = Wide::<R::In>::LEN;
    let scan = shared![Part<R::Acc>; block::scan_len(BLOCK)];
    // SAFETY: the only one in the kernel; the launch gives `shared_bytes`.
    let mut memory = unsafe { DynamicShared::new() };
    let elements = memory.carve::<R::In>(len);
    let flags = memory.carve::<u32>(len / 4);
    let tile = thread::block_idx_x() as usize;
    let tid = thread::thread_idx_x() as usize;

    let (before, bits, count);
    if cuts.are_bits() {
        before = starts.get(begin / KEY_GROUP) as usize;
        copy(input, elements, begin);
        bits = cuts.bits(begin + tid * items, items, input.len());
        count = bits[0].count_ones() + bits[1].count_ones();
        thread::sync_threads();
    } else {
        let [from, to] = cuts_of_tile(cuts, starts, begin, len);
        before = from;
        copy(input, elements, begin);
        if from == to {
            (bits, count) = ([0; 2], 0);
            thread::sync_threads();
        } else {
            (bits, count) = bits_of::<R>(cuts, [from, to], begin, flags, output);
        }
    }
    // Whether several cuts are at one of this thread's elements.
    let equal = count != bits[0].count_ones() + bits[1].count_ones();
    // SAFETY: any byte is a `u8`.
    let bytes = unsafe { flags.cast::<u8>() };
    let cuts_at = |i: usize| {
        if equal {
            bytes.get(tid * items + i).into()
        } else {
            1
        }
    };

    let chunk = |c: usize| elements.get_wide(slot(tid * chunks + c) * lanes);
    // The bits of a chunk lie in one word.
    let of_chunk = |bits: [u32; 2], c: usize| bits[c * lanes / 32] >> (c * lanes % 32);
    let mut own = Part {
        acc: R::IDENTITY,
        cuts: count,
    };
    unrolled!(c < chunks => {
        let cuts = of_chunk(bits, c);
        own.acc = chunk(c).fold(own.acc, |acc, value, k| {
            let (value, is_cut) = (R::load(value, 0), cuts >> k & 1 != 0);
            if is_cut { value } else { R::combine(acc, value) }
        });
    });
    let (part, all) = block::exclusive_scan::<_, BLOCK>(own, nothing::<R>(), scan, Part::then::<R>);
    // The cuts of the tile up to the last one that has no result yet.
    let mut passed = part.cuts;
    if own.cuts > 0 && part.cuts == 0 {
        // The first cut of the tile: the segment may have begun in a tile before.
        let (mut acc, mut i) = (part.acc, 0);
        let first = first_of(bits);
        while i < first {
            let place = slot(tid * chunks + i / lanes) * lanes + i % lanes;
            acc = R::combine(acc, R::load(elements.get(place), 0));
            i += 1;
        }
        tiles.firsts.set(tile, acc);
        passed = cuts_at(first);
    }
    if tid == 0 {
        tiles.set(tile, all, before.checked_sub(1));
    }

    if all.cuts == 0 {
        return;
    }
    // The compiler does not know that these are the same bits. It would keep the result of each test until here.
    let bits = bits.map(|word| warp::shuffle(warp::FULL_MASK, word, warp::lane_id()));
    // A segment that ends at the first cut of the tile has no result yet.
    let ends = if part.cuts == 0 {
        without_first(bits)
    } else {
        bits
    };
    let mut acc = part.acc;
    // Places of 32 bits from there on take fewer instructions.
    let to = output.skip(before + passed.max(1) as usize - 1);
    let mut segment = 0_u32;
    unrolled!(c < chunks => {
        let (cuts, ends) = (of_chunk(bits, c), of_chunk(ends, c));
        acc = chunk(c).fold(acc, |acc, value, k| {
            if ends >> k & 1 != 0 {
                to.set(segment as usize, R::finish(acc));
                segment += cuts_at(c * lanes + k);
            }
            let (value, is_cut) = (R::load(value, 0), cuts >> k & 1 != 0);
            if is_cut { value } else { R::combine(acc, value) }
        });
    });
    // What is open behind the last element is in `all`.
    let _ = acc;
}

/// Returns the place of the lowest bit that is set, of which there is one.
#[inline(always)]
fn first_of([low, high]: [u32; 2]) -> usize {
    let first = if low != 0 {
        low.trailing_zeros()
    } else {
        32 + high.trailing_zeros()
    };
    first as usize
}

/// Returns the bits without the lowest one that is set.
#[inline(always)]
fn without_first([low, high]: [u32; 2]) -> [u32; 2] {
    if low != 0 {
        [low & (low - 1), high]
    } else {
        [0, high & high.wrapping_sub(1)]
    }
}

/// Returns the first cut of the tile from element `begin` on, and the one behind its last.
#[inline(always)]
#[track_caller]
fn cuts_of_tile(cuts: Cuts, starts: Global<u64>, begin: usize, len: usize) -> [usize; 2] {
    let tile = thread::block_idx_x() as usize;
    if !starts.is_empty() {
        return [starts.get(tile) as usize, starts.get(tile + 1) as usize];
    }
    let found = shared![u64; 2];
    let warp = thread::thread_idx_x() as usize / 32;
    if warp < 2 {
        let before = cuts.before(begin + warp * len);
        if warp::lane_id() == 0 {
            found.set(warp, before as u64);
        }
    }
    thread::sync_threads();
    [found.get(0) as usize, found.get(1) as usize]
}

/// Returns which of this thread's elements are cuts, and the number of cuts there: of those from `from` up to `to`, in the tile
/// whose first element is `begin`. `flags` has a byte for each element, which gets the number of its cuts. The last of two
/// barriers comes behind all writes to shared memory. Writes the results of the segments between equal cuts.
#[inline(always)]
#[track_caller]
fn bits_of<R: Segmented>(
    cuts: Cuts,
    [from, to]: [usize; 2],
    begin: usize,
    flags: Shared<u32>,
    output: GlobalMut<R::Out>,
) -> ([u32; 2], u32) {
    let items = const { items(size_of::<R::In>()) };
    let tid = thread::thread_idx_x() as usize;
    let first = tid * items / 4;
    unrolled!(w < 16 of 16 => {
        if 4 * w < items {
            flags.set(first + w, 0);
        }
    });
    let mut j = from + tid;
    // The first load is under way while the block comes together.
    let pair = |j: usize| {
        if j < to {
            [
                if j > from {
                    cuts.get(j - 1)
                } else {
                    usize::MAX
                },
                cuts.get(j),
            ]
        } else {
            [0; 2]
        }
    };
    let mut last = pair(j);
    thread::sync_threads();
    while j < to {
        let [before, cut] = last;
        let at = cut - begin;
        flags.atomic_add(at / 4, 1 << (at % 4 * 8));
        if before == cut {
            output.set(j - 1, R::finish(R::IDENTITY));
        }
        j += BLOCK;
        last = pair(j);
    }
    thread::sync_threads();
    let (mut bits, mut count) = ([0; 2], 0);
    unrolled!(w < 16 of 16 => {
        if 4 * w < items {
            let four = flags.get(first + w);
            count = dp4a_u32(four, 0x0101_0101, count);
            // The highest bit of each byte that is not 0. They come together in the highest byte.
            let any = (((four & 0x7f7f_7f7f) + 0x7f7f_7f7f) | four) & 0x8080_8080;
            bits[w / 8] |= ((any >> 7).wrapping_mul(0x0102_0408) >> 24) << (4 * (w % 8));
        }
    });
    (bits, count)
}

/// Copies the elements of the tile from element `begin` on to shared memory, with zeros past the end of the array.
#[inline(always)]
#[track_caller]
fn copy<T: Plain>(input: Global<T>, elements: Shared<T>, begin: usize) {
    let (size, lanes) = (const { size_of::<T>() }, Wide::<T>::LEN);
    let len = const { tile_len(size_of::<T>()) };
    let chunks = const { chunks(size_of::<T>()) };
    let tid = thread::thread_idx_x() as usize;
    let is_aligned = (input.as_ptr().addr() + begin * size).is_multiple_of(16);
    if is_aligned && begin + len <= input.len() {
        let load = |r: usize| input.get_wide_streaming(begin + (r * BLOCK + tid) * lanes);
        let mut loaded = [load(0); MOST_CHUNKS];
        unrolled!(r < chunks => { loaded[r] = load(r); });
        unrolled!(r < chunks => {
            elements.set_wide(slot(r * BLOCK + tid) * lanes, loaded[r]);
        });
        return;
    }
    let mut i = tid;
    while i < len {
        let value = if begin + i < input.len() {
            input.get(begin + i)
        } else {
            // SAFETY: any bytes are a `T`.
            unsafe { core::mem::zeroed() }
        };
        elements.set(slot(i / lanes) * lanes + i % lanes, value);
        i += BLOCK;
    }
}

/// Returns the place of a chunk in shared memory: eight neighboring threads, each with a chunk of its own four or eight
/// neighboring ones, find them in different banks.
#[inline(always)]
const fn slot(chunk: usize) -> usize {
    chunk ^ (chunk >> 3 & 7)
}
