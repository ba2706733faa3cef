//! Element types: the library's, NumPy's and DLPack's names for them.

use dlpark::{DlpackElement, ffi::DLDataType};
use half::{bf16, f16};
use pyo3::{PyErr, PyResult, exceptions::PyTypeError};
use warpwright::Element;

/// A type of elements that has a name in Python.
pub trait Item: Element + DlpackElement {
    /// Its name.
    const NAMED: Dtype;
}

macro_rules! types {
    ($($name:ident $ty:ident $numpy:literal)*) => {
        /// The type of an array's elements.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Dtype {
            $(#[doc = $numpy] $name,)*
        }

        impl Dtype {
            const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns NumPy's name of the type.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $numpy,)*
                }
            }

            /// Returns DLPack's form of the type.
            pub fn dlpack(self) -> DLDataType {
                match self {
                    $(Self::$name => <$ty as DlpackElement>::DTYPE,)*
                }
            }

            /// Returns the bytes of an element.
            pub fn size(self) -> usize {
                match self {
                    $(Self::$name => size_of::<$ty>(),)*
                }
            }
        }

        $(impl Item for $ty {
            const NAMED: Dtype = Dtype::$name;
        })*
    };
}
types! {
    U8 u8 "uint8"
    U16 u16 "uint16"
    U32 u32 "uint32"
    U64 u64 "uint64"
    I8 i8 "int8"
    I16 i16 "int16"
    I32 i32 "int32"
    I64 i64 "int64"
    F16 f16 "float16"
    Bf16 bf16 "bfloat16"
    F32 f32 "float32"
    F64 f64 "float64"
}

impl Dtype {
    /// Returns the type with a name of NumPy's.
    pub fn named(name: &str) -> PyResult<Self> {
        let found = Self::ALL.iter().find(|dtype| dtype.name() == name);
        found.copied().ok_or_else(|| unknown(name))
    }

    /// Returns the type with a form of DLPack's.
    pub fn of_dlpack(form: DLDataType) -> PyResult<Self> {
        let found = Self::ALL.iter().find(|dtype| dtype.dlpack() == form);
        found.copied().ok_or_else(|| {
            let (code, bits, lanes) = (form.code.0, form.bits, form.lanes);
            unknown(&format!("DLPack's type ({code}, {bits}, {lanes})"))
        })
    }

    /// Returns the type by the type string of an array interface. The bytes of an element are those of this machine's order.
    pub fn of_interface(typestr: &str) -> PyResult<Self> {
        let found = Self::ALL.iter().find(|dtype| dtype.typestr() == typestr);
        found.copied().ok_or_else(|| unknown(typestr))
    }

    /// Returns whether elements are floats.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// Returns the type string of an array interface. NumPy has no `bfloat16`: its bytes alone are described.
    pub fn typestr(self) -> String {
        let (order, kind) = match self {
            Self::U8 => ('|', 'u'),
            Self::I8 => ('|', 'i'),
            Self::U16 | Self::U32 | Self::U64 => ('<', 'u'),
            Self::I16 | Self::I32 | Self::I64 => ('<', 'i'),
            Self::F16 | Self::F32 | Self::F64 => ('<', 'f'),
            Self::Bf16 => ('<', 'V'),
        };
        format!("{order}{kind}{}", self.size())
    }
}

fn unknown(given: &str) -> PyErr {
    let known: Vec<_> = Dtype::ALL.iter().map(|dtype| dtype.name()).collect();
    PyTypeError::new_err(format!(
        "elements of {} required, {given} given",
        known.join(", ")
    ))
}

/// Makes the error of an operation on elements of another type than it takes.
pub fn unsupported(operation: &str, known: &[Dtype], given: Dtype) -> PyErr {
    let known: Vec<_> = known.iter().map(|dtype| dtype.name()).collect();
    PyTypeError::new_err(format!(
        "{operation}: elements of {} required, {} given",
        known.join(", "),
        given.name()
    ))
}

/// The Rust type of a [`Dtype`].
macro_rules! rust_type {
    (U8) => {
        u8
    };
    (U16) => {
        u16
    };
    (U32) => {
        u32
    };
    (U64) => {
        u64
    };
    (I8) => {
        i8
    };
    (I16) => {
        i16
    };
    (I32) => {
        i32
    };
    (I64) => {
        i64
    };
    (F16) => {
        half::f16
    };
    (Bf16) => {
        half::bf16
    };
    (F32) => {
        f32
    };
    (F64) => {
        f64
    };
}
pub(crate) use rust_type;

/// Evaluates an expression with the Rust type of a [`Dtype`], if it is one of the list. `all` is every type.
macro_rules! by_type {
    ($operation:expr, $dtype:expr, all, $T:ident => $body:expr) => {
        $crate::dtype::by_type!(
            $operation, $dtype, [U8 U16 U32 U64 I8 I16 I32 I64 F16 Bf16 F32 F64], $T => $body
        )
    };
    ($operation:expr, $dtype:expr, [$($name:ident)*], $T:ident => $body:expr) => {
        match $dtype {
            $($crate::dtype::Dtype::$name => {
                type $T = $crate::dtype::rust_type!($name);
                $body
            })*
            #[allow(unreachable_patterns, reason = "the list may have every type")]
            given => Err($crate::dtype::unsupported(
                $operation,
                &[$($crate::dtype::Dtype::$name),*],
                given,
            )),
        }
    };
}
pub(crate) use by_type;
