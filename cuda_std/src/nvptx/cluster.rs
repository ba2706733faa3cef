//! Clusters as instructions.

use core::arch::asm;

use super::Place;

/// Nothing: the GPU does not check.
pub type Peer = ();

#[inline(always)]
pub fn rank() -> u32 {
    let rank;
    // SAFETY: the instruction reads a special register.
    unsafe {
        asm!("mov.u32 {}, %cluster_ctarank;", out(reg32) rank, options(pure, nomem, nostack, preserves_flags));
    }
    rank
}

#[inline(always)]
pub fn size() -> u32 {
    let size;
    // SAFETY: the instruction reads a special register.
    unsafe {
        asm!("mov.u32 {}, %cluster_nctarank;", out(reg32) size, options(pure, nomem, nostack, preserves_flags));
    }
    size
}

/// Arrives, and releases: `barrier.cluster.arrive` without `.relaxed` does.
#[inline(always)]
pub fn arrive(_: Place) {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.barrier.cluster.arrive"]
        fn arrive();
    }
    // SAFETY: each lane executes it for itself.
    unsafe { arrive() }
}

#[inline(always)]
pub fn wait(_: Place) {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.barrier.cluster.wait"]
        fn wait();
    }
    // SAFETY: each lane executes it for itself.
    unsafe { wait() }
}

#[inline(always)]
pub fn sync(at: Place) {
    arrive(at);
    wait(at);
}

/// Returns the address of the same memory in another block.
#[inline(always)]
pub fn map<T>(ptr: *mut T, rank: u32, _: Place) -> (*mut T, Peer) {
    let mapped;
    // SAFETY: the instruction computes an address.
    unsafe {
        asm!(
            "mapa.u64 {0}, {1}, {2};",
            out(reg64) mapped,
            in(reg64) ptr,
            in(reg32) rank,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    (mapped, ())
}

/// Does nothing: the GPU does not check.
#[inline(always)]
pub fn check_peer(_: Peer) {}
