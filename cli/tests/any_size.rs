//! Sizes that no machine has, and axes of any length beside an empty one: the program ends, and says why.
#![allow(missing_docs)]

mod common;

use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Folder, npy_bytes};

/// Runs the program, which has to end within a minute: with a result, or with one line.
#[track_caller]
fn ends(folder: &Folder, arguments: &str) {
    let mut command = folder.command(&format!("--device cpu {arguments}"));
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{arguments}: no end");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    let line = String::from_utf8_lossy(&output.stderr);
    assert!(
        matches!(output.status.code(), Some(0..=2)),
        "{arguments}: {:?}: {line}",
        output.status
    );
    assert_eq!(line.matches('\n').count(), 1, "{arguments}: {line}");
}

#[test]
fn axes_of_any_length_beside_an_empty_one() {
    for shape in ["(4611686018427387904, 0)", "(0, 4611686018427387904)"] {
        for fortran in [false, true] {
            let folder = Folder::new();
            folder.write("bytes.npy", &npy_bytes("'|u1'", fortran, shape, &[]));
            folder.vector("one.npy", &[1f32]);
            let shape = shape.replace("4611686018427387904", "1152921504606846976");
            folder.write("in.npy", &npy_bytes("'<f4'", fortran, &shape, &[]));
            for arguments in [
                "transpose bytes.npy -o out.npy",
                "transpose in.npy -o out.npy",
                "reduce bytes.npy --op sum",
                "reduce bytes.npy --op mean --axis 0 -o out.npy",
                "reduce bytes.npy --op sum --axis 1 -o out.npy",
                "reduce in.npy --op sum --axis 0",
                "reduce in.npy --op max --axis 1",
                "histogram bytes.npy -o out.npy",
                "histogram in.npy --range 0 1 -o out.npy",
                "convolve in.npy --mask 1,2,1 -o out.npy",
                "map in.npy --op sin -o out.npy",
                "select in.npy --where at-least:0 -o out.npy",
                "unique in.npy -o out.npy",
                "run-lengths in.npy -o out.npy --lengths lengths.npy",
                "run-lengths bytes.npy -o out.npy --lengths lengths.npy",
                "top-k in.npy -k 0 -o out.npy --positions positions.npy",
                "top-k bytes.npy -k 1 -o out.npy",
                "merge in.npy in.npy -o out.npy",
                "bounds one.npy in.npy -o out.npy",
                "matmul in.npy in.npy --transpose-b -o out.npy",
                "matmul in.npy in.npy --transpose-a -o out.npy",
                "matmul in.npy in.npy -o out.npy",
            ] {
                ends(&folder, arguments);
            }
        }
    }
}

#[test]
fn sizes_that_no_machine_has() {
    let folder = Folder::new();
    folder.vector("in.npy", &[1u8, 2]);
    for size in [
        "18446744073709551615",
        "2^63",
        "2^62",
        "4611686018427387905",
        "2^50",
    ] {
        for arguments in [
            "random uniform --seed 1 -o out.npy --count",
            "random normal --dtype f64 --seed 1 -o out.npy --count",
            "random poisson --lambda 3 --generator xorwow --seed 1 -o out.npy --count",
            "ladder --family transpose --size",
            "ladder --family reduce --size",
            "ladder --family gemm --size",
        ] {
            ends(&folder, &format!("{arguments} {size}"));
            assert_eq!(folder.names(), ["in.npy"], "{arguments} {size}");
        }
    }
    ends(&folder, "histogram in.npy --bins 4294967294 -o out.npy");
    ends(
        &folder,
        "random uniform --seed 18446744073709551615 --sequence 18446744073709551615 --offset \
         18446744073709551615 --count 3 -o out.npy",
    );
}
