//! The order of keys.

use cuda_std::merge::Compare;

use crate::sort::{Bits, Twist};

/// The ascending order of keys, once their bits are twisted.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ascending<U> {
    twist: Twist<U>,
}

impl<U> Ascending<U> {
    /// The order of keys with this twist.
    pub(super) const fn of(twist: Twist<U>) -> Self {
        Self { twist }
    }
}

// SAFETY: plain numbers in C's layout.
unsafe impl<U: Bits> Compare for Ascending<U> {
    type Item = U;

    #[inline(always)]
    fn is_less(self, a: U, b: U) -> bool {
        a.twist(self.twist) < b.twist(self.twist)
    }
}

/// Returns the first position from `low` to below `high` at which `is_behind` is true, or `high` if there is none. It is true
/// at every position behind one at which it is.
#[inline(always)]
#[track_caller]
pub(super) fn search(low: usize, high: usize, is_behind: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_behind(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
