//! What the library asks of the CUDA driver once it is warm: which calls, with which arguments, and how much memory.
//!
//! Make-believe devices list the calls. Each operation on one element is held to the calls that it needs, which the benchmark
//! times beside it (`warpwright_bench::run::overhead`): so those are the library's own, and nothing is called beside them.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::{env, process::Command};

use warpwright::{
    Device, Generator,
    ops::{axis::Axis, map::Sqrt, reduce::Operator},
};
use warpwright_bench::run::{driver::Driver as BareDriver, overhead};
use warpwright_gpu::columns::policy::view;
use warpwright_tests::{
    cases,
    faults::{self, Behind, Driver},
};

/// The test that a child process runs.
const CHILD: &str = "child";

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

/// The calls of an operation on one element, stated: prepared, and in one call. Every family is here.
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
    memory(&driver, &device);
    assert_eq!(driver.wrong(), "");
    println!("all calls are as stated");
}

#[test]
fn calls_and_memory_are_as_stated() {
    let mut program = Command::new(env::current_exe().expect("a path"));
    program.args([CHILD, "--exact", "--nocapture"]);
    match faults::in_child(&mut program, Behind::MakeBelieve) {
        // A name that fits no test would pass as well.
        Ok(output) if output.contains("all calls are as stated") => println!("{output}"),
        Ok(output) => panic!("no call was looked at: {output}"),
        Err(why) => panic!("{why}"),
    }
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

fn one_element(driver: &Driver, device: &Device) {
    let bare = BareDriver::open().expect("the same driver");
    let mut families = Vec::new();
    overhead::cases(device, &bare, |mut case| {
        let (_, again, once) = STATED
            .iter()
            .find(|(family, ..)| *family == case.family)
            .expect(case.family);
        // Warm; and a generator's second call is the one that the bare calls repeat.
        (case.again)()?;
        (case.once)()?;
        let ours = calls(driver, || (case.again)().expect("ours"));
        assert_eq!(names(&ours), *again, "{}, prepared", case.family);
        let theirs = calls(driver, || case.bare.again().expect("bare"));
        assert_eq!(ours, theirs, "{}, prepared: ours, bare", case.family);

        let ours = calls(driver, || drop((case.once)().map(drop)));
        assert_eq!(names(&ours), *once, "{}, in one call", case.family);
        let theirs = calls(driver, || drop(case.bare.once().map(drop)));
        assert_eq!(ours, theirs, "{}, in one call: ours, bare", case.family);
        families.push(case.family);
        Ok(())
    })
    .expect("no call fails");
    let mut all: Vec<_> = warpwright::families().iter().map(|it| it.name).collect();
    families.sort_unstable();
    all.sort_unstable();
    assert_eq!(families, all, "every family, once");
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

/// What a prepared request takes of the device's memory.
struct Taken {
    /// The result's bytes.
    output: usize,
    /// The bytes beside it that the documentation states at most.
    stated: usize,
}

/// Holds a request to what it may take: its output and its workspace when it is prepared, and nothing when it is queued.
fn check<P>(
    driver: &Driver,
    name: &str,
    Taken { output, stated }: Taken,
    prepare: impl FnOnce() -> P,
    workspace: impl FnOnce(&P) -> usize,
    mut enqueue: impl FnMut(&mut P),
) {
    let before = driver.live();
    let (mut prepared, calls) = driver.calls_of(prepare);
    let workspace = workspace(&prepared);
    assert_eq!(allocated(&calls), output + workspace, "{name}");
    assert!(
        workspace <= stated,
        "{name}: a workspace of {workspace} bytes, stated are {stated}"
    );
    for turn in 0..3 {
        let ((), calls) = driver.calls_of(|| enqueue(&mut prepared));
        assert!(!calls.is_empty(), "{name}, turn {turn}: no work");
        assert_eq!(allocated(&calls), 0, "{name}, turn {turn}: {calls:?}");
    }
    drop(prepared);
    // Contexts, streams and events, memory: what is loaded stays.
    assert_eq!(driver.live()[..5], before[..5], "{name}: left behind");
}

/// The multiprocessors of the make-believe device.
const MULTIPROCESSORS: usize = 4;

fn memory(driver: &Driver, device: &Device) {
    const LEN: usize = 1 << 20;
    let values = device.upload(&vec![1.0_f32; LEN]).expect("memory");
    let bytes = device.upload(&vec![1_u8; LEN]).expect("memory");
    for variant in cases::variants("reduce") {
        for operator in Operator::ALL {
            let stated = match variant.name {
                // A partial result for each of two blocks per multiprocessor; the result and the ticket.
                "best" => 16 * 2 * MULTIPROCESSORS + 32,
                // Half of the elements, then half of those, ...; or a block's share for each.
                "folding" => 16 * LEN + 16 * 64,
                _ => 16 * LEN / 128,
            };
            let name = format!("reduce {} {}", variant.name, operator.name());
            check(
                driver,
                &name,
                Taken { output: 0, stated },
                || {
                    let request = device.reduce(&values).variant(variant.name);
                    request.prepare(operator).expect(&name)
                },
                |prepared| prepared.workspace_bytes(),
                |prepared| prepared.enqueue().expect(&name),
            );
        }
    }
    for (height, width) in [
        (1, LEN),
        (LEN, 1),
        (1024, 1024),
        (3, 349_525),
        (LEN / 24, 24),
    ] {
        along(driver, device, &values, Axis::Columns, [height, width]);
        along(driver, device, &bytes, Axis::Columns, [height, width]);
        along(driver, device, &values, Axis::Rows, [height, width]);
        along(driver, device, &bytes, Axis::Rows, [height, width]);
    }
    others(driver, device);
}

fn along<T: warpwright::ops::axis::AxisReducible>(
    driver: &Driver,
    device: &Device,
    values: &warpwright::Vector<T>,
    axis: Axis,
    [height, width]: [usize; 2],
) {
    let part = values.slice(..height * width).expect("a part");
    let matrix = warpwright::MatrixView::from_vector(part, height, width).expect("a matrix");
    for variant in axis.family().variants {
        let (results, row) = match axis {
            Axis::Columns => (width, width * size_of::<T>()),
            Axis::Rows => (height, width * size_of::<T>()),
        };
        let stated = match (axis, variant.name) {
            (Axis::Columns, "best") => {
                // How the matrix is cut: the period is a row, or as many as end at 16 bytes and fill the blocks.
                let seen = view(part.device_pointer(), height, width, size_of::<T>());
                let tile = 512 / size_of::<T>();
                let tiles = seen.period.div_ceil(tile);
                let blocks = (2 * MULTIPROCESSORS).max(tiles * seen.rows.div_ceil(4096));
                let period = if seen.fold { seen.period } else { 0 };
                // A sixteenth for the tree above the blocks, and its tickets.
                let totals = 8 * tile * (blocks + blocks / 16) + 4 * (blocks + tiles);
                if seen.rows > 0 {
                    totals + 8 * period + 48
                } else {
                    0
                }
            }
            (Axis::Rows, "best") if row >= 32 << 10 => (8 * (row >> 15) + 4) * height + 32,
            (Axis::Rows, "chunk_atomic") => 8 * height + 16,
            _ => 0,
        };
        let bytes = size_of::<T>();
        let name = format!("{axis:?} {} {height} x {width} of {bytes}", variant.name);
        check(
            driver,
            &name,
            Taken {
                output: results * size_of::<T::Sum>(),
                stated,
            },
            || {
                let request = device.reduce_axis(matrix, axis).variant(variant.name);
                request.prepare_sum().expect(&name)
            },
            |prepared| prepared.workspace_bytes(),
            |prepared| prepared.enqueue().expect(&name),
        );
    }
}

fn others(driver: &Driver, device: &Device) {
    const SIDE: usize = 200;
    const LEN: usize = SIDE * SIDE;
    let floats = device.upload(&vec![1.0_f32; LEN]).expect("memory");
    let words = device.upload(&vec![1_u16; LEN]).expect("memory");
    let matrix = device
        .upload_matrix(&vec![1.0_f32; LEN], SIDE, SIDE)
        .expect("memory");
    let output = |stated| Taken {
        output: 4 * LEN,
        stated,
    };
    for variant in cases::variants("transpose") {
        check(
            driver,
            variant.name,
            output(0),
            || {
                let request = device.transpose_request(&matrix).variant(variant.name);
                request.prepare().expect("a request")
            },
            |prepared| prepared.workspace_bytes(),
            |prepared| prepared.enqueue().expect("queued"),
        );
    }
    for variant in cases::variants("histogram") {
        for bins in [1, 256, 5000, 100_000] {
            let taken = Taken {
                output: 8 * bins,
                stated: 0,
            };
            let request = device.histogram_request(&words, bins).variant(variant.name);
            check(
                driver,
                variant.name,
                taken,
                || request.prepare().expect("a request"),
                |prepared| prepared.workspace_bytes(),
                |prepared| prepared.enqueue().expect("queued"),
            );
        }
    }
    for variant in cases::variants("gemm") {
        check(
            driver,
            variant.name,
            output(0),
            || {
                let request = device.gemm(&matrix, &matrix).variant(variant.name);
                request.prepare().expect("a request")
            },
            |prepared| prepared.workspace_bytes(),
            |prepared| prepared.enqueue().expect("queued"),
        );
    }
    for variant in cases::variants("convolution") {
        for width in [1, 3, 127, 3000] {
            let mask = vec![0.5_f32; width];
            let request = device
                .convolve_request(&floats, &mask)
                .variant(variant.name);
            let long = variant.name == "basic" || width > 1000;
            if long && !["basic", "best"].contains(&variant.name) {
                assert!(request.prepare().is_err(), "{}", variant.name);
                continue;
            }
            check(
                driver,
                variant.name,
                output(if long { 4 * width } else { 0 }),
                || request.prepare().expect("a request"),
                |prepared| prepared.workspace_bytes(),
                |prepared| prepared.enqueue().expect("queued"),
            );
        }
    }
    for variant in cases::variants("map") {
        check(
            driver,
            variant.name,
            output(0),
            || {
                let request = device.map_request(&floats, Sqrt).variant(variant.name);
                request.prepare().expect("a request")
            },
            |prepared| prepared.workspace_bytes(),
            |prepared| prepared.enqueue().expect("queued"),
        );
    }
    let mut room = device.zeros::<f32>(LEN).expect("memory");
    for variant in cases::variants("random") {
        // The states of 65536 sequences, 24 bytes each.
        for (generator, stated) in [(Generator::Philox, 0), (Generator::Xorwow, 24 << 16)] {
            check(
                driver,
                variant.name,
                Taken { output: 0, stated },
                || {
                    let generator = device.generator(generator, 1).expect("a generator");
                    generator.variant(variant.name)
                },
                |generator| generator.workspace_bytes(),
                |generator| generator.fill_uniform(room.view_mut()).expect("queued"),
            );
        }
    }
    // The table of a distribution is made at its first call, and stays.
    let mut generator = device.generator(Generator::Philox, 1).expect("a generator");
    let mut counts = device.zeros::<u32>(LEN).expect("memory");
    let mut fill = |generator: &mut warpwright::RandomGenerator| {
        let fill = || generator.fill_poisson(counts.view_mut(), 10.0);
        allocated(&calls(driver, || fill_with(fill)))
    };
    let table = fill(&mut generator);
    assert_eq!(table, generator.workspace_bytes());
    assert!((1..64 << 10).contains(&table), "{table}");
    assert_eq!([fill(&mut generator), fill(&mut generator)], [0, 0]);
}

fn fill_with(fill: impl FnOnce() -> warpwright::Result<()>) {
    fill().expect("queued");
}
