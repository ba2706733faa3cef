//! What the blocks of a launch tell each other: the totals of their tiles.
//!
//! A status is a 64-bit word for each 32-bit word of a total: the total's word, and above it a tag. A word with the tag of this
//! launch holds a total of this launch, so that relaxed accesses suffice, and nothing is cleared between launches. The tag
//! comes from the epoch, which the launch's last ticket raises.

use core::{marker::PhantomData, sync::atomic::Ordering::Relaxed};

use crate::{
    GlobalMut,
    atomic::{Backoff, Scope},
    shared, thread, unrolled,
    warp::{self, FULL_MASK, Shuffle},
};

use super::{
    Scan,
    start::{MOST_WORDS, from_words},
};

/// The most windows of a batch.
const MOST_WINDOWS: usize = 8;

/// Takes `count` tickets of the `all` of a launch: the word holds the first of them, and the epoch in its upper half. The last
/// one makes the counter ready for the next launch. `control` has one element, which is 0 before the first launch.
#[inline(always)]
#[track_caller]
pub fn take_tickets(control: GlobalMut<u64>, count: usize, all: usize) -> u64 {
    let word = control.atomic_add(0, count as u64);
    if word as u32 as usize + count == all {
        // No block takes a ticket of this launch any more.
        let next = (word >> 32).wrapping_add(1) << 32;
        control.atomic_store(0, next, Relaxed, Scope::Device);
    }
    word
}

/// Returns a ticket of a launch of `tiles` blocks for this block. The whole block must call it.
#[inline(always)]
#[track_caller]
pub fn take_ticket(control: GlobalMut<u64>, tiles: usize) -> u64 {
    if tiles == 1 {
        return 0;
    }
    let ticket = shared![u64; 2];
    if thread::thread_idx_x() == 0 {
        ticket.set(1, take_tickets(control, 1, tiles));
    }
    thread::sync_threads();
    ticket.get(1)
}

/// Returns the tag of a launch: never 0 in the first one, whose statuses are 0.
#[inline(always)]
pub fn tag_of(ticket: u64) -> u32 {
    ((ticket >> 32) as u32).wrapping_add(1) << 1
}

/// Statuses with the tag of this launch.
pub struct Statuses<R> {
    words: GlobalMut<u64>,
    /// The number of words from one status to the next.
    stride: usize,
    tag: u32,
    scan: PhantomData<R>,
}

impl<R> Clone for Statuses<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Statuses<R> {}

/// The words of the statuses that a lane reads: one in each window.
pub type Read = [[u64; MOST_WORDS]; MOST_WINDOWS];

impl<R: Scan> Statuses<R> {
    /// The words of a status: those of a total, but for its flag.
    pub const WORDS: usize = {
        let words = <R::Acc as Shuffle>::WORDS - R::FLAGGED as usize;
        assert!(words <= MOST_WORDS, "an accumulator has at most 16 bytes");
        words
    };

    /// Makes the view of statuses that begin `stride` words from each other, for the launch with this tag.
    #[inline(always)]
    pub fn new(words: GlobalMut<u64>, stride: usize, tag: u32) -> Self {
        Self {
            words,
            stride,
            tag,
            scan: PhantomData,
        }
    }

    /// Publishes a total; by one lane. The lowest bit of `kind` is for the reader, unless it is the total's flag.
    #[inline(always)]
    #[track_caller]
    pub fn publish(self, i: usize, mut kind: u32, total: R::Acc) {
        if R::FLAGGED {
            // The last word is the flag.
            total.map_words(&mut |word| {
                kind = word;
                word
            });
        }
        let tag = u64::from(self.tag | kind) << 32;
        let (first, mut k) = (i * self.stride, 0);
        total.map_words(&mut |word| {
            if k < Self::WORDS {
                self.words
                    .atomic_store(first + k, tag | u64::from(word), Relaxed, Scope::Device);
            }
            k += 1;
            word
        });
    }

    #[inline(always)]
    fn total(words: [u64; MOST_WORDS]) -> R::Acc {
        from_words(R::IDENTITY, |k| {
            if R::FLAGGED && k == Self::WORDS {
                (words[0] >> 32) as u32 & 1
            } else {
                words[k] as u32
            }
        })
    }

    #[inline(always)]
    #[track_caller]
    fn load(self, i: usize, k: usize) -> u64 {
        self.words
            .atomic_load(i * self.stride + k, Relaxed, Scope::Device)
    }

    /// Waits until the word `k` of status `i` has the tag, and this kind if one is given.
    #[inline(always)]
    #[track_caller]
    fn wait(self, i: usize, k: usize, kind: Option<u32>) -> u64 {
        let tag = self.tag;
        let ready = move |word: u64| match kind {
            None => (word >> 32) as u32 & !1 == tag,
            Some(kind) => (word >> 32) as u32 == tag | kind,
        };
        let at = i * self.stride + k;
        self.words
            .wait_until_with(at, Relaxed, Scope::Device, Backoff::NONE, ready)
    }

    /// Waits for status `i` and returns its kind and total. A status of kind 0 may become one of kind 1.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, i: usize) -> (u32, R::Acc) {
        let mut words = [0; MOST_WORDS];
        let mut kinds = 0;
        unrolled!(k < (Self::WORDS) of 4 => {
            words[k] = self.wait(i, k, None);
            kinds += (words[k] >> 32) as u32 & 1;
        });
        if kinds != 0 && kinds as usize != Self::WORDS {
            // The status was published again between two of the loads.
            unrolled!(k < (Self::WORDS) of 4 => { words[k] = self.wait(i, k, Some(1)); });
        }
        (u32::from(kinds != 0), Self::total(words))
    }

    /// Starts to load `count` statuses from number `from` on, in `windows` windows. The totals of the others are not used.
    #[inline(always)]
    #[track_caller]
    pub fn begin(self, windows: usize, from: usize, count: usize) -> Read {
        let lane = warp::lane_id() as usize;
        let mut read = [[0; MOST_WORDS]; MOST_WINDOWS];
        unrolled!(j < windows => {
            let i = j * 32 + lane;
            unrolled!(k < (Self::WORDS) of 4 => {
                read[j][k] = if i < count { self.load(from + i, k) } else { u64::from(self.tag) << 32 };
            });
        });
        read
    }

    /// Waits for the statuses that [`begin`](Self::begin) did not find published.
    #[inline(always)]
    #[track_caller]
    pub fn finish(self, windows: usize, read: &mut Read, from: usize) {
        let lane = warp::lane_id() as usize;
        let lacks = |word: u64| (word >> 32) as u32 & !u32::from(R::FLAGGED) != self.tag;
        let mut missing = false;
        unrolled!(j < windows => {
            unrolled!(k < (Self::WORDS) of 4 => { missing |= lacks(read[j][k]); });
        });
        if !warp::any(FULL_MASK, missing) {
            return;
        }
        // Most often all are there by now: the loads overlap.
        unrolled!(j < windows => {
            unrolled!(k < (Self::WORDS) of 4 => {
                if lacks(read[j][k]) { read[j][k] = self.load(from + j * 32 + lane, k); }
            });
        });
        unrolled!(j < windows => {
            unrolled!(k < (Self::WORDS) of 4 => {
                if lacks(read[j][k]) { read[j][k] = self.wait(from + j * 32 + lane, k, None); }
            });
        });
    }

    /// Returns the total of the first `count` statuses read, and of `own` behind them if that is the last of the batch. The
    /// order depends on `windows` alone.
    #[inline(always)]
    #[track_caller]
    pub fn sum(windows: usize, read: &Read, count: usize, own: Option<R::Acc>) -> R::Acc {
        let lane = warp::lane_id() as usize;
        let mut values = [R::IDENTITY; MOST_WINDOWS];
        unrolled!(j < windows => {
            let i = j * 32 + lane;
            values[j] = if i < count { Self::total(read[j]) } else { R::IDENTITY };
            if let Some(own) = own && i == count {
                values[j] = own;
            }
        });
        R::rows_total(windows, values)
    }
}
