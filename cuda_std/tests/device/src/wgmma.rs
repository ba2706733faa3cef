//! `wgmma`: products of a warpgroup.

use cuda_std::{
    F8E4M3, F8E5M2, bf16, f16,
    mbarrier::{self, Mbarrier},
    mma::Half,
    prelude::*,
    tensor_map::{Swizzle, TensorMap},
    unrolled,
    wgmma::{self, DEPTH, Factor, PANEL, Sums, Tile},
};

/// The length of the products along k.
pub const K: usize = 4 * DEPTH;

/// Adds the product of a 64 x [`K`] matrix and one of `2 * SUMS` columns to `c`, by rows. `a` and `b` are maps with tiles of 64
/// lines of 128 bytes, or of 64 x 64 elements of 16 bits. Memory has lines along k where `A_ALONG_K` and `B_ALONG_K` say so.
///
/// # Safety
/// One warpgroup a block; maps of such matrices, with the swizzle of 128 bytes.
#[kernel(
    launch_bounds(128),
    instances(
        f16_16_nt: (f16, 8, true, true),
        f16_64_nt: (f16, 32, true, true),
        f16_128_nn: (f16, 64, true, false),
        f16_256_tn: (f16, 128, false, false),
        bf16_16_tt: (bf16, 8, false, true),
        bf16_64_tt: (bf16, 32, false, true),
        bf16_128_tn: (bf16, 64, false, false),
        bf16_256_nt: (bf16, 128, true, true),
        f32_16_nt: (f32, 8, true, true),
        f32_64_nt: (f32, 32, true, true),
        f32_128_nt: (f32, 64, true, true),
        f32_256_nt: (f32, 128, true, true),
        i8_16_nt: (i8, 8, true, true),
        i8_64_nt: (i8, 32, true, true),
        i8_128_nt: (i8, 64, true, true),
        i8_256_nt: (i8, 128, true, true),
        e4m3_16_nt: (F8E4M3, 8, true, true),
        e4m3_64_nt: (F8E4M3, 32, true, true),
        e4m3_128_nt: (F8E4M3, 64, true, true),
        e4m3_256_nt: (F8E4M3, 128, true, true),
        e5m2_16_nt: (F8E5M2, 8, true, true),
        e5m2_64_nt: (F8E5M2, 32, true, true),
        e5m2_128_nt: (F8E5M2, 64, true, true),
        e5m2_256_nt: (F8E5M2, 128, true, true),
    )
)]
pub unsafe fn product_of_warpgroup<
    T: Factor,
    const SUMS: usize,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    a: TensorMap,
    b: TensorMap,
    c: GlobalMut<T::Sum>,
) where
    [T::Sum; SUMS]: Sums<Element = T::Sum>,
{
    multiply::<T, SUMS, A_ALONG_K, B_ALONG_K>(a, b, c, |sums, tiles| {
        let mut products = wgmma::begin(sums);
        products.add(
            Tile::<T, A_ALONG_K>::new(tiles, 0),
            Tile::<T, B_ALONG_K>::new(tiles, T::PANEL),
        );
        products.commit().wait();
    });
}

/// As [`product_of_warpgroup`], with lines along k, with A in registers.
///
/// # Safety
/// As for [`product_of_warpgroup`].
#[kernel(
    launch_bounds(128),
    instances(
        f32_16: (f32, 8),
        f32_64: (f32, 32),
        f32_128: (f32, 64),
        f32_256: (f32, 128),
        f16_128: (f16, 64),
        bf16_64: (bf16, 32),
        i8_256: (i8, 128),
        e4m3_128: (F8E4M3, 64),
        e5m2_64: (F8E5M2, 32),
    )
)]
pub unsafe fn product_of_registers<T: Factor, const SUMS: usize>(
    a: TensorMap,
    b: TensorMap,
    c: GlobalMut<T::Sum>,
) where
    [T::Sum; SUMS]: Sums<Element = T::Sum>,
{
    multiply::<T, SUMS, true, true>(a, b, c, |sums, tiles| {
        wgmma::add_registers(sums, words_of_a(tiles), Tile::new(tiles, T::PANEL));
    });
}

/// As [`product_of_registers`], with the sums of each step added by the threads.
///
/// # Safety
/// As for [`product_of_warpgroup`].
#[kernel(
    launch_bounds(128),
    instances(
        f32_128: (f32, 64),
        e4m3_16: (F8E4M3, 8),
        e4m3_64: (F8E4M3, 32),
        e4m3_128: (F8E4M3, 64),
        e5m2_16: (F8E5M2, 8),
        e5m2_256: (F8E5M2, 128),
    )
)]
pub unsafe fn product_with_rounding<T: Factor<Sum = f32>, const SUMS: usize>(
    a: TensorMap,
    b: TensorMap,
    c: GlobalMut<f32>,
) where
    [f32; SUMS]: Sums<Element = f32>,
{
    multiply::<T, SUMS, true, true>(a, b, c, |sums, tiles| {
        wgmma::add_registers_rounded(sums, words_of_a(tiles), Tile::new(tiles, T::PANEL));
    });
}

/// Reads this thread's words of the tile of A that begins here.
#[inline(always)]
fn words_of_a<T: Factor>(tiles: Shared<T>) -> [u32; 16] {
    // SAFETY: tiles are aligned, and every pattern of bits is a word.
    let tile = unsafe { tiles.cast::<u32>() };
    let thread = thread::thread_idx_x() as usize;
    let mut words = [0; 16];
    unrolled!(i < 16 of 16 => {
        let (row, word) = wgmma::place_of_a(thread, i);
        words[i] = tile.get(Swizzle::Bytes128.place(row * 128 + word * 4) / 4);
    });
    words
}

/// Brings the tiles of each step, that of A and those of B behind it, and calls `add` to add their product.
#[inline(always)]
fn multiply<T: Factor, const SUMS: usize, const A_ALONG_K: bool, const B_ALONG_K: bool>(
    a: TensorMap,
    b: TensorMap,
    c: GlobalMut<T::Sum>,
    add: impl Fn(&mut [T::Sum; SUMS], Shared<T>),
) where
    [T::Sum; SUMS]: Sums<Element = T::Sum>,
{
    // The panels of B, of which the last may have fewer columns than 64, and the sums of each.
    let (panels, of_a_panel) = const { (SUMS.div_ceil(32), if SUMS < 32 { SUMS } else { 32 }) };
    let words = shared![u32; (5 * PANEL + 512) / 2];
    // SAFETY: no type of elements has a greater alignment.
    let tiles = unsafe { words.cast::<T>() }.skip_to_multiple(1024);
    let come = Mbarrier::new(shared![u64; 1], 0);
    let thread = thread::thread_idx_x() as usize;
    if thread == 0 {
        come.init(1);
        mbarrier::fence_init();
    }
    thread::sync_threads();
    let at = |i| {
        let (row, column) = wgmma::place(thread, i);
        row * (2 * SUMS) + column
    };
    let mut sums = <[T::Sum; SUMS]>::ZERO;
    unrolled!(part < panels of 4 => {
        unrolled!(i < of_a_panel of 32 => { sums[32 * part + i] = c.get(at(32 * part + i)); });
    });
    let (mut k, mut parity) = (0, 0);
    while k < K {
        if thread == 0 {
            come.arrive_expect_tx(((1 + panels) * 64 * 128) as u32);
            let k = k as i32;
            tiles.load_tile(
                0,
                a,
                if A_ALONG_K { [k, 0] } else { [0, k] },
                T::PANEL,
                come,
            );
            unrolled!(panel < panels of 4 => {
                let across = 64 * panel as i32;
                let corner = if B_ALONG_K { [k, across] } else { [across, k] };
                tiles.load_tile((1 + panel) * T::PANEL, b, corner, T::PANEL, come);
            });
        }
        come.wait(parity);
        add(&mut sums, tiles);
        // The tiles are free when all warps have waited.
        thread::sync_threads();
        (k, parity) = (k + T::DEPTH, parity ^ 1);
    }
    unrolled!(part < panels of 4 => {
        unrolled!(i < of_a_panel of 32 => { c.set(at(32 * part + i), sums[32 * part + i]); });
    });
}

/// Rounds numbers to pairs.
///
/// # Safety
/// One block; `output` is as long as `input`, which has two elements for each thread.
#[kernel(instances(f16, bf16))]
pub unsafe fn rounded_pairs<T: Half>(input: Global<f32>, output: GlobalMut<T>) {
    let i = 2 * thread::thread_idx_x() as usize;
    let pair = cuda_std::mma::Pair::<T>::rounded(input.get_chunk(i));
    output.set_chunk(i, pair.values());
}
