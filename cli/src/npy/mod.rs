//! Reads and writes NumPy's `.npy` format, versions 1.0, 2.0 and 3.0.
//!
//! Reading supports both byte orders, C and Fortran order, one or two axes, and the types of [`Dtype`]. Writing uses C order
//! and the machine's byte order. Two bytes of no kind (`V2`) are `bf16`, one (`V1`) is `F8E4M3`, and a float of
//! one byte (`f1`) is `F8E5M2`, as `ml_dtypes` has them saved. Memory for the data is
//! allocated only after the header has been compared with the file's length.
//!
//! Format: NumPy Enhancement Proposal 1, <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

mod header;
mod literal;

use std::io::{self, Read, Write};

use half::{bf16, f16};
use warpwright::{
    Device,
    cuda_std::{F8E4M3, F8E5M2},
};

use crate::array::{Array, Data, Dtype, Element, Shape};
use crate::error::{Error, Result};
use crate::with_data;
use header::ByteOrder;

/// The first bytes of every `.npy` file.
pub const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Arrays up to this size are read without checking the free memory.
const SURE_BYTES: usize = 64 << 20;

/// The side of the square tiles in which Fortran order is converted to C order: two tiles of 8-byte elements fit in a
/// first-level cache.
const TILE: usize = 32;

/// Reads one array from `reader`, which holds `length` bytes and is positioned at the first.
///
/// Fortran order and foreign byte order are converted. Errors say what to do, without the file's name. They are: an empty or
/// truncated file, bytes after the data, an unsupported element type, a number of axes other than 1 and 2, structured and
/// pickled data, sizes that overflow, and too little memory.
pub fn read(mut reader: impl Read, length: u64) -> Result<Array> {
    let header = header::read(&mut reader, length)?;
    macro_rules! read {
        ($($variant:ident $type:ty),*) => {
            match header.dtype {
                $(Dtype::$variant => read_data::<$type>(reader, &header),)*
            }
        };
    }
    read!(
        U8 u8, U16 u16, U32 u32, I8 i8, I32 i32, I64 i64, F8E4M3 F8E4M3, F8E5M2 F8E5M2, F16 f16, Bf16 bf16, F32 f32, F64 f64
    )
}

fn read_data<T: Element>(mut reader: impl Read, header: &header::ArrayHeader) -> Result<Array> {
    let mut values = allocate::<T>(header.elements)?;
    reader
        .read_exact(bytemuck::cast_slice_mut(&mut values))
        .map_err(read_error)?;
    if header.byte_order == ByteOrder::Foreign {
        for value in &mut values {
            *value = value.with_swapped_bytes();
        }
    }
    if let (Shape::Matrix { height, width }, true) = (header.shape, header.fortran_order) {
        values = c_order(&values, height, width)?;
    }
    let data = Data::new(header.shape, values)
        .ok_or_else(|| Error::failed("the shape does not match the number of elements"))?;
    Ok(T::into_array(data))
}

/// Returns `len` zeros, or an error if memory is insufficient.
fn allocate<T: Element>(len: usize) -> Result<Vec<T>> {
    let bytes = len.saturating_mul(T::DTYPE.size());
    let refuse = || {
        Error::failed(format!(
            "not enough memory for {len} elements of {} ({bytes} bytes): split the array",
            T::DTYPE
        ))
    };
    // The system promises more memory than it has, and kills a program that uses it.
    if bytes > SURE_BYTES
        && Device::cpu()
            .free_memory()
            .is_ok_and(|free| bytes as u64 > free)
    {
        return Err(refuse());
    }
    let mut values = Vec::new();
    values.try_reserve_exact(len).map_err(|_| refuse())?;
    values.resize(len, T::zeroed());
    Ok(values)
}

/// Converts a matrix that is stored column by column in `source` to one stored row by row.
fn c_order<T: Element>(source: &[T], height: usize, width: usize) -> Result<Vec<T>> {
    let mut target = allocate::<T>(source.len())?;
    // One axis of an empty matrix may have any length.
    if source.is_empty() {
        return Ok(target);
    }
    for top in (0..height).step_by(TILE) {
        for left in (0..width).step_by(TILE) {
            for row in top..height.min(top + TILE) {
                for column in left..width.min(left + TILE) {
                    target[row * width + column] = source[column * height + row];
                }
            }
        }
    }
    Ok(target)
}

/// Returns the error for a reader that failed or ended early.
fn read_error(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            Error::failed("the data ended early while it was read: was the file changed meanwhile?")
        }
        _ => Error::failed(format!("cannot be read: {error}")),
    }
}

/// Writes one array as `.npy` version 1.0, in C order and the machine's byte order.
pub fn write(mut writer: impl Write, array: &Array) -> Result<()> {
    let code = array.dtype().code();
    let order = match (array.dtype(), cfg!(target_endian = "big")) {
        (Dtype::U8 | Dtype::I8, _) => '|',
        (_, true) => '>',
        (_, false) => '<',
    };
    let shape = match array.shape() {
        Shape::Vector(len) => format!("({len},)"),
        Shape::Matrix { height, width } => format!("({height}, {width})"),
    };
    let mut text =
        format!("{{'descr': '{order}{code}', 'fortran_order': False, 'shape': {shape}, }}");
    // Spaces and a line end pad the start of the data to a multiple of 64.
    let prefix = MAGIC.len() + 4;
    let length = (prefix + text.len() + 1).next_multiple_of(64) - prefix;
    text.extend(std::iter::repeat_n(' ', length - text.len() - 1));
    text.push('\n');
    writer.write_all(MAGIC).map_err(write_error)?;
    writer.write_all(&[1, 0]).map_err(write_error)?;
    writer
        .write_all(&(length as u16).to_le_bytes())
        .map_err(write_error)?;
    writer.write_all(text.as_bytes()).map_err(write_error)?;
    with_data!(array, data => writer.write_all(bytemuck::cast_slice(data.values())))
        .map_err(write_error)
}

fn write_error(error: io::Error) -> Error {
    Error::failed(format!("cannot be written: {error}"))
}

#[cfg(test)]
mod tests;
