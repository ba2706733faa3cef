//! Maps, compared within the documented error against `f64`; the wave has its own bound.

use std::ops::Range;
use std::sync::Arc;

use warpwright::cuda_std::float::accurate;
use warpwright::cuda_std::map::MapFn;
use warpwright::ops::map::{
    Abs, Cos, Exp, Exp2, Function, Ln, Log2, Neg, Pow, PowPairs, Scale as ScaleFn, ScaleAdd, Sin,
    Sqrt, Tanh, Wave, approx,
};
use warpwright::{Device, Result, Vector};

use crate::compare::each;
use crate::sample::{Make, Part};
use crate::{
    Family, Prepared, Problem, Scale, Unit, Verdict, Workload, prepared, with_variant, within,
};

const LENGTHS: [usize; 11] = [0, 1, 3, 4, 5, 31, 255, 257, 1000, 4099, 20_011];
const LARGE: [usize; 2] = [1 << 20, 5_000_011];

/// Prepares a variant of a function for some elements of its arguments.
type Prepare = dyn for<'a> Fn(
        &Device,
        &'a [Vector<f32>],
        Range<usize>,
        Option<&str>,
    ) -> Result<Prepared<'a, Vec<f32>>>
    + Send
    + Sync;

/// Checks a result, given its position, the arguments there, and the value found.
type Right = dyn Fn(usize, [f32; 2], f32) -> Verdict + Send + Sync;

/// A map to `f32`.
#[derive(Clone)]
pub struct Map {
    name: String,
    len: usize,
    part: Part,
    /// The number of arguments of the function: at most two.
    arguments: usize,
    make: Make<f32>,
    prepare: Arc<Prepare>,
    right: Arc<Right>,
}

macro_rules! of {
    ($request:expr, $variant:expr) => {{
        let request = with_variant!($request, $variant);
        Ok(prepared!(request.prepare()?, |it| it.output()?.to_vec()))
    }};
}

impl Map {
    /// Makes the map of a function of one argument.
    pub fn one<F: Function + Send + Sync + 'static>(
        len: usize,
        name: &str,
        function: F,
        right: impl Fn(f32, f32) -> Verdict + Send + Sync + 'static,
    ) -> Self
    where
        F::Map: MapFn<In = f32, Out = f32>,
    {
        Self {
            name: format!("{name} of {len} f32"),
            len,
            part: Part::WHOLE,
            arguments: 1,
            make: Make::hashed(any),
            prepare: Arc::new(move |device, values, part, variant| {
                let values = values[0].slice(part)?;
                of!(device.map_request(values, function.clone()), variant)
            }),
            right: Arc::new(move |_, [x, _], found| right(x, found)),
        }
    }

    /// Makes the map of a function of two arguments.
    pub fn pairs<F: Function + Send + Sync + 'static>(
        len: usize,
        name: &str,
        function: F,
        right: impl Fn(f32, f32, f32) -> Verdict + Send + Sync + 'static,
    ) -> Self
    where
        F::Map: MapFn<In = (f32, f32), Out = f32>,
    {
        Self {
            name: format!("{name} of {len} pairs of f32"),
            len,
            part: Part::WHOLE,
            arguments: 2,
            make: Make::hashed(any),
            prepare: Arc::new(move |device, values, part, variant| {
                let (a, b) = (values[0].slice(part.clone())?, values[1].slice(part)?);
                of!(device.map_pairs_request(a, b, function.clone()), variant)
            }),
            right: Arc::new(move |_, [x, y], found| right(x, y, found)),
        }
    }

    /// Makes the map of the wave, which has no input.
    pub fn wave(len: usize) -> Self {
        Self {
            name: format!("wave of {len} f32, which are only written"),
            len,
            part: Part::WHOLE,
            arguments: 0,
            make: Make::hashed(any),
            prepare: Arc::new(|device, _, part, variant| {
                of!(device.map_positions_request(part.len(), Wave), variant)
            }),
            right: Arc::new(move |at, _, found| within(found.into(), wave(at, len), 1e-6)),
        }
    }

    /// Makes the map of the sine, whose bits are the same on every device. `warpwright ulp` measures the function's error.
    pub fn sine(len: usize) -> Self {
        Self::one(len, "sin", Sin, |x, found| {
            let expected = accurate::sin(x);
            match found.to_bits() == expected.to_bits() {
                true => Ok(()),
                false => Err(format!("expected {expected:e}, found {found:e}")),
            }
        })
    }

    /// Returns the same map of other arguments.
    #[must_use]
    pub fn of(self, make: Make<f32>) -> Self {
        Self { make, ..self }
    }

    /// Returns the same map of elements that start after `elements` elements of their allocation.
    #[must_use]
    pub fn behind(self, elements: usize) -> Self {
        let part = Part([elements, 0]);
        Self { part, ..self }
    }
}

impl Problem for Map {
    type Input = Vec<Vector<f32>>;
    type Answer = Vec<f32>;
    /// The arguments.
    type Truth = Vec<Vec<f32>>;

    fn family(&self) -> &'static str {
        "map"
    }

    fn name(&self) -> String {
        match self.part {
            Part::WHOLE => self.name.clone(),
            part => format!("{}, {}", self.name, part.name("elements", self.len)),
        }
    }

    fn bytes(&self) -> usize {
        (self.arguments + 1) * self.len * size_of::<f32>()
    }

    fn input(&self, device: &Device, set: usize) -> Result<Vec<Vector<f32>>> {
        let values = self.truth(set);
        values.iter().map(|values| device.upload(values)).collect()
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Vec<Vector<f32>>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Vec<f32>>> {
        (self.prepare)(device, input, self.part.range(self.len), variant)
    }

    fn truth(&self, set: usize) -> Vec<Vec<f32>> {
        let len = self.part.total(self.len);
        let streams = 31..31 + self.arguments as u64;
        let arguments = streams.map(|stream| self.make.values(len, stream, set));
        arguments.collect()
    }

    fn check(&self, truth: &Vec<Vec<f32>>, answer: &Vec<f32>) -> Verdict {
        let before = self.part.range(self.len).start;
        each(answer, self.len, |at, found| {
            let argument =
                |number: usize| truth.get(number).map_or(0.0, |values| values[before + at]);
            (self.right)(at, [0, 1].map(argument), *found).err()
        })
    }
}

/// The bound of half a unit, and what the reference's own rounding may add.
const ROUNDED: f64 = 0.500_001;

/// Checks that a result is within `ulps` units in the last place.
pub fn to_ulps(found: f32, exact: f64, ulps: f64) -> Verdict {
    match Unit::Ulp.error(found, exact) {
        Some(error) if error <= ulps => Ok(()),
        _ => Err(format!("expected {exact:e} to {ulps} ulp, found {found:e}")),
    }
}

/// Checks that an approximation is within the bound of the coarsest one, the hyperbolic tangent.
fn near(found: f32, exact: f64) -> Verdict {
    within(
        found.into(),
        exact,
        exact.abs() * 2_f64.powi(-11) + 2_f64.powi(-20),
    )
}

/// Returns a number of any kind; every other one is from -32 to 32.
fn any(hash: u64) -> f32 {
    match hash >> 63 {
        0 => f32::from_bits(hash as u32),
        _ => ((hash as i32) as f32) / (1 << 26) as f32,
    }
}

/// Returns the wave at position `i` of `count`, in `f64`.
pub fn wave(i: usize, count: usize) -> f64 {
    let a = (i as f64 - (count / 2) as f64) * std::f64::consts::PI / count as f64;
    1.0 - a.cos()
}

/// The family `map`.
pub const FAMILY: Family = Family {
    name: "map",
    checks,
    timings,
    sizes: [20, 28],
    few: |len| {
        let right = |x: f32, found| to_ulps(found, f64::from(x).sqrt(), ROUNDED);
        Workload::new(Map::one(len, "sqrt", Sqrt, right))
    },
    operations,
    same_everywhere: false,
};

/// Returns the problems that the variants are checked with.
fn checks(scale: Scale) -> Vec<Workload> {
    let mut all = Vec::new();
    for len in scale.all(&LENGTHS, &LARGE) {
        macro_rules! one {
            ($name:expr, $function:expr, $exact:expr, $ulps:expr) => {{
                let exact = $exact;
                let right = move |x: f32, found| to_ulps(found, exact(f64::from(x)), $ulps);
                all.push(Workload::new(Map::one(len, $name, $function, right)));
            }};
        }
        one!("sin", Sin, f64::sin, 1.0);
        one!("cos", Cos, f64::cos, 1.0);
        one!("exp", Exp, f64::exp, 1.0);
        one!("exp2", Exp2, f64::exp2, 1.0);
        one!("ln", Ln, f64::ln, 1.0);
        one!("log2", Log2, f64::log2, 1.0);
        one!("tanh", Tanh, f64::tanh, 1.0);
        // Functions that are rounded once. In f64 they are exact, or nearly so.
        one!("sqrt", Sqrt, f64::sqrt, ROUNDED);
        one!("abs", Abs, f64::abs, 0.0);
        one!("neg", Neg, |x: f64| -x, 0.0);
        let pow = Pow { exponent: -1.7 };
        let exponent = f64::from(pow.exponent);
        one!("pow:-1.7", pow, move |x: f64| x.powf(exponent), 1.0);
        let tenth = |x: f64| x + f64::from(0.1_f32);
        one!("scale:1,0.1", ScaleFn::add(0.1), tenth, ROUNDED);
        one!(
            "scale:3,-0",
            ScaleFn::multiply(3.0),
            |x: f64| x * 3.0,
            ROUNDED
        );
        let right = |x: f32, y: f32, found| to_ulps(found, f64::from(x).powf(y.into()), 1.0);
        all.push(Workload::new(Map::pairs(len, "x^y", PowPairs, right)));
        let half = ScaleAdd { factor: 0.5 };
        let right =
            |x: f32, y: f32, found| to_ulps(found, f64::from(x) * 0.5 + f64::from(y), ROUNDED);
        all.push(Workload::new(Map::pairs(len, "x / 2 + y", half, right)));
        all.push(Workload::new(Map::wave(len)));
    }
    for len in [0, 257, 20_011] {
        approximations(&mut all, len);
    }
    // The first element is not aligned for wide accesses; and nothing of an array.
    for (part, len) in [(Part([1, 1]), 4998), (Part([3, 4]), 0)] {
        let right = |x: f32, found| to_ulps(found, f64::from(x).sin(), 1.0);
        let map = Map::one(len, "sin", Sin, right);
        all.push(Workload::new(Map { part, ..map }));
    }
    all
}

/// Adds the hardware's approximations, each at arguments for which it has a documented error, within the loosest of those
/// errors. `warpwright ulp` measures them.
fn approximations(all: &mut Vec<Workload>, len: usize) {
    macro_rules! approximate {
        ($name:literal, $function:expr, $exact:expr, $low:literal..$high:literal) => {{
            let right = |x: f32, found| near(found, $exact(f64::from(x)));
            let map = Map::one(len, concat!("approximate ", $name), $function, right);
            let make = Make::hashed(|hash| between(hash, $low, $high));
            all.push(Workload::new(map.of(make)));
        }};
    }
    approximate!("sin", approx::Sin, f64::sin, -6.0..6.0);
    approximate!("cos", approx::Cos, f64::cos, -6.0..6.0);
    approximate!("exp", approx::Exp, f64::exp, -20.0..20.0);
    approximate!("exp2", approx::Exp2, f64::exp2, -20.0..20.0);
    approximate!("ln", approx::Ln, f64::ln, 0.01..100.0);
    approximate!("log2", approx::Log2, f64::log2, 0.01..100.0);
    approximate!("tanh", approx::Tanh, f64::tanh, -4.0..4.0);
    approximate!("sqrt", approx::Sqrt, f64::sqrt, 0.01..100.0);
    approximate!(
        "rsqrt",
        approx::Rsqrt,
        |x: f64| x.sqrt().recip(),
        0.01..100.0
    );
    approximate!("recip", approx::Recip, f64::recip, 0.01..100.0);
    let right = |x: f32, y: f32, found| near(found, f64::from(x) / f64::from(y));
    let map = Map::pairs(len, "approximate x / y", approx::Div, right);
    let make = Make::hashed(|hash| between(hash, 0.5, 9.0));
    all.push(Workload::new(map.of(make)));
}

/// Returns a number from `low` to `high`.
fn between(hash: u64, low: f32, high: f32) -> f32 {
    low + (high - low) * ((hash >> 40) as f32 / (1 << 24) as f32)
}

/// Returns the problems that the variants are timed with: the sine of numbers from -1000 to 1000, and the wave.
fn timings(size: usize) -> Vec<Workload> {
    let angle = |hash| (hash as i32) as f32 * (1000.0 / (1_u32 << 31) as f32);
    vec![
        Workload::new(Map::sine(size).of(Make::hashed(angle))),
        Workload::new(Map::wave(size)),
    ]
}

fn operations() -> Vec<Workload> {
    let double = ScaleFn {
        factor: 2.0,
        offset: 1.0,
    };
    let right = |x: f32, found| to_ulps(found, f64::from(x).mul_add(2.0, 1.0), ROUNDED);
    vec![
        Workload::new(Map::sine(3071)),
        Workload::new(Map::one(3000, "scale:2,1", double, right)),
        Workload::new(Map::wave(3001)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_is_right() {
        assert_eq!(wave(1, 2), 0.0);
        assert!((wave(0, 2) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn the_values_meet_every_kind() {
        let values = crate::sample::values(1 << 16, 30, any);
        assert!(values.iter().any(|x| x.is_nan()));
        assert!(values.iter().any(|x| x.abs() > 1e30));
        assert!(values.iter().any(|x| *x != 0.0 && x.abs() < 1e-30));
        assert!(values.iter().filter(|x| x.abs() < 32.0).count() > values.len() / 2);
    }

    #[test]
    fn a_coarse_approximation_is_noticed() {
        assert!(near(1.0, 1.0).is_ok() && near(0.0, 0.0).is_ok() && near(0.0, -9e-7).is_ok());
        assert!(near(1.001, 1.0).is_err() && near(1e-5, 0.0).is_err());
        assert!(near(f32::NAN, 1.0).is_err());
        assert!(to_ulps(1.0, 1.0, 0.0).is_ok());
        assert!(to_ulps(1.0 + f32::EPSILON, 1.0, ROUNDED).is_err());
        assert!(to_ulps(f32::NAN, 1.0, 1.0).is_err());
    }

    #[test]
    fn a_wrong_element_is_noticed() {
        let problem = Map {
            part: Part([1, 1]),
            ..Map::one(100, "neg", Neg, |x, found| {
                to_ulps(found, -f64::from(x), 0.0)
            })
        };
        let truth = problem.truth(0);
        let mut found: Vec<f32> = truth[0][1..101].iter().map(|x| -x).collect();
        assert_eq!(problem.check(&truth, &found), Ok(()));
        let last = found.len() - 1;
        found[last] += 1e30;
        assert!(problem.check(&truth, &found).unwrap_err().contains("at 99"));
    }
}
