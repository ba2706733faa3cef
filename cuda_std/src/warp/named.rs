//! The warp operations under Rust-CUDA's names.

use super::*;

/// Returns the mask of [`active_mask`], under the name of the instruction.
#[inline(always)]
pub fn activemask() -> u32 {
    active_mask()
}

/// The operation of [`warp_reduce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// The sum, modulo 2^32.
    Add,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
    /// The bitwise and.
    And,
    /// The bitwise or.
    Or,
    /// The bitwise exclusive or.
    Xor,
}

/// A type that [`warp_reduce`] accepts: `u32` or `i32`.
pub trait WarpReduceValue: Redux {}
impl<T: Redux> WarpReduceValue for T {}

/// A type that [`warp_match_any`] and [`warp_match_all`] accept.
pub trait WarpMatchValue: Match {}
impl<T: Match> WarpMatchValue for T {}

/// A type that the shuffles accept.
pub trait WarpShuffleValue: Shuffle {}
impl<T: Shuffle> WarpShuffleValue for T {}

/// Returns the reduction `op` of the values of all lanes of `mask`.
///
/// # Safety
/// The conditions of [`sync_warp`] must hold.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    match op {
        WarpReductionOp::Add => redux_add(mask, value),
        WarpReductionOp::Min => redux_min(mask, value),
        WarpReductionOp::Max => redux_max(mask, value),
        WarpReductionOp::And => redux_and(mask, value),
        WarpReductionOp::Or => redux_or(mask, value),
        WarpReductionOp::Xor => redux_xor(mask, value),
    }
}

/// Calls [`match_any`].
///
/// # Safety
/// The conditions of [`sync_warp`] must hold.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    match_any(mask, value)
}

/// Returns the mask of [`match_all`], or `None` if the values differ.
///
/// # Safety
/// The conditions of [`sync_warp`] must hold.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    let (lanes, same) = match_all(mask, value);
    same.then_some(lanes)
}

/// Calls [`all`].
///
/// # Safety
/// The conditions of [`sync_warp`] must hold.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    all(mask, predicate)
}

/// Calls [`any`].
///
/// # Safety
/// The conditions of [`sync_warp`] must hold.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    any(mask, predicate)
}

/// Calls [`ballot`].
///
/// # Safety
/// The conditions of [`sync_warp`] must hold.
#[inline(always)]
#[track_caller]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    ballot(mask, predicate)
}

macro_rules! named_shuffles {
    ($($name:ident: $plain:ident, $argument:ident, |$lane:ident, $last:ident| $within:expr;)*) => { $(
        #[doc = concat!("Returns [`", stringify!($plain), "`], and whether the source lane is within the segment of `width`.")]
        ///
        /// # Safety
        /// The conditions of [`sync_warp`] must hold.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name<T: WarpShuffleValue>(
            mask: u32,
            value: T,
            $argument: u32,
            width: u32,
        ) -> (T, bool) {
            let shuffled = $plain(mask, value, $argument, width);
            let $argument = $argument % 32;
            // The lane's position in its segment, and the last position.
            let ($lane, $last) = (lane_id() & width.wrapping_sub(1), width.wrapping_sub(1));
            (shuffled, $within)
        }
    )* };
}

named_shuffles! {
    warp_shuffle_down: shuffle_down_width, delta, |lane, last| lane + delta <= last;
    warp_shuffle_up: shuffle_up_width, delta, |lane, _last| lane >= delta;
    warp_shuffle_idx: shuffle_width, idx, |_lane, _last| { let _ = idx; true };
    warp_shuffle_xor: shuffle_xor_width, lane_mask, |_lane, last| lane_id() ^ lane_mask <= lane_id() | last;
}
