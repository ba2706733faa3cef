//! The device memory of the CPU executor, as the checks see it: the allocations, and which of their bytes are initialized.
//!
//! Code that passes memory to kernels can register it here, and can report writes by other means than kernels. Memory that
//! is not registered is only checked against the views' bounds.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

/// An allocation.
#[derive(Debug)]
pub(super) struct Allocation {
    pub start: usize,
    pub bytes: usize,
    /// Whether every byte has been written.
    whole: AtomicBool,
    /// A bit per byte: whether it has been written. Made at the first write that does not cover everything.
    written: OnceLock<Box<[AtomicU64]>>,
}

static ALLOCATIONS: RwLock<BTreeMap<usize, Arc<Allocation>>> = RwLock::new(BTreeMap::new());

/// Registers a new allocation, of which no byte is written yet.
pub fn allocated(start: usize, bytes: usize) {
    let allocation = Arc::new(Allocation {
        start,
        bytes,
        whole: AtomicBool::new(false),
        written: OnceLock::new(),
    });
    let mut all = ALLOCATIONS.write().unwrap_or_else(PoisonError::into_inner);
    all.insert(start, allocation);
}

/// Notes that the allocation at `start` was freed.
pub fn freed(start: usize) {
    let mut all = ALLOCATIONS.write().unwrap_or_else(PoisonError::into_inner);
    all.remove(&start);
}

/// Notes that these bytes were written.
pub fn written(start: usize, bytes: usize) {
    if let Some(allocation) = find(start) {
        allocation.write(start, bytes);
    }
}

/// Notes that bytes were copied. Bytes that are unwritten at `from` count as unwritten at `to`, unless they were written
/// there before.
pub fn copied(to: usize, from: usize, bytes: usize) {
    match (find(to), find(from)) {
        (Some(to_allocation), Some(from_allocation)) if !from_allocation.is_whole() => {
            let mut done = 0;
            while done < bytes {
                let unread = from_allocation.first_unwritten(from + done, bytes - done);
                let end = unread.map_or(bytes, |at| at - from);
                to_allocation.write(to + done, end - done);
                done = end + 1;
            }
        }
        (Some(to_allocation), _) => to_allocation.write(to, bytes),
        _ => {}
    }
}

/// Returns the position of the first of these bytes that has not been written. Memory that is not registered counts as written.
pub fn first_unwritten(start: usize, bytes: usize) -> Option<usize> {
    let allocation = find(start)?;
    let address = allocation.first_unwritten(start, bytes)?;
    Some(address - start)
}

/// Returns whether no memory is registered.
pub(super) fn is_empty() -> bool {
    let all = ALLOCATIONS.read().unwrap_or_else(PoisonError::into_inner);
    all.is_empty()
}

/// Notes that a kernel whose writes are not followed may write to the allocation of `address`. All of it counts as written.
pub(super) fn maybe_written(address: usize) {
    if let Some(allocation) = find(address) {
        allocation.whole.store(true, Ordering::Relaxed);
    }
}

/// Returns the allocation that contains `address`.
pub(super) fn find(address: usize) -> Option<Arc<Allocation>> {
    let all = ALLOCATIONS.read().unwrap_or_else(PoisonError::into_inner);
    let (_, allocation) = all.range(..=address).next_back()?;
    allocation
        .contains(address, 1)
        .then(|| Arc::clone(allocation))
}

impl Allocation {
    /// Returns whether the allocation contains all of these bytes.
    #[inline]
    pub fn contains(&self, start: usize, bytes: usize) -> bool {
        start
            .checked_sub(self.start)
            .is_some_and(|offset| offset <= self.bytes && bytes <= self.bytes - offset)
    }

    /// Returns whether all of the allocation has been written.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.whole.load(Ordering::Relaxed)
    }

    fn bits(&self) -> &[AtomicU64] {
        self.written.get_or_init(|| {
            (0..self.bytes.div_ceil(64))
                .map(|_| AtomicU64::new(0))
                .collect()
        })
    }

    /// Notes a write. Bytes outside of the allocation are ignored.
    pub fn write(&self, start: usize, bytes: usize) {
        if self.is_whole() || bytes == 0 {
            return;
        }
        let first = start.saturating_sub(self.start);
        let last = (start.saturating_add(bytes) - self.start).min(self.bytes);
        if first == 0 && last == self.bytes {
            self.whole.store(true, Ordering::Relaxed);
            return;
        }
        for (word, mask) in words(first, last) {
            let word = &self.bits()[word];
            // Reading first keeps the cache line shared if nothing changes.
            if word.load(Ordering::Relaxed) & mask != mask {
                word.fetch_or(mask, Ordering::Relaxed);
            }
        }
    }

    /// Returns the address of the first of these bytes that has not been written.
    pub fn first_unwritten(&self, start: usize, bytes: usize) -> Option<usize> {
        if self.is_whole() || bytes == 0 {
            return None;
        }
        let Some(bits) = self.written.get() else {
            return Some(start);
        };
        let first = start - self.start;
        words(first, (first + bytes).min(self.bytes)).find_map(|(word, mask)| {
            let missing = mask & !bits[word].load(Ordering::Relaxed);
            (missing != 0).then(|| self.start + word * 64 + missing.trailing_zeros() as usize)
        })
    }
}

/// Returns the words of a bit set that hold bits `first` to `last - 1`, each with the mask of those bits.
fn words(first: usize, last: usize) -> impl Iterator<Item = (usize, u64)> {
    (first / 64..last.div_ceil(64)).map(move |word| {
        let from = first.saturating_sub(word * 64);
        let to = (last - word * 64).min(64);
        (word, (u64::MAX >> (64 - (to - from))) << from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An address that no other allocation has. Nothing is read there.
    const START: usize = 1 << 60;

    #[test]
    fn writes_are_remembered_to_the_byte() {
        allocated(START, 300);
        let found = find(START + 299).unwrap();
        assert!(find(START + 300).is_none());
        assert_eq!(found.first_unwritten(START, 300), Some(START));
        written(START + 60, 70);
        assert_eq!(found.first_unwritten(START + 60, 70), None);
        assert_eq!(found.first_unwritten(START + 60, 71), Some(START + 130));
        assert_eq!(found.first_unwritten(START + 59, 2), Some(START + 59));
        assert_eq!(first_unwritten(START + 60, 70), None);
        assert_eq!(first_unwritten(START + 60, 71), Some(70));
        written(START, 300);
        assert_eq!(found.first_unwritten(START, 300), None);
        freed(START);
        assert!(find(START).is_none());
        assert_eq!(first_unwritten(START, 1), None);
    }

    #[test]
    fn a_copy_of_what_nobody_wrote_is_not_written() {
        let (from, to) = (START + 4096, START + 8192);
        allocated(from, 16);
        allocated(to, 16);
        written(from, 3);
        written(from + 5, 4);
        copied(to, from, 16);
        let found = find(to).unwrap();
        for (i, wanted) in (0..16).map(|i| (i, i < 3 || (5..9).contains(&i))) {
            let got = found.first_unwritten(to + i, 1).is_none();
            assert_eq!(got, wanted, "{i}");
        }
        freed(from);
        freed(to);
    }
}
