//! Maps: functions of no, one and two arrays, of elements of every size.

use cuda_std::{float::accurate, map::MapFn};

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident: ($self:ident, $i:ident, $x:pat_param => $in:ty) -> $out:ty { $value:expr })*) => { $(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy)]
        pub struct $name(pub f32);

        // SAFETY: one plain number.
        unsafe impl MapFn for $name {
            type In = $in;
            type Out = $out;

            #[inline(always)]
            fn call($self, $i: usize, $x: $in) -> $out {
                $value
            }
        }
    )* };
}

/// A byte from 1 to 128 for every position: those of positions that agree in their low 32 bits differ.
#[inline(always)]
pub fn pattern(position: usize) -> u8 {
    let mixed = (position as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 57) as u8 + 1
}

functions! {
    /// [`pattern`], and what it is given.
    Pattern: (self, i, () => ()) -> u8 { pattern(i) + self.0 as u8 }
    /// Positions, shifted.
    Position: (self, i, () => ()) -> u64 { i as u64 + self.0 as u64 }
    /// Bytes, brightened.
    Brighten: (self, _i, x => u8) -> u8 { x.saturating_add(self.0 as u8) }
    /// Bytes to floats.
    Widen: (self, _i, x => u8) -> f32 { f32::from(x) * self.0 }
    /// 64-bit floats to bytes.
    Narrow: (self, _i, x => f64) -> u8 { (x * f64::from(self.0)) as u8 }
    /// 64-bit floats and 16-bit integers to a function of the position.
    Mixed: (self, i, (a, b) => (f64, u16)) -> f64 { a * f64::from(self.0) + f64::from(b) + i as f64 }
    /// Two functions of the library in one.
    Angle: (self, _i, (x, y) => (f32, f32)) -> f32 { accurate::sin(x * self.0) + accurate::exp(y) }
}

/// A function without fields.
#[derive(Debug, Clone, Copy)]
pub struct Halve;

// SAFETY: no fields.
unsafe impl MapFn for Halve {
    type In = i32;
    type Out = i32;

    fn call(self, _index: usize, x: i32) -> i32 {
        x / 2
    }
}

cuda_std::map_kernel! {
    map_pattern: Pattern,
    map_position: Position,
    map_brighten: Brighten,
    map_widen: Widen,
    map_narrow: Narrow,
    map_mixed: Mixed,
    map_angle: Angle,
    map_halve: Halve,
}
