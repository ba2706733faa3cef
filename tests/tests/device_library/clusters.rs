//! Clusters: on cards of compute capability 9.0, and in turns on one thread of the CPU.

use cuda_std::{
    kernel::Kernel,
    prelude::*,
    tensor_map::{EncodedTensorMap, Swizzle, TiledMatrix},
};
use cuda_std_device_tests::clusters::{self, COUNTERS, TILE};
use warpwright::LaunchConfig;

use super::{assert_defined, hopper_from_to, noise, same_on_hopper};

fn places<K: Kernel<Params = (GlobalMut<u32>,)>>(cluster: [u32; 3]) {
    let grid = [2 * cluster[0], 3 * cluster[1], 2 * cluster[2]];
    let config = LaunchConfig {
        grid,
        ..LaunchConfig::linear(1, 32)
    };
    let blocks = config.blocks() as usize;
    let got = same_on_hopper("places", |device, module| {
        let mut output = device.zeros::<u32>(2 * blocks).unwrap();
        // SAFETY: two elements for each block.
        unsafe { device.launch::<K>(module, config, (&mut output,)) }.unwrap();
        output.to_vec().unwrap()
    });
    let size: u32 = cluster.iter().product();
    let expected: Vec<u32> = (0..blocks)
        .flat_map(|block| {
            let at = config.block_at(block as u64);
            let [x, y, z]: [u32; 3] = std::array::from_fn(|i| at[i] % cluster[i]);
            [(z * cluster[1] + y) * cluster[0] + x, size]
        })
        .collect();
    assert_defined("places", &got, &expected);
}

#[test]
fn ranks_of_blocks_in_clusters() {
    places::<clusters::ClusterPlaces<1, 1, 1>>([1, 1, 1]);
    places::<clusters::ClusterPlaces<2, 1, 1>>([2, 1, 1]);
    places::<clusters::ClusterPlaces<1, 4, 1>>([1, 4, 1]);
    places::<clusters::ClusterPlaces<3, 1, 2>>([3, 1, 2]);
    places::<clusters::ClusterPlaces<2, 2, 2>>([2, 2, 2]);
}

#[test]
fn counters_of_a_cluster() {
    let (per_cluster, counters) = (4 * 64, 4 * COUNTERS);
    let values: Vec<u32> = noise::<u32>(3 * per_cluster)
        .into_iter()
        .map(|value| value % 7 * (value % 40) % counters as u32)
        .collect();
    let config = LaunchConfig::linear(3 * 4, 64);
    let got = hopper_from_to::<clusters::ClusterCounts, u32, u32>(
        "counters",
        config,
        &values,
        3 * counters,
    );
    let mut expected = vec![0; 3 * counters];
    for (cluster, values) in values.chunks(per_cluster).enumerate() {
        for value in values {
            expected[cluster * counters + *value as usize] += 1;
        }
    }
    assert_defined("counters", &got, &expected);
}

#[test]
fn elements_of_the_next_block() {
    let values = noise::<u32>(2 * 8 * 128);
    let config = LaunchConfig::linear(2 * 8, 32);
    let got =
        hopper_from_to::<clusters::ClusterRing, u32, u32>("ring", config, &values, values.len());
    let next = |cluster: &[u32]| [&cluster[128..], &cluster[..128]].concat();
    let expected: Vec<u32> = values.chunks(8 * 128).flat_map(next).collect();
    assert_defined("ring", &got, &expected);
}

fn tiles<K: Kernel<Params = (EncodedTensorMap, GlobalMut<u32>, u32)>>(copies: usize) {
    let [columns, rows] = TILE;
    for (clusters, tiles) in [(1, 1), (1, 2), (2, 3), (3, 8)] {
        let count = clusters * tiles;
        let input = noise::<u32>(count * columns * rows);
        let got = same_on_hopper("tiles", |device, module| {
            let from = device.upload(&input).unwrap();
            let mut to = device.zeros::<u32>(2 * input.len()).unwrap();
            let matrix = TiledMatrix {
                address: from.view().device_pointer(),
                element_bytes: 4,
                sizes: [columns as u64, (count * rows) as u64],
                stride: 4 * columns as u64,
                tile: [columns as u32, (rows / 2 / copies) as u32],
                swizzle: Swizzle::None,
                stack: None,
                to_tf32: false,
            };
            let map = device.tensor_map(&matrix).unwrap();
            let config = LaunchConfig::linear(2 * clusters as u32, 64);
            // SAFETY: the map is of all tiles, and the output has two for each of them.
            unsafe { device.launch::<K>(module, config, (map, &mut to, tiles as u32)) }.unwrap();
            to.to_vec().unwrap()
        });
        let both = |tile: &[u32]| {
            let twice = tile.iter().map(|it| it.wrapping_mul(2));
            [tile.to_vec(), twice.collect()].concat()
        };
        let expected: Vec<u32> = input.chunks(columns * rows).flat_map(both).collect();
        assert_defined("tiles", &got, &expected);
    }
}

#[test]
fn tiles_that_come_to_two_blocks() {
    tiles::<clusters::ClusterTiles<1>>(1);
    tiles::<clusters::ClusterTiles<2>>(2);
}
