//! `warpwright reduce --axis`: results, and what is refused.
#![allow(missing_docs)]

mod common;

use common::Folder;
use serde_json::json;
use warpwright_cli::array::{Array, Data};

/// 2 rows of 3.
fn inputs() -> Folder {
    let folder = Folder::new();
    folder.matrix("bytes.npy", 2, 3, &[255u8, 0, 3, 255, 7, 9]);
    folder.matrix("words.npy", 2, 3, &[65_535u16, 1, 2, 65_535, 3, 4]);
    folder.matrix("unsigned.npy", 2, 3, &[u32::MAX, 1, 2, u32::MAX, 3, 4]);
    folder.matrix("ints.npy", 2, 3, &[i32::MIN, -2, 3, i32::MIN, 5, -6]);
    folder.matrix(
        "floats.npy",
        2,
        3,
        &[1.5f32, -2.0, 0.25, 2.5, f32::NAN, 1.0],
    );
    folder.matrix("doubles.npy", 2, 3, &[1.5f64, -2.0, 0.25, 2.5, 4.0, 1.0]);
    folder
}

#[test]
fn every_type_and_operator() {
    let folder = inputs();
    let i64s = |values: &[i64]| Array::I64(Data::vector(values.to_vec()));
    let f64s = |values: &[f64]| Array::F64(Data::vector(values.to_vec()));
    let double = 2 * i64::from(u32::MAX);
    for (input, op, axis, expected) in [
        ("bytes", "sum", 0, i64s(&[510, 7, 12])),
        ("bytes", "sum", 1, i64s(&[258, 271])),
        ("bytes", "mean", 0, f64s(&[255.0, 3.5, 6.0])),
        ("bytes", "max", 1, Array::U8(Data::vector(vec![255, 255]))),
        ("bytes", "min", 0, Array::U8(Data::vector(vec![255, 0, 3]))),
        ("words", "sum", 0, i64s(&[131_070, 4, 6])),
        ("words", "min", 1, Array::U16(Data::vector(vec![1, 3]))),
        ("unsigned", "sum", 0, i64s(&[double, 4, 6])),
        (
            "unsigned",
            "max",
            1,
            Array::U32(Data::vector(vec![u32::MAX; 2])),
        ),
        ("ints", "sum", 0, i64s(&[2 * i64::from(i32::MIN), 3, -3])),
        (
            "ints",
            "min",
            0,
            Array::I32(Data::vector(vec![i32::MIN, -2, -6])),
        ),
        ("doubles", "sum", 1, f64s(&[-0.25, 7.5])),
        ("doubles", "max", 0, f64s(&[2.5, 4.0, 1.0])),
        ("doubles", "mean", 1, f64s(&[-0.25 / 3.0, 2.5])),
    ] {
        let command = format!("reduce {input}.npy --op {op} --axis {axis}");
        assert_eq!(folder.succeeds(&format!("{command} -o out.npy")), "");
        assert_eq!(folder.read("out.npy"), expected, "{command}");
    }
    folder.succeeds("reduce floats.npy --op sum --axis 1 -o out.npy");
    let Array::F32(sums) = folder.read("out.npy") else {
        panic!("sums of f32 are f32")
    };
    assert!(sums.values()[0] == -0.25 && sums.values()[1].is_nan());
}

#[test]
fn without_an_output_the_results_are_printed() {
    let folder = inputs();
    let printed = folder.succeeds("reduce bytes.npy --op sum --axis 0");
    assert_eq!(printed, "510\n7\n12\n");
    let answer = folder.json("reduce floats.npy --op max --axis 0");
    assert_eq!(answer["value"], json!([2.5, "NaN", 1.0]));
    assert_eq!(answer["variant"], "best");
    assert_eq!(answer["chosen_by"], "policy");
    let answer = folder.json("reduce bytes.npy --op sum --axis 1 -o out.npy");
    assert_eq!(answer["output"], "out.npy");
    assert!(answer.get("value").is_none());
}

#[test]
fn every_variant() {
    let folder = Folder::new();
    let input: Vec<u16> = (0..70 * 35).map(|i| i * 26).collect();
    folder.matrix("in.npy", 70, 35, &input);
    for (axis, family) in [(0, "columns"), (1, "rows")] {
        let family = warpwright::families()
            .iter()
            .find(|row| row.name == family)
            .unwrap();
        let expected = folder.succeeds(&format!("reduce in.npy --op sum --axis {axis}"));
        assert_eq!(expected.lines().count(), if axis == 0 { 35 } else { 70 });
        for variant in family.variants {
            let name = variant.name;
            let command = format!("reduce in.npy --op sum --axis {axis} --variant {name}");
            assert_eq!(folder.succeeds(&command), expected, "{name}");
            assert_eq!(folder.json(&command)["variant"], name);
        }
    }
}

#[test]
fn no_rows_and_no_columns() {
    let folder = Folder::new();
    folder.matrix::<u8>("none.npy", 0, 2, &[]);
    assert_eq!(
        folder.succeeds("reduce none.npy --op sum --axis 0"),
        "0\n0\n"
    );
    assert_eq!(folder.succeeds("reduce none.npy --op max --axis 1"), "");
    for op in ["min", "max", "mean"] {
        folder.fails(
            &format!("reduce none.npy --op {op} --axis 0 -o out.npy"),
            1,
            &["none.npy: ", op, "at least one row", "none given"],
        );
    }
}

#[test]
fn what_is_refused() {
    let folder = inputs();
    folder.vector("vector.npy", &[1u8, 2]);
    folder.matrix("longs.npy", 1, 2, &[1i64, 2]);
    for axis in [0, 1] {
        folder.fails(
            &format!("reduce vector.npy --op sum --axis {axis} -o out.npy"),
            1,
            &["vector.npy: ", "two axes", "reshape"],
        );
    }
    folder.fails(
        "reduce longs.npy --op sum --axis 0",
        1,
        &["longs.npy: ", "i64", "u8"],
    );
    for op in ["product", "argmin", "argmax"] {
        folder.fails(
            &format!("reduce bytes.npy --op {op} --axis 0"),
            2,
            &["--axis", op, "sum, mean, min, max"],
        );
    }
    folder.fails(
        "reduce bytes.npy --op sum --axis 2",
        2,
        &["--axis", "0", "1"],
    );
    folder.fails("reduce bytes.npy --op sum -o out.npy", 2, &["--axis"]);
    folder.fails(
        "reduce bytes.npy --op sum --axis 0 -o out.png",
        2,
        &["out.png", ".npy"],
    );
    folder.fails(
        "reduce bytes.npy --op sum --axis 0 --variant block_per_row",
        2,
        &["block_per_row", "column_per_thread"],
    );
    folder.fails(
        "reduce bytes.npy --op sum --axis 1 --variant folding",
        2,
        &["folding", "block_per_row"],
    );
}
