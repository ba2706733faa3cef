//! Rust-CUDA's atomic functions of pointers, and libdevice's names.

use std::fmt::Debug;

use cuda_std::{kernel::Kernel, prelude::*};
use cuda_std_device_tests::names::{self, NAMES, RESULTS};
use warpwright::{Element, LaunchConfig};

use super::{assert_defined, from_to, noise, same_everywhere};

/// Runs a kernel in which one lane calls each function on `a` with `b`: they give back `a`, and `expected` is left.
fn each<K, T>(what: &str, a: T, b: T, expected: &[T])
where
    K: Kernel<Params = (GlobalMut<T>, T, T)>,
    T: Element + cuda_std::kernel::ByValue + Debug,
{
    let got = same_everywhere(what, |device, module| {
        let mut values = device.upload(&[a; 2 * RESULTS]).unwrap();
        let config = LaunchConfig::linear(1, 1);
        // SAFETY: no more functions than results.
        unsafe { device.launch::<K>(module, config, (&mut values, a, b)) }.unwrap();
        values.to_vec().unwrap()
    });
    let mut left = expected.to_vec();
    left.resize(2 * RESULTS, a);
    assert_defined(what, &got, &left);
}

/// What "and", "or", "exclusive or", exchange, sum and difference leave, twice; then the lesser and the greater; then what
/// compare-and-exchange leaves; then one more and one less.
macro_rules! integers {
    ($kernel:ident, $ty:ident, $a:expr, $b:expr) => {
        let (a, b): ($ty, $ty) = ($a, $b);
        let twice = [a & b, a | b, a ^ b, b, a.wrapping_add(b), a.wrapping_sub(b)];
        let mut left = [twice, twice].concat();
        left.extend([a.min(b), a.max(b), a.min(b), a.max(b), b, a, b]);
        left.extend([a.wrapping_add(1), a.wrapping_sub(1)]);
        each::<names::$kernel, $ty>(stringify!($kernel), a, b, &left);
    };
}

#[test]
fn atomic_functions_of_pointers_do_what_they_are_called() {
    integers!(RawAtomicsU32, u32, 0xf0f0_1234, 0x8001_ffff);
    integers!(RawAtomicsU32, u32, u32::MAX, 0);
    integers!(RawAtomicsI64, i64, -5, i64::MAX);
    integers!(RawAtomicsI64, i64, i64::MIN, 77);
    let (a, b) = (-1.5_f64, 0.375_f64);
    let bits = |of: fn(u64, u64) -> u64| f64::from_bits(of(a.to_bits(), b.to_bits()));
    let twice = [
        bits(|a, b| a & b),
        bits(|a, b| a | b),
        bits(|a, b| a ^ b),
        b,
        a + b,
        a - b,
    ];
    let left = [&twice[..], &twice, &[b, a, b]].concat();
    each::<names::RawAtomicsF64, f64>("RawAtomicsF64", a, b, &left);
}

#[test]
fn loads_and_stores_of_pointers_meet() {
    let got = same_everywhere("RawLoadsAndStores", |device, module| {
        let mut narrow = device.zeros::<u32>(6).unwrap();
        let mut wide = device.zeros::<u64>(6).unwrap();
        let views = (&mut narrow, &mut wide);
        let config = LaunchConfig::linear(1, 1);
        // SAFETY: six elements of each.
        unsafe { device.launch::<names::RawLoadsAndStores>(module, config, views) }.unwrap();
        wide.to_vec().unwrap()
    });
    assert_eq!(got, [1, 2, 3, 4, 10, 0]);
}

#[test]
fn all_lanes_count_by_pointers() {
    let got = same_everywhere("RawCounts", |device, module| {
        let mut counts = device.zeros::<u32>(2).unwrap();
        let config = LaunchConfig::linear(7, 96);
        // SAFETY: two elements.
        unsafe { device.launch::<names::RawCounts>(module, config, (&mut counts,)) }.unwrap();
        counts.to_vec().unwrap()
    });
    assert_eq!(got, [7 * 96, (0..7 * 96).sum()]);
}

#[test]
fn libdevices_names_give_what_they_say() {
    let mut values: Vec<f32> = noise::<u16>(58)
        .into_iter()
        .map(|word| f32::from(word) / 64.0 - 400.0)
        .collect();
    values.extend([0.5, 1.5, -2.5, 3e9, -1e30, 0.0]);
    let lanes = values.len();
    let config = LaunchConfig::linear(1, lanes as u32);
    let got = from_to::<names::LibdeviceNames, f32, u32>(
        "LibdeviceNames",
        config,
        &values,
        NAMES * lanes,
    );
    for (found, &x) in got.chunks_exact(NAMES).zip(&values) {
        let float = |k: usize| f64::from(f32::from_bits(found[k]));
        let wide = f64::from(x);
        assert!(
            (float(0) - wide.sin()).abs() < 1e-6,
            "sine of {x}: {}",
            float(0)
        );
        assert!(
            (float(1) - wide.cos()).abs() < 1e-6,
            "cosine of {x}: {}",
            float(1)
        );
        assert_eq!(found[2] as i32, x.floor() as i32, "float2int_rd of {x}");
        assert_eq!(found[3], x.round_ties_even() as u32, "float2uint_rn of {x}");
        let bits = x.to_bits();
        let high = (u64::from(bits) * 0x9e37_79b9) >> 32;
        assert_eq!(u64::from(found[4]), high, "umulhi of {x}");
        // Bytes 5, 7, 1 and 3 of the two words.
        let both = (u64::from(!bits) << 32 | u64::from(bits)).to_le_bytes();
        assert_eq!(
            found[5].to_le_bytes(),
            [both[5], both[7], both[1], both[3]],
            "byte_perm of {x}"
        );
        assert_eq!(f32::from_bits(found[6]), x % 3.0, "fmodf of {x}");
        let mean = (i64::from(bits as i32) + i64::from(i32::MAX)).div_euclid(2);
        assert_eq!(i64::from(found[7] as i32), mean, "hadd of {x}");
    }
}
