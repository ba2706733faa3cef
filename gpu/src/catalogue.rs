//! The catalogue of all families and their variants.

/// A family of kernels that compute the same thing.
#[derive(Debug)]
pub struct Family {
    /// The family's name in every crate. It is the prefix of the kernels' names.
    pub name: &'static str,
    /// What the family computes.
    pub summary: &'static str,
    /// The ladder, the slowest idea first. The last row is `best`.
    pub variants: &'static [Variant],
}

/// A rung of a family's ladder.
#[derive(Debug)]
pub struct Variant {
    /// The variant's name in the library, on the command line and in the tables.
    pub name: &'static str,
    /// The variant's idea, and what the rung teaches.
    pub idea: &'static str,
    /// The kernels that the variant launches, without the suffix of the instance. It is empty for a variant that runs on the
    /// host.
    pub kernels: &'static [&'static str],
}

/// Declares a family: its row in the catalogue, and an enum of its variants. The rungs below `best` exist with the feature
/// `ladder` alone. A family whose host code needs one value per variant, such as how the work is divided, states it as `cut`.
macro_rules! declare_family {
    (
        name: $family:literal,
        summary: $summary:literal,
        $(cut: $cut:ty,)?
        ladder: [$(
            $variant:ident {
                name: $name:literal,
                idea: $idea:literal,
                kernels: [$($kernel:literal),* $(,)?],
                $(cut: $rung_cut:expr,)?
            }
        ),* $(,)?],
        best: {
            idea: $best_idea:literal,
            kernels: [$($best_kernel:literal),* $(,)?],
            $(cut: $best_cut:expr,)?
        },
    ) => {
        /// The family's row in the catalogue.
        pub const FAMILY: $crate::Family = $crate::Family {
            name: $family,
            summary: $summary,
            variants: &[
                $(
                    #[cfg(feature = "ladder")]
                    $crate::Variant {
                        name: $name,
                        idea: $idea,
                        kernels: &[$($kernel),*],
                    },
                )*
                $crate::Variant {
                    name: "best",
                    idea: $best_idea,
                    kernels: &[$($best_kernel),*],
                },
            ],
        };

        /// A variant of the family. A request accepts it or its name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Variant {
            $(
                #[cfg(feature = "ladder")]
                #[doc = $idea]
                $variant,
            )*
            #[doc = $best_idea]
            Best,
        }

        impl Variant {
            /// All variants, in the catalogue's order.
            pub const ALL: [Self; FAMILY.variants.len()] = [
                $(
                    #[cfg(feature = "ladder")]
                    Self::$variant,
                )*
                Self::Best,
            ];

            /// Returns the variant's name.
            pub const fn name(self) -> &'static str {
                FAMILY.variants[self as usize].name
            }

            $crate::catalogue::declare_cuts! {
                [$($cut)?] [$($variant [$($rung_cut)?])*] [$($best_cut)?]
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

/// Declares the function that returns each variant's `cut`, if the family states cuts.
macro_rules! declare_cuts {
    ([] $($none:tt)*) => {};
    ([$cut:ty] [$($variant:ident [$rung:expr])*] [$best:expr]) => {
        /// Returns how the variant divides the work.
        pub const fn cut(self) -> $cut {
            match self {
                $(
                    #[cfg(feature = "ladder")]
                    Self::$variant => $rung,
                )*
                Self::Best => $best,
            }
        }
    };
}
pub(crate) use declare_cuts;

/// The error for a name that no variant of a family has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoSuchVariant {
    /// The family's name.
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
    crate::scan::FAMILY,
    crate::select::FAMILY,
    crate::sort::FAMILY,
    crate::top_k::FAMILY,
    crate::segments::FAMILY,
    crate::merge::FAMILY,
];

/// Returns the family called `name`.
pub fn family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name)
}

impl Family {
    /// Returns the variant called `name`.
    pub fn variant(&self, name: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// Returns the position of the variant called `name`.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.variants
            .iter()
            .position(|variant| variant.name == name)
    }
}
