//! `mma`: each warp multiplies fragments of its own.

use cuda_std::{
    F8E4M3, F8E5M2, async_copy, bf16,
    mma::{self, Byte, Packed, Quad},
    prelude::*,
    unrolled,
};

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

/// The warps of a block of [`products_of_bytes`].
pub const WARPS_OF_BYTES: usize = 4;

/// An element type of 8 bits, with its product of fragments.
pub trait OfBytes: Byte {
    /// The type of sums.
    type Sum: Plain;
    /// Adds the product of two fragments to one of C.
    fn product(a: [Quad<Self>; 4], b: [Quad<Self>; 2], c: [Self::Sum; 4]) -> [Self::Sum; 4];
}

macro_rules! of_bytes {
    ($($ty:ident: $sum:ident, $product:ident;)*) => { $(
        impl OfBytes for $ty {
            type Sum = $sum;
            #[inline(always)]
            fn product(a: [Quad<Self>; 4], b: [Quad<Self>; 2], c: [$sum; 4]) -> [$sum; 4] {
                mma::$product(a, b, c)
            }
        }
    )* };
}
of_bytes! {
    i8: i32, m16n8k32_i8;
    F8E4M3: f32, m16n8k32_e4m3;
    F8E5M2: f32, m16n8k32_e5m2;
}

/// Each warp adds the product of 16 rows of A and 16 columns of B, each with 32 elements, to 16 x 16 elements of C by rows. The
/// fragments come by `ldmatrix`.
///
/// # Safety
/// Blocks of [`WARPS_OF_BYTES`] warps, with matrices for every warp.
#[kernel(instances(i8: (i8), e4m3: (F8E4M3), e5m2: (F8E5M2)))]
pub unsafe fn products_of_bytes<T: OfBytes>(a: Global<T>, b: Global<T>, c: GlobalMut<T::Sum>) {
    let of_a = shared![u32; WARPS_OF_BYTES * 128];
    let of_b = shared![u32; WARPS_OF_BYTES * 128];
    // SAFETY: static arrays are aligned to 16 bytes, and any 8 bits are an element.
    let (of_a, of_b) = unsafe { (of_a.cast::<T>(), of_b.cast::<T>()) };
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
        let mut sums = [0, 1, 2, 3].map(|of_lane| c.get(at(half, of_lane)));
        sums = T::product(from_a, [from_b[2 * half], from_b[2 * half + 1]], sums);
        unrolled!(of_lane < 4 => { c.set(at(half, of_lane), sums[of_lane]); });
    });
}

/// Each warp stores the 32 rows of 16 bytes of four matrices in another order: row `i` as row `(5 * i + 3) % 32`. The registers
/// come by `ldmatrix`.
///
/// # Safety
/// Blocks of [`WARPS_OF_BYTES`] warps, with 128 words for every warp.
#[kernel(instances(i8: (i8), bf16: (bf16)))]
pub unsafe fn stored_matrices<T: Packed>(from: Global<u32>, to: GlobalMut<u32>) {
    let (loaded, stored) = (
        shared![u32; WARPS_OF_BYTES * 128],
        shared![u32; WARPS_OF_BYTES * 128],
    );
    let (lane, thread) = (warp::lane_id() as usize, thread::thread_idx_x() as usize);
    let i = thread::index_1d_wide();
    loaded.set_chunk(4 * thread, from.get_chunk::<4>(4 * i));
    thread::sync_threads();
    let chunk = const { 16 / size_of::<T>() };
    // SAFETY: static arrays are aligned to 16 bytes, and any bits are such elements.
    let (rows, others) = unsafe { (loaded.cast::<T>(), stored.cast::<T>()) };
    let registers = mma::ldmatrix_x4(rows, thread * chunk);
    let row = thread - lane + (5 * lane + 3) % 32;
    mma::stmatrix_x4(others, row * chunk, registers);
    thread::sync_threads();
    to.set_chunk(4 * i, stored.get_chunk::<4>(4 * thread));
}
