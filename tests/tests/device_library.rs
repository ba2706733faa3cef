//! Every device function of `cuda_std` gives the same bits on the CPU executor and on CUDA devices.

use std::sync::OnceLock;

use bytemuck::Pod;
use cuda_builder::NvvmArch;
use cuda_std::{kernel::Kernel, prelude::*};
use cuda_std_device_tests::{atomics, functions, memory, threads, warps};
use warpwright::{Device, LaunchConfig, Module};
use warpwright_tests::{device_library, devices};

/// The kernels: for the oldest architecture, and for one that has `redux`.
fn module(arch: NvvmArch) -> &'static Module {
    static MODULES: [OnceLock<Module>; 2] = [OnceLock::new(), OnceLock::new()];
    MODULES[usize::from(arch > NvvmArch::Compute75)]
        .get_or_init(|| Module::from_ptx(device_library::ptx(arch)).unwrap())
}

/// Runs `work` on the CPU, then with every module on every CUDA device that takes it: the same bytes come
/// out. Gives what came out, so that a test can look at it as well.
fn same_everywhere<T: Pod + std::fmt::Debug>(
    what: &str,
    work: impl Fn(&Device, &Module) -> Vec<T>,
) -> Vec<T> {
    let mut all = devices::all();
    let cpu = all.next().unwrap();
    let expected = work(cpu, module(NvvmArch::Compute75));
    assert!(!expected.is_empty());
    for device in all {
        for arch in [NvvmArch::Compute75, NvvmArch::Compute80] {
            if arch == NvvmArch::Compute80 && device.info().compute_capability < Some((8, 0)) {
                continue;
            }
            let got = work(device, module(arch));
            assert!(
                bytemuck::cast_slice::<T, u8>(&got) == bytemuck::cast_slice::<T, u8>(&expected),
                "{what} on {} with {arch:?}: {got:?}, on the CPU {expected:?}",
                device.kind()
            );
        }
    }
    expected
}

const WARP: LaunchConfig = LaunchConfig::linear(1, 32);

/// Bytes without a pattern: the steps of a multiplicative generator.
fn noise<T: Pod>(len: usize) -> Vec<T> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut values = vec![T::zeroed(); len];
    for byte in bytemuck::cast_slice_mut::<T, u8>(&mut values) {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        *byte = (state >> 56) as u8;
    }
    values
}

/// Runs a kernel that changes its only view.
fn in_place<K, T>(what: &str, config: LaunchConfig, values: &[T])
where
    K: Kernel<Params = (GlobalMut<T>,)>,
    T: warpwright::Element + std::fmt::Debug,
{
    same_everywhere(what, |device, module| {
        let mut on_device = device.upload(values).unwrap();
        // SAFETY: the tests give as many elements as the kernel's threads use.
        unsafe { device.launch::<K>(module, config, (&mut on_device,)) }.unwrap();
        on_device.to_vec().unwrap()
    });
}

/// Runs a kernel of one warp that changes its view, with an argument.
fn in_place_with<K, T>(what: &str, values: &[T], argument: u32)
where
    K: Kernel<Params = (GlobalMut<T>, u32)>,
    T: warpwright::Element + std::fmt::Debug,
{
    in_place_with_shape::<K, T>(what, WARP, values, argument);
}

fn in_place_with_shape<K, T>(what: &str, config: LaunchConfig, values: &[T], argument: u32)
where
    K: Kernel<Params = (GlobalMut<T>, u32)>,
    T: warpwright::Element + std::fmt::Debug,
{
    same_everywhere(what, |device, module| {
        let mut on_device = device.upload(values).unwrap();
        // SAFETY: an element per thread; the argument is a mask of all lanes, or a distance.
        unsafe { device.launch::<K>(module, config, (&mut on_device, argument)) }.unwrap();
        on_device.to_vec().unwrap()
    });
}

/// Runs a kernel from one view to another.
fn from_to<K, A, B>(what: &str, config: LaunchConfig, values: &[A], len: usize) -> Vec<B>
where
    K: Kernel<Params = (Global<A>, GlobalMut<B>)>,
    A: warpwright::Element,
    B: warpwright::Element + std::fmt::Debug,
{
    same_everywhere(what, |device, module| {
        let input = device.upload(values).unwrap();
        let mut output = device.zeros::<B>(len).unwrap();
        // SAFETY: the tests give as many elements as the kernel's threads use.
        unsafe { device.launch::<K>(module, config, (&input, &mut output)) }.unwrap();
        output.to_vec().unwrap()
    })
}

#[test]
fn shuffles() {
    macro_rules! types {
        ($($ty:ty),*) => { $(
            for argument in [0, 1, 7, 31] {
                in_place_with::<warps::Shuffles<$ty>, $ty>(stringify!($ty), &noise(32), argument);
            }
        )* };
    }
    types!(
        u8, i8, u16, i16, u32, i32, u64, i64, usize, isize, f32, f64, [f32; 4]
    );
}

#[test]
fn votes_and_matches() {
    let few: Vec<u32> = noise::<u32>(32).iter().map(|value| value % 5).collect();
    for values in [few.clone(), vec![3; 32], vec![1; 32]] {
        in_place_with::<warps::Votes, u32>("votes", &values, u32::MAX);
    }
    macro_rules! matching {
        ($($kernel:ident: $ty:ty),*) => { $(
            for modulus in [1, 3] {
                let values: Vec<$ty> = few.iter().map(|value| (value % modulus) as $ty).collect();
                same_everywhere(stringify!($kernel), |device, module| {
                    let input = device.upload(&values).unwrap();
                    let mut output = device.zeros::<u32>(32).unwrap();
                    // SAFETY: an element per thread; all lanes come.
                    unsafe {
                        device.launch::<warps::$kernel>(module, WARP, (&input, &mut output, u32::MAX))
                    }
                    .unwrap();
                    output.to_vec().unwrap()
                });
            }
        )* };
    }
    matching!(MatchingU32: u32, MatchingI32: i32, MatchingF32: f32, MatchingU64: u64,
              MatchingI64: i64, MatchingF64: f64, MatchingUsize: usize);
}

#[test]
fn warp_reductions() {
    in_place_with::<warps::Reductions<u32>, u32>("redux", &noise(32), u32::MAX);
    in_place_with::<warps::Reductions<i32>, i32>("redux", &noise(32), u32::MAX);
}

#[test]
fn places_and_barriers() {
    let config = LaunchConfig::linear(5, 256);
    in_place::<threads::Places, u32>("places", config, &[0; 1280]);
    in_place::<threads::Vectors, u32>("vectors", config, &[0; 1280]);
    let predicates: Vec<u32> = (0..1280).map(|i| u32::from(i % 7 == 0)).collect();
    in_place::<threads::Barriers, u32>("barriers", config, &predicates);
}

#[test]
fn a_barrier_between_branches() {
    in_place_with_shape::<threads::BarrierBetweenBranches, u32>(
        "barrier between branches",
        LaunchConfig::linear(1, 64),
        &[3; 64],
        20,
    );
}

#[test]
fn vector_accesses() {
    // One thread, since the threads' elements overlap.
    let one = LaunchConfig::linear(1, 1);
    macro_rules! chunks {
        ($($ty:ty, $n:literal);*) => { $(
            from_to::<memory::Chunks<$ty, $n>, $ty, $ty>(
                concat!(stringify!($ty), " by ", $n), one, &noise(36 * $n), 36 * $n);
        )* };
    }
    chunks!(u8, 1; u8, 2; u8, 4; u8, 8; u8, 16; u16, 1; u16, 8; u32, 1; u32, 2; u32, 4; f32, 4;
            u64, 1; u64, 2; f64, 2; u128, 1; u32, 3);
    macro_rules! elements {
        ($($ty:ty),*) => { $(
            from_to::<memory::Elements<$ty>, $ty, $ty>(stringify!($ty), one, &noise(8), 8);
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
    assert_eq!(sums, expected);
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
    same_everywhere("dynamic", |device, module| {
        let mut output = device.zeros::<u64>(96).unwrap();
        let layout = cuda_std::shared::SharedLayout::new()
            .array::<u8>(32)
            .array::<u64>(32);
        let config = WARP.with_shared(layout.bytes() as u32);
        // SAFETY: 96 elements, 32 threads, and the layout's bytes.
        unsafe { device.launch::<memory::Dynamic>(module, config, (&mut output, 32)) }.unwrap();
        // The last 32 tell the memory of the block, of which the hardware keeps some to itself.
        output.to_vec().unwrap()[..64].to_vec()
    });
}

#[test]
fn conversions() {
    let all: Vec<u16> = (0..=u16::MAX).collect();
    let floats = from_to::<functions::Conversions, u16, f32>(
        "f16_to_f32",
        LaunchConfig::linear(256, 256),
        // A NaN may keep its payload or not.
        &all.iter()
            .map(|bits| if bits & 0x7fff > 0x7c00 { 0 } else { *bits })
            .collect::<Vec<_>>(),
        1 << 16,
    );
    assert_eq!(floats[0x3c00], 1.0);
    assert_eq!(floats[1], 2f32.powi(-24));
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
        functions_of::<functions::ExactFunctions<f32>, f32>(&singles, 13);
        functions_of::<functions::ExactFunctions<f64>, f64>(&doubles, 13);
        functions_of::<functions::SlowFunctions<f32>, f32>(&singles, 25);
        functions_of::<functions::SlowFunctions<f64>, f64>(&doubles, 25);
    }
}

/// Runs a kernel of functions of two numbers. Where one is not defined, the results are NaN everywhere, with
/// whatever bits.
fn functions_of<K, T>(values: &[T], results: usize)
where
    K: Kernel<Params = (Global<T>, GlobalMut<T>)>,
    T: warpwright::Element + std::fmt::Debug + Into<f64>,
{
    let what = format!("{} of {values:?}", std::any::type_name::<K>());
    same_everywhere(&what, |device, module| {
        let input = device.upload(values).unwrap();
        let mut output = device.zeros::<T>(results).unwrap();
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
}

#[test]
fn atomics_by_one_thread_each() {
    macro_rules! types {
        ($($kernel:ident: $($ty:ty),*;)*) => { $( $(
            in_place::<atomics::$kernel<$ty>, $ty>(stringify!($kernel), WARP, &small(32));
        )* )* };
    }
    types! {
        Integers: u32, i32, u64, i64;
        DefaultBits: u32, i32, u64, i64;
        Floats: f32, f64;
    }
    macro_rules! defaults {
        ($($ty:ty),*) => { $(
            same_everywhere(stringify!($ty), |device, module| {
                let mut values = device.upload(&small::<$ty>(32)).unwrap();
                let mut results = device.zeros::<$ty>(32 * 16).unwrap();
                // SAFETY: an element, and sixteen results, per thread.
                unsafe {
                    device.launch::<atomics::Defaults<$ty>>(module, WARP, (&mut values, &mut results))
                }
                .unwrap();
                let mut all = values.to_vec().unwrap();
                all.extend(results.to_vec().unwrap());
                all
            });
        )* };
    }
    defaults!(u32, i32, u64, i64, f32, f64);
}

/// Values of both signs where the type has them, none of them a NaN.
fn small<T: Pod + From<u8> + std::ops::Sub<Output = T>>(len: usize) -> Vec<T> {
    (0..len)
        .map(|i| {
            let value = T::from((i % 11 + 100) as u8);
            if i % 2 == 0 {
                value - T::from(20)
            } else {
                value
            }
        })
        .collect()
}

#[test]
fn typed_atomics_and_fences() {
    let one = LaunchConfig::linear(1, 1);
    in_place::<atomics::TypedF32, f32>("AtomicF32", one, &[1.5]);
    in_place::<atomics::TypedF64, f64>("AtomicF64", one, &[1.5]);
    in_place::<atomics::TypedBlockF32, f32>("BlockAtomicF32", one, &[1.5]);
    in_place::<atomics::TypedBlockF64, f64>("BlockAtomicF64", one, &[1.5]);
    in_place::<atomics::TypedSystemF32, f32>("SystemAtomicF32", one, &[1.5]);
    in_place::<atomics::TypedSystemF64, f64>("SystemAtomicF64", one, &[1.5]);
    in_place::<atomics::Fences, u32>("fences", one, &[0]);
}

#[test]
fn bytes_are_counted_by_atomics_in_shared_memory() {
    let bytes = noise::<u8>(100_003);
    let counts = from_to::<atomics::CountBytes, u8, u32>(
        "counts",
        LaunchConfig::linear(4, 256),
        &bytes,
        256,
    );
    let mut expected = [0; 256];
    for byte in bytes {
        expected[usize::from(byte)] += 1;
    }
    assert_eq!(counts, expected);
}
