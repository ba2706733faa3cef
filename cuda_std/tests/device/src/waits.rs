//! Waits for words.

use core::sync::atomic::Ordering;

use cuda_std::{
    atomic::{AtomicInt, Backoff, Scope},
    prelude::*,
};

/// What a tile tells of.
const SUM: u64 = 1;
const PREFIX: u64 = 2;

/// Inclusive prefix sums by look-back over tiles of 32, modulo 2^32: each block takes the next tile by a ticket until none
/// is left. What a tile tells is in one word (`ONE_WORD`), or in another one than its state.
///
/// # Safety
/// Blocks of a warp; whole tiles, `sums` as long as `input`, and `states` zeros: one word, and three for each tile.
#[kernel(instances(one_word: (true), two_words: (false)))]
pub unsafe fn look_back<const ONE_WORD: bool>(
    input: Global<u32>,
    sums: GlobalMut<u32>,
    states: GlobalMut<u64>,
) {
    let lane = thread::thread_idx_x();
    let tiles = input.len() / 32;
    loop {
        let ticket = match lane {
            0 => states.atomic_add(3 * tiles, 1) as u32,
            _ => 0,
        };
        let tile = warp::shuffle(u32::MAX, ticket, 0) as usize;
        if tile >= tiles {
            return;
        }
        let i = tile * 32 + lane as usize;
        let mut sum = input.get(i);
        let mut step = 1;
        while step < 32 {
            let below = warp::shuffle_up(u32::MAX, sum, step);
            if lane >= step {
                sum = sum.wrapping_add(below);
            }
            step *= 2;
        }
        let before = match (lane, ONE_WORD) {
            (31, true) => before_by_one_word(states, tile, sum),
            (31, false) => before_by_two_words(states, tiles, tile, sum),
            _ => 0,
        };
        let before = warp::shuffle(u32::MAX, before, 31);
        sums.set(i, before.wrapping_add(sum));
    }
}

fn before_by_one_word(states: GlobalMut<u64>, tile: usize, sum: u32) -> u32 {
    let tell = |kind: u64, value: u32| {
        let word = kind << 32 | u64::from(value);
        states.atomic_store(tile, word, Ordering::Relaxed, Scope::Device);
    };
    tell(if tile == 0 { PREFIX } else { SUM }, sum);
    let (mut before, mut other) = (0_u32, tile);
    while other > 0 {
        other -= 1;
        let word = states.wait_until(other, Ordering::Relaxed, Scope::Device, |word| word != 0);
        before = before.wrapping_add(word as u32);
        if word >> 32 == PREFIX {
            break;
        }
    }
    if tile > 0 {
        tell(PREFIX, before.wrapping_add(sum));
    }
    before
}

fn before_by_two_words(states: GlobalMut<u64>, tiles: usize, tile: usize, sum: u32) -> u32 {
    let tell = |kind: u64, value: u32| {
        states.set(tiles * kind as usize + tile, u64::from(value));
        states.atomic_store(tile, kind, Ordering::Release, Scope::Device);
    };
    tell(if tile == 0 { PREFIX } else { SUM }, sum);
    let (mut before, mut other) = (0_u32, tile);
    while other > 0 {
        other -= 1;
        let kind = states.wait_until(other, Ordering::Acquire, Scope::Device, |kind| kind != 0);
        before = before.wrapping_add(states.get(tiles * kind as usize + other) as u32);
        if kind == PREFIX {
            break;
        }
    }
    if tile > 0 {
        tell(PREFIX, before.wrapping_add(sum));
    }
    before
}

/// An integer of a kind, for tests of all.
pub trait Count: AtomicInt {
    /// As a number.
    fn number(self) -> u64;
    /// A number as one.
    fn of(number: u64) -> Self;
}

macro_rules! count {
    ($($ty:ident),*) => { $(
        impl Count for $ty {
            fn number(self) -> u64 {
                self as u64
            }
            fn of(number: u64) -> Self {
                number as $ty
            }
        }
    )* };
}
count!(u32, i32, u64, i64);

/// The lanes of all blocks go on in turn, the last one first, by a word of shared memory, and their blocks by one of global
/// memory: each puts out the two words that it has waited for and what it counts.
///
/// # Safety
/// Two blocks at most, which run at once. `output` has three elements for each lane, and two more: zeros.
#[kernel(instances(u32: (u32), i32: (i32), u64: (u64), i64: (i64)))]
pub unsafe fn in_turn<T: Count>(output: GlobalMut<T>) {
    let turn = shared![T; 1];
    let (lane, lanes) = (thread::thread_idx_x(), thread::block_dim_x());
    let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    let count = output.len() - 1;
    let word = output.len() - 2;
    if lane == 0 {
        turn.set(0, T::of(0));
    }
    thread::sync_threads();
    // The highest bit is of the word too.
    let of_block =
        |block: u32| T::of(u64::from(block) | u64::from(block) << 60 | u64::from(block) << 30);
    let mine = (blocks - 1 - block, lanes - 1 - lane);
    let (order, scope) = match lane % 2 {
        0 => (Ordering::Acquire, Scope::Device),
        _ => (Ordering::SeqCst, Scope::System),
    };
    let by_lane = match lane % 3 {
        0 => turn.wait_until(0, order, Scope::Block, |n| n.number() == u64::from(mine.1)),
        1 => turn.wait_until_with(0, order, Scope::Device, Backoff::NONE, |n| {
            n.number() == u64::from(mine.1)
        }),
        _ => {
            let backoff = Backoff {
                first: 7,
                most: 100,
            };
            turn.wait_until_with(0, order, Scope::System, backoff, |n| {
                n.number() == u64::from(mine.1)
            })
        }
    };
    let by_block = output.wait_until(word, order, scope, |n| {
        n.number() == of_block(mine.0).number()
    });
    // No lane is here with another one.
    let counted = output.get(count);
    output.set(count, T::of(counted.number() + 1));
    let i = 3 * (block * lanes + lane) as usize;
    output.set(i, by_lane);
    output.set(i + 1, by_block);
    output.set(i + 2, counted);
    if lane == 0 {
        output.atomic_store(word, of_block(mine.0 + 1), Ordering::Release, Scope::Device);
    }
    turn.atomic_add_with(0, T::of(1), Ordering::Release, Scope::Block);
}
