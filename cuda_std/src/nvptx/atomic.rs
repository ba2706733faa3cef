//! Atomic operations as instructions.
//!
//! For a relaxed read-modify-write LLVM emits `atom` or `red` of the inferred state space, relaxed and of device scope. But
//! it emits the same for every other ordering, and loads, stores and compare-and-exchange of system scope. Orderings are
//! therefore fences here, and the other operations are `asm!`.

use core::{
    arch::asm,
    sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering},
};

use crate::atomic::{Backoff, How, Rmw, Scope, Space};

unsafe extern "C" {
    // LLVM treats these two as `atomicrmw fadd`, which Rust cannot express.
    #[link_name = "llvm.nvvm.atomic.load.add.f32.p0"]
    fn fadd_f32(ptr: *mut f32, value: f32) -> f32;
    #[link_name = "llvm.nvvm.atomic.load.add.f64.p0"]
    fn fadd_f64(ptr: *mut f64, value: f64) -> f64;
}

macro_rules! fence_asm {
    ($instruction:literal) => {
        // SAFETY: a fence has no conditions.
        unsafe { asm!($instruction, options(nostack, preserves_flags)) }
    };
}

#[inline(always)]
pub fn fence(order: Ordering, scope: Scope) {
    match (order, scope) {
        (Ordering::Relaxed, _) => {}
        (Ordering::SeqCst, Scope::Block) => fence_asm!("fence.sc.cta;"),
        (Ordering::SeqCst, Scope::Device) => fence_asm!("fence.sc.gpu;"),
        (Ordering::SeqCst, Scope::System) => fence_asm!("fence.sc.sys;"),
        (_, Scope::Block) => fence_asm!("fence.acq_rel.cta;"),
        (_, Scope::Device) => fence_asm!("fence.acq_rel.gpu;"),
        (_, Scope::System) => fence_asm!("fence.acq_rel.sys;"),
    }
}

/// Emits the fence that an ordering requires before a read-modify-write.
#[inline(always)]
fn fence_before(how: How) {
    match how.order {
        Ordering::Release | Ordering::AcqRel => fence(Ordering::Release, how.scope),
        Ordering::SeqCst => fence(Ordering::SeqCst, how.scope),
        _ => {}
    }
}

/// Emits the fence that an ordering requires after a read-modify-write.
#[inline(always)]
fn fence_after(how: How) {
    match how.order {
        Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst => {
            fence(Ordering::Acquire, how.scope);
        }
        _ => {}
    }
}

/// Selects one instruction with the scope, and with the state space if it is known. The address is a generic one, which for
/// global memory is the same number.
macro_rules! in_space_and_scope {
    ($how:expr, $mac:ident, $($args:tt)*) => {
        match ($how.space, $how.scope) {
            (Space::Global, Scope::Block) => $mac!(".cta" ".global" $($args)*),
            (Space::Global, Scope::Device) => $mac!(".gpu" ".global" $($args)*),
            (Space::Global, Scope::System) => $mac!(".sys" ".global" $($args)*),
            (_, Scope::Block) => $mac!(".cta" "" $($args)*),
            (_, Scope::Device) => $mac!(".gpu" "" $($args)*),
            (_, Scope::System) => $mac!(".sys" "" $($args)*),
        }
    };
}

macro_rules! system_rmw {
    ($op:expr, $reg:ident, $ptr:ident, $value:ident) => {{
        let old;
        asm!(
            concat!("atom.relaxed.sys", $op, " {0}, [{1}], {2};"),
            out($reg) old,
            in(reg64) $ptr,
            in($reg) $value,
            options(nostack, preserves_flags),
        );
        old
    }};
}

macro_rules! cas {
    ($scope:literal $space:literal $ty:literal $reg:ident $ptr:ident $current:ident $new:ident) => {{
        let old;
        asm!(
            concat!("atom.relaxed", $scope, $space, ".cas", $ty, " {0}, [{1}], {2}, {3};"),
            out($reg) old,
            in(reg64) $ptr,
            in($reg) $current,
            in($reg) $new,
            options(nostack, preserves_flags),
        );
        old
    }};
}

macro_rules! load {
    ($scope:literal $space:literal $order:literal $ty:literal $reg:ident $ptr:ident) => {{
        let value;
        asm!(
            concat!("ld", $order, $scope, $space, $ty, " {0}, [{1}];"),
            out($reg) value,
            in(reg64) $ptr,
            options(nostack, preserves_flags),
        );
        value
    }};
}

macro_rules! store {
    ($scope:literal $space:literal $order:literal $ty:literal $reg:ident $ptr:ident $value:ident) => {
        asm!(
            concat!("st", $order, $scope, $space, $ty, " [{0}], {1};"),
            in(reg64) $ptr,
            in($reg) $value,
            options(nostack, preserves_flags),
        )
    };
}

/// The operations of one integer type.
macro_rules! integer {
    ($ty:ident, $atomic:ident, $reg:ident, $bits:literal, $add:literal, $min:literal, $max:literal) => {
        /// The operations of the type. The conditions of `Atomic::rmw` must hold for every function.
        pub mod $ty {
            use super::*;

            #[inline(always)]
            pub unsafe fn rmw(op: Rmw, ptr: *mut $ty, value: $ty, how: How) -> $ty {
                fence_before(how);
                // SAFETY: the caller upholds the contract.
                let old = unsafe {
                    if how.space != Space::Shared && how.scope == Scope::System {
                        match op {
                            Rmw::Add => system_rmw!($add, $reg, ptr, value),
                            Rmw::Min => system_rmw!($min, $reg, ptr, value),
                            Rmw::Max => system_rmw!($max, $reg, ptr, value),
                            Rmw::And => system_rmw!(concat!(".and", $bits), $reg, ptr, value),
                            Rmw::Or => system_rmw!(concat!(".or", $bits), $reg, ptr, value),
                            Rmw::Xor => system_rmw!(concat!(".xor", $bits), $reg, ptr, value),
                            Rmw::Exchange => system_rmw!(concat!(".exch", $bits), $reg, ptr, value),
                        }
                    } else {
                        let element = $atomic::from_ptr(ptr);
                        match op {
                            Rmw::Add => element.fetch_add(value, Ordering::Relaxed),
                            Rmw::Min => element.fetch_min(value, Ordering::Relaxed),
                            Rmw::Max => element.fetch_max(value, Ordering::Relaxed),
                            Rmw::And => element.fetch_and(value, Ordering::Relaxed),
                            Rmw::Or => element.fetch_or(value, Ordering::Relaxed),
                            Rmw::Xor => element.fetch_xor(value, Ordering::Relaxed),
                            Rmw::Exchange => element.swap(value, Ordering::Relaxed),
                        }
                    }
                };
                fence_after(how);
                old
            }

            #[inline(always)]
            pub unsafe fn cas(ptr: *mut $ty, current: $ty, new: $ty, how: How) -> $ty {
                fence_before(how);
                // SAFETY: the caller upholds the contract.
                let old = unsafe {
                    if how.space == Space::Shared {
                        let relaxed = Ordering::Relaxed;
                        match $atomic::from_ptr(ptr).compare_exchange(current, new, relaxed, relaxed) {
                            Ok(old) | Err(old) => old,
                        }
                    } else {
                        in_space_and_scope!(how, cas, $bits $reg ptr current new)
                    }
                };
                fence_after(how);
                old
            }

            #[inline(always)]
            pub unsafe fn load(ptr: *mut $ty, how: How) -> $ty {
                if how.order == Ordering::SeqCst {
                    fence(Ordering::SeqCst, how.scope);
                }
                // SAFETY: the caller upholds the contract.
                unsafe {
                    match (how.space, how.order) {
                        (_, Ordering::Release | Ordering::AcqRel) => {
                            panic!("an atomic load cannot have this ordering")
                        }
                        (Space::Shared, order) => {
                            let value = $atomic::from_ptr(ptr).load(Ordering::Relaxed);
                            if order != Ordering::Relaxed {
                                fence(Ordering::Acquire, how.scope);
                            }
                            value
                        }
                        (_, Ordering::Relaxed) => {
                            in_space_and_scope!(how, load, ".relaxed" $bits $reg ptr)
                        }
                        _ => in_space_and_scope!(how, load, ".acquire" $bits $reg ptr),
                    }
                }
            }

            #[inline(always)]
            pub unsafe fn wait(
                ptr: *mut $ty,
                how: How,
                backoff: Backoff,
                ready: impl Fn($ty) -> bool,
            ) -> $ty {
                let order = match how.order {
                    Ordering::Release | Ordering::AcqRel => {
                        panic!("an atomic load cannot have this ordering")
                    }
                    order => order,
                };
                if order == Ordering::SeqCst {
                    fence(Ordering::SeqCst, how.scope);
                }
                // The loads that find nothing order nothing: one fence behind the last is enough.
                let look = How { order: Ordering::Relaxed, ..how };
                let mut nanos = backoff.first;
                loop {
                    // SAFETY: by the contract.
                    let value = unsafe { load(ptr, look) };
                    if ready(value) {
                        if order != Ordering::Relaxed {
                            fence(Ordering::Acquire, how.scope);
                        }
                        return value;
                    }
                    if backoff.first > 0 {
                        super::super::nanosleep(nanos);
                        nanos = nanos.saturating_mul(2).min(backoff.most);
                    }
                }
            }

            #[inline(always)]
            pub unsafe fn store(ptr: *mut $ty, value: $ty, how: How) {
                // SAFETY: the caller upholds the contract.
                unsafe {
                    match (how.space, how.order) {
                        (_, Ordering::Acquire | Ordering::AcqRel) => {
                            panic!("an atomic store cannot have this ordering")
                        }
                        (Space::Shared, order) => {
                            fence(order, how.scope);
                            $atomic::from_ptr(ptr).store(value, Ordering::Relaxed);
                        }
                        (_, Ordering::Release) => {
                            in_space_and_scope!(how, store, ".release" $bits $reg ptr value)
                        }
                        (_, order) => {
                            fence(order, how.scope);
                            in_space_and_scope!(how, store, ".relaxed" $bits $reg ptr value)
                        }
                    }
                }
            }
        }
    };
}

integer!(
    u32, AtomicU32, reg32, ".b32", ".add.u32", ".min.u32", ".max.u32"
);
integer!(
    i32, AtomicI32, reg32, ".b32", ".add.s32", ".min.s32", ".max.s32"
);
integer!(
    u64, AtomicU64, reg64, ".b64", ".add.u64", ".min.u64", ".max.u64"
);
integer!(
    i64, AtomicI64, reg64, ".b64", ".add.u64", ".min.s64", ".max.s64"
);

macro_rules! float_add {
    ($name:ident, $ty:ident, $intrinsic:ident, $reg:ident, $instruction:literal) => {
        /// # Safety
        /// The conditions of `Atomic::rmw` must hold.
        #[inline(always)]
        pub unsafe fn $name(ptr: *mut $ty, value: $ty, how: How) -> $ty {
            fence_before(how);
            // SAFETY: the caller upholds the contract.
            let old = unsafe {
                if how.space != Space::Shared && how.scope == Scope::System {
                    let bits = value.to_bits();
                    $ty::from_bits(system_rmw!($instruction, $reg, ptr, bits))
                } else {
                    $intrinsic(ptr, value)
                }
            };
            fence_after(how);
            old
        }
    };
}

float_add!(add_f32, f32, fadd_f32, reg32, ".add.f32");
float_add!(add_f64, f64, fadd_f64, reg64, ".add.f64");

macro_rules! load_words {
    ($scope:literal $space:literal $ty:literal $reg:ident $ptr:ident $words:ident) => {{
        let (a, b);
        asm!(
            concat!("ld.relaxed", $scope, $space, ".v2", $ty, " {{{0}, {1}}}, [{2}];"),
            out($reg) a,
            out($reg) b,
            in(reg64) $ptr,
            options(nostack, preserves_flags),
        );
        $words = [a, b];
    }};
}

macro_rules! load_four_words {
    ($scope:literal $space:literal $ptr:ident $words:ident) => {{
        let (a, b, c, d);
        asm!(
            concat!("ld.relaxed", $scope, $space, ".v4.b32 {{{0}, {1}, {2}, {3}}}, [{4}];"),
            out(reg32) a,
            out(reg32) b,
            out(reg32) c,
            out(reg32) d,
            in(reg64) $ptr,
            options(nostack, preserves_flags),
        );
        $words = [a, b, c, d];
    }};
}

macro_rules! store_words {
    ($scope:literal $space:literal $ty:literal $reg:ident $ptr:ident $words:ident) => {{
        let [a, b] = $words;
        asm!(
            concat!("st.relaxed", $scope, $space, ".v2", $ty, " [{2}], {{{0}, {1}}};"),
            in($reg) a,
            in($reg) b,
            in(reg64) $ptr,
            options(nostack, preserves_flags),
        );
    }};
}

macro_rules! store_four_words {
    ($scope:literal $space:literal $ptr:ident $words:ident) => {{
        let [a, b, c, d] = $words;
        asm!(
            concat!("st.relaxed", $scope, $space, ".v4.b32 [{4}], {{{0}, {1}, {2}, {3}}};"),
            in(reg32) a,
            in(reg32) b,
            in(reg32) c,
            in(reg32) d,
            in(reg64) $ptr,
            options(nostack, preserves_flags),
        );
    }};
}

/// # Safety
/// The conditions of `Atomic::rmw` must hold for `N` elements, which take 8 or 16 bytes and are aligned to that.
#[inline(always)]
pub unsafe fn load_chunk<T: Copy, const N: usize>(ptr: *mut T, how: How) -> [T; N] {
    // SAFETY: the caller upholds the contract; the words have the chunk's size.
    unsafe {
        match (size_of::<T>(), N) {
            (8, _) => {
                let words: [u64; 2];
                in_space_and_scope!(how, load_words, ".b64" reg64 ptr words);
                core::mem::transmute_copy(&words)
            }
            (_, 2) => {
                let words: [u32; 2];
                in_space_and_scope!(how, load_words, ".b32" reg32 ptr words);
                core::mem::transmute_copy(&words)
            }
            _ => {
                let words: [u32; 4];
                in_space_and_scope!(how, load_four_words, ptr words);
                core::mem::transmute_copy(&words)
            }
        }
    }
}

/// # Safety
/// The conditions of [`load_chunk`] must hold.
#[inline(always)]
pub unsafe fn store_chunk<T: Copy, const N: usize>(ptr: *mut T, values: [T; N], how: How) {
    // SAFETY: the caller upholds the contract; the words have the chunk's size.
    unsafe {
        match (size_of::<T>(), N) {
            (8, _) => {
                let words: [u64; 2] = core::mem::transmute_copy(&values);
                in_space_and_scope!(how, store_words, ".b64" reg64 ptr words);
            }
            (_, 2) => {
                let words: [u32; 2] = core::mem::transmute_copy(&values);
                in_space_and_scope!(how, store_words, ".b32" reg32 ptr words);
            }
            _ => {
                let words: [u32; 4] = core::mem::transmute_copy(&values);
                in_space_and_scope!(how, store_four_words, ptr words);
            }
        }
    }
}
