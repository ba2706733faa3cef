/// What an error is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Units in the last place of the exact result as an `f32`; those of subnormal numbers are 2^-149.
    /// Everything is counted: NaN for NaN, infinity where the exact result rounds to it.
    Ulp,
    /// The exact result; where that is a normal number.
    Relative,
    /// One; where the exact result is finite.
    Absolute,
}

impl Unit {
    /// The unit's name.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Ulp => "ulp",
            Unit::Relative => "relative",
            Unit::Absolute => "absolute",
        }
    }

    /// The error of `found`; none where this unit does not count.
    pub fn error(self, found: f32, exact: f64) -> Option<f64> {
        /// What overflows: 2^128.
        const OVERFLOW: f64 = 2.0 * (1u128 << 127) as f64;
        let off = (f64::from(found) - exact).abs();
        match self {
            Unit::Ulp => Some(if exact.is_nan() {
                if found.is_nan() { 0.0 } else { f64::INFINITY }
            } else if exact.abs() >= OVERFLOW {
                let right = found.is_infinite() && (found > 0.0) == (exact > 0.0);
                if right { 0.0 } else { f64::INFINITY }
            } else {
                // An infinity where the largest number would do counts as 2^128.
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
