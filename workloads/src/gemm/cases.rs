//! The products that variants are checked and timed with.

use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};
use warpwright::ops::gemm::{Precision, ResultIn, Tiles, Way};

use super::{Data, Product, Real, rectangles::Rectangles};
use crate::sample::{Make, spread};
use crate::{Number, Scale, Workload};

/// Rows of A, columns of B, and the common dimension: zero, one, near the sides of tiles, and as many large tiles as the
/// largest devices have multiprocessors, for which small tiles are not used.
const SHAPES: [[usize; 3]; 12] = [
    [0, 3, 4],
    [3, 0, 4],
    [3, 4, 0],
    [1, 1, 1],
    [31, 33, 32],
    [128, 128, 24],
    [127, 129, 7],
    [130, 257, 37],
    [1, 131, 67],
    [19_072, 1, 5],
    [128, 19_072, 16],
    // Warpgroups divide this k into parts.
    [8, 40, 8192],
];

/// Shapes for a GPU.
const LARGE: [[usize; 3]; 5] = [
    [512, 512, 512],
    [136, 520, 32_776],
    [1021, 515, 259],
    [3, 7, 100_003],
    [2304, 140, 40],
];

/// Returns the problems that the variants are checked with.
pub(super) fn checks(scale: Scale) -> Vec<Workload> {
    let mut all = Vec::new();
    of_type::<f32>(&mut all, scale);
    of_type::<f64>(&mut all, scale);
    of_type::<f16>(&mut all, scale);
    of_type::<bf16>(&mut all, scale);
    of_type::<i8>(&mut all, scale);
    of_type::<F8E4M3>(&mut all, scale);
    of_type::<F8E5M2>(&mut all, scale);
    // All kernels, of which the library chooses some by the device and the shape.
    of_ways::<f64>(&mut all, &Way::OF_F64, [131, 132, 38]);
    // Warpgroups take matrices whose rows have a multiple of 16 bytes.
    of_ways::<f16>(&mut all, &Way::OF_HALVES, [136, 264, 72]);
    of_ways::<bf16>(&mut all, &Way::OF_HALVES, [136, 264, 72]);
    of_few::<f16>(&mut all);
    of_few::<bf16>(&mut all);
    in_parts(
        &mut all,
        Product::<f16>::new([8, 40, 8192], Data::Fractions),
    );
    in_parts(
        &mut all,
        Product::<bf16>::new([8, 40, 8192], Data::Fractions),
    );
    of_bytes::<i8>(&mut all, &Way::OF_HALVES);
    of_bytes::<F8E4M3>(&mut all, &Way::OF_HALVES[1..]);
    of_bytes::<F8E5M2>(&mut all, &Way::OF_HALVES[1..]);
    of_results::<ResultIn<F8E4M3, bf16>>(&mut all, &Way::OF_HALVES[1..]);
    of_results::<ResultIn<F8E4M3, f16>>(&mut all, &Way::OF_HALVES[1..]);
    of_results::<ResultIn<f16, f32>>(&mut all, &Way::OF_HALVES);
    of_results::<ResultIn<bf16, f32>>(&mut all, &Way::OF_HALVES);
    of_precisions(&mut all);
    all
}

/// Products whose results have another type than is usual: every kernel, and the factors, a bias and the function that follow.
fn of_results<T: Real>(all: &mut Vec<Workload>, ways: &[Way]) {
    of_ways::<T>(all, ways, [80, 72, 144]);
    of_few::<T>(all);
    for a in [false, true] {
        for b in [false, true] {
            let group = Product::<T>::group([37, 40, 83], 3).with_transposed([a, b]);
            all.push(Workload::new(group));
        }
    }
    for transposed in [[false, true], [true, false]] {
        let product = |problem: Product<T>| problem.with_transposed(transposed);
        let problem = Product::new([69, 66, 45], Data::Fractions);
        all.push(Workload::new(Rectangles(product(problem))));
        all.push(Workload::new(product(Product::layer([72, 70, 64]))));
    }
    in_parts(
        all,
        Product::<T>::new([8, 40, 16_384], Data::Fractions).with_transposed([false, true]),
    );
}

/// Products of elements of 8 bits.
fn of_bytes<T: Real>(all: &mut Vec<Workload>, ways: &[Way]) {
    // Those with other rows than at multiples of 16 bytes are copied, and those with lines across k.
    of_ways::<T>(all, ways, [144, 272, 144]);
    of_ways::<T>(all, ways, [131, 70, 73]);
    of_few::<T>(all);
    in_parts(
        all,
        Product::<T>::new([8, 40, 16_384], Data::Fractions).with_transposed([false, true]),
    );
}

/// Products of a matrix, in both directions, and a few vectors.
fn of_few<T: Real>(all: &mut Vec<Workload>) {
    for transposed in [[false, false], [false, true]] {
        all.push(Workload::new(Product {
            way: Some(Way::Skinny),
            ..Product::<T>::new([8, 72, 208], Data::Fractions).with_transposed(transposed)
        }));
    }
}

/// A product with a long k, of which warpgroups add parts.
fn in_parts<T: Real>(all: &mut Vec<Workload>, problem: Product<T>) {
    all.push(Workload::new(Product {
        way: Some(Way::Warpgroups(Tiles::Small)),
        ..problem
    }));
}

/// Products of `f32` on tensor cores.
fn of_precisions(all: &mut Vec<Workload>) {
    // Parts of k, and few vectors, along k with a matrix in both directions.
    in_parts(
        all,
        Product::<f32>::new([8, 40, 8192], Data::Whole).with_precision(Precision::Tf32),
    );
    for vectors in [8, 24] {
        for transposed in [[false, false], [false, true]] {
            let problem = Product::<f32>::new([vectors, 72, 200], Data::Fractions);
            all.push(Workload::new(Product {
                transposed,
                ..problem.with_precision(Precision::Tf32)
            }));
        }
    }
    let sizes = [Tiles::Large, Tiles::Small, Tiles::Medium];
    for (precision, sizes) in [(Precision::Bf16x6, &sizes[..2]), (Precision::Tf32, &sizes)] {
        for tiles in sizes {
            for transposed in [[false, false], [false, true], [true, false], [true, true]] {
                // Rows at multiples of 16 bytes, and others.
                let problems = match tiles {
                    Tiles::Large => vec![Product::<f32>::layer([136, 132, 200])],
                    _ => [[132, 72, 76], [131, 70, 73]]
                        .map(|shape| Product::stacks(shape, 2))
                        .into(),
                };
                for problem in problems {
                    all.push(Workload::new(Product {
                        transposed,
                        way: Some(Way::Warpgroups(*tiles)),
                        ..problem.with_precision(precision)
                    }));
                }
            }
        }
    }
}

fn of_ways<T: Real>(all: &mut Vec<Workload>, ways: &[Way], shape: [usize; 3]) {
    for way in ways.iter().copied().map(Some) {
        for transposed in [[false, false], [false, true], [true, false], [true, true]] {
            let problem = Product::<T>::new(shape, Data::Whole);
            all.push(Workload::new(Product {
                transposed,
                way,
                ..problem
            }));
        }
    }
}

fn of_type<T: Real>(all: &mut Vec<Workload>, scale: Scale) {
    for (index, shape) in scale.all(&SHAPES, &LARGE).into_iter().enumerate() {
        all.push(Workload::new(Product::<T> {
            transposed: [index % 2 == 1, index / 2 % 2 == 1],
            ..Product::new(shape, Data::Whole)
        }));
    }
    for transposed in [[false, false], [false, true], [true, false], [true, true]] {
        all.push(Workload::new(Rectangles::<T>(Product {
            transposed,
            ..Product::new([133, 130, 45], Data::Fractions)
        })));
        let last = match T::GELU {
            Some(_) => Product::layer([132, 72, 40]),
            None => Product::stacks([64, 80, 48], 2),
        };
        let many = [Product::<T>::stacks, Product::group].map(|of| of([72, 68, 40], 3));
        for problem in many.into_iter().chain([last]) {
            all.push(Workload::new(Product {
                transposed,
                ..problem
            }));
        }
    }
}

/// Returns the problems that the variants are timed with: square matrices of `f32`, which some variants refuse, and of `bf16`,
/// whose rows have a multiple of 16 bytes, so that all take them.
pub(super) fn timings(size: usize) -> Vec<Workload> {
    let side = size.isqrt().max(1);
    let of_halves = side.next_multiple_of(8);
    vec![
        Workload::new(Product::<f32>::new([side; 3], Data::Whole)),
        Workload::new(Product::<bf16>::new([of_halves; 3], Data::Fractions)),
    ]
}

pub(super) fn operations() -> Vec<Workload> {
    fn product<T: Real>(shape: [usize; 3], transposed: [bool; 2]) -> Product<T> {
        let make = Make::hashed(|hash| T::Factor::from_f64(spread(hash)));
        let problem = Product::new(shape, Data::Fractions).of([make.clone(), make]);
        Product {
            transposed,
            ..problem
        }
    }
    vec![
        Workload::new(product::<f32>([37, 37, 83], [false, true])),
        Workload::new(product::<f64>([83, 83, 37], [true, false])),
        Workload::new(Rectangles(product::<f32>([30, 30, 100], [false, true]))),
        Workload::new(product::<f16>([83, 37, 83], [true, true])),
        // All variants take rows of a multiple of 16 bytes.
        Workload::new(product::<bf16>([37, 88, 80], [false, false])),
        Workload::new(Product::<i8>::new([37, 83, 130], Data::Fractions)),
        Workload::new(Product::<f16>::group([37, 40, 83], 5)),
    ]
}
