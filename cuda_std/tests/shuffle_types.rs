//! Every type that a shuffle carries, on the CPU executor.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, block};
use cuda_std::{prelude::*, warp::Shuffle};

/// A user's own type.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Best {
    value: f64,
    index: u32,
}

impl Shuffle for Best {
    fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
        Self {
            value: self.value.map_words(each),
            index: self.index.map_words(each),
        }
    }
}

#[kernel(instances(
    u8, i8, u16, i16, u32, i32, u64, i64, usize, isize, f32, f64, bool,
    half: (cuda_std::f16), brain: (cuda_std::bf16), array: ([u16; 3]), pair: ((u8, f64)),
    triple: ((i64, bool, f32)), own: (Best)
))]
pub unsafe fn reverse<T: Shuffle>(values: Global<T>, results: GlobalMut<T>) {
    let lane = warp::lane_id();
    let value = values.get(lane as usize);
    results.set(
        lane as usize,
        warp::shuffle(warp::FULL_MASK, value, 31 - lane),
    );
}

macro_rules! every_type_travels {
    ($($name:ident: $ty:ty, $value:expr;)*) => { $(
        #[test]
        fn $name() {
            #[allow(clippy::redundant_closure_call)]
            let mut values: Vec<$ty> = (0..32u8).map($value).collect();
            let mut results = vec![values[0]; 32];
            Args::new().view(&mut values).view(&mut results).launch::<Reverse<$ty>>(block(32)).unwrap();
            values.reverse();
            assert_eq!(results, values);
        }
    )* };
}

every_type_travels! {
    travels_u8: u8, |i| 200 + i;
    travels_i8: i8, |i| -100 + i as i8;
    travels_u16: u16, |i| 65_000 + u16::from(i);
    travels_i16: i16, |i| -30_000 + i16::from(i);
    travels_u32: u32, |i| 4_000_000_000 + u32::from(i);
    travels_i32: i32, |i| -2_000_000_000 + i32::from(i);
    travels_u64: u64, |i| u64::MAX - (u64::from(i) << 40) - u64::from(i);
    travels_i64: i64, |i| i64::MIN + (i64::from(i) << 40);
    travels_usize: usize, |i| usize::MAX - usize::from(i);
    travels_isize: isize, |i| isize::MIN + isize::from(i);
    travels_f32: f32, |i| -1.5e30 * f32::from(i);
    travels_f64: f64, |i| 1.0e-300 * f64::from(i);
    travels_bool: bool, |i| i % 3 == 0;
    travels_f16: cuda_std::f16, |i| cuda_std::f16::from_f32(-1.5 * f32::from(i));
    travels_bf16: cuda_std::bf16, |i| cuda_std::bf16::from_f32(2.5 * f32::from(i));
    travels_array: [u16; 3], |i| [u16::from(i), 65_535 - u16::from(i), 7];
    travels_pair: (u8, f64), |i| (i, 1.0 / f64::from(i + 1));
    travels_triple: (i64, bool, f32), |i| (-i64::from(i) << 33, i % 2 == 0, 0.5 * f32::from(i));
    travels_own: Best, |i| Best { value: f64::from(i).sqrt(), index: u32::from(i) };
}
