//! Where segments begin and end.

use cuda_std::{Global, warp};

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
        let per_offset = per_offset as usize;
        let (len, end) = if count.is_empty() {
            ((words.len() / per_offset).saturating_sub(1), None)
        } else {
            (count.get(0) as usize, Some(elements))
        };
        Self {
            words,
            per_offset,
            len,
            end,
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
            _ if self.per_offset == 1 => self.words.get(s) as usize,
            _ => {
                let [low, high] = self.words.get_chunk(2 * s);
                (u64::from(high) << 32 | u64::from(low)) as usize
            }
        }
    }

    /// Returns the first element of all segments.
    #[inline(always)]
    #[track_caller]
    pub fn begin(self) -> usize {
        if self.len == 0 { 0 } else { self.get(0) }
    }

    /// Returns the number of steps that it takes to read every element and write every result, one at a time: the length of the
    /// list in which the end of a segment comes behind its last element.
    #[inline(always)]
    #[track_caller]
    pub fn steps(self) -> usize {
        if self.len == 0 {
            return 0;
        }
        self.get(self.len) - self.get(0) + self.len
    }

    /// Returns how many ends of segments are among the first `steps` steps. All lanes of a warp call it for the same number.
    ///
    /// Each step of the search divides what is left by 32: a lane looks at one place each.
    #[inline(always)]
    #[track_caller]
    pub fn ends_before(self, steps: usize) -> usize {
        let lane = warp::lane_id() as usize;
        let begin = self.begin();
        // An end behind `steps` elements or more is not among them.
        let elements = self.steps() - self.len;
        let (mut low, mut high) = (steps.saturating_sub(elements), steps.min(self.len));
        while low < high {
            let apart = (high - low).div_ceil(32);
            let s = low + (lane + 1) * apart - 1;
            let is_before = s < high && self.get(s + 1) - begin + s < steps;
            let before = warp::ballot(warp::FULL_MASK, is_before).count_ones() as usize;
            low += before * apart;
            high = high.min(low + apart - 1);
        }
        low.min(high)
    }
}
