//! Races in which atomic operations have a part: for whom they are atomic, and what an earlier access still
//! counts for behind them.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{
    assert_at, block,
    races::{clean, race, says},
};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use cuda_std::{
    async_copy,
    atomic::Scope,
    cpu::{AccessKind, FaultKind},
    kernel::LaunchConfig,
    prelude::*,
};

/// In what order this lane comes among those that ask; it orders nothing.
fn ticket(values: GlobalMut<u32>) -> u32 {
    values.atomic_add(63, 1)
}

const BLOCKS: fn(u32) -> LaunchConfig = |blocks| LaunchConfig::linear(blocks, 1);

/// The first lane to come touches element 0, then sets a flag. The second sees the flag, then adds to it.
///
/// `how % 16`: 0 a plain write and then an atomic addition, 1 to 4 an atomic load, store, failing and
/// succeeding exchange in its place, 5 a plain read and then the addition, 6 a write, the addition and
/// another write, 7 the addition and then the write, 8 the write and two additions, 9 the addition alone,
/// 10 nothing. From 16 on the flag orders.
#[kernel]
pub unsafe fn own_atomic(values: GlobalMut<u32>, how: u32) {
    let t = thread::thread_idx_x();
    if t != 0 && t != 40 {
        return;
    }
    let (store, load) = match how < 16 {
        true => (Relaxed, Relaxed),
        false => (Release, Acquire),
    };
    if ticket(values) == 0 {
        let how = how % 16;
        match how {
            5 => _ = values.get(0),
            7 | 9 | 10 => {}
            _ => values.set(0, 5),
        }
        match how {
            1 => _ = values.atomic_load(0, Relaxed, Scope::Device),
            2 => values.atomic_store(0, 4, Relaxed, Scope::Device),
            3 => _ = values.atomic_compare_exchange(0, 9, 8),
            4 => _ = values.atomic_compare_exchange(0, 5, 8),
            8 => _ = values.atomic_add(0, 1) + values.atomic_add(0, 1),
            10 => {}
            _ => _ = values.atomic_add(0, 1),
        }
        if how == 6 || how == 7 {
            values.set(0, 5);
        }
        values.atomic_store(1, 1, store, Scope::Device);
    } else {
        while values.atomic_load(1, load, Scope::Device) == 0 {}
        values.atomic_add(0, 1);
    }
}

#[test]
fn an_atomic_operation_does_not_hide_what_its_lane_did_before() {
    for config in [block(64), BLOCKS(2)] {
        for how in 0..=8 {
            race::<OwnAtomic>(config, how);
            clean::<OwnAtomic>(config, 16 + how);
        }
        for how in [9, 10] {
            clean::<OwnAtomic>(config, how);
        }
    }
}

/// Lane 0 clears a counter, and all lanes count.
///
/// `how`: 0 in global memory, 1 without a barrier, 2 and 3 the same in shared memory.
#[kernel]
pub unsafe fn cleared(values: GlobalMut<u32>, how: u32) {
    let counter = shared![u32; 1];
    if thread::thread_idx_x() == 0 {
        match how < 2 {
            true => values.set(0, 0),
            false => counter.set(0, 0),
        }
    }
    if how.is_multiple_of(2) {
        thread::sync_threads();
    }
    match how < 2 {
        true => _ = values.atomic_add(0, 1),
        false => _ = counter.atomic_add(0, 1),
    }
}

#[test]
fn a_counter_that_one_lane_clears_needs_a_barrier_before_the_others_count() {
    for threads in [32, 64] {
        clean::<Cleared>(block(threads), 0);
        race::<Cleared>(block(threads), 1);
        clean::<Cleared>(LaunchConfig::linear(2, threads), 2);
        race::<Cleared>(block(threads), 3);
    }
    // A barrier orders no other block.
    race::<Cleared>(LaunchConfig::linear(2, 32), 0);
}

/// The first block writes plainly; its lanes count behind a barrier. The second one counts too.
///
/// `how`: 0 it has acquired all that, 1 it has no order with it, 2 it has acquired the write, but reads
/// plainly what the lanes have counted.
#[kernel]
pub unsafe fn behind_the_barrier(values: GlobalMut<u32>, how: u32) {
    let first = shared![u32; 1];
    let t = thread::thread_idx_x();
    if t == 0 {
        first.set(0, ticket(values));
    }
    thread::sync_threads();
    if first.get(0) == 0 {
        if t == 9 {
            values.set(0, 1);
            if how == 2 {
                values.atomic_store(1, 1, Release, Scope::Device);
            }
        }
        thread::sync_threads();
        values.atomic_add(0, 1);
        thread::sync_threads();
        if t == 0 && how == 0 {
            values.atomic_store(1, 1, Release, Scope::Device);
        }
    } else {
        if how != 1 && t == 0 {
            values.wait_until(1, Acquire, Scope::Device, |told| told == 1);
        }
        thread::sync_threads();
        values.atomic_add(0, 1);
        thread::sync_threads();
        if how == 2 && t == 1 {
            values.get(0);
        }
    }
}

#[test]
fn a_plain_write_counts_behind_ordered_operations_of_its_block() {
    clean::<BehindTheBarrier>(LaunchConfig::linear(2, 40), 0);
    for how in [1, 2] {
        race::<BehindTheBarrier>(LaunchConfig::linear(2, 40), how);
    }
}

/// Three blocks, one lane each. The first two touch element 0, and the last one writes it.
///
/// `how`: 0 both tell the last one, 1 only the second one does; 2 and 3 the same with atomic
/// additions in the place of reads.
#[kernel]
pub unsafe fn two_before(values: GlobalMut<u32>, how: u32) {
    let touch = || match how < 2 {
        true => values.get(0),
        false => values.atomic_add(0, 1),
    };
    match ticket(values) {
        0 => {
            touch();
            if how.is_multiple_of(2) {
                values.atomic_add_with(1, 1, Release, Scope::Device);
            }
        }
        1 => {
            touch();
            values.atomic_add_with(1, 1, Release, Scope::Device);
        }
        _ => {
            let told = if how.is_multiple_of(2) { 2 } else { 1 };
            values.wait_until(1, Acquire, Scope::Device, |came| came == told);
            values.set(0, 1);
        }
    }
}

#[test]
fn every_block_that_touched_an_element_counts() {
    for how in [0, 2] {
        clean::<TwoBefore>(BLOCKS(3), how);
    }
    for how in [1, 3] {
        race::<TwoBefore>(BLOCKS(3), how);
    }
}

/// The first block fences and sets a flag; the second one sees it, fences, and writes.
///
/// `how`: 0 it writes the flag, 1 an element that the first block has changed atomically before the
/// fence, 2 one that it has changed between the fence and the flag.
#[kernel]
pub unsafe fn behind_the_fence(values: GlobalMut<u32>, how: u32) {
    if ticket(values) == 0 {
        if how == 1 {
            values.atomic_add(0, 1);
        }
        thread::device_fence();
        if how == 2 {
            values.atomic_add(0, 1);
        }
        values.atomic_store(1, 1, Relaxed, Scope::Device);
    } else {
        values.wait_until(1, Relaxed, Scope::Device, |flag| flag == 1);
        thread::device_fence();
        values.set(usize::from(how == 0), 1);
    }
}

#[test]
fn a_fence_releases_what_is_before_it_and_the_flag_behind_it() {
    clean::<BehindTheFence>(BLOCKS(2), 0);
    clean::<BehindTheFence>(BLOCKS(2), 1);
    race::<BehindTheFence>(BLOCKS(2), 2);
}

/// The blocks count together.
///
/// `how`: 0 with the device as the scope, 1 with the block, 2 with the block in one of them, 3 with the
/// block, each when it has the element to itself, 4 in shared memory, 5 loads of scope block beside the first block's
/// addition, 6 loads only.
#[kernel]
pub unsafe fn scopes(values: GlobalMut<u32>, how: u32) {
    let counter = shared![u32; 1];
    let came = shared![u32; 1];
    if thread::thread_idx_x() == 0 {
        counter.set(0, 0);
        came.set(0, ticket(values));
    }
    thread::sync_threads();
    let first = came.get(0) == 0;
    let add = |scope| _ = values.atomic_add_with(0, 1, Relaxed, scope);
    let load = |scope| _ = values.atomic_load(0, Relaxed, scope);
    match how {
        0 => add(Scope::Device),
        1 => add(Scope::Block),
        2 if first => add(Scope::System),
        2 => add(Scope::Block),
        3 => {
            if thread::thread_idx_x() == 0 && !first {
                values.wait_until(1, Acquire, Scope::Device, |came| came == 1);
            }
            thread::sync_threads();
            add(Scope::Block);
            thread::sync_threads();
            if thread::thread_idx_x() == 0 {
                values.atomic_add_with(1, 1, Release, Scope::Device);
            }
        }
        4 => _ = counter.atomic_add_with(0, 1, Relaxed, Scope::Block),
        5 if first => add(Scope::Device),
        _ => load(Scope::Block),
    }
}

#[test]
fn operations_of_scope_block_are_not_atomic_for_other_blocks() {
    let two = LaunchConfig::linear(2, 40);
    for how in [0, 3, 4, 6] {
        clean::<Scopes>(two, how);
    }
    for how in [1, 2, 5] {
        let faults = race::<Scopes>(two, how);
        says(&faults, &["of scope block"]);
    }
    // One block is no other one.
    for how in 0..=6 {
        clean::<Scopes>(block(40), how);
    }
}

/// Half of the lanes touch the first eight bytes as one element, the others as two.
///
/// `how`: 0 in turn, with a barrier between, 1 at the same time, 2 loads only, 3 a load of eight bytes beside
/// additions to four, 4 four bytes only, of both halves; 16 on: the same where bytes of the page have been touched.
#[kernel]
pub unsafe fn widths(values: GlobalMut<u32>, how: u32) {
    let t = thread::thread_idx_x();
    // SAFETY: the first elements, aligned to eight bytes.
    let wide = unsafe { GlobalMut::from_raw_parts(values.as_ptr().cast::<u64>(), 1) };
    // SAFETY: the bytes of the elements.
    let bytes = unsafe { GlobalMut::from_raw_parts(values.as_ptr().cast::<u8>(), 256) };
    if how >= 16 {
        bytes.set(128 + t as usize, 1);
    }
    let how = how % 16;
    let half = (t / 2 % 2) as usize;
    if t.is_multiple_of(2) {
        match how {
            0 | 1 => _ = wide.atomic_add(0, 1),
            2 | 3 => _ = wide.atomic_load(0, Relaxed, Scope::Device),
            _ => _ = values.atomic_add(half, 1),
        }
    }
    if how == 0 {
        thread::sync_threads();
    }
    if t % 2 == 1 {
        match how {
            2 => _ = values.atomic_load(half, Relaxed, Scope::Device),
            _ => _ = values.atomic_add(half, 1),
        }
    }
}

#[test]
fn overlapping_operations_of_two_widths_are_not_atomic_for_each_other() {
    for bytes in [0, 16] {
        for how in [0, 2, 4] {
            clean::<Widths>(block(64), bytes + how);
        }
        for how in [1, 3] {
            let faults = race::<Widths>(block(64), bytes + how);
            says(&faults, &["of another width (", " bytes)"]);
        }
    }
}

/// Lane 0 copies an element asynchronously to shared memory.
///
/// `how`: another lane meanwhile 0 loads the source atomically, 1 adds to it; lane 0 itself adds to what it has
/// copied, and another lane, told by a relaxed flag, does too: 2 behind a barrier, 3 not.
#[kernel]
pub unsafe fn copies(values: GlobalMut<u32>, how: u32) {
    let tile = shared![u32; 64];
    let t = thread::thread_idx_x();
    if t == 0 {
        tile.copy_async(0, values, 0);
        if how < 2 {
            values.atomic_store(1, 1, Relaxed, Scope::Device);
            while values.atomic_load(2, Relaxed, Scope::Device) == 0 {}
        }
        async_copy::wait_all();
        if how >= 2 {
            tile.atomic_add(0, 1);
            values.atomic_store(1, 1, Relaxed, Scope::Device);
        }
    }
    if how == 2 {
        thread::sync_threads();
    }
    if t == 50 {
        while values.atomic_load(1, Relaxed, Scope::Device) == 0 {}
        match how {
            0 => _ = values.atomic_load(0, Relaxed, Scope::Device),
            1 => _ = values.atomic_add(0, 1),
            _ => _ = tile.atomic_add(0, 1),
        }
        values.atomic_store(2, 1, Relaxed, Scope::Device);
    }
}

#[test]
fn asynchronous_copies_count_as_the_reads_and_writes_that_they_are() {
    for how in [0, 2] {
        clean::<Copies>(block(64), how);
    }
    for how in [1, 3] {
        let faults = race::<Copies>(block(64), how);
        says(&faults, &["asynchronously", "changes atomically"]);
    }
}

/// Lanes of a warp read in different lines; one of them tells lane 40, which writes.
#[kernel]
pub unsafe fn lines(values: GlobalMut<u32>, how: u32) {
    let _ = how;
    match thread::thread_idx_x() {
        2 => {
            values.get(0);
            values.atomic_store(1, 1, Release, Scope::Block);
        }
        3 => {
            values.get(0);
            values.atomic_store(2, 1, Relaxed, Scope::Block);
        }
        40 => {
            while values.atomic_load(1, Acquire, Scope::Block) == 0 {}
            while values.atomic_load(2, Acquire, Scope::Block) == 0 {}
            values.set(0, 1);
        }
        _ => {}
    }
}

const NOT_TOLD: u32 = line!() - 12;

#[test]
fn a_report_names_the_line_of_its_own_lane() {
    for fault in race::<Lines>(block(64), 0) {
        let FaultKind::Race {
            other_lane,
            other_at,
            other_touched,
            ..
        } = &fault.kind
        else {
            panic!("{fault}")
        };
        assert_eq!(other_lane[0], 3, "{fault}");
        assert_eq!(*other_touched, AccessKind::Read);
        assert_at(other_at, file!(), NOT_TOLD);
    }
}
