//! Indices of device slices: one element, or a range.

use std::ops::{
    Index, IndexMut, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};

use super::DeviceSlice;
use crate::memory::DeviceCopy;

/// An index of a device slice. A number selects a slice of one element.
pub trait DeviceSliceIndex<T: DeviceCopy> {
    /// Returns the selected part without a bounds check.
    ///
    /// # Safety
    /// The index must be within the slice.
    unsafe fn get_unchecked(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T>;

    /// Returns the selected part.
    ///
    /// # Panics
    /// Panics if the index is out of bounds.
    fn index(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T>;

    /// Returns the selected part, mutably, without a bounds check.
    ///
    /// # Safety
    /// The index must be within the slice.
    unsafe fn get_unchecked_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T>;

    /// Returns the selected part, mutably.
    ///
    /// # Panics
    /// Panics if the index is out of bounds.
    fn index_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T>;
}

impl<T: DeviceCopy> DeviceSliceIndex<T> for Range<usize> {
    unsafe fn get_unchecked(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T> {
        let start = slice.as_device_ptr().wrapping_add(self.start);
        // SAFETY: the caller guarantees that the range is inside the slice; the result borrows from the slice.
        unsafe { DeviceSlice::from_raw_parts(start, self.end - self.start) }
    }

    #[track_caller]
    fn index(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T> {
        check(&self, slice.len());
        // SAFETY: `check` found the range inside the slice.
        unsafe { self.get_unchecked(slice) }
    }

    unsafe fn get_unchecked_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T> {
        let start = slice.as_device_ptr().wrapping_add(self.start);
        // SAFETY: the caller guarantees that the range is inside the slice; the result borrows from the slice.
        unsafe { DeviceSlice::from_raw_parts_mut(start, self.end - self.start) }
    }

    #[track_caller]
    fn index_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T> {
        check(&self, slice.len());
        // SAFETY: `check` found the range inside the slice.
        unsafe { self.get_unchecked_mut(slice) }
    }
}

#[track_caller]
fn check(range: &Range<usize>, len: usize) {
    let Range { start, end } = *range;
    assert!(
        start <= end,
        "a slice on a device from {start} to {end}: the start must not be behind the end"
    );
    assert!(
        end <= len,
        "a slice on a device up to {end} of {len} elements"
    );
}

/// Converts an index to a range of a slice of length `len`.
trait IntoRange {
    fn range(self, len: usize) -> Range<usize>;
}

impl IntoRange for usize {
    #[track_caller]
    fn range(self, len: usize) -> Range<usize> {
        assert!(
            self < len,
            "element {self} of a slice on a device with {len}"
        );
        self..self + 1
    }
}

impl IntoRange for RangeTo<usize> {
    fn range(self, _: usize) -> Range<usize> {
        0..self.end
    }
}

impl IntoRange for RangeFrom<usize> {
    fn range(self, len: usize) -> Range<usize> {
        // A start behind the end is reported as such, not as an empty range.
        self.start..len
    }
}

impl IntoRange for RangeFull {
    fn range(self, len: usize) -> Range<usize> {
        0..len
    }
}

impl IntoRange for RangeInclusive<usize> {
    #[track_caller]
    fn range(self, _: usize) -> Range<usize> {
        let (start, end) = (*self.start(), *self.end());
        let behind = end
            .checked_add(1)
            .expect("a slice on a device up to the largest number");
        // An inclusive range that was iterated to its end is empty.
        if self.is_empty() && start <= end {
            behind..behind
        } else {
            start..behind
        }
    }
}

impl IntoRange for RangeToInclusive<usize> {
    #[track_caller]
    fn range(self, len: usize) -> Range<usize> {
        (0..=self.end).range(len)
    }
}

macro_rules! by_range {
    ($($index:ty),*) => { $(
        impl<T: DeviceCopy> DeviceSliceIndex<T> for $index {
            unsafe fn get_unchecked(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T> {
                let range = self.range(slice.len());
                // SAFETY: the caller upholds the contract.
                unsafe { DeviceSliceIndex::get_unchecked(range, slice) }
            }

            #[track_caller]
            fn index(self, slice: &DeviceSlice<T>) -> &DeviceSlice<T> {
                DeviceSliceIndex::index(self.range(slice.len()), slice)
            }

            unsafe fn get_unchecked_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T> {
                let range = self.range(slice.len());
                // SAFETY: the caller upholds the contract.
                unsafe { DeviceSliceIndex::get_unchecked_mut(range, slice) }
            }

            #[track_caller]
            fn index_mut(self, slice: &mut DeviceSlice<T>) -> &mut DeviceSlice<T> {
                DeviceSliceIndex::index_mut(self.range(slice.len()), slice)
            }
        }
    )* };
}

by_range!(
    usize,
    RangeTo<usize>,
    RangeFrom<usize>,
    RangeFull,
    RangeInclusive<usize>,
    RangeToInclusive<usize>
);

impl<T: DeviceCopy, Idx: DeviceSliceIndex<T>> Index<Idx> for DeviceSlice<T> {
    type Output = DeviceSlice<T>;

    #[track_caller]
    fn index(&self, index: Idx) -> &DeviceSlice<T> {
        index.index(self)
    }
}

impl<T: DeviceCopy, Idx: DeviceSliceIndex<T>> IndexMut<Idx> for DeviceSlice<T> {
    #[track_caller]
    fn index_mut(&mut self, index: Idx) -> &mut DeviceSlice<T> {
        index.index_mut(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::DevicePointer;

    fn slice() -> &'static DeviceSlice<u32> {
        // SAFETY: the pointer is never dereferenced.
        unsafe { DeviceSlice::from_raw_parts(DevicePointer::from_raw(0x1000), 10) }
    }

    fn part(part: &DeviceSlice<u32>) -> (u64, usize) {
        (part.as_device_ptr().as_raw(), part.len())
    }

    #[test]
    fn a_part_begins_and_ends_where_the_range_does() {
        let slice = slice();
        assert_eq!(part(Index::index(slice, ..)), (0x1000, 10));
        assert_eq!(part(&slice[2..5]), (0x1008, 3));
        assert_eq!(part(&slice[2..=5]), (0x1008, 4));
        assert_eq!(part(&slice[..4]), (0x1000, 4));
        assert_eq!(part(&slice[..=4]), (0x1000, 5));
        assert_eq!(part(&slice[7..]), (0x101c, 3));
        assert_eq!(part(&slice[9]), (0x1024, 1));
        assert_eq!(part(&slice[10..]), (0x1028, 0));
        assert_eq!(part(&slice[3..][2..4]), (0x1014, 2));
    }

    #[test]
    fn what_is_not_inside_panics() {
        let panics = |work: fn(&DeviceSlice<u32>) -> usize| {
            std::panic::catch_unwind(|| work(slice())).is_err()
        };
        assert!(panics(|slice| slice[10].len()));
        assert!(panics(|slice| slice[..11].len()));
        assert!(panics(|slice| slice[..=10].len()));
        assert!(panics(|slice| slice[11..].len()));
        assert!(panics(|slice| slice[..=usize::MAX].len()));
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = panics(|slice| slice[5..4].len());
        assert!(reversed);
    }

    #[test]
    fn a_slice_without_bytes_is_no_null_reference() {
        // SAFETY: the pointer is never dereferenced.
        let empty = unsafe { DeviceSlice::<u32>::from_raw_parts(DevicePointer::null(), 0) };
        assert!(empty.is_empty() && !empty.as_device_ptr().is_null());
        assert_eq!(size_of_val(empty), 0);
    }
}
