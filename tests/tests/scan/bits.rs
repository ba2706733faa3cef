//! The kernels of `best`, launched directly: the same bits for every grid and every order of blocks.

use cuda_std::cpu::Order;
use rayon::prelude::*;
use warpwright::{Device, LaunchConfig, Module, Vector};
use warpwright_gpu::{
    scan::{
        ScanBest, ScanBestPersistent, Start, Sum, SumOfBytes,
        policy::{Policy, STATUS_STRIDE},
    },
    tuning::shipped,
};
use warpwright_tests::{compare, data::Data, devices};

use super::{in_orders, module, rounding};

/// Defines a struct that launches the kernels of `best` directly, with a workspace of its own.
macro_rules! direct {
    ($name:ident: $ty:ty, $scan:ty, $words:literal) => {
        struct $name<'a> {
            device: &'a Device,
            module: Module,
            input: &'a Vector<$ty>,
            control: Vector<u64>,
            statuses: Vector<u64>,
            batches: Vector<u64>,
            /// The statuses of the persistent kernel.
            ring: Vector<u64>,
            policy: Policy,
            tiles: usize,
        }

        impl<'a> $name<'a> {
            fn new(device: &'a Device, input: &'a Vector<$ty>) -> Self {
                let policy: Policy = shipped::<Policy, $ty>();
                let tiles = (input.len() * size_of::<$ty>()).div_ceil(policy.tile_bytes());
                let zeros = |len| device.zeros(len).unwrap();
                Self {
                    device,
                    module: module(),
                    input,
                    control: zeros(1),
                    statuses: zeros(tiles * STATUS_STRIDE),
                    batches: zeros(tiles * STATUS_STRIDE),
                    ring: zeros(tiles * $words),
                    policy,
                    tiles,
                }
            }

            /// A block for every tile.
            fn tiles(&mut self, start: Start) -> Vec<$ty> {
                let mut output = self.device.zeros(self.input.len()).unwrap();
                let config = LaunchConfig::linear(self.tiles as u32, self.policy.threads as u32);
                let args = (
                    self.input,
                    &mut output,
                    &mut self.control,
                    &mut self.statuses,
                    &mut self.batches,
                    start,
                );
                let (device, module) = (self.device, &self.module);
                // SAFETY: the arrays have the lengths that the kernel asks for, and were 0 before the first launch.
                unsafe { device.launch::<ScanBest<$scan>>(module, config, args) }.unwrap();
                output.to_vec().unwrap()
            }

            /// This many persistent blocks; the counter is the one that the other kernel left.
            fn persistent(&mut self, blocks: u32, start: Start) -> Vec<$ty> {
                let mut output = self.device.zeros(self.input.len()).unwrap();
                let mut config = LaunchConfig::linear(blocks, self.policy.threads as u32);
                config.shared_bytes = self.policy.ring_bytes() as u32;
                let args = (
                    self.input,
                    &mut output,
                    &mut self.control,
                    &mut self.ring,
                    start,
                );
                let (device, module) = (self.device, &self.module);
                // SAFETY: as above.
                unsafe { device.launch::<ScanBestPersistent<$scan>>(module, config, args) }
                    .unwrap();
                output.to_vec().unwrap()
            }
        }
    };
}
direct!(Floats: f32, Sum<f32>, 1);
direct!(Doubles: f64, Sum<f64>, 2);
direct!(Bytes: u8, SumOfBytes, 1);

#[test]
fn both_kernels_give_the_same_bits_for_every_grid_and_order() {
    let tile = shipped::<Policy, f32>().tile_bytes() / 4;
    for (len, exclusive) in [(5 * tile + 3, false), (6 * tile, true), (tile + 1, false)] {
        let values: Vec<f32> = rounding(len);
        let start = || Start::new(0.5_f32, exclusive).unwrap();
        let mut first: Option<Vec<f32>> = None;
        for device in in_orders() {
            let input = device.upload(&values).unwrap();
            let mut launches = Floats::new(&device, &input);
            let mut same = |got: Vec<f32>, what: &str| {
                let want = first.get_or_insert_with(|| got.clone());
                let outcome = compare::same_bits(&got, want);
                assert_eq!(outcome, Ok(()), "{what} on {}", device.kind());
            };
            // Again and again with the same workspace.
            for _ in 0..3 {
                same(launches.tiles(start()), "a block for every tile");
            }
            for blocks in [1, 2, 3, 7] {
                same(launches.persistent(blocks, start()), "persistent blocks");
            }
        }
    }
}

#[test]
fn statuses_of_two_words_and_sums_of_bytes() {
    for device in in_orders() {
        let values: Vec<f64> = rounding(4 * 4096 + 1);
        let input = device.upload(&values).unwrap();
        let mut launches = Doubles::new(&device, &input);
        let want = launches.tiles(Start::new(0.0_f64, false).unwrap());
        for blocks in [1, 3] {
            let got = launches.persistent(blocks, Start::new(0.0_f64, false).unwrap());
            assert_eq!(compare::same_bits(&got, &want), Ok(()));
        }
        let values: Vec<u8> = Data::Spread.values(3 * 32_768 + 5);
        let input = device.upload(&values).unwrap();
        let mut sum = 9_u8;
        let want: Vec<u8> = (values.iter())
            .map(|value| {
                sum = sum.wrapping_add(*value);
                sum
            })
            .collect();
        let mut launches = Bytes::new(&device, &input);
        assert_eq!(launches.tiles(Start::new(9_u32, false).unwrap()), want);
        for blocks in [1, 2, 5] {
            assert_eq!(
                launches.persistent(blocks, Start::new(9_u32, false).unwrap()),
                want
            );
        }
    }
}

/// A hundred orders of blocks and lanes, each with another number of persistent blocks; as many runs on CUDA devices.
#[test]
fn a_hundred_orders_and_grids_give_the_same_bits() {
    let tile = shipped::<Policy, f32>().tile_bytes() / 4;
    let values: Vec<f32> = rounding(3 * tile + 3);
    let scans = |device: &Device, seed: u32| {
        let input = device.upload(&values).unwrap();
        let mut launches = Floats::new(device, &input);
        let start = || Start::new(0.5_f32, false).unwrap();
        [
            launches.tiles(start()),
            launches.persistent(1 + seed % 5, start()),
        ]
    };
    let [wanted, _] = scans(&devices::cpu_in(Order::Forward), 0);
    let check = |device: &Device, seed| {
        for got in scans(device, seed) {
            let outcome = compare::same_bits(&got, &wanted);
            assert_eq!(outcome, Ok(()), "{seed} on {}", device.kind());
        }
    };
    (0..100_u32)
        .into_par_iter()
        .for_each(|seed| check(&devices::cpu_in(Order::Seeded(seed.into())), seed));
    for device in in_orders() {
        if device.info().compute_capability.is_some() {
            (0..100).for_each(|seed| check(&device, seed));
        }
    }
}
