use std::io::Cursor;

use super::*;

/// Returns a file of this version with this header text and data.
fn file(version: u8, text: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend([version, 0]);
    let text = format!("{text}\n");
    match version {
        1 => bytes.extend((text.len() as u16).to_le_bytes()),
        _ => bytes.extend((text.len() as u32).to_le_bytes()),
    }
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

fn header(descr: &str, fortran: bool, shape: &str) -> String {
    let fortran = if fortran { "True" } else { "False" };
    format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}")
}

fn parse(bytes: &[u8]) -> Result<Array> {
    read(Cursor::new(bytes), bytes.len() as u64)
}

/// Returns the one-line error text for these bytes.
fn refusal(bytes: &[u8]) -> String {
    let error = parse(bytes).expect_err("bytes that must be refused were read");
    assert_eq!(error.exit_status(), 1);
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text:?}");
    text
}

#[track_caller]
fn assert_refused(bytes: &[u8], parts: &[&str]) {
    let text = refusal(bytes);
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

#[test]
fn every_version_and_type_is_read() {
    for version in [1, 2, 3] {
        let bytes = file(
            version,
            &header("'<f4'", false, "(2,)"),
            bytemuck::cast_slice(&[1f32, -2.0]),
        );
        assert_eq!(
            parse(&bytes).unwrap(),
            Array::F32(Data::vector(vec![1.0, -2.0]))
        );
    }
    let bytes = file(1, &header("'|u1'", false, "(2, 1)"), &[7, 255]);
    let expected = Data::new(
        Shape::Matrix {
            height: 2,
            width: 1,
        },
        vec![7, 255],
    )
    .unwrap();
    assert_eq!(parse(&bytes).unwrap(), Array::U8(expected));
    let bytes = file(1, &header("'<i8'", false, "(1,)"), &(-5i64).to_le_bytes());
    assert_eq!(parse(&bytes).unwrap(), Array::I64(Data::vector(vec![-5])));
}

/// 1.5 and -2 in 16 bits. NumPy itself writes the first, and `ml_dtypes` has it write one of the others.
#[test]
fn floats_of_16_bits_are_read() {
    let bytes = file(1, &header("'<f2'", false, "(2,)"), &[0, 0x3E, 0, 0xC0]);
    let expected = Data::vector(vec![f16::from_f32(1.5), f16::from_f32(-2.0)]);
    assert_eq!(parse(&bytes).unwrap(), Array::F16(expected));
    for descr in ["'<V2'", "'|V2'"] {
        let bytes = file(1, &header(descr, false, "(2,)"), &[0xC0, 0x3F, 0, 0xC0]);
        let expected = Data::vector(vec![bf16::from_f32(1.5), bf16::from_f32(-2.0)]);
        assert_eq!(parse(&bytes).unwrap(), Array::Bf16(expected));
    }
    let bytes = file(1, &header("'>V2'", false, "(1,)"), &[0x3F, 0xC0]);
    let expected = Data::vector(vec![bf16::from_f32(1.5)]);
    assert_eq!(parse(&bytes).unwrap(), Array::Bf16(expected));
}

/// 1.5 and -2 in 8 bits, as `ml_dtypes` has NumPy write them.
#[test]
fn floats_of_8_bits_are_read() {
    let bytes = file(1, &header("'<V1'", false, "(2,)"), &[0x3C, 0xC0]);
    let expected = [1.5, -2.0].map(F8E4M3::from_f32);
    assert_eq!(
        parse(&bytes).unwrap(),
        Array::F8E4M3(Data::vector(expected.into()))
    );
    let bytes = file(1, &header("'<f1'", false, "(2,)"), &[0x3E, 0xC0]);
    let expected = [1.5, -2.0].map(F8E5M2::from_f32);
    assert_eq!(
        parse(&bytes).unwrap(),
        Array::F8E5M2(Data::vector(expected.into()))
    );
}

#[test]
fn big_endian_data_is_converted() {
    let values = [1u16, 256, 65535];
    let data = values.map(u16::to_be_bytes).concat();
    let bytes = file(1, &header("'>u2'", false, "(3,)"), &data);
    assert_eq!(
        parse(&bytes).unwrap(),
        Array::U16(Data::vector(values.to_vec()))
    );
    let values = [1.5f64, -0.0, f64::INFINITY];
    let data = values.map(f64::to_be_bytes).concat();
    let bytes = file(1, &header("'>f8'", false, "(3,)"), &data);
    assert_eq!(
        parse(&bytes).unwrap(),
        Array::F64(Data::vector(values.to_vec()))
    );
    let bytes = file(1, &header("'>u1'", false, "(3,)"), &[1, 2, 3]);
    assert_eq!(
        parse(&bytes).unwrap(),
        Array::U8(Data::vector(vec![1, 2, 3]))
    );
}

#[test]
fn fortran_order_becomes_c_order() {
    // [[1, 2, 3], [4, 5, 6]] column by column.
    let bytes = file(1, &header("'|u1'", true, "(2, 3)"), &[1, 4, 2, 5, 3, 6]);
    let expected = Data::new(
        Shape::Matrix {
            height: 2,
            width: 3,
        },
        vec![1, 2, 3, 4, 5, 6],
    )
    .unwrap();
    assert_eq!(parse(&bytes).unwrap(), Array::U8(expected));
    // Larger than a tile and not a multiple of it.
    let (height, width) = (TILE * 2 + 3, TILE + 5);
    let mut columns = vec![0i32; height * width];
    for row in 0..height {
        for column in 0..width {
            columns[column * height + row] = (row * 1000 + column) as i32;
        }
    }
    let text = header("'<i4'", true, &format!("({height}, {width})"));
    let Array::I32(data) = parse(&file(1, &text, bytemuck::cast_slice(&columns))).unwrap() else {
        panic!("not i32");
    };
    for (index, &value) in data.values().iter().enumerate() {
        assert_eq!(value as usize, index / width * 1000 + index % width);
    }
    let bytes = file(1, &header("'|u1'", true, "(3,)"), &[1, 2, 3]);
    assert_eq!(
        parse(&bytes).unwrap(),
        Array::U8(Data::vector(vec![1, 2, 3]))
    );
}

#[test]
fn arrays_without_elements_are_read() {
    for shape in ["(0,)", "(0, 5)", "(5, 0)"] {
        for fortran in [false, true] {
            let array = parse(&file(1, &header("'<f8'", fortran, shape), &[])).unwrap();
            assert!(array.is_empty());
        }
    }
}

#[test]
fn an_axis_of_any_length_beside_an_empty_one_takes_no_time() {
    for shape in ["(4611686018427387904, 0)", "(0, 9223372036854775807)"] {
        for fortran in [false, true] {
            let array = parse(&file(1, &header("'|u1'", fortran, shape), &[])).unwrap();
            assert!(array.is_empty(), "{shape}");
            let mut bytes = Vec::new();
            write(&mut bytes, &array).unwrap();
            assert_eq!(parse(&bytes).unwrap(), array);
        }
        // The axis is longer than any array with elements of this size can be.
        assert_refused(&file(1, &header("'<f8'", true, shape), &[]), &["promises"]);
    }
    assert_refused(
        &file(1, &header("'|u1'", true, "(9223372036854775808, 0)"), &[]),
        &["promises"],
    );
}

#[test]
fn empty_and_foreign_files_are_refused() {
    assert_refused(&[], &["empty", ".npy"]);
    assert_refused(b"hello world, this is text", &["not a .npy file"]);
    assert_refused(b"PK\x03\x04", &["not a .npy file"]);
    assert_refused(
        &file(4, &header("'|u1'", false, "(1,)"), &[1]),
        &["version 4.0"],
    );
}

#[test]
fn every_truncation_is_refused() {
    let whole = file(1, &header("'<u4'", false, "(3, 2)"), &[0; 24]);
    parse(&whole).unwrap();
    for length in 0..whole.len() {
        refusal(&whole[..length]);
    }
    assert_refused(
        &whole[..whole.len() - 5],
        &["truncated", "24 bytes", "3 x 2", "u32", "holds 19", "again"],
    );
    assert_refused(&whole[..7], &["truncated", "7 bytes"]);
    assert_refused(&whole[..30], &["truncated", "header promises"]);
}

#[test]
fn bytes_behind_the_data_are_refused() {
    let bytes = file(1, &header("'|u1'", false, "(3,)"), &[1, 2, 3, 4, 5]);
    assert_refused(&bytes, &["3 bytes", "holds 5", "again"]);
}

#[test]
fn other_element_types_are_named() {
    for descr in [
        "'|V4'",
        "'|b1'",
        "'<u8'",
        "'<i2'",
        "'<c8'",
        "'|S5'",
        "'<U3'",
        "'<M8[ns]'",
        "''",
        "'é'",
    ] {
        let bytes = file(3, &header(descr, false, "(1,)"), &[0; 16]);
        assert_refused(
            &bytes,
            &[
                descr.trim_matches('\''),
                "u8 u16 u32 i8 i32 i64 F8E4M3 F8E5M2 f16 bf16 f32 f64",
                "astype",
            ],
        );
    }
    assert_refused(
        &file(1, &header("'|O'", false, "(1,)"), &[0; 8]),
        &["pickled", "astype"],
    );
    assert_refused(
        &file(
            1,
            &header("[('a', '<f4'), ('b', '<i4')]", false, "(1,)"),
            &[0; 8],
        ),
        &["structured", "field"],
    );
}

#[test]
fn other_numbers_of_axes_are_refused() {
    assert_refused(
        &file(1, &header("'|u1'", false, "()"), &[1]),
        &["no axis", "reshape"],
    );
    assert_refused(
        &file(1, &header("'|u1'", false, "(1, 1, 1)"), &[1]),
        &["3 axes", "1 or 2"],
    );
    assert_refused(
        &file(1, &header("'|u1'", false, "(1, 1, 1, 1)"), &[1]),
        &["4 axes"],
    );
}

#[test]
fn hostile_headers_are_refused_without_allocating() {
    // Each of these would take more memory than there is if it were trusted.
    for shape in [
        "(4611686018427387904,)",
        "(4294967296, 4294967296)",
        "(9223372036854775807, 2)",
    ] {
        let bytes = file(1, &header("'<f8'", false, shape), &[0; 8]);
        assert_refused(&bytes, &["promises"]);
    }
    assert_refused(
        &file(1, &header("'<f8'", false, "(1099511627776,)"), &[0; 8]),
        &["truncated"],
    );
    assert_refused(
        &file(1, &header("'|u1'", false, "(-1,)"), &[]),
        &["'shape'", "-1"],
    );
    assert_refused(
        &file(1, &header("'|u1'", false, "(99999999999999999999,)"), &[]),
        &["'shape'"],
    );
    assert_refused(&file(1, &header("'|u1'", false, "5"), &[]), &["'shape'"]);
    assert_refused(&file(1, &header("'|u1'", false, "(1.5,)"), &[]), &[".5"]);
    // A header of 4 GiB in a file of 20 bytes.
    let mut bytes = MAGIC.to_vec();
    bytes.extend([2, 0]);
    bytes.extend(u32::MAX.to_le_bytes());
    bytes.extend([b' '; 8]);
    assert_refused(&bytes, &["4294967295 bytes of text"]);
}

#[test]
fn nonsense_in_the_header_is_refused() {
    for text in [
        "",
        "{",
        "hello",
        "[1, 2]",
        "{'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': 4, 'fortran_order': False, 'shape': (1,)}",
    ] {
        refusal(&file(1, text, &[0; 4]));
    }
    refusal(&file(1, &header("'\u{e9}'", false, "(1,)"), &[0; 4]));
    // The deepest allowed nesting: the parser must neither hang nor overflow its stack.
    for open in ["(", "[", "{", "{1:"] {
        let depth = 9_990 / open.len();
        refusal(&file(1, &open.repeat(depth), &[]));
    }
    assert_refused(
        &file(1, &" ".repeat(20_000), &[]),
        &["20001 bytes", "10000"],
    );
}

#[test]
fn what_is_written_is_read_back() {
    let arrays = [
        Array::U8(Data::vector(vec![1, 2, 3])),
        Array::U16(Data::vector(vec![])),
        Array::I64(
            Data::new(
                Shape::Matrix {
                    height: 2,
                    width: 2,
                },
                vec![i64::MIN, -1, 0, i64::MAX],
            )
            .unwrap(),
        ),
        Array::F32(
            Data::new(
                Shape::Matrix {
                    height: 0,
                    width: 7,
                },
                vec![],
            )
            .unwrap(),
        ),
    ];
    for array in arrays {
        let mut bytes = Vec::new();
        write(&mut bytes, &array).unwrap();
        assert_eq!(parse(&bytes).unwrap(), array);
        // The data starts at a multiple of 64, as the format requires.
        let data = array.len() * array.dtype().size();
        assert_eq!((bytes.len() - data) % 64, 0);
    }
}
