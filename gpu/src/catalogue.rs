//! The catalogue: every family, and every variant of it.

/// A family of kernels that compute the same thing.
#[derive(Debug)]
pub struct Family {
    /// The stem: the family's name in every crate, and the prefix of its kernels' names.
    pub name: &'static str,
    /// What it computes.
    pub summary: &'static str,
    /// The ladder, slowest idea first; the last row is `best`.
    pub variants: &'static [Variant],
}

/// A rung of a family's ladder.
#[derive(Debug)]
pub struct Variant {
    /// The name in the library, on the command line and in the tables.
    pub name: &'static str,
    /// The idea, and what the rung teaches.
    pub idea: &'static str,
    /// The kernels it launches, without the suffix of the instance; none for a variant that runs on the host.
    pub kernels: &'static [&'static str],
}

/// Declares a family: its row in the catalogue, and its variants as a type.
macro_rules! declare_family {
    (
        name: $family:literal,
        summary: $summary:literal,
        variants: [$(
            $variant:ident {
                name: $name:literal,
                idea: $idea:literal,
                kernels: [$($kernel:literal),* $(,)?],
            }
        ),* $(,)?],
    ) => {
        /// The family's row in the catalogue.
        pub const FAMILY: $crate::Family = $crate::Family {
            name: $family,
            summary: $summary,
            variants: &[$(
                $crate::Variant {
                    name: $name,
                    idea: $idea,
                    kernels: &[$($kernel),*],
                }
            ),*],
        };

        /// A variant of the family. A request takes it as it takes its name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Variant {
            $(#[doc = $idea] $variant),*
        }

        impl Variant {
            /// All of them, in the catalogue's order.
            pub const ALL: [Self; FAMILY.variants.len()] = [$(Self::$variant),*];

            /// The name.
            pub const fn name(self) -> &'static str {
                FAMILY.variants[self as usize].name
            }
        }

        impl core::fmt::Display for Variant {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl core::str::FromStr for Variant {
            type Err = $crate::NoSuchVariant;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|variant| variant.name() == name);
                found.ok_or($crate::NoSuchVariant { family: FAMILY.name })
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl From<Variant> for String {
            fn from(variant: Variant) -> Self {
                variant.name().to_owned()
            }
        }
    };
}
pub(crate) use declare_family;

/// A name that no variant of a family has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoSuchVariant {
    /// The family.
    pub family: &'static str,
}

impl core::fmt::Display for NoSuchVariant {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "no variant of {} has this name", self.family)
    }
}

impl core::error::Error for NoSuchVariant {}

/// All families.
pub static FAMILIES: &[Family] = &[
    crate::transpose::FAMILY,
    crate::reduce::FAMILY,
    crate::columns::FAMILY,
    crate::rows::FAMILY,
    crate::histogram::FAMILY,
    crate::gemm::FAMILY,
    crate::convolution::FAMILY,
    crate::map::FAMILY,
    crate::random::FAMILY,
];

/// The family called `name`.
pub fn family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name)
}

impl Family {
    /// The variant called `name`.
    pub fn variant(&self, name: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// The position of the variant called `name`.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.variants
            .iter()
            .position(|variant| variant.name == name)
    }
}
