//! Properties of the program's arguments that hold for any of them.
#![allow(missing_docs)]

mod common;
mod targets;

use common::Folder;
use proptest::prelude::*;

/// Words that the program knows, numbers that are easily handled wrongly, and noise.
fn word() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "transpose",
        "reduce",
        "histogram",
        "matmul",
        "convolve",
        "map",
        "select",
        "unique",
        "run-lengths",
        "--lengths",
        "--where",
        "within:0,3",
        "random",
        "scan",
        "--exclusive",
        "--to",
        "u32",
        "sort",
        "--argsort",
        "--descending",
        "merge",
        "bounds",
        "--upper",
        "top-k",
        "-k",
        "--smallest",
        "--positions",
        "devices",
        "--op",
        "sum",
        "argmin",
        "mean",
        "--axis",
        "0",
        "1",
        "-o",
        "out.npy",
        "in.npy",
        "--bins",
        "--low",
        "--high",
        "--mask",
        "--variant",
        "best",
        "--device",
        "cpu",
        "--json",
        "--seed",
        "--len",
        "--help",
        "--",
        "-",
        "--distribution",
        "normal",
        "--boundary",
        "--alpha",
        "--beta",
    ]);
    let numbers = prop::sample::select(vec![
        "-1",
        "18446744073709551615",
        "18446744073709551616",
        "4294967295",
        "4294967296",
        "1e308",
        "1e999",
        "nan",
        "inf",
        "-inf",
        "0x10",
        "1,2,3",
        "1,,2",
        ",",
        "1.5",
        "-0",
    ]);
    prop_oneof![
        4 => known.prop_map(str::to_owned),
        2 => numbers.prop_map(str::to_owned),
        1 => "[ -~]{0,12}",
        1 => "\\PC{0,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn any_words_are_parsed_or_refused(words in prop::collection::vec(word(), 0..8)) {
        targets::arguments(words.join("\n").as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    /// With a small input that is there: done, failed or wrong usage, and what is wrong is told in one line.
    #[test]
    fn any_words_end_with_a_result_or_one_line(
        words in prop::collection::vec(word(), 1..8)
            // What runs for minutes, or asks for an array of any size, has tests of its own.
            .prop_filter("quick", |words| !words.iter().any(|word| {
                word.contains('\0') || ["verify", "ladder", "ulp", "random"].contains(&word.as_str())
            })),
    ) {
        let folder = Folder::new();
        folder.vector::<f32>("in.npy", &[1.0, -2.0, 3.5]);
        let output = folder.command("--device cpu").args(&words).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        prop_assert!(matches!(output.status.code(), Some(0..=2)), "{words:?}: {:?} {errors}", output.status);
        prop_assert!(!errors.contains("panicked"), "{words:?}: {errors}");
        if !output.status.success() && errors.starts_with("error: ") {
            prop_assert_eq!(errors.matches('\n').count(), 1, "{:?}: {}", words, errors);
        }
    }
}
