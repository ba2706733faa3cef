//! `atomic`.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use cuda_std::{
    atomic::{
        Atomic, AtomicF32, AtomicF64, AtomicInt, BlockAtomicF32, BlockAtomicF64, Scope,
        SystemAtomicF32, SystemAtomicF64, mid,
    },
    prelude::*,
};

/// Counts bytes: the additions to shared memory become the hardware's own increment.
#[kernel(launch_bounds(256))]
pub unsafe fn count_bytes(bytes: Global<u8>, counts: GlobalMut<u32>) {
    let bins = shared![u32; 256];
    let t = thread::thread_idx_x() as usize;
    bins.set(t, 0);
    thread::sync_threads();
    let mut i = thread::index_1d_wide();
    while i < bytes.len() {
        bins.atomic_add(bytes.get(i) as usize, 1);
        i += thread::grid_stride();
    }
    thread::sync_threads();
    counts.atomic_add(t, bins.get(t));
}

macro_rules! every_order_and_scope {
    ($view:ident, $i:ident, $value:ident $(, $integer:ident)?) => {
        for scope in [Scope::Block, Scope::Device, Scope::System] {
            for order in [Relaxed, Acquire, Release, AcqRel, SeqCst] {
                $view.atomic_add_with($i, $value, order, scope);
                $view.atomic_min_with($i, $value, order, scope);
                $view.atomic_max_with($i, $value, order, scope);
                $view.atomic_exchange_with($i, $value, order, scope);
                let _ = $view.atomic_compare_exchange_with($i, $value, $value, order, scope);
                $(
                    let _ = stringify!($integer);
                    $view.atomic_and_with($i, $value, order, scope);
                    $view.atomic_or_with($i, $value, order, scope);
                    $view.atomic_xor_with($i, $value, order, scope);
                )?
            }
            for order in [Relaxed, Acquire, SeqCst] {
                $view.atomic_load($i, order, scope);
            }
            for order in [Relaxed, Release, SeqCst] {
                $view.atomic_store($i, $value, order, scope);
            }
        }
    };
}

#[kernel(instances(u32, i32, u64, i64))]
pub unsafe fn integers<T: AtomicInt>(values: GlobalMut<T>) {
    let i = thread::index_1d_wide();
    let local = shared![T; 64];
    let value = values.get(i);
    local.set(i, value);
    every_order_and_scope!(values, i, value, integer);
    every_order_and_scope!(local, i, value, integer);
}

#[kernel(instances(f32, f64))]
pub unsafe fn floats<T: Atomic>(values: GlobalMut<T>) {
    let i = thread::index_1d_wide();
    let local = shared![T; 64];
    let value = values.get(i);
    local.set(i, value);
    every_order_and_scope!(values, i, value);
    every_order_and_scope!(local, i, value);
}

#[kernel(instances(u32, i32, u64, i64, f32, f64))]
pub unsafe fn defaults<T: Atomic>(values: GlobalMut<T>, results: GlobalMut<T>) {
    let i = thread::index_1d_wide();
    let local = shared![T; 64];
    let value = values.get(i);
    local.set(i, value);
    thread::sync_threads();
    results.set(i * 16, values.atomic_add(i, value));
    results.set(i * 16 + 1, values.atomic_min(i, value));
    results.set(i * 16 + 2, values.atomic_max(i, value));
    results.set(i * 16 + 3, values.atomic_exchange(i, value));
    results.set(
        i * 16 + 4,
        values
            .atomic_compare_exchange(i, value, value)
            .unwrap_or(value),
    );
    results.set(i * 16 + 5, local.atomic_add(i, value));
    results.set(i * 16 + 6, local.atomic_min(i, value));
    results.set(i * 16 + 7, local.atomic_max(i, value));
    results.set(i * 16 + 8, local.atomic_exchange(i, value));
    results.set(
        i * 16 + 9,
        local
            .atomic_compare_exchange(i, value, value)
            .unwrap_or(value),
    );
    results.set(i * 16 + 10, local.atomic_load(i, Relaxed, Scope::Block));
    local.atomic_store(i, value, Relaxed, Scope::Block);
}

#[kernel(instances(u32, i32, u64, i64))]
pub unsafe fn default_bits<T: AtomicInt>(values: GlobalMut<T>) {
    let i = thread::index_1d_wide();
    let local = shared![T; 64];
    let value = values.get(i);
    local.set(i, value);
    values.atomic_and(i, value);
    values.atomic_or(i, value);
    values.atomic_xor(
        i,
        local.atomic_and(i, local.atomic_or(i, local.atomic_xor(i, value))),
    );
}

macro_rules! typed {
    ($kernel:ident: $atomic:ident, $ty:ty $(, $unsafe:ident)?) => {
        #[kernel]
        #[allow(unused_unsafe)]
        pub unsafe fn $kernel(values: GlobalMut<$ty>) {
            // SAFETY: the element is a live float, and atomics have the float's layout.
            unsafe {
                let value = &*values.as_ptr().cast::<$atomic>();
                let mut sum = value.fetch_add(1.0, Relaxed);
                sum += value.fetch_sub(2.0, AcqRel);
                sum += value.fetch_and(3.0, Acquire);
                sum += value.fetch_or(4.0, Release);
                sum += value.fetch_xor(5.0, SeqCst);
                sum += value.load(Acquire);
                value.store(sum, Release);
            }
        }
    };
}
typed!(typed_f32: AtomicF32, f32);
typed!(typed_f64: AtomicF64, f64);
typed!(typed_block_f32: BlockAtomicF32, f32);
typed!(typed_block_f64: BlockAtomicF64, f64);
typed!(typed_system_f32: SystemAtomicF32, f32);
typed!(typed_system_f64: SystemAtomicF64, f64);

#[kernel]
pub unsafe fn fences(values: GlobalMut<u32>) {
    for order in [Relaxed, Acquire, Release, AcqRel, SeqCst] {
        values.set(0, 1);
        mid::block_thread_fence(order);
        values.set(0, 2);
        mid::device_thread_fence(order);
        values.set(0, 3);
        mid::system_thread_fence(order);
    }
}
