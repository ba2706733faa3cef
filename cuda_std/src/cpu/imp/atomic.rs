//! Atomic operations on the CPU executor: those of the host, for every scope.

use core::sync::atomic::{self, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

use super::{
    super::{
        access::AccessKind,
        block::Word,
        lane::Lane,
        mutate,
        shadow::{self, Access, Touch},
    },
    Place,
};
use crate::atomic::{Backoff, How, Rmw, Scope, Space};

#[track_caller]
pub fn fence(order: Ordering, scope: Scope) {
    if order != Ordering::Relaxed
        && let Some(scope) = mutate::fence(scope, Place::here().0)
    {
        atomic::fence(order);
        shadow::with(|tracker| tracker.fence(Lane::current().linear, scope));
    }
}

/// Returns the kind of memory that an element is in.
#[inline]
fn space<T>(lane: &Lane, ptr: *mut T, how: How) -> Space {
    match how.space {
        Space::Generic if lane.block().is_shared(ptr.cast()) => Space::Shared,
        space => space,
    }
}

/// Follows an atomic operation before it is done.
#[inline]
fn follow<T>(ptr: *mut T, touch: Touch, how: How) {
    if !shadow::is_on() {
        return;
    }
    let Some(lane) = Lane::try_current() else {
        return;
    };
    let access = Access {
        space: space(lane, ptr, how),
        start: ptr.addr(),
        bytes: size_of::<T>(),
        touched: AccessKind::Atomic {
            writes: touch != Touch::Load,
            block_scope: how.scope == Scope::Block,
            bytes: size_of::<T>() as u8,
        },
        reads: touch != Touch::Store,
        writes: touch != Touch::Load,
        at: how.place.0,
    };
    shadow::follow(ptr.addr(), access);
}

/// Follows a compare-and-exchange before it is done. One that fails only reads.
///
/// The lanes of a followed launch run one at a time on this thread, so `matches` sees the value that the operation will
/// see.
#[inline]
fn follow_exchange<T>(ptr: *mut T, how: How, matches: impl FnOnce() -> bool) {
    if !shadow::is_on() {
        return;
    }
    let Some(lane) = Lane::try_current() else {
        return;
    };
    // Bytes of no allocation are reported, and must not be read.
    let gone = space(lane, ptr, how) != Space::Shared
        && shadow::with(|tracker| tracker.is_gone(ptr.addr(), size_of::<T>())) == Some(true);
    let touch = match !gone && matches() {
        true => Touch::Update,
        false => Touch::Load,
    };
    follow(ptr, touch, how);
}

/// Follows the order that an atomic operation has established. After a write other lanes may run.
#[inline]
fn order<T>(ptr: *mut T, touch: Touch, how: How) {
    let Some(lane) = Lane::try_current() else {
        return;
    };
    if touch != Touch::Load {
        lane.block().changed();
    }
    shadow::with(|tracker| tracker.atomic(lane.linear, ptr.addr(), touch, how.order, how.scope));
    if touch != Touch::Load && how.scope != Scope::Block && how.space != Space::Shared {
        lane.block().at_atomic(lane);
    }
}

/// Lets others run, so that a lane that waits in a loop for another lane's write does not wait forever.
fn give_way(name: &'static str, how: How) {
    if let Some(lane) = Lane::try_current() {
        lane.block().take_turns(lane, name, how.place.0);
    }
}

/// Suspends the lane until a word differs from the value that it has seen. Returns false if the lane must not wait.
fn waits(word: Word, seen: u64, how: How) -> bool {
    Lane::try_current()
        .is_some_and(|lane| lane.block().wait_for_change(lane, word, seen, how.place.0))
}

/// Updates an element by a plain read and a plain write, between which others may run.
///
/// # Safety
/// As for `Atomic::rmw`. Also, no other thread may access the element.
unsafe fn in_two_steps<T: Copy>(ptr: *mut T, how: How, new: impl FnOnce(T) -> T) -> T {
    let follow = |write| {
        let start = ptr.addr();
        shadow::access(how.space, start, start, size_of::<T>(), write, how.place.0);
    };
    follow(false);
    // SAFETY: by the contract.
    let old = unsafe { ptr.read() };
    give_way("an update in two steps", how);
    follow(true);
    // SAFETY: by the contract.
    unsafe { ptr.write(new(old)) };
    if let Some(lane) = Lane::try_current() {
        lane.block().changed();
    }
    old
}

/// Returns whether the lane's last operation that changed nothing was at this address too. Then it may be waiting there.
/// Additions of zero to one element after the other are no waiting.
fn looks_again(address: usize) -> bool {
    Lane::try_current().is_some_and(|lane| lane.looked_at.replace(address) == address)
}

fn failure_order(order: Ordering) -> Ordering {
    match order {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        order => order,
    }
}

macro_rules! integer {
    ($ty:ident, $atomic:ident, $word:ident, $unsigned:ident) => {
        /// The contract of every function is that of `Atomic::rmw`.
        pub mod $ty {
            use super::*;

            fn update(op: Rmw, element: &$atomic, value: $ty, order: Ordering) -> $ty {
                match op {
                    Rmw::Add => element.fetch_add(value, order),
                    Rmw::Min => element.fetch_min(value, order),
                    Rmw::Max => element.fetch_max(value, order),
                    Rmw::And => element.fetch_and(value, order),
                    Rmw::Or => element.fetch_or(value, order),
                    Rmw::Xor => element.fetch_xor(value, order),
                    Rmw::Exchange => element.swap(value, order),
                }
            }

            pub unsafe fn rmw(op: Rmw, ptr: *mut $ty, value: $ty, how: How) -> $ty {
                let Some(how) = mutate::atomic(Touch::Update, how) else {
                    let new = |old| {
                        let element = $atomic::new(old);
                        update(op, &element, value, how.order);
                        element.into_inner()
                    };
                    // SAFETY: by the contract; a launch with a mutation runs on one thread.
                    return unsafe { in_two_steps(ptr, how, new) };
                };
                follow(ptr, Touch::Update, how);
                // SAFETY: by the contract.
                let element = unsafe { $atomic::from_ptr(ptr) };
                let old = update(op, element, value, how.order);
                // Nothing has changed: this may be a lock that another lane holds, or a load by other means.
                let same = match op {
                    Rmw::Exchange => old == value,
                    Rmw::Add | Rmw::Or | Rmw::Xor => value == 0,
                    Rmw::And => value == !0,
                    Rmw::Min => value == $ty::MAX,
                    Rmw::Max => value == $ty::MIN,
                };
                if same {
                    order(ptr, Touch::Load, how);
                    if op == Rmw::Exchange || looks_again(ptr.addr()) {
                        give_way("a read-modify-write that changes nothing", how);
                    }
                } else {
                    order(ptr, Touch::Update, how);
                }
                old
            }

            pub unsafe fn cas(ptr: *mut $ty, current: $ty, new: $ty, how: How) -> $ty {
                let Some(how) = mutate::atomic(Touch::Update, how) else {
                    let exchanged = |old| if old == current { new } else { old };
                    // SAFETY: by the contract; a launch with a mutation runs on one thread.
                    return unsafe { in_two_steps(ptr, how, exchanged) };
                };
                let matches = || {
                    // SAFETY: by the contract.
                    unsafe { $atomic::from_ptr(ptr) }.load(Ordering::Relaxed) == current
                };
                follow_exchange(ptr, how, matches);
                // SAFETY: by the contract.
                let element = unsafe { $atomic::from_ptr(ptr) };
                match element.compare_exchange(current, new, how.order, failure_order(how.order)) {
                    Ok(old) => {
                        order(ptr, Touch::Update, how);
                        old
                    }
                    Err(old) => {
                        order(ptr, Touch::Load, how);
                        give_way("a failed compare-exchange", how);
                        old
                    }
                }
            }

            pub unsafe fn load(ptr: *mut $ty, how: How) -> $ty {
                let how = mutate::atomic(Touch::Load, how).unwrap_or(how);
                follow(ptr, Touch::Load, how);
                give_way("an atomic load", how);
                // SAFETY: by the contract.
                let value = unsafe { $atomic::from_ptr(ptr) }.load(how.order);
                order(ptr, Touch::Load, how);
                value
            }

            pub unsafe fn wait(
                ptr: *mut $ty,
                how: How,
                _: Backoff,
                ready: impl Fn($ty) -> bool,
            ) -> $ty {
                let how = mutate::atomic(Touch::Load, how).unwrap_or(how);
                loop {
                    follow(ptr, Touch::Load, how);
                    // SAFETY: by the contract.
                    let value = unsafe { $atomic::from_ptr(ptr) }.load(how.order);
                    order(ptr, Touch::Load, how);
                    let word = Word::$word(ptr.cast());
                    if ready(value) || !waits(word, value as $unsigned as u64, how) {
                        return value;
                    }
                }
            }

            pub unsafe fn store(ptr: *mut $ty, value: $ty, how: How) {
                let how = mutate::atomic(Touch::Store, how).unwrap_or(how);
                follow(ptr, Touch::Store, how);
                // SAFETY: by the contract.
                unsafe { $atomic::from_ptr(ptr) }.store(value, how.order);
                order(ptr, Touch::Store, how);
            }
        }
    };
}

integer!(u32, AtomicU32, Narrow, u32);
integer!(i32, AtomicI32, Narrow, u32);
integer!(u64, AtomicU64, Wide, u64);
integer!(i64, AtomicI64, Wide, u64);

macro_rules! float_add {
    ($name:ident, $ty:ident, $atomic:ident) => {
        /// # Safety
        /// As for `Atomic::rmw`.
        pub unsafe fn $name(ptr: *mut $ty, value: $ty, how: How) -> $ty {
            let Some(how) = mutate::atomic(Touch::Update, how) else {
                // SAFETY: by the contract; a launch with a mutation runs on one thread.
                return unsafe { in_two_steps(ptr, how, |old| old + value) };
            };
            follow(ptr, Touch::Update, how);
            // SAFETY: by the contract; the integer has the float's size and alignment.
            let element = unsafe { $atomic::from_ptr(ptr.cast()) };
            let sum = |old| Some(($ty::from_bits(old) + value).to_bits());
            let (Ok(old) | Err(old)) =
                element.fetch_update(how.order, failure_order(how.order), sum);
            order(ptr, Touch::Update, how);
            $ty::from_bits(old)
        }
    };
}

float_add!(add_f32, f32, AtomicU32);
float_add!(add_f64, f64, AtomicU64);

/// # Safety
/// As for `Atomic::rmw`, for `N` elements.
pub unsafe fn load_chunk<T: crate::atomic::Atomic, const N: usize>(
    ptr: *mut T,
    how: How,
) -> [T; N] {
    // SAFETY: by the contract.
    core::array::from_fn(|i| unsafe { T::load(ptr.add(i), how) })
}

/// # Safety
/// As for `Atomic::rmw`, for `N` elements.
pub unsafe fn store_chunk<T: crate::atomic::Atomic, const N: usize>(
    ptr: *mut T,
    values: [T; N],
    how: How,
) {
    for (i, value) in values.into_iter().enumerate() {
        // SAFETY: by the contract.
        unsafe { T::store(ptr.add(i), value, how) }
    }
}
