//! The commands that select elements: select, unique, run-lengths and top-k; and scan. On the CPU.
#![allow(missing_docs)]

mod common;

use common::Folder;
use half::{bf16, f16};
use warpwright_cli::array::{Array, Data, Element, Shape};

#[test]
fn selections() {
    let folder = Folder::new();
    let vector = |values: Vec<f32>| {
        let shape = Shape::Vector(values.len());
        Array::F32(Data::new(shape, values).unwrap())
    };
    folder.vector("in.npy", &[1.5f32, -2.0, -2.0, 0.0, 3.0, f32::NAN, 3.0]);
    let cases = [
        ("less:0", vec![-2.0, -2.0]),
        ("at-most:0", vec![-2.0, -2.0, 0.0]),
        ("greater:1.5", vec![3.0, 3.0]),
        ("at-least:1.5", vec![1.5, 3.0, 3.0]),
        ("equal:-2", vec![-2.0, -2.0]),
        ("within:-2,1.5", vec![1.5, -2.0, -2.0, 0.0]),
        ("greater:inf", vec![]),
    ];
    for (condition, expected) in cases {
        for variant in ["naive", "reduce_then_scan", "best"] {
            let answer = folder.json(&format!(
                "select in.npy --where {condition} -o out.npy --variant {variant}"
            ));
            assert_eq!(answer["variant"], variant);
            assert_eq!(
                folder.read("out.npy"),
                vector(expected.clone()),
                "{condition}"
            );
        }
    }
    // A NaN is in the result, and equals nothing.
    for condition in ["not-equal:3", "outside:3,3"] {
        folder.succeeds(&format!("select in.npy --where {condition} -o out.npy"));
        assert_eq!(folder.read("out.npy").len(), 5, "{condition}");
    }
    folder.vector("bytes.npy", &[7u8, 7, 7, 0, 0, 7]);
    folder.succeeds("unique bytes.npy -o out.npy");
    let unique = Data::new(Shape::Vector(3), vec![7u8, 0, 7]).unwrap();
    assert_eq!(folder.read("out.npy"), Array::U8(unique));
}

/// The runs of equal values, in plain Rust.
fn runs<T: Element>(values: &[T]) -> (Array, Array) {
    let runs: Vec<&[T]> = values.chunk_by(|a, b| a == b).collect();
    let elements = runs.iter().map(|run| run[0]).collect();
    let lengths = runs.iter().map(|run| run.len() as i64).collect();
    (
        T::into_array(Data::vector(elements)),
        Array::I64(Data::vector(lengths)),
    )
}

#[test]
fn run_lengths() {
    fn of<T: Element>(values: &[T]) {
        let folder = Folder::new();
        folder.vector("in.npy", values);
        let (elements, lengths) = runs(values);
        for variant in ["naive", "warp_per_segment", "best"] {
            let answer = folder.json(&format!(
                "run-lengths in.npy -o out.npy --lengths lengths.npy --variant {variant}"
            ));
            assert_eq!(answer["variant"], variant);
            assert_eq!(answer["output"], "out.npy");
            assert_eq!(answer["lengths"], "lengths.npy");
            assert_eq!(folder.read("out.npy"), elements, "{} {variant}", T::DTYPE);
            assert_eq!(
                folder.read("lengths.npy"),
                lengths,
                "{} {variant}",
                T::DTYPE
            );
        }
    }
    fn each<T>(values: &[u8], of: fn(u8) -> T) -> Vec<T> {
        values.iter().map(|value| of(*value)).collect()
    }
    let values: Vec<u8> = (0..3000_u32).map(|i| (i * i / 977) as u8).collect();
    of(&values);
    of(&each(&values, u16::from));
    of(&each(&values, u32::from));
    of(&each(&values, |value| i32::from(value) << 24));
    of(&each(&values, |value| -i64::from(value)));
    of(&each(&values, |value| f32::from(value) / 7.0));
    of(&each(&values, |value| f64::from(value) / 7.0));
    of::<u8>(&[]);
    of(&[5_i64]);

    // A matrix is read row by row. Zeros of both signs are equal, and a NaN equals nothing.
    let folder = Folder::new();
    let line = "run-lengths in.npy -o out.npy --lengths lengths.npy";
    folder.matrix("in.npy", 2, 3, &[7u8, 1, 1, 1, 1, 7]);
    assert_eq!(folder.succeeds(line), "");
    let (elements, lengths) = runs(&[7u8, 1, 1, 1, 1, 7]);
    assert_eq!(folder.read("out.npy"), elements);
    assert_eq!(folder.read("lengths.npy"), lengths);
    folder.vector("in.npy", &[0.0f32, -0.0, f32::NAN, f32::NAN]);
    folder.succeeds(line);
    let lengths = Array::I64(Data::vector(vec![2, 1, 1]));
    assert_eq!(folder.read("lengths.npy"), lengths);
}

#[test]
fn greatest_and_smallest_elements() {
    let folder = Folder::new();
    let positions = |values: &[i64]| Array::I64(Data::vector(values.to_vec()));
    folder.vector("in.npy", &[1.5f32, -2.0, 3.0, -0.0, 3.0, 0.0]);
    for (options, values, places) in [
        ("-k 4", vec![3.0f32, 3.0, 1.5, 0.0], [2, 4, 0, 5]),
        ("-k 4 --smallest", vec![-2.0, -0.0, 0.0, 1.5], [1, 3, 5, 0]),
    ] {
        for variant in ["naive", "two_level", "best"] {
            let answer = folder.json(&format!(
                "top-k in.npy {options} -o out.npy --positions at.npy --variant {variant}"
            ));
            assert_eq!(answer["variant"], variant);
            assert_eq!(answer["output"], "out.npy");
            assert_eq!(answer["positions"], "at.npy");
            let values = Array::F32(Data::vector(values.clone()));
            assert_eq!(folder.read("out.npy"), values, "{options} {variant}");
            assert_eq!(folder.read("at.npy"), positions(&places), "{options}");
        }
    }
    // A NaN comes first in both orders.
    folder.vector("nan.npy", &[1.0, f64::NAN]);
    for options in ["-k 2 --smallest", "-k 2"] {
        folder.succeeds(&format!(
            "top-k nan.npy {options} -o out.npy --positions at.npy"
        ));
        assert_eq!(folder.read("at.npy"), positions(&[1, 0]), "{options}");
    }
    assert_eq!(folder.succeeds("top-k nan.npy -k 0 -o none.npy"), "");
    assert!(folder.read("none.npy").is_empty());

    let rows = |values: Vec<i64>| {
        let shape = Shape::Matrix {
            height: 2,
            width: 2,
        };
        Array::I64(Data::new(shape, values).unwrap())
    };
    folder.matrix("rows.npy", 2, 3, &[7i64, -1, 9, 5, 5, 5]);
    folder.succeeds("top-k rows.npy -k 2 -o out.npy --positions at.npy");
    assert_eq!(folder.read("out.npy"), rows(vec![9, 7, 5, 5]));
    assert_eq!(folder.read("at.npy"), rows(vec![2, 0, 0, 1]));
}

#[test]
fn scans_of_a_matrix_along_an_axis() {
    let folder = Folder::new();
    folder.matrix("in.npy", 2, 3, &[1_i32, 2, 3, 4, 5, 6]);
    let cases = [
        ("", [1, 3, 6, 10, 15, 21]),
        ("--axis 0", [1, 2, 3, 5, 7, 9]),
        ("--axis 1", [1, 3, 6, 4, 9, 15]),
        ("--axis 1 --exclusive", [0, 1, 3, 0, 4, 9]),
    ];
    for (options, wanted) in cases {
        folder.succeeds(&format!("scan in.npy --op sum {options} -o out.npy"));
        let (height, width) = (2, 3);
        let shape = Shape::Matrix { height, width };
        let wanted = Array::I32(Data::new(shape, wanted.to_vec()).unwrap());
        assert_eq!(folder.read("out.npy"), wanted, "{options}");
    }
    folder.vector("in.npy", &[1_i32, 2]);
    folder.fails(
        "scan in.npy --op sum --axis 1 -o out.npy",
        1,
        &["needs two axes"],
    );
}

/// The sums of `number` of each value, of the type and shape of an array with two rows, against those of a loop.
#[track_caller]
fn check_wide<T: Element, Out: Element>(
    values: &[T],
    number: fn(&T) -> i64,
    written: fn(i64) -> Out,
) {
    let folder = Folder::new();
    let (height, width) = (2, values.len() / 2);
    folder.matrix("in.npy", height, width, values);
    for exclusive in ["", "--exclusive"] {
        let mut sum = 0;
        let sums = values.iter().map(|value| {
            let before = sum;
            sum += number(value);
            written(if exclusive.is_empty() { sum } else { before })
        });
        let shape = Shape::Matrix { height, width };
        let wanted = Out::into_array(Data::new(shape, sums.collect()).unwrap());
        let line = format!(
            "scan in.npy --op sum --to {} {exclusive} -o out.npy",
            Out::DTYPE
        );
        assert_eq!(folder.json(&line)["variant"], "best");
        assert_eq!(folder.read("out.npy"), wanted, "{line} of {}", T::DTYPE);
    }
}

#[test]
fn scans_to_a_wider_type() {
    // Their sums leave the type of the elements, those of `u32` 32 bits, and those of `f16` the finite numbers.
    let bytes = [200_u8, 255].repeat(3000);
    check_wide(&bytes, |&x| x.into(), |sum| sum as u32);
    check_wide(&bytes, |&x| x.into(), |sum| sum);
    let words = [65_535_u16, 3].repeat(3000);
    check_wide(&words, |&x| x.into(), |sum| sum as u32);
    check_wide(&words, |&x| x.into(), |sum| sum);
    check_wide(&[u32::MAX, 7, u32::MAX, u32::MAX], |&x| x.into(), |sum| sum);
    check_wide(&[i32::MIN, i32::MIN, -1, 5], |&x| x.into(), |sum| sum);
    // The sums are whole numbers that `f32` has.
    let halves = [60_000.0, 64.0].map(f16::from_f32).repeat(100);
    check_wide(&halves, |x| x.to_f32() as i64, |sum| sum as f32);
    let halves = [256.0, 1.0].map(bf16::from_f32).repeat(100);
    check_wide(&halves, |x| x.to_f32() as i64, |sum| sum as f32);
    check_wide::<u8, u32>(&[], |&x| x.into(), |sum| sum as u32);
}

#[test]
fn scans_to_a_type_that_is_not_there() {
    let folder = Folder::new();
    let line = "scan in.npy --op sum -o out.npy --to";
    folder.matrix("in.npy", 1, 2, &[1_u32, 2]);
    for (to, taken) in [("u32", "u8 and u16"), ("f32", "f16 and bf16")] {
        let parts = ["in.npy: ", "scan --to", to, taken, "is u32", "leave --to"];
        folder.fails(&format!("{line} {to}"), 1, &parts);
    }
    folder.vector("in.npy", &[1.5_f32]);
    for to in ["u32", "i64", "f32"] {
        folder.fails(&format!("{line} {to}"), 1, &["in.npy: ", to, "is f32"]);
    }
    folder.vector("in.npy", &[1_i8]);
    folder.fails(&format!("{line} i64"), 1, &["in.npy: ", "is i8"]);

    folder.matrix("in.npy", 1, 2, &[1_u8, 2]);
    for to in ["u64", "f64", ""] {
        let parts = ["--to", "u32, i64, f32"];
        folder.fails(&format!("{line}={to}"), 2, &parts);
    }
    for op in ["product", "min", "max"] {
        let line = format!("scan in.npy --op {op} -o out.npy --to u32");
        folder.fails(&line, 2, &["scan: --to u32", "--op sum", op, "leave --to"]);
    }
    folder.fails(&format!("{line} u32 --axis 0"), 2, &["--to", "--axis"]);
    let parts = ["sums of a wider type", "`best` alone"];
    folder.fails(&format!("{line} u32 --variant naive"), 1, &parts);
}
