/// The unit of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Units in the last place of the exact result as an `f32`; those of subnormal numbers are 2^-149. All results count: NaN
    /// must be NaN, and infinity is right if the exact result rounds to it.
    Ulp,
    /// The exact result. Counts only if that is a normal number.
    Relative,
    /// One. Counts only if the exact result is finite.
    Absolute,
}

impl Unit {
    /// Returns the unit's name.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Ulp => "ulp",
            Unit::Relative => "relative",
            Unit::Absolute => "absolute",
        }
    }

    /// Returns the error of `found`, or `None` if this unit does not count here.
    pub fn error(self, found: f32, exact: f64) -> Option<f64> {
        /// The magnitude from which on results overflow: 2^128.
        const OVERFLOW: f64 = 2.0 * (1u128 << 127) as f64;
        let off = (f64::from(found) - exact).abs();
        match self {
            Unit::Ulp => Some(if exact.is_nan() {
                if found.is_nan() { 0.0 } else { f64::INFINITY }
            } else if exact.abs() >= OVERFLOW {
                let right = found.is_infinite() && (found > 0.0) == (exact > 0.0);
                if right { 0.0 } else { f64::INFINITY }
            } else {
                // An infinity in place of the largest number counts as 2^128.
                let found = f64::from(found).clamp(-OVERFLOW, OVERFLOW);
                let exponent = ((exact.to_bits() >> 52) as i32 & 0x7ff) - 1023;
                (found - exact).abs() / 2f64.powi(exponent.clamp(-126, 127) - 23)
            }),
            Unit::Relative => {
                let normal = exact.abs() >= f64::from(f32::MIN_POSITIVE) && exact.abs() < OVERFLOW;
                normal.then(|| off / exact.abs())
            }
            Unit::Absolute => exact.is_finite().then_some(off),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_in_their_units() {
        assert_eq!(Unit::Ulp.error(1.0, 1.0), Some(0.0));
        assert_eq!(Unit::Ulp.error(1.0 + f32::EPSILON, 1.0), Some(1.0));
        assert_eq!(
            Unit::Ulp.error(0.0, f64::from(f32::MIN_POSITIVE) / 2f64.powi(23)),
            Some(1.0)
        );
        assert_eq!(Unit::Ulp.error(f32::NAN, f64::NAN), Some(0.0));
        assert_eq!(Unit::Ulp.error(1.0, f64::NAN), Some(f64::INFINITY));
        assert_eq!(Unit::Ulp.error(f32::INFINITY, 1e39), Some(0.0));
        assert_eq!(Unit::Ulp.error(f32::MAX, 1e39), Some(f64::INFINITY));
        assert_eq!(
            Unit::Ulp.error(f32::INFINITY, f64::from(f32::MAX)),
            Some(1.0)
        );
        assert_eq!(Unit::Relative.error(3.0, 2.0), Some(0.5));
        assert_eq!(Unit::Relative.error(0.0, 1e-40), None);
        assert_eq!(Unit::Absolute.error(3.0, 2.0), Some(1.0));
    }
}
