//! Products of warpgroups on the CPU executor: layouts, bits, when tiles are read, and what is reported.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{
    Args, ORDERS, block, fault, waiting,
    warpgroups::{Matrix, options, store_sums},
};
use std::cell::Cell;

use cuda_std::{
    F8E4M3, F8E5M2, bf16, bulk,
    cpu::{AccessKind, Checks, Fault, FaultKind, LaunchError, Options, Order},
    kernel::Kernel,
    mbarrier::{self, Mbarrier},
    prelude::*,
    tensor_map::TensorMap,
    wgmma::{self, DEPTH, Factor, PANEL, Sums, Tile},
};

const ALL: Checks = Checks::ALL;
#[test]
fn every_sum_has_one_place() {
    for count in [32, 64, 128] {
        let of = |thread| (0..count).map(move |i| wgmma::place(thread, i));
        let mut found: Vec<_> = (0..128).flat_map(of).collect();
        found.sort_unstable();
        let columns = 2 * count;
        let all = (0..64 * columns).map(|i| (i / columns, i % columns));
        assert!(found.into_iter().eq(all));
    }
    // From the figure of the PTX ISA.
    let place = wgmma::place;
    assert_eq!((place(5, 0), place(5, 1)), ((1, 2), (1, 3)));
    assert_eq!((place(5, 2), place(37, 5)), ((9, 2), (17, 11)));
}

#[test]
fn every_element_of_a_has_one_place() {
    let of = |thread| (0..16).map(move |i| wgmma::place_of_a(thread, i));
    let mut found: Vec<_> = (0..128).flat_map(of).collect();
    found.sort_unstable();
    assert!(found.into_iter().eq((0..64 * 32).map(|i| (i / 32, i % 32))));
    // From the figure of the PTX ISA.
    let place = wgmma::place_of_a;
    assert_eq!((place(5, 0), place(5, 1)), ((1, 1), (9, 1)));
    assert_eq!((place(5, 2), place(37, 7)), ((1, 5), (25, 13)));
}

/// Right and wrong products of two tiles of ones and one of twos. See the tests for `how`.
#[kernel]
pub unsafe fn ones(c: GlobalMut<f32>, how: u32) {
    let tiles = shared![f16; 3 * PANEL + 512].skip_to_multiple(1024);
    let t = thread::thread_idx_x() as usize;
    let written = if how == 3 { 2 * PANEL - 1 } else { 3 * PANEL };
    let mut i = t;
    while i < written {
        tiles.set(
            i,
            if i < 2 * PANEL {
                f16::ONE
            } else {
                f16::ONE + f16::ONE
            },
        );
        i += thread::block_dim_x() as usize;
    }
    if how != 1 {
        bulk::fence_proxy_async();
    }
    match how {
        // Each warp has its own part.
        // SAFETY: all lanes of the warp execute this.
        10 => unsafe { warp::sync_warp(u32::MAX) },
        _ => thread::sync_threads(),
    }
    if t >= 128 {
        if how == 9 {
            tiles.set(PANEL, f16::ZERO);
        }
        return;
    }
    if how == 4 && t == 77 {
        return;
    }
    let a = match how {
        5 if t == 77 => 2 * PANEL,
        6 => 64,
        7 => 3 * PANEL - 512,
        _ => 0,
    };
    let (a, b) = (
        Tile::<f16, true>::new(tiles, a),
        Tile::<f16, false>::new(tiles, PANEL),
    );
    let twos = Tile::<f16, false>::new(tiles, 2 * PANEL);
    let (mut sums, mut others) = ([1.0; 32], [0.0; 32]);
    let mut products = wgmma::begin(&mut sums);
    products.add(a, b);
    products.add(b, twos);
    let products = match how == 8 && t == 77 {
        true => products.commit(),
        false => products.commit(),
    };
    match how {
        2 if t == 5 => tiles.set(PANEL + 9, f16::ZERO),
        12 => {
            // Two groups in flight, and one that is not committed while the first is waited for.
            let mut next = wgmma::begin(&mut others);
            next.add(twos, twos);
            products.wait();
            next.add(a, twos);
            next.commit().wait();
            for (sum, other) in sums.iter_mut().zip(others) {
                *sum += other;
            }
            store_sums(c, t, &sums);
            return;
        }
        13 if t == 31 => return,
        _ => {}
    }
    products.wait();
    if how == 14 && t == 64 {
        // It has waited.
        tiles.set(5, f16::ZERO);
    }
    store_sums(c, t, &sums);
}

fn run_ones(threads: u32, options: Options, how: u32) -> Result<Vec<f32>, LaunchError> {
    let mut c = vec![0.0_f32; 64 * 64];
    let args = Args::new().view(&mut c).value(how);
    args.launch_with::<Ones>(block(threads), options)?;
    Ok(c)
}

#[track_caller]
fn faults_of_ones(threads: u32, checks: Checks, how: u32) -> Vec<Fault> {
    let of = |order| fault(run_ones(threads, options(order, checks), how).map(drop));
    ORDERS.map(of).into()
}

#[test]
fn groups_have_sums_of_their_own() {
    for order in ORDERS {
        for checks in [ALL, Checks::NONE] {
            let sums =
                |how| run_ones(160, options(order, checks), how).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(sums(0), vec![1.0 + 64.0 + 128.0; 64 * 64]);
            assert_eq!(sums(14), vec![1.0 + 64.0 + 128.0; 64 * 64]);
            assert_eq!(sums(12), vec![1.0 + 64.0 + 128.0 + 256.0 + 128.0; 64 * 64]);
        }
    }
}

#[test]
fn tiles_that_are_written_too_late_or_too_early_are_races() {
    for (threads, how) in [(128, 2), (160, 9), (128, 10)] {
        for fault in faults_of_ones(threads, Checks::RACE, how) {
            let FaultKind::Race {
                touched,
                other_touched,
                ..
            } = &fault.kind
            else {
                panic!("{how}: {fault}");
            };
            let is_read = [touched, other_touched].contains(&&AccessKind::CopyFrom);
            assert!(is_read, "{how}: {fault}");
        }
    }
}

#[test]
fn tiles_need_a_fence_and_values() {
    for fault in faults_of_ones(128, ALL, 1) {
        assert!(matches!(fault.kind, FaultKind::NotFenced { .. }), "{fault}");
    }
    for fault in faults_of_ones(128, ALL, 3) {
        assert!(matches!(fault.kind, FaultKind::Unwritten { .. }), "{fault}");
    }
}

#[test]
fn tiles_are_aligned_and_within_their_views() {
    for checks in [ALL, Checks::NONE] {
        for fault in faults_of_ones(128, checks, 6) {
            let is = matches!(fault.kind, FaultKind::Misaligned { required: 1024, .. });
            assert!(is, "{fault}");
        }
        for fault in faults_of_ones(128, checks, 7) {
            let is = matches!(fault.kind, FaultKind::OutOfBounds { count: PANEL, .. });
            assert!(is, "{fault}");
        }
    }
}

#[test]
fn all_lanes_do_the_same() {
    for checks in [ALL, Checks::NONE] {
        for how in [4, 13] {
            for fault in faults_of_ones(128, checks, how) {
                match (&fault.kind, how) {
                    (FaultKind::Wgmma { what, .. }, 13) => {
                        assert_eq!(what, "a lane does not wait for a product");
                    }
                    (kind, _) => {
                        let groups = waiting(kind);
                        assert_eq!(groups.len(), 1, "{fault}");
                        assert_eq!(groups[0].0.len(), 127, "{fault}");
                        assert_eq!(groups[0].1, "wgmma::InFlight::wait");
                    }
                }
            }
        }
        let wrong = |threads, how, part: &str| {
            for fault in faults_of_ones(threads, checks, how) {
                let FaultKind::Wgmma { what, .. } = &fault.kind else {
                    panic!("{how}: {fault}");
                };
                assert!(what.contains(part), "{fault}");
            }
        };
        wrong(
            128,
            5,
            "must do the same, but this lane adds a product in f16 of bytes",
        );
        wrong(100, 0, "has 100 lanes");
        if checks == ALL {
            wrong(128, 8, "this lane commits products, and lane");
            wrong(128, 13, "a lane does not wait for a product");
        }
    }
}

const SLOTS: usize = 2;
const STEPS: usize = 5;

/// A producer, lane 0, loads tiles to a ring of slots, and two warpgroups each multiply a tile of A of their own with B.
///
/// `how`: 0 as it should be; 1 the producer does not wait for empty slots; 2 the consumers arrive before they wait; 3 a warp
/// does not wait for its tiles.
#[kernel]
pub unsafe fn ring(a: TensorMap, b: TensorMap, c: GlobalMut<f32>, how: u32) {
    let slots = shared![bf16; SLOTS * 3 * PANEL + 512].skip_to_multiple(1024);
    let objects = shared![u64; 2 * SLOTS];
    let filled = |step: usize| Mbarrier::new(objects, step % SLOTS);
    let empty = |step: usize| Mbarrier::new(objects, SLOTS + step % SLOTS);
    let parity = |step: usize| (step / SLOTS % 2) as u32;
    let t = thread::thread_idx_x() as usize;
    if t == 0 {
        for slot in 0..SLOTS {
            filled(slot).init(1);
            empty(slot).init(2);
        }
        mbarrier::fence_init();
    }
    thread::sync_threads();
    if t < 128 {
        thread::decrease_registers::<40>();
        for step in 0..if t == 0 { STEPS } else { 0 } {
            if how != 1 {
                empty(step).wait(1 - parity(step));
            }
            let (slot, k) = (step % SLOTS * 3 * PANEL, (step * DEPTH) as i32);
            filled(step).arrive_expect_tx(3 * 2 * PANEL as u32);
            slots.load_tile(slot, a, [k, 0], PANEL, filled(step));
            slots.load_tile(slot + PANEL, a, [k, 64], PANEL, filled(step));
            slots.load_tile(slot + 2 * PANEL, b, [0, k], PANEL, filled(step));
        }
        return;
    }
    thread::increase_registers::<232>();
    let consumer = t / 128 - 1;
    let mut sums = <[f32; 32]>::ZERO;
    for step in 0..STEPS {
        if how != 3 || t / 32 != 9 {
            filled(step).wait(parity(step));
        }
        let slot = step % SLOTS * 3 * PANEL;
        let mut products = wgmma::begin(&mut sums);
        products.add(
            Tile::<bf16, true>::new(slots, slot + consumer * PANEL),
            Tile::<bf16, false>::new(slots, slot + 2 * PANEL),
        );
        let products = products.commit();
        if how == 2 && t.is_multiple_of(128) {
            empty(step).arrive();
        }
        products.wait();
        if how != 2 && t.is_multiple_of(128) {
            empty(step).arrive();
        }
    }
    store_sums(c.skip(consumer * 64 * 64), t % 128, &sums);
}

fn run_ring(order: Order, checks: Checks, how: u32) -> Result<(), LaunchError> {
    let k = STEPS * DEPTH;
    // Whole numbers, whose sums are exact.
    let of_a = |row: usize, k: usize| ((row * 31 + k * 7) % 13) as f32 - 6.0;
    let of_b = |k: usize, column: usize| ((k * 5 + column * 11) % 17) as f32 - 8.0;
    let mut a = Matrix::new(128, k, |row, k| bf16::from_f32(of_a(row, k)));
    let mut b = Matrix::new(k, 64, |k, column| bf16::from_f32(of_b(k, column)));
    let mut c = vec![0.0_f32; 128 * 64];
    let args = Args::new().map(a.map()).map(b.map());
    let args = args.view(&mut c).value(how);
    args.launch_with::<Ring>(block(384), options(order, checks))?;
    for (i, found) in c.into_iter().enumerate() {
        let products = (0..k).map(|k| of_a(i / 64, k) * of_b(k, i % 64));
        assert_eq!(found, products.sum::<f32>(), "{i}");
    }
    Ok(())
}

#[test]
fn one_lane_tells_that_a_slot_is_empty() {
    for order in ORDERS.into_iter().chain((5..9).map(Order::Seeded)) {
        for checks in [ALL, Checks::NONE] {
            run_ring(order, checks, 0).unwrap_or_else(|e| panic!("{order:?}: {e}"));
        }
    }
}

#[test]
fn a_slot_that_is_filled_too_early_is_a_race() {
    for order in ORDERS {
        for how in [1, 2, 3] {
            let found = fault(run_ring(order, Checks::RACE, how));
            // A producer that does not wait may also start a phase too early.
            let is = match found.kind {
                FaultKind::Race { .. } => true,
                FaultKind::Mbarrier { .. } => how == 1,
                _ => false,
            };
            assert!(is, "{order:?}, {how}: {found}");
        }
    }
}

/// The example of the module.
#[kernel(launch_bounds(128))]
pub unsafe fn product(a: TensorMap, b: TensorMap, c: GlobalMut<f32>) {
    let tiles = shared![f16; 2 * 4096 + 512].skip_to_multiple(1024);
    let here = Mbarrier::new(shared![u64; 1], 0);
    let thread = thread::thread_idx_x() as usize;
    if thread == 0 {
        here.init(1);
        cuda_std::mbarrier::fence_init();
        here.arrive_expect_tx(2 * 8192);
        tiles.load_tile(0, a, [0, 0], 4096, here);
        tiles.load_tile(4096, b, [0, 0], 4096, here);
    }
    thread::sync_threads();
    here.wait(0);
    let mut sums = <[f32; 32]>::ZERO;
    let mut products = wgmma::begin(&mut sums);
    products.add(
        Tile::<f16, true>::new(tiles, 0),
        Tile::<f16, true>::new(tiles, 4096),
    );
    products.commit().wait();
    for (i, sum) in sums.into_iter().enumerate() {
        let (row, column) = wgmma::place(thread, i);
        c.set(row * 64 + column, sum);
    }
}

#[test]
fn the_example_multiplies() {
    let mut a = Matrix::new(64, 64, |row, k| f16::from_f32((row + 2 * k) as f32));
    let mut b = Matrix::new(64, 64, |column, k| {
        f16::from_f32(f32::from(u8::from(column == k)))
    });
    let mut c = vec![0.0_f32; 64 * 64];
    let args = Args::new().map(a.map()).map(b.map()).view(&mut c);
    args.launch::<Product>(block(128)).unwrap();
    for (i, found) in c.into_iter().enumerate() {
        assert_eq!(found, (i / 64 + 2 * (i % 64)) as f32);
    }
}

/// The length of the products of elements of 8 bits along k: two tiles.
const K_OF_BYTES: usize = 2 * <i8 as Factor>::DEPTH;

/// Adds a product of elements of 8 bits to C, or replaces C by it. Both matrices have lines along k.
#[kernel(instances(
    i8_64: (i8, [i32; 32]), i8_128: (i8, [i32; 64]), i8_256: (i8, [i32; 128]),
    e4m3_64: (F8E4M3, [f32; 32]), e4m3_256: (F8E4M3, [f32; 128]), e5m2_128: (F8E5M2, [f32; 64])
))]
pub unsafe fn product_of_bytes<T: Factor, S: Sums<Element = T::Sum>>(
    a: TensorMap,
    b: TensorMap,
    c: GlobalMut<T::Sum>,
    replaces: u32,
) {
    let panel = T::PANEL;
    let tiles = shared![u8; 5 * <i8 as Factor>::PANEL + 1024].skip_to_multiple(1024);
    // SAFETY: elements of 8 bits need no alignment, and any bits are one.
    let tiles = unsafe { tiles.cast::<T>() };
    let come = Mbarrier::new(shared![u64; 1], 0);
    let t = thread::thread_idx_x() as usize;
    if t == 0 {
        come.init(1);
        mbarrier::fence_init();
    }
    thread::sync_threads();
    let mut sums = S::ZERO;
    for (i, sum) in sums.as_mut().iter_mut().enumerate() {
        let (row, column) = wgmma::place(t, i);
        *sum = c.get(row * S::COLUMNS + column);
    }
    for (step, k) in (0..K_OF_BYTES).step_by(T::DEPTH).enumerate() {
        let k = k as i32;
        if t == 0 {
            come.arrive_expect_tx(((1 + S::COLUMNS / 64) * panel) as u32);
            tiles.load_tile(0, a, [k, 0], panel, come);
            for i in 0..S::COLUMNS / 64 {
                tiles.load_tile((1 + i) * panel, b, [k, 64 * i as i32], panel, come);
            }
        }
        come.wait(step as u32 % 2);
        let mut products = wgmma::begin(&mut sums);
        let [of_a, of_b] = [0, panel].map(|at| Tile::<T, true>::new(tiles, at));
        if replaces == 1 && step == 0 {
            products.set(of_a, of_b);
        } else {
            products.add(of_a, of_b);
        }
        products.commit().wait();
        thread::sync_threads();
    }
    store_sums(c, t, &sums);
}

/// Compares sums that begin with `of_c` with what `expected` returns for such a number and the pairs of factors. `of_a` and
/// `of_b` return elements by their row or column and k.
fn check_product_of_bytes<T: Factor, S: Sums<Element = T::Sum>>(
    (order, checks): (Order, Checks),
    of_a: impl Fn(usize, usize) -> T + Copy,
    of_b: impl Fn(usize, usize) -> T + Copy,
    of_c: impl Fn(usize) -> T::Sum,
    expected: impl Fn(T::Sum, &[(T, T)]) -> T::Sum,
) where
    ProductOfBytes<T, S>: Kernel,
    T::Sum: PartialEq + std::fmt::Debug,
{
    let mut a = Matrix::new(64, K_OF_BYTES, of_a);
    let mut b = Matrix::new(S::COLUMNS, K_OF_BYTES, of_b);
    for replaces in [false, true] {
        let mut c: Vec<T::Sum> = (0..64 * S::COLUMNS).map(&of_c).collect();
        let args = Args::new().map(a.map()).map(b.map()).view(&mut c);
        args.value(u32::from(replaces))
            .launch_with::<ProductOfBytes<T, S>>(block(128), options(order, checks))
            .unwrap();
        for (i, found) in c.into_iter().enumerate() {
            let (row, column) = (i / S::COLUMNS, i % S::COLUMNS);
            let old = if replaces {
                S::ZERO.as_ref()[0]
            } else {
                of_c(i)
            };
            let factors: Vec<_> = (0..K_OF_BYTES)
                .map(|k| (of_a(row, k), of_b(column, k)))
                .collect();
            assert_eq!(found, expected(old, &factors), "{i} {order:?} {replaces}");
        }
    }
}

/// Bits without a pattern.
fn noise(seed: usize, i: usize) -> u8 {
    ((i + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8
}

fn check_product_of_i8<S: Sums<Element = i32>>(order: Order, checks: Checks)
where
    ProductOfBytes<i8, S>: Kernel,
{
    // The smallest ones are in the first row of A and the first column of B.
    let element = |seed: usize, line: usize, k: usize| match line {
        0 => i8::MIN,
        _ => noise(seed, line * K_OF_BYTES + k) as i8,
    };
    let wrapped = Cell::new(0);
    check_product_of_bytes::<i8, S>(
        (order, checks),
        |row, k| element(1, row, k),
        |column, k| element(2, column, k),
        // Nearly all sums that are not small wrap around.
        |i| [i32::MAX, i32::MIN, 5][i % 3],
        |c, factors| {
            let products = factors.iter().map(|(a, b)| i64::from(*a) * i64::from(*b));
            let expected = i64::from(c) + products.sum::<i64>();
            wrapped.update(|count| count + usize::from(i64::from(expected as i32) != expected));
            expected as i32
        },
    );
    assert!(wrapped.get() > 64 * S::COLUMNS / 4, "{wrapped:?}");
}

#[test]
fn products_of_i8_are_exact_and_wrap_around() {
    for order in ORDERS {
        check_product_of_i8::<[i32; 32]>(order, ALL);
    }
    check_product_of_i8::<[i32; 32]>(Order::Forward, Checks::NONE);
    check_product_of_i8::<[i32; 64]>(Order::Backward, Checks::NONE);
    check_product_of_i8::<[i32; 128]>(Order::Seeded(2), Checks::NONE);
}

/// Checks sums of whole numbers, which are exact.
fn check_product_of_eight_bits<T: Factor<Sum = f32>, S: Sums<Element = f32>>(
    order: Order,
    checks: Checks,
    of: fn(f32) -> T,
    to: fn(&T) -> f32,
) where
    ProductOfBytes<T, S>: Kernel,
{
    let element = |seed, line, k| of(f32::from(noise(seed, line * K_OF_BYTES + k) % 17) - 8.0);
    check_product_of_bytes::<T, S>(
        (order, checks),
        |row, k| element(1, row, k),
        |column, k| element(2, column, k),
        |i| (i % 5) as f32,
        |c, factors| factors.iter().fold(c, |sum, (a, b)| sum + to(a) * to(b)),
    );
}

#[test]
fn products_of_numbers_of_eight_bits() {
    for order in ORDERS {
        let (of, to) = (F8E4M3::from_f32, F8E4M3::to_f32);
        check_product_of_eight_bits::<_, [f32; 32]>(order, ALL, of, to);
    }
    let (of, to) = (F8E4M3::from_f32, F8E4M3::to_f32);
    check_product_of_eight_bits::<_, [f32; 128]>(Order::Backward, Checks::NONE, of, to);
    let (of, to) = (F8E5M2::from_f32, F8E5M2::to_f32);
    check_product_of_eight_bits::<_, [f32; 64]>(Order::Seeded(2), Checks::NONE, of, to);
}

/// Beside a large sum 13 bits are left, and a step along k is truncated as the ones before.
#[test]
fn sums_of_eight_bits_are_truncated() {
    check_product_of_bytes::<F8E4M3, [f32; 32]>(
        (Order::Forward, Checks::NONE),
        |_, _| F8E4M3::from_f32(1.0),
        // Those of odd columns are below the last bit.
        |column, _| F8E4M3::from_f32([0.125, 0.0625][column % 2]),
        |_| 1024.0,
        |c, factors| match (c == 0.0, factors[0].1.to_f32()) {
            (false, 0.0625) => c,
            (_, factor) => c + 256.0 * factor,
        },
    );
}
