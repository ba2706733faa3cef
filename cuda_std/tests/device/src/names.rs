//! Rust-CUDA's atomic functions of pointers, and libdevice's names.

use core::sync::atomic::Ordering;

use cuda_std::{
    atomic::{intrinsics as raw, mid},
    externally_visible, intrinsics,
    prelude::*,
};

/// Results of the kernels of atomic functions, behind which stand what they gave back.
pub const RESULTS: usize = 32;

/// Calls each function on an element of its own, with `b`, and keeps what it gives back.
macro_rules! each {
    ($values:ident: $($call:expr),* $(,)?) => {
        let mut next = 0;
        $(
            // SAFETY: an element of the view, which nobody else touches.
            let old = unsafe { $call($values.as_ptr().add(next)) };
            $values.set(RESULTS + next, old);
            next += 1;
        )*
        let _ = next;
    };
}

/// One lane; every element is `a` at first.
#[kernel]
pub unsafe fn raw_atomics_u32(values: GlobalMut<u32>, a: u32, b: u32) {
    each! { values:
        |p| raw::atomic_fetch_and_relaxed_u32_device(p, b),
        |p| raw::atomic_fetch_or_acquire_u32_block(p, b),
        |p| raw::atomic_fetch_xor_release_u32_system(p, b),
        |p| raw::atomic_fetch_exch_acqrel_u32_device(p, b),
        |p| raw::atomic_fetch_add_volatile_u32_block(p, b),
        |p| raw::atomic_fetch_sub_relaxed_u32_system(p, b),
        |p| mid::atomic_fetch_and_u32_system(p, Ordering::SeqCst, b),
        |p| mid::atomic_fetch_or_u32_device(p, Ordering::AcqRel, b),
        |p| mid::atomic_fetch_xor_u32_block(p, Ordering::Acquire, b),
        |p| mid::atomic_fetch_exch_u32_system(p, Ordering::Release, b),
        |p| mid::atomic_fetch_add_u32_device(p, Ordering::Relaxed, b),
        |p| mid::atomic_fetch_sub_u32_block(p, Ordering::SeqCst, b),
        |p| raw::atomic_fetch_min_acqrel_u32_system(p, b),
        |p| raw::atomic_fetch_max_relaxed_u32_block(p, b),
        |p| mid::atomic_fetch_min_u32_device(p, Ordering::SeqCst, b),
        |p| mid::atomic_fetch_max_u32_block(p, Ordering::Release, b),
        |p| raw::atomic_fetch_cas_acquire_u32_device(p, a, b),
        |p| raw::atomic_fetch_cas_volatile_u32_block(p, b, a),
        |p| mid::atomic_compare_and_swap_u32_system(p, a, b, Ordering::AcqRel),
        |p| raw::atomic_fetch_inc_volatile_u32_device(p),
        |p| raw::atomic_fetch_dec_acquire_u32_system(p),
    }
}

/// One lane; every element is `a` at first.
#[kernel]
pub unsafe fn raw_atomics_i64(values: GlobalMut<i64>, a: i64, b: i64) {
    each! { values:
        |p| raw::atomic_fetch_and_relaxed_i64_device(p, b),
        |p| raw::atomic_fetch_or_acquire_i64_block(p, b),
        |p| raw::atomic_fetch_xor_release_i64_system(p, b),
        |p| raw::atomic_fetch_exch_acqrel_i64_device(p, b),
        |p| raw::atomic_fetch_add_volatile_i64_block(p, b),
        |p| raw::atomic_fetch_sub_relaxed_i64_system(p, b),
        |p| mid::atomic_fetch_and_i64_system(p, Ordering::SeqCst, b),
        |p| mid::atomic_fetch_or_i64_device(p, Ordering::AcqRel, b),
        |p| mid::atomic_fetch_xor_i64_block(p, Ordering::Acquire, b),
        |p| mid::atomic_fetch_exch_i64_system(p, Ordering::Release, b),
        |p| mid::atomic_fetch_add_i64_device(p, Ordering::Relaxed, b),
        |p| mid::atomic_fetch_sub_i64_block(p, Ordering::SeqCst, b),
        |p| raw::atomic_fetch_min_acqrel_i64_system(p, b),
        |p| raw::atomic_fetch_max_relaxed_i64_block(p, b),
        |p| mid::atomic_fetch_min_i64_device(p, Ordering::SeqCst, b),
        |p| mid::atomic_fetch_max_i64_block(p, Ordering::Release, b),
        |p| raw::atomic_fetch_cas_acquire_i64_device(p, a, b),
        |p| raw::atomic_fetch_cas_volatile_i64_block(p, b, a),
        |p| mid::atomic_compare_and_swap_i64_system(p, a, b, Ordering::AcqRel),
        |p| raw::atomic_fetch_inc_volatile_i64_device(p),
        |p| raw::atomic_fetch_dec_acquire_i64_system(p),
    }
}

/// One lane; every element is `a` at first.
#[kernel]
pub unsafe fn raw_atomics_f64(values: GlobalMut<f64>, a: f64, b: f64) {
    each! { values:
        |p| raw::atomic_fetch_and_relaxed_f64_device(p, b),
        |p| raw::atomic_fetch_or_acquire_f64_block(p, b),
        |p| raw::atomic_fetch_xor_release_f64_system(p, b),
        |p| raw::atomic_fetch_exch_acqrel_f64_device(p, b),
        |p| raw::atomic_fetch_add_volatile_f64_block(p, b),
        |p| raw::atomic_fetch_sub_relaxed_f64_system(p, b),
        |p| mid::atomic_fetch_and_f64_system(p, Ordering::SeqCst, b),
        |p| mid::atomic_fetch_or_f64_device(p, Ordering::AcqRel, b),
        |p| mid::atomic_fetch_xor_f64_block(p, Ordering::Acquire, b),
        |p| mid::atomic_fetch_exch_f64_system(p, Ordering::Release, b),
        |p| mid::atomic_fetch_add_f64_device(p, Ordering::Relaxed, b),
        |p| mid::atomic_fetch_sub_f64_block(p, Ordering::SeqCst, b),
        |p| raw::atomic_fetch_cas_acquire_f64_device(p, a, b),
        |p| raw::atomic_fetch_cas_volatile_f64_block(p, b, a),
        |p| mid::atomic_compare_and_swap_f64_system(p, a, b, Ordering::AcqRel),
    }
}

/// One lane writes and reads, with fences between: a value of its own for each form of a store and a load.
#[kernel]
pub unsafe fn raw_loads_and_stores(narrow: GlobalMut<u32>, wide: GlobalMut<u64>) {
    let (n, w) = (narrow.as_ptr(), wide.as_ptr());
    // SAFETY: six elements of each, which nobody else touches.
    unsafe {
        raw::atomic_store_relaxed_32_block(n, 1);
        raw::atomic_store_release_32_device(n.add(1), 2);
        raw::atomic_store_volatile_32_system(n.add(2), 3);
        mid::atomic_store_32_device(n.add(3), Ordering::SeqCst, 4);
        raw::membar_block();
        raw::fence_sc_device();
        raw::fence_acqrel_system();
        raw::atomic_store_relaxed_64_system(w, raw::atomic_load_relaxed_32_block(n).into());
        raw::atomic_store_release_64_block(
            w.add(1),
            raw::atomic_load_acquire_32_system(n.add(1)).into(),
        );
        raw::atomic_store_volatile_64_device(
            w.add(2),
            raw::atomic_load_volatile_32_device(n.add(2)).into(),
        );
        mid::atomic_store_64_block(
            w.add(3),
            Ordering::Release,
            mid::atomic_load_32_block(n.add(3), Ordering::Acquire).into(),
        );
        let sum = raw::atomic_load_relaxed_64_device(w)
            + raw::atomic_load_acquire_64_system(w.add(1))
            + raw::atomic_load_volatile_64_block(w.add(2))
            + mid::atomic_load_64_system(w.add(3), Ordering::SeqCst);
        wide.set(4, sum);
    }
}

/// All lanes count in one element, and add up their numbers in another.
#[kernel]
pub unsafe fn raw_counts(counts: GlobalMut<u32>) {
    let p = counts.as_ptr();
    // SAFETY: two elements, which all lanes reach by these alone.
    unsafe {
        raw::atomic_fetch_inc_relaxed_u32_device(p);
        mid::atomic_fetch_add_u32_device(p.add(1), Ordering::Relaxed, thread::index_1d());
    }
}

/// Results of [`libdevice_names`] for a lane.
pub const NAMES: usize = 8;

/// Some of libdevice's names of each kind.
#[kernel]
pub unsafe fn libdevice_names(values: Global<f32>, results: GlobalMut<u32>) {
    let i = thread::index_1d_wide();
    let x = values.get(i);
    let bits = x.to_bits() as i32;
    let (mut sine, mut cosine) = (0.0, 0.0);
    // SAFETY: the pointers are to variables.
    let found = unsafe {
        intrinsics::sincosf(x, &raw mut sine, &raw mut cosine);
        [
            sine.to_bits() as i32,
            cosine.to_bits() as i32,
            intrinsics::float2int_rd(x),
            intrinsics::float2uint_rn(x),
            intrinsics::umulhi(bits, 0x9e37_79b9_u32 as i32),
            intrinsics::byte_perm(bits, !bits, 0x3175),
            intrinsics::float_as_int(intrinsics::fmodf(x, 3.0)),
            intrinsics::hadd(bits, i32::MAX),
        ]
    };
    for (k, value) in found.into_iter().enumerate() {
        results.set(NAMES * i + k, value as u32);
    }
}

/// A function that no kernel calls, for what is linked to the module.
#[externally_visible]
#[unsafe(no_mangle)]
pub extern "C" fn externally_visible_twice(x: u32) -> u32 {
    x.wrapping_mul(2)
}
