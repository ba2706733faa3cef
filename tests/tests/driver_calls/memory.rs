//! What operations take of the device's memory: what their pages and the table of docs/PERFORMANCE.md state, and no more.

use warpwright::{
    Device, Element, Generator, Vector,
    ops::{
        axis::{Axis, AxisOperator, AxisReducible},
        map::Sqrt,
        reduce::Operator,
        scan,
        sort::SortKey,
    },
};
use warpwright_gpu::columns::policy::view;
use warpwright_tests::{cases, faults::Driver};
use warpwright_workloads::{
    Number, Problem, Sets, Total,
    axis::{self, AxisReduction},
    convolution::Convolution,
    gemm::{self, Product},
    histogram::Counts,
    map::Map,
    merge::{Merge, What},
    random::{Distribution, Draw},
    reduce::{self, Reduction},
    sample::Make,
    scan::{Scan, Segmented, Wide},
    segments::{ByKey, Lengths, Means, Reduce},
    select::{Kind, Selection},
    sort::{Key, Sort, SortSegments, SortedUnique, With},
    top_k::{Kth, TopK, TopKSegments},
    transpose::Transpose,
};

use super::{allocated, calls};

/// Holds every variant of a problem to what it may take of the device's memory: its output of so many bytes and its workspace
/// when it is prepared, and nothing when it is queued. `stated` gives the most bytes of the workspace by the documentation,
/// none for a variant that cannot do the problem, as for one that the problem excludes.
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
        let stated = match problem.excludes(variant) {
            true => None,
            false => stated(input, variant),
        };
        let Some(stated) = stated else {
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

/// Holds `best` to the most bytes of its workspace, on the CPU executor: on mock devices, whose kernels do not run, segments
/// given by offsets have no elements.
fn best_on_cpu<P: Problem>(problem: P, stated: usize) {
    let device = Device::cpu();
    let input = problem.input(&device, 0).expect("memory");
    let prepared = problem.prepare(&device, &input, Some("best"));
    let workspace = prepared.expect("a plan").workspace_bytes();
    assert!(
        (1..=stated).contains(&workspace),
        "{}: a workspace of {workspace} bytes, stated are {stated}",
        problem.name()
    );
}

/// The multiprocessors of the mock device.
const MULTIPROCESSORS: usize = 4;

/// The elements of most problems.
const LEN: usize = 1 << 20;

pub fn check_all(driver: &Driver, device: &Device) {
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
    scans(driver, device);
    selections(driver, device);
    sorts(driver, device);
    greatest(driver, device);
    segments(driver, device);
    merges(driver, device);
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
    check(driver, device, product, 4 * LEN, |_, _| Some(0));
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

fn scans(driver: &Driver, device: &Device) {
    fn of<T: Number + scan::Scannable>(driver: &Driver, device: &Device, prefix: usize) {
        let bytes = LEN * size_of::<T>();
        let scan = || {
            Scan::<T>::new(
                scan::Operator::Sum,
                LEN,
                warpwright_workloads::scan::Data::Exact,
            )
        };
        check(driver, device, scan(), bytes, |_, variant| {
            Some(match variant {
                "best" => 130 * bytes.div_ceil(32 << 10) + 32,
                "look_back" => 128 * bytes.div_ceil(8 << 10) + 16,
                "reduce_then_scan" => prefix * bytes.div_ceil(8 << 10),
                _ => 2 * prefix * LEN,
            })
        });
        // A bit for each element besides.
        let segmented = 130 * bytes.div_ceil(24 << 10) + 32 + LEN / 8;
        let by_offsets = Segmented::by_offsets(scan(), 1000);
        check(driver, device, by_offsets, bytes, |_, _| Some(segmented));
        let by_rows = Segmented::by_rows(scan(), 1024);
        check(driver, device, by_rows, bytes, |_, _| Some(segmented));
        let by_keys = Segmented::<T, u16>::by_keys(scan());
        check(driver, device, by_keys, bytes, |_, _| Some(segmented));
    }
    of::<u8>(driver, device, 4);
    of::<f32>(driver, device, 4);
    of::<f64>(driver, device, 8);
    let wide = Wide::<u8, u64>::new(LEN, warpwright_workloads::scan::Data::Exact);
    check(driver, device, wide, 8 * LEN, |_, _| {
        Some(130 * LEN.div_ceil(16 << 10) + 32)
    });
}

/// The workspace of a selection of so many bytes.
fn of_selection(bytes: usize) -> usize {
    8 * bytes.div_ceil(16 << 10) + 32
}

fn selections(driver: &Driver, device: &Device) {
    let floats = || Make::hashed(|hash| (hash >> 40) as f32);
    for kind in [
        Kind::Greater(1e6),
        Kind::Partition(1e6),
        Kind::Flagged,
        Kind::Unique,
    ] {
        let selection = Selection::new(LEN, kind, "f32", floats());
        for selection in [selection.clone(), selection.persistent()] {
            check(driver, device, selection, 4 * LEN, |_, variant| {
                Some(match variant {
                    "best" => of_selection(4 * LEN),
                    _ => 8 * LEN.div_ceil(1024) + 16,
                })
            });
        }
    }
}

/// The workspace of a sort beside rooms for keys and values: counts of the digits of all keys, and those of each tile.
fn beside_rooms<K>(bytes: usize) -> usize {
    bytes * if size_of::<K>() == 2 { 4 } else { 2 } / 100 + (70 << 10)
}

fn sorts(driver: &Driver, device: &Device) {
    fn of<K: Key + SortKey + Element>(driver: &Driver, device: &Device) {
        let key = size_of::<K>();
        for (with, value) in [
            (With::Nothing, 0),
            (With::Words, 4),
            (With::Longs, 8),
            (With::Positions, 4),
        ] {
            // The keys and values of a pair, or two copies of the keys and a position.
            let (output, room) = match with {
                With::Positions => (4, 2 * key + 4),
                _ => (key + value, key + value),
            };
            let sort = Sort::<K>::new(LEN, with);
            check(driver, device, sort, output * LEN, |_, variant| {
                Some(match variant {
                    "naive" => 8 * LEN,
                    "reduce_then_scan" => room * LEN + 2048 * LEN.div_ceil(4096) + 2048,
                    _ => room * LEN + beside_rooms::<K>(room * LEN),
                })
            });
        }
    }
    of::<u8>(driver, device);
    of::<u16>(driver, device);
    of::<f32>(driver, device);
    of::<u64>(driver, device);
    let unique = SortedUnique(Sort::<f32>::new(LEN, With::Nothing));
    check(driver, device, unique, 4 * LEN, |_, variant| {
        // As a sort and a selection, and a copy of the keys.
        Some(
            4 * LEN
                + of_selection(4 * LEN)
                + match variant {
                    "naive" => 8 * LEN,
                    "reduce_then_scan" => 4 * LEN + 2048 * LEN.div_ceil(4096) + 2048,
                    _ => 4 * LEN + beside_rooms::<f32>(4 * LEN),
                },
        )
    });
    // Three copies of the keys and 20 bytes for each, or two and 32.
    for (with, room) in [(With::Nothing, 3 * 4 + 20), (With::Positions, 2 * 4 + 32)] {
        let sort = SortSegments::<f32>::new(LEN, 10).with(with);
        best_on_cpu(sort, room * LEN + beside_rooms::<f32>(room * LEN));
    }
}

fn greatest(driver: &Driver, device: &Device) {
    // Three copies of the elements, and 16 bytes for each.
    let sorted = |len: usize| 28 * len + beside_rooms::<f32>(28 * len);
    for k in [1, 10, 256, 4096, 5000] {
        let top = TopK::<f32>::new(LEN, k);
        check(driver, device, top, 12 * k, |_, variant| match variant {
            // A twentieth of the elements, or the entries of as many chunks as `best` takes.
            "best" if k <= 4096 => Some((4 * LEN / 20).max(512 << 10)),
            "two_level" if k <= 4096 => Some(8 * k * 2 * MULTIPROCESSORS + 32),
            "two_level" => None,
            _ => Some(sorted(LEN)),
        });
    }
    let rows = TopK::<f32>::rows((1024, 1024), 10);
    check(driver, device, rows, 1024 * 10 * 12, |_, variant| {
        Some(match variant {
            "best" => 0,
            _ => sorted(1024),
        })
    });
    check(driver, device, Kth::<f32>::median(LEN), 4, |_, variant| {
        Some(match variant {
            "best" => 2080,
            // The elements up to it, and their positions.
            _ => sorted(LEN) + 12 * (LEN / 2 + 1),
        })
    });
    let of_segments = TopKSegments::new(TopK::<f32>::new(LEN, 10), 10);
    let room = (3 * 4 + 32) * LEN;
    best_on_cpu(of_segments, room + beside_rooms::<f32>(room));
}

fn segments(driver: &Driver, device: &Device) {
    const TILES: usize = (4 * LEN).div_ceil(16 << 10) + 1;
    for count in [1, 1000, LEN / 8] {
        best_on_cpu(Reduce::<f32>::new(LEN, count), 32 * TILES);
        best_on_cpu(Means::<f32>::new(LEN, count), 32 * TILES + 4 * count);
    }
    // So many equal offsets that the segments with elements are reduced by themselves.
    let cpu = Device::cpu();
    let offsets: Vec<u32> = [0; 1000].into_iter().chain(0..=5000).collect();
    let segments = cpu.upload(&offsets).and_then(|it| cpu.segments(it));
    let (values, segments) = (
        cpu.zeros::<f32>(LEN).expect("memory"),
        segments.expect("segments"),
    );
    let prepared = cpu.reduce_segments(&values, &segments).prepare_sum();
    let workspace = prepared.expect("a plan").workspace_bytes();
    assert!(
        (4 * 5000..4 * 5000 + 32 * 3).contains(&workspace),
        "{workspace}"
    );
    // A bit for each key, and a number for each 2048.
    let heads = LEN / 8 + 8 * (LEN / 2048) + 32;
    let sums = ByKey::<u16, f32>::new(LEN);
    check(driver, device, sums, (2 + 4) * LEN, |_, variant| {
        Some(
            heads
                + if variant == "best" {
                    32 * TILES
                } else {
                    4 * LEN
                },
        )
    });
    let lengths = Lengths::<u8>::new(LEN);
    check(driver, device, lengths, (1 + 8) * LEN, |_, _| {
        Some(heads + 4 * LEN)
    });
}

fn merges(driver: &Driver, device: &Device) {
    for len in [2304, LEN] {
        let control = if len > 2304 { 16 } else { 0 };
        for (what, output) in [
            (What::Merge, 4),
            (What::Pairs, 8),
            (What::Lower, 8),
            (What::Upper, 8),
        ] {
            let merge = Merge::<f32>::new(len, what);
            check(driver, device, merge, output * len, |_, variant| {
                let is_merge = matches!(what, What::Merge | What::Pairs);
                Some(if is_merge && variant == "best" {
                    control
                } else {
                    0
                })
            });
        }
    }
}
