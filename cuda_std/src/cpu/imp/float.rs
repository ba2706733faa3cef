//! Functions that the GPU approximates, rounded from `f64`.

macro_rules! from_f64 {
    ($($name:ident: |$x:ident| $value:expr;)*) => { $(
        pub fn $name(x: f32) -> f32 {
            let $x = f64::from(x);
            $value as f32
        }
    )* };
}

from_f64! {
    exp2: |x| libm::exp2(x);
    log2: |x| libm::log2(x);
    sin: |x| libm::sin(x);
    cos: |x| libm::cos(x);
    tanh: |x| libm::tanh(x);
    sqrt: |x| x.sqrt();
    rsqrt: |x| 1.0 / x.sqrt();
    recip: |x| 1.0 / x;
}

/// Computes the correctly rounded square root, as on the GPU.
pub fn sqrt_of_normal(x: f32) -> f32 {
    x.sqrt()
}

pub fn div(a: f32, b: f32) -> f32 {
    a / b
}
