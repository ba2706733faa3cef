//! Every row of every table of tuning gives what a rung of the ladder gives, on the CPU executor with all its checks.

use std::{collections::HashMap, fmt::Debug, sync::Arc};

use warpwright::{
    Boundary, Candidate, Device, Element, Generator,
    ops::{
        axis::{Axis, AxisOperator, AxisReducible},
        map::{Sin, Sqrt},
        reduce::{Operator, Reducible},
        scan::{Operator as ScanOperator, Scannable},
    },
};
use warpwright_gpu::tuning::{self, ARCHITECTURE, Choice, SHIPPED, chosen, row};
use warpwright_tests::devices;
use warpwright_workloads::{
    Number, Total, Workload,
    axis::{self, AxisReduction},
    convolution::Convolution,
    gemm::{Data, Product},
    histogram::Counts,
    map::{Map, to_ulps},
    random::{Distribution, Draw},
    reduce::{self, Reduction},
    sample::Make,
    scan::{Data as ScanData, Scan},
    select::{Kind, Selection},
    sort::{Key, Sort, With},
    transpose::Transpose,
};

/// Asserts that with each row `best` gives the bits that `rung` gives, and that those are right, for the problems of the
/// row's key.
fn each(family: &str, rung: &str, problems: impl Fn(&str) -> Vec<Workload>) {
    let candidates = tuning::candidates().into_iter();
    let candidates: Vec<_> = candidates.filter(|it| it.family == family).collect();
    assert!(!candidates.is_empty());
    let found = |problem: &Workload, device: &Device, variant: &str| {
        let input = problem.input(device).unwrap();
        let mut ready = input.prepare(device, Some(variant)).unwrap();
        ready.enqueue().unwrap();
        let what = format!("{}: {variant} on {device:?}", problem.name());
        assert_eq!(ready.check().unwrap(), Ok(()), "{what}");
        (ready.bits().unwrap(), what)
    };
    // The rungs have no rows.
    let mut expected = HashMap::new();
    for it in candidates {
        let (key, label) = (it.key, it.label.clone());
        let candidate = Arc::new(Candidate::new(it, &[]).unwrap());
        let device = devices::cpu().with_candidate(candidate.clone());
        let problems = problems(key);
        let expected = expected.entry(key).or_insert_with(|| {
            let by_rung = |problem| found(problem, &devices::cpu(), rung).0;
            problems.iter().map(by_rung).collect::<Vec<_>>()
        });
        for (problem, expected) in problems.iter().zip(expected) {
            let (found, what) = found(problem, &device, "best");
            assert!(*expected == found, "{what}");
        }
        assert!(candidate.launches() > 0, "{key} {label}");
    }
}

/// Positive numbers with digits behind the point.
fn floats() -> Make<f32> {
    Make::by(|at, _, _| ((at * 7919) % 2003) as f32 / 16.0)
}

#[test]
fn maps() {
    each("map", "direct", |key| {
        let of = |len, offset| {
            let right = |exact: fn(f64) -> f64| {
                move |x: f32, found| to_ulps(found, exact(f64::from(x)), 1.0)
            };
            let map = match key {
                "sin" => Map::one(len, key, Sin, right(f64::sin)),
                _ => Map::one(len, key, Sqrt, right(f64::sqrt)),
            };
            Workload::new(map.of(floats()).behind(offset))
        };
        let lengths = [1, 5, 1024, 2049, 6007].into_iter();
        lengths.flat_map(|len| [of(len, 0), of(len, 1)]).collect()
    });
}

#[test]
fn histograms() {
    each("histogram", "serial", |key| {
        let of = |(len, bins)| match key {
            "u8" => {
                let bytes = Make::by(|at, _, _| (at * at / 3) as u8);
                Workload::new(Counts::numbers(len, bins, key, bytes))
            }
            _ => Workload::new(Counts::range(len, bins, [3.0, 100.0], key, floats())),
        };
        let problems = [(1, 1), (37, 256), (4099, 10), (30_011, 256), (9000, 20_000)];
        problems.map(of).into()
    });
}

#[test]
fn selections() {
    each("select", "naive", |key| {
        let of = |(len, is_persistent)| {
            let half = |at: usize| at * at / 3 % 256;
            match key {
                "u8" => {
                    let bytes = Make::by(move |at, _, _| half(at) as u8);
                    let bytes = Selection::new(len, Kind::Greater(99), "u8", bytes);
                    Workload::new(if is_persistent {
                        bytes.persistent()
                    } else {
                        bytes
                    })
                }
                _ => {
                    // A partition has no persistent blocks.
                    let of = |kind| Selection::new(len, kind, "f32", floats());
                    Workload::new(match is_persistent {
                        true => of(Kind::Greater(50.0)).persistent(),
                        false => of(Kind::Partition(50.0)),
                    })
                }
            }
        };
        let mut all: Vec<_> = [0, 1, 37, 8192, 50_001].map(|len| of((len, false))).into();
        all.extend([37, 130_001].map(|len| of((len, true))));
        all
    });
}

/// Sums along an axis of matrices of these heights and widths, aligned and not.
fn sums_along(axis: Axis, shapes: &[(usize, usize)], key: &str) -> Vec<Workload> {
    fn of<T: Number + AxisReducible<Sum: Total>>(
        axis: Axis,
        shape: (usize, usize),
    ) -> [Workload; 2] {
        [0, 1].map(|offset| {
            // Whole numbers, whose sums are exact in any order.
            let data = axis::Data::Exact;
            let sums = AxisReduction::<T>::new(axis, AxisOperator::Sum, shape, data);
            Workload::new(sums.behind(offset))
        })
    }
    let both = |&shape: &_| match key {
        "u8" => of::<u8>(axis, shape),
        _ => of::<f32>(axis, shape),
    };
    shapes.iter().flat_map(both).collect()
}

#[test]
fn sums_of_rows() {
    let shapes = [(1, 1), (3, 5), (70, 33), (5, 1030), (2, 70_001)];
    each("rows", "block_per_row", |key| {
        sums_along(Axis::Rows, &shapes, key)
    });
}

#[test]
fn sums_of_columns() {
    // A few rows more than threads have in flight, several blocks and several folds, and periods of several rows.
    let shapes = [
        (1, 1),
        (700, 5),
        (1029, 33),
        (331, 1030),
        (20_003, 16),
        (9001, 128),
    ];
    each("columns", "column_per_thread", |key| {
        sums_along(Axis::Columns, &shapes, key)
    });
}

#[test]
fn convolutions() {
    each("convolution", "basic", |_| {
        let of = |(len, weights)| {
            let problem = Convolution::<f32>::new(len, weights);
            Workload::new(problem.boundary(Boundary::Clamp))
        };
        let problems = [
            (1, 1),
            (100, 3),
            (1537, 8),
            (3100, 31),
            (6151, 63),
            (3000, 1500),
        ];
        problems.map(of).into()
    });
}

#[test]
fn random_numbers() {
    each("random", "per_thread", |key| {
        let distribution = match key {
            "uniform" => Distribution::Uniform,
            _ => Distribution::Normal(1.0, 2.0),
        };
        let of = |generator| {
            [(1, 0), (4099, 1), (20_011, 4100)].map(|(len, first)| {
                Workload::new(Draw::<f32>::new(generator, distribution, len).starting_at(first))
            })
        };
        let generators = [Generator::Philox, Generator::Xorwow];
        generators.into_iter().flat_map(of).collect()
    });
}

#[test]
fn sorts() {
    each("sort", "reduce_then_scan", |key| {
        fn of<K: Key>(len: usize) -> Vec<Workload> {
            [With::Nothing, With::Words]
                .map(|with| Workload::new(Sort::<K>::new(len, with)))
                .into()
        }
        let lengths = [20_000];
        let of_length = |len| match key {
            "u32" => of::<u32>(len),
            _ => of::<u64>(len),
        };
        lengths.into_iter().flat_map(of_length).collect()
    });
}

#[test]
fn products() {
    each("gemm", "naive", |key| {
        let of = |shape| match key {
            "f32" => Workload::new(Product::<f32>::new(shape, Data::Fractions)),
            _ => Workload::new(Product::<f64>::new(shape, Data::Fractions)),
        };
        let shapes = [[1, 1, 1], [33, 17, 9], [128, 256, 32], [130, 132, 44]];
        shapes.map(of).into()
    });
}

#[test]
fn reductions() {
    fn of<T: Number + Reducible<Sum: Total>>(operator: Operator, len: usize) -> Workload {
        // Whole numbers, whose sums are exact in any order, and a greatest one.
        let make = |at: usize, len: usize, _| match at == 1 + 2 * (len - 1) / 3 {
            true => T::from_f64(13.0),
            false => T::from_f64((at * 31 % 13) as f64),
        };
        let problem = Reduction::new(operator, len, reduce::Data::Exact);
        Workload::new(problem.of(Make::by(make)).behind(1))
    }
    each("reduce", "cascaded", |key| {
        let of = |len| match key {
            "sum_u8" => of::<u8>(Operator::Sum, len),
            "sum_f32" => of::<f32>(Operator::Sum, len),
            "sum_f64" => of::<f64>(Operator::Sum, len),
            "argmax_u8" => of::<u8>(Operator::ArgMax, len),
            _ => of::<f32>(Operator::ArgMax, len),
        };
        // The last one's elements of eight bytes are a large input for the rows whose limit is not beyond all others'.
        let lengths = [1, 5, 1023, 4099, 70_001, (1 << 20) + 7];
        lengths.map(of).into()
    });
}

#[test]
fn scans() {
    fn of<T: Number + Scannable>(len: usize) -> [Workload; 2] {
        [0, 1].map(|offset| {
            // Whole numbers, whose sums are exact in any order.
            let problem = Scan::<T>::new(ScanOperator::Sum, len, ScanData::Exact);
            Workload::new(problem.behind(offset))
        })
    }
    each("scan", "reduce_then_scan", |key| {
        let of = |len| match key {
            "sum_u8" => of::<u8>(len),
            "sum_f32" => of::<f32>(len),
            _ => of::<f64>(len),
        };
        [1, 5, 8193, 40_001].into_iter().flat_map(of).collect()
    });
}

#[test]
fn transposes() {
    fn of<T: Element + PartialEq + Debug>(from_hash: fn(u64) -> T) -> Vec<Workload> {
        // Aligned and not, and more tiles one below the other than a band has.
        let shapes = [(3, 5), (64, 96), (129, 1101), (4400, 40)];
        let of = |shape| Workload::new(Transpose::new(shape, "elements", from_hash));
        shapes.map(of).into()
    }
    each("transpose", "naive", |key| match key {
        "u8" => of(|hash| hash as u8),
        "u16" => of(|hash| hash as u16),
        "f32" => of(|hash| hash as u32),
        "f64" => of(|hash| hash),
        _ => of(|hash| u128::from(hash) << 64 | u128::from(!hash)),
    });
}

#[test]
fn a_table_chooses_by_architecture_and_by_size() {
    // From the newest architecture down, and from the smallest elements up.
    let choices = [
        Choice {
            architecture: 90,
            bytes: 4,
            row: 2,
        },
        Choice::up_to(1, 1),
        Choice::always(0),
    ];
    for (architecture, bytes, expected) in [
        (75, 1, 1),
        (75, 4, 0),
        (89, 1, 1),
        (90, 1, 2),
        (90, 4, 2),
        (90, 8, 0),
        (120, 2, 2),
    ] {
        let found = row(&choices, architecture, bytes);
        assert_eq!(found, expected, "sm_{architecture}, {bytes} bytes");
    }
}

/// That kernels and plans are made by one row: the launch bounds are in the descriptors.
#[test]
fn the_kernels_that_ship_are_made_by_the_chosen_rows() {
    use cuda_std::kernel::Kernel;
    use warpwright_gpu::{gemm, map, random, reduce, rows, transpose};

    let rows: rows::policy::Policy = chosen(ARCHITECTURE, 4);
    let found = rows::RowsBest::<warpwright_gpu::axis::Sum<f32>, SHIPPED>::DESCRIPTOR;
    assert_eq!(found.max_threads as usize, rows.block);
    let map: map::policy::Policy = chosen(ARCHITECTURE, 4);
    let found = map::MapBest::<Sin, SHIPPED>::DESCRIPTOR;
    assert_eq!(
        (found.max_threads as usize, found.min_blocks),
        (map.block, map.resident)
    );
    let [single, double]: [gemm::policy::Policy; 2] =
        [4, 8].map(|bytes| chosen(ARCHITECTURE, bytes));
    assert_ne!(single, double);
    assert_eq!(
        gemm::GemmBest::<true, true, SHIPPED>::DESCRIPTOR.min_blocks,
        single.resident
    );
    assert_eq!(
        gemm::GemmBestDouble::<true, true, SHIPPED>::DESCRIPTOR.min_blocks,
        double.resident
    );
    let random: random::policy::Policy = chosen(ARCHITECTURE, 4);
    let found = random::RandomBestPhilox::<random::Uniform<f32>, SHIPPED>::DESCRIPTOR;
    assert_eq!(found.max_threads as usize, random.block);
    let reduce: reduce::policy::Policy = chosen(ARCHITECTURE, 4);
    let found = reduce::ReduceBest::<reduce::Sum<f32>, SHIPPED>::DESCRIPTOR;
    assert_eq!(
        (found.max_threads as usize, found.min_blocks),
        (reduce.most_threads(), reduce.resident)
    );
    let transpose: transpose::policy::Policy = chosen(ARCHITECTURE, 16);
    let found = transpose::TransposeBest::<u128, 1, SHIPPED>::DESCRIPTOR;
    assert_eq!(
        (found.max_threads as usize, found.min_blocks),
        (transpose.threads, transpose.resident)
    );
}
