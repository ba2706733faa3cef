//! Bulk copies on the CPU executor.

use super::{
    super::{
        block::BlockState,
        copies::{AsyncCopy, Moment},
        fault::FaultKind,
        lane::Lane,
        mutate, shadow,
    },
    Place, check_within,
};

/// Checks the side of a copy of `count` elements from element `i` on: bounds, and multiples of 16 bytes.
#[track_caller]
pub fn check<T>(start: *const T, len: usize, i: usize, count: usize, write: bool) {
    let lane = Lane::current();
    let at = Place::here().0;
    check_within(start, len, i, count, write);
    let bytes = count * size_of::<T>();
    if !bytes.is_multiple_of(16) {
        let what = format!("a bulk copy of a multiple of 16 bytes required, given {bytes}");
        lane.block().fail(lane, FaultKind::Argument { what, at });
    }
    let address = start.wrapping_add(i).addr();
    if !address.is_multiple_of(16) {
        let view = lane.block().param_name(start.addr());
        let kind = FaultKind::Misaligned {
            view,
            index: i,
            address,
            required: 16,
            at,
        };
        lane.block().fail(lane, kind);
    }
}

/// # Safety
/// `to + i` must be to `count` elements of shared memory, and `from + j` to as many of global memory.
pub unsafe fn load<T>(
    to: *mut T,
    i: usize,
    (from, j): (*const T, usize),
    count: usize,
    mbarrier: *mut u64,
    at: Place,
) {
    let lane = Lane::current();
    // SAFETY: by the contract.
    unsafe { load_in(lane.block(), (to, i), (from, j), count, mbarrier, at) }
}

/// # Safety
/// As for [`load`], in each block of the ranks.
pub unsafe fn load_to<T>(
    (to, i, ranks): (*mut T, usize, u16),
    from: (*const T, usize),
    count: usize,
    mbarrier: *mut u64,
    at: Place,
) {
    let lane = Lane::current();
    for (peer, [to, mbarrier]) in lane.block().peers(lane, ranks, [to.cast(), mbarrier], at.0) {
        // SAFETY: by the contract.
        unsafe { load_in(peer, (to.cast(), i), from, count, mbarrier, at) };
    }
}

/// Starts a copy to the shared memory of a block of the cluster.
///
/// # Safety
/// As for [`load`].
unsafe fn load_in<T>(
    block: &BlockState,
    (to, i): (*mut T, usize),
    (from, j): (*const T, usize),
    count: usize,
    mbarrier: *mut u64,
    at: Place,
) {
    if count == 0 {
        return;
    }
    let lane = Lane::current();
    let copy = AsyncCopy {
        to: to.wrapping_add(i).cast(),
        from: from.wrapping_add(j).cast(),
        view: from.cast(),
        bytes: count * size_of::<T>(),
        given: count * size_of::<T>(),
        to_tf32: false,
        at: at.0,
        moment: Moment::Wait,
    };
    block.load_starts(lane, copy, mbarrier.addr());
}

/// # Safety
/// `to + j` must be to `count` elements of global memory, and `from + i` to as many of shared memory.
pub unsafe fn store<T>(
    (to, j): (*mut T, usize),
    from: *const T,
    i: usize,
    count: usize,
    at: Place,
) {
    if count == 0 {
        return;
    }
    let copy = AsyncCopy {
        to: to.wrapping_add(j).cast(),
        from: from.wrapping_add(i).cast(),
        view: to.cast(),
        bytes: count * size_of::<T>(),
        given: count * size_of::<T>(),
        to_tf32: false,
        at: at.0,
        moment: Moment::Wait,
    };
    // SAFETY: by the contract.
    unsafe { start_store(Lane::current(), copy) };
}

/// Starts a copy to global memory, whose bytes move at a moment that the order decides.
///
/// # Safety
/// The copy's source and destination must be those of valid views.
pub(super) unsafe fn start_store(lane: &Lane, mut copy: AsyncCopy) {
    let block = lane.block();
    let mut stores = lane.stores.borrow_mut();
    copy.moment = stores.next_moment(block.options.order, block.block_idx.get(), lane.linear);
    drop(stores);
    block.changed();
    shadow::store_starts(lane, &copy);
    // SAFETY: by the contract. Shared memory lives as long as the block's lanes, and global memory as long as the launch.
    unsafe { lane.stores.borrow_mut().start(copy) };
}

#[track_caller]
pub fn commit_group() {
    if !mutate::commit_is_dropped(Place::here().0) {
        Lane::current().stores.borrow_mut().commit_group();
    }
}

fn wait_read(lane: &Lane, pending: usize) {
    let read = lane.stores.borrow_mut().wait_group_read(pending);
    shadow::stores_are_read(lane, &read);
    lane.block().changed();
}

#[track_caller]
pub fn wait_group_read<const PENDING: u32>() {
    if let Some(pending) = mutate::wait(PENDING as usize, Place::here().0) {
        wait_read(Lane::current(), pending);
    }
}

#[track_caller]
pub fn wait_group<const PENDING: u32>() {
    if let Some(pending) = mutate::wait(PENDING as usize, Place::here().0) {
        let lane = Lane::current();
        wait_read(lane, pending);
        let written = lane.stores.borrow_mut().wait_group(pending);
        shadow::stores_are_written(lane, &written);
    }
}

pub fn fence_proxy_async() {
    let lane = Lane::current();
    lane.block().mbarrier_fence(lane);
    shadow::with(|tracker| tracker.proxy_fence(lane.linear));
}
