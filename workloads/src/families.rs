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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use warpwright::Device;

    use super::*;
    use crate::Workload;

    #[test]
    fn every_family_of_the_catalogue_is_here() {
        let catalogue = warpwright::families().iter().map(|family| family.name);
        assert!(catalogue.eq(FAMILIES.iter().map(|family| family.name)));
    }

    #[test]
    fn every_operation_is_right_by_the_variant_that_is_best() {
        let device = Device::cpu();
        for family in FAMILIES {
            let operations = (family.operations)();
            for operation in operations.iter().chain(&[1, 64].map(family.few)) {
                let name = operation.name();
                let verdict = operation.check(&device, "best").unwrap();
                assert_eq!(
                    (operation.family(), verdict),
                    (family.name, Ok(())),
                    "{name}"
                );
            }
            let names: BTreeSet<_> = operations.iter().map(Workload::name).collect();
            assert_eq!(names.len(), operations.len(), "{}: one twice", family.name);
        }
    }
}
