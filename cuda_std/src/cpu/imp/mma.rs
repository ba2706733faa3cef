//! Products of matrices by warps on the CPU executor: the last lane that comes computes all elements.

use core::cell::Cell;

use half::{bf16, f16};

use super::{
    Place,
    tensor_sum::{Precision, tensor_sum},
    warp::{lanes, mutated, operation},
};
use crate::{
    cpu::block::Offer,
    mma::{self, Layout, Pair, Quad, Shape},
    warp::FULL_MASK,
};

/// The most elements of A, and of B.
const MOST: usize = 16 * 32;

/// The fragments of a lane.
struct Fragments<T, S, const A: usize, const B: usize, const C: usize> {
    a: [T; A],
    b: [T; B],
    /// C; then D.
    c: Cell<[S; C]>,
}

/// The pairs of elements of a row of A and a column of B, which is `n` elements wide.
#[derive(Clone)]
struct Pairs<'a, T> {
    row: &'a [T],
    column: &'a [T],
    n: usize,
}

impl<'a, T: Copy> Pairs<'a, T> {
    fn iter(&self) -> impl Iterator<Item = (T, T)> + Clone + 'a {
        let column = self.column.iter().step_by(self.n);
        self.row.iter().copied().zip(column.copied())
    }
}

/// Lets the lanes of the warp meet, and returns this lane's fragment of D. `dot` adds the products of a row of A and a column
/// of B to an element of C. `none` stands for the elements of a lane that a mutation leaves out.
fn product<T: Copy, S: Copy, const A: usize, const B: usize, const C: usize>(
    name: &'static str,
    shape: Shape,
    (a, b, c): ([T; A], [T; B], [S; C]),
    none: T,
    place: Place,
    dot: impl Fn(Pairs<'_, T>, S) -> S,
) -> [S; C] {
    let mask = mutated(name, FULL_MASK, place);
    let c = Cell::new(c);
    let fragments = Fragments { a, b, c };
    let offer = Offer {
        value: (&raw const fragments).expose_provenance() as u64,
        argument: 0,
    };
    operation(name, mask, offer, place, |offers, _| {
        let of = |lane: usize| -> &Fragments<T, S, A, B, C> {
            let address = core::ptr::with_exposed_provenance(offers[lane].value as usize);
            // SAFETY: the lane of the mask has come with these fragments, of the same types since its operation has the same
            // name, and waits in this function.
            unsafe { &*address }
        };
        let (mut all_a, mut all_b) = ([none; MOST], [none; MOST]);
        let place = |layout: Layout, lane, i| {
            let (row, column) = layout.at(lane, i);
            row * layout.columns() + column
        };
        for lane in lanes(mask) {
            let fragments = of(lane);
            for (i, value) in fragments.a.iter().enumerate() {
                all_a[place(shape.a, lane, i)] = *value;
            }
            for (i, value) in fragments.b.iter().enumerate() {
                all_b[place(shape.b, lane, i)] = *value;
            }
        }
        for lane in lanes(mask) {
            let mut sums = of(lane).c.get();
            for (i, sum) in sums.iter_mut().enumerate() {
                let (row, column) = shape.c.at(lane, i);
                let (k, n) = (shape.b.rows(), shape.b.columns());
                let pairs = Pairs {
                    row: &all_a[row * k..(row + 1) * k],
                    column: &all_b[column..],
                    n,
                };
                *sum = dot(pairs, *sum);
            }
            of(lane).c.set(sums);
        }
    });
    fragments.c.get()
}

macro_rules! products_f64 {
    ($($name:ident, $shape:ident: $a:literal, $b:literal, $c:literal;)*) => { $(
        pub fn $name(a: [f64; $a], b: [f64; $b], c: [f64; $c], place: Place) -> [f64; $c] {
            let name = stringify!($name);
            product(name, mma::$shape, (a, b, c), UNDEFINED, place, |pairs, c| {
                pairs.iter().fold(c, |sum, (a, b)| a.mul_add(b, sum))
            })
        }
    )* };
}

/// An element of a lane that does not take part.
const UNDEFINED: f64 = f64::from_bits(0xA5A5_A5A5_A5A5_A5A5);

products_f64! {
    m8n8k4_f64, M8N8K4_F64: 1, 1, 2;
    m16n8k4_f64, M16N8K4_F64: 2, 1, 4;
    m16n8k8_f64, M16N8K8_F64: 4, 2, 4;
    m16n8k16_f64, M16N8K16_F64: 8, 4, 4;
}

macro_rules! products_of_halves {
    ($($name:ident: $ty:ident;)*) => { $(
        pub fn $name(
            a: [Pair<$ty>; 4],
            b: [Pair<$ty>; 2],
            c: [f32; 4],
            place: Place,
        ) -> [f32; 4] {
            let name = stringify!($name);
            let [[a0, a1], [a2, a3], [a4, a5], [a6, a7]] = a.map(Pair::values);
            let [[b0, b1], [b2, b3]] = b.map(Pair::values);
            let (a, b) = ([a0, a1, a2, a3, a4, a5, a6, a7], [b0, b1, b2, b3]);
            let none = $ty::from_bits(0xA5A5);
            product(name, mma::M16N8K16_F16, (a, b, c), none, place, |pairs, c| {
                tensor_sum(c, pairs.iter(), Precision::HALVES)
            })
        }
    )* };
}

products_of_halves! {
    m16n8k16_f16: f16;
    m16n8k16_bf16: bf16;
}

pub fn m16n8k32_i8(a: [Quad<i8>; 4], b: [Quad<i8>; 2], c: [i32; 4], place: Place) -> [i32; 4] {
    let a: [i8; 16] = core::array::from_fn(|i| a[i / 4].values()[i % 4]);
    let b: [i8; 8] = core::array::from_fn(|i| b[i / 4].values()[i % 4]);
    let (shape, none) = (mma::M16N8K32_I8, 0xA5_u8 as i8);
    product("m16n8k32_i8", shape, (a, b, c), none, place, |pairs, c| {
        let products = pairs.iter().map(|(a, b)| i32::from(a) * i32::from(b));
        products.fold(c, i32::wrapping_add)
    })
}

/// Returns a pair times 256.
pub fn times_256(pair: Pair<f16>) -> Pair<f16> {
    Pair::new(
        pair.values()
            .map(|value| f16::from_f32(value.to_f32() * 256.0)),
    )
}

/// Returns the two nearest elements, the first one in the low bits.
pub fn rounded<T: mma::Half>(values: [f32; 2]) -> u32 {
    let [low, high] = values.map(|value| u32::from(T::nearest(value).bits()));
    high << 16 | low
}

/// Each lane loads its row; the last lane that comes distributes all elements. Two adjacent ones of 8 bits go as one of 16.
///
/// # Safety
/// The lane's row of 16 bytes at `from + offset` must be in shared memory and aligned to 16 bytes.
pub unsafe fn ldmatrix<const TRANSPOSED: bool>(
    from: *mut u8,
    offset: usize,
    place: Place,
) -> [u32; 4] {
    struct Part {
        row: [u16; 8],
        result: Cell<[u32; 4]>,
    }
    let name = match TRANSPOSED {
        false => "ldmatrix_x4",
        true => "ldmatrix_x4_trans",
    };
    let mask = mutated(name, FULL_MASK, place);
    let part = Part {
        // SAFETY: the caller upholds the contract.
        row: unsafe { super::load(from.add(offset).cast::<u16>()) },
        result: Cell::new([0xA5A5_A5A5; 4]),
    };
    let offer = Offer {
        value: (&raw const part).expose_provenance() as u64,
        argument: 0,
    };
    operation(name, mask, offer, place, |offers, _| {
        let of = |lane: usize| -> Option<&Part> {
            let address = core::ptr::with_exposed_provenance(offers[lane].value as usize);
            // SAFETY: the lane of the mask has come with this part and waits in this function.
            (mask >> lane & 1 == 1).then(|| unsafe { &*address })
        };
        let element = |matrix: usize, row: usize, column: usize| {
            u32::from(of(8 * matrix + row).map_or(0xA5A5, |part: &Part| part.row[column]))
        };
        for lane in lanes(mask) {
            let (line, first) = (lane / 4, lane % 4 * 2);
            let words = [0, 1, 2, 3].map(|matrix| {
                let [low, high] = [first, first + 1].map(|at| match TRANSPOSED {
                    false => element(matrix, line, at),
                    true => element(matrix, at, line),
                });
                high << 16 | low
            });
            if let Some(part) = of(lane) {
                part.result.set(words);
            }
        }
    });
    part.result.get()
}

/// The last lane that comes gives every lane the elements of its row, which the lane then stores.
///
/// # Safety
/// The lane's row of 16 bytes at `to + offset` must be in shared memory and aligned to 16 bytes.
pub unsafe fn stmatrix(to: *mut u8, offset: usize, words: [u32; 4], place: Place) {
    struct Part {
        words: [u32; 4],
        row: Cell<[u32; 4]>,
    }
    let mask = mutated("stmatrix_x4", FULL_MASK, place);
    let part = Part {
        words,
        row: Cell::new([0xA5A5_A5A5; 4]),
    };
    let offer = Offer {
        value: (&raw const part).expose_provenance() as u64,
        argument: 0,
    };
    operation("stmatrix_x4", mask, offer, place, |offers, _| {
        let of = |lane: usize| -> Option<&Part> {
            let address = core::ptr::with_exposed_provenance(offers[lane].value as usize);
            // SAFETY: the lane of the mask has come with this part and waits in this function.
            (mask >> lane & 1 == 1).then(|| unsafe { &*address })
        };
        for lane in lanes(mask) {
            let (matrix, row) = (lane / 8, lane % 8);
            let words = [0, 1, 2, 3]
                .map(|i| of(4 * row + i).map_or(0xA5A5_A5A5, |part: &Part| part.words[matrix]));
            if let Some(part) = of(lane) {
                part.row.set(words);
            }
        }
    });
    // SAFETY: the caller upholds the contract.
    unsafe { super::store(to.add(offset).cast::<u32>(), part.row.get()) };
}
