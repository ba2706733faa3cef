//! Scans: every variant, every operator, every element type.

mod bits;
mod elements;
mod segments;
mod users;
mod wide;

use cuda_std::cpu::{Checks, Order};
use elements::{Elements, Rung};
use warpwright::{
    CpuOptions, Device, Error, Module,
    ops::scan::{Operator, Scannable},
};
use warpwright_gpu::{scan::policy::Policy, tuning::shipped};
use warpwright_tests::{
    Number,
    cases::{self, OFFSETS},
    compare::{self, Outcome},
    data::{Awkward, Data},
    devices::{self, Executor},
    for_each_number,
};

/// A prefix, kept exactly, or in `f64` with the sum of the magnitudes.
#[derive(Clone, Copy)]
struct Prefix<T> {
    operator: Operator,
    whole: u64,
    real: f64,
    lost: f64,
    magnitude: f64,
    extreme: Option<T>,
    terms: usize,
}

impl<T: Number> Prefix<T> {
    fn new(operator: Operator) -> Self {
        let one = operator == Operator::Product;
        Self {
            operator,
            whole: u64::from(one),
            real: f64::from(u8::from(one)),
            lost: 0.0,
            magnitude: 0.0,
            extreme: None,
            terms: 0,
        }
    }

    fn take(&mut self, value: T) {
        self.terms += 1;
        let real = value.real();
        match self.operator {
            Operator::Sum => {
                self.whole = self.whole.wrapping_add(value.bits());
                let next = self.real + real;
                let (large, small) = match self.real.abs() >= real.abs() {
                    true => (self.real, real),
                    false => (real, self.real),
                };
                self.lost += (large - next) + small;
                self.real = next;
                self.magnitude += real.abs();
            }
            Operator::Product => {
                self.whole = self.whole.wrapping_mul(value.bits());
                self.real *= real;
            }
            _ => {
                let wins = match self.extreme {
                    None => true,
                    Some(so_far) if so_far.is_nan() => false,
                    Some(so_far) => {
                        value.is_nan()
                            || match self.operator {
                                Operator::Min => value.below(so_far),
                                _ => so_far.below(value),
                            }
                    }
                };
                if wins {
                    self.extreme = Some(value);
                }
            }
        }
    }

    /// Checks a result that includes at least one value.
    fn check(&self, got: T) -> Outcome {
        if self.terms == 0 {
            return Ok(());
        }
        if let Operator::Min | Operator::Max = self.operator {
            return compare::same_element(Some(got), self.extreme);
        }
        if T::ROUNDING == 0.0 {
            return compare::same(&got.bits(), &T::from_low_bits(self.whole).bits());
        }
        let sum = if self.real.is_finite() {
            self.real + self.lost
        } else {
            self.real
        };
        let chain = self.terms as f64 * T::ROUNDING;
        // The result is rounded once more where it is narrower than the accumulator.
        let nearest = T::from_real(sum).real();
        let step = match size_of::<T>() {
            2 => 2.0 * (nearest - sum).abs() + sum.abs() * 2_f64.powi(-7),
            _ => sum.abs() * T::ROUNDING,
        };
        let bound = match self.operator {
            Operator::Sum => chain.exp_m1() * self.magnitude,
            _ => chain.exp_m1() * sum.abs() + self.terms as f64 * T::SMALLEST,
        };
        // A prefix near the largest number may overflow, in the accumulator or in the result.
        let largest = T::GREATEST.real().min(T::LARGEST);
        if (self.magnitude.max(sum.abs()) + bound) >= largest * (1.0 - 2_f64.powi(-9)) {
            return Ok(());
        }
        compare::within(got.real(), sum, bound + step + T::from_low_bits(1).real())
    }
}

/// Computes a scan by one rung.
fn scanned<T: Number + Scannable>(
    device: &Device,
    elements: &Elements,
    values: &[T],
    rung: &Rung,
    initial: Option<T>,
) -> warpwright::Result<Vec<T>> {
    let mut vector = device.upload(values)?;
    let range = elements.offset..elements.offset + elements.len;
    if rung.in_place {
        let view = vector.slice_mut(range.clone())?;
        let mut request = device.scan_in_place_request(view, rung.operator);
        if rung.exclusive {
            request = request.exclusive();
        }
        if let Some(initial) = initial {
            request = request.initial(initial);
        }
        request.variant(rung.variant.name).run()?;
        let all = vector.to_vec()?;
        let untouched = |i: &usize| !range.contains(i);
        for i in (0..all.len()).filter(untouched) {
            assert_eq!(
                all[i].bits(),
                values[i].bits(),
                "element {i} beside the view"
            );
        }
        return Ok(all[range].to_vec());
    }
    let mut request = device.scan_request(vector.slice(range)?, rung.operator);
    if rung.exclusive {
        request = request.exclusive();
    }
    if let Some(initial) = initial {
        request = request.initial(initial);
    }
    request.variant(rung.variant.name).run()?.to_vec()
}

/// Returns the element that the identity of an operator becomes.
fn identity<T: Number>(operator: Operator) -> T {
    let infinity = |value: f64, otherwise: T| match T::ROUNDING > 0.0 {
        true => T::from_real(value),
        false => otherwise,
    };
    match operator {
        Operator::Sum => T::from_real(0.0),
        Operator::Product => T::from_real(1.0),
        Operator::Min => infinity(f64::INFINITY, T::GREATEST),
        _ => infinity(f64::NEG_INFINITY, T::LEAST),
    }
}

fn check_one<T: Number + Scannable>(
    device: &Device,
    elements: &Elements,
    values: &[T],
    rung: &Rung,
) -> Outcome {
    // Every second problem has an initial value.
    let initial = (elements.len.is_multiple_of(2)).then(|| T::from_real(1.0));
    let got = scanned(device, elements, values, rung, initial);
    let got = got.map_err(|error| error.to_string())?;
    let values = &values[elements.offset..];
    compare::same(&got.len(), &elements.len)?;
    let mut prefix = Prefix::new(rung.operator);
    if let Some(initial) = initial {
        prefix.take(initial);
    }
    if rung.exclusive && initial.is_none() && elements.len > 0 {
        compare::same_bits(&got[..1], &[identity::<T>(rung.operator)])?;
    }
    for (i, value) in values[..elements.len].iter().enumerate() {
        let before = prefix;
        prefix.take(*value);
        let expected = if rung.exclusive { before } else { prefix };
        let outcome = expected.check(got[i]);
        outcome.map_err(|error| format!("element {i}: {error}"))?;
    }
    Ok(())
}

fn check<T: Number + Scannable>(problems: &[Elements]) {
    cases::run(
        problems,
        Elements::rungs,
        |_, elements| Ok(elements.data.values::<T>(elements.offset + elements.len)),
        |device, elements, values, rung| check_one::<T>(device, elements, values, rung),
    );
}

/// Lengths around a chunk, a warp's row, and one and two tiles of the type.
fn lengths<T: Number>() -> Vec<Elements> {
    let tile = shipped::<Policy, T>().tile_bytes() / size_of::<T>();
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        let mut push = |len: usize, offset| {
            // On the CPU executor, where lanes cost time, a length has one of the two.
            let all = [Data::Spread, Data::Factors].into_iter().enumerate();
            for (_, data) in all.filter(|(i, _)| executor == Executor::Cuda || len / 2 % 2 == *i) {
                problems.push(Elements {
                    executor,
                    data,
                    len,
                    offset,
                });
            }
        };
        for len in [0, 1, 2, 7, 15, 16, 17, 33, 1009, tile - 1, tile, tile + 1] {
            push(len, 0);
        }
        push(2 * tile + 5, 0);
        for offset in OFFSETS {
            for len in [1, 16, 257, tile + 3] {
                push(len, offset);
            }
        }
        if executor == Executor::Cuda {
            for tiles in [31, 32, 33, 63, 64, 65, 255, 256, 257, 600, 1500] {
                for len in [tiles * tile - 1, tiles * tile, tiles * tile + 1] {
                    push(len, 0);
                }
            }
            push(cases::large(executor), 1);
        }
    }
    problems
}

fn awkward<T: Number>() -> Vec<Elements> {
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        for awkward in Awkward::of::<T>() {
            for len in [1, 2, 33, 2500] {
                problems.push(Elements {
                    executor,
                    data: Data::Awkward(awkward),
                    len,
                    offset: 0,
                });
            }
        }
    }
    problems
}

macro_rules! per_type {
    ($ty:ident) => {
        mod $ty {
            #[allow(unused_imports)]
            use cuda_std::{bf16, f16};

            #[test]
            fn every_length_and_offset() {
                super::check::<$ty>(&super::lengths::<$ty>());
            }

            #[test]
            fn awkward_values() {
                super::check::<$ty>(&super::awkward::<$ty>());
            }
        }
    };
}
for_each_number!(per_type);

/// The library's kernels for devices with asynchronous copies.
fn module() -> Module {
    Module::from_ptx(include_str!("../../../host/ptx/sm_80/scan.ptx")).unwrap()
}

/// Devices with every check, in several orders of blocks and lanes, and the CUDA devices with asynchronous copies.
fn in_orders() -> Vec<Device> {
    let orders = [
        Order::Forward,
        Order::Backward,
        Order::Seeded(1),
        Order::Seeded(7),
    ];
    let cuda = devices::all().filter(|device| device.info().compute_capability >= Some((8, 0)));
    let cpu = orders.map(devices::cpu_in).into_iter();
    cpu.chain(cuda.cloned()).collect()
}

/// Values whose sums depend on the order of the additions.
fn rounding<T: Number>(len: usize) -> Vec<T> {
    Data::Spread.values(len)
}

/// More tiles than a batch has, so that blocks wait for the batches before theirs, and large enough for persistent blocks.
#[test]
fn many_tiles_by_every_variant() {
    // Without the checks, which would take minutes; in a pseudo-random order too.
    let cpu = |order| Device::cpu_with(CpuOptions::default().checks(Checks::NONE).order(order));
    let policy = shipped::<Policy, f64>();
    let batch = 32 * policy.windows * policy.tile_bytes() / 8;
    for device in [cpu(Order::Forward), cpu(Order::Seeded(5))] {
        let len = (2 * batch).max(policy.persistent_bytes / 8) + 12_345;
        let values: Vec<f64> = (0..len).map(|i| (i % 17) as f64 - 8.0).collect();
        let mut sum = 0.0_f64;
        let want: Vec<f64> = (values.iter())
            .map(|value| {
                sum += value;
                sum
            })
            .collect();
        let input = device.upload(&values).unwrap();
        for variant in ["look_back", "reduce_then_scan", "best"] {
            let request = device.scan_request(&input, Operator::Sum).variant(variant);
            let got = request.run().unwrap().to_vec().unwrap();
            assert_eq!(compare::same_bits(&got, &want), Ok(()), "{variant}");
        }
        // Without room for wide loads, `best` takes a block for every tile.
        let input = input.slice(1..).unwrap();
        let got = device.cumulative_sum(input).unwrap().to_vec().unwrap();
        let want: Vec<f64> = want[1..].iter().map(|sum| sum + 8.0).collect();
        assert_eq!(compare::same_bits(&got, &want), Ok(()));
    }
}

#[test]
fn the_offset_does_not_change_the_bits() {
    for device in devices::all() {
        let values: Vec<f32> = rounding(20_000);
        let aligned = device.upload(&values).unwrap();
        let want = device.cumulative_sum(&aligned).unwrap().to_vec().unwrap();
        for offset in 1..4 {
            let mut behind = vec![0.0; offset];
            behind.extend(&values);
            let vector = device.upload(&behind).unwrap();
            let view = vector.slice(offset..).unwrap();
            let got = device.cumulative_sum(view).unwrap().to_vec().unwrap();
            assert_eq!(compare::same_bits(&got, &want), Ok(()), "offset {offset}");
            let mut output = device.zeros::<f32>(20_000 + offset).unwrap();
            let place = output.slice_mut(offset..).unwrap();
            let request = device.scan_request(&aligned, Operator::Sum);
            request.output_to(place).run().unwrap();
            let got = output.to_vec().unwrap();
            assert_eq!(compare::same_bits(&got[offset..], &want), Ok(()));
            assert!(got[..offset].iter().all(|value| *value == 0.0));
        }
    }
}

#[test]
fn queued_again_every_variant_scans_what_is_there_then() {
    for device in devices::all() {
        let values: Vec<u32> = Data::Spread.values(20_000);
        let input = device.upload(&values).unwrap();
        for variant in cases::variants("scan") {
            let request = device.scan_request(&input, Operator::Max);
            let mut prepared = request.variant(variant.name).prepare().unwrap();
            let mut most = 0;
            let want: Vec<u32> = (values.iter())
                .map(|value| {
                    most = most.max(*value);
                    most
                })
                .collect();
            for _ in 0..3 {
                prepared.enqueue().unwrap();
                assert_eq!(prepared.output().unwrap().to_vec().unwrap(), want);
            }
            let mut ones = device.upload(&vec![1_u32; 9000]).unwrap();
            let request = device.scan_in_place_request(&mut ones, Operator::Sum);
            let mut prepared = request.variant(variant.name).prepare().unwrap();
            for _ in 0..2 {
                prepared.enqueue().unwrap();
            }
            drop(prepared);
            // The sums of 1, 2, 3, … are the triangular numbers.
            let want: Vec<u32> = (1..=9000).map(|i| i * (i + 1) / 2).collect();
            assert_eq!(ones.to_vec().unwrap(), want, "{}", variant.name);
        }
    }
}

#[test]
fn the_workspace_of_best_is_at_most_a_hundredth_of_the_input_and_a_constant() {
    let device = Device::cpu();
    for len in [0, 1, 8192, 8193, 1 << 20, 1 << 22, 5_000_000] {
        let input = device.zeros::<f32>(len).unwrap();
        let prepared = device
            .scan_request(&input, Operator::Sum)
            .prepare()
            .unwrap();
        let bytes = prepared.workspace_bytes();
        assert!(bytes <= len * 4 / 100 + 1024, "{len}: {bytes} bytes");
        if len <= 8192 {
            assert_eq!(bytes, 0, "one tile");
        }
    }
}

#[test]
fn an_output_of_another_length_and_an_unknown_variant_are_refused() {
    let device = devices::cpu();
    let input = device.upload(&[1_i32, 2, 3]).unwrap();
    let mut output = device.zeros::<i32>(2).unwrap();
    let request = device.scan_request(&input, Operator::Sum);
    let error = request.output_to(&mut output).run().unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
    let request = device.scan_request(&input, Operator::Sum);
    let error = request.variant("blelloch").run().unwrap_err();
    assert!(
        matches!(error, Error::UnknownVariant { family: "scan", .. }),
        "{error:?}"
    );
}

#[test]
fn the_readme_of_the_operations() {
    for device in devices::all() {
        let x = device.upload(&[3_i64, 1, 4, 1, 5]).unwrap();
        let scan = |operator| {
            device
                .inclusive_scan(&x, operator)
                .unwrap()
                .to_vec()
                .unwrap()
        };
        assert_eq!(scan(Operator::Sum), [3, 4, 8, 9, 14]);
        assert_eq!(scan(Operator::Product), [3, 3, 12, 12, 60]);
        assert_eq!(scan(Operator::Min), [3, 1, 1, 1, 1]);
        let sums = device.exclusive_scan(&x, Operator::Sum).unwrap();
        assert_eq!(sums.to_vec().unwrap(), [0, 3, 4, 8, 9]);
        let least = device.exclusive_scan(&x, Operator::Min).unwrap();
        assert_eq!(least.to_vec().unwrap(), [i64::MAX, 3, 1, 1, 1]);
        let none = device.upload::<f32>(&[]).unwrap();
        assert!(device.cumulative_sum(&none).unwrap().is_empty());
    }
}
