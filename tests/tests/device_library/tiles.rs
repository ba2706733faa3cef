//! Tiles of blocks: loads and stores, sorts and runs. On the CPU also in several orders of the lanes.

use std::{fmt::Debug, ops::Range};

use bytemuck::Pod;
use cuda_builder::NvvmArch;
use cuda_std::{
    block,
    cpu::Order,
    kernel::{ByValue, Kernel},
    prelude::*,
    shared::SharedLayout,
};
use cuda_std_device_tests::tiles::*;
use warpwright::{Device, Element, LaunchConfig, Module};
use warpwright_tests::{compare, devices};

use super::{assert_defined, module, noise, same_everywhere};

/// [`same_everywhere`], and on the CPU executor in other orders of blocks and lanes.
pub(super) fn same_in_every_order<T: Pod + Debug>(
    what: &str,
    work: impl Fn(&Device, &Module) -> Vec<T>,
) -> Vec<T> {
    let expected = same_everywhere(what, &work);
    for order in [Order::Backward, Order::Seeded(1), Order::Seeded(0xfeed)] {
        let got = work(&devices::cpu_in(order), module(NvvmArch::Compute75));
        if let Err(why) = compare::same_bits(&got, &expected) {
            panic!("{what}, {order:?} against the usual order: {why}");
        }
    }
    expected
}

/// Blocks with as much shared memory as `layout` says.
fn config(blocks: usize, threads: usize, layout: SharedLayout) -> LaunchConfig {
    LaunchConfig {
        shared_bytes: layout.bytes() as u32,
        ..LaunchConfig::linear(blocks as u32, threads as u32)
    }
}

/// What thread after thread holds of tiles in blocked order, in striped order.
pub(super) fn in_striped_order<T: Copy>(values: &[T], threads: usize, items: usize) -> Vec<T> {
    let tile = |tile: &[T]| -> Vec<T> {
        let held = (0..threads).flat_map(|t| (0..items).map(move |k| k * threads + t));
        held.map(|item| tile[item]).collect()
    };
    values.chunks(threads * items).flat_map(tile).collect()
}

/// The blocks of the tests; the tiles of those of loads and stores.
const BLOCKS: usize = 3;

/// The elements of some tiles: the first one, the end, and whether the functions for whole tiles take them.
fn parts(tile: usize, bytes: usize) -> Vec<(usize, usize, bool)> {
    let mut parts = Vec::new();
    // At a multiple of 16 bytes, not at one, and of the element's size only.
    for first in [0, 16 / bytes, 1, 3] {
        parts.push((first, first + BLOCKS * tile, true));
        for len in [
            0,
            1,
            tile - 1,
            tile,
            tile + 1,
            2 * tile + tile / 2,
            BLOCKS * tile,
            BLOCKS * tile + 2,
        ] {
            parts.push((first, first + len, false));
        }
    }
    parts
}

/// Checks the kernels `L` and `S` for tiles of `lanes` lanes, [`BLOCKS`] of them in a launch.
pub(super) fn loads_and_stores_of<L, S, T, const ITEMS: usize>(lanes: usize, config: LaunchConfig)
where
    L: Kernel<Params = (Global<T>, GlobalMut<T>, u32, u32, T, u32)>,
    S: Kernel<Params = (Global<T>, GlobalMut<T>, GlobalMut<T>, u32, u32, u32)>,
    T: Element + ByValue + Debug,
{
    let tile = lanes * ITEMS;
    let fill = noise::<T>(7)[6];
    for (first, end, whole) in parts(tile, size_of::<T>()) {
        let ty = std::any::type_name::<T>();
        let what = format!("{ITEMS} {ty} per lane of {lanes}, elements {first}..{end}, {whole}");
        let scalars = (first as u32, end as u32, u32::from(whole));
        let values = noise::<T>(first + BLOCKS * tile + 3);
        let got = same_in_every_order(&what, |device, module| {
            let input = device.upload(&values).unwrap();
            let mut output = device.zeros::<T>(2 * BLOCKS * tile).unwrap();
            let parameters = (&input, &mut output, scalars.0, scalars.1, fill, scalars.2);
            // SAFETY: the elements from `first` to `end`, and two results per item.
            unsafe { device.launch::<L>(module, config, parameters) }.unwrap();
            output.to_vec().unwrap()
        });
        let mut expected = Vec::new();
        for of_group in 0..BLOCKS {
            let from = first + of_group * tile;
            let element = |i: usize| if i < end { values[i] } else { fill };
            let items: Vec<T> = (from..from + tile).map(element).collect();
            expected.extend(in_striped_order(&items, lanes, ITEMS));
            expected.extend(items);
        }
        assert_defined(&format!("load of {what}"), &got, &expected);

        let held = &values[..BLOCKS * tile];
        let there = noise::<T>(2 * values.len());
        let (striped, blocked) = there.split_at(values.len());
        let got = same_in_every_order(&what, |device, module| {
            let input = device.upload(held).unwrap();
            let mut striped = device.upload(striped).unwrap();
            let mut blocked = device.upload(blocked).unwrap();
            let outputs = (&mut striped, &mut blocked);
            let parameters = (
                &input, outputs.0, outputs.1, scalars.0, scalars.1, scalars.2,
            );
            // SAFETY: the items of every thread, and the elements from `first` to `end`.
            unsafe { device.launch::<S>(module, config, parameters) }.unwrap();
            [striped.to_vec().unwrap(), blocked.to_vec().unwrap()].concat()
        });
        let (mut striped, mut blocked) = (striped.to_vec(), blocked.to_vec());
        let written = first..end.min(first + BLOCKS * tile);
        blocked[written.clone()].copy_from_slice(&held[..written.len()]);
        for (at, item) in written.enumerate() {
            let (of_group, in_tile) = (at / tile, at % tile);
            let (thread, k) = (in_tile % lanes, in_tile / lanes);
            striped[item] = held[of_group * tile + thread * ITEMS + k];
        }
        assert_defined(
            &format!("store of {what}"),
            &got,
            &[striped, blocked].concat(),
        );
    }
}

#[test]
fn loads_and_stores() {
    macro_rules! types {
        ($($ty:ty, $items:literal;)*) => { $(
            let memory = block::exchange_len::<$items>(TILE_THREADS);
            let layout = SharedLayout::new().array::<$ty>(memory);
            loads_and_stores_of::<TileLoads<$ty, $items>, TileStores<$ty, $items>, $ty, $items>(
                TILE_THREADS,
                config(BLOCKS, TILE_THREADS, layout),
            );
        )* };
    }
    types! {
        u32, 1; u32, 4; u32, 6; u8, 7; u8, 16; u64, 2; u16, 32; u128, 1;
    }
}

/// The number of the key's bits in a range, of those that it has.
fn bits_of(key: u64, bits: &Range<u32>) -> u64 {
    (bits.start..bits.end.min(64))
        .map(|bit| (key >> bit & 1) << (bit - bits.start))
        .sum()
}

fn sorts_of<S, K, const THREADS: usize, const ITEMS: usize>(digit: u32)
where
    S: Kernel<Params = (GlobalMut<K>, GlobalMut<K>, GlobalMut<u32>, u32, u32)>,
    K: Element + Debug + Into<u64> + Ord,
{
    let (tile, width) = (THREADS * ITEMS, 8 * size_of::<K>() as u32);
    let layout = SharedLayout::new()
        .array::<K>(block::exchange_len::<ITEMS>(THREADS))
        .array::<u32>(block::exchange_len::<ITEMS>(THREADS))
        .array::<u32>(block::rank_len(THREADS, digit));
    // All values in one tile, few of them in another, one in a third.
    let mut keys = noise::<K>(BLOCKS * tile);
    for i in tile..BLOCKS * tile {
        keys[i] = keys[if i < 2 * tile { i % 3 } else { 5 }];
    }
    for bits in [
        0..width,
        0..width + 9,
        3..7,
        1..width - 1,
        width - 1..width,
        5..5,
        Range { start: 7, end: 3 },
        width..width + 1,
    ] {
        let what = format!("sort of {} by bits {bits:?}", std::any::type_name::<K>());
        let results = 4 * BLOCKS * tile * size_of::<K>();
        let got = same_in_every_order(&what, |device, module| {
            let mut input = device.upload(&keys).unwrap();
            let mut sorted = device.zeros::<K>(4 * BLOCKS * tile).unwrap();
            let mut values = device.zeros::<u32>(2 * BLOCKS * tile).unwrap();
            let parameters = (&mut input, &mut sorted, &mut values, bits.start, bits.end);
            let config = config(BLOCKS, THREADS, layout);
            // SAFETY: four keys and two values per item.
            unsafe { device.launch::<S>(module, config, parameters) }.unwrap();
            let mut all = bytemuck::cast_slice::<K, u8>(&sorted.to_vec().unwrap()).to_vec();
            all.extend(bytemuck::cast_slice(&values.to_vec().unwrap()));
            all
        });
        let (mut expected_keys, mut expected_values) = (Vec::new(), Vec::new());
        for of_block in 0..BLOCKS {
            let mut order: Vec<u32> = (of_block * tile..(of_block + 1) * tile)
                .map(|i| i as u32)
                .collect();
            order.sort_by_key(|i| bits_of(keys[*i as usize].into(), &bits));
            let sorted: Vec<K> = order.iter().map(|i| keys[*i as usize]).collect();
            let striped = in_striped_order(&sorted, THREADS, ITEMS);
            for _alone_or_with_values in 0..2 {
                expected_keys.extend(&sorted);
                expected_keys.extend(&striped);
            }
            expected_values.extend(&order);
            expected_values.extend(in_striped_order(&order, THREADS, ITEMS));
        }
        let (sorted, values) = got.split_at(results);
        let elements = sorted.chunks_exact(size_of::<K>());
        let sorted: Vec<K> = elements.map(bytemuck::pod_read_unaligned).collect();
        let elements = values.chunks_exact(4);
        let values: Vec<u32> = elements.map(bytemuck::pod_read_unaligned).collect();
        assert_defined(&what, &sorted, &expected_keys);
        assert_defined(&what, &values, &expected_values);
    }
}

#[test]
fn sorts() {
    sorts_of::<TileSorts<u8, 32, 7, 3>, u8, 32, 7>(3);
    sorts_of::<TileSorts<u16, 256, 2, 8>, u16, 256, 2>(8);
    sorts_of::<TileSorts<u32, 96, 5, 4>, u32, 96, 5>(4);
    sorts_of::<TileSorts<u64, 64, 4, 5>, u64, 64, 4>(5);
}

/// Runs of 1, of some, and of many items, of which neighbors differ.
fn runs_of(count: usize) -> Vec<u32> {
    let mut state = noise::<u32>(2 * count).into_iter();
    let mut values = Vec::new();
    while values.len() < count {
        let value = values.len() as u32 * 5;
        let len = match state.next().unwrap() % 8 {
            0..4 => 1,
            4..7 => 1 + state.next().unwrap() % 6,
            _ => 20 + state.next().unwrap() % 50,
        };
        values.extend((0..len).map(|_| value));
    }
    values.truncate(count);
    values
}

/// Checks the kernel `M` for tiles of `lanes` lanes, in blocks of 64 threads.
pub(super) fn marks_of<M, T, const ITEMS: usize>(lanes: usize, number: fn(u32) -> T)
where
    M: Kernel<Params = (Global<T>, GlobalMut<u8>, u32)>,
    T: Element + Debug + PartialEq,
{
    let tile = lanes * ITEMS;
    let values = runs_of(BLOCKS * 64 * ITEMS);
    let mut values: Vec<T> = values.into_iter().map(number).collect();
    // A run goes from the first tile to the second, and none from there to the third.
    values[tile] = values[tile - 1];
    values[2 * tile] = number(1);
    for alone in [false, true] {
        let what = format!("marks of {}, {alone}", std::any::type_name::<T>());
        let got = same_in_every_order(&what, |device, module| {
            let input = device.upload(&values).unwrap();
            let mut marks = device.zeros::<u8>(values.len()).unwrap();
            let config = LaunchConfig::linear(BLOCKS as u32, 64);
            let parameters = (&input, &mut marks, u32::from(alone));
            // SAFETY: a mark per value.
            unsafe { device.launch::<M>(module, config, parameters) }.unwrap();
            marks.to_vec().unwrap()
        });
        let differs = |i: usize| {
            let cut = i == 0 || i == values.len() || (alone && i.is_multiple_of(tile));
            u8::from(cut || values[i - 1] != values[i])
        };
        let expected: Vec<u8> = (0..values.len())
            .map(|i| differs(i) + 2 * differs(i + 1))
            .collect();
        assert_defined(&what, &got, &expected);
    }
}

#[test]
fn heads_and_tails() {
    marks_of::<TileMarks<u8, 1>, u8, 1>(64, |value| value as u8);
    marks_of::<TileMarks<u32, 5>, u32, 5>(64, |value| value);
    marks_of::<TileMarks<u64, 8>, u64, 8>(64, |value| u64::from(value) << 32);
}

/// What the kernels write of runs: the runs, and the windows of their items.
fn expected_runs(runs: &[[u32; 2]], room: usize, threads: usize) -> (Vec<u32>, Vec<u32>) {
    let mut table = vec![runs.len() as u32];
    let (mut items, mut numbers) = (Vec::new(), Vec::new());
    for [value, len] in runs {
        table.extend([*value, items.len() as u32, *len]);
        items.extend((0..*len).map(|_| *value));
        numbers.extend(0..*len);
    }
    table.resize(room, 0);
    let window = 3 * threads;
    let padded = items.len().div_ceil(window) * window;
    items.resize(padded, FILL);
    numbers.resize(padded, 0);
    let windows = items.chunks(window).zip(numbers.chunks(window));
    let windows = windows
        .flat_map(|(items, numbers)| [items, numbers].concat())
        .collect();
    (table, windows)
}

/// Launches a kernel that writes runs and their items, with further arguments by `launch`.
fn check_runs<const THREADS: usize, const ITEMS: usize>(
    what: &str,
    runs: &[[u32; 2]],
    launch: impl Fn(&Device, &Module, LaunchConfig, &mut Outputs),
) {
    let tile = THREADS * ITEMS;
    let layout = SharedLayout::new()
        .array::<u32>(tile)
        .array::<u32>(block::runs_len::<ITEMS>(THREADS));
    let (table, windows) = expected_runs(runs, 1 + 3 * tile, THREADS);
    let expected = [table.as_slice(), windows.as_slice()].concat();
    let got = same_in_every_order(what, |device, module| {
        let mut outputs = Outputs {
            runs: device.zeros::<u32>(table.len()).unwrap(),
            items: device.zeros::<u32>(windows.len()).unwrap(),
        };
        launch(device, module, config(1, THREADS, layout), &mut outputs);
        let [runs, items] = [outputs.runs, outputs.items].map(|output| output.to_vec().unwrap());
        [runs, items].concat()
    });
    assert_defined(what, &got, &expected);
}

/// What the kernels write of runs.
struct Outputs {
    runs: warpwright::Vector<u32>,
    items: warpwright::Vector<u32>,
}

fn encoded<R, const THREADS: usize, const ITEMS: usize>()
where
    R: Kernel<Params = (Global<u32>, GlobalMut<u32>, GlobalMut<u32>, u32)>,
{
    let tile = THREADS * ITEMS;
    let different = (0..tile as u32).collect();
    for (kind, values) in [runs_of(tile), vec![7; tile], different].iter().enumerate() {
        for len in [0, 1, tile / 2 + 1, tile - 1, tile] {
            let what = format!("runs of {len} of {tile}, kind {kind}");
            let mut runs: Vec<[u32; 2]> = Vec::new();
            for value in &values[..len] {
                match runs.last_mut() {
                    Some([last, len]) if last == value => *len += 1,
                    _ => runs.push([*value, 1]),
                }
            }
            check_runs::<THREADS, ITEMS>(&what, &runs, |device, module, config, outputs| {
                let input = device.upload(values).unwrap();
                let parameters = (&input, &mut outputs.runs, &mut outputs.items, len as u32);
                // SAFETY: a tile, and room for its runs and for the windows of their items.
                unsafe { device.launch::<R>(module, config, parameters) }.unwrap();
            });
        }
    }
}

#[test]
fn runs_of_items() {
    encoded::<TileRuns<32, 1>, 32, 1>();
    encoded::<TileRuns<96, 5>, 96, 5>();
    encoded::<TileRuns<64, 32>, 64, 32>();
}

fn expanded<R, const THREADS: usize, const ITEMS: usize>()
where
    R: Kernel<Params = (Global<u32>, GlobalMut<u32>, GlobalMut<u32>)>,
{
    let tile = THREADS * ITEMS;
    let noise = noise::<u32>(tile);
    let lengths: [&dyn Fn(usize) -> u32; 5] = [
        &|_| 0,
        &|_| 1,
        &|i| noise[i] % 4 * (noise[i] >> 8 & 1),
        &|i| if i == tile / 3 { 10_007 } else { 0 },
        &|i| if i % 11 == 10 { noise[i] % 90 } else { 0 },
    ];
    for (kind, len) in lengths.iter().enumerate() {
        let runs: Vec<[u32; 2]> = (0..tile).map(|i| [noise[i], len(i)]).collect();
        let what = format!("{tile} runs of lengths of kind {kind}");
        check_runs::<THREADS, ITEMS>(&what, &runs, |device, module, config, outputs| {
            let input = device.upload(runs.as_flattened()).unwrap();
            let parameters = (&input, &mut outputs.runs, &mut outputs.items);
            // SAFETY: a pair per run, and room for the runs and for the windows of their items.
            unsafe { device.launch::<R>(module, config, parameters) }.unwrap();
        });
    }
}

#[test]
fn runs_of_lengths() {
    expanded::<TileExpansions<32, 1>, 32, 1>();
    expanded::<TileExpansions<96, 5>, 96, 5>();
    expanded::<TileExpansions<64, 32>, 64, 32>();
}
