//! Atomic operations on the CPU executor: many blocks on many threads, and the values of each operation.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use core::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use common::{Args, ORDERS, block, fault};
use cuda_std::{
    atomic::{
        Atomic, AtomicF32, AtomicF64, AtomicInt, BlockAtomicF32, BlockAtomicF64, Scope,
        SystemAtomicF32, SystemAtomicF64, mid,
    },
    cpu::FaultKind,
    kernel::LaunchConfig,
    prelude::*,
};
use proptest::prelude::*;

const BLOCKS: u32 = 24;
const THREADS: u32 = 64;
const LANES: u64 = BLOCKS as u64 * THREADS as u64;

/// A type whose sums of small numbers are exact.
pub trait Number: Atomic + PartialEq + core::fmt::Debug {
    fn of(n: u64) -> Self;
}

macro_rules! numbers {
    ($($ty:ty),*) => { $(
        impl Number for $ty {
            fn of(n: u64) -> Self {
                n as $ty
            }
        }
    )* };
}
numbers!(u32, i32, u64, i64, f32, f64);

#[kernel(instances(u32, i32, u64, i64, f32, f64))]
pub unsafe fn contend<T: Number>(results: GlobalMut<T>, tickets: GlobalMut<u32>) {
    let i = thread::index_1d();
    let local = shared![T; 3];
    let t = thread::thread_idx_x() as usize;
    if t < 3 {
        local.set(t, T::of(if t == 1 { 1_000_000 } else { 0 }));
    }
    thread::sync_threads();
    let value = T::of(u64::from(i) + 1);
    results.atomic_add(0, T::of(1));
    results.atomic_min(1, value);
    results.atomic_max(2, value);
    // What add gives back are tickets: each once.
    let ticket = tickets.atomic_add(u32::from(i == u32::MAX) as usize, 1);
    tickets.atomic_add(1 + ticket as usize, 1);
    // The same sum once more by compare-and-exchange, whose failures must not be lost.
    let mut old = results.atomic_load(3, Relaxed, Scope::Device);
    loop {
        let new = T::of(u64::from(ticket) % 2);
        match results.atomic_compare_exchange(3, old, new) {
            Ok(_) => break,
            Err(now) => old = now,
        }
    }
    local.atomic_add(0, T::of(1));
    local.atomic_min(1, value);
    local.atomic_max(2, value);
    thread::sync_threads();
    if t == 0 {
        results.atomic_add_with(4, local.get(0), AcqRel, Scope::System);
        results.atomic_min_with(5, local.get(1), SeqCst, Scope::Device);
        results.atomic_max_with(6, local.get(2), Release, Scope::Device);
    }
    results.atomic_exchange(7, value);
}

fn contention<T: Number>()
where
    Contend<T>: cuda_std::kernel::Kernel,
{
    for order in ORDERS {
        let mut results: Vec<T> = [0, 1_000_000, 0, 0, 0, 1_000_000, 0, 0].map(T::of).to_vec();
        let mut tickets = vec![0u32; 1 + LANES as usize];
        Args::new()
            .view(&mut results)
            .view(&mut tickets)
            .launch_in::<Contend<T>>(LaunchConfig::linear(BLOCKS, THREADS), order)
            .unwrap();
        let expected = [LANES, 1, LANES].map(T::of);
        assert_eq!(results[..3], expected, "{order:?}");
        assert_eq!(results[4..7], expected, "{order:?}");
        assert!(results[3] == T::of(0) || results[3] == T::of(1));
        assert!((1..=LANES).any(|n| results[7] == T::of(n)));
        assert_eq!(u64::from(tickets[0]), LANES);
        assert!(
            tickets[1..].iter().all(|n| *n == 1),
            "a ticket was given twice"
        );
    }
}

#[test]
fn contention_u32() {
    contention::<u32>();
}
#[test]
fn contention_i32() {
    contention::<i32>();
}
#[test]
fn contention_u64() {
    contention::<u64>();
}
#[test]
fn contention_i64() {
    contention::<i64>();
}
#[test]
fn contention_f32() {
    contention::<f32>();
}
#[test]
fn contention_f64() {
    contention::<f64>();
}

#[kernel(instances(u32, i32, u64, i64))]
pub unsafe fn bits<T: AtomicInt>(elements: GlobalMut<T>, masks: Global<T>, olds: GlobalMut<T>) {
    let i = thread::index_1d_wide();
    let mask = masks.get(i);
    elements.atomic_xor(2, mask);
    if i == 0 {
        olds.set(0, elements.atomic_and(0, mask));
        olds.set(1, elements.atomic_or(1, mask));
        olds.set(2, elements.atomic_xor_with(3, mask, AcqRel, Scope::System));
        let local = shared![T; 1];
        local.set(0, mask);
        olds.set(
            3,
            local.atomic_and_with(0, masks.get(1), SeqCst, Scope::Block),
        );
        olds.set(4, local.atomic_or(0, masks.get(2)));
        olds.set(5, local.get(0));
    }
}

macro_rules! bit_tests {
    ($($name:ident: $ty:ty;)*) => { $(
        #[test]
        fn $name() {
            let mut masks: Vec<$ty> = (0..320u64)
                .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7) as $ty)
                .collect();
            let m = masks.clone();
            let mut elements: Vec<$ty> = vec![m[5], m[6], m[7], m[8]];
            let e = elements.clone();
            let mut olds: Vec<$ty> = vec![0; 6];
            Args::new()
                .view(&mut elements)
                .view(&mut masks)
                .view(&mut olds)
                .launch::<Bits<$ty>>(LaunchConfig::linear(10, 32))
                .unwrap();
            let parity = m.iter().fold(e[2], |a, b| a ^ b);
            assert_eq!(elements, [e[0] & m[0], e[1] | m[0], parity, e[3] ^ m[0]]);
            assert_eq!(olds, [e[0], e[1], e[3], m[0], m[0] & m[1], m[0] & m[1] | m[2]]);
        }
    )* };
}
bit_tests! {
    bits_u32: u32;
    bits_i32: i32;
    bits_u64: u64;
    bits_i64: i64;
}

#[kernel(instances(f32, f64))]
pub unsafe fn extremes<T: Atomic>(values: Global<T>, results: GlobalMut<T>) {
    let i = thread::index_1d_wide();
    if i < values.len() {
        results.atomic_min(0, values.get(i));
        results.atomic_max(1, values.get(i));
    }
}

/// The rule of the documentation: NaN wins, `-0.0` is below `0.0`.
fn model_f64(values: &[f64], start: [f64; 2]) -> [f64; 2] {
    let [mut least, mut greatest] = start;
    for value in values {
        least = if value.is_nan() || value.total_cmp(&least).is_lt() && !least.is_nan() {
            *value
        } else {
            least
        };
        greatest = if value.is_nan() || value.total_cmp(&greatest).is_gt() && !greatest.is_nan() {
            *value
        } else {
            greatest
        };
    }
    [least, greatest]
}

fn interesting_floats() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(
        prop_oneof![
            8 => any::<f32>().prop_filter("a number", |v| !v.is_nan()),
            4 => prop::sample::select(vec![0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE, -1.0, 1.0, 1e-45]),
            1 => any::<u32>().prop_map(f32::from_bits),
            1 => prop::sample::select(vec![f32::NAN, -f32::NAN]),
        ],
        1..70,
    )
}

fn same_or_both_nan(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

proptest! {
    #[test]
    fn float_extremes_follow_the_rule(mut values in interesting_floats(), seed in any::<u64>()) {
        let order = cuda_std::cpu::Order::Seeded(seed);
        let config = LaunchConfig::linear(3, 32);
        let wide: Vec<f64> = values.iter().map(|v| f64::from(*v)).collect();
        let expected = model_f64(&wide, [f64::INFINITY, f64::NEG_INFINITY]);
        let mut results = [f32::INFINITY, f32::NEG_INFINITY];
        Args::new().view(&mut values).view(&mut results).launch_in::<Extremes<f32>>(config, order).unwrap();
        prop_assert!(same_or_both_nan(f64::from(results[0]), expected[0]), "{:?} {:?}", results, expected);
        prop_assert!(same_or_both_nan(f64::from(results[1]), expected[1]), "{:?} {:?}", results, expected);
        let mut wide = wide;
        let mut results = [f64::INFINITY, f64::NEG_INFINITY];
        Args::new().view(&mut wide).view(&mut results).launch_in::<Extremes<f64>>(config, order).unwrap();
        prop_assert!(same_or_both_nan(results[0], expected[0]), "{:?} {:?}", results, expected);
        prop_assert!(same_or_both_nan(results[1], expected[1]), "{:?} {:?}", results, expected);
    }
}

#[kernel]
pub unsafe fn integers_wrap(v: GlobalMut<u32>, w: GlobalMut<i64>, olds: GlobalMut<i64>) {
    olds.set(0, i64::from(v.atomic_add(0, 2)));
    olds.set(1, w.atomic_add(0, -1));
    olds.set(2, i64::from(v.atomic_exchange(1, 9)));
    olds.set(
        3,
        match w.atomic_compare_exchange(1, 5, 6) {
            Ok(old) => old,
            Err(old) => old + 100,
        },
    );
    olds.set(
        4,
        match w.atomic_compare_exchange(1, 5, 7) {
            Ok(old) => old,
            Err(old) => old + 100,
        },
    );
    olds.set(5, w.atomic_load(1, Acquire, Scope::System));
    w.atomic_store(2, -8, SeqCst, Scope::Device);
}

#[test]
fn operations_give_back_what_was_there() {
    let (mut v, mut w, mut olds) = (vec![u32::MAX, 4], vec![i64::MIN, 5, 0], vec![0i64; 6]);
    Args::new()
        .view(&mut v)
        .view(&mut w)
        .view(&mut olds)
        .launch::<IntegersWrap>(block(1))
        .unwrap();
    assert_eq!((v, w), (vec![1, 9], vec![i64::MAX, 6, -8]));
    assert_eq!(olds, [i64::from(u32::MAX), i64::MIN, 4, 5, 106, 6]);
}

#[kernel]
pub unsafe fn wrong_order(v: GlobalMut<u32>, store: u32) {
    match store {
        0 => _ = v.atomic_load(0, Release, Scope::Device),
        1 => _ = v.atomic_load(0, AcqRel, Scope::Device),
        2 => v.atomic_store(0, 1, Acquire, Scope::Device),
        _ => v.atomic_store(0, 1, AcqRel, Scope::Device),
    }
}

#[test]
fn orderings_that_make_no_sense_are_errors() {
    std::panic::set_hook(Box::new(|_| {}));
    for store in 0..4u32 {
        let fault = fault(
            Args::new()
                .view(&mut [0u32])
                .value(store)
                .launch::<WrongOrder>(block(1)),
        );
        assert!(matches!(fault.kind, FaultKind::Panic { .. }), "{fault}");
    }
    let _ = std::panic::take_hook();
}

#[kernel]
pub unsafe fn typed_floats(f: Global<u64>, results: GlobalMut<f64>) {
    // SAFETY: the launch gives the addresses of live atomics.
    unsafe {
        let a = &*(f.get(0) as *const AtomicF32);
        let b = &*(f.get(1) as *const AtomicF64);
        let c = &*(f.get(2) as *const SystemAtomicF32);
        a.fetch_add(1.5, Relaxed);
        b.fetch_sub(0.25, AcqRel);
        c.fetch_add(-0.5, SeqCst);
    }
    results.atomic_add(0, 1.0);
}

#[test]
fn typed_atomic_floats_work_in_kernels_and_outside() {
    let (a, b, c) = (
        AtomicF32::new(1.0),
        AtomicF64::new(2.0),
        SystemAtomicF32::new(0.0),
    );
    let mut addresses = [
        (&raw const a).addr() as u64,
        (&raw const b).addr() as u64,
        (&raw const c).addr() as u64,
    ];
    let mut results = [0.0];
    Args::new()
        .view(&mut addresses)
        .view(&mut results)
        .launch::<TypedFloats>(LaunchConfig::linear(16, 64))
        .unwrap();
    assert_eq!(results, [1024.0]);
    assert_eq!(
        (a.load(Acquire), b.load(Relaxed), c.load(SeqCst)),
        (1537.0, -254.0, -512.0)
    );
    assert_eq!((a.into_inner(), b.into_inner()), (1537.0, -254.0));

    let d = SystemAtomicF64::new(-6.5);
    assert_eq!(d.fetch_and(f64::from_bits(!(1 << 63)), Relaxed), -6.5);
    assert_eq!(d.fetch_or(-0.0, Relaxed), 6.5);
    assert_eq!(d.fetch_xor(-0.0, Relaxed), -6.5);
    d.store(3.0, Release);
    assert_eq!(d.load(Acquire), 3.0);
    let (e, g) = (BlockAtomicF32::new(1.0), BlockAtomicF64::new(1.0));
    // SAFETY: only this thread touches them.
    unsafe {
        assert_eq!(
            (e.fetch_add(2.0, Relaxed), g.fetch_sub(2.0, Relaxed)),
            (1.0, 1.0)
        );
        assert_eq!((e.load(Relaxed), g.load(Relaxed)), (3.0, -1.0));
        e.store(8.0, Relaxed);
    }
    assert_eq!(e.into_inner(), 8.0);
    for order in [Relaxed, Acquire, Release, AcqRel, SeqCst] as [Ordering; 5] {
        mid::device_thread_fence(order);
        mid::block_thread_fence(order);
        mid::system_thread_fence(order);
    }
}

#[kernel]
pub unsafe fn last_block_sums(
    values: Global<u32>,
    partials: GlobalMut<u32>,
    done: GlobalMut<u32>,
    sum: GlobalMut<u64>,
) {
    let t = thread::thread_idx_x();
    let is_last = shared![u32; 1];
    if t == 0 {
        let b = thread::block_idx_x() as usize;
        partials.set(b, values.get(b));
        let ticket = done.atomic_add_with(0, 1, AcqRel, Scope::Device);
        is_last.set(0, u32::from(ticket + 1 == thread::grid_dim_x()));
    }
    thread::sync_threads();
    if is_last.get(0) == 1 && t == 0 {
        let mut total = 0;
        for b in 0..thread::grid_dim_x() as usize {
            total += u64::from(partials.get(b));
        }
        sum.set(0, total);
    }
}

#[test]
fn the_last_block_sees_what_the_others_wrote() {
    for _ in 0..20 {
        let mut values: Vec<u32> = (0..200).map(|i| i * 7 + 1).collect();
        let (mut partials, mut done, mut sum) = (vec![0u32; 200], [0u32], [0u64]);
        Args::new()
            .view(&mut values)
            .view(&mut partials)
            .view(&mut done)
            .view(&mut sum)
            .launch::<LastBlockSums>(LaunchConfig::linear(200, 2))
            .unwrap();
        assert_eq!(sum[0], values.iter().map(|v| u64::from(*v)).sum::<u64>());
    }
}
