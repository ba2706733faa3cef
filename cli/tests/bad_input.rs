//! Bad input: one line that says what to do, exit status 1 or 2, nothing half written.
#![allow(missing_docs)]

mod common;

use common::{Folder, npy_bytes};

/// Every command that reads a file, with the input left to fill in.
const COMMANDS: [&str; 13] = [
    "transpose IN -o out.npy",
    "reduce IN --op sum",
    "histogram IN -o out.npy",
    "convolve IN --mask 1 -o out.npy",
    "map IN --op sin -o out.npy",
    "select IN --where less:3 -o out.npy",
    "unique IN -o out.npy",
    "run-lengths IN -o out.npy --lengths lengths.npy",
    "top-k IN -k 1 -o out.npy",
    "scan IN --op sum -o out.npy",
    "sort IN -o out.npy",
    "merge IN IN -o out.npy",
    "bounds IN IN -o out.npy",
];

/// Runs every command on a file of these bytes; each must fail with these parts in its line.
#[track_caller]
fn refuses(bytes: &[u8], parts: &[&str]) {
    let folder = Folder::new();
    folder.write("in.npy", bytes);
    for command in COMMANDS {
        let line = folder.fails(&command.replace("IN", "in.npy"), 1, parts);
        assert!(line.contains("in.npy: "), "{line}");
    }
}

#[test]
fn a_missing_file() {
    let folder = Folder::new();
    for command in COMMANDS {
        folder.fails(
            &command.replace("IN", "none.npy"),
            1,
            &["none.npy: ", "no such file"],
        );
    }
}

#[test]
fn a_folder_as_input() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("in.npy")).unwrap();
    for command in COMMANDS {
        folder.fails(
            &command.replace("IN", "in.npy"),
            1,
            &["in.npy: ", "is a folder"],
        );
    }
}

#[test]
fn an_empty_file() {
    refuses(b"", &["empty", "give a .npy, PNG or JPEG file"]);
}

#[test]
fn something_else() {
    refuses(b"x,y\n1,2\n", &["neither .npy nor PNG nor JPEG"]);
}

#[test]
fn a_truncated_array() {
    let whole = npy_bytes("'<f4'", false, "(5, 2)", &[0; 40]);
    refuses(
        &whole[..whole.len() - 3],
        &["truncated", "40 bytes", "holds 37", "again"],
    );
    refuses(&whole[..20], &["truncated"]);
    refuses(&whole[..9], &["truncated"]);
}

#[test]
fn bytes_behind_the_data() {
    refuses(
        &npy_bytes("'|u1'", false, "(2, 2)", &[0; 5]),
        &["4 bytes", "holds 5", "again"],
    );
}

#[test]
fn another_element_type() {
    let supported = "u8 u16 u32 i8 i32 i64 F8E4M3 F8E5M2 f16 bf16 f32 f64";
    refuses(
        &npy_bytes("'<c8'", false, "(1, 1)", &[0; 8]),
        &["<c8", supported, "astype"],
    );
    refuses(
        &npy_bytes("'|b1'", false, "(1, 1)", &[0; 1]),
        &["|b1", supported],
    );
    refuses(
        &npy_bytes("'|O'", false, "(1, 1)", &[0; 8]),
        &["pickled", supported],
    );
    refuses(
        &npy_bytes("[('a', '<f4')]", false, "(1, 1)", &[0; 4]),
        &["structured", "field"],
    );
}

#[test]
fn another_number_of_axes() {
    refuses(
        &npy_bytes("'|u1'", false, "(1, 2, 3)", &[0; 6]),
        &["3 axes", "1 or 2"],
    );
    refuses(&npy_bytes("'|u1'", false, "()", &[0; 1]), &["no axis"]);
}

#[test]
fn a_hostile_header() {
    refuses(
        &npy_bytes("'<f8'", false, "(4294967296, 4294967296)", &[0; 8]),
        &["damaged"],
    );
    refuses(
        &npy_bytes("'<f8'", false, "(1125899906842624,)", &[0; 8]),
        &["truncated"],
    );
}

#[test]
fn more_data_than_memory() {
    let folder = Folder::new();
    // A file with a hole of 8 TiB, which takes no room on the disk.
    let header = npy_bytes("'<f8'", false, "(1, 1099511627776)", &[]);
    let path = folder.write("in.npy", &header);
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(header.len() as u64 + (8 << 40)).unwrap();
    for command in COMMANDS {
        let output = folder
            .command(&command.replace("IN", "in.npy"))
            .output()
            .unwrap();
        let line = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(
            line.contains("in.npy: not enough memory") && line.contains("split"),
            "{line}"
        );
        assert_eq!(folder.names(), ["in.npy"]);
    }
}

#[test]
fn a_device_that_never_ends_as_input() {
    let folder = Folder::new();
    for command in COMMANDS {
        folder.fails(
            &command.replace("IN", "/dev/zero"),
            1,
            &["/dev/zero: ", "neither"],
        );
    }
}

#[test]
fn pictures_that_are_not_whole() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/input");
    for (name, parts) in [
        ("truncated.jpg", ["JPEG", "ends early", "again"]),
        ("huge.jpg", ["JPEG", "20000 x 20000", "blocks"]),
        ("huge.png", ["PNG", "60000 x 60000", "1032"]),
    ] {
        refuses(&std::fs::read(corpus.join(name)).unwrap(), &parts);
    }
}

#[test]
fn a_damaged_picture() {
    refuses(b"\x89PNG\r\n\x1a\n and nothing else", &["PNG"]);
    refuses(b"\xff\xd8\xff and nothing else", &["JPEG"]);
}

#[test]
fn a_vector_to_transpose() {
    let folder = Folder::new();
    folder.vector("in.npy", &[1u8, 2]);
    folder.fails(
        "transpose in.npy -o out.npy",
        1,
        &["in.npy: ", "two axes", "reshape"],
    );
}

#[test]
fn outputs_that_cannot_hold_the_data() {
    let folder = Folder::new();
    folder.matrix("floats.npy", 1, 2, &[1.0f32, 2.0]);
    folder.fails(
        "transpose floats.npy -o out.png",
        1,
        &["out.png: ", "f32", ".npy"],
    );
    folder.matrix("words.npy", 1, 2, &[1u16, 2]);
    folder.fails(
        "transpose words.npy -o out.jpg",
        1,
        &["out.jpg: ", "u16", ".png"],
    );
    folder.matrix::<u8>("none.npy", 0, 4, &[]);
    folder.fails(
        "transpose none.npy -o out.png",
        1,
        &["out.png: ", "at least one pixel"],
    );
}

#[test]
fn outputs_that_have_no_place() {
    let folder = Folder::new();
    folder.matrix("in.npy", 1, 2, &[1u8, 2]);
    folder.fails(
        "transpose in.npy -o no/out.npy",
        1,
        &["no/out.npy: ", "does not exist"],
    );
    folder.fails(
        "histogram in.npy -o no/out.npy",
        1,
        &["no/out.npy: ", "does not exist"],
    );
    folder.fails(
        "histogram in.npy --plot no/out.svg",
        1,
        &["no/out.svg: ", "does not exist"],
    );
    // One output that cannot be written keeps the other from being written.
    folder.fails(
        "histogram in.npy -o out.npy --plot no/out.svg",
        1,
        &["does not exist"],
    );
    std::fs::create_dir(folder.path("folder.npy")).unwrap();
    folder.fails(
        "transpose in.npy -o folder.npy",
        1,
        &["folder.npy: ", "is a folder"],
    );
}

#[test]
fn outputs_of_unknown_formats() {
    let folder = Folder::new();
    folder.matrix("in.npy", 1, 2, &[1u8, 2]);
    for output in ["out", "out.txt", "out.npz", "out.svg"] {
        let parts = [output, ".npy .png .jpg .jpeg"];
        folder.fails(&format!("transpose in.npy -o {output}"), 2, &parts);
    }
    folder.fails("histogram in.npy -o out.png", 2, &["out.png", ".npy"]);
    folder.fails("histogram in.npy --plot out.png", 2, &["out.png", ".svg"]);
}

#[test]
fn bins_that_make_no_sense() {
    let folder = Folder::new();
    folder.vector("in.npy", &[1u8, 2]);
    for bins in ["0", "-1", "x", "1.5", "99999999999", ""] {
        folder.fails(&format!("histogram in.npy --bins={bins}"), 2, &["--bins"]);
    }
    folder.vector("unsigned.npy", &[1u32, 2]);
    folder.fails(
        "histogram unsigned.npy",
        2,
        &["unsigned.npy: ", "u32", "--bins"],
    );
}

#[test]
fn ranges_that_make_no_sense() {
    let folder = Folder::new();
    folder.vector("in.npy", &[1f32, 2.0]);
    for range in ["1 1", "2 1", "nan 1", "0 NaN", "-inf 0", "0 inf"] {
        folder.fails(
            &format!("histogram in.npy --range {range}"),
            2,
            &["--range", "LO"],
        );
    }
    for range in ["1", "", "a b"] {
        folder.fails(
            &format!("histogram in.npy --range {range}"),
            2,
            &["--range"],
        );
    }
    // Two numbers that are one in f32.
    folder.fails(
        "histogram in.npy --range 1 1.00000000001",
        2,
        &["f32", "--range"],
    );
    folder.fails("histogram in.npy --range 0 1e300", 2, &["f32", "--range"]);
}

#[test]
fn histograms_of_types_that_do_not_number_bins() {
    let folder = Folder::new();
    folder.vector("signed.npy", &[1i32, -2]);
    folder.fails(
        "histogram signed.npy",
        1,
        &["signed.npy: ", "i32", "astype"],
    );
    folder.vector("long.npy", &[1i64, -2]);
    folder.fails(
        "histogram long.npy --bins 3",
        1,
        &["long.npy: ", "i64", "astype"],
    );
    folder.vector("floats.npy", &[1f64]);
    folder.fails(
        "histogram floats.npy",
        2,
        &["floats.npy: ", "f64", "--range LO HI"],
    );
    folder.vector("bytes.npy", &[1u8]);
    folder.fails(
        "histogram bytes.npy --range 0 1",
        2,
        &["bytes.npy: ", "u8", "--range"],
    );
}

#[test]
fn numbers_that_are_too_large_for_f32() {
    let folder = Folder::new();
    folder.matrix("single.npy", 1, 1, &[1.0f32]);
    folder.matrix("double.npy", 1, 1, &[1.0f64]);
    folder.vector("vector.npy", &[1.0f32]);
    let product = "matmul single.npy single.npy -o out.npy";
    folder.fails(&format!("{product} --alpha 1e39"), 2, &["--alpha", "1e39"]);
    let sum = format!("{product} --c single.npy");
    folder.fails(&format!("{sum} --beta=-1e300"), 2, &["--beta", "-1e300"]);
    folder.fails(
        "convolve vector.npy --mask 1,1e39 -o out.npy",
        2,
        &["mask", "1e39"],
    );
    folder.fails("map vector.npy --op scale:1e99,0 -o out.npy", 2, &["1e99"]);
    let output = folder.command("matmul double.npy double.npy -o out.npy --alpha 1e39");
    assert!({ output }.output().unwrap().status.success());
}

#[test]
fn reductions_of_nothing() {
    let folder = Folder::new();
    folder.vector::<f32>("in.npy", &[]);
    for op in ["min", "max", "argmin", "argmax", "mean"] {
        let command = format!("reduce in.npy --op {op}");
        folder.fails(&command, 1, &["in.npy: ", op, "at least one"]);
    }
}

#[test]
fn names_that_are_not_known() {
    let folder = Folder::new();
    folder.matrix("in.npy", 1, 2, &[1u8, 2]);
    folder.fails("reduce in.npy --op median", 2, &["median", "sum", "argmax"]);
    folder.fails("reduce in.npy", 2, &["--op"]);
    folder.fails(
        "reduce in.npy --op sum --variant quick",
        2,
        &["quick", "sequential", "best"],
    );
    folder.fails(
        "transpose in.npy -o out.npy --variant cascaded",
        2,
        &["cascaded", "padded"],
    );
    folder.fails(
        "histogram in.npy --variant tiled",
        2,
        &["tiled", "privatized"],
    );
    folder.fails(
        "verify --family sorting",
        2,
        &["sorting", "transpose", "reduce", "histogram"],
    );
    folder.fails(
        "ladder --family sorting",
        2,
        &["sorting", "transpose", "reduce", "histogram"],
    );
    folder.fails("ladder --size 0", 2, &["--size"]);
    folder.fails(
        "ladder --size 2^50",
        1,
        &["ladder", "memory", "1125899906842624"],
    );
    folder.fails("verify --variant quick", 2, &["quick"]);
    folder.fails("sorting in.npy", 2, &["sorting"]);
    folder.fails("transpose in.npy", 2, &["--output"]);
    folder.fails("transpose in.npy -o out.npy --fast", 2, &["--fast"]);
}

#[test]
fn maps_of_what_cannot_be_mapped() {
    let folder = Folder::new();
    folder.vector("in.npy", &[1.0f32]);
    folder.vector("bytes.npy", &[1u8]);
    folder.fails(
        "map bytes.npy --op sin -o out.npy",
        1,
        &["bytes.npy: ", "u8", "f32", "astype"],
    );
    for op in ["sine", "pow", "pow:x", "scale:1", "sin:2"] {
        folder.fails(
            &format!("map in.npy --op {op} -o out.npy"),
            2,
            &["--op", op],
        );
    }
    folder.fails("map in.npy -o out.npy", 2, &["--op"]);
    folder.fails("map in.npy --op sin", 2, &["--output"]);
    folder.fails("map in.npy --op sin -o out.png", 2, &["out.png", ".npy"]);
    folder.fails(
        "map in.npy --op sin -o out.npy --variant tiled",
        2,
        &["tiled", "rolled"],
    );
    folder.fails("ulp --variant best", 2, &["best"]);
    for condition in ["less", "above:3", "within:3"] {
        folder.fails(
            &format!("select in.npy --where {condition} -o out.npy"),
            2,
            &["--where", "less at-most"],
        );
    }
    for (file, condition, ty) in [
        ("in.npy", "less:x", "f32"),
        ("bytes.npy", "equal:256", "u8"),
    ] {
        folder.fails(
            &format!("select {file} --where {condition} -o out.npy"),
            2,
            &[file, "is not a number of", ty],
        );
    }
    folder.fails("select in.npy -o out.npy", 2, &["--where"]);
    folder.fails("unique in.npy -o out.png", 2, &["out.png", ".npy"]);
}

#[test]
fn runs_without_two_places() {
    let folder = Folder::new();
    folder.vector("in.npy", &[1.0f32, 2.0]);
    let line = "run-lengths in.npy -o out.npy";
    folder.fails(line, 2, &["--lengths"]);
    folder.fails("run-lengths in.npy --lengths l.npy", 2, &["--output"]);
    folder.fails(
        &format!("{line} --lengths out.npy"),
        2,
        &["--lengths", "another file"],
    );
    folder.fails(&format!("{line} --lengths l.png"), 2, &["l.png", ".npy"]);
    // One output that cannot be written keeps the other from being written.
    folder.fails(
        &format!("{line} --lengths no/l.npy"),
        1,
        &["no/l.npy: ", "does not exist"],
    );
    folder.fails(
        &format!("{line} --lengths l.npy --variant tiled"),
        2,
        &["tiled", "warp_per_segment"],
    );
}

#[test]
fn greatest_elements_that_are_not_there() {
    let folder = Folder::new();
    folder.vector("in.npy", &[1.0f32, 2.0]);
    folder.matrix("rows.npy", 3, 1, &[1u8, 2, 3]);
    for k in ["3", "18446744073709551615"] {
        folder.fails(
            &format!("top-k in.npy -k {k} -o out.npy"),
            1,
            &["in.npy: ", k],
        );
    }
    folder.fails("top-k rows.npy -k 2 -o out.npy", 1, &["rows.npy: ", "2"]);
    for k in ["-1", "x", "1.5", "18446744073709551616"] {
        folder.fails(&format!("top-k in.npy -k={k} -o out.npy"), 2, &["-k", k]);
    }
    folder.fails("top-k in.npy -o out.npy", 2, &["-k"]);
    folder.fails("top-k in.npy -k 1", 2, &["--output"]);
    let line = "top-k in.npy -k 1 -o out.npy";
    folder.fails(
        &format!("{line} --positions out.npy"),
        2,
        &["--positions", "another file"],
    );
    folder.fails(&format!("{line} --positions p.png"), 2, &["p.png", ".npy"]);
    // One output that cannot be written keeps the other from being written.
    folder.fails(
        &format!("{line} --positions no/p.npy"),
        1,
        &["no/p.npy: ", "does not exist"],
    );
    folder.fails(
        &format!("{line} --variant tiled"),
        2,
        &["tiled", "two_level"],
    );
}

#[test]
fn devices_that_are_not_there() {
    let folder = Folder::new();
    folder.matrix("in.npy", 1, 2, &[1u8, 2]);
    for device in ["gpu", "cuda:", "cuda:x", "CPU", "cuda:-1"] {
        folder.fails(
            &format!("reduce in.npy --op sum --device {device}"),
            2,
            &["--device", "cuda:N"],
        );
    }
    for command in [
        "transpose in.npy -o out.npy",
        "reduce in.npy --op sum",
        "histogram in.npy -o out.npy",
        "map in.npy --op sin -o out.npy",
        "verify",
        "ladder",
        "ulp",
    ] {
        folder.fails(
            &format!("{command} --device cuda:99"),
            1,
            &["cuda:99", "warpwright devices"],
        );
    }
}

#[test]
fn errors_are_the_same_with_json() {
    let folder = Folder::new();
    folder.write("in.npy", b"");
    folder.fails("reduce in.npy --op sum --json", 1, &["in.npy: ", "empty"]);
    folder.fails("reduce in.npy --op median --json", 2, &["median"]);
}

#[test]
fn nothing_at_all() {
    let folder = Folder::new();
    let output = folder.command("").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("Usage:"));
}
