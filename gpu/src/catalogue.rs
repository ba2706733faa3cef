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
