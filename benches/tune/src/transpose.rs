//! Every row of the transposes, for elements of 1, 2, 4, 8 and 16 bytes, each with the rows whose tile its kernels take.

use cuda_std::prelude::*;
use warpwright_gpu::{
    transpose::{self, policy::Policy},
    tuning::{Row, Tuned},
};

macro_rules! with_rows {
    ($callback:ident) => {
        $callback! {
            u8_0: (u8, 8, 0),
            u8_1: (u8, 8, 1),
            u8_2: (u8, 8, 2),
            u8_3: (u8, 8, 3),
            u8_4: (u8, 8, 4),
            u8_5: (u8, 8, 5),
            u8_6: (u8, 8, 6),
            u8_7: (u8, 8, 7),
            u16_0: (u16, 4, 0),
            u16_1: (u16, 4, 1),
            u16_2: (u16, 4, 2),
            u16_3: (u16, 4, 3),
            u16_4: (u16, 4, 4),
            u16_5: (u16, 4, 5),
            u16_6: (u16, 4, 6),
            u16_7: (u16, 4, 7),
            f32_8: (u32, 4, 8),
            f32_9: (u32, 4, 9),
            f32_10: (u32, 4, 10),
            f32_11: (u32, 4, 11),
            f32_12: (u32, 4, 12),
            f32_13: (u32, 4, 13),
            f32_14: (u32, 4, 14),
            f32_15: (u32, 4, 15),
            f64_8: (u64, 2, 8),
            f64_9: (u64, 2, 9),
            f64_10: (u64, 2, 10),
            f64_11: (u64, 2, 11),
            f64_12: (u64, 2, 12),
            f64_13: (u64, 2, 13),
            f64_14: (u64, 2, 14),
            f64_15: (u64, 2, 15),
            u128_16: (u128, 1, 16),
            u128_17: (u128, 1, 17),
            u128_18: (u128, 1, 18),
            u128_19: (u128, 1, 19),
            u128_20: (u128, 1, 20),
            u128_21: (u128, 1, 21),
            u128_22: (u128, 1, 22),
            u128_23: (u128, 1, 23),
        }
    };
}

const fn policy<const ROW: usize>() -> Policy {
    <Row<ROW> as Tuned<Policy>>::POLICY
}

/// [`transpose_best`](transpose::transpose_best) by the numbers of a row.
///
/// # Safety
/// As for that.
#[kernel(
    launch_bounds(policy::<ROW>().threads as u32, policy::<ROW>().resident),
    instances = with_rows
)]
pub unsafe fn tune_transpose<T: Copy + 'static, const K: usize, const ROW: usize>(
    input: Global<T>,
    output: GlobalMut<T>,
    width: usize,
    height: usize,
) {
    transpose::by_tiles::<T, Row<ROW>, K>(input, output, width, height);
}

#[cfg(not(target_arch = "nvptx64"))]
mod table {
    use cuda_std::kernel::Kernel;

    use super::*;
    use crate::Candidate;

    /// The candidates.
    pub fn candidates() -> Vec<Candidate<Policy>> {
        macro_rules! list {
            ($($suffix:ident: ($of:ty, $elements:literal, $row:literal),)*) => { vec![$(Candidate::new(stringify!($suffix), $row, policy::<$row>(), vec![
                    [
                        &transpose::TransposeBest::<$of, $elements>::DESCRIPTOR,
                        &TuneTranspose::<$of, $elements, $row>::DESCRIPTOR,
                    ],
                ])),*] };
        }
        with_rows!(list)
    }
}
#[cfg(not(target_arch = "nvptx64"))]
pub use table::candidates;
