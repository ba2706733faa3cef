//! Checks of the maps: within the stated error of `f64`, and of the wave within its bound.

use warpwright::cuda_std::map::MapFn;
use warpwright::ops::map::{
    Abs, Cos, Exp, Exp2, Function, Ln, Log2, Neg, Pow, PowPairs, Scale, ScaleAdd, Sin, Sqrt, Tanh,
    Wave, approx,
};
use warpwright::{Device, VectorView};

use super::{Case, Scale as Size, Wrong};
use crate::sample;
use crate::ulp::Unit;

const LENGTHS: [usize; 11] = [0, 1, 3, 4, 5, 31, 255, 257, 1000, 4099, 20_011];
const LARGE: [usize; 2] = [1 << 20, 5_000_011];

pub(super) fn cases(size: Size) -> Vec<Case> {
    let mut lengths = LENGTHS.to_vec();
    if size == Size::Large {
        lengths.extend(LARGE);
    }
    let mut cases = Vec::new();
    for length in lengths {
        one(length, "sin", Sin, f64::sin, 1.0, &mut cases);
        one(length, "cos", Cos, f64::cos, 1.0, &mut cases);
        one(length, "exp", Exp, f64::exp, 1.0, &mut cases);
        one(length, "exp2", Exp2, f64::exp2, 1.0, &mut cases);
        one(length, "ln", Ln, f64::ln, 1.0, &mut cases);
        one(length, "log2", Log2, f64::log2, 1.0, &mut cases);
        one(length, "tanh", Tanh, f64::tanh, 1.0, &mut cases);
        // Rounded once: in f64 they are exact, or nearly so.
        one(length, "sqrt", Sqrt, f64::sqrt, ROUNDED, &mut cases);
        one(length, "abs", Abs, f64::abs, 0.0, &mut cases);
        one(length, "neg", Neg, |x| -x, 0.0, &mut cases);
        let pow = Pow { exponent: -1.7 };
        let exponent = f64::from(pow.exponent);
        one(
            length,
            "pow:-1.7",
            pow,
            move |x| x.powf(exponent),
            1.0,
            &mut cases,
        );
        one(
            length,
            "scale:1,0.1",
            Scale::add(0.1),
            |x| x + f64::from(0.1_f32),
            ROUNDED,
            &mut cases,
        );
        one(
            length,
            "scale:3,-0",
            Scale::multiply(3.0),
            |x| x * 3.0,
            ROUNDED,
            &mut cases,
        );
        pairs(length, "x^y", PowPairs, f64::powf, 1.0, &mut cases);
        let add = ScaleAdd { factor: 0.5 };
        pairs(
            length,
            "x / 2 + y",
            add,
            |x, y| x * 0.5 + y,
            ROUNDED,
            &mut cases,
        );
        cases.push(Case::new(
            format!("wave of {length} f32"),
            move |device, variant| {
                let request = device.map_positions_request(length, Wave).variant(variant);
                let found = request.run()?.to_vec()?;
                compare(
                    &found,
                    length,
                    |i| wave(i, length),
                    |found, exact| (f64::from(found) - exact).abs() <= 1e-6,
                )
            },
        ));
    }
    for length in [0, 257, 20_011] {
        approximations(length, &mut cases);
    }
    // A part of a vector, whose first element is not aligned for wide accesses.
    cases.push(Case::new(
        "sin of elements 1 to 4999 of 5000 f32".to_owned(),
        |device, variant| {
            let values = values(5000, 1);
            let vector = device.upload(&values)?;
            check(
                device,
                variant,
                vector.slice(1..4999)?,
                &values[1..4999],
                Sin,
                &f64::sin,
                1.0,
            )
        },
    ));
    cases
}

/// The hardware's approximations, each at arguments for which it promises something, to within the loosest
/// of those promises: `warpwright ulp` measures them.
fn approximations(length: usize, cases: &mut Vec<Case>) {
    let mut add = |name, function: fn(f64) -> f64, run: Approximation, low, high| {
        cases.push(Case::new(
            format!("approximate {name} of {length} f32"),
            move |device, variant| {
                let values = between(length, low, high);
                let found = run(device, variant, &values)?;
                let exact = |i: usize| function(f64::from(values[i]));
                compare(&found, length, exact, near)
            },
        ));
    };
    add("sin", f64::sin, approximate(approx::Sin), -6.0, 6.0);
    add("cos", f64::cos, approximate(approx::Cos), -6.0, 6.0);
    add("exp", f64::exp, approximate(approx::Exp), -20.0, 20.0);
    add("exp2", f64::exp2, approximate(approx::Exp2), -20.0, 20.0);
    add("ln", f64::ln, approximate(approx::Ln), 0.01, 100.0);
    add("log2", f64::log2, approximate(approx::Log2), 0.01, 100.0);
    add("tanh", f64::tanh, approximate(approx::Tanh), -4.0, 4.0);
    add("sqrt", f64::sqrt, approximate(approx::Sqrt), 0.01, 100.0);
    add(
        "rsqrt",
        |x| x.sqrt().recip(),
        approximate(approx::Rsqrt),
        0.01,
        100.0,
    );
    add("recip", f64::recip, approximate(approx::Recip), 0.01, 100.0);
    cases.push(Case::new(
        format!("approximate x / y of {length} pairs of f32"),
        move |device, variant| {
            let (a, b) = (between(length, -9.0, 9.0), between(length, 0.5, 9.0));
            let (x, y) = (device.upload(&a)?, device.upload(&b)?);
            let request = device.map_pairs_request(&x, &y, approx::Div);
            let found = request.variant(variant).run()?.to_vec()?;
            compare(&found, length, |i| f64::from(a[i]) / f64::from(b[i]), near)
        },
    ));
}

/// Applies an approximation to values.
type Approximation = Box<dyn Fn(&Device, &str, &[f32]) -> Result<Vec<f32>, Wrong>>;

fn approximate<F: Function + 'static>(function: F) -> Approximation
where
    F::Map: MapFn<In = f32, Out = f32>,
{
    Box::new(move |device, variant, values| {
        let vector = device.upload(values)?;
        let request = device.map_request(&vector, function.clone());
        Ok(request.variant(variant).run()?.to_vec()?)
    })
}

/// Numbers from `low` to `high`.
fn between(length: usize, low: f32, high: f32) -> Vec<f32> {
    sample::values(length, 33, |hash| {
        low + (high - low) * ((hash >> 40) as f32 / (1 << 24) as f32)
    })
}

/// Whether an approximation is as near as the coarsest of them, the hyperbolic tangent, has to be.
fn near(found: f32, exact: f64) -> bool {
    (f64::from(found) - exact).abs() <= exact.abs() * 2f64.powi(-11) + 2f64.powi(-20)
}

/// Half a unit, and what the reference's own rounding may add.
const ROUNDED: f64 = 0.500_001;

/// Any numbers, of every kind; and every other one from -32 to 32.
fn values(length: usize, stream: u64) -> Vec<f32> {
    sample::values(length, stream, |hash| {
        if hash >> 63 == 0 {
            f32::from_bits(hash as u32)
        } else {
            ((hash as i32) as f32) / (1 << 26) as f32
        }
    })
}

/// The wave at position `i` of `count`, in `f64`.
pub(crate) fn wave(i: usize, count: usize) -> f64 {
    let a = (i as f64 - (count / 2) as f64) * std::f64::consts::PI / count as f64;
    1.0 - a.cos()
}

fn one<F: Function + 'static>(
    length: usize,
    name: &str,
    function: F,
    exact: impl Fn(f64) -> f64 + 'static,
    ulps: f64,
    cases: &mut Vec<Case>,
) where
    F::Map: MapFn<In = f32, Out = f32>,
{
    cases.push(Case::new(
        format!("{name} of {length} f32"),
        move |device, variant| {
            let values = values(length, 30);
            let vector = device.upload(&values)?;
            check(
                device,
                variant,
                vector.view(),
                &values,
                function.clone(),
                &exact,
                ulps,
            )
        },
    ));
}

fn check<F: Function>(
    device: &Device,
    variant: &str,
    view: VectorView<'_, f32>,
    values: &[f32],
    function: F,
    exact: &dyn Fn(f64) -> f64,
    ulps: f64,
) -> Result<(), Wrong>
where
    F::Map: MapFn<In = f32, Out = f32>,
{
    let found = device.map_request(view, function).variant(variant).run()?;
    let exact = |i: usize| exact(f64::from(values[i]));
    compare(&found.to_vec()?, values.len(), exact, within(ulps))
}

fn pairs<F: Function + 'static>(
    length: usize,
    name: &str,
    function: F,
    exact: fn(f64, f64) -> f64,
    ulps: f64,
    cases: &mut Vec<Case>,
) where
    F::Map: MapFn<In = (f32, f32), Out = f32>,
{
    cases.push(Case::new(
        format!("{name} of {length} pairs of f32"),
        move |device, variant| {
            let (a, b) = (values(length, 31), values(length, 32));
            let (x, y) = (device.upload(&a)?, device.upload(&b)?);
            let request = device.map_pairs_request(&x, &y, function.clone());
            let found = request.variant(variant).run()?.to_vec()?;
            let exact = |i: usize| exact(f64::from(a[i]), f64::from(b[i]));
            compare(&found, length, exact, within(ulps))
        },
    ));
}

/// Whether a result is right, to so many units in the last place.
fn within(ulps: f64) -> impl Fn(f32, f64) -> bool {
    move |found, exact| {
        Unit::Ulp
            .error(found, exact)
            .is_some_and(|error| error <= ulps)
    }
}

fn compare(
    found: &[f32],
    length: usize,
    exact: impl Fn(usize) -> f64,
    right: impl Fn(f32, f64) -> bool,
) -> Result<(), Wrong> {
    if found.len() != length {
        return Err(Wrong::Result(format!(
            "expected {length} elements, found {}",
            found.len()
        )));
    }
    match (0..length).find(|i| !right(found[*i], exact(*i))) {
        None => Ok(()),
        Some(i) => Err(Wrong::Result(format!(
            "at {i}: expected {:e}, found {:e}",
            exact(i),
            found[i]
        ))),
    }
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
        let values = values(1 << 16, 30);
        assert!(values.iter().any(|x| x.is_nan()));
        assert!(values.iter().any(|x| x.abs() > 1e30));
        assert!(values.iter().any(|x| *x != 0.0 && x.abs() < 1e-30));
        assert!(values.iter().filter(|x| x.abs() < 32.0).count() > values.len() / 2);
    }

    #[test]
    fn a_coarse_approximation_is_noticed() {
        assert!(near(1.0, 1.0) && near(0.0, 0.0) && near(0.0, -9e-7));
        assert!(!near(1.001, 1.0) && !near(1e-5, 0.0) && !near(f32::NAN, 1.0));
    }

    #[test]
    fn a_wrong_element_is_noticed() {
        let right = within(1.0);
        assert!(compare(&[1.0, 2.0], 2, |i| i as f64 + 1.0, &right).is_ok());
        assert!(compare(&[1.0, f32::NAN], 2, |i| i as f64 + 1.0, &right).is_err());
        assert!(compare(&[1.0], 2, |i| i as f64 + 1.0, &right).is_err());
    }
}
