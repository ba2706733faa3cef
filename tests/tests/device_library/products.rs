//! Products of fragments: tensor cores from compute capability 8.0 and 9.0 on, and shuffles in the module for the oldest.

use cuda_std::{
    F8E4M3, F8E5M2, bf16,
    kernel::Kernel,
    mma::{self, Layout, Packed, Shape},
    prelude::*,
};
use cuda_std_device_tests::products;
use warpwright::{Element, LaunchConfig};

use super::{assert_defined, noise, same_everywhere};

const WARPS: usize = 64;

/// Values of one size; of sizes far apart, up to infinite products; with subnormal products; that cancel; zeros of both signs.
fn values(kind: usize, len: usize) -> Vec<f64> {
    let of = |word: u64| {
        let fraction = (word >> 12) as f64 / (1_u64 << 52) as f64 - 0.5;
        match kind {
            0 => fraction,
            1 => fraction * 2_f64.powi((word % 1200) as i32 - 600),
            2 => fraction * 2_f64.powi(-520 - (word % 20) as i32),
            3 => [1.0, -1.0, 1.0 + f64::EPSILON, -1e-17][word as usize % 4],
            _ => [0.0, -0.0, -1e-300, 1.0][word as usize % 4],
        }
    };
    noise::<u64>(len + 8 * kind)
        .into_iter()
        .skip(8 * kind)
        .map(of)
        .collect()
}

/// The places of the elements of the warps' matrices in their fragments, matrix after matrix, by rows.
fn places(layout: Layout) -> Vec<usize> {
    let size = layout.rows() * layout.columns();
    let mut places = vec![0; WARPS * size];
    for place in 0..WARPS * size {
        let (warp, of_warp) = (place / size, place % size);
        let (row, column) = layout.at(of_warp / layout.len(), of_warp % layout.len());
        places[warp * size + row * layout.columns() + column] = place;
    }
    places
}

fn products_of<K>(what: &str, shape: Shape)
where
    K: Kernel<Params = (Global<f64>, Global<f64>, GlobalMut<f64>)>,
{
    let Shape { a, b, c } = shape;
    let (m, k) = (a.rows(), a.columns());
    for kind in 0..5 {
        let [of_a, of_b, mut of_c] = [a, b, c].map(|it| values(kind, WARPS * 32 * it.len()));
        if kind == 3 {
            // Sums near 0.
            of_c.iter_mut().for_each(|it| *it *= -1.0);
        }
        let mut expected = of_c.clone();
        let [at_a, at_b, at_c] = [a, b, c].map(places);
        for (element, place) in at_c.into_iter().enumerate() {
            let (warp, row, column) = (element / (m * 8), element / 8 % m, element % 8);
            for along in 0..k {
                let x = of_a[at_a[(warp * m + row) * k + along]];
                let y = of_b[at_b[(warp * k + along) * 8 + column]];
                expected[place] = x.mul_add(y, expected[place]);
            }
        }
        // The bits of a NaN are the device's.
        let one_nan = |mut all: Vec<f64>| {
            let nans = all.iter_mut().filter(|it| it.is_nan());
            nans.for_each(|it| *it = f64::NAN);
            all
        };
        let what = format!("{what}, kind {kind}");
        let got = same_everywhere(&what, |device, module| {
            let (a, b) = (device.upload(&of_a).unwrap(), device.upload(&of_b).unwrap());
            let mut c = device.upload(&of_c).unwrap();
            let config = LaunchConfig::linear(WARPS as u32 / 4, 128);
            // SAFETY: there are the fragments of all threads.
            unsafe { device.launch::<K>(module, config, (&a, &b, &mut c)) }.unwrap();
            one_nan(c.to_vec().unwrap())
        });
        assert_defined(&what, &got, &one_nan(expected));
    }
}

#[test]
fn products_of_fragments_add_in_the_order_of_k() {
    products_of::<products::ProductsM8n8k4F64>("m8n8k4", mma::M8N8K4_F64);
    products_of::<products::ProductsM16n8k4F64>("m16n8k4", mma::M16N8K4_F64);
    products_of::<products::ProductsM16n8k8F64>("m16n8k8", mma::M16N8K8_F64);
    products_of::<products::ProductsM16n8k16F64>("m16n8k16", mma::M16N8K16_F64);
}

/// Multiplies the matrices of all warps, and compares the sums with what `expected` makes of a number of C and the
/// pairs of factors.
fn products_of_bytes<T: products::OfBytes<Sum: Element + std::fmt::Debug> + Element>(
    what: &str,
    [a, b]: [&[T]; 2],
    c: &[T::Sum],
    expected: impl Fn(T::Sum, &mut dyn Iterator<Item = (T, T)>) -> T::Sum,
) where
    products::ProductsOfBytes<T>: Kernel<Params = (Global<T>, Global<T>, GlobalMut<T::Sum>)>,
{
    let blocks = WARPS / products::WARPS_OF_BYTES;
    let got = same_everywhere(what, |device, module| {
        let (a, b) = (device.upload(a).unwrap(), device.upload(b).unwrap());
        let mut c = device.upload(c).unwrap();
        let config = LaunchConfig::linear(blocks as u32, 32 * products::WARPS_OF_BYTES as u32);
        let parameters = (&a, &b, &mut c);
        // SAFETY: there are the matrices of all warps.
        unsafe { device.launch::<products::ProductsOfBytes<T>>(module, config, parameters) }
            .unwrap();
        c.to_vec().unwrap()
    });
    let expected: Vec<T::Sum> = (0..WARPS * 256)
        .map(|i| {
            let (warp, row, column) = (i / 256, i / 16 % 16, i % 16);
            let (x, y) = (warp * 512 + row * 32, warp * 512 + column * 32);
            expected(c[i], &mut (0..32).map(|k| (a[x + k], b[y + k])))
        })
        .collect();
    assert_defined(what, &got, &expected);
}

#[test]
fn products_of_i8_from_shared_memory_wrap_around() {
    let [mut a, mut b] = [1, 2].map(|seed| noise::<i8>(WARPS * 512 + seed).split_off(seed));
    // The smallest ones in the first row of A and the first column of B.
    a[..32].fill(i8::MIN);
    b[..32].fill(i8::MIN);
    let c: Vec<i32> = (0..WARPS * 256)
        .map(|i| [i32::MAX, i32::MIN, 5][i % 3])
        .collect();
    products_of_bytes("m16n8k32 of i8", [&a, &b], &c, |c, factors| {
        factors.fold(c, |sum, (a, b)| {
            sum.wrapping_add(i32::from(a) * i32::from(b))
        })
    });
}

/// All numbers of 8 bits times 1, and whole numbers, whose sums are exact.
#[test]
fn products_of_eight_bits_have_all_numbers() {
    macro_rules! of {
        ($($what:literal: $ty:ident;)*) => { $(
            let all = (0..WARPS * 512).map(|i| {
                let (warp, row, k) = (i / 512, i / 32 % 16, i % 32);
                let (bits, whole) = (row * 16 + k % 16, (i * 7 % 17) as f32 - 8.0);
                match (warp % 3, k / 16) {
                    (0, 0) | (1, 1) => $ty::from_bits(bits as u8),
                    (0 | 1, _) => $ty::from_f32(0.0),
                    _ => $ty::from_f32(whole),
                }
            });
            let ones = (0..WARPS * 512).map(|i| {
                let (warp, column, k) = (i / 512, i / 32 % 16, i % 32);
                $ty::from_f32(match warp % 3 {
                    2 => (i * 5 % 13) as f32 - 6.0,
                    _ if k % 16 == column => 1.0,
                    _ => 0.0,
                })
            });
            let (a, b): (Vec<_>, Vec<_>) = (all.collect(), ones.collect());
            let c: Vec<f32> = (0..WARPS * 256).map(|i| (i / 256 % 3 / 2 * i) as f32).collect();
            products_of_bytes($what, [&a, &b], &c, |c, factors| {
                let sum = factors.fold(c, |sum, (a, b)| sum + a.to_f32() * b.to_f32());
                // The NaN of cards.
                if sum.is_nan() { f32::from_bits(0x7FFF_FFFF) } else { sum }
            });
        )* };
    }
    of! {
        "m16n8k32 of F8E4M3": F8E4M3;
        "m16n8k32 of F8E5M2": F8E5M2;
    }
}

#[test]
fn matrices_are_stored_row_by_row() {
    let words = noise::<u32>(WARPS * 128);
    let mut expected = vec![0; words.len()];
    for (i, row) in words.chunks(4).enumerate() {
        let to = i / 32 * 32 + (5 * (i % 32) + 3) % 32;
        expected[4 * to..][..4].copy_from_slice(row);
    }
    fn stored<T: Packed>(what: &str, words: &[u32], expected: &[u32])
    where
        products::StoredMatrices<T>: Kernel<Params = (Global<u32>, GlobalMut<u32>)>,
    {
        let got = same_everywhere(what, |device, module| {
            let from = device.upload(words).unwrap();
            let mut to = device.zeros::<u32>(words.len()).unwrap();
            let (blocks, threads) = (
                WARPS / products::WARPS_OF_BYTES,
                32 * products::WARPS_OF_BYTES,
            );
            let config = LaunchConfig::linear(blocks as u32, threads as u32);
            let parameters = (&from, &mut to);
            // SAFETY: there are the matrices of all warps.
            unsafe { device.launch::<products::StoredMatrices<T>>(module, config, parameters) }
                .unwrap();
            to.to_vec().unwrap()
        });
        assert_defined(what, &got, expected);
    }
    stored::<i8>("stmatrix of i8", &words, &expected);
    stored::<bf16>("stmatrix of bf16", &words, &expected);
}
