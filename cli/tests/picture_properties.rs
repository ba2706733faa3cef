//! Properties of the readers of pictures that hold for any picture and any damage.
#![allow(missing_docs)]

use std::io::Cursor;

use proptest::prelude::*;
use warpwright_cli::array::{Array, Data, Shape};
use warpwright_cli::picture::{self, PictureFormat};

fn bytes_of(array: &Array, format: PictureFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    picture::write(&mut bytes, array, format).unwrap();
    bytes
}

/// A matrix of any grey values, of 8 or 16 bits.
fn pictures() -> impl Strategy<Value = Array> {
    (1_usize..20, 1_usize..20, any::<bool>(), any::<u64>()).prop_map(
        |(height, width, wide, seed)| {
            let shape = Shape::Matrix { height, width };
            let value = |i: usize| seed.wrapping_mul(2 * i as u64 + 1) >> 40;
            let places = 0..height * width;
            if wide {
                Array::U16(Data::new(shape, places.map(|i| value(i) as u16).collect()).unwrap())
            } else {
                Array::U8(Data::new(shape, places.map(|i| value(i) as u8).collect()).unwrap())
            }
        },
    )
}

proptest! {
    #[test]
    fn a_png_is_read_back_to_the_bit(array in pictures()) {
        let bytes = bytes_of(&array, PictureFormat::Png);
        let read = picture::read(Cursor::new(&bytes), PictureFormat::Png).unwrap();
        prop_assert_eq!(read.array, array);
        prop_assert_eq!(read.converted_from, None);
    }

    #[test]
    fn a_jpeg_keeps_its_shape(array in pictures()) {
        prop_assume!(matches!(array, Array::U8(_)));
        let bytes = bytes_of(&array, PictureFormat::Jpeg);
        let read = picture::read(Cursor::new(&bytes), PictureFormat::Jpeg).unwrap();
        prop_assert_eq!((read.array.shape(), read.array.dtype()), (array.shape(), array.dtype()));
    }

    /// Behind the header, so that no picture of any size is declared.
    #[test]
    fn a_damaged_picture_is_a_picture_or_one_line(
        array in pictures(),
        jpeg in any::<bool>(),
        at in any::<prop::sample::Index>(),
        value in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let jpeg = jpeg && matches!(array, Array::U8(_));
        let (format, header) = if jpeg { (PictureFormat::Jpeg, 200) } else { (PictureFormat::Png, 33) };
        let mut bytes = bytes_of(&array, format);
        let behind = bytes.len() - header.min(bytes.len() - 1);
        let at = bytes.len() - 1 - at.index(behind);
        bytes[at] = value;
        let end = bytes.len() - cut.index(bytes.len());
        for part in [&bytes[..], &bytes[..end]] {
            if let Err(error) = picture::read(Cursor::new(part), format) {
                prop_assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    }
}
