use crate::{Scale, Workload};
use crate::{axis, convolution, gemm, histogram, map, random, reduce, transpose};

/// What there is to compute of one family.
pub struct Family {
    /// Its name in the catalogue.
    pub name: &'static str,
    /// What its variants are checked with.
    pub checks: fn(Scale) -> Vec<Workload>,
    /// What its variants are timed with, of about so many elements each.
    pub timings: fn(usize) -> Vec<Workload>,
    /// How many elements those have by default, as powers of two: on the CPU executor, and on a GPU.
    pub sizes: [u32; 2],
    /// The operation of a few values that a process does first, where the time until it is done is taken.
    pub first: fn() -> Workload,
    /// One operation of each kind, of some thousand elements, that every variant can do. Where an order of additions
    /// is visible in the last bits of an answer, it is in those of these.
    pub operations: fn() -> Vec<Workload>,
    /// Whether the pages promise the same bits by every variant on every device.
    pub same_everywhere: bool,
}

/// The families, in the catalogue's order.
pub const FAMILIES: &[Family] = &[
    transpose::FAMILY,
    reduce::FAMILY,
    axis::COLUMNS,
    axis::ROWS,
    histogram::FAMILY,
    gemm::FAMILY,
    convolution::FAMILY,
    map::FAMILY,
    random::FAMILY,
];

impl Family {
    /// The family of this name.
    pub fn called(name: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.name == name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use warpwright::Device;

    use super::*;

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
            for operation in operations.iter().chain([&(family.first)()]) {
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
