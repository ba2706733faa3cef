//! `warp`. Every operation takes the lane's original value, and has results of its own. Lanes that the
//! mask does not name leave first.

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

/// A type that lanes shuffle, and the plain data that it is in memory.
pub trait Carried: Shuffle + 'static {
    /// The data.
    type Plain: Copy + 'static;

    /// The value that is meant.
    fn pack(plain: Self::Plain) -> Self;

    /// The data of a value.
    fn unpack(self) -> Self::Plain;
}

macro_rules! carried {
    ($($ty:ty as $plain:ty: $pack:expr, $unpack:expr;)*) => { $(
        impl Carried for $ty {
            type Plain = $plain;

            #[inline(always)]
            #[allow(clippy::redundant_closure_call)]
            fn pack(plain: $plain) -> Self {
                ($pack)(plain)
            }

            #[inline(always)]
            #[allow(clippy::redundant_closure_call)]
            fn unpack(self) -> $plain {
                ($unpack)(self)
            }
        }
    )* };
    (plain: $($ty:ty),*) => {
        carried! { $($ty as $ty: |plain| plain, |value| value;)* }
    };
}
carried!(plain: u8, i8, u16, i16, u32, i32, u64, i64, usize, isize, f32, f64, [f32; 4]);
carried! {
    bool as u8: |plain: u8| plain & 1 != 0, u8::from;
    cuda_std::f16 as u16: cuda_std::f16::from_bits, |value: Self| value.to_bits();
    cuda_std::bf16 as u16: cuda_std::bf16::from_bits, |value: Self| value.to_bits();
    (u32, f64) as [u64; 2]: |[a, b]: [u64; 2]| (a as u32, f64::from_bits(b)),
        |(a, b): Self| [a.into(), b.to_bits()];
    (u8, i16, u64) as [u64; 3]: |[a, b, c]: [u64; 3]| (a as u8, b as i16, c),
        |(a, b, c): Self| [a.into(), u64::from(b as u16), c];
    Best as [u64; 2]: |[a, b]: [u64; 2]| Self { value: f64::from_bits(a), index: b as u32 },
        |best: Self| [best.value.to_bits(), best.index.into()];
}

/// Eight results for a lane: index, up, down and xor within segments of `width` lanes, then within the warp.
#[kernel(instances(
    u8, i8, u16, i16, u32, i32, u64, i64, usize, isize, f32, f64, bool,
    half: (cuda_std::f16), brain: (cuda_std::bf16), array: ([f32; 4]), pair: ((u32, f64)),
    triple: ((u8, i16, u64)), own: (Best)
))]
pub unsafe fn shuffles<T: Carried>(
    values: Global<T::Plain>,
    arguments: Global<u32>,
    results: GlobalMut<T::Plain>,
    mask: u32,
    width: u32,
) {
    let i = thread::index_1d_wide();
    if mask >> warp::lane_id() & 1 == 0 {
        return;
    }
    let (value, argument) = (T::pack(values.get(i)), arguments.get(i));
    let put = |at: usize, value: T| results.set(8 * i + at, value.unpack());
    put(0, warp::shuffle_width(mask, value, argument, width));
    put(1, warp::shuffle_up_width(mask, value, argument, width));
    put(2, warp::shuffle_down_width(mask, value, argument, width));
    put(3, warp::shuffle_xor_width(mask, value, argument, width));
    put(4, warp::shuffle(mask, value, argument));
    put(5, warp::shuffle_up(mask, value, argument));
    put(6, warp::shuffle_down(mask, value, argument));
    put(7, warp::shuffle_xor(mask, value, argument));
}

/// Eight results for a lane: the four votes on "not a multiple of 3"; whether the lane is one of the
/// active ones (which others are is up to the hardware); its index; its warp's; and what the lane that its
/// own index with all bits flipped names has left in shared memory, if the mask names that lane.
#[kernel]
pub unsafe fn votes(values: Global<u32>, results: GlobalMut<u32>, mask: u32) {
    let left = shared![u32; 1024];
    let i = thread::index_1d_wide();
    let lane = warp::lane_id();
    if mask >> lane & 1 == 0 {
        return;
    }
    let value = values.get(i);
    let predicate = !value.is_multiple_of(3);
    results.set(8 * i, warp::all(mask, predicate).into());
    results.set(8 * i + 1, warp::any(mask, predicate).into());
    results.set(8 * i + 2, warp::uniform(mask, predicate).into());
    results.set(8 * i + 3, warp::ballot(mask, predicate));
    results.set(8 * i + 4, warp::active_mask() >> lane & 1);
    results.set(8 * i + 5, lane);
    results.set(8 * i + 6, warp::warp_id());
    let t = thread::thread_idx_x() as usize;
    left.set(t, value);
    // SAFETY: the lanes that the mask names have come.
    unsafe { warp::sync_warp(mask) };
    if mask >> (lane ^ 31) & 1 != 0 {
        results.set(8 * i + 7, left.get(t ^ 31));
    }
}

macro_rules! matching {
    ($($name:ident: $ty:ty;)*) => { $(
        /// Three results for a lane.
        #[kernel]
        pub unsafe fn $name(values: Global<$ty>, results: GlobalMut<u32>, mask: u32) {
            let i = thread::index_1d_wide();
            if mask >> warp::lane_id() & 1 == 0 {
                return;
            }
            let (all, same) = warp::match_all(mask, values.get(i));
            results.set(3 * i, warp::match_any(mask, values.get(i)));
            results.set(3 * i + 1, all);
            results.set(3 * i + 2, same.into());
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

/// Six results for a lane.
#[kernel(instances(u32, i32))]
pub unsafe fn reductions<T: warp::Redux>(values: Global<T>, results: GlobalMut<T>, mask: u32) {
    let i = thread::index_1d_wide();
    if mask >> warp::lane_id() & 1 == 0 {
        return;
    }
    let value = values.get(i);
    results.set(6 * i, warp::redux_add(mask, value));
    results.set(6 * i + 1, warp::redux_min(mask, value));
    results.set(6 * i + 2, warp::redux_max(mask, value));
    results.set(6 * i + 3, warp::redux_and(mask, value));
    results.set(6 * i + 4, warp::redux_or(mask, value));
    results.set(6 * i + 5, warp::redux_xor(mask, value));
}

/// [`reductions`] of whole warps, whose mask the compiler knows.
#[kernel(instances(u32, i32))]
pub unsafe fn whole_reductions<T: warp::Redux>(values: Global<T>, results: GlobalMut<T>) {
    let i = thread::index_1d_wide();
    let value = values.get(i);
    results.set(6 * i, warp::redux_add(FULL_MASK, value));
    results.set(6 * i + 1, warp::redux_min(FULL_MASK, value));
    results.set(6 * i + 2, warp::redux_max(FULL_MASK, value));
    results.set(6 * i + 3, warp::redux_and(FULL_MASK, value));
    results.set(6 * i + 4, warp::redux_or(FULL_MASK, value));
    results.set(6 * i + 5, warp::redux_xor(FULL_MASK, value));
}
