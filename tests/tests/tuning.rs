//! Every row of every table of tuning gives what a rung of the ladder gives, on the CPU executor with all its checks.

use std::{fmt::Debug, sync::Arc};

use warpwright::{
    Boundary, Candidate, Device, Element, Generator, Matrix, MatrixView, Vector,
    ops::{
        axis::{Axis, AxisReducible},
        map::{Sin, Sqrt},
        reduce::{ReduceRequest, Reducible},
    },
};
use warpwright_gpu::tuning::{self, ARCHITECTURE, Choice, SHIPPED, chosen, row};
use warpwright_tests::devices;

/// Calls `check` with each row's key and a handle that takes the row, whose kernels have to be launched.
fn each(family: &str, check: impl Fn(&str, &Device)) {
    let candidates = tuning::candidates().into_iter();
    let of_family: Vec<_> = candidates.filter(|it| it.family == family).collect();
    assert!(!of_family.is_empty());
    for it in of_family {
        let (key, label) = (it.key, it.label.clone());
        let candidate = Arc::new(Candidate::new(it, None).unwrap());
        check(key, &devices::cpu().with_candidate(candidate.clone()));
        assert!(candidate.launches() > 0, "{key} {label}");
    }
}

#[track_caller]
fn same<T: PartialEq + Debug>(device: &Device, what: &str, expected: &[T], found: &[T]) {
    assert_eq!(expected.len(), found.len(), "{what}: {device:?}");
    let wrong = expected.iter().zip(found).position(|(a, b)| a != b);
    if let Some(at) = wrong {
        panic!(
            "{what}, at {at}: expected {:?}, found {:?}: {device:?}",
            expected[at], found[at]
        );
    }
}

fn bits(values: Vec<f32>) -> Vec<u32> {
    values.into_iter().map(f32::to_bits).collect()
}

fn floats(len: usize) -> Vec<f32> {
    (0..len)
        .map(|i| ((i * 7919) % 2003) as f32 / 16.0)
        .collect()
}

#[test]
fn maps() {
    each("map", |key, device| {
        for len in [1, 5, 1024, 2049, 6007] {
            for offset in [0, 1] {
                let x = device.upload(&floats(len + offset)).unwrap();
                let x = x.slice(offset..).unwrap();
                let by = |variant: &str| -> Vector<f32> {
                    match key {
                        "sin" => device.map_request(x, Sin).variant(variant).run(),
                        _ => device.map_request(x, Sqrt).variant(variant).run(),
                    }
                    .unwrap()
                };
                let [expected, found] =
                    ["direct", "best"].map(|name| bits(by(name).to_vec().unwrap()));
                same(
                    device,
                    &format!("{key} of {len} at {offset}"),
                    &expected,
                    &found,
                );
            }
        }
    });
}

#[test]
fn histograms() {
    each("histogram", |key, device| {
        for (len, bins) in [(1, 1), (37, 256), (4099, 10), (30_011, 256), (9000, 20_000)] {
            let by = |variant: &str| match key {
                "u8" => {
                    let values: Vec<u8> = (0..len).map(|i| (i * i / 3) as u8).collect();
                    let values = device.upload(&values[len.min(3) - 1..]).unwrap();
                    device
                        .histogram_request(&values, bins)
                        .variant(variant)
                        .run()
                }
                _ => {
                    let values = device.upload(&floats(len)[len.min(3) - 1..]).unwrap();
                    device
                        .histogram_range_request(&values, bins, 3.0, 100.0)
                        .variant(variant)
                        .run()
                }
            };
            let [expected, found] = ["serial", "best"].map(|name| by(name).unwrap());
            let what = format!("{key}, {len} in {bins} bins");
            same(device, &what, &expected.counts, &found.counts);
            assert_eq!(expected.outside, found.outside, "{what}");
        }
    });
}

/// Sums along an axis of matrices of these heights and widths, aligned and not, by a rung and by `best`.
fn sums_along(axis: Axis, rung: &str, shapes: &[(usize, usize)], key: &str, device: &Device) {
    fn of<T: AxisReducible + From<u8>>(
        device: &Device,
        (height, width): (usize, usize),
        offset: usize,
        result: impl Fn(MatrixView<'_, T>) -> Vec<u64>,
    ) -> Vec<u64> {
        // Whole numbers, whose sums are exact in any order.
        let number = |i: usize| T::from((i * 31 % 17) as u8);
        let values: Vec<T> = (0..height * width + offset).map(number).collect();
        let values = device.upload(&values).unwrap();
        let view = values.slice(offset..).unwrap();
        result(MatrixView::from_vector(view, height, width).unwrap())
    }
    for &shape in shapes {
        for offset in [0, 1] {
            let by = |variant: &str| match key {
                "u8" => of::<u8>(device, shape, offset, |view| {
                    let request = device.reduce_axis(view, axis).variant(variant);
                    request.sum().unwrap().to_vec().unwrap()
                }),
                _ => of::<f32>(device, shape, offset, |view| {
                    let request = device.reduce_axis(view, axis).variant(variant);
                    let sums = request.sum().unwrap().to_vec().unwrap();
                    sums.into_iter().map(|sum| sum as u64).collect()
                }),
            };
            let [expected, found] = [rung, "best"].map(by);
            let what = format!("{axis:?} of {key}, {shape:?} at {offset}");
            same(device, &what, &expected, &found);
        }
    }
}

#[test]
fn sums_of_rows() {
    let shapes = [(1, 1), (3, 5), (70, 33), (5, 1030), (2, 70_001)];
    each("rows", |key, device| {
        sums_along(Axis::Rows, "block_per_row", &shapes, key, device);
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
    each("columns", |key, device| {
        sums_along(Axis::Columns, "column_per_thread", &shapes, key, device);
    });
}

#[test]
fn convolutions() {
    each("convolution", |_, device| {
        for (len, width) in [
            (1, 1),
            (100, 3),
            (1537, 8),
            (3100, 31),
            (6151, 63),
            (3000, 1500),
        ] {
            let input = device.upload(&floats(len)).unwrap();
            let mask = floats(width);
            let by = |variant: &str| {
                let request = device.convolve_request(&input, &mask);
                let request = request.boundary(Boundary::Clamp).variant(variant);
                bits(request.run().unwrap().to_vec().unwrap())
            };
            let [expected, found] = ["basic", "best"].map(by);
            same(device, &format!("{len} with {width}"), &expected, &found);
        }
    });
}

#[test]
fn random_numbers() {
    each("random", |key, device| {
        for generator in [Generator::Philox, Generator::Xorwow] {
            let by = |variant: &str| {
                let mut random = device.generator(generator, 5).unwrap().variant(variant);
                [1, 4099, 70_001].map(|len| {
                    let numbers: Vector<f32> = match key {
                        "uniform" => random.uniform(len).unwrap(),
                        _ => random.normal(len, 1.0, 2.0).unwrap(),
                    };
                    bits(numbers.to_vec().unwrap())
                })
            };
            let [expected, found] = ["per_thread", "best"].map(by);
            for (expected, found) in expected.iter().zip(&found) {
                same(device, &format!("{key}, {generator:?}"), expected, found);
            }
        }
    });
}

#[test]
fn products() {
    each("gemm", |key, device| {
        for (m, n, k) in [(1, 1, 1), (33, 17, 9), (128, 256, 32), (130, 132, 44)] {
            let by = |variant: &str| {
                let values = |len: usize| floats(len);
                if key == "f32" {
                    let a = device.upload_matrix(&values(m * k), m, k).unwrap();
                    let b = device.upload_matrix(&values(k * n), k, n).unwrap();
                    let c: Matrix<f32> = device.gemm(&a, &b).variant(variant).run().unwrap();
                    let c = c.to_vec().unwrap().into_iter();
                    c.map(|value| u64::from(value.to_bits()))
                        .collect::<Vec<_>>()
                } else {
                    let wide =
                        |len| -> Vec<f64> { values(len).into_iter().map(f64::from).collect() };
                    let a = device.upload_matrix(&wide(m * k), m, k).unwrap();
                    let b = device.upload_matrix(&wide(k * n), k, n).unwrap();
                    let c: Matrix<f64> = device.gemm(&a, &b).variant(variant).run().unwrap();
                    c.to_vec().unwrap().into_iter().map(f64::to_bits).collect()
                }
            };
            let [expected, found] = ["naive", "best"].map(by);
            same(
                device,
                &format!("{key}, {m} x {n} x {k}"),
                &expected,
                &found,
            );
        }
    });
}

#[test]
fn reductions() {
    fn of<T: Reducible + From<u8>>(
        device: &Device,
        values: &[u8],
        result: impl Fn(ReduceRequest<'_, T>) -> u64,
    ) -> [u64; 2] {
        let values: Vec<T> = values.iter().copied().map(T::from).collect();
        let values = device.upload(&values).unwrap();
        let values = values.slice(1..).unwrap();
        ["cascaded", "best"].map(|variant| result(device.reduce(values).variant(variant)))
    }
    each("reduce", |key, device| {
        // The last one's elements of eight bytes are a large input for the rows whose limit is not beyond all others'.
        for len in [1, 5, 1023, 4099, 70_001, (1 << 20) + 7] {
            // Whole numbers, whose sums are exact in any order, and a greatest one.
            let number = |i: usize| {
                if i == 1 + 2 * len / 3 {
                    13
                } else {
                    (i * 31 % 13) as u8
                }
            };
            let values: Vec<u8> = (0..=len).map(number).collect();
            let [expected, found] = match key {
                "sum_u8" => of::<u8>(device, &values, |it| it.sum().unwrap()),
                "sum_f32" => of::<f32>(device, &values, |it| it.sum().unwrap() as u64),
                "sum_f64" => of::<f64>(device, &values, |it| it.sum().unwrap() as u64),
                "argmax_u8" => of::<u8>(device, &values, |it| it.argmax().unwrap().unwrap()),
                _ => of::<f32>(device, &values, |it| it.argmax().unwrap().unwrap()),
            };
            assert_eq!(expected, found, "{key} of {len}: {device:?}");
        }
    });
}

#[test]
fn transposes() {
    fn of<T: Element + PartialEq + Debug>(device: &Device, number: impl Fn(usize) -> T) {
        // Aligned and not, and more tiles one below the other than a band has.
        for (height, width) in [(3, 5), (64, 96), (129, 1101), (4400, 40)] {
            let values: Vec<T> = (0..height * width).map(&number).collect();
            let matrix = device.upload_matrix(&values, height, width).unwrap();
            let [expected, found] = ["naive", "best"].map(|variant| {
                let request = device.transpose_request(&matrix).variant(variant);
                request.run().unwrap().to_vec().unwrap()
            });
            same(device, &format!("{height} x {width}"), &expected, &found);
        }
    }
    each("transpose", |key, device| match key {
        "u8" => of(device, |i| (i * 7 % 251) as u8),
        "u16" => of(device, |i| (i * 7 % 65_521) as u16),
        "f32" => of(device, |i| i as u32),
        "f64" => of(device, |i| (i as u64) << 32 | !i as u64 >> 32),
        _ => of(device, |i| (i as u128) << 64 | !i as u128),
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
