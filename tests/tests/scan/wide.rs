//! Cumulative sums of a wider type than the elements, held to a loop that adds in 128 bits, or in `f64`.

use cuda_std::{
    bf16,
    cpu::{Checks, Order},
    f16,
};
use warpwright::{
    CpuOptions, Device, Error, InvalidKind,
    ops::scan::{Scannable, Widen},
};
use warpwright_gpu::scan::policy::{WIDE_TILE_BYTES, wide_windows};
use warpwright_tests::{Number, compare, data::Data, devices};

use super::{in_orders, rounding};

/// The sums of a whole array, and where they begin.
struct Sums<T, Out> {
    values: Vec<T>,
    initial: Option<Out>,
    exclusive: bool,
}

impl<T: Number + Scannable + Widen<Out>, Out: Number> Sums<T, Out> {
    /// Any integers, or floats whose sums are exact.
    fn whole(len: usize) -> Self {
        let values = match T::ROUNDING == 0.0 {
            true => Data::Spread.values(len),
            false => (0..len)
                .map(|i| T::from_real((i % 17) as f64 - 8.0))
                .collect(),
        };
        Self {
            values,
            initial: None,
            exclusive: false,
        }
    }

    fn expected(&self) -> Vec<Out> {
        let result = |sum: i128| match Out::ROUNDING == 0.0 {
            true => Out::from_low_bits(sum as u64),
            false => Out::from_real(sum as f64),
        };
        let initial = self
            .initial
            .map_or(0, |initial| match Out::ROUNDING == 0.0 {
                true => i128::from(initial.bits()),
                false => initial.real() as i128,
            });
        let mut sum = initial;
        let sums = self.values.iter().map(|value| {
            let before = sum;
            // At most 32 bits, which an `f64` has exactly.
            sum += value.real() as i128;
            result(if self.exclusive { before } else { sum })
        });
        sums.collect()
    }

    /// Computes the sums twice, of elements and into places that lie behind so many others.
    fn compute(&self, device: &Device, [from, to]: [usize; 2]) -> Vec<Out> {
        let other = T::from_real(1.0);
        let mut input = vec![other; from];
        input.extend(&self.values);
        input.push(other);
        let input = device.upload(&input).unwrap();
        let view = input.slice(from..from + self.values.len()).unwrap();
        let mark = Out::from_real(77.0);
        let len = self.values.len();
        let mut output = device.upload(&vec![mark; to + len + 1]).unwrap();
        let mut request = device.cumulative_sum_wide_request(view);
        if self.exclusive {
            request = request.exclusive();
        }
        if let Some(initial) = self.initial {
            request = request.initial(initial);
        }
        let place = output.slice_mut(to..to + len).unwrap();
        let mut prepared = request.output_to(place).prepare().unwrap();
        // Words of the launch before are not cleared.
        for _ in 0..2 {
            prepared.enqueue().unwrap();
        }
        drop(prepared);
        let mut got = output.to_vec().unwrap();
        let beside = [&got[..to], &got[to + len..]].concat();
        assert_eq!(
            compare::same_bits(&beside, &vec![mark; to + 1]),
            Ok(()),
            "beside the view"
        );
        got.drain(..to);
        got.truncate(len);
        got
    }

    fn check(&self, device: &Device, places: [usize; 2]) {
        let got = self.compute(device, places);
        let outcome = compare::same_bits(&got, &self.expected());
        let (names, len) = ([T::NAME, Out::NAME], self.values.len());
        let kind = if self.exclusive { "exclusive" } else { "" };
        assert_eq!(
            outcome,
            Ok(()),
            "{names:?}, {kind} {len} at {places:?} on {}",
            device.kind()
        );
    }
}

const fn tile_of<T>() -> usize {
    WIDE_TILE_BYTES / size_of::<T>()
}

fn every_length_and_place<T: Number + Scannable + Widen<Out>, Out: Number>() {
    let tile = tile_of::<T>();
    let lens = [
        0,
        1,
        2,
        3,
        4,
        15,
        16,
        17,
        127,
        129,
        1009,
        tile - 1,
        tile,
        tile + 1,
    ];
    for device in devices::all() {
        for (i, len) in lens.into_iter().enumerate() {
            let mut sums = Sums::<T, Out>::whole(len);
            sums.check(device, [0, 0]);
            sums.exclusive = true;
            sums.check(device, [i % 4, (i + 1) % 5]);
            sums.initial = Some(Out::from_real(5.0));
            sums.check(device, [(i + 1) % 3, 0]);
            sums.exclusive = false;
            sums.check(device, [0, i % 3]);
        }
    }
    for device in in_orders() {
        let mut sums = Sums::<T, Out>::whole(2 * tile + 5);
        sums.check(&device, [0, 0]);
        sums.exclusive = true;
        sums.check(&device, [3, 1]);
    }
}

/// More tiles than a batch has, so that blocks wait for the batches before theirs.
fn many_tiles<T: Number + Scannable + Widen<Out>, Out: Number>() {
    // Without the checks, which would take minutes; in a pseudo-random order too.
    let cpu = |order| Device::cpu_with(CpuOptions::default().checks(Checks::NONE).order(order));
    let batch = 32 * wide_windows(size_of::<Out>()) * tile_of::<T>();
    let mut sums = Sums::<T, Out>::whole(2 * batch + 12_345);
    sums.check(&cpu(Order::Forward), [0, 0]);
    sums.exclusive = true;
    sums.initial = Some(Out::from_real(9.0));
    sums.check(&cpu(Order::Seeded(5)), [1, 1]);
    for device in devices::all().filter(|device| device.info().compute_capability.is_some()) {
        sums.check(device, [0, 0]);
        sums.check(device, [1, 3]);
    }
}

macro_rules! per_pair {
    ($($name:ident: $ty:ty => $out:ty;)*) => { $(
        mod $name {
            #[allow(unused_imports)]
            use super::{bf16, f16};

            #[test]
            fn every_length_and_place() {
                super::every_length_and_place::<$ty, $out>();
            }

            #[test]
            fn many_tiles() {
                super::many_tiles::<$ty, $out>();
            }
        }
    )* };
}
per_pair! {
    u8_u32: u8 => u32;
    u8_u64: u8 => u64;
    u16_u32: u16 => u32;
    u16_u64: u16 => u64;
    u32_u64: u32 => u64;
    i32_i64: i32 => i64;
    f16_f32: f16 => f32;
    bf16_f32: bf16 => f32;
}

#[test]
fn sums_wrap_in_the_type_of_the_results() {
    fn check<T: Number + Scannable + Widen<Out>, Out: Number>(initial: Out) {
        for device in in_orders() {
            let mut sums = Sums::<T, Out>::whole(tile_of::<T>() + 100);
            sums.initial = Some(initial);
            sums.check(&device, [0, 0]);
        }
    }
    check::<u8, u32>(u32::MAX - 20_000);
    check::<u8, u64>(u64::MAX - 20_000);
    check::<u16, u32>(u32::MAX);
    check::<u16, u64>(u64::MAX);
    check::<u32, u64>(u64::MAX - 7);
    check::<i32, i64>(i64::MIN + 1);
    check::<i32, i64>(i64::MAX - 1);
    let device = devices::cpu();
    let bytes = device.upload(&[255_u8, 1]).unwrap();
    let request = device.cumulative_sum_wide_request(&bytes);
    let got = request.initial(u32::MAX - 254).run().unwrap();
    assert_eq!(got.to_vec().unwrap(), [0, 1]);
}

#[test]
fn floats_have_the_same_bits_everywhere_and_small_errors() {
    fn check<T: Number + Scannable + Widen<f32>>() {
        let len = 2 * tile_of::<T>() + 777;
        let sums = Sums::<T, f32> {
            values: rounding(len),
            initial: Some(0.3),
            exclusive: false,
        };
        let want = sums.compute(devices::all().next().unwrap(), [0, 0]);
        // The elements have 11 bits or fewer, so that `f64` adds them up exactly, or nearly so.
        let mut sum = f64::from(0.3_f32);
        let mut magnitude = sum;
        for (i, value) in sums.values.iter().enumerate() {
            sum += value.real();
            magnitude += value.real().abs();
            let bound = 70.0 * f64::from(f32::EPSILON) / 2.0 * magnitude;
            let outcome = compare::within(want[i].into(), sum, bound);
            assert_eq!(outcome, Ok(()), "{} at {i}", T::NAME);
        }
        for device in in_orders() {
            for places in [[0, 0], [1, 0], [0, 1], [3, 2]] {
                let got = sums.compute(&device, places);
                let outcome = compare::same_bits(&got, &want);
                assert_eq!(outcome, Ok(()), "{} at {places:?}", T::NAME);
            }
        }
    }
    check::<f16>();
    check::<bf16>();
}

#[test]
fn the_workspace_is_at_most_a_hundredth_of_the_input_and_a_constant() {
    let device = Device::cpu();
    for len in [0, 1, 16_384, 16_385, 1 << 20, 1 << 22, 5_000_000] {
        let input = device.zeros::<u8>(len).unwrap();
        let request = device.cumulative_sum_wide_request::<u32, _>(&input);
        let prepared = request.prepare().unwrap();
        assert_eq!(prepared.kernels().len(), usize::from(len > 0));
        let bytes = prepared.workspace_bytes();
        assert!(bytes <= len / 128 + 512, "{len}: {bytes} bytes");
        if len <= 16_384 {
            assert_eq!(bytes, 0, "one tile");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let device = devices::cpu();
    let values = device.upload(&[1_u8, 2, 3]).unwrap();
    let request = || device.cumulative_sum_wide_request::<u32, _>(&values);
    let error = request().variant("look_back").run().unwrap_err();
    assert!(matches!(error, Error::NotEligible { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("sums of a wider type"), "{text}");
    let mut short = device.zeros::<u32>(2).unwrap();
    let error = request().output_to(&mut short).run().unwrap_err();
    let Error::Invalid { kind, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(kind, InvalidKind::Length);
}
