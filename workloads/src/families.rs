//! The table of families.

use crate::Family;

/// The families, in the catalogue's order.
pub const FAMILIES: &[Family] = &[
    crate::transpose::FAMILY,
    crate::reduce::FAMILY,
    crate::axis::COLUMNS,
    crate::axis::ROWS,
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

impl Family {
    /// Returns the family called `name`.
    pub fn called(name: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.name == name)
    }
}
