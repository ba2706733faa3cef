//! Accesses that are wrong, and launches that are: each ends with an error that says where.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, assert_at, block, fault};
use cuda_std::{
    cpu::{FaultKind, LaunchError, MAX_SHARED_BYTES},
    kernel::LaunchConfig,
    misc,
    prelude::*,
    shared::{DynamicShared, SharedLayout},
};

const READS: u32 = line!() + 4;
#[kernel]
pub unsafe fn reads(input: Global<f32>, output: GlobalMut<f32>, shift: usize) {
    let i = thread::index_1d_wide();
    let value = input.get(i + shift);
    output.set(i, value);
}

#[test]
fn a_read_out_of_bounds_names_parameter_index_and_line() {
    let (mut input, mut output) = (vec![1.0f32; 100], vec![0.0f32; 128]);
    let args = |input: &mut [f32], output: &mut [f32], shift: usize| {
        Args::new()
            .view(input)
            .view(output)
            .value(shift)
            .launch::<Reads>(LaunchConfig::linear(4, 32))
    };
    let first = fault(args(&mut input, &mut output, 0));
    let FaultKind::OutOfBounds {
        view,
        index,
        count,
        len,
        write,
        at,
    } = &first.kind
    else {
        panic!("{first}")
    };
    assert_eq!(
        (*view, *index, *count, *len, *write),
        (Some("input"), 100, 1, 100, false)
    );
    assert_eq!(
        (first.kernel, first.block, first.lane),
        ("reads", [3, 0, 0], [4, 0, 0])
    );
    assert_at(at, file!(), READS);
    let text = first.to_string();
    assert!(
        text.starts_with(
            "kernel reads, block (3, 0, 0), lane (4, 0, 0): read out of bounds: element 100 of `input`, which has 100, at "
        ) && text.contains("faults.rs"),
        "{text}"
    );
    // The README shows this one.
    let shown = text.split("; again").next().unwrap_or(&text);
    assert!(include_str!("../README.md").contains(shown), "{shown}");

    // An index that would wrap around the address space is no way past the check.
    for shift in [usize::MAX - 3, usize::MAX / 4, 1 << 62] {
        let fault = fault(args(&mut input, &mut output, shift));
        assert!(
            matches!(fault.kind, FaultKind::OutOfBounds { .. }),
            "{fault}"
        );
    }
}

const WRITES: u32 = line!() + 3;
#[kernel]
pub unsafe fn writes(output: GlobalMut<u16>) {
    output.set_chunk(thread::thread_idx_x() as usize * 4, [1, 2, 3, 4]);
}

#[test]
fn a_write_out_of_bounds_names_parameter_index_and_line() {
    #[repr(align(16))]
    struct Aligned([u16; 64]);
    let mut output = Aligned([0; 64]);
    Args::new()
        .view(&mut output.0)
        .launch::<Writes>(block(16))
        .unwrap();
    let fault = fault(
        Args::new()
            .view(&mut output.0[..62])
            .launch::<Writes>(block(16)),
    );
    let FaultKind::OutOfBounds {
        view,
        index,
        count,
        len,
        write,
        at,
    } = &fault.kind
    else {
        panic!("{fault}")
    };
    assert_eq!(
        (*view, *index, *count, *len, *write),
        (Some("output"), 60, 4, 62, true)
    );
    assert_at(at, file!(), WRITES);
    assert!(
        fault
            .to_string()
            .contains("write out of bounds: 4 elements from 60 on of `output`"),
        "{fault}"
    );
}

const ATOMICS: u32 = line!() + 3;
#[kernel]
pub unsafe fn atomics(counts: GlobalMut<u32>) {
    counts.atomic_add(thread::thread_idx_x() as usize, 1);
}

#[test]
fn an_atomic_operation_is_checked_too() {
    let fault = fault(Args::new().view(&mut [0u32; 3]).launch::<Atomics>(block(4)));
    let FaultKind::OutOfBounds {
        view: Some("counts"),
        index: 3,
        at,
        ..
    } = &fault.kind
    else {
        panic!("{fault}")
    };
    assert_at(at, file!(), ATOMICS);
}

const SHARED: u32 = line!() + 4;
#[kernel]
pub unsafe fn shared_too_far(n: usize) {
    let tile = shared![u32; 8];
    tile.set(n, 1);
}

#[test]
fn shared_memory_is_checked_too() {
    Args::new()
        .value(7usize)
        .launch::<SharedTooFar>(block(1))
        .unwrap();
    let fault = fault(Args::new().value(8usize).launch::<SharedTooFar>(block(1)));
    let FaultKind::OutOfBounds {
        view: None,
        index: 8,
        len: 8,
        at,
        ..
    } = &fault.kind
    else {
        panic!("{fault}")
    };
    assert_at(at, file!(), SHARED);
}

const CHUNKS: u32 = line!() + 3;
#[kernel]
pub unsafe fn chunks(values: Global<f32>, from: usize, output: GlobalMut<f32>) {
    output.set(0, values.get_chunk::<4>(from)[3]);
}

#[test]
fn a_chunk_at_an_odd_address_is_an_error() {
    #[repr(align(16))]
    struct Aligned([f32; 16]);
    let mut values = Aligned([2.0; 16]);
    let mut run = |from: usize| {
        Args::new()
            .view(&mut values.0)
            .value(from)
            .view(&mut [0.0f32])
            .launch::<Chunks>(block(1))
    };
    for from in [0, 4, 12] {
        run(from).unwrap();
    }
    for from in [1, 2, 3, 11] {
        let fault = fault(run(from));
        let FaultKind::Misaligned {
            view,
            index,
            required,
            at,
            ..
        } = &fault.kind
        else {
            panic!("{fault}")
        };
        assert_eq!((*view, *index, *required), (Some("values"), from, 16));
        assert_at(at, file!(), CHUNKS);
    }
}

#[kernel]
pub unsafe fn large_static() {
    let _ = shared![u8; 227 * 1024 - 100];
    let _ = shared![u8; 200];
}

#[kernel]
pub unsafe fn carves(a: usize, b: usize, output: GlobalMut<u32>) {
    // SAFETY: the only one in this kernel.
    let mut memory = unsafe { DynamicShared::new() };
    let bytes = memory.carve::<u8>(a);
    let words = memory.carve::<u64>(b);
    let i = thread::thread_idx_x() as usize;
    if i < a {
        bytes.set(i, i as u8);
    }
    if i < b {
        words.set(i, u64::MAX - i as u64);
    }
    thread::sync_threads();
    if i < a {
        output.set(i, u32::from(bytes.get(i)));
    }
    if i < b {
        output.set(a + i, (u64::MAX - words.get(i)) as u32);
    }
}

#[test]
fn too_much_shared_memory_is_an_error() {
    let first = fault(Args::new().launch::<LargeStatic>(block(1)));
    let FaultKind::SharedMemory {
        required, given, ..
    } = &first.kind
    else {
        panic!("{first}")
    };
    assert!(
        *required > MAX_SHARED_BYTES && *given == MAX_SHARED_BYTES,
        "{first}"
    );

    let bytes = SharedLayout::new().array::<u8>(13).array::<u64>(5).bytes() as u32;
    assert_eq!(bytes, 16 + 40);
    let mut output = vec![99u32; 18];
    let args = Args::new().value(13usize).value(5usize).view(&mut output);
    args.launch::<Carves>(block(16).with_shared(bytes)).unwrap();
    let fault = fault(args.launch::<Carves>(block(16).with_shared(bytes - 1)));
    let FaultKind::SharedMemory {
        required: 56,
        given: 55,
        ..
    } = &fault.kind
    else {
        panic!("{fault}")
    };
    let expected: Vec<u32> = (0..13).chain(0..5).collect();
    assert_eq!(output, expected);
}

const TRAPS: u32 = line!() + 4;
#[kernel]
pub unsafe fn traps() {
    if thread::thread_idx_x() == 2 {
        misc::trap();
    }
}

#[test]
fn a_trap_ends_the_launch() {
    for order in ORDERS {
        let fault = fault(Args::new().launch_in::<Traps>(block(4), order));
        let FaultKind::Trap { at } = &fault.kind else {
            panic!("{fault}")
        };
        assert_eq!(fault.lane, [2, 0, 0]);
        assert_at(at, file!(), TRAPS);
    }
}

#[kernel]
pub unsafe fn panics(divisor: u32, output: GlobalMut<u32>) {
    thread::sync_threads();
    let i = thread::thread_idx_x();
    assert!(i != 3 || divisor != 0, "divisor of lane {i} is zero");
    output.set(i as usize, i.checked_div(divisor).unwrap_or(0));
}

#[test]
fn a_panic_in_a_kernel_ends_the_launch_only() {
    std::panic::set_hook(Box::new(|_| {}));
    let fault = fault(
        Args::new()
            .value(0u32)
            .view(&mut [0; 8])
            .launch::<Panics>(block(8)),
    );
    let _ = std::panic::take_hook();
    let FaultKind::Panic { message } = &fault.kind else {
        panic!("{fault}")
    };
    assert_eq!(
        (message.as_str(), fault.lane),
        ("divisor of lane 3 is zero", [3, 0, 0])
    );
    let mut output = [0; 8];
    Args::new()
        .value(1u32)
        .view(&mut output)
        .launch::<Panics>(block(8))
        .unwrap();
    assert_eq!(output, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[kernel(launch_bounds(128, 2))]
pub unsafe fn bounded() {}

#[test]
fn launch_shapes_that_no_device_takes_are_errors() {
    let shape = |grid, block, shared_bytes| LaunchConfig {
        grid,
        block,
        shared_bytes,
    };
    let one = [1, 1, 1];
    for (config, expected) in [
        (
            shape([0, 1, 1], one, 0),
            "the grid along x must be 1 to 2147483647, given 0",
        ),
        (
            shape([1, 0, 1], one, 0),
            "the grid along y must be 1 to 65535, given 0",
        ),
        (
            shape([1, 1, 65536], one, 0),
            "the grid along z must be 1 to 65535, given 65536",
        ),
        (
            shape(one, [0, 1, 1], 0),
            "the block along x must be 1 to 1024, given 0",
        ),
        (
            shape(one, [1, 1025, 1], 0),
            "the block along y must be 1 to 1024, given 1025",
        ),
        (
            shape(one, [1, 1, 65], 0),
            "the block along z must be 1 to 64, given 65",
        ),
        (
            shape(one, [129, 1, 1], 0),
            "a block may have 128 threads at most, given 129",
        ),
        (
            shape(one, one, 232_449),
            "dynamic shared memory may be 232448 bytes at most, given 232449",
        ),
    ] {
        match Args::new().launch::<Bounded>(config) {
            Err(LaunchError::Invalid {
                kernel: "bounded",
                what,
            }) => assert_eq!(what, expected),
            other => panic!("{config:?}: {other:?}"),
        }
    }
    Args::new()
        .launch::<Bounded>(shape([2, 3, 4], [8, 4, 4], 232_448))
        .unwrap();

    let too_many = Args::new()
        .value(1u32)
        .launch::<Bounded>(block(1))
        .unwrap_err();
    assert_eq!(
        too_many.to_string(),
        "launch of bounded: 0 raw parameters required, given 1"
    );
    let limit = Args::new()
        .launch::<LargeStatic>(shape(one, [32, 33, 1], 0))
        .unwrap_err();
    assert!(
        limit
            .to_string()
            .ends_with("1024 threads at most, given 1056"),
        "{limit}"
    );
}

/// The sum of two arrays, as a map.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Sum;

// SAFETY: it has no fields.
unsafe impl cuda_std::map::MapFn for Sum {
    type In = (f32, f32);
    type Out = f32;

    fn call(self, _index: usize, (a, b): (f32, f32)) -> f32 {
        a + b
    }
}

cuda_std::map_kernel!(map_of_sum: Sum);

const MAP_KERNEL: u32 = line!() - 2;

/// The same by hand; `one_by_one` says which of its functions does it.
#[kernel]
pub unsafe fn map_by_hand(
    first: Global<f32>,
    second: Global<f32>,
    output: GlobalMut<f32>,
    one_by_one: u32,
) {
    let function = cuda_std::map::Passed::new(Sum);
    if one_by_one == 1 {
        cuda_std::map::apply(function, first, second, second.len());
    } else {
        cuda_std::map::map_wide(function, first, second, output);
    }
}

const MAP_BY_HAND: u32 = line!() - 6;

#[test]
fn an_array_that_is_too_short_for_a_map_is_an_error_of_the_maps_line() {
    let arrays = || [vec![0.0_f32; 64], vec![0.0; 40], vec![0.0; 64]];
    for one_by_one in [0, 1_u32] {
        let [mut first, mut second, mut output] = arrays();
        let args = Args::new().view(&mut first).view(&mut second);
        let args = args.view(&mut output).value(one_by_one);
        let fault = fault(args.launch::<MapByHand>(block(32)));
        assert!(fault.to_string().contains("of `second`"), "{fault}");
        assert_at(
            fault.kind.places()[0],
            file!(),
            MAP_BY_HAND + if one_by_one == 1 { 0 } else { 2 },
        );
    }
    let [mut first, mut second, mut output] = arrays();
    let args = Args::new().value(cuda_std::map::Passed::new(Sum));
    let args = args.view(&mut first).view(&mut second).view(&mut output);
    let params = args.pointers();
    // SAFETY: the kernel's parameters; that one view is too short is what is wrong.
    let launched = unsafe {
        let kernel = <Sum as cuda_std::map::MapKernel>::KERNEL.descriptor();
        cuda_std::cpu::launch(kernel, &block(256), &params, &Default::default())
    };
    assert_at(fault(launched).kind.places()[0], file!(), MAP_KERNEL);
}
