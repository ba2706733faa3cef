//! Properties of the `.npy` reader and writer that hold for any array and any bytes.
#![allow(missing_docs)]

mod common;

use std::io::Cursor;

use half::{bf16, f16};
use proptest::prelude::*;
use warpwright_cli::array::{Array, Data, Element, Shape};
use warpwright_cli::npy;

fn bytes_of(array: &Array) -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write(&mut bytes, array).unwrap();
    bytes
}

fn parse(bytes: &[u8]) -> warpwright_cli::error::Result<Array> {
    npy::read(Cursor::new(bytes), bytes.len() as u64)
}

/// An array of some type and shape with any bits as its values.
fn arrays() -> impl Strategy<Value = Array> {
    (
        0usize..9,
        prop::bool::ANY,
        0usize..20,
        0usize..20,
        any::<u64>(),
    )
        .prop_map(|(dtype, vector, height, width, seed)| {
            let shape = if vector {
                Shape::Vector(height)
            } else {
                Shape::Matrix { height, width }
            };
            match dtype {
                0 => fill::<u8>(shape, seed),
                1 => fill::<u16>(shape, seed),
                2 => fill::<u32>(shape, seed),
                3 => fill::<i32>(shape, seed),
                4 => fill::<i64>(shape, seed),
                5 => fill::<f32>(shape, seed),
                6 => fill::<f16>(shape, seed),
                7 => fill::<bf16>(shape, seed),
                _ => fill::<f64>(shape, seed),
            }
        })
}

fn fill<T: Element>(shape: Shape, mut seed: u64) -> Array {
    let len = shape.elements().unwrap();
    let mut values = vec![T::zeroed(); len];
    for byte in bytemuck::cast_slice_mut::<T, u8>(&mut values) {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        *byte = (seed >> 56) as u8;
    }
    T::into_array(Data::new(shape, values).unwrap())
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_to_the_bit(array in arrays()) {
        let bytes = bytes_of(&array);
        let read = parse(&bytes).unwrap();
        prop_assert_eq!(read.shape(), array.shape());
        prop_assert_eq!(read.dtype(), array.dtype());
        // Bytes, since NaN is not equal to itself.
        prop_assert_eq!(bytes_of(&read), bytes);
    }

    #[test]
    fn no_part_of_a_file_is_taken_for_the_whole(array in arrays(), cut in any::<prop::sample::Index>()) {
        let bytes = bytes_of(&array);
        let length = cut.index(bytes.len());
        prop_assert!(parse(&bytes[..length]).is_err());
        prop_assert!(parse(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn damaged_files_give_an_array_or_one_line(
        array in arrays(),
        at in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let mut bytes = bytes_of(&array);
        let at = at.index(bytes.len());
        bytes[at] = value;
        if let Err(error) = parse(&bytes) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn any_header_text_gives_an_array_or_one_line(text in "[ -~]{0,200}") {
        let mut bytes = npy::MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        if let Err(error) = parse(&bytes) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn both_orders_and_both_byte_orders_mean_the_same(
        height in 0usize..70,
        width in 0usize..70,
        fortran in any::<bool>(),
        big in any::<bool>(),
    ) {
        let value = |row: usize, column: usize| (row * 1000 + column) as u32;
        let mut data = Vec::new();
        let (outer, inner) = if fortran { (width, height) } else { (height, width) };
        for i in 0..outer {
            for j in 0..inner {
                let value = if fortran { value(j, i) } else { value(i, j) };
                data.extend(if big { value.to_be_bytes() } else { value.to_le_bytes() });
            }
        }
        let descr = if big { "'>u4'" } else { "'<u4'" };
        let bytes = common::npy_bytes(descr, fortran, &format!("({height}, {width})"), &data);
        let Array::U32(read) = parse(&bytes).unwrap() else { panic!("not u32") };
        for (index, found) in read.values().iter().enumerate() {
            prop_assert_eq!(*found, value(index / width, index % width));
        }
    }
}
