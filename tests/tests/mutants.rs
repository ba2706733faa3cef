//! A slice of the corpus of mutants: every synchronising operation of three families, dropped and weakened in turn.
//! `cargo xtask mutants` runs all of it.

use std::collections::BTreeSet;

use cuda_std::cpu::mutate::Change;
use warpwright_tests::mutants::{self, Plan, Report};

fn run(names: &[&str]) -> Report {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    mutants::run(&Plan { names, orders: 2 }).unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn what_changes_a_result_is_reported_and_the_rest_has_a_reason() {
    let report = run(&["columns", "convolution", "histogram"]);
    assert_eq!(report.wrong(), Vec::<String>::new());
    assert_eq!(report.unexplained(), Vec::<String>::new());
    let changes: BTreeSet<Change> = report.mutants.iter().map(|m| m.mutation.change).collect();
    let expected = [
        Change::Dropped,
        Change::ToWarp,
        Change::ToBlock,
        Change::NoRelease,
        Change::NoAcquire,
        Change::InTwoSteps,
        Change::LaneLeftOut,
        Change::OwnHalf,
    ];
    assert_eq!(changes, BTreeSet::from(expected));
    let changed = report.mutants.iter().filter(|m| m.changed.is_some());
    assert!(changed.count() >= 30, "{}", report.markdown());
}

#[test]
fn a_name_that_there_is_not_is_an_error() {
    let names = vec!["column".to_owned()];
    let error = mutants::run(&Plan { names, orders: 1 }).unwrap_err();
    assert!(error.contains("given `column`"), "{error}");
}
