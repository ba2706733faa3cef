//! Products of warpgroups on the CPU executor: the last lane that waits computes all sums.

use half::{bf16, f16};

use super::{
    super::{
        block::{Elements, Product, Tile, WARPGROUP},
        fault::FaultKind,
        lane::Lane,
    },
    Place, check_within,
    mma::FRACTION_BITS,
    tensor_sum::{AT_ONCE, Factor, Factors},
};
use crate::{
    mma::Half,
    tensor_map::Swizzle,
    wgmma::{self, DEPTH, PANEL, Sums},
};

/// What sums need on the GPU.
pub trait Registers {}
impl<const N: usize> Registers for [f32; N] {}

/// A tile of a product.
#[derive(Clone, Copy)]
pub struct Operand(Tile);

/// Checks a tile of `rows` rows of A or columns of B: bounds, and a start at a multiple of 1024.
#[track_caller]
pub fn operand<T, const ALONG_K: bool>(
    start: *const T,
    len: usize,
    i: usize,
    rows: usize,
    place: Place,
) -> Operand {
    check_within(start, len, i, rows * DEPTH, false);
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

/// Returns where the element of a row of A (a column of B) at `k` lies: its place in a tile, in bytes.
fn byte(along_k: bool, row: usize, k: usize) -> usize {
    Swizzle::Bytes128.place(match along_k {
        true => row * 128 + k * 2,
        false => row / 64 * 2 * PANEL + k * 128 + row % 64 * 2,
    })
}

/// Reads the elements of a tile, row after row of A (column after column of B).
fn read(tile: Tile) -> Vec<u16> {
    let start = core::ptr::with_exposed_provenance::<u8>(tile.start);
    let mut elements = Vec::with_capacity(tile.rows * DEPTH);
    for row in 0..tile.rows {
        for k in 0..DEPTH {
            let element = start.wrapping_add(byte(tile.along_k, row, k));
            // SAFETY: the view of the tile has these bytes, in shared memory, which lives as long as the block. They are
            // aligned, because the tile is.
            elements.push(unsafe { element.cast::<u16>().read() });
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
pub unsafe fn add<S: Sums, T: Half, const A_ALONG_K: bool, const B_ALONG_K: bool>(
    sums: &mut S,
    Operand(a): Operand,
    Operand(b): Operand,
    place: Place,
) {
    let lane = Lane::current();
    let product = Product {
        a,
        b,
        is_bf16: T::IS_BF16,
    };
    let sums = (&raw const *sums).addr();
    let block = lane.block();
    block.product_starts(lane, product, sums, place.0, read);
}

#[track_caller]
pub fn commit() {
    let lane = Lane::current();
    let at = Place::here().0;
    lane.block().products_commit(lane, at, read);
}

pub fn wait<S: Sums>(sums: &mut S, place: Place) {
    let lane = Lane::current();
    let sums = (sums.as_mut().as_mut_ptr()).expose_provenance();
    let complete = |products: &[(Product, Elements)], all: &[usize; WARPGROUP]| {
        // SAFETY: every lane waits in this function for sums of this size, which it has borrowed.
        unsafe { add_products(products, all, S::COLUMNS) }
    };
    lane.block()
        .products_wait(lane, (sums, S::COLUMNS), place.0, read, complete);
}

/// Adds products to the sums at these addresses, one for each lane.
///
/// # Safety
/// At each address must be `columns / 2` sums that nothing else uses.
unsafe fn add_products(products: &[(Product, Elements)], all: &[usize; WARPGROUP], columns: usize) {
    for (product, [a, b]) in products {
        match product.is_bf16 {
            // SAFETY: by the contract.
            false => unsafe { add_product(a, b, f16::from_bits, all, columns) },
            // SAFETY: by the contract.
            true => unsafe { add_product(a, b, bf16::from_bits, all, columns) },
        }
    }
}

/// # Safety
/// As for [`add_products`].
unsafe fn add_product<T: Factor>(
    a: &[u16],
    b: &[u16],
    of_bits: fn(u16) -> T,
    all: &[usize; WARPGROUP],
    columns: usize,
) {
    const RUNS: usize = DEPTH / AT_ONCE;
    let factors = |bits: &[u16]| Factors::new(bits.iter().map(|bits| of_bits(*bits)).collect());
    let (a, b) = (factors(a), factors(b));
    for (thread, sums) in all.iter().enumerate() {
        let sums = core::ptr::with_exposed_provenance_mut::<f32>(*sums);
        for i in 0..columns / 2 {
            let (row, column) = wgmma::place(thread, i);
            let add = |sum, run| {
                let (row, column) = (row * RUNS + run, column * RUNS + run);
                a.sum(row, &b, column, sum, FRACTION_BITS)
            };
            // SAFETY: by the contract.
            let sum = unsafe { &mut *sums.add(i) };
            *sum = (0..RUNS).fold(*sum, add);
        }
    }
}
