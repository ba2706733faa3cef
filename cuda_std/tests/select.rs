//! Selections by kernels of `select_kernel!` on the CPU executor, with every check, in several orders of blocks and lanes.
#![allow(missing_docs)]

mod common;

use common::{Args, ORDERS};
use cuda_std::{
    cpu::Order,
    kernel::{KernelDescriptor, LaunchConfig},
    map::{MapFn, Passed},
    prelude::*,
    select::{
        self, BLOCK, COUNT, Neighbors, PARTITION, Predicate, ROUNDS, SELECT, SLOTS, SelectKernel,
        select_tiles,
    },
};

/// Multiples of a number, at positions from a first one on.
#[repr(C)]
#[derive(Clone, Copy)]
struct Multiples<T> {
    of: T,
    from: u32,
}

macro_rules! multiples {
    ($($ty:ident)*) => { $(
        // SAFETY: plain numbers.
        unsafe impl MapFn for Multiples<$ty> {
            type In = $ty;
            type Out = bool;

            fn call(self, index: usize, x: $ty) -> bool {
                x % self.of == 0 && index >= self.from as usize
            }
        }
    )* };
}
multiples!(u8 u16 u32 u64);

cuda_std::select_kernel!(
    multiples_u8: Multiples<u8>,
    multiples_u16: Multiples<u16>,
    multiples_u32: Multiples<u32>,
    multiples_u64: Multiples<u64>,
);

/// Where a second array has larger elements.
#[derive(Clone, Copy)]
struct Below;

// SAFETY: no fields.
unsafe impl MapFn for Below {
    type In = (u32, u16);
    type Out = bool;

    fn call(self, _: usize, (x, limit): (u32, u16)) -> bool {
        x < u32::from(limit)
    }
}

cuda_std::select_kernel!(below: Below);

/// Greater than the one before.
#[derive(Clone, Copy)]
struct Rising;

// SAFETY: no fields.
unsafe impl MapFn for Rising {
    type In = (u16, u16);
    type Out = bool;

    fn call(self, _: usize, (x, before): (u16, u16)) -> bool {
        x > before
    }
}

/// # Safety
/// As for `select_tiles`.
#[kernel(launch_bounds(256), marker = RisingKernel)]
unsafe fn rising(
    predicate: Passed<Rising>,
    items: Global<u16>,
    second: Global<u16>,
    mode: u32,
    control: GlobalMut<u64>,
    output: GlobalMut<u16>,
    count: GlobalMut<u64>,
) {
    select_tiles::<_, Neighbors, BLOCK, ROUNDS>(
        predicate, items, second, mode, control, output, count,
    );
}

/// A selection's memory, which launches use one after the other.
struct Run<T> {
    control: Vec<u64>,
    output: Vec<T>,
    count: [u64; 1],
    tiles: u32,
}

impl<T: Copy + Default> Run<T> {
    fn new(items: &[T]) -> Self {
        let tiles = select::tiles::<T>(BLOCK, ROUNDS, items.as_ptr().addr(), items.len());
        Self {
            control: vec![0; select::control_len(tiles)],
            output: vec![T::default(); items.len()],
            count: [77],
            tiles: tiles as u32,
        }
    }

    fn launch<F: Predicate>(
        &mut self,
        kernel: cuda_std::kernel::Entry<select::Parameters<F>>,
        predicate: F,
        items: &mut [T],
        second: &mut [impl Copy],
        mode: u32,
        order: Order,
    ) {
        let args = Args::new()
            .value(Passed::new(predicate))
            .view(items)
            .view(second)
            .value(mode)
            .view(&mut self.control)
            .view(&mut self.output)
            .view(&mut self.count);
        let shared = select::shared_bytes(BLOCK, ROUNDS);
        launch(kernel.descriptor(), self.tiles, shared, &args, order);
    }
}

fn launch(kernel: &KernelDescriptor, blocks: u32, shared: usize, args: &Args, order: Order) {
    let config = LaunchConfig::linear(blocks, BLOCK as u32).with_shared(shared as u32);
    let options = cuda_std::cpu::Options {
        order,
        checks: cuda_std::cpu::Checks::ALL,
        ..Default::default()
    };
    // SAFETY: the arguments are those of the kernel's parameters.
    unsafe { cuda_std::cpu::launch(kernel, &config, &args.pointers(), &options) }.unwrap();
}

/// Checks selection, counting and partition, in turns with one memory.
fn check<T, U, F>(
    kernel: cuda_std::kernel::Entry<select::Parameters<F>>,
    predicate: F,
    (items, second): (&mut [T], &mut [U]),
    selects: impl Fn(usize) -> bool,
    orders: &[Order],
) where
    T: Copy + Default + PartialEq + std::fmt::Debug,
    U: Copy,
    F: Predicate,
{
    let (mut selected, mut others) = (Vec::new(), Vec::new());
    for (i, item) in items.iter().enumerate() {
        if selects(i) {
            &mut selected
        } else {
            &mut others
        }
        .push(*item);
    }
    let mut run = Run::new(items);
    for order in orders {
        let what = format!("{} elements, {order:?}", items.len());
        run.output.fill(T::default());
        run.count = [77];
        run.launch(kernel, predicate, items, second, COUNT, *order);
        assert_eq!(run.count, [selected.len() as u64], "{what}");
        assert!(run.output.iter().all(|x| *x == T::default()), "{what}");
        run.launch(kernel, predicate, items, second, PARTITION, *order);
        assert_eq!(run.output[..selected.len()], selected, "{what}");
        assert_eq!(run.output[selected.len()..], others, "{what}");
        run.output.fill(T::default());
        run.count = [77];
        run.launch(kernel, predicate, items, second, SELECT, *order);
        assert_eq!(run.count, [selected.len() as u64], "{what}");
        assert_eq!(run.output[..selected.len()], selected, "{what}");
        let rest = &run.output[selected.len()..];
        assert!(rest.iter().all(|x| *x == T::default()), "{what}");
    }
}

fn noise(len: usize) -> impl Iterator<Item = u64> {
    let mut state = 99_u64;
    (0..len).map(move |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 20
    })
}

/// An allocation whose elements from the offset on are what is selected from: its start has 16 bytes of alignment.
fn offset<T>(values: &mut Vec<u128>, len: usize, at: usize, of: impl Fn(u64) -> T) -> &mut [T] {
    values.resize((len + at) * size_of::<T>() / 16 + 1, 0);
    // SAFETY: the elements lie in the allocation.
    let elements =
        unsafe { core::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<T>().add(at), len) };
    elements
        .iter_mut()
        .zip(noise(len))
        .for_each(|(to, value)| *to = of(value));
    elements
}

macro_rules! lengths {
    ($($name:ident: $ty:ident;)*) => { $(
        #[test]
        fn $name() {
            let tile = select::tile_len::<$ty>(BLOCK, ROUNDS);
            let lengths = [0, 1, 2, 15, 16, 17, 33, 1000, tile - 1, tile, tile + 1, 2 * tile + 77];
            for len in lengths {
                for at in [0, 1, 16 / size_of::<$ty>() - 1] {
                    for predicate in [
                        Multiples::<$ty> { of: 3, from: 0 },
                        Multiples { of: 1, from: 0 },
                        Multiples { of: 1, from: u32::MAX },
                        Multiples { of: 16, from: 40 },
                    ] {
                        let mut memory = Vec::new();
                        let items = offset(&mut memory, len, at, |value| value as $ty);
                        let copy = items.to_vec();
                        let selects = |i: usize| predicate.call(i, copy[i]);
                        let orders = match len > 1000 {
                            true => &[Order::Seeded(5)][..],
                            false => &[Order::Forward, Order::Seeded(1)],
                        };
                        let none: &mut [u8] = &mut [];
                        let kernel = <Multiples<$ty> as SelectKernel>::KERNEL;
                        check(kernel, predicate, (items, none), selects, orders);
                    }
                }
            }
        }
    )* };
}
lengths! {
    bytes_of_any_number_and_alignment: u8;
    halves_of_any_number_and_alignment: u16;
    words_of_any_number_and_alignment: u32;
    longs_of_any_number_and_alignment: u64;
}

#[test]
fn more_tiles_than_a_warp_looks_at() {
    let len = 70 * select::tile_len::<u64>(BLOCK, ROUNDS) - 5;
    let predicate = Multiples { of: 7, from: 3 };
    for order in ORDERS {
        let mut items: Vec<u64> = noise(len).collect();
        let copy = items.clone();
        let none: &mut [u8] = &mut [];
        let selects = |i: usize| predicate.call(i, copy[i]);
        let kernel = <Multiples<u64> as SelectKernel>::KERNEL;
        check(kernel, predicate, (&mut items, none), selects, &[order]);
    }
}

/// Persistent blocks, fewer and more than tiles, whose memory serves several launches.
#[test]
fn elements_of_every_size_by_persistent_blocks() {
    macro_rules! sizes {
        ($($ty:ident)*) => { $(
            let tile = select::tile_len::<$ty>(BLOCK, ROUNDS);
            let predicate = Multiples::<$ty> { of: 3, from: 7 };
            for len in [1, tile - 1, tile, 9 * tile + 5] {
                let mut memory = Vec::new();
                let items = offset(&mut memory, len, 0, |value| value as $ty);
                let selected = (0..len).filter(|i| predicate.call(*i, items[*i]));
                let selected: Vec<$ty> = selected.map(|i| items[i]).collect();
                let (mut control, mut statuses) = ([0_u64], vec![0_u64; len.div_ceil(tile)]);
                for order in [Order::Forward, Order::Backward, Order::Seeded(6)] {
                    let (mut output, mut count) = (vec![0; len], [77_u64]);
                    let args = Args::new()
                        .value(Passed::new(predicate))
                        .view(items)
                        .view::<u8>(&mut [])
                        .view(&mut control)
                        .view(&mut statuses)
                        .view(&mut output)
                        .view(&mut count);
                    let kernel = <Multiples<$ty> as SelectKernel>::PERSISTENT.descriptor();
                    assert_eq!(kernel.name, concat!("multiples_", stringify!($ty), "__persistent"));
                    launch(kernel, 4, select::ring_bytes(BLOCK, ROUNDS, SLOTS), &args, order);
                    let what = format!("{len} {}, {order:?}", stringify!($ty));
                    assert_eq!(count, [selected.len() as u64], "{what}");
                    assert!(output[..selected.len()] == selected, "{what}");
                    assert!(output[selected.len()..].iter().all(|x| *x == 0), "{what}");
                }
            }
        )* };
    }
    sizes!(u8 u16 u32 u64);
}

#[test]
fn pairs_with_arrays_of_any_alignment() {
    for len in [1, 100, 4096, 9000] {
        for (a, b) in [(0, 0), (1, 1), (3, 2), (0, 1), (2, 7)] {
            let (mut first, mut second) = (Vec::new(), Vec::new());
            let items = offset(&mut first, len, a, |value| value as u32 % 65_536);
            let limits = offset(&mut second, len, b, |value| (value >> 24) as u16);
            let (copy, limited) = (items.to_vec(), limits.to_vec());
            let selects = |i: usize| copy[i] < u32::from(limited[i]);
            let kernel = <Below as SelectKernel>::KERNEL;
            check(kernel, Below, (items, limits), selects, &[Order::Seeded(2)]);
        }
    }
}

#[test]
fn neighbors_across_loads_warps_and_tiles() {
    for len in [0, 1, 2, 9, 1000, 8191, 8192, 8193, 20_000] {
        for at in [0, 1, 5] {
            for modulus in [2, 100, 65_536] {
                let mut memory = Vec::new();
                let items = offset(&mut memory, len, at, |value| (value % modulus) as u16);
                let copy = items.to_vec();
                let selects = |i: usize| i == 0 || copy[i] > copy[i - 1];
                let none: &mut [u16] = &mut [];
                let kernel = cuda_std::kernel::Entry::of::<RisingKernel>();
                check(kernel, Rising, (items, none), selects, &[Order::Seeded(3)]);
            }
        }
    }
}
