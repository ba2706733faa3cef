//! Atomic operations: every form of each by one lane alone, against what the operations say; then many lanes
//! on the same elements.

use std::fmt::Debug;

use cuda_std::{kernel::Kernel, prelude::*};
use cuda_std_device_tests::atomics;
use warpwright::{Element, LaunchConfig};

use super::{assert_defined, everywhere, from_to, module, noise, same_everywhere};

/// A type with atomic operations, as the host computes them.
trait Number: Element + Debug + PartialEq {
    fn plus(self, other: Self) -> Self;
    fn lesser(self, other: Self) -> Self;
    fn greater(self, other: Self) -> Self;
    /// "And", "or" and "exclusive or".
    fn bits(self, other: Self) -> [Self; 3];
    /// Values of many magnitudes, of both signs where there are two.
    fn operands() -> Vec<Self>;
    /// A value with small sums.
    fn small(n: i32) -> Self;
}

macro_rules! integers {
    ($($ty:ident),*) => { $(
        impl Number for $ty {
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn lesser(self, other: Self) -> Self {
                self.min(other)
            }

            fn greater(self, other: Self) -> Self {
                self.max(other)
            }

            fn bits(self, other: Self) -> [Self; 3] {
                [self & other, self | other, self ^ other]
            }

            fn operands() -> Vec<Self> {
                let mut operands = noise::<$ty>(59);
                operands.extend([0, 1, $ty::MAX, $ty::MIN, 0 as $ty]);
                operands.extend([(-1_i64) as $ty, (-2_i64) as $ty, 3]);
                operands
            }

            fn small(n: i32) -> Self {
                n as $ty
            }
        }
    )* };
}
integers!(u32, i32, u64, i64);

macro_rules! floats {
    ($($ty:ident as $bits:ident),*) => { $(
        impl Number for $ty {
            fn plus(self, other: Self) -> Self {
                self + other
            }

            /// -0 is below 0.
            fn lesser(self, other: Self) -> Self {
                if self.total_cmp(&other).is_le() { self } else { other }
            }

            fn greater(self, other: Self) -> Self {
                if self.total_cmp(&other).is_ge() { self } else { other }
            }

            fn bits(self, other: Self) -> [Self; 3] {
                let (a, b) = (self.to_bits(), other.to_bits());
                [a & b, a | b, a ^ b].map($ty::from_bits)
            }

            fn operands() -> Vec<Self> {
                let mut operands: Vec<$ty> = noise::<[i16; 2]>(59)
                    .iter()
                    .map(|[value, scale]| $ty::from(*value) * ((scale % 24) as $ty).exp2())
                    .collect();
                operands.extend([0.0, -0.0, 1.5, -1.5, 0.0, $ty::MAX / 4.0, $ty::MIN / 4.0, -0.0]);
                operands
            }

            fn small(n: i32) -> Self {
                n as $ty
            }
        }
    )* };
}
floats!(f32 as u32, f64 as u64);

/// What a lane's results are: the operations of the kernels, done by one lane alone.
struct Model<T> {
    operands: Vec<T>,
    taken: usize,
    element: T,
    results: Vec<T>,
    outcomes: u64,
}

impl<T: Number> Model<T> {
    fn new(lane: usize, operands: &[T]) -> Self {
        Self {
            operands: operands.to_vec(),
            taken: lane,
            element: T::zeroed(),
            results: Vec::new(),
            outcomes: 0,
        }
    }

    fn next(&mut self) -> T {
        self.taken += 1;
        self.operands[(self.taken - 1) % self.operands.len()]
    }

    /// The element becomes `new`; what it was is a result.
    fn replace(&mut self, new: T) {
        self.results.push(std::mem::replace(&mut self.element, new));
    }

    fn compare_exchange(&mut self, current: T, new: T) {
        let found = bytemuck::bytes_of(&self.element) == bytemuck::bytes_of(&current);
        self.outcomes = self.outcomes << 1 | u64::from(found);
        self.replace(if found { new } else { self.element });
    }

    fn operations(&mut self, bits: bool) {
        let operand = self.next();
        self.replace(self.element.plus(operand));
        let operand = self.next();
        self.replace(self.element.lesser(operand));
        let operand = self.next();
        self.replace(self.element.greater(operand));
        let there = self.next();
        self.replace(there);
        let new = self.next();
        self.compare_exchange(there, new);
        let newer = self.next();
        self.compare_exchange(there, newer);
        for operation in 0..if bits { 3 } else { 0 } {
            let operand = self.next();
            self.replace(self.element.bits(operand)[operation]);
        }
    }

    fn every_order_and_scope(&mut self, bits: bool) {
        for _scope in 0..3 {
            for _order in 0..5 {
                self.operations(bits);
            }
            for _order in 0..3 {
                self.element = self.next();
                self.results.push(self.element);
            }
        }
    }
}

/// Two blocks of a warp and a half.
const CONFIG: LaunchConfig = LaunchConfig::linear(2, 48);
const LANES: usize = 96;

/// Runs a kernel of `len` results per lane, and the model with `operations` on global and shared memory.
fn alone<K, T>(what: &str, len: usize, operations: impl Fn(&mut Model<T>))
where
    K: Kernel<Params = (GlobalMut<T>, Global<T>, GlobalMut<T>, GlobalMut<u64>)>,
    T: Number,
{
    let what = format!("{what} of {}", std::any::type_name::<T>());
    let operands = T::operands();
    let starts: Vec<T> = (0..LANES)
        .map(|lane| operands[(lane * 7 + 3) % operands.len()])
        .collect();
    let (mut values, mut results, mut outcomes) = (Vec::new(), Vec::new(), Vec::new());
    for (lane, start) in starts.iter().enumerate() {
        let mut model = Model::new(lane, &operands);
        for _space in 0..2 {
            let global = model.results.is_empty();
            model.element = *start;
            operations(&mut model);
            model.results.push(model.element);
            outcomes.push(model.outcomes);
            if global {
                values.push(model.element);
            }
        }
        assert_eq!(model.results.len(), len, "{what}");
        results.extend(model.results);
    }
    let outcome = same_everywhere(&what, |device, module| {
        let mut values = device.upload(&starts).unwrap();
        let operands = device.upload(&operands).unwrap();
        let mut results = device.zeros::<T>(LANES * len).unwrap();
        let mut outcomes = device.zeros::<u64>(LANES * 2).unwrap();
        let parameters = (&mut values, &operands, &mut results, &mut outcomes);
        // SAFETY: an element, `len` results and two outcomes per thread.
        unsafe { device.launch::<K>(module, CONFIG, parameters) }.unwrap();
        let mut all = bytemuck::cast_slice::<u64, u8>(&outcomes.to_vec().unwrap()).to_vec();
        all.extend(bytemuck::cast_slice(&values.to_vec().unwrap()));
        all.extend(bytemuck::cast_slice(&results.to_vec().unwrap()));
        all
    });
    let (outcome, rest) = outcome.split_at(LANES * 2 * 8);
    let (value, result) = rest.split_at(LANES * size_of::<T>());
    assert_defined(
        &what,
        bytemuck::cast_slice::<_, [u8; 8]>(outcome),
        bytemuck::cast_slice(&outcomes),
    );
    let typed = |bytes: &[u8]| -> Vec<T> {
        let elements = bytes.chunks_exact(size_of::<T>());
        elements.map(bytemuck::pod_read_unaligned).collect()
    };
    assert_defined(&what, &typed(value), &values);
    assert_defined(&what, &typed(result), &results);
}

#[test]
fn every_order_and_scope() {
    macro_rules! types {
        ($kernel:ident, $len:ident, $bits:literal: $($ty:ty),*) => { $(
            alone::<atomics::$kernel<$ty>, $ty>(
                stringify!($kernel), atomics::$len, |model| model.every_order_and_scope($bits));
        )* };
    }
    types!(Integers, INTEGERS, true: u32, i32, u64, i64);
    types!(Floats, FLOATS, false: f32, f64);
}

#[test]
fn forms_without_order_and_scope() {
    macro_rules! types {
        ($kernel:ident, $len:ident, $bits:literal: $($ty:ty),*) => { $(
            alone::<atomics::$kernel<$ty>, $ty>(
                stringify!($kernel), atomics::$len, |model| model.operations($bits));
        )* };
    }
    types!(Defaults, DEFAULTS, false: u32, i32, u64, i64, f32, f64);
    types!(DefaultBits, DEFAULT_BITS, true: u32, i32, u64, i64);
}

/// Least and greatest of floats: the order of both signs, of zeros and infinities; a NaN stays.
#[test]
fn extremes_of_floats() {
    macro_rules! types {
        ($($ty:ident),*) => { $(
            let numbers = [
                0.0, -0.0, 1.0, -1.0, 1.5, -1.5, $ty::MIN_POSITIVE, -$ty::MIN_POSITIVE,
                $ty::from_bits(1), -$ty::from_bits(1), $ty::MAX, $ty::MIN, $ty::INFINITY,
                $ty::NEG_INFINITY,
            ];
            let given = || numbers.into_iter().chain([$ty::NAN, -$ty::NAN]);
            let pairs: Vec<$ty> = numbers
                .into_iter()
                .flat_map(|there| given().flat_map(move |value| [there, value]))
                .collect();
            let lanes = pairs.len() / 2;
            let config = LaunchConfig::linear(1, lanes as u32);
            let what = concat!("extremes of ", stringify!($ty));
            let mut got = from_to::<atomics::Extremes<$ty>, $ty, $ty>(what, config, &pairs, 4 * lanes);
            let mut expected = Vec::new();
            for pair in pairs.chunks_exact(2) {
                let [least, greatest] = if pair[1].is_nan() {
                    [$ty::NAN; 2]
                } else {
                    [pair[0].lesser(pair[1]), pair[0].greater(pair[1])]
                };
                expected.extend([least, greatest, least, greatest]);
            }
            // Which NaN is not said.
            for value in got.iter_mut().filter(|value| value.is_nan()) {
                *value = $ty::NAN;
            }
            assert_defined(what, &got, &expected);
        )* };
    }
    types!(f32, f64);
}

/// What lanes add together is the sum of all, whoever comes when: no addition gets lost.
#[test]
fn many_lanes_on_one_element() {
    const BLOCKS: usize = 7;
    const THREADS: usize = 256;
    const CONFIG: LaunchConfig = LaunchConfig::linear(BLOCKS as u32, THREADS as u32);
    fn check<T: Number + atomics::Summable>()
    where
        atomics::Contended<T>: Kernel<
            Params = (
                Global<T>,
                GlobalMut<T>,
                GlobalMut<T>,
                GlobalMut<T>,
                GlobalMut<T>,
            ),
        >,
    {
        // Sums that floats represent.
        let values: Vec<T> = noise::<i16>(BLOCKS * THREADS)
            .iter()
            .map(|value| T::small(i32::from(value % 1000)))
            .collect();
        let all = |values: &[T]| {
            let zero = T::zeroed();
            let fold = |with: fn(T, T) -> T| values.iter().fold(zero, |a, b| with(a, *b));
            let sum = fold(Number::plus);
            [sum, sum, fold(T::lesser), fold(T::greater), sum]
        };
        let of_blocks: Vec<T> = values.chunks(THREADS).flat_map(all).collect();
        everywhere(|device, arch| {
            let what = format!("{} on {}", std::any::type_name::<T>(), device.kind());
            let input = device.upload(&values).unwrap();
            let mut grid = device.zeros::<T>(atomics::CONTENDED).unwrap();
            let mut blocks = device.zeros::<T>(BLOCKS * atomics::CONTENDED).unwrap();
            let mut places = device.zeros::<T>(1).unwrap();
            let mut olds = device.zeros::<T>(values.len()).unwrap();
            let parameters = (&input, &mut grid, &mut blocks, &mut places, &mut olds);
            // SAFETY: as many elements as the kernel asks for.
            unsafe { device.launch::<atomics::Contended<T>>(module(arch), CONFIG, parameters) }
                .unwrap();
            assert_defined(&what, &grid.to_vec().unwrap(), &all(&values));
            assert_defined(&what, &blocks.to_vec().unwrap(), &of_blocks);
            // Every value goes in once, and comes out once or is left.
            let mut exchanged = olds.to_vec().unwrap();
            exchanged.extend(places.to_vec().unwrap());
            let mut given = values.clone();
            given.push(T::zeroed());
            for list in [&mut exchanged, &mut given] {
                list.sort_by(|a, b| bytemuck::bytes_of(a).cmp(bytemuck::bytes_of(b)));
            }
            assert_defined(&what, &exchanged, &given);
        });
    }
    check::<u32>();
    check::<i32>();
    check::<u64>();
    check::<i64>();
    check::<f32>();
    check::<f64>();
}

#[test]
fn typed_floats() {
    fn check<K, T>(what: &str, start: T, operands: [T; 6])
    where
        K: Kernel<Params = (GlobalMut<T>, Global<T>, GlobalMut<T>)>,
        T: Number + std::ops::Neg<Output = T>,
    {
        let got = same_everywhere(what, |device, module| {
            let mut values = device.upload(&[start]).unwrap();
            let operands = device.upload(&operands).unwrap();
            let mut results = device.zeros::<T>(7).unwrap();
            let config = LaunchConfig::linear(1, 1);
            // SAFETY: one element, six operands, seven results.
            unsafe { device.launch::<K>(module, config, (&mut values, &operands, &mut results)) }
                .unwrap();
            results.to_vec().unwrap()
        });
        let mut expected = vec![start];
        let sum = start.plus(operands[0]);
        let difference = sum.plus(-operands[1]);
        let [and, ..] = difference.bits(operands[2]);
        let [_, or, _] = and.bits(operands[3]);
        let [.., xor] = or.bits(operands[4]);
        expected.extend([sum, difference, and, or, xor, operands[5]]);
        assert_defined(what, &got, &expected);
        // Otherwise an operation that is not done would go unnoticed.
        for pair in got.windows(2) {
            assert_ne!(pair[0], pair[1], "{what}: {got:?}");
        }
    }
    let (single, double) = (
        [1.0, 2.25, -0.7, 4.3, -5.1, 6.5],
        [1.0, 2.25, -0.7, 4.3, -5.1, 6.5],
    );
    check::<atomics::TypedF32, f32>("AtomicF32", 1.5, single);
    check::<atomics::TypedF64, f64>("AtomicF64", 1.5, double);
    check::<atomics::TypedBlockF32, f32>("BlockAtomicF32", 1.5, single);
    check::<atomics::TypedBlockF64, f64>("BlockAtomicF64", 1.5, double);
    check::<atomics::TypedSystemF32, f32>("SystemAtomicF32", 1.5, single);
    check::<atomics::TypedSystemF64, f64>("SystemAtomicF64", 1.5, double);
}

/// Which fences there are the test of the build looks up in the PTX: one lane does not see them.
#[test]
fn fences() {
    let values = super::fill::<atomics::Fences, u32>("fences", LaunchConfig::linear(1, 1), 1);
    assert_eq!(values, [15]);
}

#[test]
fn bytes_are_counted_in_shared_memory() {
    let bytes = noise::<u8>(100_003);
    let config = LaunchConfig::linear(4, 256);
    let counts = from_to::<atomics::CountBytes, u8, u32>("counts", config, &bytes, 256);
    let mut expected = [0; 256];
    for byte in bytes {
        expected[usize::from(byte)] += 1;
    }
    assert_eq!(counts, expected);
}

#[test]
fn relaxed_chunks() {
    fn check<K, T>(elements: usize)
    where
        K: Kernel<Params = (GlobalMut<T>, GlobalMut<T>)>,
        T: Element + Debug,
    {
        let values = noise::<T>(elements * 96);
        let what = format!("chunks of {elements} of {}", std::any::type_name::<T>());
        let got = same_everywhere(&what, |device, module| {
            let mut input = device.upload(&values).unwrap();
            let mut output = device.zeros::<T>(values.len()).unwrap();
            let config = LaunchConfig::linear(3, 32);
            // SAFETY: a chunk per thread.
            unsafe { device.launch::<K>(module, config, (&mut input, &mut output)) }.unwrap();
            output.to_vec().unwrap()
        });
        assert_defined(&what, &got, &values);
    }
    check::<atomics::RelaxedChunks<u32, 2>, u32>(2);
    check::<atomics::RelaxedChunks<u32, 4>, u32>(4);
    check::<atomics::RelaxedChunks<i32, 2>, i32>(2);
    check::<atomics::RelaxedChunks<f32, 4>, f32>(4);
    check::<atomics::RelaxedChunks<u64, 2>, u64>(2);
    check::<atomics::RelaxedChunks<i64, 2>, i64>(2);
    check::<atomics::RelaxedChunks<f64, 2>, f64>(2);
}
