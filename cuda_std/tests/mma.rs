//! Products of fragments on the CPU executor: layouts, the order of additions, lanes that do not come.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, block, fault};
use cuda_std::{
    cpu::FaultKind,
    mma::{self, Layout, Shape},
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

const SHAPES: [Shape; 4] = [
    mma::M8N8K4_F64,
    mma::M16N8K4_F64,
    mma::M16N8K8_F64,
    mma::M16N8K16_F64,
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
