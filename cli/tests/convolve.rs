//! `warpwright convolve`, on the CPU.
#![allow(missing_docs)]

mod common;

use common::Folder;
use warpwright_cli::array::{Array, Data, Element, Shape};

fn vector<T: Element>(values: &[T]) -> Array {
    T::into_array(Data::vector(values.to_vec()))
}

fn matrix<T: Element>(height: usize, width: usize, values: &[T]) -> Array {
    let data = Data::new(Shape::Matrix { height, width }, values.to_vec());
    T::into_array(data.unwrap())
}

#[test]
fn vectors_of_every_type_with_every_variant() {
    let folder = Folder::new();
    folder.vector("singles.npy", &[1.0f32, 2.0, 3.0, 4.0, 5.0]);
    folder.vector("doubles.npy", &[1.0f64, 2.0, 3.0, 4.0, 5.0]);
    folder.vector("bytes.npy", &[1u8, 2, 3, 5, 255]);
    folder.vector("mask.npy", &[1.0f32, 0.0, -1.0]);
    let of = |command: &str| {
        assert_eq!(folder.succeeds(command), "");
        folder.read("out.npy")
    };
    for variant in ["basic", "constant_mask", "tiled", "best"] {
        let by = format!("-o out.npy --variant {variant}");
        assert_eq!(
            of(&format!("convolve singles.npy --mask mask.npy {by}")),
            vector(&[-2.0f32, -2.0, -2.0, -2.0, 4.0])
        );
        assert_eq!(
            of(&format!(
                "convolve singles.npy --mask 1,2 --boundary wrap {by}"
            )),
            vector(&[7.0f32, 5.0, 8.0, 11.0, 14.0])
        );
        assert_eq!(
            of(&format!(
                "convolve doubles.npy --mask -1e0,0,1 --boundary clamp {by}"
            )),
            vector(&[1.0f64, 2.0, 2.0, 2.0, 1.0])
        );
        assert_eq!(
            of(&format!("convolve bytes.npy --mask 0.5 {by}")),
            vector(&[0u8, 1, 2, 2, 128])
        );
        let answer = folder.json(&format!("convolve singles.npy --mask 1 {by}"));
        assert_eq!(answer["variant"], variant);
        assert_eq!(answer["chosen_by"], "caller");
        assert_eq!(answer["output"], "out.npy");
    }
}

#[test]
fn rows_of_matrices_and_pictures() {
    let folder = Folder::new();
    folder.matrix("in.npy", 2, 3, &[10u8, 20, 30, 40, 50, 60]);
    folder.succeeds("convolve in.npy --mask 0.25,0.5,0.25 --boundary clamp -o out.png");
    // 12.5 and 27.5 lie between two integers, and 42.5 and 57.5.
    let wanted = matrix(2, 3, &[12u8, 20, 28, 42, 50, 58]);
    assert_eq!(folder.read("out.png"), wanted);
    folder.succeeds("convolve out.png --mask 1 -o back.npy");
    assert_eq!(folder.read("back.npy"), wanted);
    folder.matrix::<f64>("none.npy", 0, 5, &[]);
    folder.succeeds("convolve none.npy --mask 1,1 -o out.npy");
    assert_eq!(folder.read("out.npy"), matrix::<f64>(0, 5, &[]));
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = Folder::new();
    folder.vector("in.npy", &[1.0f32]);
    folder.vector("words.npy", &[1u16]);
    folder.vector::<f32>("none.npy", &[]);
    folder.matrix("two.npy", 1, 2, &[1.0f32, 2.0]);
    folder.vector("long.npy", &[1.0f32; 1025]);
    for (command, status, parts) in [
        ("in.npy -o out.npy", 2, ["--mask", ""]),
        ("in.npy --mask 1", 2, ["--output", ""]),
        (
            "in.npy --mask 1,,2 -o out.npy",
            2,
            ["--mask", "0.25,0.5,0.25"],
        ),
        (
            "in.npy --mask 1 -o out.npy --boundary mirror",
            2,
            ["mirror", "clamp"],
        ),
        (
            "in.npy --mask 1 -o out.npy --variant naive",
            2,
            ["naive", "constant_mask"],
        ),
        (
            "in.npy --mask none.npy -o out.npy",
            1,
            ["none.npy: ", "at least one weight"],
        ),
        (
            "in.npy --mask two.npy -o out.npy",
            1,
            ["two.npy: ", "one axis"],
        ),
        (
            "in.npy --mask words.npy -o out.npy",
            1,
            ["words.npy: ", "u16"],
        ),
        (
            "in.npy --mask no.npy -o out.npy",
            1,
            ["no.npy: ", "no such file"],
        ),
        ("words.npy --mask 1 -o out.npy", 1, ["words.npy: ", "u16"]),
        ("two.npy --mask 1 -o out.png", 1, ["out.png: ", "f32"]),
        (
            "in.npy --mask long.npy -o out.npy --variant tiled",
            1,
            ["1024", "1025"],
        ),
    ] {
        folder.fails(&format!("convolve {command}"), status, &parts);
    }
    folder.succeeds("convolve in.npy --mask long.npy -o out.npy");
    assert_eq!(folder.read("out.npy"), vector(&[1.0f32]));
}
