//! Tiles of warps: loads and stores, exchanges, sorts, runs and ranks. On the CPU also in several orders of the lanes.

use std::{cmp::Reverse, fmt::Debug};

use bytemuck::cast_slice;
use cuda_std::{kernel::Kernel, prelude::*};
use cuda_std_device_tests::warp_tiles::*;
use warpwright::{Element, LaunchConfig};

use super::{
    assert_defined, noise,
    tiles::{in_striped_order, loads_and_stores_of, marks_of, same_in_every_order},
};

#[test]
fn loads_and_stores() {
    // Three warps of one block.
    let config = LaunchConfig::linear(1, 96);
    macro_rules! types {
        ($($ty:ty, $items:literal;)*) => { $(
            loads_and_stores_of::<
                WarpTileLoads<$ty, $items>, WarpTileStores<$ty, $items>, $ty, $items
            >(32, config);
        )* };
    }
    types! {
        u16, 1; u8, 3; u32, 4; u32, 6; u64, 3; u8, 16; u16, 32; u128, 1; u128, 4;
    }
}

/// The warps of a launch with a number of tiles.
fn warps(tiles: usize) -> LaunchConfig {
    LaunchConfig::linear(1, 32 * tiles as u32)
}

fn exchanges_of<K, T, const ITEMS: usize>()
where
    K: Kernel<Params = (Global<T>, GlobalMut<T>)>,
    T: Element + Debug,
{
    let tile = 32 * ITEMS;
    let values = noise::<T>(3 * tile);
    let what = format!("exchange of {ITEMS} {}", std::any::type_name::<T>());
    let got = same_in_every_order(&what, |device, module| {
        let input = device.upload(&values).unwrap();
        let mut output = device.zeros::<T>(2 * values.len()).unwrap();
        // SAFETY: the items of every lane, and two results for each.
        unsafe { device.launch::<K>(module, warps(3), (&input, &mut output)) }.unwrap();
        output.to_vec().unwrap()
    });
    let mut expected = Vec::new();
    for held in values.chunks(tile) {
        expected.extend((0..tile).map(|item| held[item % 32 * ITEMS + item / 32]));
        expected.extend(in_striped_order(held, 32, ITEMS));
    }
    assert_defined(&what, &got, &expected);
}

#[test]
fn exchanges() {
    macro_rules! types {
        ($($ty:ty, $items:literal;)*) => { $(
            exchanges_of::<WarpExchanges<$ty, $items>, $ty, $items>();
        )* };
    }
    types! {
        u32, 1; u32, 2; u32, 3; u8, 4; u16, 5; u32, 7; u64, 8; u128, 3; u32, 12; u32, 20; u32, 24; u32, 31; u32, 32;
    }
}

/// The bytes of keys, and behind them those of numbers.
fn bytes<K: Element>(keys: &[K], numbers: &[u32]) -> Vec<u8> {
    [cast_slice(keys), cast_slice(numbers)].concat()
}

fn sorts_of<S, K, const ITEMS: usize>(number: fn(u32) -> K)
where
    S: Kernel<Params = (Global<K>, GlobalMut<K>, GlobalMut<u32>)>,
    K: Element + Debug + Ord,
{
    let tile = 32 * ITEMS;
    let noise = noise::<u32>(tile);
    // All values, few, one, sorted ones in both directions, ones that rise and fall, and two values.
    let kinds: [&dyn Fn(usize) -> u32; 7] = [
        &|i| noise[i],
        &|i| noise[i] % 3,
        &|_| 9,
        &|i| i as u32 / 2,
        &|i| (tile - i) as u32 / 2,
        &|i| i.min(tile - i) as u32,
        &|i| noise[i] >> 7 & 1,
    ];
    let keys = kinds
        .iter()
        .flat_map(|kind| (0..tile).map(|i| number(kind(i))));
    let keys: Vec<K> = keys.collect();
    let what = format!("sort of {ITEMS} {} per lane", std::any::type_name::<K>());
    let got = same_in_every_order(&what, |device, module| {
        let input = device.upload(&keys).unwrap();
        let mut sorted = device.zeros::<K>(2 * keys.len()).unwrap();
        let mut order = device.zeros::<u32>(keys.len()).unwrap();
        let parameters = (&input, &mut sorted, &mut order);
        // SAFETY: two keys and a number per item.
        unsafe { device.launch::<S>(module, warps(kinds.len()), parameters) }.unwrap();
        bytes(&sorted.to_vec().unwrap(), &order.to_vec().unwrap())
    });
    let (mut expected, mut numbers) = (Vec::new(), Vec::new());
    for first in (0..keys.len()).step_by(tile) {
        let mut order: Vec<usize> = (first..first + tile).collect();
        order.sort_by_key(|i| Reverse(keys[*i]));
        expected.extend(order.iter().map(|i| keys[*i]));
        let mut ascending = keys[first..first + tile].to_vec();
        ascending.sort_unstable();
        expected.extend(ascending);
        numbers.extend(order.into_iter().map(|i| i as u32));
    }
    assert_defined(&what, &got, &bytes(&expected, &numbers));
}

#[test]
fn sorts() {
    sorts_of::<WarpTileSorts<u32, 1>, u32, 1>(|key| key);
    sorts_of::<WarpTileSorts<u8, 3>, u8, 3>(|key| key as u8);
    sorts_of::<WarpTileSorts<u32, 4>, u32, 4>(|key| key);
    sorts_of::<WarpTileSorts<u16, 6>, u16, 6>(|key| key as u16);
    sorts_of::<WarpTileSorts<u64, 5>, u64, 5>(|key| u64::from(key) << 29);
    sorts_of::<WarpTileSorts<u128, 2>, u128, 2>(|key| u128::from(key) << 70);
    sorts_of::<WarpTileSorts<u32, 8>, u32, 8>(|key| key);
    sorts_of::<WarpTileSorts<u32, 32>, u32, 32>(|key| key);
}

#[test]
fn heads_and_tails() {
    marks_of::<WarpTileMarks<u8, 1>, u8, 1>(32, |value| value as u8);
    marks_of::<WarpTileMarks<u32, 3>, u32, 3>(32, |value| value);
    marks_of::<WarpTileMarks<u64, 4>, u64, 4>(32, |value| u64::from(value) << 32);
}

fn ranks_of<R, const ITEMS: usize>(bits: u32)
where
    R: Kernel<Params = (Global<u32>, GlobalMut<u32>, GlobalMut<u32>)>,
{
    let (tile, radix) = (32 * ITEMS, 1 << bits);
    let mut values = noise::<u32>(4 * tile);
    // All digits in two tiles, few of them in another, one in the last.
    for i in 2 * tile..4 * tile {
        values[i] = if i < 3 * tile {
            values[i] & values[i - tile]
        } else {
            radix - 1
        };
    }
    let what = format!("ranks of {ITEMS} digits of {bits} bits");
    let got = same_in_every_order(&what, |device, module| {
        let input = device.upload(&values).unwrap();
        let mut ranks = device.zeros::<u32>(values.len()).unwrap();
        let mut counts = device.zeros::<u32>(4 * 64).unwrap();
        // SAFETY: a rank per value, and two counts per lane.
        unsafe { device.launch::<R>(module, warps(4), (&input, &mut ranks, &mut counts)) }.unwrap();
        [ranks.to_vec().unwrap(), counts.to_vec().unwrap()].concat()
    });
    let (mut ranks, mut counts) = (vec![0; values.len()], Vec::new());
    for (tile_values, ranks) in values.chunks(tile).zip(ranks.chunks_mut(tile)) {
        let digit = |i: usize| tile_values[i] % radix;
        let mut sorted: Vec<usize> = (0..tile).collect();
        sorted.sort_by_key(|i| digit(*i));
        for (rank, item) in sorted.into_iter().enumerate() {
            ranks[item] = rank as u32;
        }
        for lane in 0..32 {
            let of = |f: &dyn Fn(u32) -> bool| (0..tile).filter(|i| f(digit(*i))).count() as u32;
            counts.extend(match lane < radix {
                true => [of(&|other| other < lane), of(&|other| other == lane)],
                false => [0, 0],
            });
        }
    }
    assert_defined(&what, &got, &[ranks, counts].concat());
}

#[test]
fn ranks() {
    ranks_of::<WarpRanks<1, 1>, 1>(1);
    ranks_of::<WarpRanks<3, 5>, 3>(5);
    ranks_of::<WarpRanks<4, 4>, 4>(4);
    ranks_of::<WarpRanks<32, 2>, 32>(2);
}

#[test]
fn sorts_of_one_value_per_lane() {
    // A warp each of all values, of few, of one, of sorted ones in both directions.
    let mut values: Vec<u32> = noise::<u32>(160).iter().map(|value| value >> 5).collect();
    for (i, value) in values.iter_mut().enumerate() {
        *value = match i / 32 {
            0 => *value,
            1 => *value % 3,
            2 => 9,
            3 => i as u32,
            _ => !(i as u32) >> 5,
        };
    }
    let what = "sorts of one value per lane";
    let got = same_in_every_order(what, |device, module| {
        let input = device.upload(&values).unwrap();
        let mut output = device.zeros::<u32>(2 * values.len()).unwrap();
        let config = LaunchConfig::linear(1, values.len() as u32);
        // SAFETY: a value and two results per thread.
        unsafe { device.launch::<WarpSorts>(module, config, (&input, &mut output)) }.unwrap();
        output.to_vec().unwrap()
    });
    let mut expected = Vec::new();
    for warp in values.chunks(32) {
        let (mut sorted, mut pairs) = (warp.to_vec(), Vec::new());
        sorted.sort_unstable();
        pairs.extend(warp.iter().zip(0_u32..));
        pairs.sort_by_key(|(value, _)| Reverse(*value & 7));
        for (value, (paired, lane)) in sorted.into_iter().zip(pairs) {
            expected.extend([value, paired << 5 | lane]);
        }
    }
    assert_defined(what, &got, &expected);
}
