//! The catalogue, the shipped PTX and the tests speak of the same kernels.

use std::collections::BTreeSet;

use cuda_std::{
    bf16, f16,
    kernel::{Entry, KernelDescriptor},
};
use warpwright_gpu::{
    axis, columns, convolution, gemm, histogram, map, random, reduce, rows, scan, segments, select,
    sort, top_k, transpose,
};
use warpwright_tests::{cases, for_each_axis_number, for_each_number};

/// The families that have a file of tests of their own, `tests/<family>.rs`.
const TESTED: &[&str] = &[
    "transpose",
    "reduce",
    "columns",
    "rows",
    "histogram",
    "gemm",
    "convolution",
    "map",
    "random",
    "scan",
    "select",
    "sort",
    "top_k",
    "segments",
];

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

/// The names of the kernels that the tests launch, by the element types that they use.
fn tested() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut add = |kernels: &[&KernelDescriptor]| {
        names.extend(kernels.iter().map(|kernel| kernel.name.to_owned()));
    };
    fn words<W: transpose::Word>() -> [&'static KernelDescriptor; 4] {
        transpose::Variant::ALL.map(|variant| W::kernel(variant).descriptor())
    }
    // The words of `tests/transpose.rs`, by their size.
    add(&words::<u8>());
    add(&words::<u16>());
    add(&words::<u32>());
    add(&words::<u64>());
    add(&words::<u128>());

    macro_rules! operators {
        ($ty:ident) => {
            operators!($ty: Sum Product Min Max ArgMin ArgMax)
        };
        ($ty:ident: $($operator:ident)*) => { $({
            type Reduction = reduce::$operator<$ty>;
            add(&[<Reduction as reduce::Kernels>::BEST.descriptor()]);
            for variant in reduce::Variant::ALL {
                if let Some((first, later)) = <Reduction as reduce::Kernels>::rung(variant) {
                    add(&[first.descriptor(), later.descriptor()]);
                }
            }
        })* };
    }
    for_each_number!(operators);
    operators!(u32: Mean);
    operators!(i32: Mean);
    operators!(u64: Mean);
    operators!(i64: Mean);

    fn along<A: columns::Kernels + rows::Kernels>() -> Vec<&'static KernelDescriptor> {
        let rungs = columns::Variant::ALL.into_iter().filter_map(A::rung);
        let mut all: Vec<_> = rungs.map(Entry::descriptor).collect();
        all.extend([
            <A as columns::Kernels>::BEST.descriptor(),
            A::FOLD.descriptor(),
            A::CHUNK_ATOMIC.descriptor(),
            A::CHUNK_ATOMIC_FINISH.descriptor(),
            A::BLOCK_PER_ROW.descriptor(),
            <A as rows::Kernels>::BEST.descriptor(),
            A::LONG.descriptor(),
        ]);
        all
    }
    macro_rules! along_an_axis {
        ($ty:ident) => {
            add(&along::<axis::Sum<$ty>>());
            add(&along::<axis::Mean<$ty>>());
            add(&along::<reduce::Min<$ty>>());
            add(&along::<reduce::Max<$ty>>());
        };
    }
    for_each_axis_number!(along_an_axis);

    fn binning<B: histogram::Kernels>() -> Vec<&'static KernelDescriptor> {
        vec![
            B::GLOBAL_ATOMIC.descriptor(),
            B::PRIVATIZED.descriptor(),
            B::PRIVATIZED_COARSENED.descriptor(),
            B::BEST.descriptor(),
        ]
    }
    // The values of `tests/histogram.rs`.
    add(&binning::<histogram::BinNumber<u8>>());
    add(&binning::<histogram::BinNumber<u16>>());
    add(&binning::<histogram::BinNumber<u32>>());
    add(&binning::<histogram::EvenRange<f32>>());
    add(&binning::<histogram::EvenRange<f64>>());

    fn products<T: gemm::Kernels>() -> Vec<&'static KernelDescriptor> {
        let all = gemm::Variant::ALL
            .map(T::kernels)
            .into_iter()
            .chain([T::SMALL]);
        all.flatten().flatten().map(Entry::descriptor).collect()
    }
    // The types of `tests/gemm.rs`.
    add(&products::<f32>());
    add(&products::<f64>());
    // The elements of `tests/convolution.rs`.
    fn convolved<T: convolution::Kernels>() -> [&'static KernelDescriptor; 5] {
        [
            T::BASIC.descriptor(),
            T::CONSTANT_MASK.descriptor(),
            T::TILED.descriptor(),
            T::BEST.descriptor(),
            T::LONG.descriptor(),
        ]
    }
    add(&convolved::<u8>());
    add(&convolved::<f32>());
    add(&convolved::<f64>());
    // `tests/map.rs` has a test for every function.
    map::kernels().iter().for_each(|kernels| add(kernels));

    fn distribution<D: random::Kernels>() -> [&'static KernelDescriptor; 4] {
        let [a, b] = random::Variant::ALL.map(|variant| D::xorwow(variant).descriptor());
        [D::PER_THREAD.descriptor(), D::BEST.descriptor(), a, b]
    }
    // The distributions of `tests/random`.
    add(&[random::SETUP.descriptor()]);
    add(&distribution::<random::Bits>());
    add(&distribution::<random::Uniform<f32>>());
    add(&distribution::<random::Uniform<f64>>());
    add(&distribution::<random::Normal<f32>>());
    add(&distribution::<random::Normal<f64>>());
    add(&distribution::<random::LogNormal<f32>>());
    add(&distribution::<random::LogNormal<f64>>());
    add(&distribution::<random::PoissonCount>());

    fn scans<R: scan::Kernels>() -> [&'static KernelDescriptor; 9] {
        let (first, step, last) = R::NAIVE;
        let (totals, prefixes, tiles) = R::REDUCE_THEN_SCAN;
        [
            first.descriptor(),
            step.descriptor(),
            last.descriptor(),
            totals.descriptor(),
            prefixes.descriptor(),
            tiles.descriptor(),
            R::LOOK_BACK.descriptor(),
            R::BEST.descriptor(),
            R::PERSISTENT.descriptor(),
        ]
    }
    macro_rules! scanned {
        ($ty:ident) => {
            add(&scans::<reduce::Min<$ty>>());
            add(&scans::<reduce::Max<$ty>>());
        };
        ($($operator:ident: $($ty:ident)*;)*) => { $($(
            add(&scans::<scan::$operator<$ty>>());
        )*)* };
    }
    // The types of `tests/scan.rs`. The sums of signed integers are those of unsigned ones.
    for_each_number!(scanned);
    scanned! {
        Sum: u16 u32 u64 f32 f64 f16 bf16;
        Product: u8 u16 u32 u64 f32 f64 f16 bf16;
    }
    add(&scans::<scan::SumOfBytes>());
    // `tests/select.rs` takes every predicate for every type.
    add(&select::kernels());
    fn sorts<U: sort::Kernels>() -> Vec<&'static KernelDescriptor> {
        let (step, gather) = U::NAIVE;
        let (count, scatter) = U::REDUCE_THEN_SCAN;
        let mut all = vec![
            U::SMALL.descriptor(),
            U::COUNT.descriptor(),
            U::FIRST.descriptor(),
            step.descriptor(),
            gather.descriptor(),
            count.descriptor(),
            scatter.descriptor(),
        ];
        for (keys, items) in [(U::KEYS, U::ITEMS), U::BALLOT] {
            all.extend(keys.map(Entry::descriptor));
            all.push(items.descriptor());
        }
        all
    }
    // The keys of `tests/sort.rs`, by their size.
    add(&[sort::REDUCE_THEN_SCAN_PLACES.descriptor()]);
    add(&sorts::<u8>());
    add(&sorts::<u16>());
    add(&sorts::<u32>());
    add(&sorts::<u64>());
    fn best<U: top_k::Kernels>() -> [&'static KernelDescriptor; 7] {
        [
            U::ROWS.descriptor(),
            U::SAMPLE.descriptor(),
            U::FILTER.descriptor(),
            U::CHUNKS.descriptor(),
            U::MERGE.descriptor(),
            U::RANKS.descriptor(),
            U::GATHER.descriptor(),
        ]
    }
    add(&best::<u8>());
    add(&best::<u16>());
    add(&best::<u32>());
    add(&best::<u64>());
    fn segmented<R: segments::Kernels>() -> Vec<&'static KernelDescriptor> {
        let rungs = [R::NAIVE, R::WARP_PER_SEGMENT].map(Entry::descriptor);
        let best = [R::BEST.descriptor(), R::JOIN.descriptor()];
        [rungs, best].concat()
    }
    macro_rules! reductions {
        ($ty:ident) => {
            add(&segmented::<reduce::Sum<$ty>>());
            add(&segmented::<reduce::Product<$ty>>());
            add(&segmented::<reduce::Min<$ty>>());
            add(&segmented::<reduce::Max<$ty>>());
        };
    }
    macro_rules! keys {
        ($($ty:ident)*) => { $(
            add(&[<select::predicates::Changed<$ty> as segments::Keys>::HEADS.descriptor()]);
        )* };
    }
    // The elements and keys of `tests/segments.rs`.
    for_each_number!(reductions);
    keys!(u8 u16 u32 u64 f16 bf16 f32 f64);
    add(&[
        Entry::of::<segments::SegmentsCut>().descriptor(),
        Entry::of::<segments::SegmentsLengths>().descriptor(),
        Entry::of::<segments::SegmentsCheck>().descriptor(),
    ]);
    names
}

#[test]
fn every_family_has_its_tests() {
    let families: BTreeSet<_> = warpwright::families()
        .iter()
        .map(|family| family.name)
        .collect();
    assert_eq!(families, TESTED.iter().copied().collect());
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
