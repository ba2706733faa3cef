//! Products of matrices by warps on the CPU executor: the last lane that comes computes all elements.

use core::cell::Cell;

use super::{
    Place,
    warp::{lanes, mutated, operation},
};
use crate::{
    cpu::block::Offer,
    mma::{self, Layout, Shape},
    warp::FULL_MASK,
};

/// The most elements of A, and of B.
const MOST: usize = 16 * 16;

/// The fragments of a lane.
struct Fragments<T, S, const A: usize, const B: usize, const C: usize> {
    a: [T; A],
    b: [T; B],
    /// C; then D.
    c: Cell<[S; C]>,
}

/// Lets the lanes of the warp meet, and returns this lane's fragment of D. `dot` adds the products of a row of A and a column
/// of B to an element of C. `none` stands for the elements of a lane that a mutation leaves out.
fn product<T: Copy, S: Copy, const A: usize, const B: usize, const C: usize>(
    name: &'static str,
    shape: Shape,
    (a, b, c): ([T; A], [T; B], [S; C]),
    none: T,
    place: Place,
    dot: impl Fn(&mut dyn Iterator<Item = (T, T)>, S) -> S,
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
                let mut pairs = (0..k).map(|k_| (all_a[row * k + k_], all_b[k_ * n + column]));
                *sum = dot(&mut pairs, *sum);
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
                pairs.fold(c, |sum, (a, b)| a.mul_add(b, sum))
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
