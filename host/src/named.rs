//! Enums whose values have names: one declaration makes the list, the display and the parser.

/// Declares the names of an enum's values, in their order: `ALL`, `name`, `Display` and `FromStr`. The parser's error lists
/// the names.
macro_rules! named {
    ($ty:ident, $what:literal: $($value:ident = $name:literal),* $(,)?) => {
        impl $ty {
            /// All values.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$value),*];

            /// Returns the name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name),*
                }
            }
        }

        impl std::fmt::Display for $ty {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $ty {
            type Err = $crate::Error;

            fn from_str(name: &str) -> $crate::Result<Self> {
                let found = Self::ALL.into_iter().find(|value| value.name() == name);
                found.ok_or_else(|| {
                    let names = [$($name),*].join(", ");
                    $crate::Error::invalid(
                        $crate::InvalidKind::Name,
                        $what,
                        format!("one of {names}"),
                        format!("`{name}`"),
                    )
                })
            }
        }
    };
}
pub(crate) use named;

#[cfg(test)]
mod tests {
    use std::{fmt::Display, str::FromStr};

    use crate::{
        DeviceKind, Error, Generator, InvalidKind,
        ops::{
            ChosenBy,
            axis::{Axis, AxisOperator},
            gemm::Precision,
            reduce::Operator,
        },
    };

    fn round_trips<T>(all: &[T])
    where
        T: Display + FromStr<Err = Error> + PartialEq + std::fmt::Debug + Copy,
    {
        for value in all {
            assert_eq!(value.to_string().parse::<T>().unwrap(), *value);
        }
        let text = "nought".parse::<T>().unwrap_err().to_string();
        assert!(text.contains("`nought`"), "{text}");
        assert!(text.contains(&all[0].to_string()), "{text}");
    }

    #[test]
    fn names_are_read_as_they_are_shown() {
        round_trips(&Operator::ALL);
        round_trips(&AxisOperator::ALL);
        round_trips(&Axis::ALL);
        round_trips(&ChosenBy::ALL);
        round_trips(&Generator::ALL);
        round_trips(&Precision::ALL);
        round_trips(&InvalidKind::ALL);
        let kinds = [0, 1, 17].map(|ordinal| DeviceKind::Cuda { ordinal });
        for kind in kinds.into_iter().chain([DeviceKind::Cpu]) {
            assert_eq!(kind.to_string().parse::<DeviceKind>().unwrap(), kind);
        }
        for wrong in ["", "gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "CPU"] {
            let text = wrong.parse::<DeviceKind>().unwrap_err().to_string();
            assert!(text.contains(&format!("`{wrong}`")), "{text}");
        }
        assert_eq!(format!("[{:>5}]", Operator::Sum), "[  sum]");
    }

    #[test]
    fn a_variant_is_read_as_it_is_shown() {
        use crate::ops::transpose::Variant;
        for variant in Variant::ALL {
            assert_eq!(variant.to_string().parse(), Ok(variant));
        }
        let error = "nought".parse::<Variant>().unwrap_err();
        assert_eq!(error.family, "transpose");
    }
}
