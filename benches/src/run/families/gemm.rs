//! Matrix products, compared with cuBLAS.

use half::{bf16, f16};
use warpwright::{Matrix, Vector};
use warpwright_workloads::Problem;
use warpwright_workloads::gemm::{Data, Product, Real};

use super::super::peers::cublas::Blas;
use super::super::peers::rival;
use super::super::{Bench, Spec, local, pointer};
use super::{Place, case};
use crate::record::{Aim, Bound};

pub(super) fn run(bench: &mut Bench) {
    let all = [1024, 2048, 4096, 8192];
    for side in bench.scale().pick(&all[..], &[2048, 4096], &[33]) {
        of::<f32>(bench, [*side; 3], Bound::FmaF32);
    }
    for side in bench.scale().pick(&all[..], &[2048], &[33]) {
        of::<f64>(bench, [*side; 3], Bound::FmaF64);
    }
    for side in bench.scale().pick(&all[..], &[2048, 4096], &[33]) {
        of::<f16>(bench, [*side; 3], Bound::Tensor);
        of::<bf16>(bench, [*side; 3], Bound::Tensor);
    }
    // Few rows, few columns, and few of both with a long k.
    let narrow = [[16, 8192, 8192], [8192, 64, 8192], [512, 512, 65_536]];
    for shape in bench.scale().pick(&narrow[..], &narrow, &[[8, 16, 2048]]) {
        of::<bf16>(bench, *shape, Bound::Tensor);
    }
}

/// The product of matrices: `shape` has the rows of A, the columns of B, and the common dimension.
fn of<T: Real + Blas>(bench: &mut Bench, shape: [usize; 3], bound: Bound) {
    let problem = Product::<T>::new(shape, Data::Fractions);
    let [m, n, k] = shape;
    let spec = Spec {
        family: "gemm",
        work: format!("product {}", T::NAME),
        size: match m == n && n == k {
            true => format!("{m}^3"),
            false => format!("{m} x {n} x {k}"),
        },
        elements: m * n,
        bytes: problem.bytes(),
        operations: problem.operations().unwrap_or_default(),
        bound,
        aim: Aim::default(),
    };
    let sets = |place: &Place| place.sets(problem);
    case(bench, spec, sets, |sets, place| {
        let Place {
            device,
            peers,
            count,
        } = place;
        let mut rivals = Vec::new();
        if peers.wanted() {
            let cublas = peers.cublas().and_then(|cublas| {
                let product = cublas.product::<T>(shape)?;
                let outputs: Result<Vec<Vector<T>>, warpwright::Error> =
                    (0..*count).map(|_| device.zeros(m * n)).collect();
                Ok(local(
                    (product, outputs?),
                    move |(product, outputs), set| {
                        let place = |matrix: &Matrix<T>| matrix.as_vector().view().device_pointer();
                        let [a, b] = sets.inputs()[set].each_ref().map(place);
                        product([a, b, pointer(&mut outputs[set])])
                    },
                    |(_, outputs), set| Ok(sets.check(set, &outputs[set].to_vec()?)),
                ))
            });
            rivals.push(rival("cuBLAS", cublas));
        }
        Ok(rivals)
    })
}
