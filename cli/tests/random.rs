//! `warpwright random`: what it writes, and what it refuses.

mod common;

use common::Folder;
use warpwright::cuda_std::random::{Philox4x32, uniform_f32};
use warpwright_cli::array::Array;

fn f32s(array: Array) -> Vec<f32> {
    match array {
        Array::F32(data) => data.into_values(),
        other => panic!("{}", other.dtype()),
    }
}

#[test]
fn uniform_numbers_are_those_of_the_stream() {
    let folder = Folder::new();
    let mut random = Philox4x32::new(42, 3, 5);
    let expected: Vec<f32> = (0..1000).map(|_| uniform_f32(random.next_word())).collect();
    for variant in ["per_thread", "best"] {
        let answer = folder.json(&format!(
            "random uniform --count 1000 --seed 42 --sequence 3 --offset 5 -o out.npy --variant {variant}"
        ));
        assert_eq!(answer["variant"], variant);
        assert_eq!(answer["output"], "out.npy");
        assert_eq!(f32s(folder.read("out.npy")), expected);
    }
}

#[test]
fn every_distribution_by_every_generator() {
    let folder = Folder::new();
    for generator in ["philox", "xorwow"] {
        for (distribution, dtype) in [
            ("uniform", "f32"),
            ("uniform --dtype f64", "f64"),
            ("normal --mean -3 --std 0.5", "f32"),
            ("normal --dtype f64", "f64"),
            ("log-normal", "f32"),
            ("log-normal --dtype f64 --mean 1 --std 0", "f64"),
            ("poisson --lambda 0.3", "u32"),
            ("poisson --lambda 12345", "u32"),
        ] {
            let command = format!(
                "random {distribution} --generator {generator} --count 2K --seed 1 -o out.npy --plot out.svg"
            );
            let answer = folder.json(&command);
            assert_eq!(
                (&answer["output"], &answer["plot"]),
                (&"out.npy".into(), &"out.svg".into())
            );
            assert_eq!(answer["chosen_by"], "policy");
            let array = folder.read("out.npy");
            assert_eq!(
                (array.len(), array.dtype().name()),
                (2048, dtype),
                "{command}"
            );
            let svg = std::fs::read_to_string(folder.path("out.svg")).unwrap();
            assert!(
                svg.contains("values in") && svg.ends_with("</svg>\n"),
                "{command}"
            );
        }
    }
}

#[test]
fn the_mean_is_the_one_asked_for() {
    let folder = Folder::new();
    folder.succeeds("random normal --count 10000 --seed 9 --mean 40 --std 2 -o out.npy");
    let values = f32s(folder.read("out.npy"));
    let mean = values.iter().map(|x| f64::from(*x)).sum::<f64>() / values.len() as f64;
    assert!((mean - 40.0).abs() <= 5.0 * 2.0 / 100.0, "{mean}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = Folder::new();
    let fails = |rest: &str, parts: &[&str]| {
        folder.fails(&format!("random {rest} --seed 1 -o out.npy"), 2, parts);
    };
    fails("uniform --count 0", &["--count"]);
    fails("uniform", &["--count"]);
    fails("cauchy --count 5", &["cauchy", "log-normal"]);
    fails("uniform --count 5 --mean 1", &["uniform", "--mean"]);
    fails(
        "poisson --count 5 --lambda 3 --std 1",
        &["poisson", "--std"],
    );
    fails(
        "poisson --count 5 --lambda 3 --dtype f64",
        &["poisson", "--dtype"],
    );
    fails("normal --count 5 --lambda 3", &["normal", "--lambda"]);
    fails("normal --count 5 --std -1", &["--std", "-1"]);
    fails("log-normal --count 5 --mean nan", &["--mean", "NaN"]);
    fails("poisson --count 5", &["--lambda"]);
    fails("poisson --count 5 --lambda 1e7", &["--lambda", "10000000"]);
    fails(
        "uniform --count 5 --generator mersenne",
        &["mersenne", "philox"],
    );
    fails(
        "uniform --count 5 --variant tiled",
        &["tiled", "per_thread"],
    );
    folder.fails("random uniform --count 5 -o out.npy", 2, &["--seed"]);
    folder.fails("random uniform --count 5 --seed 1 -o out.png", 2, &[".npy"]);
    folder.fails(
        "random uniform --count 5 --seed 1 --offset 18446744073709551615 -o out.npy",
        1,
        &["random", "5 elements"],
    );
}
