//! Matrix products, compared with cuBLAS.

use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};
use warpwright::ops::gemm::{Matrices, Precision, ResultIn};
use warpwright::{Element, Matrix};
use warpwright_workloads::gemm::{Data, Product, Real};
use warpwright_workloads::{Number, Problem};

use super::super::peers::{Peers, cublas::Blas};
use super::super::{Absent, Bench, Result, Spec, address, local, pointer};
use super::{Made, case};
use crate::record::Bound;

pub(super) fn run(bench: &mut Bench) {
    let all = [1024, 2048, 4096, 8192];
    for side in bench.scale().pick(&all[..], &[2048, 4096], &[33]) {
        of(bench, single::<f32>([*side; 3]), Bound::FmaF32);
    }
    // The same on tensor cores, where no policy row decides anything.
    if !bench.is_sweep() {
        for side in bench.scale().pick(&all[..], &[2048, 4096], &[33]) {
            let problem = single::<f32>([*side; 3]).with_precision(Precision::Bf16x6);
            of(bench, problem, Bound::Tensor);
        }
        // Tensor cores take no other layout of TF32 than that of the second one, so the others go through registers.
        let layouts = [[false, false], [false, true], [true, false]];
        for (transposed, all) in layouts.into_iter().zip([&all[..], &all, &[4096]]) {
            for side in bench.scale().pick(all, &[2048, 4096], &[33]) {
                let problem = single::<f32>([*side; 3]).with_precision(Precision::Tf32);
                of(bench, problem.with_transposed(transposed), Bound::Tensor);
            }
        }
    }
    if !bench.is_sweep() {
        of_bytes::<i8>(bench, &all);
        of_bytes::<F8E4M3>(bench, &all);
        for side in bench.scale().pick(&all[..], &[4096], &[32]) {
            let problem = single::<ResultIn<F8E4M3, bf16>>([*side; 3]);
            of(bench, problem.with_transposed([false, true]), Bound::Tensor);
        }
        for side in bench.scale().pick(&[8192][..], &[4096], &[32]) {
            let problem = single::<F8E5M2>([*side; 3]).with_transposed([false, true]);
            of(bench, problem, Bound::Tensor);
        }
    }
    for side in bench.scale().pick(&all[..], &[2048], &[33]) {
        of(bench, single::<f64>([*side; 3]), Bound::FmaF64);
    }
    for side in bench.scale().pick(&all[..], &[2048, 4096], &[33]) {
        of(bench, single::<f16>([*side; 3]), Bound::Tensor);
        of(bench, single::<bf16>([*side; 3]), Bound::Tensor);
    }
    if !bench.is_sweep() {
        for transposed in [[false, true], [true, false], [true, true]] {
            for side in bench.scale().pick(&[4096], &[4096], &[33]) {
                let problem = single::<bf16>([*side; 3]).with_transposed(transposed);
                of(bench, problem, Bound::Tensor);
            }
        }
        // With results in `f32`.
        for side in bench.scale().pick(&[4096], &[4096], &[33]) {
            of(
                bench,
                single::<ResultIn<f16, f32>>([*side; 3]),
                Bound::Tensor,
            );
            of(
                bench,
                single::<ResultIn<bf16, f32>>([*side; 3]),
                Bound::Tensor,
            );
        }
    }
    // Few rows, few columns, and few of both with a long k.
    let narrow = [
        [16, 8192, 8192],
        [64, 8192, 8192],
        [8192, 64, 8192],
        [8192, 1, 8192],
        [512, 512, 65_536],
    ];
    for shape in bench.scale().pick(&narrow[..], &narrow, &[[8, 16, 2048]]) {
        of(bench, single::<bf16>(*shape), Bound::Tensor);
        if !bench.is_sweep() {
            let problem = single::<f32>(*shape).with_precision(Precision::Tf32);
            of(bench, problem, Bound::Tensor);
        }
    }
    // Many products at once.
    for (count, side) in bench.scale().pick(&[(64, 1024)], &[(64, 1024)], &[(3, 32)]) {
        let problem = Product::<bf16>::stacks([*side; 3], *count);
        of(bench, problem, Bound::Tensor);
        if !bench.is_sweep() {
            let problem = Product::<f32>::stacks([*side; 3], *count);
            of(bench, problem, Bound::FmaF32);
        }
    }
    // Many small ones, each with an address of its own, which cuBLAS gets as a batch.
    for (count, side) in bench.scale().pick(&[(256, 128)], &[(256, 128)], &[(3, 32)]) {
        let problem = Product::<bf16>::group([*side; 3], *count);
        of(bench, problem, Bound::Tensor);
        if !bench.is_sweep() {
            let problem = Product::<f32>::group([*side; 3], *count);
            of(bench, problem, Bound::FmaF32);
        }
    }
    // A product, a bias and the Gaussian error linear unit.
    for side in bench.scale().pick(&[4096, 8192][..], &[4096], &[32]) {
        of(bench, Product::<bf16>::layer([*side; 3]), Bound::Tensor);
    }
}

/// Products of elements of 8 bits, of which cuBLAS has those with B transposed, and rows at multiples of 4 or 16 bytes.
fn of_bytes<T: Real + Blas>(bench: &mut Bench, all: &[usize]) {
    for transposed in [[false, true], [false, false]] {
        for side in bench.scale().pick(all, &[2048, 4096], &[32]) {
            let problem = single::<T>([*side; 3]).with_transposed(transposed);
            of(bench, problem, Bound::Tensor);
        }
    }
    // Few rows, and few rows and columns with a long k.
    let narrow = [[16, 8192, 8192], [512, 512, 65_536]];
    for shape in bench.scale().pick(&narrow[..], &narrow, &[[8, 16, 2048]]) {
        let problem = single::<T>(*shape).with_transposed([false, true]);
        of(bench, problem, Bound::Tensor);
    }
}

fn single<T: Real>(shape: [usize; 3]) -> Product<T> {
    Product::new(shape, Data::Fractions)
}

/// A product of matrices, or several, of normally distributed numbers.
fn of<T: Real + Blas>(bench: &mut Bench, problem: Product<T>, bound: Bound) {
    let problem = problem.normal();
    let (shape, products) = (problem.shape(), problem.count());
    let is_layer = problem.is_layer();
    let is_grouped = problem.is_grouped();
    let [m, n, k] = shape;
    let size = match m == n && n == k {
        true => format!("{m}^3"),
        false => format!("{m} x {n} x {k}"),
    };
    let what = match (is_layer, is_grouped) {
        (true, _) => "layer",
        (false, true) => "group of products",
        (false, false) => "product",
    };
    let by = match problem.precision() {
        Precision::Exact => String::new(),
        precision => format!(" by {precision}"),
    };
    let transposed = match problem.transposed() {
        [false, false] => "",
        [false, true] => ", B transposed",
        [true, false] => ", A transposed",
        [true, true] => ", both transposed",
    };
    let is_tf32 = problem.precision() == Precision::Tf32;
    let layout = problem.transposed();
    let work = format!(
        "{what} {}{}{by}{transposed}",
        <<T as Matrices>::Factor>::NAME,
        T::TO
    );
    let len = products * m * n;
    let spec = Spec {
        size: match products {
            1 => size,
            products => format!("{products} x {size}"),
        },
        ..Spec::of("gemm", work, len, bound)
    };
    let spec = spec
        .operations(problem.operations().unwrap_or_default())
        .aim(None, ratio(&problem));
    case(bench, spec, problem, |sets, place| {
        let inputs = move |set: usize| {
            let ([a, b], bias) = &sets.inputs()[set];
            [place_of(a), place_of(b), place_of(bias)]
        };
        // A peer's contender, whose work gets the addresses of A, of B, of the bias, and of C.
        let multiplying = |mut work: Box<dyn FnMut([u64; 4]) -> Result<()>>| -> Made<'_> {
            Ok(local(
                place.outputs::<T::Result>(len)?,
                move |outputs, set| {
                    let [a, b, bias] = inputs(set);
                    work([a, b, bias, pointer(&mut outputs[set])])
                },
                move |outputs, set| Ok(sets.check(set, &outputs[set].to_vec()?)),
            ))
        };
        if is_layer {
            // By the hyperbolic tangent, which differs by less than the bound of such a sum.
            return place.peer("cuBLASLt", Peers::cublaslt, |cublaslt| {
                multiplying(Box::new(cublaslt.layer::<T>(shape)?))
            });
        }
        if T::BY_LT {
            let along_k = layout == [false, true] && T::TYPES.is_some();
            let kinds = [("cuBLASLt", false), ("cuBLASLt, fast sums", true)].into_iter();
            let rivals = kinds.flat_map(|(name, fast)| {
                place.peer(name, Peers::cublaslt, |cublaslt| {
                    if !along_k {
                        let reason = "only products with B transposed of E4M3";
                        return Err(Absent::Missing(reason.to_owned()));
                    }
                    let mut product = cublaslt.product::<T>(shape, fast)?;
                    multiplying(Box::new(move |[a, b, _, c]| product([a, b, c])))
                })
            });
            return rivals.collect();
        }
        place.peer("cuBLAS", Peers::cublas, |cublas| {
            let mut product = cublas.product::<T>(shape, products, layout, is_tf32)?;
            multiplying(Box::new(move |[a, b, _, c]| product([a, b, c])))
        })
    })
}

/// Returns the aim for a product.
fn ratio<T: Real>(problem: &Product<T>) -> Option<f64> {
    let [m, n, k] = problem.shape();
    let is_large = m == n && n == k && m >= 4096;
    match (size_of::<T::Factor>(), problem.precision()) {
        (_, Precision::Bf16x6) => Some(1.6),
        (1, _) => is_large.then_some(0.95),
        (2, _) if is_large && !problem.is_layer() => Some(1.02),
        _ => Some(1.0),
    }
}

fn place_of<T: Element>(matrix: &Matrix<T>) -> u64 {
    address(matrix.as_vector())
}
