//! Functions of floats, conversions, clocks and the trap.

use cuda_builder::NvvmArch;
use cuda_std::{kernel::Kernel, prelude::*};
use cuda_std_device_tests::functions;
use warpwright::{Device, DeviceKind, LaunchConfig, Result};
use warpwright_tests::devices;

use super::{assert_defined, everywhere, from_to, module, noise, same_everywhere};

#[test]
fn conversions() {
    // A NaN may keep its payload or not.
    let all: Vec<u16> = (0..=u16::MAX)
        .map(|bits| if bits & 0x7fff > 0x7c00 { 0 } else { bits })
        .collect();
    let what = "f16_to_f32";
    let config = LaunchConfig::linear(256, 256);
    let floats = from_to::<functions::Conversions, u16, f32>(what, config, &all, 1 << 16);
    let expected: Vec<f32> = all
        .iter()
        .map(|bits| {
            // IEEE 754: five bits of exponent, ten of fraction.
            let (exponent, fraction) =
                (i32::from(bits >> 10 & 31), f32::from(bits & 1023) / 1024.0);
            let value = match exponent {
                0 => fraction * 2f32.powi(-14),
                31 => f32::INFINITY,
                _ => (1.0 + fraction) * 2f32.powi(exponent - 15),
            };
            if bits >> 15 == 0 { value } else { -value }
        })
        .collect();
    assert_defined(what, &floats, &expected);
}

#[test]
fn permutations_of_bytes() {
    let lanes = 1 << 12;
    let words = noise::<u32>(3 * lanes);
    let what = "byte_permute";
    let config = LaunchConfig::linear(lanes as u32 / 256, 256);
    let found = from_to::<functions::Permutations, u32, u32>(what, config, &words, lanes);
    for (found, given) in found.iter().zip(words.chunks_exact(3)) {
        let expected = (0..4).fold(0, |expected, i| {
            let digit = given[2] >> (4 * i) & 15;
            let byte = given[(digit as usize & 7) / 4] >> (digit % 4 * 8) & 0xff;
            let byte = match (digit < 8, byte >> 7) {
                (true, _) => byte,
                (false, 0) => 0,
                (false, _) => 0xff,
            };
            expected | byte << (8 * i)
        });
        assert_eq!(*found, expected, "{what} of {given:x?}");
    }
}

#[test]
fn exact_and_slow_functions() {
    for (x, y) in [
        (0.75, 0.5),
        (-2.5, 3.25),
        (1e-3, 7.0),
        (0.999, 0.001),
        (123.456, -1.5),
    ] {
        let (singles, doubles) = ([x as f32, y as f32], [x, y]);
        // The results of `f32` are those of the rounded arguments, and may be too large for it.
        let of_singles = |function: fn([f64; 2]) -> Vec<f64>| -> Vec<f64> {
            let results = function(singles.map(f64::from)).into_iter();
            results.map(|value| f64::from(value as f32)).collect()
        };
        let (bound, wide_bound) = (2f64.powi(-20), 1e-13);
        functions_of::<functions::ExactFunctions<f32>, f32>(&singles, &of_singles(exact), bound);
        functions_of::<functions::ExactFunctions<f64>, f64>(&doubles, &exact(doubles), wide_bound);
        functions_of::<functions::SlowFunctions<f32>, f32>(&singles, &of_singles(slow), bound);
        functions_of::<functions::SlowFunctions<f64>, f64>(&doubles, &slow(doubles), wide_bound);
    }
}

/// What the kernel of the same name computes.
fn exact([x, y]: [f64; 2]) -> Vec<f64> {
    vec![
        x.floor(),
        x.ceil(),
        x.round(),
        x.trunc(),
        x.fract(),
        x.abs(),
        x.signum(),
        x.copysign(y),
        x.mul_add(y, y),
        x.sqrt(),
        x.rem_euclid(y),
        x.div_euclid(y),
        x.powi(11),
    ]
}

/// What the kernel of the same name computes.
fn slow([x, y]: [f64; 2]) -> Vec<f64> {
    vec![
        x.powf(y),
        x.exp(),
        x.exp2(),
        x.ln(),
        x.log(y),
        x.log2(),
        x.log10(),
        x.cbrt(),
        x.hypot(y),
        x.sin(),
        x.cos(),
        x.tan(),
        x.asin(),
        x.acos(),
        x.atan(),
        x.atan2(y),
        x.sin(),
        x.exp_m1(),
        x.ln_1p(),
        x.sinh(),
        x.cosh(),
        x.tanh(),
        x.asinh(),
        x.acosh(),
        x.atanh(),
        x.cos(),
    ]
}

/// Runs a kernel of functions of two numbers: the same bits everywhere, and no further than `bound`, relative,
/// from what is expected. Where a function is not defined, the results are NaN everywhere, with whatever bits.
fn functions_of<K, T>(values: &[T], expected: &[f64], bound: f64)
where
    K: Kernel<Params = (Global<T>, GlobalMut<T>)>,
    T: warpwright::Element + std::fmt::Debug + Into<f64>,
{
    let what = format!("{} of {values:?}", std::any::type_name::<K>());
    let got: Vec<f64> = same_everywhere(&what, |device, module| {
        let input = device.upload(values).unwrap();
        let mut output = device.zeros::<T>(expected.len()).unwrap();
        let config = LaunchConfig::linear(1, 1);
        // SAFETY: two arguments, and an element per result.
        unsafe { device.launch::<K>(module, config, (&input, &mut output)) }.unwrap();
        let quiet = |value: f64| if value.is_nan() { f64::NAN } else { value };
        output
            .to_vec()
            .unwrap()
            .into_iter()
            .map(Into::into)
            .map(quiet)
            .collect()
    });
    for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!(
            got.is_nan() && expected.is_nan()
                || got == expected
                || (got - expected).abs() <= bound * expected.abs(),
            "{what}: result {at} is {got}, not {expected}"
        );
    }
}

/// The GPU's approximations differ from the CPU executor's: both have to keep to the bounds.
#[test]
fn approximations() {
    use std::f64::consts::TAU;
    let mut values: Vec<f32> = (-20..=20).map(|i| i as f32 * 0.37).collect();
    values.extend((1..40).map(|i| 1.3f32.powi(i - 20)));
    values.retain(|x| f64::from(*x).abs() <= TAU && *x != 0.0);
    everywhere(|device, arch| {
        let input = device.upload(&values).unwrap();
        let mut output = device
            .zeros::<f32>(values.len() * functions::APPROXIMATIONS)
            .unwrap();
        let config = LaunchConfig::linear(1, values.len() as u32);
        // SAFETY: an element, and as many results as there are, per thread.
        unsafe {
            device.launch::<functions::Approximations>(module(arch), config, (&input, &mut output))
        }
        .unwrap();
        let output = output.to_vec().unwrap();
        for (x, results) in values.iter().zip(output.chunks(functions::APPROXIMATIONS)) {
            let wide = f64::from(*x);
            let relative = |value: f64, bits: f64| (value, value.abs() * 2f64.powf(-bits));
            // Rows of what is approximated, and the absolute bound.
            let logarithm = |value: f64, bits: f64| {
                if wide > 0.5 && wide < 2.0 {
                    (value, 2f64.powi(-22))
                } else {
                    relative(value, bits)
                }
            };
            let ratio = f64::from(values[0]) / wide;
            let exp = wide.exp();
            let rows = [
                relative(wide.exp2(), 22.0),
                logarithm(wide.log2(), 22.0),
                (wide.sin(), 2f64.powf(-20.5)),
                (wide.cos(), 2f64.powf(-20.5)),
                relative(wide.tanh(), 11.0),
                relative(wide.sqrt(), 23.0),
                relative(wide.sqrt().recip(), 22.9),
                relative(wide.recip(), 23.0),
                relative(ratio, 22.0),
                (exp, exp * (2f64.powi(-22) + wide.abs() * 2f64.powi(-23))),
                logarithm(wide.ln(), 21.0),
            ];
            for (at, (got, (expected, bound))) in results.iter().zip(rows).enumerate() {
                let got = f64::from(*got);
                assert!(
                    got.is_nan() && expected.is_nan() || (got - expected).abs() <= bound,
                    "approximation {at} of {x} on {} with {arch:?}: {got}, not {expected}",
                    device.kind()
                );
            }
        }
    });
}

/// Clocks go on, by more with more work; what kernels are compiled for is what they think.
#[test]
fn clocks_and_capability() {
    const LANES: usize = 64;
    everywhere(|device, arch| {
        let what = format!("{} with {arch:?}", device.kind());
        let run = |counter: u32, rounds: u32| {
            let mut output = device.zeros::<u64>(5 * LANES).unwrap();
            let config = LaunchConfig::linear(2, LANES as u32 / 2);
            let parameters = (&mut output, counter, rounds);
            // SAFETY: five results per thread.
            unsafe { device.launch::<functions::Miscellany>(module(arch), config, parameters) }
                .unwrap();
            output.to_vec().unwrap()
        };
        let capability = match (device.kind(), arch) {
            (DeviceKind::Cpu, _) | (_, NvvmArch::Compute75) => 750,
            (_, NvvmArch::Compute80) => 800,
            _ => 900,
        };
        let mut last = 0;
        let mut shortest = Vec::new();
        for (counter, rounds) in [(0, 0), (7, 100_000)] {
            let results = run(counter, rounds);
            let mut cycles = Vec::new();
            for lane in results.chunks(5) {
                let [begin, timer, later, end, compiled_for] = lane.try_into().unwrap();
                assert!(end > begin, "{what}: clock from {begin} to {end}");
                assert!(later >= timer, "{what}: timer from {timer} to {later}");
                // The timer is the whole device's, and launches follow each other.
                assert!(timer >= last, "{what}: timer {timer} after {last}");
                assert_eq!(compiled_for, capability, "{what}");
                if rounds > 0 {
                    assert!(later > timer, "{what}: timer from {timer} to {later}");
                }
                cycles.push(end - begin);
            }
            last = results.chunks(5).map(|lane| lane[2]).max().unwrap();
            shortest.push(*cycles.iter().min().unwrap());
        }
        // A round is a store and a load at least: no less than a cycle on a GPU, a nanosecond on the CPU.
        assert!(
            shortest[1] >= 100_000 && shortest[1] > shortest[0],
            "{what}: {shortest:?} cycles"
        );
    });
}

/// The variable that makes the test below trap on the CUDA device that it numbers.
const TRAP_ON: &str = "WARPWRIGHT_TEST_TRAP_ON";

fn trap(device: &Device, lane: u32) -> Result<Vec<u32>> {
    let mut output = device.zeros::<u32>(64)?;
    let config = LaunchConfig::linear(2, 32);
    let parameters = (&mut output, lane, 0);
    // SAFETY: an element per thread.
    unsafe {
        device.launch::<functions::Traps>(module(NvvmArch::Compute75), config, parameters)?;
    }
    output.to_vec()
}

/// A trap is an error of the launch. On CUDA it takes the context along, so another process does it there.
#[test]
fn a_trap_ends_the_launch_with_an_error() {
    if let Ok(ordinal) = std::env::var(TRAP_ON) {
        let device = Device::cuda(ordinal.parse().unwrap()).unwrap();
        let outcome = trap(&device, 40);
        println!("trapped: {}", outcome.unwrap_err());
        return;
    }
    for device in devices::all() {
        // No lane has this number.
        assert_eq!(trap(device, 64).unwrap(), [1; 64], "{}", device.kind());
        let DeviceKind::Cuda { ordinal } = device.kind() else {
            let error = trap(device, 40).unwrap_err().to_string();
            assert!(error.contains("trap") && error.contains("traps"), "{error}");
            continue;
        };
        let own = std::env::current_exe().unwrap();
        let output = std::process::Command::new(own)
            .args([
                "--exact",
                "functions::a_trap_ends_the_launch_with_an_error",
                "--nocapture",
            ])
            .env(TRAP_ON, ordinal.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let error = text.lines().find_map(|line| line.split_once("trapped: "));
        assert!(
            output.status.success() && error.is_some_and(|(_, error)| !error.is_empty()),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        // This process has lost nothing.
        assert_eq!(trap(device, 64).unwrap(), [1; 64], "{}", device.kind());
    }
}

#[test]
fn sums_of_products_of_bytes() {
    let lanes = 1 << 12;
    let words = noise::<u32>(3 * lanes);
    let config = LaunchConfig::linear(lanes as u32 / 256, 256);
    let found = from_to::<functions::ByteProducts, u32, u32>("dp4a", config, &words, 2 * lanes);
    let mut expected = Vec::new();
    for given in words.chunks_exact(3) {
        let bytes = |i: usize, word: u32| i64::from(word >> (8 * i) & 0xff);
        let signed = |byte: i64| byte - (byte >> 7) * 256;
        let pairs = || (0..4).map(|i| (bytes(i, given[0]), bytes(i, given[1])));
        let unsigned: i64 = pairs().map(|(a, b)| a * b).sum();
        let signed: i64 = pairs().map(|(a, b)| signed(a) * signed(b)).sum();
        expected.extend([unsigned, signed].map(|sum| given[2].wrapping_add(sum as u32)));
    }
    assert_defined("dp4a", &found, &expected);
}
