//! Mbarriers, bulk copies and tiles by tensor maps: on cards of compute capability 9.0, and late or early on the CPU.

use cuda_std::{
    kernel::Kernel,
    prelude::*,
    tensor_map::{EncodedTensorMap, Stack, Swizzle, TiledMatrix},
};
use cuda_std_device_tests::bulk;
use warpwright::{Error, LaunchConfig};
use warpwright_tests::devices;

use super::{assert_defined, hopper_from_to, noise, same_on_hopper};

fn ring<K, T>(what: &str)
where
    K: Kernel<Params = (Global<T>, GlobalMut<T>)>,
    T: warpwright::Element + std::ops::Not<Output = T> + std::fmt::Debug,
{
    let tile = 1024 / size_of::<T>();
    for (blocks, tiles) in [(1, 1), (1, 2), (1, 3), (2, 4), (3, 31)] {
        let input = noise::<T>(tiles * tile);
        let config = LaunchConfig::linear(blocks, 64);
        let got = hopper_from_to::<K, T, T>(what, config, &input, input.len());
        let turned = |tile: &[T]| tile.iter().rev().map(|it| !*it).collect::<Vec<T>>();
        let expected: Vec<T> = input.chunks(tile).flat_map(turned).collect();
        assert_defined(what, &got, &expected);
    }
}

#[test]
fn bulk_copies_through_a_ring_of_buffers() {
    ring::<bulk::BulkRing<u8>, u8>("u8");
    ring::<bulk::BulkRing<u32>, u32>("u32");
    ring::<bulk::BulkRing<u128>, u128>("u128");
}

#[test]
fn one_lane_of_a_mask_is_elected() {
    let masks = [u32::MAX, 0xFFF0_0F00, 1 << 31];
    let config = LaunchConfig::linear(1, 32 * masks.len() as u32);
    let got =
        hopper_from_to::<bulk::Elected, u32, u32>("elected", config, &masks, 32 * masks.len());
    for (mask, lanes) in masks.iter().zip(got.chunks(32)) {
        let elected: Vec<usize> = (0..32).filter(|lane| lanes[*lane] == 3).collect();
        assert_eq!(elected.len(), 1, "{lanes:?}");
        assert!(mask >> elected[0] & 1 == 1, "{lanes:?}");
        assert_eq!(lanes.iter().sum::<u32>(), 3, "{lanes:?}");
    }
}

#[test]
fn phases_of_an_mbarrier() {
    let config = LaunchConfig::linear(1, 64);
    let got = same_on_hopper("phases", |device, module| {
        let mut output = device.zeros::<u32>(128).unwrap();
        // SAFETY: the kernel's threads use 128 elements.
        unsafe { device.launch::<bulk::MbarrierPhases>(module, config, (&mut output,)) }.unwrap();
        output.to_vec().unwrap()
    });
    let of = |t: u32| (t + 200 + 1000) * 1000 + (63 - t) + 200;
    let expected: Vec<u32> = (0..128).map(|i| of(i % 64)).collect();
    assert_defined("phases", &got, &expected);
}

fn tiles<K, T>(what: &str, swizzle: Swizzle, row_bytes: usize)
where
    K: Kernel<Params = (EncodedTensorMap, Global<i32>, EncodedTensorMap)>,
    T: warpwright::Element + std::ops::Not<Output = T> + std::fmt::Debug,
{
    let size = size_of::<T>();
    let (columns, rows) = (row_bytes / size, 64);
    // Matrices of sizes that no tile divides, with unused elements between the rows.
    let (from_sizes, to_sizes) = ([3 * columns - 3, 150], [4 * columns + 1, 200]);
    let stride = |[columns, _]: [usize; 2]| (columns * size).next_multiple_of(16) + 16;
    let (from_stride, to_stride) = (stride(from_sizes), stride(to_sizes));
    let input = noise::<T>(from_stride / size * from_sizes[1]);
    // Tiles within both matrices, over each edge, and outside; their destinations do not overlap. `e` elements are 16 bytes.
    let (c, e) = (columns as i32, 16 / size as i32);
    let places = [
        [0, 0, 0, 0],
        [e, 7, c, 3],
        [-e, 100, 2 * c, 0],
        [2 * c, -20, 3 * c + e, 0],
        [2 * c + e, 120, 0, 80],
        [-64 * e, 5, c, 80],
        [e, 140, 2 * c, 150],
        [0, 0, 8 * c, 100],
    ];
    let got = same_on_hopper(what, |device, module| {
        let from = device.upload(&input).unwrap();
        let mut to = device.zeros::<T>(to_stride / size * to_sizes[1]).unwrap();
        let all = device.upload(&places.concat()).unwrap();
        let map = |address, sizes: [usize; 2], stride: usize| {
            let matrix = TiledMatrix {
                address,
                element_bytes: size as u32,
                sizes: sizes.map(|size| size as u64),
                stride: stride as u64,
                tile: [columns as u32, rows as u32],
                swizzle,
                stack: None,
                to_tf32: false,
            };
            device.tensor_map(&matrix).unwrap()
        };
        let maps = (
            map(from.view().device_pointer(), from_sizes, from_stride),
            map(to.view_mut().device_pointer(), to_sizes, to_stride),
        );
        let config = LaunchConfig::linear(places.len() as u32, 32);
        // SAFETY: the maps are of the two matrices, and there are four places for each block.
        unsafe { device.launch::<K>(module, config, (maps.0, &all, maps.1)) }.unwrap();
        to.to_vec().unwrap()
    });
    let mut expected = vec![T::zeroed(); got.len()];
    // Stores write whole chunks of 16 bytes.
    let written = [
        (to_sizes[0] * size).next_multiple_of(16) / size,
        to_sizes[1],
    ];
    for [from_x, from_y, to_x, to_y] in places {
        for row in 0..rows {
            for column in 0..c {
                let inside = |x: i32, y: i32, sizes: [usize; 2]| {
                    (0..sizes[0] as i32).contains(&x) && (0..sizes[1] as i32).contains(&y)
                };
                let at = |x: i32, y: i32, stride: usize| y as usize * (stride / size) + x as usize;
                let (x, y) = (from_x + column, from_y + row);
                let value = match inside(x, y, from_sizes) {
                    true => input[at(x, y, from_stride)],
                    false => T::zeroed(),
                };
                let (x, y) = (to_x + column, to_y + row);
                if inside(x, y, written) {
                    let value = if row % 2 == 0 { value } else { !value };
                    expected[at(x, y, to_stride)] = value;
                }
            }
        }
    }
    assert_defined(what, &got, &expected);
}

#[test]
fn tiles_of_matrices_with_every_swizzle() {
    tiles::<bulk::TileMoves<u16, 0>, u16>("plain", Swizzle::None, 128);
    tiles::<bulk::TileMoves<u16, 1>, u16>("32 bytes", Swizzle::Bytes32, 32);
    tiles::<bulk::TileMoves<u16, 2>, u16>("64 bytes", Swizzle::Bytes64, 64);
    tiles::<bulk::TileMoves<u16, 3>, u16>("128 bytes", Swizzle::Bytes128, 128);
    tiles::<bulk::TileMoves<u32, 3>, u32>("128 bytes of words", Swizzle::Bytes128, 128);
    tiles::<bulk::TileMoves<u8, 2>, u8>("64 bytes of bytes", Swizzle::Bytes64, 64);
}

/// A tile ends at the edges of its matrix: what is beyond is not the next matrix of the stack, and so are numbers that it has
/// not.
#[test]
fn tiles_of_stacks() {
    const COUNT: usize = 3;
    // Their rows are not those of a tile, and there are unused ones between them.
    let (columns, rows, stride, apart) = (62, 11, 80, 13 * 80);
    let input = noise::<u16>(COUNT * apart);
    let places = [
        [0, 0, 0, 0],
        [5, 1, 8, 1],
        [-3, 2, 0, 2],
        [0, -1, 0, 1],
        [0, 3, 8, 2],
        [0, 1, 0, 3],
        [0, 1, 11, 0],
    ];
    let got = same_on_hopper("stacks", |device, module| {
        let from = device.upload(&input).unwrap();
        let mut to = device.upload(&vec![7_u16; input.len()]).unwrap();
        let all = device.upload(&places.concat()).unwrap();
        let map = |address| {
            let matrix = TiledMatrix {
                address,
                element_bytes: 2,
                sizes: [columns as u64, rows as u64],
                stride: 2 * stride as u64,
                tile: [64, 8],
                swizzle: Swizzle::None,
                stack: Some(Stack {
                    count: COUNT as u64,
                    stride: 2 * apart as u64,
                }),
                to_tf32: false,
            };
            device.tensor_map(&matrix).unwrap()
        };
        let maps = (
            map(from.view().device_pointer()),
            map(to.view_mut().device_pointer()),
        );
        let config = LaunchConfig::linear(places.len() as u32, 32);
        // SAFETY: the maps are of the two stacks, and there are four places for each block.
        unsafe { device.launch::<bulk::StackMoves>(module, config, (maps.0, &all, maps.1)) }
            .unwrap();
        to.to_vec().unwrap()
    });
    let mut expected = vec![7; input.len()];
    for [from_row, from, to_row, to] in places {
        for row in 0..8 {
            let (y, to_y) = (from_row + row, to_row + row);
            let is_in = |row: i32, number: i32| {
                (0..rows).contains(&row) && (0..COUNT as i32).contains(&number)
            };
            // Stores write whole chunks of 16 bytes.
            for column in 0..64 {
                let at = |row: i32, number: i32| {
                    number as usize * apart + row as usize * stride + column
                };
                if is_in(to_y, to) {
                    expected[at(to_y, to)] = match is_in(y, from) && column < columns {
                        true => input[at(y, from)],
                        false => 0,
                    };
                }
            }
        }
    }
    assert_defined("stacks", &got, &expected);
}

#[test]
fn a_matrix_that_no_tensor_map_describes_is_refused() {
    for device in devices::all() {
        let good = TiledMatrix {
            address: 1 << 20,
            element_bytes: 2,
            sizes: [64, 64],
            stride: 128,
            tile: [64, 64],
            swizzle: Swizzle::Bytes128,
            stack: None,
            to_tf32: false,
        };
        let is_new = device
            .info()
            .compute_capability
            .is_none_or(|it| it >= (9, 0));
        let made = device.tensor_map(&good);
        assert_eq!(made.is_ok(), is_new, "{device:?}: {made:?}");
        for (bad, part) in [
            (
                TiledMatrix {
                    stride: 130,
                    ..good
                },
                "a stride that is a multiple of 16",
            ),
            (
                TiledMatrix {
                    tile: [128, 64],
                    ..good
                },
                "no longer than its swizzle",
            ),
        ] {
            let Err(Error::Invalid { required, .. }) = device.tensor_map(&bad) else {
                panic!("{device:?}: {bad:?} was taken");
            };
            assert!(!is_new || required.contains(part), "{device:?}: {required}");
        }
    }
}
