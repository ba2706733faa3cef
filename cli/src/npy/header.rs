//! The header of a `.npy` file. It is checked against the length of the file before it is used.

use std::io::Read;

use super::literal::{Fields, clip};
use super::{MAGIC, read_error};
use crate::array::{Dtype, Shape};
use crate::error::{Error, Result};

/// The maximum length of a header, as in NumPy. The headers of plain arrays take 118 bytes.
const MAX_HEADER: u64 = 10_000;

/// The byte order of elements in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    /// The order of this machine.
    Native,
    /// The opposite order.
    Foreign,
}

/// The contents of the header, with every number checked.
#[derive(Debug)]
pub(super) struct ArrayHeader {
    pub dtype: Dtype,
    pub byte_order: ByteOrder,
    pub fortran_order: bool,
    pub shape: Shape,
    /// The product of the axes.
    pub elements: usize,
}

/// Reads the header of a file of `length` bytes, and leaves `reader` at the first byte of data.
pub(super) fn read(reader: &mut impl Read, length: u64) -> Result<ArrayHeader> {
    let (text, end) = read_text(reader, length)?;
    // Versions 1.0 and 2.0 are Latin-1 and 3.0 is UTF-8. They differ only in the field names of
    // structured arrays, which are refused anyway.
    let fields = Fields::parse(&String::from_utf8_lossy(&text))?;
    let (dtype, byte_order) = element_type(&fields.descriptor)?;
    let shape = match fields.shape[..] {
        [len] => Shape::Vector(len),
        [height, width] => Shape::Matrix { height, width },
        [] => {
            return Err(Error::failed(
                "the array has no axis (a single number); 1 or 2 axes are needed: save it with reshape(1)",
            ));
        }
        ref axes => {
            let count = axes.len();
            return Err(Error::failed(format!(
                "the array has {count} axes; 1 or 2 are supported: reshape it or save one slice of it"
            )));
        }
    };
    let (elements, bytes) = data_size(shape, dtype)?;
    let there = length - end;
    if there < bytes {
        return Err(Error::failed(format!(
            "truncated: the header promises {bytes} bytes of data ({shape} elements of {dtype}) and \
             the file holds {there}: copy or save it again"
        )));
    }
    if there > bytes {
        return Err(Error::failed(format!(
            "more than one array: the header promises {bytes} bytes of data ({shape} elements of {dtype}) and \
             the file holds {there}: save it again, one array to a file"
        )));
    }
    Ok(ArrayHeader {
        dtype,
        byte_order,
        fortran_order: fields.fortran_order,
        shape,
        elements,
    })
}

/// Returns the text of the header, and the position of the first byte of data.
fn read_text(reader: &mut impl Read, length: u64) -> Result<(Vec<u8>, u64)> {
    if length == 0 {
        return Err(Error::failed(
            "the file is empty: an array saved as .npy is needed",
        ));
    }
    let mut start = [0u8; 8];
    let start = &mut start[..8.min(length as usize)];
    reader.read_exact(start).map_err(read_error)?;
    if !start.starts_with(&MAGIC[..MAGIC.len().min(start.len())]) {
        return Err(Error::failed(
            "not a .npy file (its first bytes are not those of the format)",
        ));
    }
    // The format's version decides how many bytes hold the length of the text.
    let length_bytes = match start.get(6..8) {
        Some([1, 0]) => 2,
        Some([2 | 3, 0]) => 4,
        Some([major, minor]) => {
            return Err(Error::failed(format!(
                "version {major}.{minor} of the .npy format; 1.0, 2.0 and 3.0 are supported: save it again \
                 with numpy.save"
            )));
        }
        _ => return Err(cut_short(length)),
    };
    let text_start = 8 + length_bytes as u64;
    if length < text_start {
        return Err(cut_short(length));
    }
    let mut count = [0u8; 4];
    reader
        .read_exact(&mut count[..length_bytes])
        .map_err(read_error)?;
    let count = u64::from(u32::from_le_bytes(count));
    if count > length - text_start {
        return Err(Error::failed(format!(
            "truncated: the header promises {count} bytes of text and the file holds {} after its first \
             {text_start}: copy or save it again",
            length - text_start
        )));
    }
    if count > MAX_HEADER {
        return Err(Error::failed(format!(
            "the header has {count} bytes; at most {MAX_HEADER} are read: save the array again as a plain array"
        )));
    }
    let mut text = vec![0u8; count as usize];
    reader.read_exact(&mut text).map_err(read_error)?;
    Ok((text, text_start + count))
}

fn cut_short(length: u64) -> Error {
    Error::failed(format!(
        "truncated: only {length} bytes, less than the shortest header: copy or save it again"
    ))
}

/// Returns the number of elements and bytes of an array. As in NumPy, the axes of an empty array must not be longer than those
/// of a non-empty one.
fn data_size(shape: Shape, dtype: Dtype) -> Result<(usize, u64)> {
    let axes = shape.axes();
    let extent = axes
        .iter()
        .filter(|&&axis| axis > 0)
        .try_fold(dtype.size(), |bytes, axis| bytes.checked_mul(*axis));
    extent
        .filter(|&bytes| bytes <= isize::MAX as usize)
        .and_then(|_| shape.elements())
        .map(|elements| (elements, (elements * dtype.size()) as u64))
        .ok_or_else(|| {
            Error::failed(format!(
                "the header promises {shape} elements of {dtype}, more bytes than a machine can address: \
                 the file is damaged, save it again"
            ))
        })
}

/// Returns the element type and byte order that a `descr` names.
fn element_type(descriptor: &str) -> Result<(Dtype, ByteOrder)> {
    let supported = Dtype::list();
    let (order, code) = match descriptor.split_at_checked(1) {
        Some((order @ ("<" | ">" | "|" | "="), code)) => (order, code),
        _ => ("=", descriptor),
    };
    if code.starts_with('O') {
        return Err(Error::failed(format!(
            "pickled Python objects (dtype object); one of {supported} is needed: convert it, for example with \
             array.astype('float32')"
        )));
    }
    let dtype = (Dtype::ALL.iter().copied())
        .find(|dtype| dtype.code() == code)
        .ok_or_else(|| {
            Error::failed(format!(
                "elements of type '{}'; supported are {supported}: convert it, for example with \
             array.astype('float32')",
                clip(descriptor)
            ))
        })?;
    let foreign = match order {
        "<" => cfg!(target_endian = "big"),
        ">" => cfg!(target_endian = "little"),
        _ => false,
    };
    let byte_order = if foreign && dtype.size() > 1 {
        ByteOrder::Foreign
    } else {
        ByteOrder::Native
    };
    Ok((dtype, byte_order))
}
