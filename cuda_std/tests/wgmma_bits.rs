//! Products of warpgroups on the CPU executor: they have the bits of products of warps, for every layout.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod common;

use common::{
    Args, ORDERS, block,
    warpgroups::{Matrix, options, store_sums},
};
use cuda_std::{
    bf16, bulk,
    cpu::{Checks, Order},
    mbarrier::{self, Mbarrier},
    mma::{self, Pair},
    prelude::*,
    tensor_map::{Swizzle, TensorMap},
    wgmma::{self, DEPTH, Factor, PANEL, Sums, Tile},
};

/// The length of the products along k.
const K: usize = 2 * DEPTH;
/// The elements of an array for a tile of A and one of B, that for the longest B, and of the first multiple of 1024 bytes.
const ROOM: usize = 5 * PANEL + 512;

/// Adds the product of two tiles to the sums. The lowest bit of `layouts` is that of A along k, the next that of B.
#[inline(always)]
#[track_caller]
fn add_tiles<T: Factor<Sum = S::Element>, S: Sums>(sums: &mut S, tiles: Shared<T>, layouts: u32) {
    let mut products = wgmma::begin(sums);
    match layouts {
        0 => products.add(
            Tile::<T, false>::new(tiles, 0),
            Tile::<T, false>::new(tiles, PANEL),
        ),
        1 => products.add(
            Tile::<T, true>::new(tiles, 0),
            Tile::<T, false>::new(tiles, PANEL),
        ),
        2 => products.add(
            Tile::<T, false>::new(tiles, 0),
            Tile::<T, true>::new(tiles, PANEL),
        ),
        _ => products.add(
            Tile::<T, true>::new(tiles, 0),
            Tile::<T, true>::new(tiles, PANEL),
        ),
    }
    products.commit().wait();
}

/// A product of tiles that tensor maps load, in steps of 64 along k.
#[kernel(instances(
    f16_64: (f16, [f32; 32]), f16_128: (f16, [f32; 64]), f16_256: (f16, [f32; 128]),
    bf16_64: (bf16, [f32; 32]), bf16_128: (bf16, [f32; 64]), bf16_256: (bf16, [f32; 128])
))]
pub unsafe fn by_maps<T: Factor<Sum = f32>, S: Sums<Element = f32>>(
    a: TensorMap,
    b: TensorMap,
    c: GlobalMut<f32>,
    layouts: u32,
) {
    let tiles = shared![T; ROOM].skip_to_multiple(1024);
    let filled = Mbarrier::new(shared![u64; 1], 0);
    let t = thread::thread_idx_x() as usize;
    if t == 0 {
        filled.init(1);
        mbarrier::fence_init();
    }
    thread::sync_threads();
    let mut sums = S::ZERO;
    for step in 0..K / DEPTH {
        let k = (step * DEPTH) as i32;
        if t == 0 {
            filled.arrive_expect_tx(((64 + S::COLUMNS) * DEPTH * 2) as u32);
            let corner = if layouts & 1 == 1 { [k, 0] } else { [0, k] };
            tiles.load_tile(0, a, corner, PANEL, filled);
            for panel in 0..S::COLUMNS / 64 {
                let at = 64 * panel as i32;
                let corner = if layouts & 2 == 2 { [k, at] } else { [at, k] };
                tiles.load_tile((1 + panel) * PANEL, b, corner, PANEL, filled);
            }
        }
        filled.wait(step as u32 % 2);
        add_tiles(&mut sums, tiles, layouts);
        thread::sync_threads();
    }
    store_sums(c, t, &sums);
}

/// The same, with tiles that threads write.
#[kernel(instances(
    f16_64: (f16, [f32; 32]), f16_128: (f16, [f32; 64]), f16_256: (f16, [f32; 128]),
    bf16_64: (bf16, [f32; 32]), bf16_128: (bf16, [f32; 64]), bf16_256: (bf16, [f32; 128])
))]
pub unsafe fn by_threads<T: Factor<Sum = f32>, S: Sums<Element = f32>>(
    a: Global<T>,
    b: Global<T>,
    c: GlobalMut<f32>,
    layouts: u32,
) {
    let tiles = shared![T; ROOM].skip_to_multiple(1024);
    let t = thread::thread_idx_x() as usize;
    let mut sums = S::ZERO;
    for step in 0..K / DEPTH {
        let mut i = t;
        while i < (64 + S::COLUMNS) * DEPTH {
            let (line, k) = (i / DEPTH, i % DEPTH);
            let of_a = line < 64;
            let line = if of_a { line } else { line - 64 };
            let byte = match layouts & if of_a { 1 } else { 2 } {
                0 => line / 64 * 2 * PANEL + k * 128 + line % 64 * 2,
                _ => line * 128 + k * 2,
            };
            let start = if of_a { 0 } else { PANEL };
            let k = step * DEPTH + k;
            let value = match of_a {
                true => a.get(line * K + k),
                false => b.get(k * S::COLUMNS + line),
            };
            // After a wait all tiles have been read, and so this needs no barrier before.
            tiles.set(start + Swizzle::Bytes128.place(byte) / 2, value);
            i += 128;
        }
        bulk::fence_proxy_async();
        thread::sync_threads();
        add_tiles(&mut sums, tiles, layouts);
    }
    store_sums(c, t, &sums);
}

macro_rules! by_mma {
    ($($kernel:ident: $product:ident, $ty:ident;)*) => { $(
        /// The same by one warp, of matrices by rows.
        #[kernel]
        pub unsafe fn $kernel(a: Global<$ty>, b: Global<$ty>, c: GlobalMut<f32>, columns: u32) {
            const SHAPE: mma::Shape = mma::M16N8K16_F16;
            let (lane, columns) = (warp::lane_id() as usize, columns as usize);
            for tile in 0..4 * columns / 8 {
                let (top, left) = (tile % 4 * 16, tile / 4 * 8);
                let mut sums = [0.0; 4];
                for k in (0..K).step_by(16) {
                    let from_a = core::array::from_fn(|pair| {
                        Pair::new([2 * pair, 2 * pair + 1].map(|i| {
                            let (row, column) = SHAPE.a.at(lane, i);
                            a.get((top + row) * K + k + column)
                        }))
                    });
                    let from_b = core::array::from_fn(|pair| {
                        Pair::new([2 * pair, 2 * pair + 1].map(|i| {
                            let (row, column) = SHAPE.b.at(lane, i);
                            b.get((k + row) * columns + left + column)
                        }))
                    });
                    sums = mma::$product(from_a, from_b, sums);
                }
                for (i, sum) in sums.into_iter().enumerate() {
                    let (row, column) = SHAPE.c.at(lane, i);
                    c.set((top + row) * columns + left + column, sum);
                }
            }
        }
    )* };
}
by_mma! {
    mma_f16: m16n8k16_f16, f16;
    mma_bf16: m16n8k16_bf16, bf16;
}

/// A value that a place decides. Of kind 0 all are of one size; those of kind 1 are far apart, and some are infinite or NaN.
fn value(kind: u32, i: usize) -> f32 {
    let bits = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24;
    let fraction = (bits & 0xFF_FFFF) as f32 / 16_777_216.0 - 0.5;
    match kind {
        0 => fraction,
        _ if bits.is_multiple_of(971) => [f32::INFINITY, f32::NAN][bits as usize / 971 % 2],
        _ => fraction * f32::powi(2.0, (bits >> 24) as i32 % 24 - 14),
    }
}

fn bits(sums: &[f32]) -> Vec<u32> {
    sums.iter().map(|sum| sum.to_bits()).collect()
}

macro_rules! has_the_bits_of_mma {
    ($($test:ident: $ty:ident, $mma:ident, $sums:ty, $orders:expr;)*) => { $(
        #[test]
        fn $test() {
            let columns = <$sums>::COLUMNS;
            for kind in [0, 1] {
                let a = |row, k| $ty::from_f32(value(kind, row * K + k));
                let b = |k, column| $ty::from_f32(value(kind, 1 << 20 | (k * columns + column)));
                let (mut by_a, mut by_b) = (Matrix::new(64, K, a), Matrix::new(K, columns, b));
                let mut expected = vec![0.0_f32; 64 * columns];
                let args = Args::new().view(by_a.elements::<$ty>()).view(by_b.elements::<$ty>());
                let args = args.view(&mut expected).value(columns as u32);
                args.launch_with::<$mma>(block(32), options(Order::Forward, Checks::NONE)).unwrap();
                let expected = bits(&expected);
                for layouts in 0..4_u32 {
                    for order in $orders {
                        let mut found = vec![-1.0_f32; 64 * columns];
                        let args = Args::new().view(by_a.elements::<$ty>()).view(by_b.elements::<$ty>());
                        let args = args.view(&mut found).value(layouts);
                        args.launch_in::<ByThreads<$ty, $sums>>(block(128), order).unwrap();
                        assert_eq!(bits(&found), expected, "{layouts} {order:?}, by threads");
                        let mut of_a = match layouts & 1 {
                            0 => Matrix::new(K, 64, |k, row| a(row, k)),
                            _ => Matrix::new(64, K, a),
                        };
                        let mut of_b = match layouts & 2 {
                            0 => Matrix::new(K, columns, b),
                            _ => Matrix::new(columns, K, |column, k| b(k, column)),
                        };
                        for checks in [Checks::ALL, Checks::NONE] {
                            let mut found = vec![-1.0_f32; 64 * columns];
                            let args = Args::new().map(of_a.map()).map(of_b.map());
                            let args = args.view(&mut found).value(layouts);
                            let options = options(order, checks);
                            args.launch_with::<ByMaps<$ty, $sums>>(block(128), options).unwrap();
                            assert_eq!(bits(&found), expected, "{layouts} {order:?}, by maps");
                        }
                    }
                }
            }
        }
    )* };
}
has_the_bits_of_mma! {
    products_of_f16_have_the_bits_of_mma: f16, MmaF16, [f32; 32], ORDERS;
    products_of_bf16_have_the_bits_of_mma: bf16, MmaBf16, [f32; 32], ORDERS;
    wide_products_of_f16_have_the_bits_of_mma: f16, MmaF16, [f32; 64], [Order::Forward, Order::Seeded(3)];
    wide_products_of_bf16_have_the_bits_of_mma: bf16, MmaBf16, [f32; 64], [Order::Backward];
    wider_products_of_f16_have_the_bits_of_mma: f16, MmaF16, [f32; 128], [Order::Backward, Order::Seeded(4)];
    wider_products_of_bf16_have_the_bits_of_mma: bf16, MmaBf16, [f32; 128], [Order::Forward];
}
