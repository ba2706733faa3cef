//! Tensor maps on the CPU executor: tiles with every swizzle, at the edges of a matrix and beyond, and what is refused.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{Args, ORDERS, block, fault};
use cuda_std::{
    bulk,
    cpu::{Checks, FaultKind, LaunchError, Options, Order},
    mbarrier::{self, Mbarrier},
    prelude::*,
    tensor_map::{EncodedTensorMap, Stack, Swizzle, TensorMap, TiledMatrix},
};

const ROWS: usize = 24;
/// The bytes of a tile's row, for each swizzle.
const SWIZZLES: [(Swizzle, usize); 5] = [
    (Swizzle::None, 128),
    (Swizzle::None, 48),
    (Swizzle::Bytes32, 32),
    (Swizzle::Bytes64, 64),
    (Swizzle::Bytes128, 128),
];

/// A matrix of 16-bit elements, whose rows have a stride of their own.
struct Matrix {
    memory: Vec<[u128; 1]>,
    columns: usize,
    rows: usize,
    stride: usize,
}

impl Matrix {
    fn new(columns: usize, rows: usize, element: impl Fn(usize, usize) -> u16) -> Self {
        let stride = (2 * columns).next_multiple_of(16) + 16;
        let mut matrix = Self {
            memory: vec![[0]; stride * rows / 16],
            columns,
            rows,
            stride,
        };
        for row in 0..rows {
            for column in 0..columns {
                *matrix.element(row, column) = element(row, column);
            }
        }
        matrix
    }

    fn element(&mut self, row: usize, column: usize) -> &mut u16 {
        assert!(row < self.rows && column < self.columns);
        let start = self.memory.as_mut_ptr().cast::<u16>();
        // SAFETY: the element is within the memory.
        unsafe { &mut *start.add(row * self.stride / 2 + column) }
    }

    fn map(&mut self, tile: [u32; 2], swizzle: Swizzle) -> EncodedTensorMap {
        let matrix = TiledMatrix {
            address: self.memory.as_mut_ptr().expose_provenance() as u64,
            element_bytes: 2,
            sizes: [self.columns as u64, self.rows as u64],
            stride: self.stride as u64,
            tile,
            swizzle,
            stack: None,
            to_tf32: false,
        };
        EncodedTensorMap::for_cpu(&matrix).unwrap()
    }
}

/// The codes of the swizzles for kernels.
fn swizzle_of(code: u32) -> Swizzle {
    match code {
        0 => Swizzle::None,
        1 => Swizzle::Bytes32,
        2 => Swizzle::Bytes64,
        _ => Swizzle::Bytes128,
    }
}

/// Loads a tile, adds 1 to its elements, and stores it at another place. `shape` is a tile's columns and rows, and the swizzle;
/// `how` 1 leaves the proxy fence out, 2 the wait for the tile, 3 expects too few bytes.
#[kernel]
pub unsafe fn move_tile(
    before: u32,
    input: TensorMap,
    output: TensorMap,
    places: [i32; 4],
    shape: [u32; 3],
    how: u32,
) {
    assert_eq!(before, 7);
    let all = shared![u16; 64 * ROWS + 512];
    let tile = all.skip_to_multiple(1024);
    let filled = Mbarrier::new(shared![u64; 1], 0);
    let t = thread::thread_idx_x() as usize;
    let lanes = thread::block_dim_x() as usize;
    let [columns, rows, code] = shape.map(|it| it as usize);
    let count = columns * rows;
    if t == 0 {
        filled.init(1);
        mbarrier::fence_init();
        let bytes = 2 * count - if how == 3 { 16 } else { 0 };
        filled.arrive_expect_tx(bytes as u32);
        tile.load_tile(0, input, [places[0], places[1]], count, filled);
    }
    thread::sync_threads();
    if how != 2 {
        filled.wait(0);
    }
    let mut i = t;
    while i < count {
        let place = swizzle_of(code as u32).place(2 * i) / 2;
        let value = tile.get(place);
        tile.set(place, value.wrapping_add(1));
        i += lanes;
    }
    if how != 1 {
        bulk::fence_proxy_async();
    }
    thread::sync_threads();
    if t == 0 {
        output.store_tile([places[2], places[3]], tile, 0, count);
        bulk::commit_group();
        bulk::wait_group_read::<0>();
    }
}

fn run(
    (swizzle, row_bytes): (Swizzle, usize),
    places: [i32; 4],
    how: u32,
    options: Options,
) -> Result<(), LaunchError> {
    let columns = row_bytes / 2;
    let mut input = Matrix::new(100, 60, |row, column| (row * 100 + column + 1) as u16);
    let mut output = Matrix::new(90, 50, |_, _| 9);
    let tile = [columns as u32, ROWS as u32];
    let args = Args::new()
        .value(7_u32)
        .map(input.map(tile, swizzle))
        .map(output.map(tile, swizzle))
        .value(places)
        .value([columns as u32, ROWS as u32, swizzle as u32])
        .value(how);
    args.launch_with::<MoveTile>(block(32), options)?;
    let [from_x, from_y, to_x, to_y] = places.map(i64::from);
    for row in 0..50 {
        for column in 0..90 {
            let (x, y) = (column as i64 - to_x, row as i64 - to_y);
            let inside = (0..columns as i64).contains(&x) && (0..ROWS as i64).contains(&y);
            let (x, y) = (x + from_x, y + from_y);
            let expected = match inside {
                false => 9,
                true if (0..100).contains(&x) && (0..60).contains(&y) => (y * 100 + x + 2) as u16,
                true => 1,
            };
            let got = *output.element(row, column);
            assert_eq!(
                got, expected,
                "{swizzle:?}, row {row}, column {column}, {places:?}"
            );
        }
    }
    Ok(())
}

fn options(order: Order, checks: Checks) -> Options {
    Options {
        order,
        checks,
        ..Options::default()
    }
}

#[test]
fn tiles_move_with_every_swizzle_and_end_at_the_edges() {
    for shape in SWIZZLES {
        for places in [
            [0, 0, 0, 0],
            [8, 3, 16, 5],
            [-8, -7, 8, 2],
            [88, 50, 8, 1],
            [8, 1, 80, 40],
            [200, 0, 0, 0],
            [0, -100, 0, 0],
            [0, 0, 304, 300],
        ] {
            for order in ORDERS {
                for checks in [Checks::ALL, Checks::NONE] {
                    run(shape, places, 0, options(order, checks))
                        .unwrap_or_else(|e| panic!("{shape:?} {places:?}: {e}"));
                }
            }
        }
    }
}

#[test]
fn tiles_have_the_rules_of_bulk_copies() {
    for shape in SWIZZLES {
        for order in ORDERS {
            let of = |how, checks| fault(run(shape, [8, 8, 8, 8], how, options(order, checks)));
            let found = of(1, Checks::ALL);
            assert!(matches!(found.kind, FaultKind::NotFenced { .. }), "{found}");
            let found = of(2, Checks::RACE);
            assert!(matches!(found.kind, FaultKind::Race { .. }), "{found}");
            let found = of(3, Checks::NONE);
            assert!(matches!(found.kind, FaultKind::Mbarrier { .. }), "{found}");
        }
    }
}

#[test]
fn places_that_a_card_does_not_take_are_refused() {
    for shape in SWIZZLES {
        for (places, part) in [
            (
                [4, 0, 0, 0],
                "a multiple of 8 (16 bytes) required, given [4, 0]",
            ),
            ([-1, 0, 0, 0], "given [-1, 0]"),
            ([0, 0, 1, 0], "given [1, 0]"),
            ([0, 0, -8, 0], "not negative required, given [-8, 0]"),
            ([0, 0, 8, -1], "not negative required, given [8, -1]"),
        ] {
            let found = fault(run(shape, places, 0, options(Order::Forward, Checks::NONE)));
            assert!(found.to_string().contains(part), "{found}");
        }
    }
}

#[test]
fn a_store_writes_to_the_end_of_a_chunk() {
    let mut input = Matrix::new(64, ROWS, |_, _| 4);
    let mut output = Matrix::new(90, ROWS, |_, _| 9);
    for (swizzle, row_bytes) in SWIZZLES {
        let tile = [row_bytes as u32 / 2, ROWS as u32];
        let args = Args::new()
            .value(7_u32)
            .map(input.map(tile, swizzle))
            .map(output.map(tile, swizzle))
            .value([0, 0, 88, 0])
            .value([tile[0], tile[1], swizzle as u32])
            .value(0_u32);
        args.launch::<MoveTile>(block(32)).unwrap();
        // Rows end behind 90 elements, and the chunk behind 96.
        output.columns = 104;
        for row in 0..ROWS {
            let found = [87, 88, 95, 96].map(|column| *output.element(row, column));
            assert_eq!(found, [9, 5, 5, 0], "{swizzle:?}, row {row}");
        }
        output.columns = 90;
    }
}

/// Tiles that are refused.
#[kernel]
pub unsafe fn refused(map: TensorMap, how: u32) {
    let tile = shared![u16; 64 * ROWS + 512].skip_to_multiple(1024);
    let barrier = Mbarrier::new(shared![u64; 1], 0);
    let count = 64 * ROWS;
    match how {
        0 => tile.load_tile(8, map, [0, 0], count, barrier),
        1 => tile.load_tile(512 + 64, map, [0, 0], count, barrier),
        2 => map.store_tile([0, 0], tile, 0, count - 64),
        3 => tile.load_tile(0, map, [0, 0], count, barrier),
        _ => {
            // SAFETY: two elements of two bytes are one of four.
            let wide = unsafe { tile.cast::<u32>() };
            map.store_tile([0, 0], wide, 0, count / 2);
        }
    }
}

#[test]
fn tiles_are_the_maps_within_their_views_and_aligned() {
    let mut matrix = Matrix::new(100, 60, |_, _| 0);
    let map = matrix.map([64, ROWS as u32], Swizzle::None);
    for how in 0..5 {
        let args = Args::new().map(map).value(how);
        let fault =
            fault(args.launch_with::<Refused>(block(1), options(Order::Forward, Checks::NONE)));
        let right = match how {
            0 => matches!(fault.kind, FaultKind::Misaligned { required: 128, .. }),
            1 => matches!(fault.kind, FaultKind::OutOfBounds { .. }),
            3 => matches!(fault.kind, FaultKind::Mbarrier { .. }),
            _ => matches!(fault.kind, FaultKind::Argument { .. }),
        };
        assert!(right, "{how}: {fault}");
    }
    let args = Args::new().map(EncodedTensorMap::from_words([5; 16]));
    let args = args.value(3_u32);
    let fault = fault(args.launch::<Refused>(block(1)));
    assert!(
        fault.to_string().contains("for the CPU executor"),
        "{fault}"
    );
}

#[test]
fn what_the_driver_would_refuse_is_refused() {
    let good = TiledMatrix {
        address: 1 << 20,
        element_bytes: 2,
        sizes: [100, 60],
        stride: 208,
        tile: [64, 8],
        swizzle: Swizzle::Bytes128,
        stack: None,
        to_tf32: false,
    };
    assert!(EncodedTensorMap::for_cpu(&good).is_ok());
    let of_stack = |count, stride| TiledMatrix {
        stack: Some(Stack { count, stride }),
        ..good
    };
    assert!(EncodedTensorMap::for_cpu(&of_stack(2, 208 * 60)).is_ok());
    for (bad, part) in [
        (TiledMatrix { address: 8, ..good }, "an address"),
        (
            TiledMatrix {
                element_bytes: 3,
                ..good
            },
            "elements of",
        ),
        (
            TiledMatrix {
                sizes: [0, 1],
                ..good
            },
            "sizes",
        ),
        (
            TiledMatrix {
                stride: 200,
                ..good
            },
            "a stride",
        ),
        (
            TiledMatrix {
                tile: [257, 1],
                ..good
            },
            "tiles of 1 to 256",
        ),
        (
            TiledMatrix {
                tile: [60, 1],
                ..good
            },
            "a multiple of 16 bytes",
        ),
        (
            TiledMatrix {
                tile: [128, 1],
                ..good
            },
            "no longer than its swizzle",
        ),
        (of_stack(0, 16), "1 to 2^32 matrices"),
        (of_stack(2, 200), "matrices of a stack that are"),
        (of_stack(2, 1 << 40), "matrices of a stack that are"),
    ] {
        let error = EncodedTensorMap::for_cpu(&bad).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// A place has a coordinate for the matrix if the map is of a stack, and none otherwise.
#[test]
fn a_place_has_the_coordinates_of_the_map() {
    #[kernel]
    unsafe fn load_one(map: TensorMap, coordinates: u32) {
        let tile = shared![u16; 64 * 8 + 64].skip_to_multiple(128);
        let filled = Mbarrier::new(shared![u64; 1], 0);
        filled.init(1);
        mbarrier::fence_init();
        filled.arrive_expect_tx(2 * 64 * 8);
        match coordinates {
            2 => tile.load_tile(0, map, [0, 0], 64 * 8, filled),
            _ => tile.load_tile(0, map, [0, 0, 0], 64 * 8, filled),
        }
        filled.wait(0);
    }
    let mut matrix = Matrix::new(64, 8, |_, _| 1);
    for stack in [false, true] {
        let map = TiledMatrix {
            address: matrix.memory.as_mut_ptr().expose_provenance() as u64,
            element_bytes: 2,
            sizes: [64, 8],
            stride: matrix.stride as u64,
            tile: [64, 8],
            swizzle: Swizzle::None,
            stack: stack.then_some(Stack {
                count: 1,
                stride: 16,
            }),
            to_tf32: false,
        };
        let map = EncodedTensorMap::for_cpu(&map).unwrap();
        for coordinates in [2_u32, 3] {
            let args = Args::new().map(map).value(coordinates);
            let result = args.launch::<LoadOne>(block(1));
            if (coordinates == 3) == stack {
                result.unwrap();
                continue;
            }
            let fault = fault(result);
            let required = format!("{} coordinates required", 2 + u32::from(stack));
            assert!(fault.to_string().contains(&required), "{fault}");
        }
    }
}
