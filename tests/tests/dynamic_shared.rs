//! Several arrays of different types in one dynamic allocation, and what is refused.

use cuda_std::{
    kernel::Kernel,
    prelude::*,
    shared::{DynamicShared, SharedLayout},
};
use cuda_std_device_tests::memory::{
    HAND_LAID, HandLaid, THREE_ARRAYS, THREE_LENGTHS, ThreeArrays,
};
use warpwright::{Error, LaunchConfig, Module};
use warpwright_tests::{device_library, devices};

fn module() -> Module {
    Module::from_ptx(device_library::ptx(cuda_builder::NvvmArch::Compute75)).unwrap()
}

const THREADS: u32 = 128;

fn config() -> LaunchConfig {
    LaunchConfig::linear(1, THREADS).with_shared(THREE_ARRAYS.bytes() as u32)
}

#[test]
fn three_arrays_in_one_allocation() {
    assert_eq!(THREE_LENGTHS, [1000, 300, 500]);
    assert_eq!(THREE_ARRAYS.bytes(), 4 * (1000 + 300 + 500));
    assert_eq!(ThreeArrays::DESCRIPTOR.dynamic_shared, 7200);
    let module = module();
    let input: Vec<f32> = (0..1000).map(|i| i as f32 * 0.25 - 100.0).collect();
    for device in devices::all() {
        let on_device = device.upload(&input).unwrap();
        let mut output = device.zeros::<f32>(500).unwrap();
        // SAFETY: 1000 elements in, 500 out.
        unsafe { device.launch::<ThreeArrays>(&module, config(), (&on_device, &mut output)) }
            .unwrap();
        let expected: Vec<f32> = (0..500)
            .map(|i| input[2 * i] + input[2 * i + 1] + (i % 300) as f32)
            .collect();
        assert_eq!(output.to_vec().unwrap(), expected, "{}", device.kind());
    }
}

#[test]
fn a_launch_with_too_little_shared_memory_is_refused() {
    let module = module();
    for device in devices::all() {
        let input = device.zeros::<f32>(1000).unwrap();
        let mut output = device.upload(&[7.0_f32; 500]).unwrap();
        for bytes in [0, 4, 7199] {
            let config = config().with_shared(bytes);
            // SAFETY: 1000 elements in, 500 out.
            let launched =
                unsafe { device.launch::<ThreeArrays>(&module, config, (&input, &mut output)) };
            let error = launched.unwrap_err();
            assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
            let text = error.to_string();
            for part in ["three_arrays", "7200", &format!("{bytes} given")] {
                assert!(text.contains(part), "no {part:?} in: {text}");
            }
        }
        assert_eq!(output.to_vec().unwrap(), [7.0; 500]);
    }
}

#[test]
fn a_misaligned_array_is_refused_before_the_launch() {
    // Behind three bytes there is no place for a double.
    let bytes = SharedLayout::new().array_at::<u8>(0, 3).unwrap();
    let error = bytes.array_at::<f64>(3, 10).unwrap_err();
    assert_eq!(
        error.to_string(),
        "shared memory: an offset that is a multiple of 8 required, given 3"
    );
    assert_eq!(bytes.array_at::<f64>(8, 10).unwrap().bytes(), 88);
    // In an order of one's own, the end is that of the last.
    assert_eq!(
        SharedLayout::new()
            .array_at::<u32>(16, 4)
            .and_then(|layout| layout.array_at::<u16>(0, 8))
            .unwrap()
            .bytes(),
        32
    );
    assert!(
        SharedLayout::new()
            .array_at::<u64>(usize::MAX - 7, 4)
            .unwrap()
            .bytes()
            == usize::MAX
    );
}

#[test]
fn arrays_laid_out_by_hand() {
    let module = module();
    for device in devices::all() {
        let mut output = device.zeros::<f64>(64).unwrap();
        let config = LaunchConfig::linear(1, 64).with_shared(HAND_LAID.bytes() as u32);
        // SAFETY: 64 elements; the offset is a multiple of 8.
        unsafe { device.launch::<HandLaid>(&module, config, (&mut output, 64)) }.unwrap();
        let expected: Vec<f64> = (0..64).map(|i| f64::from(63 - i) * 1.5).collect();
        assert_eq!(output.to_vec().unwrap(), expected, "{}", device.kind());
    }
    let cpu = devices::cpu();
    let mut output = cpu.zeros::<f64>(64).unwrap();
    let config = LaunchConfig::linear(1, 64).with_shared(HAND_LAID.bytes() as u32);
    // SAFETY: the offset is wrong, which the CPU executor checks.
    let launched = unsafe { cpu.launch::<HandLaid>(&module, config, (&mut output, 61)) };
    let text = launched.unwrap_err().to_string();
    for part in ["hand_laid", "multiple of 8", "given 61", "memory.rs:"] {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

/// Carves more than the launch gives, whose size this kernel does not state.
///
/// # Safety
/// None comes of it: it ends with an error.
#[kernel]
pub unsafe fn carves_too_much(output: GlobalMut<f32>) {
    // SAFETY: the only one in this kernel.
    let mut memory = unsafe { DynamicShared::new() };
    output.set(0, memory.carve::<f32>(1000).get(0));
}

#[test]
fn on_the_cpu_carving_too_much_is_an_error_even_where_the_kernel_states_no_size() {
    let cpu = devices::cpu();
    let module = Module::from_ptx(
        ".version 7.0\n.visible .entry carves_too_much(.param .u64 a, .param .u64 b)\n{ ret; }\n",
    )
    .unwrap();
    let mut output = cpu.zeros::<f32>(1).unwrap();
    let config = LaunchConfig::linear(1, 1).with_shared(3999);
    // SAFETY: one element.
    let launched = unsafe { cpu.launch::<CarvesTooMuch>(&module, config, (&mut output,)) };
    let text = launched.unwrap_err().to_string();
    for part in ["carves_too_much", "4000", "3999", "dynamic_shared.rs:"] {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}
