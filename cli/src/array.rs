//! The arrays that the program reads and writes: one or two axes, C order, nine element types.

use half::{bf16, f16};
use std::fmt;

/// The lengths of an array's axes. Data is in C order: the last axis varies fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One axis of this many elements.
    Vector(usize),
    /// Two axes: `height` rows of `width` elements each.
    Matrix {
        /// Number of rows.
        height: usize,
        /// Number of columns.
        width: usize,
    },
}

impl Shape {
    /// Returns the number of elements, or `None` if it overflows `usize`.
    pub fn elements(self) -> Option<usize> {
        match self {
            Shape::Vector(len) => Some(len),
            Shape::Matrix { height, width } => height.checked_mul(width),
        }
    }

    /// Returns the axes' lengths, outermost first.
    pub fn axes(self) -> Vec<usize> {
        match self {
            Shape::Vector(len) => vec![len],
            Shape::Matrix { height, width } => vec![height, width],
        }
    }
}

impl fmt::Display for Shape {
    /// Writes `12` or `3 x 4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Vector(len) => write!(f, "{len}"),
            Shape::Matrix { height, width } => write!(f, "{height} x {width}"),
        }
    }
}

/// The element types that the program reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// 8-bit unsigned integer.
    U8,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit unsigned integer.
    U32,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer.
    I64,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of an IEEE 754 binary32.
    Bf16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl Dtype {
    /// All types, in the order in which lists name them.
    pub const ALL: [Dtype; 9] = [
        Dtype::U8,
        Dtype::U16,
        Dtype::U32,
        Dtype::I32,
        Dtype::I64,
        Dtype::F16,
        Dtype::Bf16,
        Dtype::F32,
        Dtype::F64,
    ];

    /// Returns Rust's name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::U8 => "u8",
            Dtype::U16 => "u16",
            Dtype::U32 => "u32",
            Dtype::I32 => "i32",
            Dtype::I64 => "i64",
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
        }
    }

    /// Returns NumPy's kind letter and size in bytes, as in `u1` or `f8`. NumPy has no `bf16`: the package `ml_dtypes`, which
    /// adds it for JAX and others, has it saved as two bytes of no kind, `V2`.
    pub fn code(self) -> &'static str {
        match self {
            Dtype::U8 => "u1",
            Dtype::U16 => "u2",
            Dtype::U32 => "u4",
            Dtype::I32 => "i4",
            Dtype::I64 => "i8",
            Dtype::F16 => "f2",
            Dtype::Bf16 => "V2",
            Dtype::F32 => "f4",
            Dtype::F64 => "f8",
        }
    }

    /// Returns the size of one element in bytes.
    pub fn size(self) -> usize {
        match self {
            Dtype::U8 => 1,
            Dtype::U16 | Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::U32 | Dtype::I32 | Dtype::F32 => 4,
            Dtype::I64 | Dtype::F64 => 8,
        }
    }

    /// Returns `u8 u16 u32 i32 i64 f16 bf16 f32 f64`, for error messages.
    pub fn list() -> String {
        Dtype::ALL.map(Dtype::name).join(" ")
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An element type that an [`Array`] can hold.
pub trait Element: bytemuck::Pod + Send + Sync + fmt::Debug + PartialEq {
    /// The type's name in files and messages.
    const DTYPE: Dtype;

    /// Returns the value with its bytes in the opposite order.
    fn swap_bytes(self) -> Self;

    /// Returns the array that holds this data.
    fn into_array(data: Data<Self>) -> Array;

    /// Returns the data of an array of this type, or `None` for an array of another type.
    fn from_array(array: &Array) -> Option<&Data<Self>>;
}

macro_rules! element {
    ($type:ty, $variant:ident, |$value:ident| $swapped:expr) => {
        impl Element for $type {
            const DTYPE: Dtype = Dtype::$variant;

            fn swap_bytes(self) -> Self {
                let $value = self;
                $swapped
            }

            fn into_array(data: Data<Self>) -> Array {
                Array::$variant(data)
            }

            fn from_array(array: &Array) -> Option<&Data<Self>> {
                match array {
                    Array::$variant(data) => Some(data),
                    _ => None,
                }
            }
        }
    };
}

element!(u8, U8, |value| value);
element!(u16, U16, |value| value.swap_bytes());
element!(u32, U32, |value| value.swap_bytes());
element!(i32, I32, |value| value.swap_bytes());
element!(i64, I64, |value| value.swap_bytes());
element!(f16, F16, |value| f16::from_bits(
    value.to_bits().swap_bytes()
));
element!(bf16, Bf16, |value| bf16::from_bits(
    value.to_bits().swap_bytes()
));
element!(f32, F32, |value| f32::from_bits(
    value.to_bits().swap_bytes()
));
element!(f64, F64, |value| f64::from_bits(
    value.to_bits().swap_bytes()
));

/// A shape and its values in C order; `values.len()` is the product of the axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Data<T> {
    shape: Shape,
    values: Vec<T>,
}

impl<T> Data<T> {
    /// Gives values a shape. Returns `None` if the number of values is not the product of the axes.
    pub fn new(shape: Shape, values: Vec<T>) -> Option<Self> {
        (shape.elements() == Some(values.len())).then_some(Data { shape, values })
    }

    /// Makes a vector of these values.
    pub fn vector(values: Vec<T>) -> Self {
        Data {
            shape: Shape::Vector(values.len()),
            values,
        }
    }

    /// Returns the axes' lengths.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the values in C order.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the values in C order, without copying.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }
}

/// An array of any of the supported element types.
#[derive(Debug, Clone, PartialEq)]
pub enum Array {
    /// 8-bit unsigned integers.
    U8(Data<u8>),
    /// 16-bit unsigned integers.
    U16(Data<u16>),
    /// 32-bit unsigned integers.
    U32(Data<u32>),
    /// 32-bit signed integers.
    I32(Data<i32>),
    /// 64-bit signed integers.
    I64(Data<i64>),
    /// 16-bit floats.
    F16(Data<f16>),
    /// 16-bit floats with the exponents of `f32`.
    Bf16(Data<bf16>),
    /// 32-bit floats.
    F32(Data<f32>),
    /// 64-bit floats.
    F64(Data<f64>),
}

/// Evaluates an expression with the [`Data`] of an [`Array`] of any type bound to a name.
///
/// ```
/// use warpwright_cli::{with_data, array::{Array, Data}};
///
/// let array = Array::F32(Data::vector(vec![1.0, 2.0]));
/// assert_eq!(with_data!(&array, data => data.values().len()), 2);
/// ```
#[macro_export]
macro_rules! with_data {
    ($array:expr, $data:ident => $body:expr) => {
        match $array {
            $crate::array::Array::U8($data) => $body,
            $crate::array::Array::U16($data) => $body,
            $crate::array::Array::U32($data) => $body,
            $crate::array::Array::I32($data) => $body,
            $crate::array::Array::I64($data) => $body,
            $crate::array::Array::F16($data) => $body,
            $crate::array::Array::Bf16($data) => $body,
            $crate::array::Array::F32($data) => $body,
            $crate::array::Array::F64($data) => $body,
        }
    };
}

impl Array {
    /// Returns the type of the elements.
    pub fn dtype(&self) -> Dtype {
        match self {
            Array::U8(_) => Dtype::U8,
            Array::U16(_) => Dtype::U16,
            Array::U32(_) => Dtype::U32,
            Array::I32(_) => Dtype::I32,
            Array::I64(_) => Dtype::I64,
            Array::F16(_) => Dtype::F16,
            Array::Bf16(_) => Dtype::Bf16,
            Array::F32(_) => Dtype::F32,
            Array::F64(_) => Dtype::F64,
        }
    }

    /// Returns the axes' lengths.
    pub fn shape(&self) -> Shape {
        with_data!(self, data => data.shape())
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        with_data!(self, data => data.values().len())
    }

    /// Returns whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_refuses_a_shape_that_does_not_fit() {
        assert!(
            Data::new(
                Shape::Matrix {
                    height: 2,
                    width: 3
                },
                vec![0u8; 6]
            )
            .is_some()
        );
        assert!(
            Data::new(
                Shape::Matrix {
                    height: 2,
                    width: 3
                },
                vec![0u8; 5]
            )
            .is_none()
        );
        let overflow = Shape::Matrix {
            height: usize::MAX,
            width: 2,
        };
        assert!(Data::new(overflow, vec![0u8; 6]).is_none());
    }

    #[test]
    fn swapping_bytes_twice_changes_nothing() {
        assert_eq!(1.5f32.swap_bytes().swap_bytes(), 1.5);
        assert_eq!(Element::swap_bytes(0x0102u16), 0x0201);
        assert_eq!(Element::swap_bytes(7u8), 7);
    }

    #[test]
    fn names_codes_and_sizes_agree() {
        for dtype in Dtype::ALL {
            let bytes: usize = dtype.code()[1..].parse().unwrap();
            assert_eq!(bytes, dtype.size());
            let bits = dtype.name().trim_start_matches(char::is_alphabetic);
            let bits: usize = bits.parse().unwrap();
            assert_eq!(bits, 8 * dtype.size());
        }
        assert_eq!(Dtype::list(), "u8 u16 u32 i32 i64 f16 bf16 f32 f64");
    }
}
