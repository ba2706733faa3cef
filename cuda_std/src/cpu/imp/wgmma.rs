//! Products of warpgroups on the CPU executor: the last lane that waits computes all sums.

use super::{
    super::{
        block::{Elements, OfLane, Product, Tile, WARPGROUP},
        fault::FaultKind,
        lane::Lane,
    },
    Place, check_within,
    tensor_sum::{self, Factors, Precision},
};
use float8::{F8E4M3, F8E5M2};

use crate::{
    tensor_map::Swizzle,
    wgmma::{self, Factor, Format, Sums},
};

/// What sums need on the GPU.
pub trait Registers {}
impl<T, const N: usize> Registers for [T; N] {}

/// A tile of a product.
#[derive(Clone, Copy)]
pub struct Operand(Tile);

/// Checks a tile of `rows` rows of A or columns of B: bounds, and a start at a multiple of 1024.
#[track_caller]
pub fn operand<T: Factor, const ALONG_K: bool>(
    start: *const T,
    len: usize,
    i: usize,
    rows: usize,
    place: Place,
) -> Operand {
    check_within(start, len, i, rows * T::DEPTH, false);
    let address = start.wrapping_add(i).expose_provenance();
    if !address.is_multiple_of(1024) {
        let lane = Lane::current();
        let kind = FaultKind::Misaligned {
            view: None,
            index: i,
            address,
            required: 1024,
            at: place.0,
        };
        lane.block().fail(lane, kind);
    }
    Operand(Tile {
        start: address,
        rows,
        along_k: ALONG_K,
    })
}

/// The bytes of a line of a tile.
const LINE: usize = 128;

/// Returns the bytes of an element.
fn element_bytes(format: Format) -> usize {
    match format {
        Format::F16 | Format::Bf16 => 2,
        Format::Tf32 => 4,
        Format::I8 | Format::E4m3 | Format::E5m2 => 1,
    }
}

/// Reads the bits of the elements of a tile, row after row of A (column after column of B).
fn read(tile: Tile, format: Format) -> Vec<u32> {
    let start = core::ptr::with_exposed_provenance::<u8>(tile.start);
    let bytes = element_bytes(format);
    let depth = LINE / bytes;
    let mut elements = Vec::with_capacity(tile.rows * depth);
    for row in 0..tile.rows {
        for k in 0..depth {
            let place = match tile.along_k {
                true => row * LINE + k * bytes,
                false => row / 64 * (64 * LINE) + k * LINE + row % 64 * bytes,
            };
            let element = start.wrapping_add(Swizzle::Bytes128.place(place));
            // SAFETY: the view of the tile has these bytes, in shared memory, which lives as long as the block. They are
            // aligned, because the tile is.
            elements.push(unsafe {
                match bytes {
                    1 => element.read().into(),
                    2 => element.cast::<u16>().read().into(),
                    _ => element.cast::<u32>().read(),
                }
            });
        }
    }
    elements
}

pub fn begin(place: Place) {
    let lane = Lane::current();
    lane.block().products_begin(lane, place.0);
}

/// # Safety
/// The operands must be of tiles in shared memory.
pub unsafe fn multiply<
    S: Sums,
    T: Factor,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
    const ADDS: bool,
>(
    sums: &mut S,
    Operand(a): Operand,
    Operand(b): Operand,
    place: Place,
) {
    let product = Product {
        a: Some(a),
        b,
        format: T::FORMAT,
        adds: ADDS,
    };
    start(sums, product, [0; 16], place);
}

/// # Safety
/// The operand must be of a tile in shared memory.
pub unsafe fn multiply_registers<S: Sums, T: Factor, const ADDS: bool>(
    sums: &mut S,
    a: OfLane,
    Operand(b): Operand,
    place: Place,
) {
    let product = Product {
        a: None,
        b,
        format: T::FORMAT,
        adds: ADDS,
    };
    start(sums, product, a, place);
}

fn start<S: Sums>(sums: &mut S, product: Product, of_a: OfLane, place: Place) {
    let lane = Lane::current();
    let sums = (&raw const *sums).addr();
    let block = lane.block();
    block.product_starts(lane, product, of_a, sums, place.0, read);
}

#[track_caller]
pub fn commit() {
    let lane = Lane::current();
    let at = Place::here().0;
    lane.block().products_commit(lane, at, read);
}

/// Waits for all groups. No tile that is used as it should be changes before the wait for the `LATER` last ones.
pub fn wait<S: Sums, const LATER: u32>(sums: &mut S, place: Place) {
    let lane = Lane::current();
    let sums = (&raw mut *sums).expose_provenance();
    let complete = |products: &[(Product, Elements, Vec<OfLane>)], all: &[usize; WARPGROUP]| {
        // SAFETY: every lane waits in this function for sums of this size, which it has borrowed.
        unsafe { add_products(products, all, S::COLUMNS) }
    };
    lane.block()
        .products_wait(lane, (sums, S::COLUMNS), place.0, read, complete);
}

/// Returns the elements of A row after row from the lanes' registers. Those of `bytes` bytes each lie in a register from the
/// lowest bits on.
fn rows_of(registers: &[OfLane], bytes: usize) -> Vec<u32> {
    let (in_register, depth) = (4 / bytes, LINE / bytes);
    let mut elements = vec![0; 64 * depth];
    for (thread, of_lane) in registers.iter().enumerate() {
        for (i, bits) in of_lane.iter().enumerate() {
            let (row, word) = wgmma::place_of_a(thread, i);
            for j in 0..in_register {
                let element = bits >> (8 * bytes * j) & (u32::MAX >> (32 - 8 * bytes));
                elements[row * depth + word * in_register + j] = element;
            }
        }
    }
    elements
}

/// Adds products to the sums at these addresses, one for each lane.
///
/// # Safety
/// At each address must be `columns / 2` sums that nothing else uses.
unsafe fn add_products(
    products: &[(Product, Elements, Vec<OfLane>)],
    all: &[usize; WARPGROUP],
    columns: usize,
) {
    for (product, [a, b], registers) in products {
        let collected;
        let a = match product.a {
            Some(_) => a,
            None => {
                collected = rows_of(registers, element_bytes(product.format));
                &collected
            }
        };
        if !product.adds {
            // SAFETY: by the contract; of both types of sums all bits are 0 in 0.
            unsafe { each_sum(all, columns, |_, _, _: u32| 0) };
        }
        let f16 = |bits| half::f16::from_bits(bits as u16);
        let bf16 = |bits| half::bf16::from_bits(bits as u16);
        let tf32 = |bits| f32::from_bits(bits & !0x1FFF);
        let e4m3 = |bits| F8E4M3::from_bits(bits as u8);
        let e5m2 = |bits| F8E5M2::from_bits(bits as u8);
        let (halves, eight_bits) = (Precision::HALVES, Precision::EIGHT_BITS);
        // SAFETY: by the contract; sums have the type of the format.
        unsafe {
            match product.format {
                Format::F16 => add_product::<_, 16>(a, b, f16, halves, all, columns),
                Format::Bf16 => add_product::<_, 16>(a, b, bf16, halves, all, columns),
                Format::Tf32 => add_product::<_, 8>(a, b, tf32, halves, all, columns),
                Format::E4m3 => add_product::<_, 32>(a, b, e4m3, eight_bits, all, columns),
                Format::E5m2 => add_product::<_, 32>(a, b, e5m2, eight_bits, all, columns),
                Format::I8 => each_sum(all, columns, |row, column, sum: i32| {
                    let [a, b] =
                        [(a, row), (b, column)].map(|(of, line)| &of[line * LINE..][..LINE]);
                    let product = |(a, b): (&u32, &u32)| i32::from(*a as i8) * i32::from(*b as i8);
                    a.iter().zip(b).map(product).fold(sum, i32::wrapping_add)
                }),
            }
        }
    }
}

/// Adds a product, `AT_ONCE` elements along k at a time.
///
/// # Safety
/// As for [`add_products`].
unsafe fn add_product<T: tensor_sum::Factor, const AT_ONCE: usize>(
    a: &[u32],
    b: &[u32],
    of_bits: impl Fn(u32) -> T,
    precision: Precision,
    all: &[usize; WARPGROUP],
    columns: usize,
) {
    let runs = a.len() / 64 / AT_ONCE;
    let [a, b] = [a, b].map(|all| {
        let values = all.iter().map(|bits| of_bits(*bits));
        Factors::<T, AT_ONCE>::new(values.collect())
    });
    let add = |row, column, sum| {
        (0..runs).fold(sum, |sum, run| {
            let (row, column) = (row * runs + run, column * runs + run);
            a.sum(row, &b, column, sum, precision)
        })
    };
    // SAFETY: by the contract.
    unsafe { each_sum(all, columns, add) };
}

/// Replaces each sum by what `next` makes of its row, its column and itself.
///
/// # Safety
/// As for [`add_products`], and the sums are of type `S`.
unsafe fn each_sum<S: Copy>(
    all: &[usize; WARPGROUP],
    columns: usize,
    next: impl Fn(usize, usize, S) -> S,
) {
    for (thread, sums) in all.iter().enumerate() {
        let sums = core::ptr::with_exposed_provenance_mut::<S>(*sums);
        for i in 0..columns / 2 {
            let (row, column) = wgmma::place(thread, i);
            // SAFETY: by the contract.
            let sum = unsafe { &mut *sums.add(i) };
            *sum = next(row, column, *sum);
        }
    }
}
