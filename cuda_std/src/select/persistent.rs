//! Selection with as many blocks as are resident, each with a ring of tiles in shared memory.
//!
//! ```text
//! block:
//!     take a ticket, start to copy that tile to shared memory
//!     for each tile of this block, in order; before the first, `ahead` rounds without a tile to write:
//!         start to load the counts of the tiles since the last one of this block
//!         wait for the copy of the tile that is `ahead` tiles further on, and count its selected elements
//!         start to copy the tile of the next ticket to the slot of the tile before
//!         publish that count; move those selected elements to the front of their slot
//!         before += the counts of the tiles since the last one
//!         write the tile's selected elements, which are at the front of its slot since `ahead` tiles
//! ```
//!
//! A tile's count is published while its block still works on earlier tiles, so that a wait for counts rarely finds one
//! missing, and a copy is under way all the time. Every block adds all counts itself; nobody publishes a prefix, which others
//! would wait for one after the other.

use core::{marker::PhantomData, sync::atomic::Ordering::Relaxed};

use super::{
    Arguments, Predicate, is_in_place,
    tile::{Tile, compacted, ranked},
    tile_len, write_out,
};
use crate::{
    Global, GlobalMut, Shared, async_copy,
    atomic::{Backoff, Scope},
    map::{First, Passed, Second},
    ring::Ring,
    scan::pieces::{tag_of, take_tickets},
    shared,
    shared::DynamicShared,
    thread, unrolled,
    view::Wide,
    warp,
};

/// The most slots of a ring.
const MOST_SLOTS: usize = 4;
/// The counts that a thread loads at once.
const READS: usize = 2;

/// The counts of tiles. A word has the count in its low half, and above it the tag of the launch: nothing is cleared between
/// launches, and relaxed accesses suffice.
#[derive(Clone, Copy)]
struct Counts {
    words: GlobalMut<u64>,
    tag: u64,
}

impl Counts {
    #[inline(always)]
    #[track_caller]
    fn publish(self, tile: usize, count: u32) {
        let word = self.tag << 32 | u64::from(count);
        self.words.atomic_store(tile, word, Relaxed, Scope::Device);
    }

    /// Starts to load the counts of this thread among those from `from` on and before `to`.
    #[inline(always)]
    #[track_caller]
    fn begin<const THREADS: usize>(self, from: usize, to: usize) -> [u64; READS] {
        let mut read = [self.tag << 32; READS];
        unrolled!(j < READS of 4 => {
            let i = from + j * THREADS + thread::thread_idx_x() as usize;
            if i < to {
                read[j] = self.words.atomic_load(i, Relaxed, Scope::Device);
            }
        });
        read
    }

    /// Waits for the counts that were not published yet, and returns the sum of this thread's.
    #[inline(always)]
    #[track_caller]
    fn finish<const THREADS: usize>(self, read: [u64; READS], from: usize) -> u32 {
        let mut sum = 0_u32;
        unrolled!(j < READS of 4 => {
            let mut word = read[j];
            let is_there = move |word: u64| word >> 32 == self.tag;
            if !is_there(word) {
                let i = from + j * THREADS + thread::thread_idx_x() as usize;
                let backoff = Backoff::NONE;
                word = (self.words).wait_until_with(i, Relaxed, Scope::Device, backoff, is_there);
            }
            sum += word as u32;
        });
        sum
    }
}

/// Returns the dynamic shared memory of a block of [`select_persistent`] in bytes.
pub const fn ring_bytes(threads: usize, rounds: usize, slots: usize) -> usize {
    threads * rounds * slots * 16
}

/// Writes the elements of `items` that the predicate selects to `output`, in order, and their number to `count[0]`, like
/// [`select_tiles`](super::select_tiles) in the mode [`SELECT`](super::SELECT).
///
/// Launch: any number of blocks of `THREADS` threads (a multiple of 32 up to 1024), as many as are resident, and
/// [`ring_bytes`]. `ROUNDS` is from 1 to 8, `SLOTS` 3 or 4: a block publishes the count of a tile `SLOTS - 2` tiles before
/// it needs the prefix. Reads every element once, writes every selected element once, and reads the count of every tile once in
/// every block.
///
/// # Contract
/// `items` starts at a multiple of 16 bytes and has 1 to 2^32 - 1 elements; `second` is as long if the predicate takes two
/// arrays. `control` has one element, and `statuses` has one for each tile of [`tile_len`]; all are 0 before the first launch,
/// and launches in order may use them again, with the same number of tiles and blocks. `output` has room for the selected
/// elements, and does not overlap the inputs, or is `items` itself.
#[inline(always)]
#[track_caller]
#[allow(clippy::too_many_arguments)]
pub fn select_persistent<
    F: Predicate,
    A: Arguments<F>,
    const THREADS: usize,
    const ROUNDS: usize,
    const SLOTS: usize,
>(
    predicate: Passed<F>,
    items: Global<First<F>>,
    second: Global<Second<F>>,
    control: GlobalMut<u64>,
    statuses: GlobalMut<u64>,
    output: GlobalMut<First<F>>,
    count: GlobalMut<u64>,
) {
    const {
        assert!(THREADS.is_multiple_of(32) && THREADS <= 1024 && ROUNDS >= 1 && ROUNDS <= 8);
        assert!(SLOTS >= 3 && SLOTS <= MOST_SLOTS);
    }
    // The tiles that are counted before the prefix of the first of them is needed.
    let ahead = const { SLOTS - 2 };
    let totals = shared![u32; 32];
    // The warps' sums of the counts of tiles before.
    let sums_before = shared![u32; 32];
    // The ticket of a round, and that of the launch.
    let tickets = shared![u64; 2];
    // SAFETY: the only one in the kernel; the launch gives `ring_bytes`. By the contract the items are aligned.
    let ring = unsafe { Ring::<_, ROUNDS>::new(items, THREADS, SLOTS, &mut DynamicShared::new()) };
    let tid = thread::thread_idx_x() as usize;
    let (lane, warp) = (tid % 32, tid / 32);
    let len = tile_len::<First<F>>(THREADS, ROUNDS);
    let tiles = items.len().div_ceil(len);
    // A block takes two tickets at first and one in each round: `ahead` more than it has tiles.
    let all_tickets = tiles + thread::grid_dim_x() as usize * SLOTS;
    let is_in_place = is_in_place(items, output);

    // Returns the sum of the warps' numbers before this warp, and of all.
    let sums = |numbers: Shared<u32>| {
        let (mut below, mut all) = (0, 0);
        let mut w = 0;
        while w < THREADS / 32 {
            let number = numbers.get(w);
            if w < warp {
                below += number;
            }
            all += number;
            w += 1;
        }
        (below, all)
    };

    if tid == 0 {
        tickets.set(1, take_tickets(control, 2, all_tickets));
    }
    thread::sync_threads();
    let ticket = tickets.get(1);
    let counts = Counts {
        words: statuses,
        tag: tag_of(ticket).into(),
    };
    // The tiles of the slots from the one that is written on, and the selected elements of those that are counted. The first
    // `ahead` rounds write nothing.
    let mut queue = [0; MOST_SLOTS];
    let mut selected = [0; MOST_SLOTS];
    queue[ahead] = ticket as u32;
    ring.copy(ahead, ticket as u32 as usize);
    // The next tile, known to the first thread.
    let mut pending = ticket as u32 + 1;
    let mut rounds_before = ahead;
    // The selected elements of the first `added` tiles.
    let (mut added, mut before) = (0, 0);
    let mut slot = 0;
    while rounds_before > 0 || (queue[0] as usize) < tiles {
        let tile = queue[0] as usize;
        let next = queue[ahead] as usize;
        let next_slot = if slot + ahead >= SLOTS {
            slot + ahead - SLOTS
        } else {
            slot + ahead
        };
        let free_slot = if slot == 0 { SLOTS - 1 } else { slot - 1 };
        if tid == 0 {
            tickets.set(0, pending.into());
            pending = take_tickets(control, 1, all_tickets) as u32;
        }
        let read = counts.begin::<THREADS>(added, tile);
        async_copy::wait_all();
        let (mut loaded, mut masks, mut starts) = ([Wide::ZERO; ROUNDS], [0; ROUNDS], [0; ROUNDS]);
        if next < tiles {
            let tile = Tile::<F, A, THREADS> {
                predicate,
                items,
                second,
                shift: 0,
                first: next * len,
                arguments: PhantomData,
            };
            (loaded, masks) = tile.examine(ring, next_slot, next);
            starts = ranked::<First<F>, ROUNDS>(&masks, totals);
        }
        thread::sync_threads();
        // All threads have written what the slot before held.
        let new = tickets.get(0) as u32;
        ring.copy(free_slot, new as usize);
        let mut all = 0;
        if next < tiles {
            let below;
            (below, all) = sums(totals);
            if tid == 0 {
                if is_in_place {
                    thread::device_fence();
                }
                counts.publish(next, all);
            }
            // All threads have read their elements of the slot.
            compacted(&loaded, &masks, &starts, below, ring.slot(next_slot));
        }
        let mut sum = counts.finish::<THREADS>(read, added);
        added += READS * THREADS;
        while added < tile {
            let read = counts.begin::<THREADS>(added, tile);
            sum += counts.finish::<THREADS>(read, added);
            added += READS * THREADS;
        }
        added = tile;
        if is_in_place {
            thread::device_fence();
        }
        let sum = warp::reduce(sum, |a, b| a + b);
        if lane == 0 {
            sums_before.set(warp, sum);
        }
        thread::sync_threads();
        before += sums(sums_before).1 as usize;
        let own = selected[0] as usize;
        // A tile of `len` elements: a shorter last one has no next.
        if !(is_in_place && before == tile * len && own == len) {
            write_out::<_, THREADS>(ring.slot(slot), output, before, own);
        }
        if rounds_before > 0 {
            rounds_before -= 1;
        } else if tile + 1 == tiles && tid == 0 {
            count.set(0, before as u64 + u64::from(selected[0]));
        }
        selected[ahead] = all;
        queue[SLOTS - 1] = new;
        unrolled!(s < SLOTS of 4 => {
            if s + 1 < SLOTS {
                queue[s] = queue[(s + 1) % MOST_SLOTS];
                selected[s] = selected[(s + 1) % MOST_SLOTS];
            }
        });
        slot = if slot + 1 == SLOTS { 0 } else { slot + 1 };
    }
    async_copy::wait_all();
}
