//! Operations of warps and blocks.

use cuda_std::block;
use cuda_std_device_tests::blocks::{INITIAL, Scans, SortsByDigit};
use warpwright::LaunchConfig;

use super::{assert_defined, from_to, noise};

/// The composition of two affine maps, `factor << 32 | offset`.
fn compose(first: u64, then: u64) -> u64 {
    let (a, b) = ((first >> 32) as u32, first as u32);
    let (c, d) = ((then >> 32) as u32, then as u32);
    u64::from(a.wrapping_mul(c)) << 32 | u64::from(b.wrapping_mul(c).wrapping_add(d))
}

#[test]
fn scans_and_reductions() {
    macro_rules! check {
        ($($threads:literal),*) => { $(
            let values: Vec<u64> = noise::<u64>(3 * $threads)
                .iter()
                .map(|value| value | 1 << 32)
                .collect();
            let config = LaunchConfig {
                shared_bytes: 8 * block::scan_len($threads) as u32,
                ..LaunchConfig::linear(3, $threads)
            };
            let what = format!("scans of {} threads", $threads);
            let got = from_to::<Scans<$threads>, u64, u64>(&what, config, &values, 8 * values.len());
            let fold = |first: u64, values: &[u64]| values.iter().fold(first, |a, b| compose(a, *b));
            let identity = 1 << 32;
            let mut expected = Vec::new();
            for i in 0..values.len() {
                let (warp, tile) = (i / 32 * 32, i / $threads * $threads);
                let (all_of_warp, all) = (&values[warp..warp + 32], &values[tile..tile + $threads]);
                expected.extend([
                    fold(identity, &values[warp..=i]),
                    fold(INITIAL, &values[warp..i]),
                    fold(identity, all_of_warp),
                    fold(identity, &values[tile..=i]),
                    fold(identity, all),
                    fold(INITIAL, &values[tile..i]),
                    fold(INITIAL, all),
                    fold(identity, all),
                ]);
            }
            assert_defined(&what, &got, &expected);
        )* };
    }
    check!(32, 96, 1024);
}

#[test]
fn a_sort_by_digit() {
    let values = noise::<u32>(4 * 640);
    let config = LaunchConfig::linear(4, 128);
    let what = "a sort by digit";
    let got = from_to::<SortsByDigit, u32, u32>(what, config, &values, values.len());
    let mut expected = values;
    for tile in expected.chunks_mut(640) {
        tile.sort_by_key(|value| value >> 8 & 15);
    }
    assert_defined(what, &got, &expected);
}
