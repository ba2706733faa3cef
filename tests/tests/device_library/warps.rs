//! Shuffles, votes, matches and reductions, of all lanes and of some.

use std::fmt::Debug;

use cuda_std::{cpu::Checks, kernel::Kernel, prelude::*};
use cuda_std_device_tests::warps;
use warpwright::{CpuOptions, Device, DeviceKind, Element, LaunchConfig};

use super::{assert_defined, from_to, from_to_masked, noise, same_everywhere};

/// All lanes, one half, every other lane, lanes without a pattern, and one lane.
const MASKS: [u32; 7] = [
    u32::MAX,
    0x0000_ffff,
    0xffff_0000,
    0x5555_5555,
    0x8bad_f00d,
    1 << 31,
    1,
];

/// Several warps in each of several blocks.
const CONFIG: LaunchConfig = LaunchConfig::linear(2, 96);
const LANES: usize = 192;

fn named(mask: u32, lane: usize) -> bool {
    mask >> (lane % 32) & 1 != 0
}

/// The lanes of the whole launch that are in the same warp as this one and named.
fn peers(mask: u32, lane: usize) -> impl Iterator<Item = usize> + Clone {
    let first = lane / 32 * 32;
    (first..first + 32).filter(move |peer| named(mask, *peer))
}

/// The lane of the warp that `own` reads from, from CUDA's description: index, up, down, xor; lanes that find
/// nobody keep their own.
fn source(mode: usize, own: usize, argument: u32, width: usize) -> usize {
    let argument = argument as usize % 32;
    let begin = own / width * width;
    let end = begin + width;
    match mode {
        0 => begin + argument % width,
        1 if own >= begin + argument => own - argument,
        2 if own + argument < end => own + argument,
        // Earlier segments may be read, later ones not.
        3 if own ^ argument < end => own ^ argument,
        _ => own,
    }
}

fn shuffle<K, P>(what: &str, values: &[P])
where
    K: Kernel<Params = (Global<P>, Global<u32>, GlobalMut<P>, u32, u32)>,
    P: Element + Debug,
{
    // The same argument for all lanes, and one for each.
    let arguments = [vec![1; LANES], vec![7; LANES], noise::<u32>(LANES)];
    for (mask, width) in MASKS.into_iter().zip([32, 16, 8, 4, 32, 2, 1]) {
        for arguments in &arguments {
            let mut expected = vec![P::zeroed(); 8 * LANES];
            let mut undefined = Vec::new();
            for lane in (0..LANES).filter(|lane| named(mask, *lane)) {
                for at in 0..8 {
                    let width = if at < 4 { width } else { 32 };
                    let from = source(at % 4, lane % 32, arguments[lane], width);
                    if named(mask, from) {
                        expected[8 * lane + at] = values[lane / 32 * 32 + from];
                    } else {
                        undefined.push(8 * lane + at);
                    }
                }
            }
            let what = format!("shuffles of {what} by {mask:#x}, {width} wide");
            let got = same_everywhere(&what, |device, module| {
                // What is undefined the CPU executor gives only where it does not look.
                let not_looking = Device::cpu_with(CpuOptions::default().checks(Checks::NONE));
                let device = match device.kind() {
                    DeviceKind::Cpu if !undefined.is_empty() => &not_looking,
                    _ => device,
                };
                let input = device.upload(values).unwrap();
                let arguments = device.upload(arguments).unwrap();
                let mut output = device.zeros::<P>(8 * LANES).unwrap();
                let width = width as u32;
                let parameters = (&input, &arguments, &mut output, mask, width);
                // SAFETY: an element, and eight results, per thread.
                unsafe { device.launch::<K>(module, CONFIG, parameters) }.unwrap();
                let mut got = output.to_vec().unwrap();
                for at in &undefined {
                    got[*at] = P::zeroed();
                }
                got
            });
            assert_defined(&what, &got, &expected);
        }
    }
}

#[test]
fn shuffles() {
    macro_rules! types {
        ($($ty:ty as $plain:ty: $values:expr;)*) => { $(
            shuffle::<warps::Shuffles<$ty>, $plain>(stringify!($ty), &$values);
        )* };
        ($($ty:ty),*) => {
            types! { $($ty as $ty: noise::<$ty>(LANES);)* }
        };
    }
    types!(
        u8, i8, u16, i16, u32, i32, u64, i64, usize, isize, f32, f64, [f32; 4]
    );
    let (words, longs) = (noise::<u32>(3 * LANES), noise::<u64>(3 * LANES));
    let numbers = || (0..LANES).map(|i| 3 * i);
    types! {
        bool as u8: noise::<u8>(LANES).iter().map(|byte| byte % 2).collect::<Vec<_>>();
        cuda_std::f16 as u16: noise::<u16>(LANES);
        cuda_std::bf16 as u16: noise::<u16>(LANES);
        (u32, f64) as [u64; 2]:
            numbers().map(|i| [words[i].into(), longs[i]]).collect::<Vec<_>>();
        (u8, i16, u64) as [u64; 3]:
            numbers().map(|i| [longs[i] & 0xff, longs[i + 1] & 0xffff, longs[i + 2]])
                .collect::<Vec<_>>();
        warps::Best as [u64; 2]:
            numbers().map(|i| [longs[i], words[i].into()]).collect::<Vec<_>>();
    }
}

#[test]
fn votes() {
    // Warps of a mixture, of multiples of 3 only, and of none of them.
    let noise = noise::<u32>(LANES);
    let values: Vec<u32> = (0..LANES)
        .map(|lane| match lane / 32 % 3 {
            0 => noise[lane],
            1 => noise[lane] / 3 * 3,
            _ => noise[lane] / 3 * 3 + 1,
        })
        .collect();
    let holds = |lane: &usize| !values[*lane].is_multiple_of(3);
    for mask in MASKS {
        let mut expected = vec![0_u32; 8 * LANES];
        for lane in (0..LANES).filter(|lane| named(mask, *lane)) {
            let peers = || peers(mask, lane);
            let (some, all) = (
                peers().any(|peer| holds(&peer)),
                peers().all(|peer| holds(&peer)),
            );
            let other = lane ^ 31;
            let results = [
                u32::from(all),
                u32::from(some),
                u32::from(some == all),
                peers().filter(holds).map(|peer| 1 << (peer % 32)).sum(),
                1,
                lane as u32 % 32,
                lane as u32 % 96 / 32,
                if named(mask, other) { values[other] } else { 0 },
            ];
            expected[8 * lane..][..8].copy_from_slice(&results);
        }
        let what = format!("votes by {mask:#x}");
        let got = from_to_masked::<warps::Votes, u32, u32>(&what, CONFIG, &values, 8 * LANES, mask);
        assert_defined(&what, &got, &expected);
    }
}

#[test]
fn matches() {
    let noise = noise::<u32>(LANES);
    macro_rules! matching {
        ($($kernel:ident: $ty:ty, $other:expr;)*) => { $(
            for modulus in [1, 3] {
                // The last warp of each block has other values.
                let other: fn(usize) -> $ty = $other;
                let values: Vec<$ty> = (0..LANES)
                    .map(|lane| match noise[lane] % modulus {
                        value if lane / 32 % 3 == 2 => other(value as usize),
                        value => value as $ty,
                    })
                    .collect();
                for mask in MASKS {
                    let mut expected = vec![0_u32; 3 * LANES];
                    for lane in (0..LANES).filter(|lane| named(mask, *lane)) {
                        let same = |peer: &usize| values[*peer].to_ne_bytes() == values[lane].to_ne_bytes();
                        let all = peers(mask, lane).all(|peer| same(&peer));
                        expected[3 * lane] =
                            peers(mask, lane).filter(same).map(|peer| 1 << (peer % 32)).sum();
                        expected[3 * lane + 1] = if all { mask } else { 0 };
                        expected[3 * lane + 2] = all.into();
                    }
                    let what = format!("{} of {modulus} values by {mask:#x}", stringify!($kernel));
                    let got = from_to_masked::<warps::$kernel, $ty, u32>(
                        &what, CONFIG, &values, 3 * LANES, mask);
                    assert_defined(&what, &got, &expected);
                }
            }
        )* };
    }
    // Differences in high bits; floats that are equal and are not the same, and the reverse.
    matching! {
        MatchingU32: u32, |value| (value as u32) << 30;
        MatchingI32: i32, |value| (value as i32) << 30;
        MatchingF32: f32, |value| [0.0, -0.0, f32::NAN][value];
        MatchingU64: u64, |value| (value as u64) << 40;
        MatchingI64: i64, |value| (value as i64) << 62;
        MatchingF64: f64, |value| [0.0, -0.0, f64::NAN][value];
        MatchingUsize: usize, |value| value << 32;
    }
}

#[test]
fn reductions() {
    macro_rules! types {
        ($($ty:ty),*) => { $(
            // One bit is set everywhere, one nowhere, so that neither "and" nor "or" ends at a constant.
            let values: Vec<$ty> = noise::<$ty>(LANES)
                .iter()
                .map(|value| (value | 1 << 6) & !(1 << 21))
                .collect();
            let expected = |mask: u32| {
                let mut expected = vec![0; 6 * LANES];
                for lane in (0..LANES).filter(|lane| named(mask, *lane)) {
                    let given = || peers(mask, lane).map(|peer| values[peer]);
                    let results: [$ty; 6] = [
                        given().fold(0, <$ty>::wrapping_add),
                        given().min().unwrap(),
                        given().max().unwrap(),
                        given().fold(!0, |a, b| a & b),
                        given().fold(0, |a, b| a | b),
                        given().fold(0, |a, b| a ^ b),
                    ];
                    expected[6 * lane..][..6].copy_from_slice(&results);
                }
                expected
            };
            for mask in MASKS {
                let what = format!("redux of {} by {mask:#x}", stringify!($ty));
                let got = from_to_masked::<warps::Reductions<$ty>, $ty, $ty>(
                    &what, CONFIG, &values, 6 * LANES, mask);
                assert_defined(&what, &got, &expected(mask));
            }
            let what = concat!("redux of whole warps of ", stringify!($ty));
            let got = from_to::<warps::WholeReductions<$ty>, $ty, $ty>(
                what, CONFIG, &values, 6 * LANES);
            assert_defined(what, &got, &expected(u32::MAX));
        )* };
    }
    types!(u32, i32);
}
