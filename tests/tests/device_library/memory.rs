//! Views, shared and constant memory, kinds of memory.

use cuda_builder::NvvmArch;
use cuda_std::{kernel::Kernel, prelude::*, shared::SharedLayout};
use cuda_std_device_tests::memory;
use warpwright::{DeviceKind, LaunchConfig};
use warpwright_tests::devices;

use super::{WARP, assert_defined, everywhere, from_to, module, noise, same_everywhere};

fn chunks<K, T>(what: &str, n: usize)
where
    K: Kernel<Params = (Global<T>, GlobalMut<T>)>,
    T: warpwright::Element + std::fmt::Debug,
{
    const LANES: usize = 32;
    let input = noise::<T>(4 * LANES * n);
    let got = from_to::<K, T, T>(what, WARP, &input, 5 * LANES * n);
    // Everything comes to its own place, and the third chunk of each lane to the end too.
    let third = |lane: usize| &input[(4 * lane + 2) * n..][..n];
    let mut expected = Vec::new();
    for lane in 0..LANES {
        // The first two by way of the lane at the other end.
        expected.extend_from_slice(&input[4 * lane * n..][..4 * n]);
    }
    for lane in 0..LANES {
        expected.extend_from_slice(third(lane));
    }
    assert_defined(what, &got, &expected);
}

fn elements<K, T>(what: &str)
where
    K: Kernel<Params = (Global<T>, GlobalMut<T>)>,
    T: warpwright::Element + std::fmt::Debug,
{
    // Five lanes have work; the last does not.
    let input = noise::<T>(30);
    let got = from_to::<K, T, T>(what, LaunchConfig::linear(2, 3), &input, 30);
    let mut expected = input;
    for lane in expected.chunks_mut(6) {
        lane[5] = lane[4];
    }
    assert_defined(what, &got, &expected);
}

#[test]
fn vector_accesses() {
    macro_rules! chunks {
        ($($ty:ty, $n:literal);*) => { $(
            chunks::<memory::Chunks<$ty, $n>, $ty>(concat!(stringify!($ty), " by ", $n), $n);
        )* };
    }
    chunks!(u8, 1; u8, 2; u8, 4; u8, 8; u8, 16; u16, 1; u16, 8; u32, 1; u32, 2; u32, 4; f32, 4;
            u64, 1; u64, 2; f64, 2; u128, 1; u32, 3);
    macro_rules! elements {
        ($($ty:ty),*) => { $(
            elements::<memory::Elements<$ty>, $ty>(stringify!($ty));
        )* };
    }
    elements!(u8, u16, u32, u64, f32, f64, i32);
}

#[test]
fn constant_memory() {
    let weights: Vec<f32> = (0..64).map(|i| i as f32 * 0.5).collect();
    let sums = same_everywhere("constants", |device, module| {
        device
            .set_constant(
                module,
                memory::DEVICE_TEST_BYTES.with(&[1, 2, 3, 4, 5, 6, 7]),
            )
            .unwrap();
        device
            .set_constant(module, memory::DEVICE_TEST_WEIGHTS.with(&weights))
            .unwrap();
        let mut output = device.zeros::<f32>(100).unwrap();
        let config = LaunchConfig::linear(1, 100);
        // SAFETY: an element per thread.
        unsafe { device.launch::<memory::Constants>(module, config, (&mut output,)) }.unwrap();
        output.to_vec().unwrap()
    });
    let expected: Vec<f32> = (0..100)
        .map(|i| weights[i % 64] + weights[3] + (i % 7 + 1) as f32)
        .collect();
    assert_defined("constants", &sums, &expected);
}

#[test]
fn too_many_values_for_a_constant_table_are_refused() {
    for device in devices::all() {
        let values = memory::DEVICE_TEST_BYTES.with(&[0; 8]);
        let error = device
            .set_constant(module(NvvmArch::Compute75), values)
            .unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("DEVICE_TEST_BYTES") && text.contains('7') && text.contains("8 given"),
            "{text}"
        );
    }
}

#[test]
fn dynamic_shared_memory() {
    let layout = SharedLayout::new().array::<u8>(32).array::<u64>(32);
    let bytes = layout.bytes() as u64;
    assert_eq!(bytes, 32 + 8 * 32);
    let expected: Vec<u64> = (0..32)
        .map(|t| (31 - t) + 1000 * (t ^ 1) + ((31 - t) << 32))
        .chain([bytes; 64])
        .collect();
    everywhere(|device, arch| {
        let what = format!("dynamic on {}", device.kind());
        let mut output = device.zeros::<u64>(128).unwrap();
        let config = WARP.with_shared(bytes as u32);
        // SAFETY: 128 elements, 32 threads, and the layout's bytes.
        unsafe { device.launch::<memory::Dynamic>(module(arch), config, (&mut output, 32)) }
            .unwrap();
        let got = output.to_vec().unwrap();
        assert_defined(&what, &got[..96], &expected);
        // All of the block's memory: the hardware hands out units, and keeps some to itself.
        let own = bytes + 4 * 32;
        for total in &got[96..] {
            assert!(
                (own..own + 4096).contains(total),
                "{what}: {total} bytes in all, {own} its own"
            );
        }
    });
}

#[test]
fn kinds_of_memory() {
    everywhere(|device, arch| {
        let given = device.upload(&[55_u32]).unwrap();
        let mut output = device.zeros::<u64>(13).unwrap();
        let config = LaunchConfig::linear(1, 1);
        let parameters = (&mut output, &given);
        // SAFETY: thirteen results, and an element that is given.
        unsafe { device.launch::<memory::AddressSpaces>(module(arch), config, parameters) }
            .unwrap();
        let what = format!("kinds of memory on {} with {arch:?}", device.kind());
        // A GPU counts shared memory and a lane's own from nought; elsewhere addresses are one kind.
        let small = u64::from(device.kind() != DeviceKind::Cpu);
        // What each kind holds, of: shared (1), the results (2), a variable (4), a given pointer (8); then
        // a distance, a value, and whether the address was small.
        let expected = [2 + 8, 1, 0, 4, 0, 55, 0, 0, 99, small, 0, 77, small];
        assert_defined(&what, &output.to_vec().unwrap(), &expected);
    });
}

#[test]
fn element_zero_of_shared_memory() {
    let values = noise::<u32>(3);
    let config = LaunchConfig::linear(3, 64);
    let what = "element 0 of shared memory";
    let got = from_to::<memory::FirstOfShared, u32, u32>(what, config, &values, 192);
    let expected: Vec<u32> = (0..192).map(|i| values[i / 64]).collect();
    assert_defined(what, &got, &expected);
}
