//! `warp`.

use cuda_std::{
    prelude::*,
    warp::{FULL_MASK, Shuffle},
};

/// A type of one's own.
#[derive(Clone, Copy)]
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
    half: (cuda_std::f16), brain: (cuda_std::bf16), array: ([f32; 4]), pair: ((u32, f64)),
    triple: ((u8, i16, u64)), own: (Best)
))]
pub unsafe fn shuffles<T: Shuffle>(values: GlobalMut<T>, argument: u32) {
    let i = thread::index_1d_wide();
    let mut value = values.get(i);
    value = warp::shuffle(FULL_MASK, value, argument);
    value = warp::shuffle_up(FULL_MASK, value, argument);
    value = warp::shuffle_down(FULL_MASK, value, argument);
    value = warp::shuffle_xor(FULL_MASK, value, argument);
    value = warp::shuffle_width(FULL_MASK, value, argument, 16);
    value = warp::shuffle_up_width(FULL_MASK, value, argument, 8);
    value = warp::shuffle_down_width(FULL_MASK, value, argument, 4);
    value = warp::shuffle_xor_width(FULL_MASK, value, argument, 2);
    values.set(i, value);
}

#[kernel]
pub unsafe fn votes(values: GlobalMut<u32>, mask: u32) {
    let i = thread::index_1d_wide();
    let value = values.get(i);
    let predicate = value.is_multiple_of(3);
    let mut sum = u32::from(warp::all(mask, predicate));
    sum += 2 * u32::from(warp::any(mask, predicate));
    sum += 4 * u32::from(warp::uniform(mask, predicate));
    sum ^= warp::ballot(mask, predicate);
    // SAFETY: the launch gives a mask that names the lanes that come.
    unsafe { warp::sync_warp(mask) };
    // Which others are active is up to the hardware.
    sum ^= warp::active_mask() & (1 << warp::lane_id());
    sum ^= warp::lane_id() ^ warp::warp_id();
    values.set(i, sum);
}

macro_rules! matching {
    ($($name:ident: $ty:ty;)*) => { $(
        #[kernel]
        pub unsafe fn $name(values: Global<$ty>, results: GlobalMut<u32>, mask: u32) {
            let i = thread::index_1d_wide();
            let any = warp::match_any(mask, values.get(i));
            let (all, same) = warp::match_all(mask, values.get(i));
            results.set(i, any ^ all ^ u32::from(same));
        }
    )* };
}
matching! {
    matching_u32: u32;
    matching_i32: i32;
    matching_f32: f32;
    matching_u64: u64;
    matching_i64: i64;
    matching_f64: f64;
    matching_usize: usize;
}

#[kernel(instances(u32, i32))]
pub unsafe fn reductions<T: warp::Redux>(values: GlobalMut<T>, mask: u32) {
    let i = thread::index_1d_wide();
    let mut value = values.get(i);
    value = warp::redux_add(mask, value);
    value = warp::redux_min(mask, value);
    value = warp::redux_max(FULL_MASK, value);
    value = warp::redux_and(mask, value);
    value = warp::redux_or(FULL_MASK, value);
    value = warp::redux_xor(mask, value);
    values.set(i, value);
}
