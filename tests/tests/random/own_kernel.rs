//! Kernels that draw their own numbers, through the traits of `rand_core`: a user's, as it were.

use std::sync::OnceLock;

use cuda_builder::NvvmArch;
use cuda_std::random::{Philox4x32, Xorwow};
use cuda_std_device_tests::random::{CountHits, RandomNumbers, Sequences, hits};
use warpwright::{LaunchConfig, Module};
use warpwright_tests::{device_library, devices};

fn module() -> &'static Module {
    static MODULE: OnceLock<Module> = OnceLock::new();
    MODULE.get_or_init(|| Module::from_ptx(device_library::ptx(NvvmArch::Compute75)).unwrap())
}

macro_rules! for_both {
    ($function:ident) => {
        $function!(Philox4x32);
        $function!(Xorwow);
    };
}

#[test]
fn a_kernel_draws_from_a_sequence_per_lane() {
    const LANES: usize = 500;
    const TRIES: u32 = 400;
    let config = LaunchConfig::linear(LANES.div_ceil(128) as u32, 128);
    for device in devices::all() {
        macro_rules! check {
            ($generator:ty) => {
                let mut output = device.zeros::<u32>(LANES).unwrap();
                let args = (&mut output, 7, TRIES);
                // SAFETY: the grid has a thread per element.
                unsafe { device.launch::<CountHits<$generator>>(module(), config, args) }.unwrap();
                let counts = output.to_vec().unwrap();
                for (lane, count) in (0..).zip(&counts) {
                    let expected = hits(&mut <$generator>::sequence(7, lane, 0), TRIES);
                    assert_eq!(*count, expected, "{} lane {lane}", device.kind());
                }
                let tries = LANES as f64 * f64::from(TRIES);
                let pi = 4.0 * f64::from(counts.iter().sum::<u32>()) / tries;
                // Five standard deviations of the estimate.
                let bound = 5.0 * 1.642 / tries.sqrt();
                assert!((pi - std::f64::consts::PI).abs() <= bound, "{pi}");
            };
        }
        for_both!(check);
    }
}

#[test]
fn a_kernels_numbers_are_the_same_on_every_device() {
    const PLACES: usize = 256;
    let places: Vec<[u64; 3]> = (0..PLACES as u64)
        .map(|i| {
            [
                i / 7,
                i * i * 0x0001_0001_0001,
                i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 60),
            ]
        })
        .collect();
    let run = |device: &warpwright::Device| {
        let input = device.upload(&places).unwrap();
        let mut results = Vec::new();
        macro_rules! draw {
            ($generator:ty) => {
                let mut output = device.zeros::<u64>(10 * PLACES).unwrap();
                let config = LaunchConfig::linear(PLACES as u32 / 128, 128);
                let args = (&input, &mut output);
                // SAFETY: a place and ten results per thread.
                let launched =
                    unsafe { device.launch::<RandomNumbers<$generator>>(module(), config, args) };
                launched.unwrap();
                results.extend(output.to_vec().unwrap());
            };
        }
        for_both!(draw);
        results
    };
    let mut all = devices::all();
    let expected = run(all.next().unwrap());
    for device in all {
        assert_eq!(run(device), expected, "{}", device.kind());
    }
}
