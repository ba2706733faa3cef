//! Transposes: every variant, every element size, any shape.

use std::fmt::Debug;

use bytemuck::Pod;
use rand::Rng;
use warpwright::{Error, Matrix};
use warpwright_gpu::{
    transpose::{
        FAMILY, Variant,
        policy::{Cut, cut},
    },
    tuning::{ARCHITECTURE, chosen},
};
use warpwright_tests::{
    cases::{self, OFFSETS, Problem},
    compare, data,
    devices::{self, Executor},
    oracle,
};

/// A matrix, below `above` rows of another one.
#[derive(Debug)]
struct Shape {
    executor: Executor,
    height: usize,
    width: usize,
    above: usize,
}

impl Problem for Shape {
    fn executor(&self) -> Executor {
        self.executor
    }
}

/// How the variants cut matrices of elements of so many bytes.
fn shipped_cuts(element_bytes: usize) -> [Cut; FAMILY.variants.len()] {
    let best = chosen(ARCHITECTURE, element_bytes);
    Variant::ALL.map(|variant| cut(variant, best, element_bytes))
}

/// Shapes for elements of so many bytes.
fn shapes(element_bytes: usize) -> Vec<Shape> {
    let mut sides = vec![0, 1, 2, 31, 32, 33];
    for cut in shipped_cuts(element_bytes) {
        for side in [cut.tile_width, cut.tile_height] {
            sides.extend([side - 1, side, side + 1, 2 * side - 1, 2 * side + 1]);
        }
    }
    sides.sort_unstable();
    sides.dedup();
    let mut shapes = Vec::new();
    for executor in Executor::ALL {
        let mut push = |height, width, above| {
            shapes.push(Shape {
                executor,
                height,
                width,
                above,
            });
        };
        for height in &sides {
            for width in &sides {
                push(*height, *width, 0);
            }
        }
        // Primes, long and thin ones, and one large.
        for (height, width) in [(127, 131), (1009, 3), (3, 1009), (1, 65537), (65537, 1)] {
            push(height, width, 0);
        }
        match executor {
            Executor::Cpu => push(521, 509, 0),
            Executor::Cuda => {
                push(4099, 4093, 0);
                push(3, (1 << 22) + 1, 0);
                push((1 << 22) + 1, 3, 0);
            }
        }
        // Rows of an odd width: their first element is aligned to nothing but its size.
        for above in OFFSETS {
            for (height, width) in [(1, 33), (33, 1), (17, 33), (64, 31), (40, 129)] {
                push(height, width, above);
            }
            // A tile of `best` with others above and below, and a sector more.
            let best = shipped_cuts(element_bytes)[FAMILY.variants.len() - 1];
            for width in [best.tile_width + 1, 2 * best.tile_width - 3] {
                push(3 * best.tile_height + 5, width, above);
            }
        }
    }
    shapes
}

fn check<T: Pod + Debug + Send + Sync>() {
    cases::run(
        &shapes(size_of::<T>()),
        |_| {
            cases::variants("transpose")
                .iter()
                .map(|variant| variant.name)
                .collect()
        },
        |device, shape| {
            let mut values = vec![T::zeroed(); (shape.above + shape.height) * shape.width];
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
            data::generator(shape.height as u64).fill(bytes);
            let wanted = &values[shape.above * shape.width..];
            let wanted = oracle::transpose(wanted, shape.height, shape.width);
            let matrix = device.upload_matrix(&values, shape.above + shape.height, shape.width)?;
            Ok((matrix, wanted))
        },
        |device, shape, (matrix, wanted), variant| {
            let rows = matrix
                .rows(shape.above..)
                .map_err(|error| error.to_string())?;
            let got = device.transpose_request(rows).variant(*variant).run();
            let got = got.map_err(|error| error.to_string())?;
            compare::same(&(got.height(), got.width()), &(shape.width, shape.height))?;
            compare::same_bits(&got.to_vec().map_err(|error| error.to_string())?, wanted)
        },
    );
}

macro_rules! elements {
    ($($name:ident: $ty:ty;)*) => { $(
        #[test]
        fn $name() {
            check::<$ty>();
        }
    )* };
}
elements! {
    one_byte: u8;
    two_bytes: u16;
    four_bytes: u32;
    eight_bytes: u64;
    sixteen_bytes: u128;
    // Elements that are less aligned than they are large.
    four_times_one_byte: [u8; 4];
    four_times_four_bytes: [f32; 4];
}

#[test]
fn the_library_takes_best_and_says_who_chose() {
    use warpwright::ops::ChosenBy;
    let device = devices::cpu();
    let matrix = device
        .upload_matrix(&[1.0_f64, 2.0, 3.0, 4.0], 2, 2)
        .unwrap();
    let prepared = device.transpose_request(&matrix).prepare().unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        ("best", ChosenBy::Policy)
    );
    let prepared = device
        .transpose_request(&matrix)
        .variant("naive")
        .prepare()
        .unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        ("naive", ChosenBy::Caller)
    );
    assert_eq!(
        device.transpose(&matrix).unwrap().to_vec().unwrap(),
        [1.0, 3.0, 2.0, 4.0]
    );
}

#[test]
fn elements_of_another_size_are_refused() {
    for device in devices::all() {
        let matrix = device.upload_matrix(&[[1_u8, 2, 3]; 4], 2, 2).unwrap();
        let error = device.transpose(&matrix).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Invalid {
                    operation: "transpose",
                    ..
                }
            ),
            "{error:?}"
        );
        let text = error.to_string();
        assert!(
            text.contains("1, 2, 4, 8 or 16") && text.contains('3'),
            "{text}"
        );
    }
}

#[test]
fn an_unknown_variant_is_refused_and_the_known_ones_are_named() {
    let device = devices::cpu();
    let matrix = device.zeros_matrix::<u8>(2, 2).unwrap();
    let error = device
        .transpose_request(&matrix)
        .variant("bset")
        .run()
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::UnknownVariant {
                family: "transpose",
                ..
            }
        ),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(text.contains("`bset`"), "{text}");
    for variant in cases::variants("transpose") {
        assert!(text.contains(variant.name), "{text}");
    }
}

#[test]
fn queued_again_it_gives_the_same_and_takes_the_new_input() {
    for device in devices::all() {
        let values: Vec<u32> = (0..40 * 50).collect();
        let matrix = device.upload_matrix(&values, 40, 50).unwrap();
        let wanted = oracle::transpose(&values, 40, 50);
        for variant in cases::variants("transpose") {
            let mut prepared = device
                .transpose_request(&matrix)
                .variant(variant.name)
                .prepare()
                .unwrap();
            for _ in 0..3 {
                prepared.enqueue().unwrap();
                assert_eq!(
                    prepared.output().unwrap().to_vec().unwrap(),
                    wanted,
                    "{}",
                    variant.name
                );
            }
            let output: Matrix<u32> = prepared.into_output().unwrap();
            assert_eq!(output.to_vec().unwrap(), wanted, "{}", variant.name);
        }
    }
}
