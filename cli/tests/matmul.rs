//! Bad input of `warpwright matmul`: one line that says what to do.
#![allow(missing_docs)]

mod common;

use common::Folder;

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
            &["bytes.npy", "u8", "f16, bf16, f32 or f64"],
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
