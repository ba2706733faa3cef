//! Properties, for any shape, values and offset that proptest thinks of.

use proptest::{prelude::*, sample::Index};
use warpwright::{Device, Variant};
use warpwright_tests::{Number, cases, compare, devices, oracle};

fn config() -> ProptestConfig {
    // Nothing is written to the sources: a failure prints its values, and the tests also run elsewhere.
    ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn rung(family: &str, index: Index) -> &'static Variant {
    index.get(cases::variants(family))
}

/// A part of `len` elements.
fn part(len: usize, ends: (Index, Index)) -> std::ops::Range<usize> {
    let ends = [ends.0.index(len + 1), ends.1.index(len + 1)];
    ends[0].min(ends[1])..ends[0].max(ends[1])
}

fn failed(error: warpwright::Error) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

fn right(outcome: compare::Outcome) -> Result<(), TestCaseError> {
    outcome.map_err(TestCaseError::fail)
}

/// Every operation that is exact for any values: all for integers, but sums and products for floats.
fn exact<T: Number>(
    device: &Device,
    values: &[T],
    ends: (Index, Index),
    rung: &Variant,
) -> Result<(), TestCaseError> {
    let range = part(values.len(), ends);
    let vector = device.upload(values).map_err(failed)?;
    let view = vector.slice(range.clone()).map_err(failed)?;
    let request = || device.reduce(view).variant(rung.name);
    let (least, greatest) = (
        T::extreme(&values[range.clone()], true),
        T::extreme(&values[range.clone()], false),
    );
    right(compare::same_element(
        request().min().map_err(failed)?,
        least.map(|(_, value)| value),
    ))?;
    let max = request().max().map_err(failed)?;
    right(compare::same_element(max, greatest.map(|(_, value)| value)))?;
    right(compare::same(
        &request().argmin().map_err(failed)?,
        &least.map(|(index, _)| index),
    ))?;
    right(compare::same(
        &request().argmax().map_err(failed)?,
        &greatest.map(|(index, _)| index),
    ))?;
    if T::ROUNDING == 0.0 {
        let values = &values[range];
        right(compare::sum::<T>(
            request().sum().map_err(failed)?,
            T::exact_sum(values),
            0,
        ))?;
        let product = request().product().map_err(failed)?;
        right(compare::product::<T>(product, T::exact_product(values), 0))?;
    }
    Ok(())
}

macro_rules! exact {
    ($($name:ident: $ty:ty;)*) => {
        proptest! {
            #![proptest_config(config())]
            $(
                #[test]
                fn $name(
                    values in prop::collection::vec(any::<$ty>(), 0..2000),
                    ends: (Index, Index),
                    index: Index,
                ) {
                    for device in devices::all() {
                        exact(device, &values, ends, rung("reduce", index))?;
                    }
                }
            )*
        }
    };
}
exact! {
    reductions_of_u8: u8;
    reductions_of_i32: i32;
    reductions_of_u64: u64;
    reductions_of_i64: i64;
}

fn sums<T: Number>(
    device: &Device,
    values: &[T],
    ends: (Index, Index),
    rung: &Variant,
) -> Result<(), TestCaseError> {
    let range = part(values.len(), ends);
    let vector = device.upload(values).map_err(failed)?;
    let view = vector.slice(range.clone()).map_err(failed)?;
    let sum = device
        .reduce(view)
        .variant(rung.name)
        .sum()
        .map_err(failed)?;
    let chain = cases::reduce_chain(rung, range.len(), device);
    right(compare::sum::<T>(sum, T::exact_sum(&values[range]), chain))
}

proptest! {
    #![proptest_config(config())]

    // Any bits: NaNs, infinities and subnormal numbers among them.
    #[test]
    fn extremes_of_f32(
        bits in prop::collection::vec(any::<u32>(), 0..2000),
        few in prop::collection::vec(prop::sample::select(vec![0.0_f32, -0.0, 1.0, f32::INFINITY]), 0..300),
        ends: (Index, Index),
        index: Index,
    ) {
        let bits: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
        for device in devices::all() {
            exact(device, &bits, ends, rung("reduce", index))?;
            exact(device, &few, ends, rung("reduce", index))?;
        }
    }

    #[test]
    fn extremes_of_f64(
        values in prop::collection::vec(prop::num::f64::ANY, 0..1000),
        ends: (Index, Index),
        index: Index,
    ) {
        for device in devices::all() {
            exact(device, &values, ends, rung("reduce", index))?;
        }
    }

    #[test]
    fn sums_of_floats(
        values in prop::collection::vec(-1e30_f32..1e30, 0..2000),
        ends: (Index, Index),
        index: Index,
    ) {
        let wide: Vec<f64> = values.iter().map(|value| f64::from(*value) * 1e200).collect();
        for device in devices::all() {
            sums(device, &values, ends, rung("reduce", index))?;
            sums(device, &wide, ends, rung("reduce", index))?;
        }
    }

    #[test]
    fn transposes(
        height in 0_usize..90,
        width in 0_usize..90,
        seed: u32,
        ends: (Index, Index),
        index: Index,
    ) {
        let rows = part(height, ends);
        let values: Vec<u32> = (0..(height * width) as u32).map(|i| i.wrapping_mul(seed)).collect();
        let bytes: Vec<u8> = values.iter().map(|value| *value as u8).collect();
        let variant = rung("transpose", index).name;
        for device in devices::all() {
            let matrix = device.upload_matrix(&values, height, width).map_err(failed)?;
            let view = matrix.rows(rows.clone()).map_err(failed)?;
            let turned = device.transpose_request(view).variant(variant).run().map_err(failed)?;
            let wanted = &values[rows.start * width..rows.end * width];
            let transposed = oracle::transpose(wanted, rows.len(), width);
            right(compare::same_bits(&turned.to_vec().map_err(failed)?, &transposed))?;
            // Turned twice it is what it was.
            let back = device.transpose_request(&turned).variant(variant).run().map_err(failed)?;
            right(compare::same_bits(&back.to_vec().map_err(failed)?, wanted))?;

            let matrix = device.upload_matrix(&bytes, height, width).map_err(failed)?;
            let turned = device.transpose_request(&matrix).variant(variant).run().map_err(failed)?;
            let transposed = oracle::transpose(&bytes, height, width);
            right(compare::same_bits(&turned.to_vec().map_err(failed)?, &transposed))?;
        }
    }

    #[test]
    fn histograms_of_numbers(
        values in prop::collection::vec(any::<u16>(), 0..3000),
        narrow: bool,
        bins in prop_oneof![1_usize..300, 1_usize..70_000],
        ends: (Index, Index),
        index: Index,
    ) {
        let values: Vec<u16> =
            values.into_iter().map(|value| if narrow { value % 256 } else { value }).collect();
        let range = part(values.len(), ends);
        let numbers = values[range.clone()].iter().map(|value| u64::from(*value));
        let (counts, outside) = oracle::histogram(numbers, bins);
        for device in devices::all() {
            let vector = device.upload(&values).map_err(failed)?;
            let view = vector.slice(range.clone()).map_err(failed)?;
            let request = device.histogram_request(view, bins);
            let got = request.variant(rung("histogram", index).name).run().map_err(failed)?;
            prop_assert_eq!(got.outside, outside);
            prop_assert_eq!(got.total(), range.len() as u64);
            right(compare::same_bits(&got.counts, &counts))?;
        }
    }

    #[test]
    fn histograms_of_ranges(
        values in prop::collection::vec(prop_oneof![-10.0_f32..10.0, prop::num::f32::ANY], 0..3000),
        bins in 1_usize..500,
        low in -12.0_f32..8.0,
        size in 0.001_f32..20.0,
        index: Index,
    ) {
        let high = low + size;
        let numbers = values.iter().map(|value| {
            oracle::bin_f32(*value, bins, low, high).map_or(u64::MAX, |bin| bin as u64)
        });
        let (counts, outside) = oracle::histogram(numbers, bins);
        for device in devices::all() {
            let vector = device.upload(&values).map_err(failed)?;
            let request = device.histogram_range_request(&vector, bins, low, high);
            let got = request.variant(rung("histogram", index).name).run().map_err(failed)?;
            prop_assert_eq!(got.outside, outside);
            right(compare::same_bits(&got.counts, &counts))?;
        }
    }

    #[test]
    fn slices_are_those_of_the_host(len in 0_usize..100, start in 0_usize..110, end in 0_usize..110) {
        let values: Vec<u16> = (0..len as u16).collect();
        for device in devices::all() {
            let vector = device.upload(&values).map_err(failed)?;
            match (vector.slice(start..end), values.get(start..end)) {
                (Ok(view), Some(wanted)) => {
                    right(compare::same_bits(&view.to_vec().map_err(failed)?, wanted))?;
                }
                (Err(_), None) => {}
                (got, wanted) => prop_assert!(false, "{:?} where the host has {:?}", got, wanted),
            }
        }
    }
}
