//! The commands merge and bounds on the CPU, held to std's stable sort and `partition_point`.
#![allow(missing_docs)]

mod common;

use std::cmp::Ordering;

use common::Folder;
use half::{bf16, f16};
use warpwright_cli::array::{Array, Data, Element, Shape};

/// The order of two elements.
type Compare<T> = fn(&T, &T) -> Ordering;

/// Merges two arrays of these values, and searches one for the other, in both orders.
#[track_caller]
fn check<T: Element>(a: &[T], b: &[T], compare: Compare<T>) {
    let folder = Folder::new();
    for descending in ["", "--descending"] {
        let compare = |x: &T, y: &T| match descending {
            "" => compare(x, y),
            _ => compare(y, x),
        };
        let [mut first, mut second] = [a.to_vec(), b.to_vec()];
        first.sort_by(compare);
        second.sort_by(compare);
        folder.vector("a.npy", &first);
        folder.vector("b.npy", &second);
        let mut all = [&first[..], &second].concat();
        all.sort_by(compare);
        for variant in ["naive", "path", "best"] {
            let line = format!("merge a.npy b.npy {descending} -o out.npy --variant {variant}");
            let answer = folder.json(&line);
            assert_eq!(answer["variant"], variant);
            assert_eq!(answer["output"], "out.npy");
            // Bit by bit: NaNs and zeros of both signs are kept as they are.
            let found = folder.read("out.npy");
            let found = T::from_array(&found).unwrap().values();
            let [found, wanted] = [found, &all].map(bytemuck::cast_slice::<T, u8>);
            assert_eq!(found, wanted, "{line} of {}", T::DTYPE);
        }

        // The keys are in the order in which they were given, with the shape of their file.
        let (height, width) = (2, b.len() / 2);
        let keys = &b[..2 * width];
        folder.matrix("keys.npy", height, width, keys);
        for upper in ["", "--upper"] {
            let is_before = |element: &T, key: &T| match compare(element, key) {
                Ordering::Less => true,
                Ordering::Equal => !upper.is_empty(),
                Ordering::Greater => false,
            };
            let place = |key: &T| first.partition_point(|element| is_before(element, key)) as i64;
            let places = keys.iter().map(place).collect();
            let wanted = Array::I64(Data::new(Shape::Matrix { height, width }, places).unwrap());
            for variant in ["naive", "best"] {
                let line = format!(
                    "bounds a.npy keys.npy {upper} {descending} -o out.npy --variant {variant}"
                );
                assert_eq!(folder.json(&line)["variant"], variant);
                assert_eq!(folder.read("out.npy"), wanted, "{line} of {}", T::DTYPE);
            }
        }
    }
}

#[test]
fn every_type() {
    fn of<T: Element>(of: fn(i32) -> T, compare: Compare<T>) {
        let values = |len: i32, factor: i32| (0..len).map(move |i| of(i * factor % 101 - 50));
        let a: Vec<T> = values(700, 37).collect();
        let b: Vec<T> = values(1000, 89).collect();
        check(&a, &b, compare);
    }
    of(|x| (x + 50) as u8, u8::cmp);
    of(|x| (x + 50) as u16 * 600, u16::cmp);
    of(|x| (x + 50) as u32 * 40_000_000, u32::cmp);
    of(|x| x as i8, i8::cmp);
    of(|x| x * 40_000_000, i32::cmp);
    of(|x| i64::from(x) << 56, i64::cmp);
    of(|x| f16::from_f32(x as f32), f16::total_cmp);
    of(|x| bf16::from_f32(x as f32), bf16::total_cmp);
    of(|x| x as f32 / 7.0, f32::total_cmp);
    of(|x| f64::from(x) / 7.0, f64::total_cmp);
}

#[test]
fn the_order_is_total() {
    let odd = [f32::NAN, -f32::NAN, 0.0, -0.0, f32::INFINITY, -1.5];
    check(&odd, &[-0.0, 0.0, f32::NAN, 1.0], f32::total_cmp);
    check::<u8>(&[], &[], u8::cmp);
    check(&[], &[2_i64, 1], i64::cmp);
    check(&[2_i64, 1], &[], i64::cmp);
}

#[test]
fn inputs_that_do_not_go_together() {
    let folder = Folder::new();
    folder.vector("a.npy", &[1.0_f32, 2.0]);
    folder.vector("b.npy", &[1.0_f64]);
    folder.matrix("rows.npy", 1, 2, &[1.0_f32, 2.0]);
    folder.vector("narrow.npy", &[warpwright::cuda_std::F8E4M3::from_f32(1.0)]);
    for command in ["merge", "bounds"] {
        let fails = |files: &str, parts: &[&str]| {
            folder.fails(&format!("{command} {files} -o out.npy"), 1, parts);
        };
        fails("a.npy b.npy", &["b.npy: ", "f64", "f32", "convert one"]);
        fails("b.npy a.npy", &["a.npy: ", "f64", "f32", "convert one"]);
        let parts = ["rows.npy: ", command, "one axis", "ravel"];
        fails("rows.npy a.npy", &parts);
        let parts = ["narrow.npy: ", command, "i8", "F8E4M3", "astype"];
        fails("narrow.npy narrow.npy", &parts);
        fails("a.npy none.npy", &["none.npy: ", "no such file"]);

        let line = format!("{command} a.npy a.npy");
        folder.fails(&line, 2, &["--output"]);
        folder.fails(&format!("{command} a.npy -o out.npy"), 2, &["required"]);
        folder.fails(&format!("{line} -o out.png"), 2, &["out.png", ".npy"]);
        let parts = ["merge: ", "tiled", "path"];
        folder.fails(&format!("{line} -o out.npy --variant tiled"), 2, &parts);
    }
    let parts = ["rows.npy: ", "merge", "one axis"];
    folder.fails("merge a.npy rows.npy -o out.npy", 1, &parts);
    let line = "bounds a.npy a.npy -o out.npy --variant path";
    folder.fails(line, 1, &["merge: ", "path", "finds no places"]);
}
