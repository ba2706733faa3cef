//! Asynchronous copies on the CPU executor.

use super::{
    super::{copies::AsyncCopy, fault::FaultKind, lane::Lane, mutate, shadow},
    Place, check_alignment, check_within,
};

/// Checks the source of a copy of `count` elements, which fills the rest of `N` with zeros.
#[track_caller]
pub fn check_part<T, const N: usize>(from: *const T, len: usize, j: usize, count: usize) {
    if count > N {
        let lane = Lane::current();
        let what = format!("an asynchronous copy of {N} elements at most required, given {count}");
        let at = Place::here().0;
        lane.block().fail(lane, FaultKind::Argument { what, at });
    }
    if count > 0 {
        check_within(from, len, j, count, false);
    }
    check_alignment(from, j, N);
}

/// # Safety
/// As for [`start_part`] with all of `N` elements.
pub unsafe fn start<T, const N: usize>(to: *mut T, i: usize, from: *const T, j: usize, at: Place) {
    // SAFETY: by the contract.
    unsafe { start_part::<T, N>(to, i, from, j, N, at) }
}

/// # Safety
/// `to + i` must be to `N` elements of shared memory, and `from + j` to `count` elements. Zeros must be valid elements
/// unless `count` is `N`.
pub unsafe fn start_part<T, const N: usize>(
    to: *mut T,
    i: usize,
    from: *const T,
    j: usize,
    count: usize,
    at: Place,
) {
    let lane = Lane::current();
    let block = lane.block();
    let mut copies = lane.copies.borrow_mut();
    let moment = copies.next_moment(block.options.order, block.block_idx.get(), lane.linear);
    let copy = AsyncCopy {
        to: to.wrapping_add(i).cast(),
        from: from.wrapping_add(j).cast(),
        view: from.cast(),
        bytes: N * size_of::<T>(),
        given: count * size_of::<T>(),
        to_tf32: false,
        at: at.0,
        moment,
    };
    drop(copies);
    block.changed();
    shadow::copy_starts(lane, &copy);
    // SAFETY: by the contract. Shared memory lives as long as the block's lanes, and global memory as long as the launch.
    unsafe { lane.copies.borrow_mut().start(copy) };
}

#[track_caller]
pub fn commit_group() {
    if !mutate::commit_is_dropped(Place::here().0) {
        Lane::current().copies.borrow_mut().commit_group();
    }
}

#[track_caller]
pub fn wait_group<const PENDING: u32>() {
    if let Some(pending) = mutate::wait(PENDING as usize, Place::here().0) {
        wait(pending);
    }
}

#[track_caller]
pub fn wait_all() {
    if let Some(pending) = mutate::wait(0, Place::here().0) {
        Lane::current().copies.borrow_mut().commit_group();
        wait(pending);
    }
}

fn wait(pending: usize) {
    let lane = Lane::current();
    let done = lane.copies.borrow_mut().wait_group(pending);
    shadow::copies_are_done(lane, &done);
}
