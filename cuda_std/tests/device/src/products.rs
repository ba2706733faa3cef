//! `mma`: each warp multiplies fragments of its own.

use cuda_std::{mma, prelude::*};

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
            cuda_std::unrolled!(at < $c of 4 => { c.set(i * $c + at, sums[at]); });
        }
    )* };
}
products! {
    products_m8n8k4_f64: m8n8k4_f64, 1, 1, 2;
    products_m16n8k4_f64: m16n8k4_f64, 2, 1, 4;
    products_m16n8k8_f64: m16n8k8_f64, 4, 2, 4;
    products_m16n8k16_f64: m16n8k16_f64, 8, 4, 4;
}
