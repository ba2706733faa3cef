//! Every row of every table of tuning has its kernels.
//!
//! This is a program of its own: as a unit test it would have all kernels compiled once more.

use warpwright_gpu::{
    columns, convolution, gemm, histogram, map, random, reduce, rows, scan, select, sort,
    transpose,
    tuning::{Policy, candidates},
};

#[test]
fn every_row_of_every_table_has_kernels_and_one_of_each_kind_is_chosen() {
    fn check<P: Policy>() {
        let candidates = candidates().into_iter();
        let candidates: Vec<_> = candidates.filter(|it| it.family == P::FAMILY).collect();
        for (position, policy) in P::CANDIDATES.iter().enumerate() {
            let has = candidates.iter().any(|it| it.row == position);
            assert!(has, "{}: row {position}", P::FAMILY);
            let same = P::CANDIDATES.iter().filter(|other| *other == policy);
            assert_eq!(same.count(), 1, "{}: {policy:?} twice", P::FAMILY);
        }
        let chosen: Vec<_> = (candidates.iter())
            .filter(|it| it.is_chosen(75))
            .map(|it| it.key)
            .collect();
        for it in candidates {
            let chosen = chosen.iter().filter(|key| **key == it.key).count();
            assert_eq!(chosen, 1, "{} {}", P::FAMILY, it.key);
            let (key, row) = (it.key, it.row);
            let (policy, pairs) = it.into_parts();
            assert_eq!(policy.downcast_ref(), Some(&P::CANDIDATES[row]));
            // A row of numbers that some kernels alone are made with has those alone.
            let kernels = P::KERNELS.iter().copied().flatten();
            let kernels = kernels.filter(|kernel| (kernel.key, kernel.row) == (key, row));
            assert!(
                !pairs.is_empty() && pairs.len() == kernels.count(),
                "{key} {row}"
            );
            for [own, other] in pairs {
                let name = other.name;
                assert!(name.ends_with(&format!("_{row}")), "{name}");
                assert_eq!(own.raw_params(), other.raw_params(), "{name}");
            }
        }
    }
    check::<histogram::policy::Policy>();
    check::<rows::policy::Policy>();
    check::<map::policy::Policy>();
    check::<convolution::policy::Policy>();
    check::<random::policy::Policy>();
    check::<sort::policy::Policy>();
    check::<gemm::policy::Policy>();
    check::<reduce::policy::Policy>();
    check::<transpose::policy::Policy>();
    check::<columns::policy::Policy>();
    check::<scan::policy::Policy>();
    check::<select::policy::Policy>();
}
