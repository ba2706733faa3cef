//! `best` for large inputs: as many blocks as are resident, each with a ring of tiles in shared memory.
//!
//! ```text
//! block:
//!     take a ticket for each slot of the ring, and start to copy those tiles to shared memory   (cp.async)
//!     publish the totals of the first `ahead` tiles
//!     for each tile of this block, in order:
//!         take a ticket
//!         load the statuses of the tiles since the last one of this block
//!         publish the total of the tile that is `ahead` tiles further on in the ring
//!         before += the totals of the tiles since the last one, in batches of a fixed size
//!         write before + the tile's own prefixes
//!         start to copy the tile of the ticket to the slot that is free
//! ```
//!
//! A tile's total is published while its block still works on earlier tiles, so that a wait for totals rarely finds one
//! missing. Every block adds all totals itself; nobody publishes a prefix, which others would wait for one after the other. The
//! limit is the memory: the totals of 2^28 elements of 4 bytes are 256 KiB, which stay in the L2 cache.
//!
//! A scan of segments is the same loop: its totals have a flag, and the bits that say where segments begin are copied to the
//! ring beside each tile.

use core::marker::PhantomData;

use cuda_std::{
    async_copy, bf16, f16,
    prelude::*,
    ring::Ring,
    scan::{Open, Scan, Segmented, Start, pieces::*},
    shared::DynamicShared,
    unrolled,
};

use super::{
    instances::with_scans,
    ops::*,
    policy::{CHUNKS, Policy, SEGMENTED_CHUNKS},
};
use crate::{
    reduce::{Max, Min},
    tuning::{Numbers, Tuned, numbers, shipped},
};

/// The most slots of a ring.
const MOST_SLOTS: usize = 4;

/// Scans the elements like [`scan_best`](super::scan_best), with blocks that take one tile after the other.
///
/// Launch: any number of blocks of [`Policy::threads`] threads, as many as are resident; dynamic shared memory of
/// [`Policy::ring_bytes`], static shared memory of 129 accumulators. Reads and writes every element once, and reads the status
/// of every tile once in every block.
///
/// Determinism: the same input gives the same bits as [`scan_best`](super::scan_best), on every device and for every grid.
///
/// # Safety
/// `output` has as many elements as `input`, and is either the same array or does not overlap it. Both start at a multiple of
/// 16 bytes. `control` has one element, and `statuses` has a word for each 4 bytes of an accumulator and each tile; all are 0
/// before the first launch. Launches that may run at the same time do not share them.
///
/// Source: ours; the idea that every block adds up the tiles since its last one is that of CUB's `lookahead` scan.
#[kernel(
    launch_bounds(
        numbers::<Policy, R::In>(ROW).threads as u32,
        numbers::<Policy, R::In>(ROW).resident[1]
    ),
    dynamic_shared(numbers::<Policy, R::In>(ROW).ring_bytes()),
    instances = with_scans,
    tuned(sum_u8: 0..9, sum_f32: 0..9, sum_f64: 0..9)
)]
pub unsafe fn scan_best_persistent<R: Scan, const ROW: usize>(
    input: Global<R::In>,
    output: GlobalMut<R::In>,
    control: GlobalMut<u64>,
    statuses: GlobalMut<u64>,
    start: Start,
) {
    told_ahead::<R, Numbers<R::In, ROW>, _, CHUNKS>(input, output, control, statuses, |_| {
        Whole::new(start)
    });
}

/// Scans segments like [`scan_segmented`](super::scan_segmented), with blocks that take one tile after the other.
///
/// Launch: as for [`scan_best_persistent`], with dynamic shared memory of [`Policy::segmented_ring_bytes`] and static shared
/// memory of 129 accumulators with a flag each. Reads every bit once besides.
///
/// Determinism: the same input gives the same bits as [`scan_segmented`](super::scan_segmented), on every device and for every
/// grid.
///
/// # Safety
/// The contract of [`scan_best_persistent`] must hold. `heads` has a bit for each element and starts at a multiple of 16 bytes.
#[kernel(
    launch_bounds(
        shipped::<Policy, R::In>().of_segments().threads as u32,
        shipped::<Policy, R::In>().of_segments().resident[1]
    ),
    dynamic_shared(shipped::<Policy, R::In>().of_segments().segmented_ring_bytes(size_of::<R::In>())),
    instances = with_scans
)]
pub unsafe fn scan_segmented_persistent<R: Scan>(
    input: Global<R::In>,
    output: GlobalMut<R::In>,
    heads: Global<u32>,
    control: GlobalMut<u64>,
    statuses: GlobalMut<u64>,
    start: Start,
) {
    let (slots, warps) = const {
        let row = shipped::<Policy, R::In>().of_segments();
        (row.slots, row.threads / 32)
    };
    told_ahead::<Segmented<R>, OfSegments<R::In>, _, SEGMENTED_CHUNKS>(
        input,
        output,
        control,
        statuses,
        |memory| Marks::<R> {
            ring: memory.carve(slots * warps * Marks::<R>::WORDS),
            heads,
            warps,
            start,
            scan: PhantomData,
        },
    );
}

/// The [numbers of the kernels for segments](Policy::of_segments).
struct OfSegments<T>(PhantomData<T>);

impl<T: 'static> Tuned<Policy> for OfSegments<T> {
    const POLICY: Policy = shipped::<Policy, T>().of_segments();
}

/// What says how the tiles of a ring are scanned.
trait Beside<R: Scan>: Copy {
    /// Whether lanes read what other lanes of their warp copied.
    const SHARED: bool;
    /// What scans a tile.
    type Rows: Rows<R>;

    /// Returns the prefix before the first element of all.
    fn initial(self) -> R::Acc;

    /// Starts to copy what belongs to tile `tile` to a slot, in the next group of copies.
    fn copy(self, slot: usize, tile: usize);

    /// Returns what scans the tile of a slot, whose copies are done.
    fn rows(self, slot: usize) -> Self::Rows;
}

impl<R: Scan> Beside<R> for Whole {
    const SHARED: bool = false;
    type Rows = Self;

    #[inline(always)]
    fn initial(self) -> R::Acc {
        Rows::<R>::initial(&self)
    }

    #[inline(always)]
    fn copy(self, _: usize, _: usize) {}

    #[inline(always)]
    fn rows(self, _: usize) -> Self {
        self
    }
}

/// The bits of the tiles of a ring. A slot has those of a warp's elements together.
struct Marks<R> {
    ring: Shared<u32>,
    heads: Global<u32>,
    warps: usize,
    start: Start,
    scan: PhantomData<R>,
}

impl<R> Clone for Marks<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Marks<R> {}

impl<R: Scan> Marks<R> {
    /// The elements of a chunk, and the words of bits of a row.
    const LEN: usize = 16 / size_of::<R::In>();
    /// The words of a warp's bits of a tile.
    const WORDS: usize = SEGMENTED_CHUNKS * Self::LEN;
    /// The words that a lane copies.
    const OWN: usize = Self::WORDS.div_ceil(32).next_power_of_two();

    /// Returns the first word of the warp's bits of a tile, in the whole array or in the ring.
    #[inline(always)]
    fn first(self, tile: usize) -> usize {
        (tile * self.warps + thread::thread_idx_x() as usize / 32) * Self::WORDS
    }
}

impl<R: Scan> Beside<Segmented<R>> for Marks<R> {
    const SHARED: bool = true;
    type Rows = Heads<R::Acc, SEGMENTED_CHUNKS>;

    #[inline(always)]
    fn initial(self) -> Open<R::Acc> {
        Open::new(self.start.initial(R::IDENTITY), false)
    }

    #[inline(always)]
    #[track_caller]
    fn copy(self, slot: usize, tile: usize) {
        let own = thread::thread_idx_x() as usize % 32 * Self::OWN;
        if own >= Self::WORDS {
            return;
        }
        let (to, from) = (self.first(slot) + own, self.first(tile) + own);
        let count = self.heads.len().saturating_sub(from).min(Self::OWN);
        let (ring, from) = (self.ring, if count == 0 { 0 } else { from });
        match Self::OWN {
            1 => ring.copy_async_chunk_or_zeros::<1>(to, self.heads, from, count),
            2 => ring.copy_async_chunk_or_zeros::<2>(to, self.heads, from, count),
            _ => ring.copy_async_chunk_or_zeros::<4>(to, self.heads, from, count),
        }
    }

    #[inline(always)]
    #[track_caller]
    fn rows(self, slot: usize) -> Heads<R::Acc, SEGMENTED_CHUNKS> {
        let lane = thread::thread_idx_x() as usize % 32;
        let first = self.first(slot) + lane * Self::LEN / 32;
        let mut bits = [0; SEGMENTED_CHUNKS];
        unrolled!(r < SEGMENTED_CHUNKS => {
            bits[r] = self.ring.get(first + r * Self::LEN) >> (lane * Self::LEN % 32);
        });
        Heads::new(bits, self.start, R::IDENTITY)
    }
}

/// Waits until the first `count` of the `slots` copies under way are done.
#[inline(always)]
#[track_caller]
fn wait_for(slots: usize, count: usize) {
    match slots - count {
        0 => async_copy::wait_group::<0>(),
        1 => async_copy::wait_group::<1>(),
        2 => async_copy::wait_group::<2>(),
        _ => async_copy::wait_group::<3>(),
    }
}

/// The body of the kernels, with the values of the policy row `N`. `beside` takes its shared memory behind the ring.
#[inline(always)]
#[track_caller]
fn told_ahead<R: Scan, N: Tuned<Policy>, B: Beside<R>, const ROWS: usize>(
    input: Global<R::In>,
    output: GlobalMut<R::In>,
    control: GlobalMut<u64>,
    statuses: GlobalMut<u64>,
    beside: impl FnOnce(&mut DynamicShared) -> B,
) {
    let threads = const { N::POLICY.threads };
    let windows = const { N::POLICY.windows };
    let slots = const {
        assert!(1 < N::POLICY.slots && N::POLICY.slots <= MOST_SLOTS);
        N::POLICY.slots
    };
    // The tiles that are published before the prefix of the first of them is needed.
    let ahead = slots - 1;
    // Whether results are computed after the next copy has started. For narrow elements the registers do not suffice.
    let is_late = const { size_of::<R::In>() > 2 };
    // The warps' totals of the tiles that are published and not yet written, 32 for each; then the tile's prefix.
    let totals = shared![R::Acc; 32 * MOST_SLOTS + 1];
    let prefix_at = 32 * MOST_SLOTS;
    let tickets = shared![u64; 2];
    let warps = threads / 32;
    let len = tile_len::<R::In>(threads, ROWS);
    // SAFETY: the launch gives as much, and nothing else uses it.
    let mut memory = unsafe { DynamicShared::new() };
    // SAFETY: the input starts at a multiple of 16 bytes.
    let ring = unsafe { Ring::<R::In, ROWS>::new(input, threads, slots, &mut memory) };
    let beside = beside(&mut memory);
    let tid = thread::thread_idx_x() as usize;
    let (lane, warp) = (tid % 32, tid / 32);
    let tiles = input.len().div_ceil(len);
    let all_tickets = tiles + thread::grid_dim_x() as usize * slots;

    let chunk_totals = |slot: usize| {
        let (rows, mut totals) = (beside.rows(slot), [R::IDENTITY; ROWS]);
        unrolled!(r < ROWS => { totals[r] = rows.total(r, ring.chunk(slot, r)); });
        totals
    };
    let copy = |slot: usize, tile: usize| {
        beside.copy(slot, tile);
        ring.copy(slot, tile);
    };
    let lanes_agree = || {
        if B::SHARED {
            // SAFETY: all lanes of a warp get here together.
            unsafe { warp::sync_warp(warp::FULL_MASK) };
        }
    };

    if tid == 0 {
        tickets.set(1, take_tickets(control, slots, all_tickets));
    }
    thread::sync_threads();
    let ticket = tickets.get(1);
    let statuses = Statuses::<R>::new(statuses, Statuses::<R>::WORDS, tag_of(ticket));
    // The tiles of the slots, from the one that is worked on.
    let mut queue = [0; MOST_SLOTS];
    unrolled!(s < slots of 4 => { queue[s] = ticket as u32 + s as u32; });
    let first = ticket as u32 as usize;
    let mut s = 0;
    while s < slots {
        copy(s, first + s);
        s += 1;
    }
    wait_for(slots, ahead);
    lanes_agree();
    let mut s = 0;
    while s < ahead && first + s < tiles {
        let total = R::rows_total(ROWS, chunk_totals(s));
        if lane == 0 {
            totals.set(32 * s + warp, total);
        }
        thread::sync_threads();
        if warp == 0 {
            let total = total_of_first::<R>(totals, 32 * s, warps);
            if lane == 0 {
                statuses.publish(first + s, 0, total);
            }
        }
        s += 1;
    }
    let mut prefix = Prefix::new(beside.initial());
    let mut slot = 0;
    // The place of the tile's warps in `totals`; `ahead + 1` places are in use.
    let mut place = 0;
    while (queue[0] as usize) < tiles {
        let tile = queue[0] as usize;
        let next = queue[ahead] as usize;
        let next_slot = if slot + ahead >= slots {
            slot + ahead - slots
        } else {
            slot + ahead
        };
        let next_place = if place == 0 { 32 * ahead } else { place - 32 };
        let ticket = if tid == 0 {
            take_tickets(control, 1, all_tickets)
        } else {
            0
        };
        let trip = if warp == 0 {
            Some(prefix.begin::<R>(windows, statuses, tile))
        } else {
            None
        };
        wait_for(slots, ahead + 1);
        lanes_agree();
        if next < tiles {
            let total = R::rows_total(ROWS, chunk_totals(next_slot));
            if lane == 0 {
                totals.set(next_place + warp, total);
            }
        }
        thread::sync_threads();
        if let Some(trip) = trip {
            if next < tiles {
                let total = total_of_first::<R>(totals, next_place, warps);
                if lane == 0 {
                    statuses.publish(next, 0, total);
                }
            }
            let before = prefix.finish::<R>(windows, trip, statuses, tile);
            if lane == 0 {
                totals.set(prefix_at, before);
                tickets.set(1, ticket);
            }
        }
        let before = total_of_first::<R>(totals, place, warp);
        let at = chunk_prefixes::<R, ROWS>(before, chunk_totals(slot));
        thread::sync_threads();
        // The chunks are read again behind the barrier: they would take registers until here.
        let mut chunks = [[0; 4]; ROWS];
        let (rows, before) = (beside.rows(slot), totals.get(prefix_at));
        let result = |r, chunk, at| rows.scan(r, chunk, R::combine(before, at));
        unrolled!(r < ROWS => {
            let chunk = ring.chunk(slot, r);
            chunks[r] = if is_late { chunk } else { result(r, chunk, at[r]) };
        });
        lanes_agree();
        unrolled!(s < slots of 4 => { if s + 1 < slots { queue[s] = queue[(s + 1) % MOST_SLOTS]; } });
        queue[slots - 1] = tickets.get(1) as u32;
        copy(slot, queue[slots - 1] as usize);
        if is_late {
            unrolled!(r < ROWS => { chunks[r] = result(r, chunks[r], at[r]); });
        }
        let tile = Tile::<R, ROWS> {
            input,
            output,
            first: tile * len,
            len,
            aligned: true,
            streaming: false,
        };
        tile.store(chunks);
        slot = if slot + 1 == slots { 0 } else { slot + 1 };
        place = if place == 32 * ahead { 0 } else { place + 32 };
    }
    async_copy::wait_all();
}
