//! Products of warpgroups: the same bits on the CPU and on cards of compute capability 9.0.

use bytemuck::Pod;
use cuda_std::{
    F8E4M3, F8E5M2, bf16, f16,
    kernel::Kernel,
    mma::Half,
    prelude::*,
    tensor_map::{EncodedTensorMap, Swizzle, TiledMatrix},
    wgmma::{Factor, round_to_tf32},
};
use cuda_std_device_tests::wgmma::{
    K, ProductOfRegisters, ProductOfWarpgroup, ProductWithRounding, RoundedPairs,
};
use warpwright::{Device, Element, LaunchConfig, Module};

use super::{assert_defined, hopper_from_to, noise, same_on_hopper};

/// A matrix of a product, `across` x [`K`] elements, whose lines lie along k or across.
struct Operand<T> {
    elements: Vec<T>,
    across: usize,
    along_k: bool,
    /// Whether the map rounds elements of `f32`.
    to_tf32: bool,
}

impl<T: Element> Operand<T> {
    fn at(&self, across: usize, k: usize) -> T {
        match self.along_k {
            true => self.elements[across * K + k],
            false => self.elements[k * self.across + across],
        }
    }

    /// Calls `work` with the map of the matrix on a device.
    fn with_map<R>(&self, device: &Device, work: impl FnOnce(EncodedTensorMap) -> R) -> R {
        let matrix = device.upload(&self.elements).unwrap();
        let [columns, rows] = match self.along_k {
            true => [K, self.across],
            false => [self.across, K],
        };
        let map = device.tensor_map(&TiledMatrix {
            address: matrix.view().device_pointer(),
            element_bytes: size_of::<T>() as u32,
            sizes: [columns as u64, rows as u64],
            stride: (size_of::<T>() * columns) as u64,
            tile: [128 / size_of::<T>() as u32, 64],
            swizzle: Swizzle::Bytes128,
            stack: None,
            to_tf32: self.to_tf32,
        });
        work(map.unwrap())
    }
}

/// What each sum starts with, and what adds a product to a sum.
type Sums<T, S> = (fn(usize) -> S, MulAdd<T, S>);
type MulAdd<T, S> = fn(S, T, T) -> S;

/// Multiplies matrices of whole numbers that `whole` makes, and of the elements that `of_bits` makes of any bits. Adds the
/// products to what `start` says of each sum. `mul_add` adds a product to a sum.
fn products<KERNEL, T>(
    columns: usize,
    along_k: [bool; 2],
    (start, mul_add): Sums<T, T::Sum>,
    whole: fn(i32) -> T,
    of_bits: fn(u32) -> T,
    to_tf32: bool,
) where
    KERNEL: Kernel<Params = (EncodedTensorMap, EncodedTensorMap, GlobalMut<T::Sum>)>,
    T: Element + Factor<Sum: Element + std::fmt::Debug> + Pod,
{
    let what = format!(
        "{} {columns} {along_k:?} {to_tf32}",
        std::any::type_name::<T>()
    );
    let sums: Vec<T::Sum> = (0..64 * columns).map(start).collect();
    let product = |operands: &[Operand<T>; 2]| {
        same_on_hopper(&what, |device: &Device, module: &Module| {
            let [a, b] = operands;
            let mut c = device.upload(&sums).unwrap();
            let config = LaunchConfig::linear(1, 128);
            a.with_map(device, |a| {
                b.with_map(device, |b| {
                    // SAFETY: the maps are of the matrices, and `c` has as many elements as the product.
                    unsafe { device.launch::<KERNEL>(module, config, (a, b, &mut c)) }.unwrap();
                    // The matrices must last until then.
                    device.synchronize().unwrap();
                });
            });
            c.to_vec().unwrap()
        })
    };
    let operands = |element: &dyn Fn(u32) -> T| {
        let mut bits = noise::<u32>((64 + columns) * K).into_iter();
        [(64, along_k[0]), (columns, along_k[1])].map(|(across, along_k)| Operand {
            elements: bits.by_ref().take(across * K).map(element).collect(),
            across,
            along_k,
            to_tf32,
        })
    };
    // Whole numbers, whose sums are exact.
    let small = |bits: u32| whole((bits % 17) as i32 - 8);
    let exact = operands(&small);
    let expected: Vec<T::Sum> = (0..64 * columns)
        .map(|i| {
            let [row, column] = [i / columns, i % columns];
            (0..K).fold(sums[i], |sum, k| {
                mul_add(sum, exact[0].at(row, k), exact[1].at(column, k))
            })
        })
        .collect();
    assert_defined(&what, &product(&exact), &expected);
    // Any bits: NaN and infinities too, and numbers of all sizes.
    let any = operands(&of_bits);
    product(&any);
    // Fractions near 1, whose sums are truncated.
    let near = operands(&|bits| whole((bits % 512) as i32 - 256));
    product(&near);
}

/// Returns a whole number of few bits.
fn whole<T: Half + Pod>(number: i32) -> T {
    cuda_std::mma::Pair::<T>::rounded([number as f32, 0.0]).values()[0]
}

macro_rules! of_halves {
    ($($ty:ident, $sums:literal: $a:literal, $b:literal;)*) => { $(
        products::<ProductOfWarpgroup<$ty, $sums, $a, $b>, $ty>(
            2 * $sums,
            [$a, $b],
            (|_| 0.0, |sum, a, b| sum + a.to_f32() * b.to_f32()),
            whole,
            |bits| $ty::from_bits(bits as u16),
            false,
        );
    )* };
}

#[test]
fn warpgroups_multiply() {
    of_halves! {
        f16, 8: true, true;
        f16, 32: true, true;
        f16, 64: true, false;
        f16, 128: false, false;
        bf16, 8: false, true;
        bf16, 32: false, true;
        bf16, 64: false, false;
        bf16, 128: true, true;
    }
}

/// Elements of `f32`, those of A in shared memory or in registers, whose low bits the tensor cores ignore, and those that
/// tensor maps round before.
#[test]
fn warpgroups_multiply_f32() {
    for to_tf32 in [false, true] {
        let value: Sums<f32, f32> = (|_| 0.0, |sum, a, b| sum + a * b);
        let whole = |number: i32| number as f32;
        let all = [true; 2];
        let any = |bits: u32| f32::from_bits(bits);
        // Near each other in size, so that the low bits of sums count.
        let near = |bits: u32| f32::from_bits(bits & 0x80FF_FFFF | 0x3F00_0000);
        let halves =
            |bits: u32| round_to_tf32(f32::from_bits(0x3F80_0000 | bits >> 9)) + 1.0 / 2048.0;
        macro_rules! of {
            ($($sums:literal: $elements:expr;)*) => { $(
                products::<ProductOfWarpgroup<f32, $sums, true, true>, f32>(
                    2 * $sums, all, value, whole, $elements, to_tf32,
                );
                products::<ProductOfRegisters<f32, $sums>, f32>(
                    2 * $sums, all, value, whole, $elements, to_tf32,
                );
            )* };
        }
        of! {
            8: near;
            32: any;
            64: near;
            128: halves;
        }
    }
}

/// Elements of other types than `f32`, with those of A in registers.
#[test]
fn warpgroups_multiply_registers() {
    macro_rules! of {
        ($($ty:ident, $sums:literal;)*) => { $(
            products::<ProductOfRegisters<$ty, $sums>, $ty>(
                2 * $sums,
                [true; 2],
                (|i| i as f32, |sum, a, b| sum + a.to_f32() * b.to_f32()),
                |number| $ty::from_f32(number as f32),
                |bits| $ty::from_bits(bits as _),
                false,
            );
        )* };
    }
    of! {
        f16, 64;
        bf16, 32;
        F8E4M3, 64;
        F8E5M2, 32;
    }
    products::<ProductOfRegisters<i8, 128>, i8>(
        256,
        [true; 2],
        (
            |i| i as i32 - i32::MAX,
            |sum, a, b| sum.wrapping_add(i32::from(a) * i32::from(b)),
        ),
        |number| number as i8,
        |bits| bits as i8,
        false,
    );
}

/// Sums of each step that threads add. The elements are no NaN, whose bits differ between devices.
#[test]
fn warpgroups_multiply_with_rounding() {
    macro_rules! of {
        ($($ty:ident, $sums:literal;)*) => { $(
            products::<ProductWithRounding<$ty, $sums>, $ty>(
                2 * $sums,
                [true; 2],
                (|i| i as f32, |sum, a, b| sum + a.to_f32() * b.to_f32()),
                |number| $ty::from_f32(number as f32),
                |bits| $ty::from_bits(bits as u8 & 0xBF),
                false,
            );
        )* };
    }
    of! {
        F8E4M3, 8;
        F8E4M3, 32;
        F8E4M3, 64;
        F8E5M2, 8;
        F8E5M2, 128;
    }
    products::<ProductWithRounding<f32, 64>, f32>(
        128,
        [true; 2],
        (|i| i as f32, |sum, a, b| sum + a * b),
        |number| number as f32,
        |bits| round_to_tf32(f32::from_bits(bits & 0x80FF_FFFF | 0x3F00_0000)),
        false,
    );
}

/// Elements of `i8`, added to sums of which most wrap around.
#[test]
fn warpgroups_multiply_i8() {
    macro_rules! of {
        ($($sums:literal)*) => { $(
            products::<ProductOfWarpgroup<i8, $sums, true, true>, i8>(
                2 * $sums,
                [true; 2],
                (
                    |i| [i32::MAX, i32::MIN, 5][i % 3],
                    |sum, a, b| sum.wrapping_add(i32::from(a) * i32::from(b)),
                ),
                |number| number as i8,
                // Any, and some of the smallest.
                |bits| if bits.is_multiple_of(3) { i8::MIN } else { bits as i8 },
                false,
            );
        )* };
    }
    of! { 8 32 64 128 }
}

/// Numbers of 8 bits, whose sums keep 13 bits.
#[test]
fn warpgroups_multiply_eight_bits() {
    macro_rules! of {
        ($($ty:ident, $sums:literal, $start:expr;)*) => { $(
            products::<ProductOfWarpgroup<$ty, $sums, true, true>, $ty>(
                2 * $sums,
                [true; 2],
                ($start, |sum, a, b| sum + a.to_f32() * b.to_f32()),
                |number| $ty::from_f32(number as f32),
                |bits| $ty::from_bits(bits as u8),
                false,
            );
        )* };
    }
    // Whole numbers of 13 bits.
    of! {
        F8E4M3, 8, |_| 0.0;
        F8E4M3, 32, |_| 0.0;
        F8E4M3, 64, |i| (i % 8192) as f32 - 4096.0;
        F8E4M3, 128, |_| 0.0;
        F8E5M2, 8, |_| 0.0;
        F8E5M2, 32, |_| 0.0;
        F8E5M2, 64, |_| 0.0;
        F8E5M2, 128, |i| (i % 8192) as f32 - 4096.0;
    }
}

#[test]
fn pairs_are_rounded_to_the_nearest() {
    let mut numbers: Vec<f32> = noise::<f32>(200);
    numbers.extend([
        65519.0,
        65520.0,
        -65504.0,
        1.0 + f32::EPSILON,
        3.0e-8,
        -0.0,
        1e38,
        3.4e38,
    ]);
    numbers.retain(|number| !number.is_nan());
    numbers.truncate(numbers.len() / 2 * 2);
    let config = LaunchConfig::linear(1, numbers.len() as u32 / 2);
    let got = hopper_from_to::<RoundedPairs<f16>, f32, f16>("f16", config, &numbers, numbers.len());
    let expected: Vec<f16> = numbers
        .iter()
        .map(|number| f16::from_f32(*number))
        .collect();
    assert_defined("f16", &got, &expected);
    let got =
        hopper_from_to::<RoundedPairs<bf16>, f32, bf16>("bf16", config, &numbers, numbers.len());
    let expected: Vec<bf16> = numbers
        .iter()
        .map(|number| bf16::from_f32(*number))
        .collect();
    assert_defined("bf16", &got, &expected);
}
