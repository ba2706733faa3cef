//! The program's commands on good input, on the CPU.
#![allow(missing_docs)]

mod common;

use common::{Folder, npy_bytes};
use half::{bf16, f16};
use serde_json::json;
use warpwright_cli::array::{Array, Data, Dtype, Element, Shape};

fn transposed<T: Element>(height: usize, width: usize, values: &[T]) -> Array {
    let mut result = Vec::new();
    for x in 0..width {
        for y in 0..height {
            result.push(values[y * width + x]);
        }
    }
    T::into_array(
        Data::new(
            Shape::Matrix {
                height: width,
                width: height,
            },
            result,
        )
        .unwrap(),
    )
}

/// `count` values of a type, no two neighbours equal.
fn values<T: Element>(count: usize) -> Vec<T> {
    let size = T::DTYPE.size();
    let bytes: Vec<u8> = (0..count * size).map(|i| (i * 37 % 113) as u8).collect();
    bytemuck::pod_collect_to_vec(&bytes)
}

#[test]
fn transpose_of_every_type() {
    fn check<T: Element>() {
        let folder = Folder::new();
        for (height, width) in [(1, 1), (1, 50), (50, 1), (33, 47), (64, 64), (0, 5)] {
            let input = values::<T>(height * width);
            folder.matrix("in.npy", height, width, &input);
            let printed = folder.succeeds("transpose in.npy -o out.npy");
            assert_eq!(printed, "");
            assert_eq!(
                folder.read("out.npy"),
                transposed(height, width, &input),
                "{height} x {width}"
            );
        }
    }
    check::<u8>();
    check::<u16>();
    check::<u32>();
    check::<i32>();
    check::<i64>();
    check::<f16>();
    check::<bf16>();
    check::<f32>();
    check::<f64>();
}

#[test]
fn transpose_with_every_variant() {
    let folder = Folder::new();
    let input = values::<f32>(70 * 35);
    folder.matrix("in.npy", 70, 35, &input);
    for variant in ["naive", "tiled", "padded", "best"] {
        let answer = folder.json(&format!("transpose in.npy -o out.npy --variant {variant}"));
        assert_eq!(answer["variant"], variant);
        assert_eq!(answer["chosen_by"], "caller");
        assert_eq!(answer["output"], "out.npy");
        assert_eq!(answer["device"], "cpu");
        assert!(answer["seconds"].as_f64().unwrap() > 0.0);
        assert_eq!(
            folder.read("out.npy"),
            transposed(70, 35, &input),
            "{variant}"
        );
    }
}

#[test]
fn transpose_of_pictures() {
    let folder = Folder::new();
    let pixels = warpwright_cli::render::landscape(90, 60, 1);
    folder.matrix("in.npy", 60, 90, &pixels);
    folder.succeeds("transpose in.npy -o turned.png");
    assert_eq!(folder.read("turned.png"), transposed(60, 90, &pixels));
    folder.succeeds("transpose turned.png -o back.npy");
    let back = Array::U8(
        Data::new(
            Shape::Matrix {
                height: 60,
                width: 90,
            },
            pixels,
        )
        .unwrap(),
    );
    assert_eq!(folder.read("back.npy"), back);
    folder.succeeds("transpose in.npy -o turned.JPG");
    assert_eq!(
        folder.read("turned.JPG").shape(),
        Shape::Matrix {
            height: 90,
            width: 60
        }
    );
    folder.matrix("deep.npy", 60, 90, &values::<u16>(60 * 90));
    folder.succeeds("transpose deep.npy -o deep.png");
    assert_eq!(folder.read("deep.png").dtype(), Dtype::U16);
}

#[test]
fn an_older_output_is_replaced() {
    let folder = Folder::new();
    folder.matrix("in.npy", 2, 3, &[1u8, 2, 3, 4, 5, 6]);
    folder.write("out.npy", b"older");
    folder.succeeds("transpose in.npy -o out.npy");
    assert_eq!(
        folder.read("out.npy"),
        transposed(2, 3, &[1u8, 2, 3, 4, 5, 6])
    );
    // In place, too: the input is read before the output is written.
    folder.succeeds("transpose in.npy -o in.npy");
    assert_eq!(
        folder.read("in.npy"),
        transposed(2, 3, &[1u8, 2, 3, 4, 5, 6])
    );
    assert_eq!(folder.names(), ["in.npy", "out.npy"]);
}

#[test]
fn every_reduction() {
    let folder = Folder::new();
    folder.vector("bytes.npy", &[3u8, 250, 7, 250, 3]);
    folder.vector("words.npy", &[3u16, 65_535, 7]);
    folder.vector("ints.npy", &[-5i32, 4, -5, 9]);
    folder.vector("longs.npy", &[i64::MIN, 7, i64::MAX]);
    folder.vector("unsigned.npy", &[u32::MAX, u32::MAX, 1]);
    folder.matrix("floats.npy", 2, 2, &[1.5f32, -2.0, 0.25, 8.0]);
    folder.vector("doubles.npy", &[0.5f64, 0.25]);
    for (input, op, expected) in [
        ("bytes", "sum", "513"),
        ("bytes", "product", "3937500"),
        ("bytes", "min", "3"),
        ("bytes", "max", "250"),
        ("bytes", "argmin", "0"),
        ("bytes", "argmax", "1"),
        ("bytes", "mean", "102.6"),
        ("words", "sum", "65545"),
        ("words", "max", "65535"),
        ("words", "argmax", "1"),
        ("ints", "sum", "3"),
        ("ints", "product", "900"),
        ("ints", "min", "-5"),
        ("ints", "argmin", "0"),
        ("ints", "mean", "0.75"),
        ("longs", "sum", "6"),
        ("longs", "max", "9223372036854775807"),
        ("longs", "min", "-9223372036854775808"),
        ("unsigned", "sum", "8589934591"),
        ("unsigned", "argmin", "2"),
        ("floats", "sum", "7.75"),
        ("floats", "product", "-6.0"),
        ("floats", "argmax", "3"),
        ("floats", "mean", "1.9375"),
        ("doubles", "sum", "0.75"),
        ("doubles", "min", "0.25"),
    ] {
        let printed = folder.succeeds(&format!("reduce {input}.npy --op {op}"));
        assert_eq!(printed, format!("{expected}\n"), "{op} of {input}");
        let answer = folder.json(&format!("reduce {input}.npy --op {op}"));
        assert_eq!(answer["value"].to_string(), expected, "{op} of {input}");
    }
}

#[test]
fn reductions_of_nothing_and_of_what_json_has_no_numbers_for() {
    let folder = Folder::new();
    folder.vector::<f32>("empty.npy", &[]);
    assert_eq!(folder.succeeds("reduce empty.npy --op sum"), "0.0\n");
    assert_eq!(folder.succeeds("reduce empty.npy --op product"), "1.0\n");
    folder.vector("odd.npy", &[1.0, f32::INFINITY]);
    assert_eq!(folder.json("reduce odd.npy --op max")["value"], "inf");
    folder.vector("nan.npy", &[1.0, f64::NAN, 0.0]);
    assert_eq!(folder.json("reduce nan.npy --op min")["value"], "NaN");
    assert_eq!(folder.json("reduce nan.npy --op argmin")["value"], 1);
    assert_eq!(folder.succeeds("reduce nan.npy --op sum"), "NaN\n");
}

#[test]
fn every_variant_of_reduce() {
    let folder = Folder::new();
    let input: Vec<u32> = (0..3000).map(|i| i * 7919 % 1009).collect();
    let sum: u64 = input.iter().map(|&value| u64::from(value)).sum();
    folder.vector("in.npy", &input);
    let family = warpwright::families()
        .iter()
        .find(|family| family.name == "reduce")
        .unwrap();
    assert_eq!(family.variants.len(), 12);
    for variant in family.variants {
        let answer = folder.json(&format!(
            "reduce in.npy --op sum --variant {}",
            variant.name
        ));
        assert_eq!(answer["value"], sum, "{}", variant.name);
        assert_eq!(answer["variant"], variant.name);
    }
}

#[test]
fn histograms_of_bin_numbers() {
    let folder = Folder::new();
    folder.vector("bytes.npy", &[0u8, 255, 3, 3, 0, 0]);
    let answer = folder.json("histogram bytes.npy");
    let counts = answer["value"]["counts"].as_array().unwrap();
    assert_eq!(counts.len(), 256);
    assert_eq!(
        (&counts[0], &counts[3], &counts[255]),
        (&json!(3), &json!(2), &json!(1))
    );
    assert_eq!(answer["value"]["outside"], 0);
    assert_eq!(
        folder.succeeds("histogram bytes.npy --bins 4"),
        "0\t3\n1\t0\n2\t0\n3\t2\noutside\t1\n"
    );
    folder.vector("words.npy", &[0u16, 65_535]);
    assert_eq!(
        folder.json("histogram words.npy")["value"]["counts"]
            .as_array()
            .unwrap()
            .len(),
        65_536
    );
    folder.vector("unsigned.npy", &[1u32, 4_000_000_000]);
    assert_eq!(
        folder.json("histogram unsigned.npy --bins 2")["value"],
        json!({ "counts": [0, 1], "outside": 1 })
    );
    for variant in [
        "serial",
        "global_atomic",
        "privatized",
        "privatized_coarsened",
        "best",
    ] {
        let answer = folder.json(&format!("histogram bytes.npy --bins 4 --variant {variant}"));
        assert_eq!(answer["value"]["counts"], json!([3, 0, 0, 2]), "{variant}");
    }
}

#[test]
fn histograms_of_ranges() {
    let folder = Folder::new();
    folder.vector(
        "floats.npy",
        &[-1.0f32, -0.5, 0.0, 0.99, 1.0, 1.5, f32::NAN],
    );
    assert_eq!(
        folder.succeeds("histogram floats.npy --bins 2 --range -1 1"),
        "-1.0\t0.0\t2\n0.0\t1.0\t3\noutside\t2\n"
    );
    folder.vector("doubles.npy", &[0.1f64, 0.2, 0.9]);
    let answer = folder.json("histogram doubles.npy --bins 4 --range 0 1");
    assert_eq!(answer["value"]["counts"], json!([2, 0, 0, 1]));
}

#[test]
fn histograms_go_to_files() {
    let folder = Folder::new();
    folder.vector("in.npy", &[0u8, 1, 1, 9]);
    let printed = folder.succeeds("histogram in.npy --bins 3 -o counts.npy --plot plot.svg");
    assert_eq!(printed, "");
    assert_eq!(
        folder.read("counts.npy"),
        Array::I64(Data::vector(vec![1, 2, 0]))
    );
    let plot = std::fs::read_to_string(folder.path("plot.svg")).unwrap();
    assert!(plot.starts_with("<svg") && plot.contains("1 left out") && plot.contains("in.npy"));
    let answer = folder.json("histogram in.npy --bins 3 -o counts.npy --plot plot.svg");
    assert_eq!(answer["output"], "counts.npy");
    assert_eq!(answer["plot"], "plot.svg");
    assert_eq!(answer["outside"], 1);
    assert!(answer.get("value").is_none());
    assert_eq!(folder.names(), ["counts.npy", "in.npy", "plot.svg"]);
}

#[test]
fn matrix_products() {
    let folder = Folder::new();
    let shape = |height, width| Shape::Matrix { height, width };
    folder.matrix("a.npy", 2, 3, &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    folder.matrix("b.npy", 3, 1, &[1.0_f32, -1.0, 2.0]);
    folder.matrix("c.npy", 2, 1, &[10.0_f32, 20.0]);
    let column = |values: Vec<f32>| Array::F32(Data::new(shape(2, 1), values).unwrap());
    for variant in ["naive", "tiled", "best"] {
        let line = format!("matmul a.npy b.npy -o out.npy --variant {variant}");
        assert_eq!(folder.succeeds(&line), "");
        assert_eq!(folder.read("out.npy"), column(vec![5.0, 11.0]), "{variant}");
    }
    let answer = folder.json("matmul a.npy b.npy -o out.npy --c c.npy --beta -0.5 --alpha 2");
    assert_eq!(folder.read("out.npy"), column(vec![5.0, 12.0]));
    assert_eq!(answer["variant"], "best");
    assert_eq!(answer["output"], "out.npy");
    folder.succeeds("matmul a.npy b.npy -o out.npy --c c.npy");
    assert_eq!(folder.read("out.npy"), column(vec![15.0, 31.0]));

    for precision in ["bf16x6", "tf32"] {
        folder.succeeds(&format!(
            "matmul a.npy b.npy -o out.npy --precision {precision}"
        ));
        assert_eq!(
            folder.read("out.npy"),
            column(vec![5.0, 11.0]),
            "{precision}"
        );
    }

    folder.vector("bias.npy", &[-6.0_f32]);
    folder.succeeds("matmul a.npy b.npy -o out.npy --bias bias.npy");
    assert_eq!(folder.read("out.npy"), column(vec![-1.0, 5.0]));
    folder.succeeds("matmul a.npy b.npy -o out.npy --bias bias.npy --activation relu");
    assert_eq!(folder.read("out.npy"), column(vec![0.0, 5.0]));
    folder.succeeds("matmul a.npy b.npy -o out.npy --c c.npy --bias bias.npy --activation gelu");
    assert_eq!(folder.read("out.npy"), column(vec![9.0, 25.0]));

    folder.matrix("d.npy", 2, 3, &[1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0]);
    folder.succeeds("matmul d.npy d.npy --transpose-b -o out.npy");
    let square = Data::new(shape(2, 2), vec![14.0, 32.0, 32.0, 77.0]).unwrap();
    assert_eq!(folder.read("out.npy"), Array::F64(square));
    folder.succeeds("matmul d.npy d.npy --transpose-a -o out.npy");
    let values = vec![17.0, 22.0, 27.0, 22.0, 29.0, 36.0, 27.0, 36.0, 45.0];
    let square = Data::new(shape(3, 3), values).unwrap();
    assert_eq!(folder.read("out.npy"), Array::F64(square));
}

/// All commands that take any type, and products.
#[test]
fn floats_of_16_bits() {
    fn check<T: Element>(of: fn(f32) -> T) {
        let folder = Folder::new();
        let values: Vec<T> = [3.0, -1.5, -1.5, 0.25].map(of).into();
        let vector = |values: &[f32]| {
            T::into_array(Data::vector(
                values.iter().map(|&value| of(value)).collect(),
            ))
        };
        folder.vector("in.npy", &values);
        assert_eq!(folder.succeeds("reduce in.npy --op sum"), "0.25\n");
        assert_eq!(folder.succeeds("reduce in.npy --op min"), "-1.5\n");
        assert_eq!(folder.succeeds("reduce in.npy --op mean"), "0.0625\n");
        for (line, expected) in [
            ("sort in.npy", &[-1.5, -1.5, 0.25, 3.0][..]),
            ("scan in.npy --op sum", &[3.0, 1.5, 0.0, 0.25]),
            ("unique in.npy", &[3.0, -1.5, 0.25]),
            ("select in.npy --where less:0.3", &[-1.5, -1.5, 0.25]),
            ("top-k in.npy -k 2", &[3.0, 0.25]),
        ] {
            folder.succeeds(&format!("{line} -o out.npy"));
            assert_eq!(folder.read("out.npy"), vector(expected), "{line}");
        }
        folder.matrix("a.npy", 2, 2, &values);
        folder.succeeds("matmul a.npy a.npy --transpose-b -o out.npy --alpha 2");
        let shape = Shape::Matrix {
            height: 2,
            width: 2,
        };
        let product = [22.5, -9.75, -9.75, 4.625].map(of).into();
        let product = Data::new(shape, product).unwrap();
        assert_eq!(folder.read("out.npy"), T::into_array(product));
        folder.fails("histogram in.npy --range 0 1", 1, &["in.npy: ", "float32"]);
        folder.fails(
            "reduce a.npy --op sum --axis 0",
            1,
            &["a.npy: ", T::DTYPE.name()],
        );
    }
    check(f16::from_f32);
    check(bf16::from_f32);
}

#[test]
fn fortran_order_and_big_endian_are_read_as_what_they_mean() {
    let folder = Folder::new();
    // [[1, 2, 3], [4, 5, 6]] stored column by column, most significant byte first.
    let columns = [1u16, 4, 2, 5, 3, 6].map(u16::to_be_bytes).concat();
    folder.write("in.npy", &npy_bytes("'>u2'", true, "(2, 3)", &columns));
    folder.succeeds("transpose in.npy -o out.npy");
    assert_eq!(
        folder.read("out.npy"),
        transposed(2, 3, &[1u16, 2, 3, 4, 5, 6])
    );
    assert_eq!(folder.succeeds("reduce in.npy --op argmax"), "5\n");
}

#[test]
fn standard_input_is_read() {
    let folder = Folder::new();
    let bytes = npy_bytes("'|u1'", false, "(3,)", &[1, 2, 3]);
    let output = folder.pipe("reduce - --op sum --device cpu", &bytes);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "6\n");
}

#[test]
fn colour_is_reported_on_standard_error() {
    let folder = Folder::new();
    let image = image::RgbImage::from_pixel(3, 2, image::Rgb([255, 255, 255]));
    image.save(folder.path("colour.png")).unwrap();
    let output = folder
        .command("reduce colour.png --op sum --device cpu")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1530\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("8-bit RGB"));
}

#[test]
fn devices_are_listed_with_the_cpu_last() {
    let folder = Folder::new();
    let text = folder.succeeds("devices");
    assert!(text.lines().last().unwrap().starts_with("cpu"), "{text}");
    let answer = folder.json("devices");
    assert_eq!(
        answer["value"].as_array().unwrap().last().unwrap()["device"],
        "cpu"
    );
}

#[test]
fn a_closed_standard_output_is_no_failure() {
    let folder = Folder::new();
    folder.vector("words.npy", &[1u16]);
    let mut child = folder
        .command("histogram words.npy --device cpu")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // 65,536 lines do not fit a pipe: the program is still writing when its reader goes away.
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !errors.contains("panic"),
        "{errors}"
    );
}

#[test]
fn help_and_version_go_to_standard_output() {
    let folder = Folder::new();
    for arguments in ["--help", "histogram --help", "--version"] {
        let output = folder.command(arguments).output().unwrap();
        assert!(output.status.success());
        assert!(
            !output.stdout.is_empty() && output.stderr.is_empty(),
            "{arguments}"
        );
    }
}

#[test]
fn maps_of_arrays() {
    let folder = Folder::new();
    let input = [0.25f32, 1.0, 4.0, 16.0, 0.0, 2.25];
    folder.matrix("in.npy", 2, 3, &input);
    let matrix = |values: Vec<f32>| {
        let shape = Shape::Matrix {
            height: 2,
            width: 3,
        };
        Array::F32(Data::new(shape, values).unwrap())
    };
    for variant in ["direct", "rolled", "best"] {
        let answer = folder.json(&format!(
            "map in.npy --op sqrt -o out.npy --variant {variant}"
        ));
        assert_eq!(answer["variant"], variant);
        assert_eq!(answer["output"], "out.npy");
        assert_eq!(
            folder.read("out.npy"),
            matrix(vec![0.5, 1.0, 2.0, 4.0, 0.0, 1.5])
        );
    }
    folder.succeeds("map in.npy --op pow:-2 -o out.npy");
    let powers = vec![16.0, 1.0, 0.0625, 0.00390625, f32::INFINITY, 1.0 / 5.0625];
    assert_eq!(folder.read("out.npy"), matrix(powers));
    folder.succeeds("map in.npy --op scale:-2,0.5 -o out.npy");
    let scaled = input.map(|x| -2.0 * x + 0.5).to_vec();
    assert_eq!(folder.read("out.npy"), matrix(scaled));
    for (op, exact) in [
        ("sin", f32::sin as fn(f32) -> f32),
        ("cos", f32::cos),
        ("exp", f32::exp),
        ("exp2", f32::exp2),
        ("ln", f32::ln),
        ("log2", f32::log2),
        ("tanh", f32::tanh),
        ("abs", f32::abs),
        ("neg", |x| -x),
    ] {
        folder.succeeds(&format!("map in.npy --op {op} -o out.npy"));
        let Array::F32(found) = folder.read("out.npy") else {
            panic!("another type")
        };
        for (x, found) in input.iter().zip(found.values()) {
            let exact = exact(*x);
            let near = (found - exact).abs() <= 4e-7 * exact.abs();
            assert!(near || *found == exact, "{op}({x}) is {found}, not {exact}");
        }
    }
}

#[test]
fn the_errors_of_functions_are_measured() {
    let folder = Folder::new();
    let text = folder.succeeds("ulp");
    for function in [
        "accurate::sin",
        "accurate::pow",
        "approx::log2",
        "approx::div",
    ] {
        assert!(text.contains(&format!("| `{function}` |")), "{text}");
    }
    assert!(!text.contains("EXCEEDED"), "{text}");
}

#[test]
fn a_family_is_verified_and_timed() {
    let folder = Folder::new();
    let text = folder.succeeds("verify --family transpose");
    for variant in ["naive", "tiled", "padded", "best"] {
        assert!(
            text.lines()
                .any(|line| line.contains(variant) && line.contains("ok")),
            "{text}"
        );
    }
    let answer = folder.json("verify --family transpose");
    assert_eq!(answer["value"]["failed"], 0);
    assert!(answer["value"]["passed"].as_u64().unwrap() > 0);
    let answer = folder.json("ladder --family histogram --size 10000");
    let rows = answer["value"].as_array().unwrap();
    assert_eq!(rows.len(), 5);
    for row in rows {
        assert!(row["seconds"].as_f64().unwrap() > 0.0, "{row}");
    }
    // A rate on the CPU says what it was taken with.
    let mut command =
        folder.command("--device cpu ladder --family reduce --variant best --size 10000");
    let output = command
        .env("WARPWRIGHT_CHECK", "none")
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let heading = "reduce: sum of 10000 f32 on cpu with 1 thread and the checks `none`; a copy";
    assert!(text.starts_with(heading), "{text}");
}
