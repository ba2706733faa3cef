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

/// What the kernels of one lane per element take, and what they tell.
pub struct Log<T> {
    operands: Global<T>,
    results: GlobalMut<T>,
    taken: usize,
    given: usize,
    /// Whether the compare-and-exchanges were done, one bit each, the latest lowest.
    outcomes: u64,
}

impl<T: Copy> Log<T> {
    /// Lane `i` has `len` results of its own. Its operands are all of those there are, from the `i`-th on,
    /// again and again.
    fn new(operands: Global<T>, results: GlobalMut<T>, i: usize, len: usize) -> Self {
        Self {
            operands,
            results,
            taken: i,
            given: i * len,
            outcomes: 0,
        }
    }

    #[inline(always)]
    fn next(&mut self) -> T {
        let operand = self.operands.get(self.taken % self.operands.len());
        self.taken += 1;
        operand
    }

    #[inline(always)]
    fn put(&mut self, value: T) {
        self.results.set(self.given, value);
        self.given += 1;
    }

    #[inline(always)]
    fn put_outcome(&mut self, outcome: Result<T, T>) {
        self.outcomes = self.outcomes << 1 | u64::from(outcome.is_ok());
        let (Ok(old) | Err(old)) = outcome;
        self.put(old);
    }
}

/// Every operation that changes element `$i`, with what it gives back: a sum, the lesser, the greater, an
/// exchange, a compare-and-exchange that finds what it compares with, and one that need not.
macro_rules! operations {
    ($view:ident, $i:expr, $log:ident: $add:ident $min:ident $max:ident $exchange:ident $compare:ident
     $(, $how:expr)*) => {{
        let operand = $log.next();
        $log.put($view.$add($i, operand $(, $how)*));
        let operand = $log.next();
        $log.put($view.$min($i, operand $(, $how)*));
        let operand = $log.next();
        $log.put($view.$max($i, operand $(, $how)*));
        let there = $log.next();
        $log.put($view.$exchange($i, there $(, $how)*));
        let new = $log.next();
        $log.put_outcome($view.$compare($i, there, new $(, $how)*));
        let newer = $log.next();
        $log.put_outcome($view.$compare($i, there, newer $(, $how)*));
    }};
}

/// [`operations`] on bits.
macro_rules! bit_operations {
    ($view:ident, $i:expr, $log:ident: $and:ident $or:ident $xor:ident $(, $how:expr)*) => {{
        let operand = $log.next();
        $log.put($view.$and($i, operand $(, $how)*));
        let operand = $log.next();
        $log.put($view.$or($i, operand $(, $how)*));
        let operand = $log.next();
        $log.put($view.$xor($i, operand $(, $how)*));
    }};
}

/// [`operations`] with every order and scope, and stores, each with a load after it.
macro_rules! every_order_and_scope {
    ($view:ident, $i:expr, $log:ident $([$($bits:ident)+])?) => {
        for scope in [Scope::Block, Scope::Device, Scope::System] {
            for order in [Relaxed, Acquire, Release, AcqRel, SeqCst] {
                operations!($view, $i, $log: atomic_add_with atomic_min_with atomic_max_with
                            atomic_exchange_with atomic_compare_exchange_with, order, scope);
                $( bit_operations!($view, $i, $log: $($bits)+, order, scope); )?
            }
            for (store, load) in [(Relaxed, Relaxed), (Release, Acquire), (SeqCst, SeqCst)] {
                let operand = $log.next();
                $view.atomic_store($i, operand, store, scope);
                $log.put($view.atomic_load($i, load, scope));
            }
        }
        $log.put($view.get($i));
    };
}

/// The results of [`integers`] for a lane.
pub const INTEGERS: usize = 2 * (3 * (5 * 9 + 3) + 1);

/// Every form of every operation, on global memory and then on shared memory.
///
/// # Safety
/// An element of `values` for each lane, [`INTEGERS`] of `results`, two of `outcomes`; 64 lanes a block at
/// most.
#[kernel(instances(u32, i32, u64, i64))]
pub unsafe fn integers<T: AtomicInt>(
    values: GlobalMut<T>,
    operands: Global<T>,
    results: GlobalMut<T>,
    outcomes: GlobalMut<u64>,
) {
    let (i, t) = (thread::index_1d_wide(), thread::thread_idx_x() as usize);
    let mut log = Log::new(operands, results, i, INTEGERS);
    let local = shared![T; 64];
    local.set(t, values.get(i));
    every_order_and_scope!(values, i, log [atomic_and_with atomic_or_with atomic_xor_with]);
    outcomes.set(2 * i, log.outcomes);
    every_order_and_scope!(local, t, log [atomic_and_with atomic_or_with atomic_xor_with]);
    outcomes.set(2 * i + 1, log.outcomes);
}

/// The results of [`floats`] for a lane.
pub const FLOATS: usize = 2 * (3 * (5 * 6 + 3) + 1);

/// [`integers`] of floats.
///
/// # Safety
/// As for that, with [`FLOATS`] results.
#[kernel(instances(f32, f64))]
pub unsafe fn floats<T: Atomic>(
    values: GlobalMut<T>,
    operands: Global<T>,
    results: GlobalMut<T>,
    outcomes: GlobalMut<u64>,
) {
    let (i, t) = (thread::index_1d_wide(), thread::thread_idx_x() as usize);
    let mut log = Log::new(operands, results, i, FLOATS);
    let local = shared![T; 64];
    local.set(t, values.get(i));
    every_order_and_scope!(values, i, log);
    outcomes.set(2 * i, log.outcomes);
    every_order_and_scope!(local, t, log);
    outcomes.set(2 * i + 1, log.outcomes);
}

/// The results of [`defaults`] for a lane.
pub const DEFAULTS: usize = 2 * (6 + 1);

/// The forms without an order and a scope.
///
/// # Safety
/// As for [`integers`], with [`DEFAULTS`] results.
#[kernel(instances(u32, i32, u64, i64, f32, f64))]
pub unsafe fn defaults<T: Atomic>(
    values: GlobalMut<T>,
    operands: Global<T>,
    results: GlobalMut<T>,
    outcomes: GlobalMut<u64>,
) {
    let (i, t) = (thread::index_1d_wide(), thread::thread_idx_x() as usize);
    let mut log = Log::new(operands, results, i, DEFAULTS);
    let local = shared![T; 64];
    local.set(t, values.get(i));
    operations!(values, i, log: atomic_add atomic_min atomic_max atomic_exchange
                atomic_compare_exchange);
    log.put(values.get(i));
    outcomes.set(2 * i, log.outcomes);
    operations!(local, t, log: atomic_add atomic_min atomic_max atomic_exchange
                atomic_compare_exchange);
    log.put(local.get(t));
    outcomes.set(2 * i + 1, log.outcomes);
}

/// The results of [`default_bits`] for a lane.
pub const DEFAULT_BITS: usize = 2 * (9 + 1);

/// [`defaults`] with the operations on bits.
///
/// # Safety
/// As for [`integers`], with [`DEFAULT_BITS`] results.
#[kernel(instances(u32, i32, u64, i64))]
pub unsafe fn default_bits<T: AtomicInt>(
    values: GlobalMut<T>,
    operands: Global<T>,
    results: GlobalMut<T>,
    outcomes: GlobalMut<u64>,
) {
    let (i, t) = (thread::index_1d_wide(), thread::thread_idx_x() as usize);
    let mut log = Log::new(operands, results, i, DEFAULT_BITS);
    let local = shared![T; 64];
    local.set(t, values.get(i));
    operations!(values, i, log: atomic_add atomic_min atomic_max atomic_exchange
                atomic_compare_exchange);
    bit_operations!(values, i, log: atomic_and atomic_or atomic_xor);
    log.put(values.get(i));
    outcomes.set(2 * i, log.outcomes);
    operations!(local, t, log: atomic_add atomic_min atomic_max atomic_exchange
                atomic_compare_exchange);
    bit_operations!(local, t, log: atomic_and atomic_or atomic_xor);
    log.put(local.get(t));
    outcomes.set(2 * i + 1, log.outcomes);
}

/// The lesser and the greater of every pair, by global and by shared memory: element `4 i` and the three
/// after it come from elements `2 i` and `2 i + 1`.
#[kernel(instances(f32, f64))]
pub unsafe fn extremes<T: Atomic>(pairs: Global<T>, results: GlobalMut<T>) {
    let (i, t) = (thread::index_1d_wide(), thread::thread_idx_x() as usize);
    let local = shared![T; 512];
    let (there, value) = (pairs.get(2 * i), pairs.get(2 * i + 1));
    results.set(4 * i, there);
    results.set(4 * i + 1, there);
    local.set(2 * t, there);
    local.set(2 * t + 1, there);
    results.atomic_min(4 * i, value);
    results.atomic_max(4 * i + 1, value);
    local.atomic_min(2 * t, value);
    local.atomic_max(2 * t + 1, value);
    results.set(4 * i + 2, local.get(2 * t));
    results.set(4 * i + 3, local.get(2 * t + 1));
}

/// The elements that the lanes of a grid change together in [`contended`], and those that the lanes of a
/// block do, for each block.
pub const CONTENDED: usize = 5;

/// All lanes change the same elements, each by its own value: a sum of the device's scope, one of the
/// system's, the lesser, the greater, and a sum by compare-and-exchange, on the grid's elements and on a
/// block's in shared memory (whose sum of the system's scope is of the block's). What an exchange of the
/// first element of `places` gives goes to `olds`.
///
/// # Safety
/// `grid` has [`CONTENDED`] elements, `blocks` as many per block, `places` one, and `values` and `olds` one
/// per lane.
#[kernel(launch_bounds(256), instances(u32, i32, u64, i64, f32, f64))]
pub unsafe fn contended<T: Summable>(
    values: Global<T>,
    grid: GlobalMut<T>,
    blocks: GlobalMut<T>,
    places: GlobalMut<T>,
    olds: GlobalMut<T>,
) {
    let (i, t) = (thread::index_1d_wide(), thread::thread_idx_x() as usize);
    let local = shared![T; CONTENDED];
    if t < CONTENDED {
        local.set(t, T::ZERO);
    }
    thread::sync_threads();
    let value = values.get(i);
    grid.atomic_add(0, value);
    grid.atomic_add_with(1, value, AcqRel, Scope::System);
    grid.atomic_min(2, value);
    grid.atomic_max(3, value);
    let mut seen = grid.atomic_load(4, Relaxed, Scope::Device);
    while let Err(other) = grid.atomic_compare_exchange(4, seen, seen.plus(value)) {
        seen = other;
    }
    local.atomic_add(0, value);
    local.atomic_add_with(1, value, AcqRel, Scope::Block);
    local.atomic_min(2, value);
    local.atomic_max(3, value);
    let mut seen = local.atomic_load(4, Relaxed, Scope::Block);
    while let Err(other) = local.atomic_compare_exchange(4, seen, seen.plus(value)) {
        seen = other;
    }
    olds.set(i, places.atomic_exchange(0, value));
    thread::sync_threads();
    if t < CONTENDED {
        blocks.set(thread::block_idx_x() as usize * CONTENDED + t, local.get(t));
    }
}

/// A type whose sums [`contended`] makes by itself.
pub trait Summable: Atomic + 'static {
    /// Nothing.
    const ZERO: Self;

    /// The sum; integers wrap around.
    fn plus(self, other: Self) -> Self;
}

macro_rules! summable {
    ($($ty:ident: $zero:literal, $plus:expr;)*) => { $(
        impl Summable for $ty {
            const ZERO: Self = $zero;

            #[inline(always)]
            #[allow(clippy::redundant_closure_call)]
            fn plus(self, other: Self) -> Self {
                ($plus)(self, other)
            }
        }
    )* };
}
summable! {
    u32: 0, u32::wrapping_add;
    i32: 0, i32::wrapping_add;
    u64: 0, u64::wrapping_add;
    i64: 0, i64::wrapping_add;
    f32: 0.0, |a: f32, b: f32| a + b;
    f64: 0.0, |a: f64, b: f64| a + b;
}

macro_rules! typed {
    ($kernel:ident: $atomic:ident, $ty:ty $(, $unsafe:ident)?) => {
        /// Seven results: what each operation finds, with operands 0 to 5, and what is there at the end.
        #[kernel]
        #[allow(unused_unsafe)]
        pub unsafe fn $kernel(
            values: GlobalMut<$ty>,
            operands: Global<$ty>,
            results: GlobalMut<$ty>,
        ) {
            // SAFETY: the element is a live float, and atomics have the float's layout.
            unsafe {
                let value = &*values.as_ptr().cast::<$atomic>();
                results.set(0, value.fetch_add(operands.get(0), Relaxed));
                results.set(1, value.fetch_sub(operands.get(1), AcqRel));
                results.set(2, value.fetch_and(operands.get(2), Acquire));
                results.set(3, value.fetch_or(operands.get(3), Release));
                results.set(4, value.fetch_xor(operands.get(4), SeqCst));
                results.set(5, value.load(Acquire));
                value.store(operands.get(5), Release);
                results.set(6, values.get(0));
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

/// Every fence, in an order that the test of the build knows.
#[kernel]
pub unsafe fn fences(values: GlobalMut<u32>) {
    macro_rules! all {
        ($($at:literal $order:ident;)*) => { $(
            values.set(0, $at);
            mid::block_thread_fence($order);
            values.set(0, $at + 1);
            mid::device_thread_fence($order);
            values.set(0, $at + 2);
            mid::system_thread_fence($order);
        )* };
    }
    all! { 1 Relaxed; 4 Acquire; 7 Release; 10 AcqRel; 13 SeqCst; }
}

/// Copies chunks by relaxed loads and stores.
#[kernel(instances(
    w2: (u32, 2), w4: (u32, 4), i2: (i32, 2), f4: (f32, 4), l2: (u64, 2), s2: (i64, 2), d2: (f64, 2)
))]
pub unsafe fn relaxed_chunks<T: cuda_std::atomic::Atomic, const N: usize>(
    values: GlobalMut<T>,
    results: GlobalMut<T>,
) {
    let first = N * thread::index_1d_wide();
    let chunk = values.atomic_load_chunk::<N>(first, Scope::Device);
    results.atomic_store_chunk(first, chunk, Scope::Device);
}
