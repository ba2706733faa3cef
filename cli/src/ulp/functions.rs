//! The functions of one argument.

use warpwright::cuda_std::float::{accurate, approx};
use warpwright::ops::map;

use super::{Claim, Function, Unit};

/// The documented error of the accurate functions.
const ONE_ULP: &[Claim<f32>] = &[Claim {
    arguments: "all",
    holds_for: |_| true,
    unit: Unit::Ulp,
    bound: |_| 1.0,
}];

macro_rules! accurate {
    ($name:ident, $map:ident) => {
        Function {
            name: concat!("accurate::", stringify!($name)),
            cpu: accurate::$name,
            exact: |x| f64::from(x).$name(),
            device: |device, x| device.map(&x.device[0], map::$map),
            same_bits: true,
            claims: ONE_ULP,
        }
    };
}

macro_rules! approx {
    ($name:ident, $map:ident, |$x:ident| $exact:expr; $($arguments:literal: $holds:expr, $unit:ident, $bound:expr;)+) => {
        Function {
            name: concat!("approx::", stringify!($name)),
            cpu: approx::$name,
            exact: |x| {
                let $x = f64::from(x);
                $exact
            },
            device: |device, x| device.map(&x.device[0], map::approx::$map),
            same_bits: false,
            claims: &[$(Claim {
                arguments: $arguments,
                holds_for: $holds,
                unit: Unit::$unit,
                bound: $bound,
            }),+],
        }
    };
}

/// All functions of one argument.
pub const FUNCTIONS: &[Function<f32>] = &[
    accurate!(sin, Sin),
    accurate!(cos, Cos),
    accurate!(exp, Exp),
    accurate!(exp2, Exp2),
    accurate!(ln, Ln),
    accurate!(log2, Log2),
    accurate!(tanh, Tanh),
    approx!(sin, Sin, |x| x.sin();
        "-2π to 2π": |x| x.abs() <= TURN, Absolute, |_| power(-20.5);
        "-100π to 100π": |x| x.abs() <= 50.0 * TURN, Absolute, |_| power(-14.7);
    ),
    approx!(cos, Cos, |x| x.cos();
        "-2π to 2π": |x| x.abs() <= TURN, Absolute, |_| power(-20.4);
        "-100π to 100π": |x| x.abs() <= 50.0 * TURN, Absolute, |_| power(-14.7);
    ),
    approx!(exp, Exp, |x| x.exp();
        "all": |_| true, Relative, |x| power(-22.0) + f64::from(x.abs()) * power(-23.0);
    ),
    approx!(exp2, Exp2, |x| x.exp2();
        "all": |_| true, Relative, |_| power(-22.0);
    ),
    approx!(ln, Ln, |x| x.ln();
        "0.5 to 2": |x| near_one(x), Absolute, |_| power(-22.0);
        "other positive": |x| x > 0.0 && !near_one(x), Relative, |_| power(-21.0);
    ),
    approx!(log2, Log2, |x| x.log2();
        "0.5 to 2": |x| near_one(x), Absolute, |_| power(-22.0);
        "other positive": |x| x > 0.0 && !near_one(x), Relative, |_| power(-22.0);
    ),
    approx!(tanh, Tanh, |x| x.tanh();
        "all": |_| true, Relative, |_| power(-11.0);
    ),
    approx!(sqrt, Sqrt, |x| x.sqrt();
        "positive": |x| x > 0.0, Relative, |_| power(-23.0);
    ),
    approx!(rsqrt, Rsqrt, |x| x.sqrt().recip();
        "positive": |x| x > 0.0, Relative, |_| power(-22.9);
    ),
    approx!(recip, Recip, |x| x.recip();
        "all": |_| true, Ulp, |_| 1.0;
    ),
];

/// A full turn, 2π.
const TURN: f32 = std::f32::consts::TAU;

/// Returns `2^exponent`.
fn power(exponent: f64) -> f64 {
    exponent.exp2()
}

fn near_one(x: f32) -> bool {
    x > 0.5 && x < 2.0
}
