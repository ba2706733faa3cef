//! Mbarriers as instructions. Each lane executes them for itself.

use core::arch::asm;

use super::{Place, ptr};
use crate::ptr::AddressSpace;

/// Returns an object's address in the shared state space.
#[inline(always)]
pub(super) fn address(word: *mut u64) -> u32 {
    ptr::to_specific(word.cast(), AddressSpace::Shared).addr() as u32
}

/// # Safety
/// `word` must be to 8 bytes of shared memory that nothing else uses.
#[inline(always)]
pub unsafe fn init(word: *mut u64, count: u32, _: Place) {
    // SAFETY: the caller upholds the contract.
    unsafe {
        asm!(
            "mbarrier.init.shared::cta.b64 [{0}], {1};",
            in(reg32) address(word),
            in(reg32) count,
            options(nostack, preserves_flags),
        );
    }
}

/// # Safety
/// `word` must be to an mbarrier.
#[inline(always)]
pub unsafe fn invalidate(word: *mut u64, _: Place) {
    // SAFETY: the caller upholds the contract.
    unsafe {
        asm!(
            "mbarrier.inval.shared::cta.b64 [{0}];",
            in(reg32) address(word),
            options(nostack, preserves_flags),
        );
    }
}

#[inline(always)]
pub fn arrive(word: *mut u64, _: Place) {
    // SAFETY: the kernel promises that this is an mbarrier. The instruction is not `nomem`: it releases.
    unsafe {
        asm!(
            "{{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [{0}]; }}",
            in(reg32) address(word),
            options(nostack, preserves_flags),
        );
    }
}

#[inline(always)]
pub fn arrive_expect_tx(word: *mut u64, bytes: u32, _: Place) {
    // SAFETY: as for `arrive`.
    unsafe {
        asm!(
            "{{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [{0}], {1}; }}",
            in(reg32) address(word),
            in(reg32) bytes,
            options(nostack, preserves_flags),
        );
    }
}

/// Arrives at the mbarrier in the same place of another block of the cluster.
#[inline(always)]
pub fn arrive_at(word: *mut u64, rank: u32, _: Place) {
    // SAFETY: as for `arrive`.
    unsafe {
        asm!(
            "{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {0}, {1}; \
             mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote]; }}",
            in(reg32) address(word),
            in(reg32) rank,
            options(nostack, preserves_flags),
        );
    }
}

/// The same without a fence of the cluster, which waits for all of the lane's writes: what was read needs none.
#[inline(always)]
pub fn arrive_at_after_reads(word: *mut u64, rank: u32, _: Place) {
    // SAFETY: as for `arrive`.
    unsafe {
        asm!(
            "{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {0}, {1}; \
             mbarrier.arrive.shared::cluster.b64 _, [remote]; }}",
            in(reg32) address(word),
            in(reg32) rank,
            options(nostack, preserves_flags),
        );
    }
}

/// The loop is within the instruction text, so that the optimizer sees one step. `try_wait` itself suspends the lane for a time
/// that the hardware chooses.
#[allow(
    named_asm_labels,
    reason = "the label is local to the braces around it, and PTX has no numbers as labels"
)]
#[inline(always)]
pub fn wait(word: *mut u64, parity: u32, _: Place) {
    // SAFETY: as for `arrive`; the instruction acquires.
    unsafe {
        asm!(
            "{{ .reg .pred done; \
             again: mbarrier.try_wait.parity.shared::cta.b64 done, [{0}], {1}; \
             @!done bra again; }}",
            in(reg32) address(word),
            in(reg32) parity,
            options(nostack, preserves_flags),
        );
    }
}

/// Like [`wait`], for what was released in other blocks too.
#[allow(named_asm_labels, reason = "as for `wait`")]
#[inline(always)]
pub fn wait_cluster(word: *mut u64, parity: u32, _: Place) {
    // SAFETY: as for `wait`.
    unsafe {
        asm!(
            "{{ .reg .pred done; \
             again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [{0}], {1}; \
             @!done bra again; }}",
            in(reg32) address(word),
            in(reg32) parity,
            options(nostack, preserves_flags),
        );
    }
}

#[inline(always)]
pub fn is_complete(word: *mut u64, parity: u32, _: Place) -> bool {
    let done: u32;
    // SAFETY: as for `wait`.
    unsafe {
        asm!(
            "{{ .reg .pred done; mbarrier.test_wait.parity.shared::cta.b64 done, [{1}], {2}; \
             selp.u32 {0}, 1, 0, done; }}",
            out(reg32) done,
            in(reg32) address(word),
            in(reg32) parity,
            options(nostack, preserves_flags),
        );
    }
    done != 0
}

#[inline(always)]
pub fn fence_init() {
    // SAFETY: a fence has no conditions.
    unsafe {
        asm!(
            "fence.mbarrier_init.release.cluster;",
            options(nostack, preserves_flags)
        )
    }
}
