//! Loops on all processors.
//!
//! Each iterator of `rayon` is compiled anew for each type and each function. Here `rayon` has one loop, whose function is a
//! trait object, and it takes parts of an array, so that a call costs little.

use std::{
    mem::MaybeUninit,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use rayon::prelude::*;

/// Calls `run` with each number below `count`, in any order. One call starts no threads.
fn each(count: usize, run: &(dyn Fn(usize) + Sync)) {
    match count {
        0 | 1 => (0..count).for_each(run),
        _ => (0..count).into_par_iter().for_each(run),
    }
}

/// Returns what `of` gives for each part of the numbers below `len`, in order. A part has `size` numbers, the last one fewer
/// if they do not divide `len`.
pub(crate) fn parts<R: Send>(
    len: usize,
    size: usize,
    of: impl Fn(Range<usize>) -> R + Sync,
) -> Vec<R> {
    let places: Vec<_> = (0..len.div_ceil(size)).map(|_| Mutex::new(None)).collect();
    each(places.len(), &|part| {
        let result = of(part * size..len.min((part + 1) * size));
        *places[part].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    let result = |place: Mutex<Option<R>>| {
        let result = place.into_inner().unwrap_or_else(PoisonError::into_inner);
        result.expect("every part was run")
    };
    places.into_iter().map(result).collect()
}

/// Returns what `of` gives for each number below `len`. A thread takes `size` of them at a time.
pub(crate) fn map<T: Send>(len: usize, size: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut all: Vec<T> = Vec::with_capacity(len);
    let free = &mut all.spare_capacity_mut()[..len];
    let places: Vec<Mutex<&mut [MaybeUninit<T>]>> = free.chunks_mut(size).map(Mutex::new).collect();
    each(places.len(), &|part| {
        let mut place = places[part].lock().unwrap_or_else(PoisonError::into_inner);
        for (i, element) in place.iter_mut().enumerate() {
            element.write(of(part * size + i));
        }
    });
    drop(places);
    // SAFETY: the chunks are all `len` elements, and each was written. If `of` panics, this is not reached, and they leak.
    unsafe { all.set_len(len) };
    all
}

/// Returns the first result of `of` for the parts of the numbers below `len`.
pub(crate) fn find<R: Send>(
    len: usize,
    size: usize,
    of: impl Fn(Range<usize>) -> Option<R> + Sync,
) -> Option<R> {
    parts(len, size, of).into_iter().flatten().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_order_and_whole() {
        for (len, size) in [(0, 3), (1, 3), (3, 3), (10, 3), (1000, 7)] {
            let ranges = parts(len, size, |part| part);
            assert!(ranges.iter().all(|part| part.len() <= size));
            assert!(ranges.into_iter().flatten().eq(0..len));
            assert!(
                map(len, size, |i| 3 * i)
                    .into_iter()
                    .eq((0..len).map(|i| 3 * i))
            );
            let at_least = |least: usize| find(len, size, |mut part| part.find(|i| *i >= least));
            assert_eq!(at_least(4), (4 < len).then_some(4));
        }
    }
}
