//! Where segments begin and end.

use cuda_std::{Global, warp};

/// Returns offset `i` of those in `words`, each of 1 word, or of 2 with the low bits first.
#[inline(always)]
#[track_caller]
pub(crate) fn offset(words: Global<u32>, per_offset: usize, i: usize) -> usize {
    if per_offset == 1 {
        return words.get(i) as usize;
    }
    let [low, high] = words.get_chunk(2 * i);
    (u64::from(high) << 32 | u64::from(low)) as usize
}

/// Where segments begin and end, as the kernels take it.
///
/// The offsets do not fall, and none is above the number of elements.
#[derive(Clone, Copy)]
pub struct Offsets {
    words: Global<u32>,
    /// The words of an offset: 1, or 2 with the low bits first.
    per_offset: usize,
    /// The number of segments.
    len: usize,
    /// Where the last segment ends, if `words` does not say it.
    end: Option<usize>,
}

impl Offsets {
    /// Returns the segments of a launch: `words` has an offset more than there are segments. But if `count` has an element,
    /// that is the number of segments, and the last one ends at `elements`.
    #[inline(always)]
    #[track_caller]
    pub fn new(words: Global<u32>, per_offset: u32, count: Global<u64>, elements: usize) -> Self {
        if count.is_empty() {
            return Self::of(words, per_offset);
        }
        Self {
            words,
            per_offset: per_offset as usize,
            len: count.get(0) as usize,
            end: Some(elements),
        }
    }

    /// Returns the segments of `words`, which has an offset more than there are segments.
    #[inline(always)]
    pub fn of(words: Global<u32>, per_offset: u32) -> Self {
        let per_offset = per_offset as usize;
        Self {
            words,
            per_offset,
            len: (words.len() / per_offset).saturating_sub(1),
            end: None,
        }
    }

    /// Returns the number of segments.
    #[inline(always)]
    pub fn len(self) -> usize {
        self.len
    }

    /// Returns whether there are no segments.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns where segment `s` begins, or for the number of segments where the last one ends.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, s: usize) -> usize {
        match self.end {
            Some(end) if s == self.len => end,
            _ => offset(self.words, self.per_offset, s),
        }
    }
}

/// Where segments begin and where the last one ends, as `best` takes it: the cuts, in order.
#[derive(Clone, Copy)]
pub struct Cuts {
    words: Global<u32>,
    /// The words of an offset, as for [`Offsets`]; or 0 if `words` has a bit for each element, which says whether it is a cut.
    per_cut: usize,
}

impl Cuts {
    /// Returns the cuts of a launch. If they are bits, the end of the array is the last one.
    #[inline(always)]
    pub fn new(words: Global<u32>, per_cut: u32) -> Self {
        let per_cut = per_cut as usize;
        Self { words, per_cut }
    }

    /// Returns whether the cuts are bits.
    #[inline(always)]
    pub fn are_bits(self) -> bool {
        self.per_cut == 0
    }

    /// Returns the bits of `count` elements from `first` on, at most 64. `first` is a multiple of `count`, a power of two.
    /// `len` is the number of elements.
    #[inline(always)]
    #[track_caller]
    pub fn bits(self, first: usize, count: usize, len: usize) -> [u32; 2] {
        let word = |i: usize| {
            if i < self.words.len() {
                self.words.get(i)
            } else {
                0
            }
        };
        let mut bits = [word(first / 32), 0];
        if count > 32 {
            bits[1] = word(first / 32 + 1);
        } else if count < 32 {
            bits[0] = bits[0] >> (first % 32) & ((1 << count) - 1);
        }
        if first <= len && len < first + count {
            let last = 1_u64 << (len - first);
            bits[0] |= last as u32;
            bits[1] |= (last >> 32) as u32;
        }
        bits
    }

    /// Returns cut `j`, of cuts that are offsets.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, j: usize) -> usize {
        offset(self.words, self.per_cut, j)
    }

    #[inline(always)]
    fn len(self) -> usize {
        // There is no division by a variable this way.
        self.words.len() >> (self.per_cut / 2)
    }

    /// Returns how many cuts are before `position`, of cuts that are offsets. All lanes of a warp call it for the same
    /// position.
    ///
    /// Each step of the search divides what is left by 32: a lane looks at one place each.
    #[inline(always)]
    #[track_caller]
    pub fn before(self, position: usize) -> usize {
        let lane = warp::lane_id() as usize;
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let apart = (high - low).div_ceil(32);
            let j = low + (lane + 1) * apart - 1;
            let is_before = j < high && self.get(j) < position;
            let before = warp::ballot(warp::FULL_MASK, is_before).count_ones() as usize;
            low += before * apart;
            high = high.min(low + apart - 1);
        }
        low.min(high)
    }

    /// [`before`](Self::before), by a thread alone.
    #[inline(always)]
    #[track_caller]
    pub fn before_by_thread(self, position: usize) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.get(middle) < position {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}
