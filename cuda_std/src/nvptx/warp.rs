//! Warp operations as instructions.

use super::Place;
use crate::warp::{MatchBits, Mode, ReduxOp};

unsafe extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    fn sreg_laneid() -> i32;
    #[link_name = "llvm.nvvm.activemask"]
    fn activemask() -> u32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(mask: u32);

    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    fn shfl_up(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn shfl_down(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl_bfly(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;

    #[link_name = "llvm.nvvm.vote.all.sync"]
    fn vote_all(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    fn vote_any(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.uni.sync"]
    fn vote_uni(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot(mask: u32, predicate: bool) -> u32;

    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    fn match_any_32(mask: u32, value: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i64"]
    fn match_any_64(mask: u32, value: u64) -> u32;
}

// The result is a pair, which only this ABI returns as LLVM does.
#[allow(improper_ctypes)]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.match.all.sync.i32p"]
    fn match_all_32(mask: u32, value: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.match.all.sync.i64p"]
    fn match_all_64(mask: u32, value: u64) -> (u32, bool);
    #[cfg(target_feature = "sm_90")]
    #[link_name = "llvm.nvvm.elect.sync"]
    fn elect_sync(mask: u32) -> (u32, bool);
}

#[inline(always)]
pub fn lane_id() -> u32 {
    // SAFETY: the intrinsic reads a special register.
    unsafe { sreg_laneid() as u32 }
}

#[inline(always)]
pub fn active_mask() -> u32 {
    // SAFETY: the intrinsic reads the mask of active lanes.
    unsafe { activemask() }
}

#[inline(always)]
pub fn sync(mask: u32, _: Place) {
    // SAFETY: the kernel promises that all lanes of the mask execute this.
    unsafe { bar_warp_sync(mask) }
}

#[cfg(target_feature = "sm_90")]
#[inline(always)]
pub fn elect(mask: u32, _: Place) -> bool {
    // SAFETY: as above.
    unsafe { elect_sync(mask) }.1
}

/// Does nothing: on the GPU the kernel guarantees the width.
#[inline(always)]
pub fn check_width(_width: u32, _: Place) {}

#[inline(always)]
pub fn shuffle(mode: Mode, mask: u32, word: u32, lane: u32, width: u32, _: Place) -> u32 {
    // Bits 8 to 12 select the bits of a lane's index that name its segment. Bits 0 to 4 are the last lane that may be read,
    // as an index in the segment (for `up` the first).
    let segments = (32u32.wrapping_sub(width)) << 8;
    // SAFETY: the kernel promises that all lanes of the mask execute this.
    unsafe {
        match mode {
            Mode::Index => shfl_idx(mask, word, lane, segments | 0x1f),
            Mode::Up => shfl_up(mask, word, lane, segments),
            Mode::Down => shfl_down(mask, word, lane, segments | 0x1f),
            Mode::Xor => shfl_bfly(mask, word, lane, segments | 0x1f),
        }
    }
}

#[inline(always)]
pub fn all(mask: u32, predicate: bool, _: Place) -> bool {
    // SAFETY: the kernel promises that all lanes of the mask execute this.
    unsafe { vote_all(mask, predicate) }
}

#[inline(always)]
pub fn any(mask: u32, predicate: bool, _: Place) -> bool {
    // SAFETY: as for `all`.
    unsafe { vote_any(mask, predicate) }
}

#[inline(always)]
pub fn uniform(mask: u32, predicate: bool, _: Place) -> bool {
    // SAFETY: as for `all`.
    unsafe { vote_uni(mask, predicate) }
}

#[inline(always)]
pub fn ballot(mask: u32, predicate: bool, _: Place) -> u32 {
    // SAFETY: as for `all`.
    unsafe { vote_ballot(mask, predicate) }
}

#[inline(always)]
pub fn match_any(mask: u32, bits: MatchBits, _: Place) -> u32 {
    // SAFETY: as for `all`.
    unsafe {
        match bits {
            MatchBits::Word(value) => match_any_32(mask, value),
            MatchBits::Long(value) => match_any_64(mask, value),
        }
    }
}

#[inline(always)]
pub fn match_all(mask: u32, bits: MatchBits, _: Place) -> (u32, bool) {
    // SAFETY: as for `all`.
    unsafe {
        match bits {
            MatchBits::Word(value) => match_all_32(mask, value),
            MatchBits::Long(value) => match_all_64(mask, value),
        }
    }
}

#[cfg(target_feature = "sm_80")]
#[inline(always)]
pub fn redux(op: ReduxOp, mask: u32, word: u32, _: Place) -> u32 {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.redux.sync.add"]
        fn add(word: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.umin"]
        fn umin(word: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.umax"]
        fn umax(word: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.min"]
        fn min(word: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.max"]
        fn max(word: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.and"]
        fn and(word: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.or"]
        fn or(word: u32, mask: u32) -> u32;
        #[link_name = "llvm.nvvm.redux.sync.xor"]
        fn xor(word: u32, mask: u32) -> u32;
    }
    // SAFETY: the kernel promises that all lanes of the mask execute this.
    unsafe {
        match op {
            ReduxOp::Add => add(word, mask),
            ReduxOp::MinUnsigned => umin(word, mask),
            ReduxOp::MaxUnsigned => umax(word, mask),
            ReduxOp::MinSigned => min(word, mask),
            ReduxOp::MaxSigned => max(word, mask),
            ReduxOp::And => and(word, mask),
            ReduxOp::Or => or(word, mask),
            ReduxOp::Xor => xor(word, mask),
        }
    }
}

#[cfg(not(target_feature = "sm_80"))]
#[inline(always)]
pub fn redux(op: ReduxOp, mask: u32, word: u32, place: Place) -> u32 {
    if mask == crate::warp::FULL_MASK {
        let mut result = word;
        for distance in [16, 8, 4, 2, 1] {
            result = op.apply(
                result,
                shuffle(Mode::Xor, mask, result, distance, 32, place),
            );
        }
        return result;
    }
    let mut rest = mask;
    let mut result = shuffle(Mode::Index, mask, word, rest.trailing_zeros(), 32, place);
    rest &= rest - 1;
    while rest != 0 {
        let other = shuffle(Mode::Index, mask, word, rest.trailing_zeros(), 32, place);
        result = op.apply(result, other);
        rest &= rest - 1;
    }
    result
}
