//! `mma`: each warp multiplies fragments of its own.

use cuda_std::{async_copy, mma, prelude::*, unrolled};

macro_rules! products {
    ($($name:ident: $product:ident, $a:literal, $b:literal, $c:literal;)*) => { $(
        /// A product of fragments, which lie lane after lane. The result goes where C was.
        ///
        /// # Safety
        /// Whole warps, with the elements of a fragment for every thread.
        #[kernel]
        pub unsafe fn $name(a: Global<f64>, b: Global<f64>, c: GlobalMut<f64>) {
            let i = thread::index_1d_wide();
            let from_a: [f64; $a] = core::array::from_fn(|at| a.get(i * $a + at));
            let from_b: [f64; $b] = core::array::from_fn(|at| b.get(i * $b + at));
            let from_c: [f64; $c] = core::array::from_fn(|at| c.get(i * $c + at));
            let sums = mma::$product(from_a, from_b, from_c);
            unrolled!(at < $c of 4 => { c.set(i * $c + at, sums[at]); });
        }
    )* };
}
products! {
    products_m8n8k4_f64: m8n8k4_f64, 1, 1, 2;
    products_m16n8k4_f64: m16n8k4_f64, 2, 1, 4;
    products_m16n8k8_f64: m16n8k8_f64, 4, 2, 4;
    products_m16n8k16_f64: m16n8k16_f64, 8, 4, 4;
}

/// The warps of a block of [`products_m16n8k32_i8`].
pub const WARPS_OF_I8: usize = 4;

/// Each warp adds the product of 16 rows of A and 16 columns of B, each with 32 elements, to 16 x 16 elements of C by rows. The
/// fragments come by `ldmatrix`.
///
/// # Safety
/// Blocks of [`WARPS_OF_I8`] warps, with matrices for every warp.
#[kernel]
pub unsafe fn products_m16n8k32_i8(a: Global<i8>, b: Global<i8>, c: GlobalMut<i32>) {
    let of_a = shared![i8; WARPS_OF_I8 * 512];
    let of_b = shared![i8; WARPS_OF_I8 * 512];
    let (lane, thread) = (warp::lane_id() as usize, thread::thread_idx_x() as usize);
    let i = thread::index_1d_wide();
    of_a.set_chunk(16 * thread, a.get_chunk::<16>(16 * i));
    of_b.copy_async_chunk::<16>(16 * thread, b, 16 * i);
    async_copy::commit_group();
    async_copy::wait_all();
    thread::sync_threads();
    let (own, row, first, second) = (thread / 32 * 512, lane % 8, lane / 8 % 2, lane / 16);
    let from_a = mma::ldmatrix_x4(of_a, own + (row + 8 * first) * 32 + 16 * second);
    // Two fragments of B: 16 columns.
    let from_b = mma::ldmatrix_x4(of_b, own + (row + 8 * second) * 32 + 16 * first);
    let at = |half: usize, of_lane: usize| {
        let (row, column) = mma::M16N8K32_I8.c.at(lane, of_lane);
        i / 32 * 256 + row * 16 + half * 8 + column
    };
    unrolled!(half < 2 => {
        let mut sums = [0; 4];
        unrolled!(of_lane < 4 => { sums[of_lane] = c.get(at(half, of_lane)); });
        let sums = mma::m16n8k32_i8(from_a, [from_b[2 * half], from_b[2 * half + 1]], sums);
        unrolled!(of_lane < 4 => { c.set(at(half, of_lane), sums[of_lane]); });
    });
}
