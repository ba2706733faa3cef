//! `async_copy`.

use cuda_std::{async_copy, prelude::*};

/// Stages of the ring of buffers in [`async_copies`].
const STAGES: usize = 3;

/// Tiles of a chunk per lane, through a ring of buffers: three tiles are on their way at a time. Each lane
/// puts out the chunk of the lane at the other end.
///
/// # Safety
/// One block of at most 32 lanes; whole tiles, and `output` as long as `input`.
#[kernel(instances(
    b4: (u8, 4), b8: (u8, 8), b16: (u8, 16), h2: (u16, 2), h8: (u16, 8), w1: (u32, 1), w2: (u32, 2),
    w4: (u32, 4), f4: (f32, 4), l1: (u64, 1), l2: (u64, 2), d2: (f64, 2), q1: (u128, 1)
))]
pub unsafe fn async_copies<T: Plain, const N: usize>(input: Global<T>, output: GlobalMut<T>) {
    let ring = shared![T; STAGES * 32 * 16];
    let t = thread::thread_idx_x() as usize;
    let lanes = thread::block_dim_x() as usize;
    let tiles = input.len() / (lanes * N);
    let start = |tile: usize| {
        if tile < tiles {
            let from = (tile * lanes + t) * N;
            ring.copy_async_chunk::<N>((tile % STAGES * lanes + t) * N, input, from);
        }
        async_copy::commit_group();
    };
    start(0);
    start(1);
    let mut tile = 0;
    while tile < tiles {
        start(tile + 2);
        async_copy::wait_group::<2>();
        thread::sync_threads();
        let other = (tile % STAGES * lanes + lanes - 1 - t) * N;
        output.set_chunk((tile * lanes + t) * N, ring.get_chunk::<N>(other));
        thread::sync_threads();
        tile += 1;
    }
}

/// A chunk per lane, of which there may be no more than a part, with zeros for the rest.
///
/// # Safety
/// `output` has a chunk for each of at most 64 lanes of a block.
#[kernel(instances(b4: (u8, 4), h4: (u16, 4), w1: (u32, 1), w4: (u32, 4), l2: (u64, 2)))]
pub unsafe fn async_copies_or_zeros<T: Plain, const N: usize>(
    input: Global<T>,
    output: GlobalMut<T>,
) {
    let tile = shared![T; 64 * 4];
    let t = thread::thread_idx_x() as usize;
    let count = input.len().saturating_sub(t * N).min(N);
    // Where nothing is to be read, far from anything that could be.
    let from = if count == 0 { t << 32 } else { t * N };
    tile.copy_async_chunk_or_zeros::<N>(t * N, input, from, count);
    async_copy::wait_all();
    output.set_chunk(t * N, tile.get_chunk::<N>(t * N));
}

/// What a lane has just written is what it copies; it waits for its first copy, not for its second, and each
/// result is of another lane's.
///
/// # Safety
/// One block; an element of `input` for each of at most 64 lanes, and three of `output`.
#[kernel]
pub unsafe fn async_copies_of_own(input: Global<u32>, output: GlobalMut<u32>) {
    let tile = shared![u32; 2 * 64];
    let t = thread::thread_idx_x() as usize;
    let lanes = thread::block_dim_x() as usize;
    output.set(t, input.get(t) ^ 0xffff);
    tile.copy_async(t, output, t);
    async_copy::commit_group();
    tile.copy_async(64 + t, input, t);
    // The second is in no group.
    async_copy::wait_group::<0>();
    thread::sync_threads();
    output.set(lanes + t, tile.get(lanes - 1 - t));
    async_copy::wait_all();
    thread::sync_threads();
    output.set(2 * lanes + t, tile.get(64 + (t + 1) % lanes));
}
