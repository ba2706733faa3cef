//! Convolutions: every variant, every element type, every boundary, masks of any width.

use cuda_std::cpu::Order;
use rand::Rng;
use warpwright::{Boundary, Device, Error, ops::ChosenBy};
use warpwright_gpu::{
    convolution::{Kernels, policy},
    tuning,
};
use warpwright_tests::{
    Number,
    cases::{self, OFFSETS, Problem},
    compare::{self, Outcome},
    convolution::{self as oracle, Convolved},
    data,
    devices::{self, Executor},
};

/// The variants whose mask has to fit into constant memory.
const LIMITED: [&str; 2] = ["constant_mask", "tiled"];

const BOUNDARIES: [Boundary; 3] = [Boundary::Zero, Boundary::Clamp, Boundary::Wrap];

/// Rows of a matrix, or a vector of one row, that start `offset` elements into an array.
#[derive(Debug)]
struct Shape {
    executor: Executor,
    height: usize,
    width: usize,
    mask: usize,
    offset: usize,
    boundary: Boundary,
}

impl Problem for Shape {
    fn executor(&self) -> Executor {
        self.executor
    }
}

/// Outputs of a block: of the rungs, and of `best` with one tile, and with as many as it may have. On the CPU executor,
/// which has no limit of blocks at once, long rows get such blocks.
fn blocks(chunk: usize) -> [usize; 3] {
    let tile = policy::best_span(chunk);
    let tuned = tuning::shipped::<policy::Policy, f32>();
    [
        policy::RUNG_BLOCK,
        tile,
        tuned.tiles(usize::MAX) as usize * tile,
    ]
}

/// Widths of masks: small ones, those around a chunk, a pass of `best`, and what the table of constants
/// holds, with and without the copies that rows need.
fn mask_widths(chunk: usize) -> Vec<usize> {
    let pass = policy::BEST_PASS * chunk;
    let table = policy::MOST_CONSTANTS;
    let mut widths: Vec<usize> = (1..=13).collect();
    widths.extend([16, 17, 31, 32, 63, 64, 65, 127, 128]);
    for edge in [pass, table / chunk, table] {
        widths.extend([edge - chunk, edge - 1, edge, edge + 1, edge + chunk]);
    }
    widths.push(2 * table + 3);
    widths
}

/// From here on a mask counts as long.
const LONG_MASK: usize = 200;

fn shapes(chunk: usize) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for executor in Executor::ALL {
        let mut push = |boundary, height, width, mask, offset| {
            shapes.push(Shape {
                executor,
                height,
                width,
                mask,
                offset,
                boundary,
            });
        };
        for (turn, boundary) in BOUNDARIES.into_iter().enumerate() {
            for width in cases::lengths(executor, &blocks(chunk)) {
                push(boundary, 1, width, 5, 0);
            }
            for mask in mask_widths(chunk) {
                // Wider than the input, as wide, and narrower; the last one has blocks without an end.
                // On the CPU executor, where lanes cost time, the boundaries take turns with long masks.
                let all = executor == Executor::Cuda || mask <= LONG_MASK;
                let is_turn = |shape: usize| all || (mask + shape) % BOUNDARIES.len() == turn;
                for (i, width) in [1, 2, 33, 400].into_iter().enumerate() {
                    if i < 2 || is_turn(i) {
                        push(boundary, 1, width, mask, mask % 4);
                    }
                }
                for (i, (height, width, offset)) in
                    [(3, 97, mask % 3), (2, 96, 1)].into_iter().enumerate()
                {
                    if is_turn(i) {
                        push(boundary, height, width, mask, offset);
                    }
                }
            }
            for mask in [1, 4, 5, 31, 64] {
                push(boundary, 1, 3 * blocks(chunk)[2] + 17, mask, 0);
            }
            for offset in OFFSETS {
                for mask in [1, 2, 3, 4, 5, 6, 31] {
                    push(boundary, 1, 2 * blocks(chunk)[2] + 5, mask, offset);
                    push(boundary, 3, 1009, mask, offset);
                }
            }
            for (height, width) in [
                (0, 7),
                (7, 0),
                (0, 0),
                (1, 1),
                (1009, 1),
                (257, 2),
                (64, 31),
            ] {
                for mask in [1, 2, 5, 40] {
                    push(boundary, height, width, mask, 0);
                }
            }
            push(boundary, 5, blocks(chunk)[2] + 1, 9, 2);
            // Several tiles per block: rows that fill them, that end in the last tile, at its end, in the halo of the one
            // before it, and in the second block's first tile; as one row and as rows that start anywhere.
            let [_, tile, block] = blocks(chunk);
            for (i, width) in [
                block,
                block - 1,
                block - tile,
                block - tile + 1,
                block + tile / 2 + 3,
                2 * block - tile - 5,
                block - tile / 2,
            ]
            .into_iter()
            .enumerate()
            {
                let mask = [3, 8, 31, 63, 64, 130, 257][(i + turn) % 7];
                push(boundary, 1, width, mask, i % 4);
                if i % BOUNDARIES.len() == turn {
                    push(boundary, 3, width, [5, 41, 31][turn], 0);
                }
            }
            if executor == Executor::Cuda {
                for mask in [63, 127, 3000] {
                    push(boundary, 1, 1_000_003, mask, 3);
                    push(boundary, 1021, 1013, mask.min(300), 1);
                }
                push(boundary, 70_001, 3, 7, 1);
                // So much that several tiles per block still fill the device.
                push(boundary, 1, (1 << 25) + 1234, [63, 9, 20][turn], turn);
                push(boundary, 5, (1 << 22) + 77, [9, 63, 6][turn], 0);
            }
        }
    }
    shapes
}

/// A mask of weights of both signs, whose sums of bytes are mostly, but not always, bytes.
fn mask<W: Number>(width: usize) -> Vec<W> {
    let mut rng = data::generator(width as u64 ^ 0x5eed);
    let scale = 2.0 / (width as f64).sqrt();
    (0..width)
        .map(|_| W::from_real(scale * rng.random_range(-0.6..1.0)))
        .collect()
}

fn check<T: Convolved + Number + Kernels>() {
    let chunk = <T as Kernels>::CHUNK;
    cases::run(
        &shapes(chunk),
        |_| {
            cases::variants("convolution")
                .iter()
                .map(|variant| variant.name)
                .collect()
        },
        |device, shape| {
            let mut rng = data::generator((shape.width * 31 + shape.height) as u64);
            let len = shape.height * shape.width;
            // As much around as a window that leaves the array would reach.
            let values: Vec<T> = (0..shape.offset + len + 3)
                .map(|_| {
                    if T::ROUNDING == 0.0 {
                        T::from_low_bits(rng.random())
                    } else {
                        T::from_real(rng.random_range(-1.0..1.0))
                    }
                })
                .collect();
            let mask = mask::<T::Weight>(shape.mask);
            let part = &values[shape.offset..shape.offset + len];
            let wanted = if len == 0 {
                Vec::new()
            } else {
                oracle::in_order(part, shape.width, &mask, shape.boundary)
            };
            if len * shape.mask <= 1 << 19 && len > 0 {
                // The oracle's own error, and so the result's.
                oracle::close(&wanted, part, shape.width, &mask, shape.boundary)
                    .unwrap_or_else(|wrong| panic!("{shape:?}: the oracle: {wrong}"));
            }
            Ok((device.upload(&values)?, mask, wanted))
        },
        |device, shape, (vector, mask, wanted), variant| {
            let text = |error: Error| error.to_string();
            let len = shape.height * shape.width;
            let view = vector
                .slice(shape.offset..shape.offset + len)
                .map_err(text)?;
            let got = if shape.height == 1 {
                let request = device.convolve_request(view, mask);
                request
                    .boundary(shape.boundary)
                    .variant(*variant)
                    .run()
                    .and_then(|output| output.to_vec())
            } else {
                rows(device, shape, vector, mask, variant)
            };
            if LIMITED.contains(variant) && mask.len() > policy::MOST_CONSTANTS {
                return refused(got, variant);
            }
            oracle::same(&got.map_err(text)?, wanted)
        },
    );
}

/// The convolution of the rows of a matrix that begins `shape.offset` elements into `vector`.
fn rows<T: Convolved>(
    device: &Device,
    shape: &Shape,
    vector: &warpwright::Vector<T>,
    mask: &[T::Weight],
    variant: &str,
) -> warpwright::Result<Vec<T>> {
    let (first, len) = (shape.offset, shape.height * shape.width);
    let view = vector.slice(first..first + len)?;
    let matrix = warpwright::MatrixView::from_vector(view, shape.height, shape.width)?;
    let request = device.convolve_rows_request(matrix, mask);
    let output = request.boundary(shape.boundary).variant(variant).run()?;
    assert_eq!(
        (output.height(), output.width()),
        (shape.height, shape.width)
    );
    output.to_vec()
}

/// A variant that cannot do it must say so.
fn refused<T: std::fmt::Debug>(got: warpwright::Result<T>, variant: &str) -> Outcome {
    match got {
        Err(Error::NotEligible {
            family: "convolution",
            variant: refused,
            ref reason,
        }) if reason.contains(&policy::MOST_CONSTANTS.to_string()) => {
            compare::same(&refused, &variant)
        }
        other => Err(format!("{other:?}, though the mask does not fit the table")),
    }
}

#[test]
fn bytes() {
    check::<u8>();
}

#[test]
fn singles() {
    check::<f32>();
}

#[test]
fn doubles() {
    check::<f64>();
}

/// Values and weights that are easily handled wrongly.
const AWKWARD: [f64; 8] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    0.0,
    -0.0,
    1e-310,
    f64::MAX,
    -3.0,
];

fn awkward<T: Convolved + Number>() {
    for device in devices::all() {
        for width in [1, 2, 5, 9, 40] {
            for (at, special) in AWKWARD.into_iter().enumerate() {
                let mut values: Vec<T> = (0..3200)
                    .map(|i| T::from_real(f64::from(i % 7) - 3.0))
                    .collect();
                let mut mask: Vec<T::Weight> = (0..width)
                    .map(|j| T::Weight::from_real(0.25 * j as f64 - 0.5))
                    .collect();
                // Once in the values, at places that every lane's window meets or that end a row; once in
                // the mask, where it meets what lies outside.
                for in_mask in [false, true] {
                    if in_mask {
                        mask[at % width] = T::Weight::from_real(special);
                    } else {
                        for place in [0, 1, 7, 100, 1600, 3199] {
                            values[place] = T::from_real(special);
                        }
                    }
                    let vector = device.upload(&values).unwrap();
                    for boundary in BOUNDARIES {
                        let wanted = oracle::in_order(&values, values.len(), &mask, boundary);
                        for variant in cases::variants("convolution") {
                            let request = device.convolve_request(&vector, &mask);
                            let got = request.boundary(boundary).variant(variant.name).run();
                            let outcome = oracle::same(&got.unwrap().to_vec().unwrap(), &wanted);
                            assert!(
                                outcome.is_ok(),
                                "{} {} {special} {width} {boundary:?}: {outcome:?}",
                                device.kind(),
                                variant.name
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn awkward_values_and_weights() {
    awkward::<f32>();
    awkward::<f64>();
    awkward::<u8>();
}

#[test]
fn results_by_hand() {
    for device in devices::all() {
        let vector = device.upload(&[1.0_f32, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let bytes = device.upload(&[1_u8, 2, 3, 5, 255]).unwrap();
        let rows = device
            .upload_matrix(&[1.0_f64, 2.0, 3.0, 4.0], 2, 2)
            .unwrap();
        // Without options: zeros outside.
        let got = device.convolve(&vector, &[1.0, 0.0, -1.0]).unwrap();
        assert_eq!(got.to_vec().unwrap(), [-2.0, -2.0, -2.0, -2.0, 4.0]);
        for variant in cases::variants("convolution") {
            let name = variant.name;
            let convolved = |mask: &[f32], boundary| {
                let request = device.convolve_request(&vector, mask);
                let got = request.boundary(boundary).variant(name).run().unwrap();
                got.to_vec().unwrap()
            };
            let even = [1.0, 2.0];
            assert_eq!(
                convolved(&even, Boundary::Zero),
                [2.0, 5.0, 8.0, 11.0, 14.0]
            );
            assert_eq!(
                convolved(&even, Boundary::Clamp),
                [3.0, 5.0, 8.0, 11.0, 14.0]
            );
            assert_eq!(
                convolved(&even, Boundary::Wrap),
                [7.0, 5.0, 8.0, 11.0, 14.0]
            );
            // Eleven weights: the whole input twice, and one more.
            let wide = [1.0; 11];
            assert_eq!(
                convolved(&wide, Boundary::Wrap),
                [31.0, 32.0, 33.0, 34.0, 35.0]
            );
            assert_eq!(convolved(&wide, Boundary::Zero), [15.0; 5]);
            let request = device.convolve_request(&bytes, &[0.5]).variant(name);
            assert_eq!(request.run().unwrap().to_vec().unwrap(), [0, 1, 2, 2, 128]);
            let request = device.convolve_rows_request(&rows, &[1.0, 0.0, -1.0]);
            let got = request.variant(name).run().unwrap();
            assert_eq!(got.to_vec().unwrap(), [-2.0, 1.0, -4.0, 3.0]);
        }
    }
}

#[test]
fn an_empty_mask_is_refused() {
    for device in devices::all() {
        let vector = device.upload(&[1.0_f32]).unwrap();
        let error = device.convolve(&vector, &[]).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Invalid {
                    operation: "convolve",
                    ..
                }
            ),
            "{error:?}"
        );
        assert!(error.to_string().contains("1 weight"), "{error}");
        let matrix = device.zeros_matrix::<u8>(0, 0).unwrap();
        assert!(device.convolve_rows(&matrix, &[]).is_err());
    }
}

#[test]
fn the_library_takes_best_and_says_who_chose() {
    let device = devices::cpu();
    let vector = device.upload(&[1_u8]).unwrap();
    let prepared = device.convolve_request(&vector, &[1.0]).prepare().unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        ("best", ChosenBy::Policy)
    );
    let request = device.convolve_request(&vector, &[1.0]).variant("basic");
    let prepared = request.prepare().unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        ("basic", ChosenBy::Caller)
    );
}

#[test]
fn an_unknown_variant_is_refused_and_the_known_ones_are_named() {
    let device = devices::cpu();
    let vector = device.upload(&[1_u8]).unwrap();
    let request = device.convolve_request(&vector, &[1.0]).variant("naive");
    let error = request.run().unwrap_err();
    assert!(
        matches!(
            error,
            Error::UnknownVariant {
                family: "convolution",
                ..
            }
        ),
        "{error:?}"
    );
    let text = error.to_string();
    let mut variants = cases::variants("convolution").iter();
    assert!(
        variants.all(|variant| text.contains(variant.name)),
        "{text}"
    );
}

#[test]
fn queued_again_it_gives_the_same() {
    for device in devices::all() {
        let values: Vec<f64> = (0..5000).map(f64::from).collect();
        let vector = device.upload(&values).unwrap();
        for variant in cases::variants("convolution") {
            for mask in [mask::<f64>(7), mask(700)] {
                let wanted = oracle::in_order(&values, values.len(), &mask, Boundary::Wrap);
                let request = device
                    .convolve_request(&vector, &mask)
                    .variant(variant.name);
                let mut prepared = request.boundary(Boundary::Wrap).prepare().unwrap();
                for _ in 0..3 {
                    prepared.enqueue().unwrap();
                    let got = prepared.output().unwrap().to_vec().unwrap();
                    oracle::same(&got, &wanted).unwrap();
                }
                let output = prepared.into_output().unwrap();
                oracle::same(&output.to_vec().unwrap(), &wanted).unwrap();
            }
        }
    }
}

/// Several threads, each with a mask of its own, at the same time: each sees its own in constant memory.
#[test]
fn masks_of_several_threads_do_not_meet() {
    let values: Vec<f32> = (0..20_000).map(|i| (i % 101) as f32).collect();
    for device in devices::all() {
        std::thread::scope(|scope| {
            for width in 2..8 {
                let values = &values;
                scope.spawn(move || {
                    let device = device.new_stream().unwrap();
                    let vector = device.upload(values).unwrap();
                    let mask = mask::<f32>(width);
                    let wanted = oracle::in_order(values, values.len(), &mask, Boundary::Clamp);
                    for variant in ["constant_mask", "best", "tiled"] {
                        let request = device.convolve_request(&vector, &mask).variant(variant);
                        let got = request.boundary(Boundary::Clamp).run().unwrap();
                        let got = got.to_vec().unwrap();
                        let outcome = oracle::same(&got, &wanted);
                        assert!(outcome.is_ok(), "{variant} {width}: {outcome:?}");
                    }
                });
            }
        });
    }
}

#[test]
fn the_same_in_every_order_of_lanes() {
    let values: Vec<u8> = (0..3 * 700_u32).map(|i| (i * i % 251) as u8).collect();
    for order in [Order::Forward, Order::Backward, Order::Seeded(1)] {
        let device = devices::cpu_in(order);
        let matrix = device.upload_matrix(&values, 3, 700).unwrap();
        for mask in [mask::<f32>(6), mask(1300)] {
            let wanted = oracle::in_order(&values, 700, &mask, Boundary::Wrap);
            for variant in cases::variants("convolution") {
                let request = device.convolve_rows_request(&matrix, &mask);
                let got = request.boundary(Boundary::Wrap).variant(variant.name).run();
                if LIMITED.contains(&variant.name) && mask.len() > policy::MOST_CONSTANTS {
                    refused(got, variant.name).unwrap();
                } else {
                    oracle::same(&got.unwrap().to_vec().unwrap(), &wanted).unwrap();
                }
            }
        }
    }
}
