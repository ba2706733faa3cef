//! Products of fragments on the CPU executor: layouts, the order of additions, lanes that do not come.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, block, fault};
use cuda_std::{
    async_copy, bf16,
    cpu::FaultKind,
    mma::{self, Layout, Quad, Shape},
    prelude::*,
};

macro_rules! kernels {
    ($($kernel:ident: $product:ident, $a:literal, $b:literal, $c:literal;)*) => { $(
        /// Every warp multiplies its own fragments: lane after lane, each with all of its elements.
        #[kernel]
        pub unsafe fn $kernel(a: Global<f64>, b: Global<f64>, c: GlobalMut<f64>) {
            let lane = thread::thread_idx_x() as usize;
            let from_a = core::array::from_fn(|i| a.get(lane * $a + i));
            let from_b = core::array::from_fn(|i| b.get(lane * $b + i));
            let from_c = core::array::from_fn(|i| c.get(lane * $c + i));
            let sums = mma::$product(from_a, from_b, from_c);
            for i in 0..$c {
                c.set(lane * $c + i, sums[i]);
            }
        }
    )* };
}
kernels! {
    by_m8n8k4: m8n8k4_f64, 1, 1, 2;
    by_m16n8k4: m16n8k4_f64, 2, 1, 4;
    by_m16n8k8: m16n8k8_f64, 4, 2, 4;
    by_m16n8k16: m16n8k16_f64, 8, 4, 4;
}

const SHAPES: [Shape; 6] = [
    mma::M8N8K4_F64,
    mma::M16N8K4_F64,
    mma::M16N8K8_F64,
    mma::M16N8K16_F64,
    mma::M16N8K16_F16,
    mma::M16N8K32_I8,
];

#[test]
fn every_element_of_a_matrix_belongs_to_one_lane() {
    for shape in SHAPES {
        for layout in [shape.a, shape.b, shape.c] {
            let mut found: Vec<_> = (0..32)
                .flat_map(|lane| (0..layout.len()).map(move |i| layout.at(lane, i)))
                .collect();
            found.sort_unstable();
            let rows = 0..layout.rows();
            let all = rows.flat_map(|row| (0..layout.columns()).map(move |column| (row, column)));
            assert_eq!(found, all.collect::<Vec<_>>(), "{layout:?}");
        }
        assert_eq!((shape.a.rows(), shape.b.columns()), (shape.c.rows(), 8));
        assert_eq!(shape.a.columns(), shape.b.rows());
    }
}

/// Some places, from the tables of the PTX ISA.
#[test]
fn layouts_are_those_of_the_instructions() {
    let Shape { a, b, c } = mma::M16N8K16_F64;
    assert_eq!(
        (a.at(0, 0), a.at(0, 1), a.at(0, 2)),
        ((0, 0), (8, 0), (0, 4))
    );
    assert_eq!((a.at(31, 6), a.at(31, 7)), ((7, 15), (15, 15)));
    assert_eq!((b.at(6, 0), b.at(6, 3)), ((2, 1), (14, 1)));
    assert_eq!(
        (c.at(6, 0), c.at(6, 1), c.at(6, 2)),
        ((1, 4), (1, 5), (9, 4))
    );
    let Shape { a, b, c } = mma::M8N8K4_F64;
    assert_eq!(
        (a.at(9, 0), b.at(9, 0), c.at(9, 1)),
        ((2, 1), (1, 2), (2, 3))
    );
}

/// A matrix by rows, of the fragments of a warp.
fn matrix(layout: Layout, fragments: &[f64]) -> Vec<f64> {
    let mut all = vec![f64::NAN; layout.rows() * layout.columns()];
    for (at, value) in fragments.iter().enumerate() {
        let (row, column) = layout.at(at / layout.len(), at % layout.len());
        all[row * layout.columns() + column] = *value;
    }
    all
}

/// The bits of a value, and one pattern for every NaN.
fn bits(value: f64) -> u64 {
    if value.is_nan() {
        u64::MAX
    } else {
        value.to_bits()
    }
}

#[test]
fn products_are_fused_multiply_adds_in_the_order_of_k() {
    let mut state = 1_u64;
    let mut next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 11
    };
    let mut value = move |kind: usize| {
        let fraction = next() as f64 / (1_u64 << 53) as f64 - 0.5;
        match kind {
            // Of one size; of sizes far apart; whose products are subnormal; that cancel.
            0 => fraction,
            1 => fraction * f64::powi(2.0, (next() % 80) as i32 - 40),
            2 => fraction * f64::powi(2.0, -520 - (next() % 20) as i32),
            3 => [1.0, -1.0, 1.0 + f64::EPSILON, -1e-17][next() as usize % 4],
            _ => [
                0.0,
                -0.0,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
                1.0,
                -1e-300,
                f64::MAX,
            ][next() as usize % 8],
        }
    };
    #[allow(clippy::type_complexity)]
    let mut check = |shape: Shape, launch: &dyn Fn(&mut [f64], &mut [f64], &mut [f64])| {
        for kind in 0..5 {
            for _ in 0..8 {
                let mut of = |layout: Layout| -> Vec<f64> {
                    (0..32 * layout.len()).map(|_| value(kind)).collect()
                };
                let (mut a, mut b, mut c) = (of(shape.a), of(shape.b), of(shape.c));
                let [of_a, of_b, mut expected] =
                    [(shape.a, &a), (shape.b, &b), (shape.c, &c)].map(|(at, it)| matrix(at, it));
                for (at, sum) in expected.iter_mut().enumerate() {
                    for k in 0..shape.b.rows() {
                        let from_a = of_a[at / 8 * shape.b.rows() + k];
                        *sum = from_a.mul_add(of_b[k * 8 + at % 8], *sum);
                    }
                }
                launch(&mut a, &mut b, &mut c);
                for (found, expected) in matrix(shape.c, &c).into_iter().zip(expected) {
                    assert_eq!(
                        bits(found),
                        bits(expected),
                        "{shape:?}, kind {kind}: {found} {expected}"
                    );
                }
            }
        }
    };
    macro_rules! check {
        ($($kernel:ident, $shape:ident;)*) => { $(
            for order in ORDERS {
                check(mma::$shape, &|a, b, c| {
                    let args = Args::new().view(a).view(b).view(c);
                    args.launch_in::<$kernel>(block(32), order).unwrap();
                });
            }
        )* };
    }
    check! {
        ByM8n8k4, M8N8K4_F64;
        ByM16n8k4, M16N8K4_F64;
        ByM16n8k8, M16N8K8_F64;
        ByM16n8k16, M16N8K16_F64;
    }
}

#[kernel]
pub unsafe fn without_a_lane(missing: u32, c: GlobalMut<f64>) {
    let lane = warp::lane_id();
    if lane != missing {
        let sums = mma::m8n8k4_f64([1.0], [1.0], [0.0; 2]);
        c.set(lane as usize, sums[0]);
    }
}

#[test]
fn a_lane_that_does_not_come_is_an_error() {
    for order in ORDERS {
        for missing in [0, 9, 31] {
            let mut c = [0.0; 32];
            let args = Args::new().value(missing).view(&mut c);
            let found = fault(args.launch_in::<WithoutALane>(block(32), order));
            // It has returned, or the others wait for it when it returns.
            let is_named = match &found.kind {
                FaultKind::Mask {
                    operation, mask, ..
                } => *operation == "m8n8k4_f64" && *mask == u32::MAX,
                FaultKind::Stuck { waiting, .. } => {
                    waiting.iter().all(|(_, name, _)| *name == "m8n8k4_f64")
                }
                _ => false,
            };
            assert!(is_named, "{order:?}, {missing}: {found}");
        }
    }
    // A warp at the end of a block has too few.
    let mut c = [0.0; 32];
    let args = Args::new().value(99_u32).view(&mut c);
    let found = fault(args.launch::<WithoutALane>(block(31)));
    assert!(matches!(found.kind, FaultKind::Mask { .. }), "{found}");
}

macro_rules! kernels_of_halves {
    ($($kernel:ident $type:ident: $product:ident, $ty:ident;)*) => { $(
        /// The product of matrices in shared memory, A by rows and B by rows or, transposed, by columns: the fragments come
        /// by `ldmatrix`.
        #[kernel]
        pub unsafe fn $kernel(
            a: Global<$ty>,
            b: Global<$ty>,
            c: GlobalMut<f32>,
            a_by_columns: u32,
            b_by_columns: u32,
        ) {
            let lane = thread::thread_idx_x() as usize;
            let (of_a, of_b) = (shared![$ty; 16 * 16], shared![$ty; 16 * 16]);
            let mut i = lane;
            while i < 16 * 16 {
                of_a.set(i, a.get(i));
                of_b.set(i, b.get(i));
                i += 32;
            }
            // SAFETY: all lanes of the warp execute this.
            unsafe { warp::sync_warp(u32::MAX) };
            let (row, first, second) = (lane % 8, lane / 8 % 2 * 8, lane / 16 * 8);
            let from_a = match a_by_columns {
                0 => mma::ldmatrix_x4(of_a, (row + first) * 16 + second),
                _ => mma::ldmatrix_x4_trans(of_a, (row + second) * 16 + first),
            };
            // Two fragments of B: 16 columns.
            let from_b = match b_by_columns {
                0 => mma::ldmatrix_x4_trans(of_b, (row + first) * 16 + second),
                _ => mma::ldmatrix_x4(of_b, (row + second) * 16 + first),
            };
            for half in 0..2 {
                let at = |i| {
                    let (row, column) = mma::M16N8K16_F16.c.at(lane, i);
                    row * 16 + half * 8 + column
                };
                let sums = core::array::from_fn(|i| c.get(at(i)));
                let from_b = [from_b[2 * half], from_b[2 * half + 1]];
                let sums = mma::$product(from_a, from_b, sums);
                for i in 0..4 {
                    c.set(at(i), sums[i]);
                }
            }
        }

        mod $product {
            use super::*;

            /// Whole numbers, whose sums are exact in every order.
            #[test]
            fn gives_the_product_of_fragments_from_shared_memory() {
                let whole = |i: usize| $ty::from_f32((i * 7919 % 31) as f32 - 15.0);
                let a: Vec<$ty> = (0..256).map(whole).collect();
                let b: Vec<$ty> = (0..256).map(|i| whole(i * i + 3)).collect();
                let transposed = |all: &[$ty], is: u32| -> Vec<$ty> {
                    let at = |i: usize| if is == 1 { i % 16 * 16 + i / 16 } else { i };
                    (0..256).map(|i| all[at(i)]).collect()
                };
                for order in ORDERS {
                    for (of_a, of_b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                        let (mut x, mut y) = (transposed(&a, of_a), transposed(&b, of_b));
                        let mut c: Vec<f32> = (0..256).map(|i| i as f32).collect();
                        let args = Args::new().view(&mut x).view(&mut y).view(&mut c);
                        let args = args.value(of_a).value(of_b);
                        args.launch_in::<$type>(block(32), order).unwrap();
                        for (i, found) in c.into_iter().enumerate() {
                            let products = (0..16).map(|k| {
                                a[i / 16 * 16 + k].to_f32() * b[k * 16 + i % 16].to_f32()
                            });
                            let expected = i as f32 + products.sum::<f32>();
                            assert_eq!(found, expected, "{i} {of_a} {of_b} {order:?}");
                        }
                    }
                }
            }

            /// Terms are truncated each for itself, 25 bits after the largest one's point.
            #[test]
            fn truncates_every_term() {
                let mut a = vec![$ty::ZERO; 256];
                let (mut b, mut c) = (vec![$ty::ZERO; 256], vec![1.0_f32; 256]);
                let power = |exponent| $ty::from_f32(2.0_f32.powi(exponent));
                for k in 0..16 {
                    // 16 times 2^-26 beside 1 in row 0, and 2^-25 in row 1.
                    (a[k], a[16 + k], b[k * 16]) = (power(-13), power(-12), power(-13));
                }
                let args = Args::new().view(&mut a).view(&mut b).view(&mut c);
                let args = args.value(0_u32).value(0_u32);
                args.launch::<$type>(block(32)).unwrap();
                assert_eq!((c[0], c[16]), (1.0, 1.0 + 4.0 * f32::EPSILON));
            }
        }
    )* };
}

kernels_of_halves! {
    of_f16 OfF16: m16n8k16_f16, f16;
    of_bf16 OfBf16: m16n8k16_bf16, bf16;
}

/// Some places of 16-bit elements, from the tables of the PTX ISA.
#[test]
fn layouts_of_halves_are_those_of_the_instructions() {
    let Shape { a, b, c } = mma::M16N8K16_F16;
    let of_a = [0, 1, 2, 4, 7].map(|i| a.at(5, i));
    assert_eq!(of_a, [(1, 2), (1, 3), (9, 2), (1, 10), (9, 11)]);
    let of_b = [0, 1, 2, 3].map(|i| b.at(5, i));
    assert_eq!(of_b, [(2, 1), (3, 1), (10, 1), (11, 1)]);
    assert_eq!([0, 1, 2].map(|i| c.at(5, i)), [(1, 2), (1, 3), (9, 2)]);
}

/// Some places of elements of `i8`, from the figures of the PTX ISA.
#[test]
fn layouts_of_i8_are_those_of_the_instructions() {
    let Shape { a, b, c } = mma::M16N8K32_I8;
    let of_a = [0, 3, 4, 8, 15].map(|i| a.at(5, i));
    assert_eq!(of_a, [(1, 4), (1, 7), (9, 4), (1, 20), (9, 23)]);
    let of_b = [0, 3, 4, 7].map(|i| b.at(5, i));
    assert_eq!(of_b, [(4, 1), (7, 1), (20, 1), (23, 1)]);
    assert_eq!([0, 1, 2].map(|i| c.at(5, i)), [(1, 2), (1, 3), (9, 2)]);
}

/// Adds the product of 16 rows of A and 16 columns of B, each with 32 elements, to C. The fragments come by `ldmatrix`.
#[kernel]
pub unsafe fn of_i8(a: Global<i8>, b: Global<i8>, c: GlobalMut<i32>) {
    let lane = thread::thread_idx_x() as usize;
    let (of_a, of_b) = (shared![i8; 16 * 32], shared![i8; 16 * 32]);
    of_a.set_chunk(16 * lane, a.get_chunk::<16>(16 * lane));
    of_b.copy_async_chunk::<16>(16 * lane, b, 16 * lane);
    async_copy::commit_group();
    async_copy::wait_all();
    // SAFETY: all lanes of the warp execute this.
    unsafe { warp::sync_warp(u32::MAX) };
    let (row, first, second) = (lane % 8, lane / 8 % 2, lane / 16);
    let from_a = mma::ldmatrix_x4(of_a, (row + 8 * first) * 32 + 16 * second);
    // Two fragments of B: 16 columns.
    let from_b = mma::ldmatrix_x4(of_b, (row + 8 * second) * 32 + 16 * first);
    for half in 0..2 {
        let at = |i| {
            let (row, column) = mma::M16N8K32_I8.c.at(lane, i);
            row * 16 + half * 8 + column
        };
        let sums = core::array::from_fn(|i| c.get(at(i)));
        let from_b = [from_b[2 * half], from_b[2 * half + 1]];
        let sums = mma::m16n8k32_i8(from_a, from_b, sums);
        for (i, sum) in sums.into_iter().enumerate() {
            c.set(at(i), sum);
        }
    }
}

#[test]
fn products_of_i8_are_exact_and_wrap_around() {
    // Without a pattern, and the smallest ones in the first row of A and the first column of B.
    let element = |seed: usize, i: usize| match i < 32 {
        true => i8::MIN,
        false => ((i + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as i8,
    };
    let of_c = |i: usize| [i32::MAX, i32::MIN, 5][i % 3];
    for order in ORDERS {
        let mut a: Vec<i8> = (0..512).map(|i| element(1, i)).collect();
        let mut b: Vec<i8> = (0..512).map(|i| element(2, i)).collect();
        let mut c: Vec<i32> = (0..256).map(of_c).collect();
        let args = Args::new().view(&mut a).view(&mut b).view(&mut c);
        args.launch_in::<OfI8>(block(32), order).unwrap();
        let mut wrapped = 0;
        for (i, found) in c.into_iter().enumerate() {
            let [a, b] = [&a[i / 16 * 32..], &b[i % 16 * 32..]];
            let products = (0..32).map(|k| i64::from(a[k]) * i64::from(b[k]));
            let expected = i64::from(of_c(i)) + products.sum::<i64>();
            assert_eq!(found, expected as i32, "{i} {order:?}");
            wrapped += usize::from(i64::from(found) != expected);
        }
        assert!(wrapped > 64, "{wrapped}");
    }
}

#[test]
fn quads_have_the_first_element_in_the_low_bits() {
    let elements = [1, -2, i8::MIN, i8::MAX];
    let quad = Quad::new(elements);
    assert_eq!(quad.values(), elements);
    assert_eq!(Quad::<i8>::ZERO.values(), [0; 4]);
    // SAFETY: a quad is a word of 32 bits.
    let bits = unsafe { core::mem::transmute::<Quad<i8>, u32>(quad) };
    assert_eq!(bits, 0x7F80_FE01);
}

#[kernel]
pub unsafe fn unaligned_row(c: GlobalMut<f32>) {
    let rows = shared![f16; 32 * 8 + 8];
    let lane = thread::thread_idx_x() as usize;
    let mut i = lane;
    while i < rows.len() {
        rows.set(i, f16::ZERO);
        i += 32;
    }
    // SAFETY: all lanes of the warp execute this.
    unsafe { warp::sync_warp(u32::MAX) };
    let pairs = mma::ldmatrix_x4(rows, lane * 8 + usize::from(lane == 3));
    c.set(lane, pairs[0].values()[0].to_f32());
}

#[test]
fn a_row_that_is_not_aligned_is_an_error() {
    let mut c = [0.0; 32];
    let found = fault(Args::new().view(&mut c).launch::<UnalignedRow>(block(32)));
    assert!(
        matches!(found.kind, FaultKind::Misaligned { .. }),
        "{found}"
    );
}
