//! `mbarrier`, `bulk` and `tensor_map`: instructions of compute capability 9.0.

use cuda_std::{
    bulk,
    mbarrier::{self, Mbarrier},
    prelude::*,
    tensor_map::{Swizzle, TensorMap},
};

/// Has each warp elect one of the lanes of its mask, twice. For the elected lanes of each time there is a bit.
///
/// # Safety
/// A mask for each warp of one block, and an element of `output` for each thread.
#[kernel]
pub unsafe fn elected(masks: Global<u32>, output: GlobalMut<u32>) {
    let mask = masks.get(warp::warp_id() as usize);
    if mask >> warp::lane_id() & 1 == 0 {
        return;
    }
    // SAFETY: all lanes of the mask have come, and no other one.
    let elected = unsafe { [warp::elect(mask), warp::elect(mask)] };
    let bits = u32::from(elected[0]) | u32::from(elected[1]) << 1;
    output.set(thread::thread_idx_x() as usize, bits);
}

/// The bytes of a tile of [`bulk_ring`], and its buffers.
const TILE_BYTES: usize = 1024;
const STAGES: usize = 3;

/// Turns each tile around, and inverts its bits. The first warp has tiles copied to a ring of buffers, the second turns them
/// around into another ring, from which its first lane has them copied out.
///
/// # Safety
/// Two warps a block; whole tiles, and `output` as long as `input`.
#[kernel(launch_bounds(64), instances(u8, u32, u128))]
pub unsafe fn bulk_ring<T: Plain + core::ops::Not<Output = T>>(
    input: Global<T>,
    output: GlobalMut<T>,
) {
    let tile_len = TILE_BYTES / size_of::<T>();
    let from = shared![u128; STAGES * TILE_BYTES / 16];
    let to = shared![u128; 2 * TILE_BYTES / 16];
    // SAFETY: the arrays start at multiples of 16 bytes.
    let (from, to) = unsafe { (from.cast::<T>(), to.cast::<T>()) };
    let objects = shared![u64; 2 * STAGES];
    let t = thread::thread_idx_x() as usize;
    let tiles = input.len() / tile_len;
    let (blocks, first) = (
        thread::grid_dim_x() as usize,
        thread::block_idx_x() as usize,
    );
    if t == 0 {
        let mut i = 0;
        while i < STAGES {
            Mbarrier::new(objects, i).init(1);
            Mbarrier::new(objects, STAGES + i).init(32);
            i += 1;
        }
        mbarrier::fence_init();
    }
    thread::sync_threads();
    let (mut stage, mut parity, mut side) = (0, 0, 0);
    let mut tile = first;
    while tile < tiles {
        let filled = Mbarrier::new(objects, stage);
        let empty = Mbarrier::new(objects, STAGES + stage);
        if t < 32 {
            empty.wait(1 - parity);
            if t == 0 {
                filled.arrive_expect_tx(TILE_BYTES as u32);
                from.load_bulk(stage * tile_len, input, tile * tile_len, tile_len, filled);
            }
        } else {
            let lane = t - 32;
            if lane == 0 {
                bulk::wait_group_read::<1>();
            }
            // SAFETY: the warp's lanes are here.
            unsafe { warp::sync_warp(warp::FULL_MASK) };
            filled.wait(parity);
            let mut i = lane;
            while i < tile_len {
                let value = from.get(stage * tile_len + tile_len - 1 - i);
                to.set(side * tile_len + i, !value);
                i += 32;
            }
            empty.arrive();
            bulk::fence_proxy_async();
            // SAFETY: as above.
            unsafe { warp::sync_warp(warp::FULL_MASK) };
            if lane == 0 {
                output.store_bulk(tile * tile_len, to, side * tile_len, tile_len);
                bulk::commit_group();
            }
        }
        tile += blocks;
        side = 1 - side;
        stage += 1;
        if stage == STAGES {
            (stage, parity) = (0, 1 - parity);
        }
    }
    if t == 32 {
        bulk::wait_group_read::<0>();
    }
}

/// All lanes arrive, and look until the phase is complete; each lane gets the number of the other end. The lane that started
/// the copy out reads it back behind the wait for it. The mbarrier's memory is used twice.
///
/// # Safety
/// One block of 64 threads, and 128 elements.
#[kernel(launch_bounds(64))]
pub unsafe fn mbarrier_phases(output: GlobalMut<u32>) {
    let objects = shared![u64; 1];
    let values = shared![u32; 64];
    let barrier = Mbarrier::new(objects, 0);
    let t = thread::thread_idx_x() as usize;
    let mut round = 0;
    while round < 2 {
        if t == 0 {
            barrier.init(64);
            mbarrier::fence_init();
        }
        thread::sync_threads();
        let mut phase = 0;
        while phase < 3 {
            values.set(t, (t + 100 * phase) as u32);
            bulk::fence_proxy_async();
            barrier.arrive();
            while !barrier.is_complete(phase as u32 % 2) {}
            let other = values.get(63 - t);
            if phase == 2 {
                if t == 5 {
                    output.store_bulk(64 * round, values, 0, 64);
                    bulk::commit_group();
                    bulk::wait_group::<0>();
                    let mut i = 0;
                    while i < 64 {
                        output.set(64 * round + i, output.get(64 * round + i) + 1000);
                        i += 1;
                    }
                }
                thread::sync_threads();
                let own = output.get(64 * round + t);
                output.set(64 * round + t, own * 1000 + other);
            }
            thread::sync_threads();
            phase += 1;
        }
        if t == 0 {
            barrier.invalidate();
        }
        thread::sync_threads();
        round += 1;
    }
}

/// The bytes of a tile of [`tile_moves`], and room to align it.
const ROOM: usize = 64 * 128 + 1024;

/// Loads tiles from one matrix, inverts their elements, and stores them at other places of another. Each block has a tile,
/// whose places are four numbers of `places`. `CODE` is the swizzle's; a row of a tile is as long as that, or 128 bytes without
/// one.
///
/// # Safety
/// A warp for every four elements of `places`; tiles of 64 rows.
#[kernel(launch_bounds(32), instances(
    plain: (u16, 0), s32: (u16, 1), s64: (u16, 2), s128: (u16, 3), w128: (u32, 3), b64: (u8, 2)
))]
pub unsafe fn tile_moves<T: Plain + core::ops::Not<Output = T>, const CODE: u32>(
    input: TensorMap,
    places: Global<i32>,
    output: TensorMap,
) {
    let (swizzle, row_bytes) = const {
        match CODE {
            0 => (Swizzle::None, 128),
            1 => (Swizzle::Bytes32, 32),
            2 => (Swizzle::Bytes64, 64),
            _ => (Swizzle::Bytes128, 128),
        }
    };
    let room = shared![u128; ROOM / 16].skip_to_multiple(1024);
    // SAFETY: the array starts at a multiple of 16 bytes.
    let tile = unsafe { room.cast::<T>() };
    let filled = Mbarrier::new(shared![u64; 1], 0);
    let lane = thread::thread_idx_x() as usize;
    let block = thread::block_idx_x() as usize;
    let [from_x, from_y, to_x, to_y] = [0, 1, 2, 3].map(|i| places.get(4 * block + i));
    let count = 64 * row_bytes / size_of::<T>();
    if lane == 0 {
        filled.init(1);
        mbarrier::fence_init();
        filled.arrive_expect_tx(64 * row_bytes as u32);
        tile.load_tile(0, input, [from_x, from_y], count, filled);
    }
    thread::sync_threads();
    filled.wait(0);
    let mut i = lane;
    while i < count {
        let place = swizzle.place(i * size_of::<T>()) / size_of::<T>();
        // Elements that lie elsewhere than they should would come out at other places.
        let row = i * size_of::<T>() / row_bytes;
        let value = tile.get(place);
        tile.set(place, if row.is_multiple_of(2) { value } else { !value });
        i += 32;
    }
    bulk::fence_proxy_async();
    thread::sync_threads();
    if lane == 0 {
        output.store_tile([to_x, to_y], tile, 0, count);
        bulk::commit_group();
        bulk::wait_group_read::<0>();
    }
}

/// Copies tiles of 64 x 8 elements from one stack of matrices to another. Each block has a tile, whose row and number in both
/// stacks are four numbers of `places`.
///
/// # Safety
/// A warp for every four elements of `places`.
#[kernel(launch_bounds(32))]
pub unsafe fn stack_moves(input: TensorMap, places: Global<i32>, output: TensorMap) {
    let tile = shared![u16; 64 * 8 + 64].skip_to_multiple(128);
    let filled = Mbarrier::new(shared![u64; 1], 0);
    let block = thread::block_idx_x() as usize;
    let [from_row, from, to_row, to] = [0, 1, 2, 3].map(|i| places.get(4 * block + i));
    if thread::thread_idx_x() == 0 {
        filled.init(1);
        mbarrier::fence_init();
        filled.arrive_expect_tx(2 * 64 * 8);
        tile.load_tile(0, input, [0, from_row, from], 64 * 8, filled);
        filled.wait(0);
        output.store_tile([0, to_row, to], tile, 0, 64 * 8);
        bulk::commit_group();
        bulk::wait_group_read::<0>();
    }
}
