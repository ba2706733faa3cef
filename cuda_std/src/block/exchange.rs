//! The exchange of a tile's items between threads, by way of shared memory.

use super::{index, is_tile};
use crate::{Plain, Shared, thread, unrolled};

/// Returns the number of elements of shared memory that an exchange of `ITEMS` items per thread needs: all items, and for an
/// even `ITEMS` one element of padding after each 32, against bank conflicts.
pub const fn exchange_len<const ITEMS: usize>(threads: usize) -> usize {
    place::<ITEMS>(threads * ITEMS)
}

/// Returns the place of a tile's item in shared memory.
#[inline(always)]
pub(super) const fn place<const ITEMS: usize>(item: usize) -> usize {
    match ITEMS % 2 {
        0 => item + item / 32,
        _ => item,
    }
}

/// Returns this thread's items of a tile in blocked order, from all threads' items in striped order.
///
/// Shared memory: [`exchange_len`] elements. One barrier.
#[inline(always)]
#[track_caller]
pub fn striped_to_blocked<T: Plain, const THREADS: usize, const ITEMS: usize>(
    mut items: [T; ITEMS],
    memory: Shared<T>,
) -> [T; ITEMS] {
    const { assert!(is_tile(THREADS, ITEMS)) };
    let thread = index();
    unrolled!(k < ITEMS of 32 => {
        memory.set(place::<ITEMS>(k * THREADS + thread), items[k]);
    });
    thread::sync_threads();
    unrolled!(k < ITEMS of 32 => {
        items[k] = memory.get(place::<ITEMS>(thread * ITEMS + k));
    });
    items
}

/// Returns this thread's items of a tile in striped order, from all threads' items in blocked order. As
/// [`striped_to_blocked`].
#[inline(always)]
#[track_caller]
pub fn blocked_to_striped<T: Plain, const THREADS: usize, const ITEMS: usize>(
    mut items: [T; ITEMS],
    memory: Shared<T>,
) -> [T; ITEMS] {
    const { assert!(is_tile(THREADS, ITEMS)) };
    let thread = index();
    unrolled!(k < ITEMS of 32 => {
        memory.set(place::<ITEMS>(thread * ITEMS + k), items[k]);
    });
    thread::sync_threads();
    unrolled!(k < ITEMS of 32 => {
        items[k] = memory.get(place::<ITEMS>(k * THREADS + thread));
    });
    items
}
