//! `warpwright matmul`: products of types of 8 bits, and bad input, which gives one line that says what to do.
#![allow(missing_docs)]

mod common;

use common::Folder;
use half::{bf16, f16};
use warpwright::cuda_std::{F8E4M3, F8E5M2};
use warpwright_cli::array::{Array, Data, Element, Shape};

#[test]
fn products_of_what_does_not_fit() {
    let folder = Folder::new();
    folder.matrix("a.npy", 2, 3, &[1.0_f32; 6]);
    folder.matrix("wide.npy", 3, 4, &[1.0_f64; 12]);
    folder.matrix("bytes.npy", 3, 4, &[1_u8; 12]);
    folder.vector("line.npy", &[1.0_f32; 3]);
    for (line, parts) in [
        ("a.npy a.npy -o o.npy", &["2 x 3", "columns"][..]),
        ("a.npy wide.npy -o o.npy", &["wide.npy", "f64", "f32"]),
        (
            "bytes.npy a.npy -o o.npy",
            &[
                "bytes.npy",
                "u8",
                "i8, F8E4M3, F8E5M2, f16, bf16, f32 or f64",
            ],
        ),
        ("a.npy line.npy -o o.npy", &["line.npy", "two axes"]),
        (
            "a.npy a.npy --transpose-b -o o.npy --c a.npy",
            &["a.npy", "2 x 2", "2 x 3"],
        ),
        (
            "a.npy a.npy --transpose-b -o o.npy --bias line.npy",
            &["a bias of 2 elements", "3 elements"],
        ),
        (
            "a.npy a.npy --transpose-b -o o.npy --bias a.npy",
            &["a.npy", "--bias", "one axis"],
        ),
        (
            "wide.npy wide.npy --transpose-b -o o.npy --precision bf16x6",
            &["matrices of f32", "bf16x6", "f64"],
        ),
        (
            "a.npy a.npy --transpose-b -o o.npy --precision bf16x6 --variant tiled",
            &["bf16x6", "best alone"],
        ),
    ] {
        folder.fails(&format!("matmul {line}"), 1, parts);
    }
    for (line, parts) in [
        ("a.npy a.npy --transpose-b -o o.png", &[".npy"][..]),
        ("a.npy a.npy --transpose-b -o o.npy --beta 2", &["--c"]),
        ("a.npy a.npy --transpose-b -o o.npy --alpha x", &["--alpha"]),
        ("a.npy a.npy -o o.npy --variant bset", &["bset", "tiled"]),
        ("a.npy a.npy -o o.npy --activation tanh", &["relu", "gelu"]),
        (
            "a.npy a.npy -o o.npy --precision half",
            &["exact", "bf16x6", "tf32"],
        ),
    ] {
        folder.fails(&format!("matmul {line}"), 2, parts);
    }
}

/// Products whose results have another type than is usual, and scales of rows and columns.
fn results_and_scales(square: impl Fn([f32; 4]) -> Data<f32>) {
    let folder = Folder::new();
    folder.matrix("a.npy", 2, 2, &[1.0, -1.5, 2.0, 0.25].map(F8E4M3::from_f32));
    let floats = [1.0_f32, -1.5, 2.0, 0.25];
    folder.matrix("b.npy", 2, 2, &floats);
    folder.matrix("f16.npy", 2, 2, &floats.map(f16::from_f32));
    folder.matrix("bf16.npy", 2, 2, &floats.map(bf16::from_f32));
    folder.vector("rows.npy", &[2.0_f32, 100.0]);
    folder.vector("columns.npy", &[1.0_f32, -0.5]);
    folder.vector("bias.npy", &[0.5, -0.5].map(bf16::from_f32));
    let scaled = "--transpose-b -o out.npy --scale-rows rows.npy --scale-columns columns.npy";
    folder.succeeds(&format!("matmul b.npy b.npy {scaled}"));
    let product = Array::F32(square([6.5, -1.625, 162.5, -203.125]));
    assert_eq!(folder.read("out.npy"), product);
    for name in ["b", "a", "f16", "bf16"] {
        folder.succeeds(&format!(
            "matmul {name}.npy {name}.npy {scaled} --result f32"
        ));
        assert_eq!(folder.read("out.npy"), product, "{name}");
    }
    folder.succeeds(&format!(
        "matmul a.npy a.npy {scaled} --result bf16 --bias bias.npy"
    ));
    let halves = [7.0, -2.125, 163.0, -203.625].map(bf16::from_f32);
    let shape = Shape::Matrix {
        height: 2,
        width: 2,
    };
    let product = Array::Bf16(Data::new(shape, halves.into()).unwrap());
    assert_eq!(folder.read("out.npy"), product);
    folder.succeeds(&format!("matmul a.npy a.npy {scaled} --result f16"));
    let halves = [6.5, -1.625, 162.5, -203.125].map(f16::from_f32);
    let product = Array::F16(Data::new(shape, halves.into()).unwrap());
    assert_eq!(folder.read("out.npy"), product);
    for (line, code, part) in [
        (
            "b.npy b.npy -o o.npy --result bf16",
            1,
            "--result bf16 needs F8E4M3 or bf16 and the array has f32",
        ),
        (
            "f16.npy f16.npy -o o.npy --result f32 --bias bias.npy",
            1,
            "the product has f32",
        ),
        ("a.npy a.npy -o o.npy --result f64", 2, "bf16"),
        (
            "a.npy a.npy -o o.npy --scale-rows bias.npy",
            1,
            "a sum has f32",
        ),
        (
            "a.npy a.npy -o o.npy --scale-rows b.npy",
            1,
            "--scale-rows needs one axis",
        ),
        (
            "a.npy a.npy -o o.npy --scale-columns rows.npy --transpose-a --c rows.npy",
            1,
            "two axes",
        ),
    ] {
        folder.fails(&format!("matmul {line}"), code, &[part]);
    }
}

/// Products of types of 8 bits, whose results have another type, and what else takes them.
#[test]
fn elements_of_8_bits() {
    let shape = |height, width| Shape::Matrix { height, width };
    let square = |values: [f32; 4]| Data::new(shape(2, 2), values.into()).unwrap();
    fn floats<T: Element>(of: fn(f32) -> T, square: impl Fn([f32; 4]) -> Data<f32>) {
        let folder = Folder::new();
        let values: Vec<T> = [1.0, -1.5, 2.0, 0.25].map(of).into();
        folder.matrix("a.npy", 2, 2, &values);
        folder.matrix("c.npy", 2, 2, &[1.0_f32; 4]);
        folder.vector("bias.npy", &[0.5_f32, -0.5]);
        folder.succeeds("matmul a.npy a.npy --transpose-b -o out.npy --bias bias.npy");
        let product = Array::F32(square([3.75, 1.125, 2.125, 3.5625]));
        assert_eq!(folder.read("out.npy"), product);
        folder.succeeds("matmul a.npy a.npy --transpose-b -o out.npy --alpha 2 --c c.npy");
        let product = Array::F32(square([7.5, 4.25, 4.25, 9.125]));
        assert_eq!(folder.read("out.npy"), product);
        folder.succeeds("transpose a.npy -o out.npy");
        folder.succeeds("transpose out.npy -o again.npy");
        assert_eq!(folder.read("again.npy"), folder.read("a.npy"));
        let parts = ["reduce takes u8", T::DTYPE.name(), "astype"];
        folder.fails("reduce a.npy --op sum", 1, &parts);
        folder.vector("in.npy", &values);
        let parts = ["sort takes u8 u16 u32 i8 i32", T::DTYPE.name()];
        folder.fails("sort in.npy -o sorted.npy", 1, &parts);
        folder.fails(
            "matmul a.npy a.npy -o o.npy --bias a.npy",
            1,
            &["the product has f32"],
        );
    }
    floats(F8E4M3::from_f32, square);
    floats(F8E5M2::from_f32, square);
    results_and_scales(square);

    let folder = Folder::new();
    folder.matrix("a.npy", 2, 2, &[100_i8, -128, 127, 3]);
    folder.matrix("c.npy", 2, 2, &[1_i32, 2, 3, 4]);
    folder.succeeds("matmul a.npy a.npy --transpose-b -o out.npy --alpha -1 --c c.npy");
    let values = vec![-26_383, -12_314, -12_313, -16_134];
    let product = Data::new(shape(2, 2), values).unwrap();
    assert_eq!(folder.read("out.npy"), Array::I32(product));
    folder.vector("in.npy", &[100_i8, -128, 127, 3]);
    folder.succeeds("sort in.npy -o out.npy");
    let sorted = Data::vector(vec![-128_i8, 3, 100, 127]);
    assert_eq!(folder.read("out.npy"), Array::I8(sorted));
    folder.succeeds("top-k in.npy -k 1 -o out.npy");
    assert_eq!(
        folder.read("out.npy"),
        Array::I8(Data::vector(vec![127_i8]))
    );
    for (line, code, part) in [
        (
            "matmul a.npy a.npy -o o.npy --alpha 0.5",
            2,
            "whole number of 32 bits, given 0.5",
        ),
        (
            "matmul a.npy a.npy -o o.npy --c a.npy",
            1,
            "the product has i32",
        ),
        ("matmul a.npy c.npy -o o.npy", 1, "A has i8"),
        ("matmul a.npy a.npy -o o.npy --activation gelu", 1, "gelu"),
        ("scan in.npy --op sum -o o.npy", 1, "scan takes u8"),
        ("unique in.npy -o o.npy", 1, "unique takes u8"),
        ("histogram in.npy", 1, "the data is i8"),
    ] {
        folder.fails(line, code, &[part]);
    }
}
