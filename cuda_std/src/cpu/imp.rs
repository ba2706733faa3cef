//! The device functions on the CPU executor.

use core::panic::Location;
use std::sync::atomic::Ordering;

use super::{block::BarrierKind, fault::FaultKind, lane::Lane, mutate, shadow};
use crate::{
    atomic::{Scope, Space},
    view::Hint,
};

pub mod async_copy;
pub mod atomic;
pub mod bulk;
pub mod cluster;
pub mod float;
pub mod heap;
pub mod mbarrier;
pub mod misc;
pub mod mma;
pub mod ptr;
pub mod tensor_map;
pub mod tensor_sum;
pub mod warp;
pub mod wgmma;

/// The line of the kernel's source that calls a device function.
#[derive(Debug, Clone, Copy)]
pub struct Place(pub &'static Location<'static>);

impl Place {
    #[inline(always)]
    #[track_caller]
    pub fn here() -> Self {
        Self(Location::caller())
    }
}

pub fn thread_idx_x_again() -> u32 {
    thread_idx::<0>()
}

#[inline]
pub fn thread_idx<const AXIS: usize>() -> u32 {
    Lane::current().thread_idx[AXIS]
}

#[inline]
pub fn block_idx<const AXIS: usize>() -> u32 {
    Lane::current().block().block_idx.get()[AXIS]
}

#[inline]
pub fn block_dim<const AXIS: usize>() -> u32 {
    Lane::current().block().config.block[AXIS]
}

#[inline]
pub fn grid_dim<const AXIS: usize>() -> u32 {
    Lane::current().block().config.grid[AXIS]
}

#[track_caller]
pub fn sync_threads() {
    barrier(BarrierKind::Sync, 0);
}

#[track_caller]
pub fn sync_threads_named(barrier: u32, threads: u32) {
    let (lane, at) = (Lane::current(), Location::caller());
    match mutate::barrier(at) {
        None => lane.block().named_barrier(lane, barrier, threads, at),
        Some(mutate::Change::ToWarp) => warp::meet(mutate::whole_warp(lane), Place(at)),
        Some(_) => {}
    }
}

#[track_caller]
pub fn sync_threads_count(predicate: u32) -> u32 {
    barrier(BarrierKind::Count, predicate)
}

#[track_caller]
pub fn sync_threads_and(predicate: u32) -> u32 {
    barrier(BarrierKind::And, predicate)
}

#[track_caller]
pub fn sync_threads_or(predicate: u32) -> u32 {
    barrier(BarrierKind::Or, predicate)
}

#[track_caller]
fn barrier(kind: BarrierKind, predicate: u32) -> u32 {
    let (lane, at) = (Lane::current(), Location::caller());
    if let Some(change) = mutate::barrier(at) {
        if change == mutate::Change::ToWarp {
            warp::meet(mutate::whole_warp(lane), Place(at));
        }
        return u32::from(predicate != 0);
    }
    lane.block().barrier(lane, kind, predicate != 0, at)
}

/// Does nothing: a coroutine has no registers to share.
pub fn decrease_registers<const COUNT: u32>() {}

/// Does nothing, as [`decrease_registers`].
pub fn increase_registers<const COUNT: u32>() {}

#[track_caller]
pub fn fence_block() {
    atomic::fence(Ordering::SeqCst, Scope::Block);
}

#[track_caller]
pub fn fence_device() {
    atomic::fence(Ordering::SeqCst, Scope::Device);
}

#[track_caller]
pub fn fence_system() {
    atomic::fence(Ordering::SeqCst, Scope::System);
}

#[track_caller]
pub fn nanosleep(_nanos: u32) {
    let lane = Lane::current();
    lane.block()
        .take_turns(lane, "nanosleep", Location::caller());
}

#[track_caller]
pub fn static_shared<A>(site: *const u8) -> *mut u8 {
    let lane = Lane::current();
    lane.block()
        .static_array::<A>(lane, site, Location::caller())
}

pub fn dynamic_shared() -> *mut u8 {
    Lane::current().block().dynamic_shared()
}

pub fn dynamic_shared_bytes() -> u32 {
    Lane::current().block().config.shared_bytes
}

pub fn total_shared_bytes() -> u32 {
    let block = Lane::current().block();
    block.config.shared_bytes + block.static_bytes() as u32
}

#[track_caller]
pub fn check_dynamic_shared(required: usize) {
    let lane = Lane::current();
    let given = lane.block().config.shared_bytes as usize;
    if required > given {
        let at = Location::caller();
        lane.block().fail(
            lane,
            FaultKind::SharedMemory {
                required,
                given,
                at,
            },
        );
    }
}

/// # Safety
/// This function has no requirements: it ends the lane.
#[track_caller]
pub unsafe fn misaligned_shared(offset: usize, align: usize) -> ! {
    let lane = Lane::current();
    let what = crate::shared::Misaligned { offset, align }.to_string();
    let at = Location::caller();
    lane.block().fail(lane, FaultKind::Argument { what, at })
}

/// What a view of shared memory knows of its array: the array's number, and how many times the lane has visited its
/// declaration. 0 if that is not followed.
pub type Visit = u64;

/// Checks that a view of shared memory is within one of the block's arrays.
#[inline]
#[track_caller]
pub unsafe fn assume_shared(ptr: *const u8, bytes: usize) -> Visit {
    let lane = Lane::current();
    lane.block()
        .check_shared(lane, ptr, bytes, Location::caller())
}

/// Returns the pointer: only the GPU's optimizer needs its address space.
#[inline(always)]
pub fn with_known_space<T>(ptr: *mut T) -> *mut T {
    ptr
}

/// Does nothing: only the GPU's optimizer merges loads of different memories.
#[inline(always)]
pub fn end_of_loads() {}

/// Checks that the lane has not visited the declaration of a view's array again since it got the view.
#[inline(always)]
#[track_caller]
pub fn check_current(visit: Visit) {
    if visit != 0 {
        let lane = Lane::current();
        lane.block().check_visit(lane, visit, Location::caller());
    }
}

#[track_caller]
pub fn trap() -> ! {
    let lane = Lane::current();
    lane.block().fail(
        lane,
        FaultKind::Trap {
            at: Location::caller(),
        },
    )
}

/// Makes the check that precedes every plain access through a view.
#[inline(always)]
#[track_caller]
pub fn check_access<T>(
    space: Space,
    ptr: *const T,
    len: usize,
    index: usize,
    count: usize,
    write: bool,
) {
    check_bounds(ptr, len, index, count, write);
    let (size, start) = (size_of::<T>(), ptr.addr());
    shadow::access(
        space,
        start,
        start + index * size,
        count * size,
        write,
        Location::caller(),
    );
}

/// Checks that an access is within the view, and aligned.
#[inline]
#[track_caller]
pub fn check_bounds<T>(ptr: *const T, len: usize, index: usize, count: usize, write: bool) {
    check_within(ptr, len, index, count, write);
    check_alignment(ptr, index, count);
}

/// Checks that an access is within the view.
#[inline]
#[track_caller]
fn check_within<T>(ptr: *const T, len: usize, index: usize, count: usize, write: bool) {
    if index > len || count > len - index {
        out_of_bounds(ptr.addr(), len, index, count, write);
    }
}

/// Checks that `count` elements from `index` on are aligned for an access.
#[inline]
#[track_caller]
fn check_alignment<T>(ptr: *const T, index: usize, count: usize) {
    // A chunk moves as one access. Other sizes move element by element.
    let bytes = count * size_of::<T>();
    let required = if matches!(bytes, 1 | 2 | 4 | 8 | 16) {
        bytes
    } else {
        align_of::<T>()
    };
    let offset = index.wrapping_mul(size_of::<T>());
    if !ptr
        .addr()
        .wrapping_add(offset)
        .is_multiple_of(required.max(align_of::<T>()))
    {
        misaligned(
            ptr.addr(),
            index,
            size_of::<T>(),
            required.max(align_of::<T>()),
        );
    }
}

#[cold]
#[track_caller]
fn out_of_bounds(address: usize, len: usize, index: usize, count: usize, write: bool) -> ! {
    let lane = Lane::current();
    let view = lane.block().param_name(address);
    let at = Location::caller();
    lane.block().fail(
        lane,
        FaultKind::OutOfBounds {
            view,
            index,
            count,
            len,
            write,
            at,
        },
    )
}

#[cold]
#[track_caller]
fn misaligned(start: usize, index: usize, size: usize, required: usize) -> ! {
    let lane = Lane::current();
    let view = lane.block().param_name(start);
    let at = Location::caller();
    let address = start.wrapping_add(index.wrapping_mul(size));
    lane.block().fail(
        lane,
        FaultKind::Misaligned {
            view,
            index,
            address,
            required,
            at,
        },
    )
}

/// # Safety
/// `ptr` must be to `N` readable elements.
#[inline(always)]
pub unsafe fn load<T: Copy, const N: usize>(ptr: *const T) -> [T; N] {
    // SAFETY: by the contract.
    unsafe { ptr.cast::<[T; N]>().read() }
}

/// # Safety
/// `ptr` must be to `N` readable elements.
#[inline(always)]
pub unsafe fn load_hinted<T: Copy, const N: usize>(ptr: *const T, _: Hint) -> [T; N] {
    // SAFETY: by the contract.
    unsafe { load(ptr) }
}

/// # Safety
/// `ptr` must be to room for `N` elements.
#[inline(always)]
pub unsafe fn store<T: Copy, const N: usize>(ptr: *mut T, values: [T; N]) {
    // SAFETY: by the contract.
    unsafe { ptr.cast::<[T; N]>().write(values) }
}

/// # Safety
/// `ptr` must be to room for `N` elements.
#[inline(always)]
pub unsafe fn store_hinted<T: Copy, const N: usize>(ptr: *mut T, values: [T; N], _: Hint) {
    // SAFETY: by the contract.
    unsafe { store(ptr, values) }
}
