//! The catalogue, the shipped PTX and the tests speak of the same kernels.

use std::{collections::BTreeSet, path::Path};

use cuda_std::{
    bf16, f16,
    kernel::{Entry, KernelDescriptor},
};
use warpwright::Device;
use warpwright_gpu::{random, reduce, scan, segments};
use warpwright_tests::{cases, for_each_number};
use warpwright_workloads::{FAMILIES, Scale};

/// What the shipped PTX holds, by module.
fn shipped() -> Vec<(String, BTreeSet<String>)> {
    let manifest: serde_json::Value =
        serde_json::from_str(include_str!("../../host/ptx/manifest.json")).unwrap();
    let modules = manifest["modules"].as_array().unwrap();
    let module = |module: &serde_json::Value| {
        let entries = module["entries"].as_array().unwrap().iter();
        let entries = entries
            .map(|entry| entry.as_str().unwrap().to_owned())
            .collect();
        (module["family"].as_str().unwrap().to_owned(), entries)
    };
    modules.iter().map(module).collect()
}

/// The names of the kernels that the workloads of `verify` and of the failure tests launch, and of those that tests launch by
/// themselves.
fn tested() -> BTreeSet<String> {
    let device = Device::cpu();
    let mut names = BTreeSet::new();
    for family in FAMILIES {
        let workloads = (family.checks)(Scale::Small).into_iter();
        for workload in workloads.chain((family.operations)()) {
            let input = workload.input(&device).unwrap();
            for variant in cases::variants(family.name) {
                // A variant that cannot solve a problem launches nothing.
                if let Ok(ready) = input.prepare(&device, Some(variant.name)) {
                    names.extend(ready.kernels().into_iter().map(str::to_owned));
                }
            }
        }
    }
    let mut add = |kernels: &[&KernelDescriptor]| {
        names.extend(kernels.iter().map(|kernel| kernel.name.to_owned()));
    };
    // A generator queues its launches when it is asked: `tests/random` has each distribution.
    fn distribution<D: random::Kernels>() -> [&'static KernelDescriptor; 4] {
        let [a, b] = random::Variant::ALL.map(|variant| D::xorwow(variant).descriptor());
        [D::PER_THREAD.descriptor(), D::BEST.descriptor(), a, b]
    }
    add(&[random::SETUP.descriptor()]);
    add(&distribution::<random::Bits>());
    add(&distribution::<random::Uniform<f32>>());
    add(&distribution::<random::Uniform<f64>>());
    add(&distribution::<random::Normal<f32>>());
    add(&distribution::<random::Normal<f64>>());
    add(&distribution::<random::LogNormal<f32>>());
    add(&distribution::<random::LogNormal<f64>>());
    add(&distribution::<random::PoissonCount>());
    // The library launches these for large inputs: `tests/scan` launches them for small ones.
    macro_rules! persistent {
        ($ty:ident) => {
            persistent!(of reduce::Min<$ty>);
            persistent!(of reduce::Max<$ty>);
        };
        (of $scan:ty) => {
            add(&[<$scan as scan::Kernels>::PERSISTENT.descriptor()]);
            add(&[<$scan as scan::Kernels>::SEGMENTED_PERSISTENT.descriptor()]);
        };
        ($($operator:ident: $($ty:ident)*;)*) => { $($(
            persistent!(of scan::$operator<$ty>);
        )*)* };
    }
    for_each_number!(persistent);
    persistent! {
        Sum: u16 u32 u64 f32 f64 f16 bf16;
        Product: u8 u16 u32 u64 f32 f64 f16 bf16;
    }
    persistent!(of scan::SumOfBytes);
    // `Device::segments` launches this one: `tests/segments.rs`.
    add(&[Entry::of::<segments::SegmentsCheck>().descriptor()]);
    names
}

#[test]
fn every_family_has_its_tests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for family in warpwright::families() {
        let file = folder.join(family.name).with_extension("rs");
        let main = folder.join(family.name).join("main.rs");
        assert!(
            file.is_file() || main.is_file(),
            "{} or {} required",
            file.display(),
            main.display()
        );
    }
}

#[test]
fn every_shipped_kernel_is_tested_and_every_tested_kernel_is_shipped() {
    let tested = tested();
    let shipped = shipped();
    assert!(!shipped.is_empty());
    let mut all = BTreeSet::new();
    for (module, entries) in shipped {
        assert!(!entries.is_empty(), "{module}");
        let family = module.strip_suffix("_ladder").unwrap_or(&module);
        let best = cases::variants(family).last().unwrap().kernels;
        for entry in entries {
            assert!(
                tested.contains(&entry),
                "{entry} is in the PTX and in no test"
            );
            assert!(
                entry.starts_with(family),
                "{entry} is in the module {module}"
            );
            // What `auto` launches is apart from the rest of the ladder.
            let kernel = entry.split("__").next().unwrap();
            assert_eq!(best.contains(&kernel), module == family, "{entry}");
            all.insert(entry);
        }
    }
    let missing: Vec<_> = tested.difference(&all).collect();
    assert!(missing.is_empty(), "not in the PTX: {missing:?}");
}

#[test]
fn every_kernel_belongs_to_a_variant_and_every_variant_has_its_kernels() {
    let kernel_of = |entry: &String| entry.split("__").next().unwrap().to_owned();
    let tested: BTreeSet<String> = tested().iter().map(kernel_of).collect();
    let mut listed = BTreeSet::new();
    for family in warpwright::families() {
        for variant in family.variants {
            assert!(!variant.idea.is_empty(), "{} {}", family.name, variant.name);
            listed.extend(variant.kernels.iter().map(|kernel| kernel.to_string()));
        }
    }
    assert_eq!(tested, listed);
}

#[test]
fn every_family_ends_with_best_and_no_name_comes_twice() {
    for family in warpwright::families() {
        let names: Vec<_> = family.variants.iter().map(|variant| variant.name).collect();
        assert_eq!(names.last(), Some(&"best"), "{}", family.name);
        assert_eq!(BTreeSet::from_iter(&names).len(), names.len(), "{names:?}");
        assert!(!family.summary.is_empty());
    }
}
