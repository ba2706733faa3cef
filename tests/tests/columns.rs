//! Reductions of columns: every variant, every operator, every element type, any shape.

use warpwright::ops::axis::Axis;
use warpwright::{LaunchConfig, Module};
use warpwright_gpu::columns::policy::{
    BEST_BLOCK, BEST_LANES_LOG2, Policy, Tiling, View, most_rows, tile_bytes, tree, view,
};
use warpwright_gpu::tuning::{ARCHITECTURE, chosen};
use warpwright_tests::{
    axis::{self, Shape, requests},
    data::Data,
    devices::{self, Executor},
    for_each_axis_number,
};

const AXIS: Axis = Axis::Columns;

macro_rules! per_type {
    ($ty:ident) => {
        mod $ty {
            #[test]
            fn every_shape() {
                super::axis::check::<$ty>(super::AXIS, &super::shapes());
            }

            /// Where blocks meet in one fold or two, by wide tiles and narrow ones: whatever a device would be given.
            #[test]
            fn every_tiling() {
                use super::{Launch, devices, launches};
                use cuda_std::cpu::Order;
                use warpwright_gpu::{
                    axis::{Element, Sum},
                    columns::ColumnsBest,
                };
                type Total = <$ty as Element>::Total;
                let module = super::module();
                for launch in launches(size_of::<$ty>(), size_of::<<$ty as Element>::Part>()) {
                    let Launch { height, width, .. } = launch;
                    let values: Vec<$ty> = launch
                        .values()
                        .into_iter()
                        .map(|value| value as $ty)
                        .collect();
                    let other = devices::cpu_in(Order::Seeded(3));
                    for device in devices::all().cloned().chain([other]) {
                        let input = device.upload(&values).unwrap();
                        let mut totals = device.zeros::<Total>(launch.totals).unwrap();
                        let mut tickets = device.zeros::<u32>(launch.tickets).unwrap();
                        let mut folded = device.zeros::<Total>(0).unwrap();
                        let mut output = device.zeros(width).unwrap();
                        let args = (
                            &input,
                            0,
                            width,
                            height,
                            launch.rows_per_block,
                            launch.lanes_log2,
                            &mut totals,
                            &mut tickets,
                            &mut folded,
                            &mut output,
                            height,
                        );
                        // SAFETY: the sizes are those that the kernel's contract states.
                        unsafe {
                            device.launch::<ColumnsBest<Sum<$ty>>>(&module, launch.config, args)
                        }
                        .unwrap();
                        let sums = output.to_vec().unwrap();
                        launch.check(&sums.iter().map(|sum| *sum as u64).collect::<Vec<_>>());
                        assert_eq!(tickets.to_vec().unwrap(), vec![0; launch.tickets]);
                    }
                }
            }

            #[test]
            fn awkward_values() {
                super::axis::check::<$ty>(super::AXIS, &super::axis::awkward::<$ty>());
            }
        }
    };
}
for_each_axis_number!(per_type);

/// The shapes of both axes, and for a card tall ones: wide tiles or narrow ones take fewer levels, and rows fill only narrow
/// tiles, aligned to 16 bytes and not.
fn shapes() -> Vec<Shape> {
    let mut shapes = axis::shapes(AXIS);
    for (height, width) in [
        (65_536, 512),
        (40_000, 256),
        (30_001, 384),
        (90_000, 128),
        (20_000, 1056),
    ] {
        shapes.extend([0, 1].map(|above| Shape {
            executor: Executor::Cuda,
            data: Data::Spread,
            height,
            width,
            above,
        }));
    }
    shapes
}

/// The library's kernels.
fn module() -> Module {
    Module::from_ptx(include_str!("../../host/ptx/sm_75/columns.ptx")).unwrap()
}

/// A launch of `best` by a tiling of one's own, over small whole numbers.
#[derive(Debug)]
struct Launch {
    height: usize,
    width: usize,
    lanes_log2: u32,
    rows_per_block: usize,
    totals: usize,
    tickets: usize,
    config: LaunchConfig,
}

impl Launch {
    fn values(&self) -> Vec<u8> {
        let value = |i: usize| (i.wrapping_mul(0x9e37_79b9) >> 9) % 11;
        (0..self.height * self.width)
            .map(|i| value(i) as u8)
            .collect()
    }

    fn check(&self, sums: &[u64]) {
        let mut wanted = vec![0; self.width];
        for row in self.values().chunks(self.width) {
            for (sum, value) in wanted.iter_mut().zip(row) {
                *sum += u64::from(*value);
            }
        }
        assert_eq!(sums, wanted, "{self:?}");
    }
}

/// The numbers for elements of so many bytes.
fn policy(size: usize) -> Policy {
    chosen(ARCHITECTURE, size)
}

/// Launches for elements and parts of these sizes. The last block has a row less than the others, where they have several.
fn launches(size: usize, part: usize) -> Vec<Launch> {
    let mut launches = Vec::new();
    for lanes_log2 in BEST_LANES_LOG2 {
        let columns = tile_bytes(lanes_log2) / size;
        let group = policy(size).group(columns);
        let mut push = |width: usize, rows_per_block: usize, blocks: usize| {
            let tiles = width.div_ceil(columns);
            let (totals, tickets) = tree(blocks, group);
            let shared = BEST_BLOCK * (8 + 16 / size * part);
            launches.push(Launch {
                height: rows_per_block * blocks - 1,
                width,
                lanes_log2,
                rows_per_block,
                totals: totals * tiles * columns,
                tickets: tickets * tiles,
                config: LaunchConfig::linear((tiles * blocks) as u32, BEST_BLOCK as u32)
                    .with_shared(shared as u32),
            });
        };
        // Every number of rows left behind those that a thread takes four at a time.
        for left in 0..5 {
            let rows = policy(size).least_rows(lanes_log2) + left * (BEST_BLOCK >> lanes_log2) - 1;
            push(columns, rows, 1 + left % 2);
        }
        // One fold, of a part of a group and of all; two, of a part of one, and of several.
        for blocks in [2, group - 1, group, group + 1, 2 * group + 3] {
            push(columns, 2, blocks);
        }
        // Tiles that are not full: two and a half, and less than one.
        push(columns * 2 + columns / 2, 3, 5);
        push(16 / size, 70, group + 1);
    }
    launches
}

/// More rows than a part holds elements, by the blocks that a small device has room for.
#[test]
fn more_rows_than_the_parts_of_few_blocks_hold() {
    for device in devices::all() {
        let (height, width) = (most_rows(5) * 16 + 5, 64);
        let mut values = vec![1.0_f64; height * width];
        (values[height * width - 1], values[height * width / 2]) = (3.0, -7.0);
        let matrix = device.upload_matrix(&values, height, width).unwrap();
        let mut wanted = vec![height as f64; width];
        wanted[width - 1] += 2.0;
        wanted[height * width / 2 % width] -= 8.0;
        assert_eq!(
            device.column_sums(&matrix).unwrap().to_vec().unwrap(),
            wanted
        );
        let least = device.reduce_columns(&matrix).min().unwrap();
        let least = least.to_vec().unwrap();
        assert_eq!(least.iter().filter(|value| **value == -7.0).count(), 1);
    }
}

#[test]
fn shorthands_give_what_the_request_gives() {
    for device in devices::all() {
        let matrix = device
            .upload_matrix(&[1_i32, -2, 3, 4, 5, -6], 2, 3)
            .unwrap();
        let sums = device.column_sums(&matrix).unwrap();
        assert_eq!(sums.to_vec().unwrap(), [5_i64, 3, -3]);
        let means = device.column_means(&matrix).unwrap();
        assert_eq!(means.to_vec().unwrap(), [2.5, 1.5, -1.5]);
        let least = device.reduce_columns(&matrix).min().unwrap();
        assert_eq!(least.to_vec().unwrap(), [1, -2, -6]);
        let greatest = device.reduce_columns(&matrix).max().unwrap();
        assert_eq!(greatest.to_vec().unwrap(), [4, 5, 3]);
    }
}

#[test]
fn no_elements_have_a_sum_and_nothing_else() {
    requests::no_elements_have_a_sum_and_nothing_else(AXIS);
}

#[test]
fn the_library_takes_best_and_says_who_chose() {
    requests::the_library_takes_best_and_says_who_chose(AXIS);
}

#[test]
fn an_unknown_variant_is_refused_and_the_known_ones_are_named() {
    requests::an_unknown_variant_is_refused_and_the_known_ones_are_named(AXIS);
}

/// Shapes that `best` takes in its different ways.
const SHAPES: [(usize, usize); 4] = [(300, 130), (2100, 32), (2, 70_003), (37, 5)];

#[test]
fn queued_again_every_variant_gives_the_same() {
    requests::queued_again_every_variant_gives_the_same(AXIS, &SHAPES);
}

/// The variants whose float sums have no fixed order.
const WITHOUT_ORDER: &[&str] = &[];

#[test]
fn float_sums_are_the_same_from_run_to_run_and_in_every_order_of_lanes() {
    requests::same_bits_every_time::<f32>(AXIS, &SHAPES, WITHOUT_ORDER);
    requests::same_bits_every_time::<f64>(AXIS, &SHAPES, WITHOUT_ORDER);
}

/// How `best` sees a matrix: every load that follows from it is aligned and within.
#[test]
fn the_view_of_best_is_aligned_and_loses_no_element() {
    let widths = (1..300).chain([511, 512, 513, 8191, 8192, 100_003]);
    for width in widths {
        for (size, height) in [
            (1, 1),
            (1, 100_000),
            (2, 5000),
            (4, 70),
            (4, 1 << 20),
            (8, 999),
        ] {
            for past in (0..16).step_by(size) {
                let seen = view(256 + past as u64, height, width, size);
                let what = format!("{height} x {width} of {size} bytes, {past} past: {seen:?}");
                let used = seen.head + seen.rows * seen.period;
                assert!(used <= height * width, "{what}");
                assert!(seen.period.is_multiple_of(width), "{what}");
                if seen.rows > 0 {
                    assert!((past + seen.head * size).is_multiple_of(16), "{what}");
                    assert!((seen.period * size).is_multiple_of(16), "{what}");
                    // At most a fifth of the lanes have no column, but where the matrix is taken as it is.
                    let tiling = Tiling::choose(&policy(size), &seen, size, 264);
                    let lanes = tiling.tiles * tile_bytes(tiling.lanes_log2);
                    assert!(seen.period * size * 5 >= lanes * 4 - 100, "{what}");
                }
                if !seen.fold {
                    assert_eq!((seen.head, seen.rows), (0, height), "{what}");
                }
            }
        }
    }
}

/// A matrix that is taken as it is.
fn whole(rows: usize, period: usize) -> View {
    View {
        head: 0,
        period,
        rows,
        fold: false,
    }
}

#[test]
fn blocks_of_best_share_the_rows_and_parts_do_not_overflow() {
    for rows in [1, 63, 64, 65, 255, 256, 8192, 65_536, 1 << 27] {
        for (period, filling) in [(64, 264), (512, 264), (8192, 264), (128_000, 264), (64, 2)] {
            for lanes_log2 in BEST_LANES_LOG2 {
                for size in [1, 2, 4, 8] {
                    let tiling = Tiling::new(
                        &policy(size),
                        &whole(rows, period),
                        size,
                        lanes_log2,
                        filling,
                    );
                    let each = tiling.rows_per_block;
                    assert!(each > 0 && each <= most_rows(lanes_log2), "{tiling:?}");
                    assert!(each * tiling.blocks >= rows, "{tiling:?}");
                    assert!(each * (tiling.blocks - 1) < rows, "{tiling:?}");
                    let least = each >= policy(size).least_rows(lanes_log2).min(rows);
                    assert!(least, "{tiling:?}");
                    assert!(tiling.columns <= BEST_BLOCK, "{tiling:?}");
                }
            }
        }
    }
    assert_eq!((tree(1, 16), tree(16, 16)), ((0, 0), (16, 1)));
    assert_eq!(tree(33, 16), (33 + 3, 3 + 1));
    assert_eq!(tree(16 * 16 + 1, 16), (257 + 17 + 2, 17 + 2 + 1));
    assert_eq!(tree(16 * 16 + 1, 64), (257 + 5, 5 + 1));
}

/// Tiles are narrow where that saves a level, or a last pass.
#[test]
fn tilings_of_an_h100() {
    let choose = |height: usize, width: usize, size: usize| {
        let seen = view(0, height, width, size);
        let filling = 132 * policy(size).blocks as usize;
        let chosen = Tiling::choose(&policy(size), &seen, size, filling);
        let lanes = 1 << chosen.lanes_log2;
        (
            lanes,
            chosen.tiles,
            chosen.blocks,
            chosen.levels(),
            seen.fold,
        )
    };
    assert_eq!(choose(65_536, 512, 1), (8, 4, 32, 1, false));
    assert_eq!(choose(65_536, 512, 2), (8, 8, 32, 1, false));
    // 66 blocks would fill the card, and 64 meet in one fold.
    assert_eq!(choose(65_536, 512, 4), (32, 4, 64, 1, false));
    assert_eq!(choose(65_536, 512, 8), (32, 8, 32, 1, false));
    assert_eq!(choose(8192, 8192, 1), (32, 16, 8, 1, false));
    assert_eq!(choose(8192, 8192, 4), (32, 64, 4, 1, false));
    assert_eq!(choose(512, 65_536, 1), (32, 128, 1, 0, false));
    // Half of a wide tile would be empty.
    assert_eq!(choose(65_536, 256, 1), (8, 2, 64, 1, false));
    assert_eq!(choose(65_536, 128, 4), (8, 4, 64, 1, false));
    // Seven rows of 64 bytes make one that fills a tile.
    assert!(choose(70_000, 16, 4).4);
}
