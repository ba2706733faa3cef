//! The arrays that the program reads and writes: one or two axes, C order, twelve element types.

use std::fmt;

use half::{bf16, f16};
use warpwright::cuda_std::{F8E4M3, F8E5M2};

use crate::error::Error;

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

/// An element type that an [`Array`] can hold.
pub trait Element: bytemuck::Pod + Send + Sync + fmt::Debug + PartialEq {
    /// The type's name in files and messages.
    const DTYPE: Dtype;

    /// Returns the value with its bytes in the opposite order.
    fn with_swapped_bytes(mut self) -> Self {
        bytemuck::bytes_of_mut(&mut self).reverse();
        self
    }

    /// Returns the array that holds this data.
    fn into_array(data: Data<Self>) -> Array;

    /// Returns the data of an array of this type, or `None` for an array of another type.
    fn from_array(array: &Array) -> Option<&Data<Self>>;
}

/// Defines the element types: the name here, Rust's type and its name, NumPy's kind letter and size in bytes, and what it is.
macro_rules! types {
    ($($variant:ident $type:ty, $name:literal, $code:literal, $doc:literal;)*) => {
        /// The element types that the program reads and writes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Dtype {
            $(#[doc = $doc] $variant,)*
        }

        impl Dtype {
            /// All types, in the order in which lists name them.
            pub const ALL: &[Dtype] = &[$(Dtype::$variant),*];

            /// Returns Rust's name of the type.
            pub fn name(self) -> &'static str {
                match self {
                    $(Dtype::$variant => $name,)*
                }
            }

            /// Returns NumPy's kind letter and size in bytes, as in `u1` or `f8`. NumPy has neither `bf16` nor floats of 8
            /// bits: the package `ml_dtypes`, which adds them for JAX and others, has them saved as `V2`, `V1` and `f1`.
            pub fn code(self) -> &'static str {
                match self {
                    $(Dtype::$variant => $code,)*
                }
            }

            /// Returns the size of one element in bytes.
            pub fn size(self) -> usize {
                match self {
                    $(Dtype::$variant => size_of::<$type>(),)*
                }
            }
        }

        /// An array of any of the supported element types.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Array {
            $(#[doc = $doc] $variant(Data<$type>),)*
        }

        impl Array {
            /// Returns the type of the elements.
            pub fn dtype(&self) -> Dtype {
                match self {
                    $(Array::$variant(_) => Dtype::$variant,)*
                }
            }
        }

        $(impl Element for $type {
            const DTYPE: Dtype = Dtype::$variant;

            fn into_array(data: Data<Self>) -> Array {
                Array::$variant(data)
            }

            fn from_array(array: &Array) -> Option<&Data<Self>> {
                match array {
                    Array::$variant(data) => Some(data),
                    _ => None,
                }
            }
        })*
    };
}
types! {
    U8 u8, "u8", "u1", "8-bit unsigned integer.";
    U16 u16, "u16", "u2", "16-bit unsigned integer.";
    U32 u32, "u32", "u4", "32-bit unsigned integer.";
    I8 i8, "i8", "i1", "8-bit signed integer.";
    I32 i32, "i32", "i4", "32-bit signed integer.";
    I64 i64, "i64", "i8", "64-bit signed integer.";
    F8E4M3 F8E4M3, "F8E4M3", "V1", "8-bit float with three bits of a fraction.";
    F8E5M2 F8E5M2, "F8E5M2", "f1", "8-bit float with two bits of a fraction.";
    F16 f16, "f16", "f2", "IEEE 754 binary16.";
    Bf16 bf16, "bf16", "V2", "The upper half of an IEEE 754 binary32.";
    F32 f32, "f32", "f4", "IEEE 754 binary32.";
    F64 f64, "f64", "f8", "IEEE 754 binary64.";
}

impl Dtype {
    /// The types that reductions, scans and selections do not take.
    pub const NARROW: [Dtype; 3] = [Dtype::I8, Dtype::F8E4M3, Dtype::F8E5M2];

    /// Returns the names of all types, for error messages.
    pub fn list() -> String {
        names(Dtype::ALL.iter().copied())
    }
}

/// Returns the names of types, as in `u8 u16 u32`.
fn names(types: impl Iterator<Item = Dtype>) -> String {
    let names: Vec<&str> = types.map(Dtype::name).collect();
    names.join(" ")
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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
            $crate::array::Array::I8($data) => $body,
            $crate::array::Array::F8E4M3($data) => $body,
            $crate::array::Array::F8E5M2($data) => $body,
            other => $crate::with_data!(other, numbers $data => $body, _ => unreachable!("all others are numbers")),
        }
    };
    // The types of numbers, and what an array of another one gives.
    ($array:expr, numbers $data:ident => $body:expr, $other:pat => $else:expr) => {
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
            $other => $else,
        }
    };
}

/// Evaluates an expression with the [`Data`] of an [`Array`] of numbers bound to a name. The expression has a
/// [`Result`](crate::error::Result): arrays of [`Dtype::NARROW`] give the error that this operation does not take them.
#[macro_export]
macro_rules! with_numbers {
    ($operation:expr, $array:expr, $data:ident => $body:expr) => {
        $crate::with_data!($array, numbers $data => $body, other => Err(other.refused_by($operation, &[])))
    };
}

impl Array {
    /// Returns the error of an operation that does not take this array. Of [`Dtype::NARROW`] it takes only `also`.
    pub fn refused_by(&self, operation: &str, also: &[Dtype]) -> Error {
        let is_taken = |dtype: &Dtype| !Dtype::NARROW.contains(dtype) || also.contains(dtype);
        let taken = names(Dtype::ALL.iter().copied().filter(is_taken));
        Error::failed(format!(
            "{operation} takes {taken} and the array is {}: convert it, for example with astype",
            self.dtype()
        ))
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
        let swapped = 1.5_f32.with_swapped_bytes();
        assert_eq!(swapped.to_bits(), 1.5_f32.to_bits().swap_bytes());
        assert_eq!(swapped.with_swapped_bytes(), 1.5);
        assert_eq!(0x0102_u16.with_swapped_bytes(), 0x0201);
        assert_eq!(7_u8.with_swapped_bytes(), 7);
    }

    #[test]
    fn names_codes_and_sizes_agree() {
        for dtype in Dtype::ALL {
            let bytes: usize = dtype.code()[1..].parse().unwrap();
            assert_eq!(bytes, dtype.size());
            let bits = dtype.name().trim_start_matches(char::is_alphabetic);
            let bits = bits.split(char::is_alphabetic).next().unwrap();
            assert_eq!(bits.parse(), Ok(8 * dtype.size()));
        }
        assert_eq!(
            Dtype::list(),
            "u8 u16 u32 i8 i32 i64 F8E4M3 F8E5M2 f16 bf16 f32 f64"
        );
    }
}
