//! Atomic operations as the CPU executor means them: those of the host, whatever the scope.

use core::sync::atomic::{self, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

use super::super::lane::Lane;
use crate::atomic::{How, Rmw, Scope};

pub fn fence(order: Ordering, _: Scope) {
    if order != Ordering::Relaxed {
        atomic::fence(order);
    }
}

/// Lets others run, so that a lane that waits in a loop for another one's write does not wait forever.
fn give_way() {
    if let Some(lane) = Lane::try_current()
        && !lane.block().take_turns(lane)
    {
        std::thread::yield_now();
    }
}

fn failure_order(order: Ordering) -> Ordering {
    match order {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        order => order,
    }
}

macro_rules! integer {
    ($ty:ident, $atomic:ident) => {
        /// The contract of every function is that of `Atomic::rmw`.
        pub mod $ty {
            use super::*;

            pub unsafe fn rmw(op: Rmw, ptr: *mut $ty, value: $ty, how: How) -> $ty {
                // SAFETY: by the contract.
                let element = unsafe { $atomic::from_ptr(ptr) };
                match op {
                    Rmw::Add => element.fetch_add(value, how.order),
                    Rmw::Min => element.fetch_min(value, how.order),
                    Rmw::Max => element.fetch_max(value, how.order),
                    Rmw::And => element.fetch_and(value, how.order),
                    Rmw::Or => element.fetch_or(value, how.order),
                    Rmw::Xor => element.fetch_xor(value, how.order),
                    Rmw::Exchange => {
                        let old = element.swap(value, how.order);
                        // Nothing has changed: it may be a lock that somebody else holds.
                        if old == value {
                            give_way();
                        }
                        old
                    }
                }
            }

            pub unsafe fn cas(ptr: *mut $ty, current: $ty, new: $ty, how: How) -> $ty {
                // SAFETY: by the contract.
                let element = unsafe { $atomic::from_ptr(ptr) };
                match element.compare_exchange(current, new, how.order, failure_order(how.order)) {
                    Ok(old) => old,
                    Err(old) => {
                        give_way();
                        old
                    }
                }
            }

            pub unsafe fn load(ptr: *mut $ty, how: How) -> $ty {
                give_way();
                // SAFETY: by the contract.
                unsafe { $atomic::from_ptr(ptr) }.load(how.order)
            }

            pub unsafe fn store(ptr: *mut $ty, value: $ty, how: How) {
                // SAFETY: by the contract.
                unsafe { $atomic::from_ptr(ptr) }.store(value, how.order);
            }
        }
    };
}

integer!(u32, AtomicU32);
integer!(i32, AtomicI32);
integer!(u64, AtomicU64);
integer!(i64, AtomicI64);

macro_rules! float_add {
    ($name:ident, $ty:ident, $atomic:ident) => {
        /// # Safety
        /// As for `Atomic::rmw`.
        pub unsafe fn $name(ptr: *mut $ty, value: $ty, how: How) -> $ty {
            // SAFETY: by the contract; the integer has the float's size and alignment.
            let element = unsafe { $atomic::from_ptr(ptr.cast()) };
            let sum = |old| Some(($ty::from_bits(old) + value).to_bits());
            match element.fetch_update(how.order, failure_order(how.order), sum) {
                Ok(old) | Err(old) => $ty::from_bits(old),
            }
        }
    };
}

float_add!(add_f32, f32, AtomicU32);
float_add!(add_f64, f64, AtomicU64);
