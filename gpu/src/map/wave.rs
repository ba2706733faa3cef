//! The family's original function.

use cuda_std::{constant, float::accurate, map::MapFn};

constant! {
    /// The number of elements of a [`Wave`].
    pub static MAP_COUNT: [u64; 1];
    /// π, for a [`Wave`].
    pub static MAP_PI: [f32; 1];
}

/// `cos(a)^2 + sin(a)^2 - cos(a)` at the angle `a = m * pi / count`, where `m = i - count / 2` for the element at position `i`.
/// The angles go from -π/2 to π/2. `count` and `pi` are in constant memory.
///
/// The computation is in `f32`, with one rounding per operation: `m` is rounded if it has more than 24 bits, and `pi / count`,
/// which does not depend on the element, is computed first. The absolute error is below `1e-6`.
///
/// Source: the material on rolled loops and constant memory that the ladder follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wave;

// SAFETY: the type has no fields.
unsafe impl MapFn for Wave {
    type In = ();
    type Out = f32;

    #[inline(always)]
    fn call(self, index: usize, (): ()) -> f32 {
        let count = MAP_COUNT.get(0);
        let m = index as i64 - (count / 2) as i64;
        let a = m as f32 * (MAP_PI.get(0) / count as f32);
        let (sin, cos) = accurate::sin_cos(a);
        cos * cos + sin * sin - cos
    }
}
