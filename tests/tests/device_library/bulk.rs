//! Mbarriers and bulk copies: on cards of compute capability 9.0, and late or early on the CPU.

use cuda_std::{kernel::Kernel, prelude::*};
use cuda_std_device_tests::bulk;
use warpwright::LaunchConfig;

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
