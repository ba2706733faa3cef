//! Reductions: every variant, every operator, every element type.

use std::fmt;

use warpwright::{
    Device, Error, Variant, Vector, VectorView,
    ops::{
        ChosenBy,
        reduce::{Operator, Value},
    },
};
use warpwright_tests::{
    Number,
    cases::{self, OFFSETS, Problem},
    compare::{self, Outcome},
    data::{Awkward, Data},
    devices::{self, Executor},
    for_each_number,
    oracle::Total,
};

/// A variant that is asked for something.
#[derive(Clone, Copy)]
struct Rung {
    variant: &'static Variant,
    operator: Operator,
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.operator.name(), self.variant.name)
    }
}

/// Elements of some kind, behind `offset` others.
#[derive(Debug)]
struct Elements {
    executor: Executor,
    data: Data,
    len: usize,
    offset: usize,
}

impl Problem for Elements {
    fn executor(&self) -> Executor {
        self.executor
    }
}

impl Elements {
    /// The kind of data that shows mistakes of this operator.
    fn suits(&self, operator: Operator) -> bool {
        use Operator::*;
        match self.data {
            Data::Spread => matches!(operator, Mean | Sum | Min | Max),
            Data::Factors => operator == Product,
            Data::Ties => matches!(operator, ArgMin | ArgMax),
            Data::Awkward(awkward) => operator != Product || awkward.has_product(),
        }
    }

    /// Every variant for every suiting operator. On the CPU executor, where lanes cost time, long arrays
    /// are for one operator of each type.
    fn rungs<T: Number>(&self) -> Vec<Rung> {
        const LONG: usize = 3_000;
        let mut operators = Operator::ALL.to_vec();
        if self.executor == Executor::Cpu && self.len > LONG {
            let name: usize = T::NAME.bytes().map(usize::from).sum();
            operators = vec![operators[(name + self.len) % operators.len()]];
        }
        operators.retain(|operator| self.suits(*operator));
        let variants = cases::variants("reduce").iter();
        variants
            .flat_map(|variant| operators.iter().map(move |operator| (variant, *operator)))
            .map(|(variant, operator)| Rung { variant, operator })
            .collect()
    }
}

/// Elements on a device, and what comes of them.
struct Prepared<T> {
    vector: Vector<T>,
    sum: Total,
    /// The sum that the mean is the quotient of.
    whole: Total,
    product: Total,
    least: Option<(u64, T)>,
    greatest: Option<(u64, T)>,
}

impl<T: Number> Prepared<T> {
    fn new(device: &Device, elements: &Elements) -> warpwright::Result<Self> {
        let values: Vec<T> = elements.data.values(elements.len);
        // What lies around the elements would be seen in every result.
        let poison = T::from_real(f64::NAN);
        let mut all = vec![poison; elements.offset];
        all.extend(&values);
        all.extend([poison; 5]);
        Ok(Self {
            vector: device.upload(&all)?,
            sum: T::exact_sum(&values),
            whole: T::whole_sum(&values),
            product: T::exact_product(&values),
            least: T::extreme(&values, true),
            greatest: T::extreme(&values, false),
        })
    }

    fn check(&self, device: &Device, elements: &Elements, rung: &Rung) -> Outcome {
        let view = self
            .vector
            .slice(elements.offset..elements.offset + elements.len);
        let view: VectorView<'_, T> = view.map_err(|error| error.to_string())?;
        let request = device.reduce(view).variant(rung.variant.name);
        let chain = cases::reduce_chain(rung.variant, elements.len, device);
        let index = |extreme: Option<(u64, T)>| extreme.map(|(index, _)| index);
        let element = |extreme: Option<(u64, T)>| extreme.map(|(_, element)| element);
        let failed = |error: Error| error.to_string();
        match rung.operator {
            Operator::Sum => compare::sum::<T>(request.sum().map_err(failed)?, self.sum, chain),
            Operator::Product => {
                let product = request.product().map_err(failed)?;
                let roundings = elements.data.roundings(elements.len);
                compare::product::<T>(product, self.product, roundings)
            }
            Operator::Min => {
                compare::same_element(request.min().map_err(failed)?, element(self.least))
            }
            Operator::Max => {
                compare::same_element(request.max().map_err(failed)?, element(self.greatest))
            }
            Operator::ArgMin => {
                compare::same(&request.argmin().map_err(failed)?, &index(self.least))
            }
            Operator::ArgMax => {
                compare::same(&request.argmax().map_err(failed)?, &index(self.greatest))
            }
            Operator::Mean => {
                let mean = request.mean().map_err(failed)?;
                compare::mean::<T>(mean, self.whole, chain, elements.len)
            }
            other => Err(format!("no oracle of {other}")),
        }
    }
}

fn check<T: Number>(problems: &[Elements]) {
    cases::run(
        problems,
        Elements::rungs::<T>,
        Prepared::<T>::new,
        |device, elements, prepared, rung| prepared.check(device, elements, rung),
    );
}

fn lengths() -> Vec<Elements> {
    let mut problems = Vec::new();
    for executor in Executor::ALL {
        for data in [Data::Spread, Data::Factors, Data::Ties] {
            let mut push = |len, offset| {
                problems.push(Elements {
                    executor,
                    data,
                    len,
                    offset,
                })
            };
            for len in cases::lengths(executor, &cases::reduce_blocks()) {
                push(len, 0);
            }
            for offset in OFFSETS {
                for len in [1, 2, 16, 33, 257, 4099] {
                    push(len, offset);
                }
            }
            if executor == Executor::Cuda {
                push(cases::large(executor), 1);
            }
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
                super::check::<$ty>(&super::lengths());
            }

            #[test]
            fn awkward_values() {
                super::check::<$ty>(&super::awkward::<$ty>());
            }
        }
    };
}
for_each_number!(per_type);

/// More partial results than one block of the last pass takes: 2^15 of 256 elements.
#[test]
fn a_last_pass_of_several_blocks() {
    for device in devices::all() {
        let len = (1 << 23) + 257;
        let mut values = vec![1_u8; len];
        (values[len - 1], values[len / 2]) = (2, 0);
        let vector = device.upload(&values).unwrap();
        let request = || device.reduce(&vector).variant("warp_shuffle");
        assert_eq!(request().sum().unwrap(), len as u64);
        if cases::is_cuda(device) {
            assert_eq!(request().argmax().unwrap(), Some(len as u64 - 1));
            assert_eq!(request().argmin().unwrap(), Some(len as u64 / 2));
        }
    }
}

#[test]
fn the_library_takes_best_and_says_who_chose() {
    let device = devices::cpu();
    let vector = device.upload(&[1_u8]).unwrap();
    let prepared = device.reduce(&vector).prepare(Operator::Sum).unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        ("best", ChosenBy::Policy)
    );
    let prepared = device
        .reduce(&vector)
        .variant("folding")
        .prepare(Operator::Sum)
        .unwrap();
    assert_eq!(
        (prepared.variant(), prepared.chosen_by()),
        ("folding", ChosenBy::Caller)
    );
}

#[test]
fn an_unknown_variant_is_refused_and_the_known_ones_are_named() {
    let device = devices::cpu();
    let vector = device.upload(&[1_u8]).unwrap();
    let error = device.reduce(&vector).variant("padded").sum().unwrap_err();
    assert!(
        matches!(
            error,
            Error::UnknownVariant {
                family: "reduce",
                ..
            }
        ),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(
        cases::variants("reduce")
            .iter()
            .all(|variant| text.contains(variant.name)),
        "{text}"
    );
}

#[test]
fn no_elements_have_a_sum_and_a_product_and_nothing_else() {
    for device in devices::all() {
        let none = device.upload::<f32>(&[]).unwrap();
        assert_eq!(device.sum(&none).unwrap(), 0.0);
        assert_eq!(device.product(&none).unwrap(), 1.0);
        assert_eq!(device.min(&none).unwrap(), None);
        assert_eq!(device.max(&none).unwrap(), None);
        assert_eq!(device.argmin(&none).unwrap(), None);
        assert_eq!(device.argmax(&none).unwrap(), None);
        assert_eq!(device.mean(&none).unwrap(), None);
    }
}

/// The mean of integers whose sum leaves 64 bits, by every variant, asked for at once and prepared.
#[test]
fn a_mean_is_right_where_the_sum_of_the_integers_wraps() {
    fn check<T: Number>(device: &Device, values: &[T], wanted: f64) {
        let vector = device.upload(values).unwrap();
        for variant in cases::variants("reduce") {
            let request = || device.reduce(&vector).variant(variant.name);
            let name = format!("{} of {} {}", variant.name, values.len(), T::NAME);
            assert_eq!(request().mean().unwrap(), Some(wanted), "{name}");
            let mut prepared = request().prepare(Operator::Mean).unwrap();
            for _ in 0..2 {
                prepared.enqueue().unwrap();
                let found = prepared.finish().unwrap();
                let right = matches!(found, Some(Value::Mean(found)) if found == wanted);
                assert!(right, "{name}: {found:?}");
            }
        }
    }
    for device in devices::all() {
        for len in [1, 2, 3, 33, 1000] {
            check(device, &vec![i64::MAX; len], i64::MAX as f64);
            check(device, &vec![i64::MIN; len], i64::MIN as f64);
            check(device, &vec![u64::MAX; len], u64::MAX as f64);
            check(device, &vec![u32::MAX; len], u32::MAX.into());
            check(device, &vec![i32::MIN; len], i32::MIN.into());
        }
        check(device, &[i64::MIN, i64::MAX], -0.5);
        check(device, &[i64::MIN, i64::MIN, i64::MAX, i64::MAX, 1, 1], 0.0);
        check(device, &[u64::MAX, 0], 2_f64.powi(63));
        check(device, &[u32::MAX, 0, 0], f64::from(u32::MAX) / 3.0);
        // A third more than halfway between two floats.
        let odd = (1_i64 << 53) + 1;
        check(device, &[odd, odd, odd + 1], 9007199254740994.0);
    }
}

#[test]
fn queued_again_every_variant_gives_the_same() {
    for device in devices::all() {
        let values: Vec<i32> = Data::Spread.values(5000);
        let vector = device.upload(&values).unwrap();
        let (least, element) = i32::extreme(&values, true).unwrap();
        let sum = values.iter().map(|value| i64::from(*value)).sum::<i64>();
        for variant in cases::variants("reduce") {
            let prepare = |operator| {
                device
                    .reduce(&vector)
                    .variant(variant.name)
                    .prepare(operator)
                    .unwrap()
            };
            let mut prepared = [Operator::Sum, Operator::Min, Operator::ArgMin].map(prepare);
            for _ in 0..3 {
                for request in &mut prepared {
                    request.enqueue().unwrap();
                }
                let [sums, mins, argmins] = &prepared;
                assert_eq!(
                    sums.finish().unwrap(),
                    Some(Value::Sum(sum)),
                    "{}",
                    variant.name
                );
                assert_eq!(mins.finish().unwrap(), Some(Value::Element(element)));
                assert_eq!(argmins.finish().unwrap(), Some(Value::Index(least)));
            }
            // Queued twice, then read once.
            prepared[0].enqueue().unwrap();
            prepared[0].enqueue().unwrap();
            assert_eq!(
                prepared[0].finish().unwrap(),
                Some(Value::Sum(sum)),
                "{}",
                variant.name
            );
        }
    }
}
