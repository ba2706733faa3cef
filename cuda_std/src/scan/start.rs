//! The parameters of a launch that are no arrays.

use crate::{Plain, warp::Shuffle};

/// The maximum number of 32-bit words of an accumulator.
pub(super) const MOST_WORDS: usize = 4;

/// Returns the number of 32-bit words of an accumulator.
pub const fn words_of<A: Shuffle>() -> usize {
    assert!(
        A::WORDS <= MOST_WORDS,
        "an accumulator has at most 16 bytes"
    );
    A::WORDS
}

/// Returns the accumulator of these words. `any` is any accumulator.
#[inline(always)]
pub(super) fn from_words<A: Plain + Shuffle>(any: A, mut word: impl FnMut(usize) -> u32) -> A {
    let mut i = 0;
    any.map_words(&mut |_| {
        i += 1;
        word(i - 1)
    })
}

/// What precedes the first element, and which of two results an element has.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    initial: [u32; MOST_WORDS],
    exclusive: u32,
}

impl Start {
    /// Starts with the prefix `initial`. The result of an element is the prefix before it if `exclusive`, else the prefix that
    /// includes it. Returns `None` if [`Shuffle`] takes the accumulator in another number of words than it has.
    pub fn new<A: Plain + Shuffle>(initial: A, exclusive: bool) -> Option<Self> {
        let count = const { words_of::<A>() };
        let mut words = [0; MOST_WORDS];
        let mut i = 0;
        initial.map_words(&mut |word| {
            if i < MOST_WORDS {
                words[i] = word;
            }
            i += 1;
            word
        });
        (i == count).then_some(Self {
            initial: words,
            exclusive: u32::from(exclusive),
        })
    }

    /// Returns the prefix before the first element. `any` is any accumulator.
    #[inline(always)]
    pub fn initial<A: Plain + Shuffle>(self, any: A) -> A {
        from_words(any, |i| self.initial[i])
    }

    /// Returns whether an element's result leaves the element out.
    #[inline(always)]
    pub fn is_exclusive(self) -> bool {
        self.exclusive != 0
    }
}

// SAFETY: the same plain fields on both sides.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl crate::kernel::ByValue for Start {}
