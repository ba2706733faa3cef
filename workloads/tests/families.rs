//! Every family of the catalogue has its workloads, and the operations of each are right.
//!
//! These tests are a program of their own: as unit tests they would have all kernels compiled once more.

use std::collections::BTreeSet;

use warpwright::Device;
use warpwright_workloads::{FAMILIES, Workload};

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
