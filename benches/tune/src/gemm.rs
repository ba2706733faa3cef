//! The rows of the matrix product, for matrices that are not transposed: those of `f32`, and those of `f64` in which
//! one block is resident (the sums of two would not fit the registers) and goes 8 along k (16 take more shared memory than
//! a kernel may declare).

use cuda_std::prelude::*;
use warpwright_gpu::{
    gemm::{
        self, Problem,
        policy::{BEST_BLOCK, LARGE, Policy, SMALL},
    },
    tuning::{Row, Tuned},
};

macro_rules! with_rows {
    ($callback:ident) => {
        $callback! {
            f32_0: (0),
            f32_1: (1),
            f32_2: (2),
            f32_3: (3),
            f32_4: (4),
            f32_6: (6),
            f32_8: (8),
        }
    };
}
macro_rules! with_double_rows {
    ($callback:ident) => {
        $callback! {
            f64_1: (1),
            f64_5: (5),
            f64_7: (7),
            f64_9: (9),
        }
    };
}

const fn policy<const ROW: usize>() -> Policy {
    <Row<ROW> as Tuned<Policy>>::POLICY
}

/// [`gemm_best`](gemm::gemm_best) by the numbers of a row.
///
/// # Safety
/// As for that.
#[kernel(
    launch_bounds(BEST_BLOCK[LARGE] as u32, policy::<ROW>().resident),
    instances = with_rows
)]
pub unsafe fn tune_gemm<const ROW: usize>(
    a: Global<f32>,
    b: Global<f32>,
    c: GlobalMut<f32>,
    problem: Problem,
    alpha: f32,
    beta: f32,
) {
    gemm::product::<f32, Row<ROW>, 4, true, false>(a, b, c, &problem, alpha, beta);
}

/// [`gemm_best_small`](gemm::gemm_best_small) by the numbers of a row.
///
/// # Safety
/// As for that.
#[kernel(
    launch_bounds(BEST_BLOCK[SMALL] as u32, policy::<ROW>().small_resident),
    instances = with_rows
)]
pub unsafe fn tune_gemm_small<const ROW: usize>(
    a: Global<f32>,
    b: Global<f32>,
    c: GlobalMut<f32>,
    problem: Problem,
    alpha: f32,
    beta: f32,
) {
    gemm::product_of_small_tiles::<f32, Row<ROW>, 4, true, false>(a, b, c, &problem, alpha, beta);
}

/// [`gemm_best_double`](gemm::gemm_best_double) by the numbers of a row.
///
/// # Safety
/// As for that.
#[kernel(
    launch_bounds(BEST_BLOCK[LARGE] as u32, policy::<ROW>().resident),
    instances = with_double_rows
)]
pub unsafe fn tune_gemm_double<const ROW: usize>(
    a: Global<f64>,
    b: Global<f64>,
    c: GlobalMut<f64>,
    problem: Problem,
    alpha: f64,
    beta: f64,
) {
    gemm::product::<f64, Row<ROW>, 2, true, false>(a, b, c, &problem, alpha, beta);
}

/// [`gemm_best_small_double`](gemm::gemm_best_small_double) by the numbers of a row.
///
/// # Safety
/// As for that.
#[kernel(
    launch_bounds(BEST_BLOCK[SMALL] as u32, policy::<ROW>().small_resident),
    instances = with_double_rows
)]
pub unsafe fn tune_gemm_small_double<const ROW: usize>(
    a: Global<f64>,
    b: Global<f64>,
    c: GlobalMut<f64>,
    problem: Problem,
    alpha: f64,
    beta: f64,
) {
    gemm::product_of_small_tiles::<f64, Row<ROW>, 2, true, false>(a, b, c, &problem, alpha, beta);
}

#[cfg(not(target_arch = "nvptx64"))]
mod table {
    use cuda_std::kernel::Kernel;

    use super::*;
    use crate::Candidate;

    /// The candidates.
    pub fn candidates() -> Vec<Candidate<Policy>> {
        let mut all = Vec::new();
        macro_rules! add {
            ($([$own:ident, $other:ident])*: $rows:tt) => { add!(@ [$([$own, $other])*] $rows) };
            (@ $pairs:tt ($($suffix:ident: ($row:literal),)*)) => { $(
                all.push(Candidate::new(
                    stringify!($suffix),
                    $row,
                    policy::<$row>(),
                    add!(% $row $pairs),
                ));
            )* };
            (% $row:literal [$([$own:ident, $other:ident])*]) => {
                vec![$([&gemm::$own::<true, false>::DESCRIPTOR, &$other::<$row>::DESCRIPTOR]),*]
            };
        }
        macro_rules! single {
            ($($rows:tt)*) => { add!([GemmBest, TuneGemm] [GemmBestSmall, TuneGemmSmall]: ($($rows)*)) };
        }
        macro_rules! double {
            ($($rows:tt)*) => {
                add!([GemmBestDouble, TuneGemmDouble] [GemmBestSmallDouble, TuneGemmSmallDouble]: ($($rows)*))
            };
        }
        with_rows!(single);
        with_double_rows!(double);
        all
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub use table::candidates;
