//! What the library asks of the CUDA driver once it is warm: which calls, with which arguments, and how much memory.
//!
//! Mock devices list the calls. Each operation on one element is held to the calls that it needs, which the benchmark
//! times beside it (`warpwright_bench::run::overhead`): so those are the library's own, and nothing is called beside them.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod memory;

use warpwright::Device;
use warpwright_bench::run::{driver::Driver as BareDriver, overhead};
use warpwright_tests::faults::{self, Driver};
use warpwright_workloads::FAMILIES;

/// The test that a child process runs, and what it prints at its end.
const CHILD: &str = "child";
const DONE: &str = "all calls are as stated";

/// What asks which context is the thread's own: a look at a variable of the thread, made before each call, since other
/// libraries in the process may have set another.
const WHOSE_CONTEXT: &str = "cuCtxGetCurrent";

const ALLOCATE: &str = "cuMemAllocAsync";
const SET: &str = "cuMemsetD8Async";
const COPY: &str = "cuMemcpyDtoDAsync_v2";
const UPLOAD: &str = "cuMemcpyHtoDAsync_v2";
const LAUNCH: &str = "cuLaunchKernel";
const DOWNLOAD: &str = "cuMemcpyDtoHAsync_v2";
const WAIT: &str = "cuStreamSynchronize";
const FREE: &str = "cuMemFreeAsync";

/// The calls of an operation on one element, stated: prepared, and in one call.
const STATED: &[(&str, &[&str], &[&str])] = &[
    (
        "reduce",
        &[LAUNCH, WAIT],
        &[ALLOCATE, SET, LAUNCH, DOWNLOAD, WAIT, FREE],
    ),
    ("columns", &[LAUNCH, WAIT], ONE_LAUNCH),
    ("rows", &[LAUNCH, WAIT], ONE_LAUNCH),
    (
        "transpose",
        &[COPY, WAIT],
        &[ALLOCATE, COPY, DOWNLOAD, WAIT, FREE],
    ),
    (
        "histogram",
        &[SET, LAUNCH, WAIT],
        &[ALLOCATE, SET, LAUNCH, DOWNLOAD, WAIT, FREE],
    ),
    ("gemm", &[LAUNCH, WAIT], ONE_LAUNCH),
    ("convolution", &[LAUNCH, WAIT], ONE_LAUNCH),
    ("map", &[LAUNCH, WAIT], ONE_LAUNCH),
    ("random", &[LAUNCH, WAIT], ONE_LAUNCH),
    ("scan", &[LAUNCH, WAIT], ONE_LAUNCH),
    (
        // On a mock device no element is selected, and reading none is a wait.
        "select",
        &[LAUNCH, WAIT],
        &[
            ALLOCATE, ALLOCATE, SET, LAUNCH, DOWNLOAD, WAIT, WAIT, FREE, FREE,
        ],
    ),
    ("sort", &[LAUNCH, WAIT], ONE_LAUNCH),
    (
        "top_k",
        &[LAUNCH, WAIT],
        &[
            ALLOCATE, ALLOCATE, LAUNCH, DOWNLOAD, WAIT, DOWNLOAD, WAIT, FREE, FREE,
        ],
    ),
    (
        "segments",
        &[LAUNCH, WAIT],
        &[ALLOCATE, ALLOCATE, SET, LAUNCH, DOWNLOAD, WAIT, FREE, FREE],
    ),
    ("merge", &[LAUNCH, WAIT], ONE_LAUNCH),
];
const ONE_LAUNCH: &[&str] = &[ALLOCATE, LAUNCH, DOWNLOAD, WAIT, FREE];

#[test]
fn child() {
    let Some(behind) = faults::is_child() else {
        return;
    };
    let driver = faults::driver(behind).expect("a driver");
    let device = Device::cuda(0).expect("a device");
    one_element(&driver, &device);
    constants(&driver, &device);
    memory::check_all(&driver, &device);
    queued(&driver, &device);
    assert_eq!(driver.wrong(), "");
    println!("{DONE}");
}

#[test]
fn calls_and_memory_are_as_stated() {
    faults::run_child(CHILD, DONE);
}

/// The name of a call in a list.
fn name(call: &str) -> &str {
    call.split(' ').next().unwrap_or_default()
}

/// The calls of `work`, without those that ask whose the context is: at most one of them comes before each.
fn calls(driver: &Driver, work: impl FnOnce()) -> Vec<String> {
    let mut calls = driver.calls_of(work).1;
    for pair in calls.windows(2) {
        assert!(
            pair != [WHOSE_CONTEXT; 2],
            "it is asked twice whose the context is: {calls:?}"
        );
    }
    calls.retain(|call| name(call) != WHOSE_CONTEXT);
    calls
}

fn names(calls: &[String]) -> Vec<&str> {
    calls.iter().map(|call| name(call)).collect()
}

/// Bytes of device memory that the calls allocate.
fn allocated(calls: &[String]) -> usize {
    let sizes = calls.iter().filter(|call| name(call) == ALLOCATE);
    sizes
        .map(|call| {
            let size = call.split(' ').nth(1).expect("a size");
            size.parse::<usize>().expect("a size")
        })
        .sum()
}

/// The calls without the waits, of which the bare calls need one alone.
fn awaited_once(calls: &[String]) -> Vec<&String> {
    calls.iter().filter(|call| name(call) != WAIT).collect()
}

fn one_element(driver: &Driver, device: &Device) {
    let bare = BareDriver::open().expect("the same driver");
    let mut families = Vec::new();
    overhead::cases(device, &bare, |mut case| {
        let family = case.family;
        let stated = STATED.iter().find(|(stated, ..)| *stated == family);
        // A generator's second run is the one that the bare calls repeat.
        let ours = calls(driver, || case.again().expect("ours"));
        let theirs = calls(driver, || case.bare_again().expect("bare"));
        assert_eq!(ours, theirs, "{family}, prepared: ours, bare");
        if let Some((_, again, _)) = stated {
            assert_eq!(names(&ours), *again, "{family}, prepared");
        }

        let ours = calls(driver, || drop(case.once().expect("ours")));
        if let Some((.., once)) = stated {
            assert_eq!(names(&ours), *once, "{family}, in one call");
        }
        let theirs = calls(driver, || drop(case.bare_once().expect("bare").to_vec()));
        let waits = names(&theirs).iter().filter(|call| **call == WAIT).count();
        assert_eq!(waits, 1, "{family}, in one call");
        let mut theirs = awaited_once(&theirs);
        if family == "select" {
            // The bare calls read the element too.
            let read = theirs.iter().rposition(|call| name(call) == DOWNLOAD);
            theirs.remove(read.expect("an element"));
        }
        let mut ours = awaited_once(&ours);
        if family == "random" {
            // One call has a generator of its own, and so draws the first number. The bare calls draw the second.
            let [own, other] = [&mut ours, &mut theirs].map(|calls| {
                let at = calls.iter().position(|call| name(call) == LAUNCH);
                calls.remove(at.expect("a launch"))
            });
            let own = own.strip_suffix(", 0x0)");
            assert!(
                own.is_some() && own == other.strip_suffix(", 0x1)"),
                "{own:?}, {other}"
            );
        }
        assert_eq!(ours, theirs, "{family}, in one call: ours, bare");
        families.push(family);
        Ok(())
    })
    .expect("no call fails");
    let of_all = FAMILIES.iter().map(|family| family.name);
    assert!(families.iter().copied().eq(of_all), "{families:?}");
    for (family, ..) in STATED {
        assert!(families.contains(family), "{family}");
    }
}

/// Once prepared, no family's work allocates or releases memory, reads results, or waits.
fn queued(driver: &Driver, device: &Device) {
    for family in FAMILIES {
        for workload in (family.operations)() {
            let input = workload.input(device).expect("memory");
            let mut ready = input.prepare(device, None).expect("a plan");
            if ready.kernels().is_empty() {
                // It is not prepared by the library.
                continue;
            }
            for turn in 0..2 {
                let calls = calls(driver, || ready.enqueue().expect("launches"));
                let name = format!("{} {}, turn {turn}", family.name, workload.name());
                let names = names(&calls);
                assert!(names.contains(&LAUNCH), "{name}: {names:?}");
                for call in [ALLOCATE, FREE, DOWNLOAD, WAIT] {
                    assert!(!names.contains(&call), "{name}: {call}");
                }
            }
        }
    }
}

/// A mask is copied to the device where another one is there, and streams that read the same one do not wait for each other.
fn constants(driver: &Driver, device: &Device) {
    let other = device.new_stream().expect("a stream");
    let values = device.upload(&[1.0_f32; 100]).expect("memory");
    let own_values = other.upload(&[1.0_f32; 100]).expect("memory");
    let prepared = |device: &Device, values, mask: f32| {
        let request = device.convolve_request(values, &[mask, 0.5]);
        request.prepare().expect("a request")
    };
    let mut first = prepared(device, &values, 0.25);
    let mut second = prepared(device, &values, 0.75);
    let mut elsewhere = prepared(&other, &own_values, 0.75);
    let calls_of = |request: &mut dyn FnMut()| names_of(&calls(driver, request));

    assert_eq!(calls_of(&mut || first.enqueue().unwrap()), [UPLOAD, LAUNCH]);
    assert_eq!(calls_of(&mut || first.enqueue().unwrap()), [LAUNCH]);
    assert_eq!(
        calls_of(&mut || second.enqueue().unwrap()),
        [UPLOAD, LAUNCH]
    );
    assert_eq!(calls_of(&mut || second.enqueue().unwrap()), [LAUNCH]);
    let (make, mark, wait) = ("cuEventCreate", "cuEventRecord", "cuStreamWaitEvent");
    // The same values, set in another stream: behind that, once.
    assert_eq!(
        calls_of(&mut || elsewhere.enqueue().unwrap()),
        [make, mark, wait, LAUNCH, make, mark]
    );
    // From then on an event is behind each use, and nobody waits to read.
    assert_eq!(
        calls_of(&mut || elsewhere.enqueue().unwrap()),
        [LAUNCH, mark]
    );
    assert_eq!(calls_of(&mut || second.enqueue().unwrap()), [LAUNCH, mark]);
    assert_eq!(
        calls_of(&mut || elsewhere.enqueue().unwrap()),
        [LAUNCH, mark]
    );
    // Other values wait for all who read those.
    assert_eq!(
        calls_of(&mut || first.enqueue().unwrap()),
        [wait, UPLOAD, LAUNCH, mark]
    );
    // Two events are one more than a single reader needs.
    assert_eq!(
        calls_of(&mut || elsewhere.enqueue().unwrap()),
        [wait, "cuEventDestroy_v2", UPLOAD, LAUNCH, mark]
    );
    for request in [&mut first, &mut elsewhere] {
        assert_eq!(
            calls_of(&mut || request.enqueue().unwrap()),
            [wait, UPLOAD, LAUNCH, mark]
        );
    }
}

fn names_of(calls: &[String]) -> Vec<String> {
    names(calls).into_iter().map(str::to_owned).collect()
}
