//! The library under abuse: threads and handles without number, things dropped too early, devices mixed, and
//! kernels that fault.

use std::{env, process::Command, sync::Barrier};

use cuda_std::prelude::*;
use warpwright::{
    Device, Error, LaunchConfig, Module, Vector,
    ops::{
        map::{PowPairs, Sin, Wave},
        reduce::Operator,
    },
};
use warpwright_tests::{
    cases,
    data::Data,
    devices::{self, Executor},
    operations::{self, Operation},
};

/// What the tests ask for on `device`: everything on a CUDA device, each family's first choice on the CPU
/// executor, where lanes cost time. Not which device is the first: it need not be this one.
fn asked(device: &Device) -> Vec<Operation> {
    let mut all = operations::all();
    all.retain(|operation| {
        let of_a_family = operation.name.split(' ').next().is_some_and(|word| {
            let families = warpwright::families();
            families.iter().any(|family| family.name == word)
        });
        operation.name != "auto" && (cases::is_cuda(device) || operation.is_best || !of_a_family)
    });
    assert!(all.len() > 15);
    all
}

/// Asks for everything, and compares with what it gave when nobody else was there.
fn all_is_well(device: &Device, operations: &[Operation], wanted: &[u64], start: usize) {
    for i in 0..operations.len() {
        let place = (start + i) % operations.len();
        let Operation { name, run, .. } = &operations[place];
        match run(device) {
            Ok(got) => assert_eq!(got, wanted[place], "{} {name}", device.kind()),
            Err(error) => panic!("{} {name}: {error}", device.kind()),
        }
    }
}

fn alone(device: &Device, operations: &[Operation]) -> Vec<u64> {
    let run = |operation: &Operation| (operation.run)(device).unwrap();
    operations.iter().map(run).collect()
}

#[test]
fn many_threads_share_a_handle_and_many_have_one_each() {
    const THREADS: usize = 8;
    for device in devices::all() {
        let operations = asked(device);
        let wanted = alone(device, &operations);
        let (operations, wanted, start) = (&operations, &wanted, Barrier::new(THREADS));
        let start = &start;
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || {
                    let own = device.new_stream().unwrap();
                    start.wait();
                    let handle = if thread % 2 == 0 { device } else { &own };
                    all_is_well(handle, operations, wanted, thread * 5);
                });
            }
        });
    }
}

#[test]
fn one_thread_has_many_handles() {
    for device in devices::all() {
        let values: Vec<u32> = Data::Spread.values(1000);
        let wanted: u64 = values.iter().map(|value| u64::from(*value)).sum();
        let handles: Vec<Device> = (0..60).map(|_| device.new_stream().unwrap()).collect();
        let vectors: Vec<Vector<u32>> = handles
            .iter()
            .map(|handle| handle.upload(&values).unwrap())
            .collect();
        for (i, handle) in handles.iter().enumerate() {
            let theirs = &vectors[(i * 7 + 1) % vectors.len()];
            assert_eq!(handle.sum(theirs).unwrap(), wanted);
        }
        drop(handles);
        for vector in &vectors {
            assert_eq!(device.sum(vector).unwrap(), wanted);
        }
    }
}

#[test]
fn everything_is_dropped_while_work_is_queued() {
    for device in devices::all() {
        let len: usize = if cases::is_cuda(device) {
            1 << 24
        } else {
            1 << 12
        };
        let wanted = len as u64 * 3;
        for round in 0..20 {
            // An array, its results and the handle go while the device has yet to use them.
            let handle = device.new_stream().unwrap();
            let vector = handle.upload(&vec![1_u32; len]).unwrap();
            let mut sum = handle.reduce(&vector).prepare(Operator::Sum).unwrap();
            for _ in 0..4 {
                sum.enqueue().unwrap();
            }
            drop(sum);
            drop(
                device.transpose(
                    &device
                        .upload_matrix(&vec![2_u32; len], 64, len / 64)
                        .unwrap(),
                ),
            );
            drop((vector, handle));
            // Whoever gets the memory now has it alone.
            let next = device.upload(&vec![3_u32; len]).unwrap();
            assert_eq!(device.sum(&next).unwrap(), wanted, "round {round}");
        }
    }
}

#[test]
fn pinned_memory_is_dropped_while_it_is_copied() {
    for device in devices::all() {
        let len: usize = if cases::is_cuda(device) {
            1 << 22
        } else {
            1 << 12
        };
        for round in 1..20_u32 {
            let mut pinned = device.pinned::<u32>(len).unwrap();
            pinned.as_mut_slice().unwrap().fill(round);
            let mut vector = device.zeros::<u32>(len).unwrap();
            vector.upload_pinned(&mut pinned).unwrap();
            drop(pinned);
            // Takes the same memory, if it is free already.
            let mut other = device.pinned::<u32>(len).unwrap();
            other.as_mut_slice().unwrap().fill(u32::MAX);
            assert_eq!(device.max(&vector).unwrap(), Some(round));
        }
    }
}

/// A result that is asked for before work is queued is an error that names the operation, for every prepared form; and
/// so is one of work that could not be queued.
#[test]
fn no_result_is_read_before_work_is_queued() {
    fn refused<T>(operation: &str, result: warpwright::Result<T>) {
        let error = result.map(drop).expect_err(operation);
        let text = error.to_string();
        assert!(matches!(error, Error::Invalid { .. }), "{text}");
        assert!(text.starts_with(&format!("{operation}: ")), "{text}");
        assert!(text.contains("enqueue"), "{text}");
    }
    for device in devices::all() {
        let values = device.upload(&[1.0_f32, 2.0, 3.0, 4.0]).unwrap();
        let matrix = device
            .upload_matrix(&[1.0_f32, 2.0, 3.0, 4.0], 2, 2)
            .unwrap();
        let none = device.zeros::<f32>(0).unwrap();
        for operator in Operator::ALL {
            for variant in cases::variants("reduce") {
                for vector in [&values, &none] {
                    let request = device.reduce(vector).variant(variant.name);
                    let mut prepared = request.prepare(operator).unwrap();
                    refused(operator.name(), prepared.finish());
                    prepared.enqueue().unwrap();
                    prepared.finish().unwrap();
                }
            }
        }
        let counts = || device.histogram_range_request(&values, 4, 0.0, 5.0);
        for variant in cases::variants("histogram") {
            let mut prepared = counts().variant(variant.name).prepare().unwrap();
            refused("histogram", prepared.finish());
            prepared.enqueue().unwrap();
            assert_eq!(prepared.finish().unwrap().total(), 4);
        }
        // The error names the operation; after `enqueue` the result is there, also to keep.
        macro_rules! outputs {
            ($($operation:literal: $request:expr;)*) => { $(
                let mut prepared = $request.unwrap();
                refused($operation, prepared.output());
                prepared.enqueue().unwrap();
                prepared.enqueue().unwrap();
                prepared.output().unwrap().to_vec().unwrap();
                prepared.into_output().unwrap().to_vec().unwrap();
                refused($operation, $request.unwrap().into_output());
            )* };
        }
        outputs! {
            "sum of columns": device.reduce_columns(&matrix).prepare_sum();
            "mean of columns": device.reduce_columns(&matrix).prepare_mean();
            "min of rows": device.reduce_rows(&matrix).prepare_min();
            "max of rows": device.reduce_rows(&matrix).prepare_max();
            "transpose": device.transpose_request(&matrix).prepare();
            "gemm": device.gemm(&matrix, &matrix).prepare();
            "convolve": device.convolve_request(&values, &[1.0]).prepare();
            "convolve": device.convolve_rows_request(&matrix, &[1.0]).prepare();
            "map": device.map_request(&values, Sin).prepare();
            "map": device.map_pairs_request(&values, &values, PowPairs).prepare();
            "map": device.map_positions_request(4, Wave).prepare();
        }
    }
}

#[test]
fn operations_that_mix_devices_are_refused() {
    let cpu = devices::cpu();
    let cuda = Executor::Cuda.devices();
    if cuda.is_empty() {
        // `faults.rs` mixes two mock devices.
        devices::leave_out(1);
    }
    for device in cuda {
        for (here, there) in [(&cpu, device), (device, &cpu)] {
            for (name, result) in operations::mixed(here, there).unwrap() {
                let error = result.expect_err(&name);
                let text = error.to_string();
                assert!(
                    matches!(error, Error::DeviceMismatch { .. }),
                    "{name}: {text}"
                );
                for kind in [here.kind(), there.kind()] {
                    assert!(text.contains(&kind.to_string()), "{name}: {text}");
                }
            }
        }
    }
}

/// Ends its block's work in the middle: on the CPU executor by an access out of bounds, on a CUDA device by
/// the instruction that is there for it.
///
/// # Safety
/// None comes of it: it ends with an error.
#[kernel]
pub unsafe fn abuse_trap(output: GlobalMut<u32>) {
    output.set(usize::MAX, 1);
}

const TRAP: &str = "\
.version 6.3
.target sm_75
.address_size 64

.visible .entry abuse_trap(
	.param .u64 output,
	.param .u64 output_len
)
{
	trap;
	ret;
}
";

/// # Errors
/// What the device reports at once.
fn trap(device: &Device, output: &mut Vector<u32>) -> warpwright::Result<()> {
    let module = Module::from_ptx(TRAP)?;
    // SAFETY: the kernel has no contract.
    unsafe { device.launch::<AbuseTrap>(&module, LaunchConfig::linear(2, 64), (output,)) }
}

#[test]
fn a_kernel_that_faults_on_the_cpu_is_an_error_and_the_device_works_on() {
    let device = devices::cpu();
    let mut output = device.upload(&[1_u32, 2]).unwrap();
    for _ in 0..3 {
        let error = trap(&device, &mut output).unwrap_err();
        assert!(matches!(error, Error::Launch(_)), "{error:?}");
        assert!(error.to_string().contains("abuse_trap"), "{error}");
        assert_eq!(device.sum(&output).unwrap(), 3);
    }
}

#[test]
fn a_launch_of_an_impossible_shape_is_refused() {
    let device = devices::cpu();
    let mut output = device.upload(&[1_u32, 2]).unwrap();
    let module = Module::from_ptx(TRAP).unwrap();
    for dims in [[u32::MAX; 3], [0; 3], [u32::MAX, 1, 1], [1, 1, u32::MAX]] {
        for (grid, block) in [(dims, [1; 3]), ([1; 3], dims), (dims, dims)] {
            for shared_bytes in [0, u32::MAX] {
                let config = LaunchConfig {
                    grid,
                    block,
                    shared_bytes,
                };
                // SAFETY: the kernel ends with an error whatever its launch is.
                let launched =
                    unsafe { device.launch::<AbuseTrap>(&module, config, (&mut output,)) };
                assert!(
                    matches!(launched, Err(Error::Launch(_))),
                    "{config:?}: {launched:?}"
                );
            }
        }
    }
    assert_eq!(device.sum(&output).unwrap(), 3);
}

/// Runs the test of this name again in a process of its own, which `variable` tells what it is, behind a line of `sh`.
fn again(name: &str, line: &str, variable: &str, value: &str) {
    let output = Command::new("sh")
        .args(["-c", &format!("{line}; exec \"$0\" \"$@\"")])
        .arg(env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(variable, value)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{line}: {}\n{text}\n{errors}",
        output.status
    );
}

/// Whether the limit is one on all memory of the process (`ulimit -v`) or on that for data (`-d`).
const LIMITED: &str = "WARPWRIGHT_TEST_LIMITED";

#[test]
#[cfg(target_os = "linux")]
fn a_limit_of_the_process_is_one_of_the_cpu_device() {
    let name = "a_limit_of_the_process_is_one_of_the_cpu_device";
    const LIMIT: u64 = 2 << 30;
    const TAKEN: u64 = 256 << 20;
    if env::var_os(LIMITED).is_none() {
        for flag in ["-v", "-d"] {
            again(
                name,
                &format!("ulimit {flag} {}", LIMIT >> 10),
                LIMITED,
                flag,
            );
        }
        return;
    }
    let device = devices::cpu();
    assert!(device.info().memory_bytes <= LIMIT);
    let free = device.free_memory().unwrap();
    assert!(TAKEN < free && free < LIMIT, "{free}");
    let taken = device.zeros::<u8>(TAKEN as usize).unwrap();
    let left = device.free_memory().unwrap();
    assert!(left <= free - TAKEN, "{left} of {free}");
    for error in [
        device.zeros::<u8>(free as usize).map(drop).unwrap_err(),
        device.pinned::<u8>(free as usize).map(drop).unwrap_err(),
        device.zeros::<u8>(1 << 40).map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error:?}");
    }
    assert_eq!(device.sum(taken.slice(..1000).unwrap()).unwrap(), 0);
    drop(taken);
    // Memory that is taken is taken at once, not where it is first written to: what is left is known then.
    let resident = || {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages = pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap();
        pages * 4096
    };
    let before = resident();
    let pinned = device.pinned::<u8>(TAKEN as usize).unwrap();
    assert!(resident() >= before + TAKEN - (1 << 20), "{before}");
    drop(pinned);
    assert!(device.free_memory().unwrap() > left);
}

const TRAPPED: &str = "WARPWRIGHT_TEST_TRAPPED";

/// In a process of its own: no other test can use the device afterwards.
#[test]
fn a_kernel_that_traps_loses_the_context_and_later_calls_say_so() {
    if Executor::Cuda.devices().is_empty() {
        devices::leave_out(1);
        return;
    }
    let name = "a_kernel_that_traps_loses_the_context_and_later_calls_say_so";
    if env::var_os(TRAPPED).is_none() {
        return again(name, ":", TRAPPED, "1");
    }
    let device = &Executor::Cuda.devices()[0];
    let mut output = device.zeros::<u32>(64).unwrap();
    let mut pinned = device.pinned::<u32>(64).unwrap();
    let before = device.upload(&[1_u32; 64]).unwrap();
    // The launch itself may be told of the fault, or only what comes after it.
    let launched = trap(device, &mut output);
    let lost = |what: &str, result: warpwright::Result<()>| {
        let error = result.expect_err(what);
        assert!(matches!(error, Error::Driver { .. }), "{what}: {error:?}");
        assert!(
            error.to_string().contains("the context is lost"),
            "{what}: {error}"
        );
    };
    if launched.is_err() {
        lost("launch", launched);
    }
    lost("synchronize", device.synchronize());
    for _ in 0..2 {
        lost("to_vec", before.to_vec().map(drop));
        lost("sum", device.sum(&before).map(drop));
        lost("upload", device.upload(&[1_u8]).map(drop));
        lost("zeros", device.zeros::<f64>(10).map(drop));
        lost("pinned", device.pinned::<f64>(10).map(drop));
        lost(
            "download_pinned",
            before
                .download_pinned(&mut pinned)
                .and_then(|()| pinned.wait()),
        );
        lost("new_stream", device.new_stream().map(drop));
        lost("synchronize", device.synchronize());
    }
    // Everything that is left is dropped, and the CPU works on.
    drop((output, pinned, before));
    assert_eq!(
        Device::cpu()
            .sum(&Device::cpu().upload(&[1_u8, 2]).unwrap())
            .unwrap(),
        3
    );
}
