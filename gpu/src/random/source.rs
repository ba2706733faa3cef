//! The source of the words, and the quads that each thread makes.
//!
//! ```text
//! by_number, thread t:                                            (any quad can be made: Philox)
//!     quad = the first whole quad + t; while it is whole: make it, write it, quad += all threads
//!     thread 0: the quad that begins before the part; thread 1: the quad that ends behind it
//! by_sequence, thread = sequence:                                 (words come one after the other: XORWOW)
//!     quad = the part's first quad of this sequence; load the sequence's state
//!     if it begins before the part, and does not end behind it: make it, write what is in the part, quad += SEQUENCES
//!     while it is whole: make it, write it, quad += SEQUENCES
//!     store the state; then the quad that ends behind the part, if it is this sequence's
//! ```
//!
//! Quads are counted from the start of the stream, not of the part, so an element is the same however calls divide the stream.
//! The state is stored before the last quad, whose other elements the next call makes.

use cuda_std::{prelude::*, random::Xorwow};

use super::{
    distribution::{Distribution, Quad},
    policy::{SEQUENCES, STATE_WORDS},
};

/// The part of the stream that a call writes: elements `first` to `first + len - 1`.
#[derive(Clone, Copy)]
pub struct Part<D: Distribution> {
    output: GlobalMut<D::Out>,
    first: u64,
}

impl<D: Distribution> Part<D> {
    const LEN: u64 = <D::Quad as Quad<D::Out>>::LEN as u64;

    #[inline(always)]
    pub fn new(output: GlobalMut<D::Out>, first: u64) -> Self {
        Self { output, first }
    }

    /// Returns one past the last element.
    #[inline(always)]
    fn end(self) -> u64 {
        self.first + self.output.len() as u64
    }

    /// Returns the first quad that has elements in the part.
    #[inline(always)]
    pub fn first_quad(self) -> u64 {
        self.first / Self::LEN
    }

    /// Returns one past the last quad that has elements in the part.
    #[inline(always)]
    pub fn end_quad(self) -> u64 {
        self.end().div_ceil(Self::LEN)
    }

    /// Returns the first quad that has no elements before the part.
    #[inline(always)]
    pub fn first_whole(self) -> u64 {
        self.first.div_ceil(Self::LEN)
    }

    /// Returns one past the last quad that has no elements after the part.
    #[inline(always)]
    pub fn end_whole(self) -> u64 {
        self.end() / Self::LEN
    }

    /// Returns the index in the output of the quad's first element. It wraps around below 0.
    #[inline(always)]
    fn place(self, quad: u64) -> usize {
        (quad * Self::LEN).wrapping_sub(self.first) as usize
    }

    /// Returns whether the elements of a quad lie at a multiple of their size. The answer is the same for all quads.
    #[inline(always)]
    pub fn aligned(self) -> bool {
        let offset = self.place(0).wrapping_mul(size_of::<D::Out>());
        let address = self.output.as_ptr().addr().wrapping_add(offset);
        address % size_of::<D::Quad>() == 0
    }

    /// Writes a whole quad whose [`place`](Self::place) is `at`: by one store if `by_one_store`, which requires an
    /// [`aligned`](Self::aligned) part, otherwise element by element.
    #[inline(always)]
    pub fn write_whole(self, at: usize, elements: D::Quad, by_one_store: bool) {
        if by_one_store {
            elements.store(self.output, at);
        } else {
            elements.store_each(self.output, at);
        }
    }

    /// Writes the elements of a quad that are in the part.
    #[inline(always)]
    pub fn write_within(self, quad: u64, elements: D::Quad) {
        elements.store_within(self.output, self.place(quad));
    }
}

/// Makes every quad of the part: the whole ones in a grid-stride loop, and those at the two ends in the first two threads.
/// `make` returns the words of a quad.
#[inline(always)]
pub fn by_number<D: Distribution>(
    part: Part<D>,
    distribution: D,
    by_one_store: bool,
    make: impl Fn(u64) -> [u32; 4],
) {
    let ready = distribution.ready();
    let thread = thread::index_1d_wide() as u64;
    let (first, end) = (part.first_whole(), part.end_whole());
    let mut quad = first + thread;
    if quad < end {
        let stride = thread::grid_stride() as u64;
        // The loop counts down in 32 bits, because a step is short: no device has memory for more steps.
        let mut turns = ((end - 1 - quad) / stride) as u32;
        let mut at = part.place(quad);
        loop {
            part.write_whole(at, distribution.elements(ready, make(quad)), by_one_store);
            if turns == 0 {
                break;
            }
            turns -= 1;
            quad += stride;
            at += stride as usize * D::Quad::LEN;
        }
    }
    let head = thread == 0 && part.first_quad() < first;
    // If one quad is both head and tail, it counts as the head.
    let tail = thread == 1 && first <= end && end < part.end_quad();
    if head || tail {
        let quad = if head { part.first_quad() } else { end };
        part.write_within(quad, distribution.elements(ready, make(quad)));
    }
}

/// Loads the state of a sequence of XORWOW. Word `w` of sequence `s` is element `w * SEQUENCES + s`, so that the lanes of a
/// warp access adjacent elements.
#[inline(always)]
pub fn load(states: GlobalMut<u32>, sequence: usize) -> Xorwow {
    let mut state = [0; STATE_WORDS];
    for word in 0..STATE_WORDS {
        state[word] = states.get(word * SEQUENCES + sequence);
    }
    Xorwow::from_state(state)
}

/// Stores the state of a sequence. See [`load`] for the layout.
#[inline(always)]
pub fn store(states: GlobalMut<u32>, sequence: usize, generator: &Xorwow) {
    let state = generator.state();
    for word in 0..STATE_WORDS {
        states.set(word * SEQUENCES + sequence, state[word]);
    }
}

/// Returns the next four words.
#[inline(always)]
pub fn four_words(generator: &mut Xorwow) -> [u32; 4] {
    let a = generator.next_word();
    let b = generator.next_word();
    let c = generator.next_word();
    let d = generator.next_word();
    [a, b, c, d]
}

/// Makes every quad of the part that belongs to this thread's sequence of XORWOW, and stores the state at the start of the
/// first quad that is not used up.
#[inline(always)]
pub fn by_sequence<D: Distribution>(
    part: Part<D>,
    distribution: D,
    states: GlobalMut<u32>,
    by_one_store: bool,
) {
    const STRIDE: u64 = SEQUENCES as u64;
    let ready = distribution.ready();
    let sequence = thread::index_1d_wide();
    // The first quad of this sequence that is not below the part's first quad.
    let first = part.first_quad();
    let mut quad = first + ((sequence as u64).wrapping_sub(first) % STRIDE);
    if sequence >= SEQUENCES || quad >= part.end_quad() {
        return;
    }
    let mut generator = load(states, sequence);
    // A quad with elements before the part, but none after it.
    if quad < part.first_whole() && quad < part.end_whole() {
        part.write_within(
            quad,
            distribution.elements(ready, four_words(&mut generator)),
        );
        quad += STRIDE;
    }
    while quad < part.end_whole() {
        let elements = distribution.elements(ready, four_words(&mut generator));
        part.write_whole(part.place(quad), elements, by_one_store);
        quad += STRIDE;
    }
    store(states, sequence, &generator);
    // The next call makes a quad with elements after the part again.
    if quad < part.end_quad() {
        part.write_within(
            quad,
            distribution.elements(ready, four_words(&mut generator)),
        );
    }
}
