//! Tiles of elements of 1 or 2 bytes whose rows begin at words of 8 bytes.

use cuda_std::prelude::*;

use super::{
    super::policy::Policy,
    Tile, shared_as,
    turned::{turned_2, turned_4},
};
use crate::tuning::Tuned;

/// Moves a tile by words of `K` elements. See [`super::transpose_best`].
#[inline(always)]
#[track_caller]
pub fn transpose<T: Copy, N: Tuned<Policy>, const K: usize>(tile: Tile<T>, memory: Shared<u128>) {
    // The words of a tile's row, and the groups of `K` rows, whose words become a row of the output.
    let (words, groups) = (N::POLICY.words, N::POLICY.words_down);
    // The distance between rows of a plane in words. The padding prevents bank conflicts along columns.
    let pitch = groups + 1;
    // The distance between planes in words. Plane `j` has the rows of the output whose number in the tile is `j` modulo `K`.
    let plane = words * pitch;
    // The groups that a block loads at once, and the rows of a plane that it stores at once.
    let (at_once, stored_at_once) = (N::POLICY.threads / words, N::POLICY.threads / groups);
    let shared = shared_as::<u64>(memory);
    // SAFETY: the views cover the whole matrices, which are aligned for words and have a whole number of them.
    let (input, output): (Global<u64>, GlobalMut<u64>) = unsafe {
        (
            Global::from_raw_parts(tile.input.as_ptr().cast_mut().cast(), tile.input.len() / K),
            GlobalMut::from_raw_parts(tile.output.as_ptr().cast(), tile.output.len() / K),
        )
    };
    let tid = thread::thread_idx_x() as usize;

    let (word, group) = (tid % words, tid / words);
    let (width, x) = (tile.width / K, tile.left / K + word);
    for round in 0..groups / at_once {
        let group = group + round * at_once;
        let y = tile.top + group * K;
        // The matrix's sides are multiples of K, so either all of these K x K elements are in it, or none.
        if tile.whole || (x < width && y < tile.height) {
            let columns = turned::<K>(core::array::from_fn(|i| input.get((y + i) * width + x)));
            for j in 0..K {
                shared.set(j * plane + word * pitch + group, columns[j]);
            }
        }
    }
    thread::sync_threads();
    let (group, row) = (tid % groups, tid / groups);
    let (height, y) = (tile.height / K, tile.top / K + group);
    for round in 0..words / stored_at_once {
        let row = row + round * stored_at_once;
        let x = tile.left + row * K;
        if tile.whole || (x < tile.width && y < height) {
            for j in 0..K {
                let word = shared.get(j * plane + row * pitch + group);
                output.set((x + j) * height + y, word);
            }
        }
    }
}

/// Returns the words of `K` columns from the words of `K` rows.
#[inline(always)]
fn turned<const K: usize>(rows: [u64; K]) -> [u64; K] {
    let low = |i: usize| rows[i % K] as u32;
    let high = |i: usize| (rows[i % K] >> 32) as u32;
    let word = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    let mut columns = [0; 8];
    if K == 4 {
        let (left, right) = (turned_2(low(0), low(1)), turned_2(low(2), low(3)));
        columns[0] = word(left[0], right[0]);
        columns[1] = word(left[1], right[1]);
        let (left, right) = (turned_2(high(0), high(1)), turned_2(high(2), high(3)));
        columns[2] = word(left[0], right[0]);
        columns[3] = word(left[1], right[1]);
    } else {
        let first = turned_4([low(0), low(1), low(2), low(3)]);
        let second = turned_4([low(4), low(5), low(6), low(7)]);
        for j in 0..4 {
            columns[j] = word(first[j], second[j]);
        }
        let first = turned_4([high(0), high(1), high(2), high(3)]);
        let second = turned_4([high(4), high(5), high(6), high(7)]);
        for j in 0..4 {
            columns[4 + j] = word(first[j], second[j]);
        }
    }
    core::array::from_fn(|j| columns[j])
}
