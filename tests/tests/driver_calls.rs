//! What the library asks of the CUDA driver once it is warm: which calls, with which arguments, and how much memory.
//!
//! Mock devices list the calls. Each operation on one element is held to the calls that it needs, which the benchmark
//! times beside it (`warpwright_bench::run::overhead`): so those are the library's own, and nothing is called beside them.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use warpwright::{
    Device, Generator, Vector,
    ops::{
        axis::{Axis, AxisOperator, AxisReducible},
        map::Sqrt,
        reduce::Operator,
    },
};
use warpwright_bench::run::{driver::Driver as BareDriver, overhead};
use warpwright_gpu::columns::policy::view;
use warpwright_tests::{
    cases,
    faults::{self, Driver},
};
use warpwright_workloads::{
    FAMILIES, Number, Problem, Sets, Total,
    axis::{self, AxisReduction},
    convolution::Convolution,
    gemm::{self, Product},
    histogram::Counts,
    map::Map,
    random::{Distribution, Draw},
    reduce::{self, Reduction},
    sample::Make,
    transpose::Transpose,
};

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
    memory(&driver, &device);
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

/// Holds every variant of a problem to what it may take of the device's memory: its output of so many bytes and its workspace
/// when it is prepared, and nothing when it is queued. `stated` gives the most bytes of the workspace by the documentation,
/// none for a variant that cannot do the problem.
fn check<P: Problem>(
    driver: &Driver,
    device: &Device,
    problem: P,
    output: usize,
    stated: impl Fn(&P::Input, &str) -> Option<usize>,
) {
    let sets = Sets::new(problem, device, 1).expect("memory");
    let (problem, input) = (sets.problem(), &sets.inputs()[0]);
    for variant in cases::variants(problem.family()).iter().map(|it| it.name) {
        let name = format!("{} {variant}, {}", problem.family(), problem.name());
        let before = driver.live();
        let prepare = || problem.prepare(device, input, Some(variant));
        let Some(stated) = stated(input, variant) else {
            assert!(prepare().is_err(), "{name}");
            continue;
        };
        let (prepared, calls) = driver.calls_of(prepare);
        let mut prepared = prepared.expect(&name);
        let workspace = prepared.workspace_bytes();
        assert_eq!(allocated(&calls), output + workspace, "{name}");
        assert!(
            workspace <= stated,
            "{name}: a workspace of {workspace} bytes, stated are {stated}"
        );
        for turn in 0..3 {
            let (queued, calls) = driver.calls_of(|| prepared.enqueue());
            queued.expect(&name);
            assert!(!calls.is_empty(), "{name}, turn {turn}: no work");
            assert_eq!(allocated(&calls), 0, "{name}, turn {turn}: {calls:?}");
        }
        drop(prepared);
        // Contexts, streams and events, memory: what is loaded stays.
        assert_eq!(driver.live()[..5], before[..5], "{name}: left behind");
    }
}

/// The multiprocessors of the mock device.
const MULTIPROCESSORS: usize = 4;

fn memory(driver: &Driver, device: &Device) {
    const LEN: usize = 1 << 20;
    for operator in Operator::ALL {
        let problem = Reduction::<f32>::new(operator, LEN, reduce::Data::Exact);
        check(driver, device, problem, 0, |_, variant| {
            Some(match variant {
                // A partial result for each of two blocks per multiprocessor; the result and the ticket.
                "best" => 16 * 2 * MULTIPROCESSORS + 32,
                // Half of the elements, then half of those, ...; or a block's share for each.
                "folding" => 16 * LEN + 16 * 64,
                _ => 16 * LEN / 128,
            })
        });
    }
    for shape in [
        (1, LEN),
        (LEN, 1),
        (1024, 1024),
        (3, 349_525),
        (LEN / 24, 24),
    ] {
        for axis in [Axis::Columns, Axis::Rows] {
            along::<f32>(driver, device, axis, shape);
            along::<u8>(driver, device, axis, shape);
        }
    }
    others(driver, device);
}

fn along<T: Number + AxisReducible<Sum: Total>>(
    driver: &Driver,
    device: &Device,
    axis: Axis,
    (height, width): (usize, usize),
) {
    let (results, row) = match axis {
        Axis::Columns => (width, width * size_of::<T>()),
        Axis::Rows => (height, width * size_of::<T>()),
    };
    let stated = |input: &Vector<T>, variant: &str| match (axis, variant) {
        (Axis::Columns, "best") => {
            // How the matrix is cut: the period is a row, or as many as end at 16 bytes and fill the blocks.
            let pointer = input.view().device_pointer();
            let seen = view(pointer, height, width, size_of::<T>());
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
    let (sum, data) = (AxisOperator::Sum, axis::Data::Exact);
    let problem = AxisReduction::<T>::new(axis, sum, (height, width), data);
    let output = results * size_of::<T::Sum>();
    check(driver, device, problem, output, |input, variant| {
        Some(stated(input, variant))
    });
}

fn others(driver: &Driver, device: &Device) {
    const SIDE: usize = 200;
    const LEN: usize = SIDE * SIDE;
    let turned = Transpose::new((SIDE, SIDE), "f32", |hash| hash as u32);
    check(driver, device, turned, 4 * LEN, |_, _| Some(0));
    for bins in [1, 256, 5000, 100_000] {
        let counts = Counts::numbers(LEN, bins, "u16", Make::hashed(|hash| hash as u16));
        check(driver, device, counts, 8 * bins, |_, _| Some(0));
    }
    let product = Product::<f32>::new([SIDE; 3], gemm::Data::Whole);
    let refused = product.clone();
    check(driver, device, product, 4 * LEN, |_, variant| {
        (!refused.excludes(variant)).then_some(0)
    });
    for width in [1, 3, 127, 3000] {
        let problem = Convolution::<f32>::new(LEN, width);
        check(driver, device, problem, 4 * LEN, |_, variant| {
            let long = variant == "basic" || width > 1000;
            match variant {
                "basic" | "best" => Some(if long { 4 * width } else { 0 }),
                _ => (!long).then_some(0),
            }
        });
    }
    let roots = Map::one(LEN, "sqrt", Sqrt, |_, _| Ok(()));
    check(driver, device, roots, 4 * LEN, |_, _| Some(0));
    // The states of 65536 sequences, 24 bytes each.
    for (generator, states) in [(Generator::Philox, 0), (Generator::Xorwow, 24 << 16)] {
        let numbers = Draw::<f32>::new(generator, Distribution::Uniform, LEN);
        check(driver, device, numbers, 4 * LEN, |_, _| Some(states));
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
