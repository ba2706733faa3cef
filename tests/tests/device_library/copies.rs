//! Asynchronous copies: the instructions on a card of compute capability 8.0 and later, loads and stores in
//! their place in the module for the oldest, and late or early on the CPU.

use cuda_std::{kernel::Kernel, prelude::*};
use cuda_std_device_tests::copies;
use warpwright::LaunchConfig;

use super::{WARP, assert_defined, from_to, noise};

fn ring<K, T>(what: &str, n: usize)
where
    K: Kernel<Params = (Global<T>, GlobalMut<T>)>,
    T: warpwright::Element + std::fmt::Debug,
{
    for tiles in [1, 2, 3, 7] {
        let input = noise::<T>(tiles * 32 * n);
        let got = from_to::<K, T, T>(what, WARP, &input, input.len());
        let expected: Vec<T> = input
            .chunks(32 * n)
            .flat_map(|tile| tile.chunks(n).rev().flatten().copied())
            .collect();
        assert_defined(what, &got, &expected);
    }
}

#[test]
fn copies_through_a_ring_of_buffers() {
    macro_rules! ring {
        ($($ty:ty, $n:literal);*) => { $(
            ring::<copies::AsyncCopies<$ty, $n>, $ty>(concat!(stringify!($ty), " by ", $n), $n);
        )* };
    }
    ring!(u8, 4; u8, 8; u8, 16; u16, 2; u16, 8; u32, 1; u32, 2; u32, 4; f32, 4; u64, 1; u64, 2;
          f64, 2; u128, 1);
}

fn zeros<K, T>(what: &str, n: usize)
where
    K: Kernel<Params = (Global<T>, GlobalMut<T>)>,
    T: warpwright::Element + std::fmt::Debug,
{
    const LANES: usize = 64;
    // Nothing missing; parts of a chunk; chunks of which nothing is there.
    for missing in [0, 1, n - 1, n, n + 1, 20 * n + 1] {
        let input = noise::<T>(LANES * n - missing);
        let config = LaunchConfig::linear(1, LANES as u32);
        let got = from_to::<K, T, T>(what, config, &input, LANES * n);
        let mut expected = input;
        expected.resize(LANES * n, T::zeroed());
        assert_defined(&format!("{what}, {missing} missing"), &got, &expected);
    }
}

#[test]
fn copies_with_zeros_for_what_is_not_there() {
    macro_rules! zeros {
        ($($ty:ty, $n:literal);*) => { $(
            zeros::<copies::AsyncCopiesOrZeros<$ty, $n>, $ty>(
                concat!(stringify!($ty), " by ", $n), $n
            );
        )* };
    }
    zeros!(u8, 4; u16, 4; u32, 1; u32, 4; u64, 2);
}

#[test]
fn copies_of_what_the_lane_has_written() {
    const LANES: usize = 64;
    let input = noise::<u32>(LANES);
    let config = LaunchConfig::linear(1, LANES as u32);
    let got = from_to::<copies::AsyncCopiesOfOwn, _, _>("own", config, &input, 3 * LANES);
    let own: Vec<u32> = input.iter().map(|value| value ^ 0xffff).collect();
    let next = (0..LANES).map(|t| input[(t + 1) % LANES]);
    let expected: Vec<u32> = own
        .iter()
        .copied()
        .chain(own.iter().rev().copied())
        .chain(next)
        .collect();
    assert_defined("own", &got, &expected);
}
