//! Kernels that do what programs do, on both executors: a panic says where and what, collections hold what they should, and
//! a published crate of hashes gives the published digests.

use std::{env, process::Command};

use cuda_builder::PanicMessages;
use cuda_std::kernel::Kernel;
use cuda_std_program_tests::{allocations, hashes, panics};
use warpwright::{Device, DeviceKind, LaunchConfig, Module, Result};
use warpwright_tests::{device_library, devices};

/// The kernels as the builder makes them unasked.
fn module() -> Module {
    Module::from_ptx(device_library::programs(PanicMessages::Place)).unwrap()
}

/// Runs a kernel that fills its only view.
fn fill<K, T>(device: &Device, module: &Module, config: LaunchConfig, len: usize) -> Vec<T>
where
    K: Kernel<Params = (cuda_std::GlobalMut<T>,)>,
    T: warpwright::Element,
{
    let mut output = device.zeros::<T>(len).unwrap();
    // SAFETY: the tests give as many elements as the kernel's threads use.
    unsafe { device.launch::<K>(module, config, (&mut output,)) }.unwrap();
    output.to_vec().unwrap()
}

#[test]
fn collections_hold_what_they_hold_on_the_host() {
    let module = module();
    let config = LaunchConfig::linear(4, 32);
    let expected: Vec<u64> = (0..128).flat_map(allocations::of).collect();
    for device in devices::all() {
        let len = expected.len();
        let got = fill::<allocations::Collections, u64>(device, &module, config, len);
        assert_eq!(got, expected, "{}", device.kind());
    }
}

#[test]
fn memory_of_one_launch_is_there_in_the_next() {
    let module = module();
    let config = LaunchConfig::linear(2, 64);
    for device in devices::all() {
        let mut pointers = fill::<allocations::Leave, u64>(device, &module, config, 128);
        pointers.reverse();
        let mut pointers = device.upload(&pointers).unwrap();
        // SAFETY: pointers of `leave`, one per thread.
        unsafe { device.launch::<allocations::Take>(&module, config, (&mut pointers,)) }.unwrap();
        let expected: Vec<u64> = (0..128).rev().map(|i| 3 * i).collect();
        assert_eq!(pointers.to_vec().unwrap(), expected, "{}", device.kind());
    }
}

#[test]
fn a_published_crate_gives_the_digests_that_it_gives_on_the_host() {
    let module = module();
    let config = LaunchConfig::linear(5, 64);
    let digests = |lane| {
        let (short, long) = hashes::digests(lane);
        [&short[..], &long[..]].concat()
    };
    let expected: Vec<u8> = (0..320).flat_map(digests).collect();
    // FIPS 180-4's example of SHA-256, `abc`.
    let published = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    for device in devices::all() {
        let got = fill::<hashes::Hashes, u8>(device, &module, config, expected.len());
        assert!(got == expected, "{}", device.kind());
        let third = &got[3 * 96..][..32];
        let text: String = third.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text, published, "{}", device.kind());
    }
}

/// A kind of panic: its number, and what each form of message says.
struct Case {
    kind: u32,
    full: &'static str,
    place: &'static str,
    /// Not on the CPU executor: why.
    device_alone: Option<&'static str>,
}

const fn case(kind: u32, full: &'static str, place: &'static str) -> Case {
    Case {
        kind,
        full,
        place,
        device_alone: None,
    }
}

const CASES: &[Case] = &[
    case(0, "a text without arguments", "a text without arguments"),
    case(1, "x = 7, of lane 37", "x = {}, of lane {}"),
    case(
        2,
        "index out of bounds: the len is 4 but the index is 7",
        "index out of bounds: the len is {} but the index is {}",
    ),
    case(
        3,
        "called `Option::unwrap()` on a `None` value",
        "called `Option::unwrap()` on a `None` value",
    ),
    case(4, "eight of them", "eight of them"),
    case(
        5,
        "assertion `left == right` failed: of lane 37\n  left: 7\n right: 8",
        "assertion `left {} right` failed: {}\n  left: {}\n right: {}",
    ),
    case(6, "attempt to divide by zero", "attempt to divide by zero"),
    case(7, "éééé", "a message that `PanicMessages::Full` shows"),
    Case {
        device_alone: Some("a panic within a message ends a process"),
        ..case(
            8,
            "half of a text",
            "a message that `PanicMessages::Full` shows",
        )
    },
    Case {
        device_alone: Some("a host may have the memory, or promise it"),
        ..case(
            9,
            "memory allocation of 1099511627776 bytes failed",
            "memory allocation of {} bytes failed",
        )
    },
];

/// Two blocks of 32 lanes, of which those of `mask` of the second one panic.
fn panic_in(device: &Device, module: &Module, mask: u32, kind: u32) -> Result<Vec<u32>> {
    let mut output = device.zeros::<u32>(64)?;
    let parameters = (&mut output, mask, kind, 7);
    let config = LaunchConfig::linear(2, 32);
    // SAFETY: an element per thread.
    unsafe { device.launch::<panics::Panics>(module, config, parameters)? };
    output.to_vec()
}

#[test]
fn a_panic_on_the_cpu_executor_is_an_error_with_its_message() {
    let module = module();
    let device = devices::cpu();
    for case in CASES.iter().filter(|case| case.device_alone.is_none()) {
        let error = panic_in(&device, &module, 1 << 5, case.kind).unwrap_err();
        let error = error.to_string();
        // File and line are what the program's panic hook makes of them, by default a line on standard error.
        for part in [case.full, "block (1, 0, 0), lane (5, 0, 0)"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

/// The variable that makes the test below panic on the CUDA device that it numbers: the device, the form of messages, the
/// lanes and the kind.
const PANIC_ON: &str = "WARPWRIGHT_TEST_PANIC_ON";

/// A panic takes the context along, so another process does each.
#[test]
fn a_panic_on_a_device_prints_where_and_what_and_ends_the_launch() {
    if let Ok(how) = env::var(PANIC_ON) {
        let mut words = how.split(' ').map(|word| word.parse::<u32>().unwrap());
        let mut next = || words.next().unwrap();
        let device = Device::cuda(next() as usize).unwrap();
        let messages = match next() {
            0 => PanicMessages::Place,
            _ => PanicMessages::Full,
        };
        let module = Module::from_ptx(device_library::programs(messages)).unwrap();
        let outcome = panic_in(&device, &module, next(), next());
        println!("\nended with: {}", outcome.unwrap_err());
        return;
    }
    // Before the children ask for it at the same time.
    let forms = [PanicMessages::Place, PanicMessages::Full];
    let modules = forms.map(device_library::programs);
    for device in devices::all() {
        let DeviceKind::Cuda { ordinal } = device.kind() else {
            continue;
        };
        for (form, text) in modules.iter().enumerate() {
            let module = Module::from_ptx(text.clone()).unwrap();
            let numbers: Vec<u32> = (1..=64).collect();
            assert_eq!(panic_in(device, &module, 0, 0).unwrap(), numbers);
            for case in CASES {
                let message = [case.place, case.full][form];
                // One lane, and a warp of which one writes.
                for mask in [1 << 5, !0] {
                    // The message of one lane of those says its own number.
                    let message = match mask {
                        u32::MAX => message.split("37").next().unwrap_or(message),
                        _ => message,
                    };
                    let text = child(&format!("{ordinal} {form} {mask} {}", case.kind));
                    check(&text, case, mask, message);
                }
            }
        }
    }
}

/// What a child prints that panics as `how` says.
fn child(how: &str) -> String {
    let output = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "a_panic_on_a_device_prints_where_and_what_and_ends_the_launch",
            "--nocapture",
        ])
        .env(PANIC_ON, how)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = text
        .lines()
        .find_map(|line| line.split_once("ended with: "));
    assert!(
        output.status.success() && error.is_some_and(|(_, error)| !error.is_empty()),
        "{how}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// Whether one lane has said where it is and what its message is.
fn check(text: &str, case: &Case, mask: u32, message: &str) {
    let kind = case.kind;
    let heads = text.matches("panicked at ").count();
    assert_eq!(heads, 1, "{kind}: {text}");
    let lane = if mask == u32::MAX { "" } else { "5, 0, 0)" };
    let head = format!("block (1, 0, 0), lane ({lane}");
    assert!(text.contains(&head), "{kind}: {text}");
    assert!(text.contains(message), "{kind}: {message}: {text}");
    // An allocation fails in `alloc`, whose handler is ours.
    let file = if kind == 9 { "heap.rs:" } else { "panics.rs:" };
    assert!(text.contains(file), "{kind}: {text}");
    if case.full.starts_with('é') && message.starts_with('é') {
        assert!(text.contains("éé…\n"), "{kind}: the message is not cut");
    }
}
