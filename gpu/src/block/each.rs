//! Loops over the elements of an array.
//!
//! ```text
//! head = the elements before the first multiple of 16 bytes; tail = those behind the last whole 16 bytes
//! at = the thread's number
//! while load `at` is there:
//!     start UNROLL loads of 16 bytes, at + 0, at + threads, ..., or one if there are not so many
//!     for each: call `wide`, and note whether it marks the load
//!     for each that is marked: call `look` for its elements
//!     at += what was loaded * threads
//! call `look` for each element of head and tail that is the thread's
//! ```
//!
//! All loads are under way before the first is used: one alone would leave the memory idle while the thread waits. Marks are
//! looked at behind the loads, so that the rare case does not come between them.

use cuda_std::{Global, Plain, thread, unrolled, view::Wide};

/// Neighboring elements of an array, and the threads that share them.
#[derive(Clone, Copy)]
pub struct Share<T> {
    /// The array.
    pub input: Global<T>,
    /// The first element.
    pub first: usize,
    /// The number of elements.
    pub len: usize,
    /// This thread's number.
    pub thread: usize,
    /// The number of threads.
    pub threads: usize,
}

impl<T: Plain> Share<T> {
    /// Returns the whole array, shared by the threads of all blocks.
    #[inline(always)]
    pub fn by_all(input: Global<T>) -> Self {
        Self {
            input,
            first: 0,
            len: input.len(),
            thread: thread::index_1d_wide(),
            threads: thread::grid_stride(),
        }
    }

    /// Calls `each` with each element of this thread's share: `UNROLL` loads of 16 bytes in flight, and single elements where
    /// the ends are not aligned.
    #[inline(always)]
    #[track_caller]
    pub fn for_each<const UNROLL: usize>(self, each: impl Fn(T)) {
        self.for_each_wide::<UNROLL>(
            |_, wide| {
                wide.fold((), |(), value, _| each(value));
                false
            },
            |i, _| each(self.input.get(i)),
        );
    }

    /// Calls `wide` for the loads of 16 bytes of this thread's share, with the position of the first element, and `look` with
    /// position and number of those elements for which `wide` returns `true`, and of the elements at the ends that are not
    /// aligned. `UNROLL` loads are in flight.
    #[inline(always)]
    #[track_caller]
    pub fn for_each_wide<const UNROLL: usize>(
        self,
        wide: impl Fn(usize, Wide<T>) -> bool,
        look: impl Fn(usize, usize),
    ) {
        let Self {
            input,
            first,
            len,
            thread,
            threads,
        } = self;
        let lanes = Wide::<T>::LEN;
        let past = (input.as_ptr().addr() / size_of::<T>() + first) % lanes;
        let head = if past == 0 { 0 } else { lanes - past }.min(len);
        let wides = (len - head) / lanes;
        let place = |wide: usize| first + head + wide * lanes;
        // To the compiler this is no constant, so that it does not write the elements out: `look` is rare.
        let some = lanes.min(len);
        let mut at = thread;
        while at < wides {
            let is_full = at + (UNROLL - 1) * threads < wides;
            let mut marks = 0_u32;
            if is_full {
                let loaded: [Wide<T>; UNROLL] = core::array::from_fn(|round| {
                    input.get_wide_streaming(place(at + round * threads))
                });
                unrolled!(round < UNROLL => {
                    let marked = wide(place(at + round * threads), loaded[round]);
                    marks |= u32::from(marked) << round;
                });
            } else {
                marks = wide(place(at), input.get_wide_streaming(place(at))).into();
            }
            while marks != 0 {
                let round = marks.trailing_zeros() as usize;
                look(place(at + round * threads), some);
                marks &= marks - 1;
            }
            at += if is_full { UNROLL } else { 1 } * threads;
        }
        let tail = head + wides * lanes;
        let mut i = thread;
        while i < len - (tail - head) {
            look(first + if i < head { i } else { tail + i - head }, 1);
            i += threads;
        }
    }
}

/// Calls [`each`](Share::for_each) with each element of this thread's share of an array, which the threads of all blocks share.
#[inline(always)]
#[track_caller]
pub fn for_each<T: Plain, const UNROLL: usize>(input: Global<T>, each: impl Fn(T)) {
    Share::by_all(input).for_each::<UNROLL>(each);
}
