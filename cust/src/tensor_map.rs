//! Tensor maps: descriptions of tensors for the Tensor Memory Accelerator, which copies boxes of them to shared memory
//! (compute capability 9.0 and later).

use std::ffi::c_void;
use std::ptr;

use crate::error::{CudaError, CudaResult, ToResult};
use crate::memory::{DeviceCopy, DevicePointer};
use crate::sys;

/// A tensor map. A kernel takes it by value, as a parameter in constant memory.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMap(sys::CUtensorMap);

// SAFETY: the words hold no reference to host memory.
unsafe impl DeviceCopy for TensorMap {}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($(#[$what:meta])* $variant:ident = $value:literal,)* })*) => { $(
        $(#[$doc])*
        #[repr(u32)]
        #[non_exhaustive]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$what])* $variant = $value,)* }
    )* };
}

choices! {
    /// The type of a tensor's elements.
    TensorDataType {
        /// `u8`
        U8 = 0,
        /// `u16`
        U16 = 1,
        /// `u32`
        U32 = 2,
        /// `i32`
        I32 = 3,
        /// `u64`
        U64 = 4,
        /// `i64`
        I64 = 5,
        /// `half::f16`
        F16 = 6,
        /// `f32`
        F32 = 7,
        /// `f64`
        F64 = 8,
        /// `half::bf16`
        Bf16 = 9,
        /// `f32` with subnormal numbers flushed to zero
        F32FlushToZero = 10,
        /// TF32: `f32` rounded to 19 bits
        Tf32 = 11,
        /// TF32 with subnormal numbers flushed to zero
        Tf32FlushToZero = 12,
    }

    /// The interleaved layout of a tensor's channels.
    TensorInterleave {
        /// No interleaving.
        None = 0,
        /// Pieces of 16 bytes.
        Bytes16 = 1,
        /// Pieces of 32 bytes.
        Bytes32 = 2,
    }

    /// The swizzle of a box in shared memory, which avoids bank conflicts.
    TensorSwizzle {
        /// No swizzle.
        None = 0,
        /// A swizzle within 32 bytes.
        Bytes32 = 1,
        /// A swizzle within 64 bytes.
        Bytes64 = 2,
        /// A swizzle within 128 bytes.
        Bytes128 = 3,
    }

    /// The L2 promotion: how much the L2 cache fetches at a time.
    TensorL2Promotion {
        /// Only the requested bytes.
        None = 0,
        /// 64 bytes.
        Bytes64 = 1,
        /// 128 bytes.
        Bytes128 = 2,
        /// 256 bytes.
        Bytes256 = 3,
    }

    /// The value of elements outside the tensor.
    TensorFill {
        /// Zeros.
        Zeros = 0,
        /// A special NaN, for floating-point types only.
        Nan = 1,
    }
}

/// A tensor that is copied in boxes. The first dimension is the contiguous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TiledTensor<'a> {
    /// The type of the elements.
    pub data_type: TensorDataType,
    /// The number of elements in each dimension; one to five dimensions.
    pub sizes: &'a [u64],
    /// The stride of each dimension but the first, in bytes.
    pub strides: &'a [u64],
    /// The number of elements of a box in each dimension.
    pub box_sizes: &'a [u32],
    /// The traversal stride in each dimension: every n-th element is copied. 1 copies all.
    pub element_strides: &'a [u32],
    /// The interleaved layout of channels.
    pub interleave: TensorInterleave,
    /// The swizzle of a box in shared memory.
    pub swizzle: TensorSwizzle,
    /// How much the L2 cache fetches at a time.
    pub promotion: TensorL2Promotion,
    /// The value of elements outside the tensor.
    pub fill: TensorFill,
}

impl<'a> TiledTensor<'a> {
    /// Creates a tensor with traversal strides of 1, no interleaving, no swizzle, no L2 promotion, and zeros outside.
    pub fn new(
        data_type: TensorDataType,
        sizes: &'a [u64],
        strides: &'a [u64],
        box_sizes: &'a [u32],
    ) -> Self {
        Self {
            data_type,
            sizes,
            strides,
            box_sizes,
            element_strides: &[1; 5],
            interleave: TensorInterleave::None,
            swizzle: TensorSwizzle::None,
            promotion: TensorL2Promotion::None,
            fill: TensorFill::Zeros,
        }
    }

    /// Encodes the tensor map of the tensor at `address`.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidValue`] if the lengths of the slices do not match the number of dimensions, or the
    /// driver's error, for instance if the address or a stride is not a multiple of 16.
    pub fn encode<T: DeviceCopy>(&self, address: DevicePointer<T>) -> CudaResult<TensorMap> {
        let rank = self.sizes.len();
        let fits = (1..=5).contains(&rank)
            && self.strides.len() >= rank - 1
            && self.box_sizes.len() >= rank
            && self.element_strides.len() >= rank;
        // SAFETY: the pointer is valid for a write, and the arrays are as long as the driver reads for this rank. The
        // driver only stores the address.
        encoded(fits, |map| unsafe {
            sys::cuTensorMapEncodeTiled(
                map,
                self.data_type as u32,
                rank as u32,
                without_memory(address),
                self.sizes.as_ptr(),
                self.strides.as_ptr(),
                self.box_sizes.as_ptr(),
                self.element_strides.as_ptr(),
                self.interleave as u32,
                self.swizzle as u32,
                self.promotion as u32,
                self.fill as u32,
            )
        })
    }
}

/// Images whose pixels under a convolution's mask are copied as the columns of a matrix (`im2col`). The first dimension is
/// the channels and the last one the images. The one to three dimensions between are those of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Im2colTensor<'a> {
    /// The type of the elements.
    pub data_type: TensorDataType,
    /// The number of elements in each dimension; three to five dimensions.
    pub sizes: &'a [u64],
    /// The stride of each dimension but the first, in bytes.
    pub strides: &'a [u64],
    /// The start of the bounding box relative to an image's first pixel, in each dimension of an image.
    pub lower_corner: &'a [i32],
    /// The end of the bounding box relative to an image's last pixel, in each dimension of an image.
    pub upper_corner: &'a [i32],
    /// The number of channels that are copied per pixel.
    pub channels_per_pixel: u32,
    /// The number of pixels per column.
    pub pixels_per_column: u32,
    /// The traversal stride in each dimension: every n-th element is copied. 1 copies all.
    pub element_strides: &'a [u32],
    /// The interleaved layout of channels.
    pub interleave: TensorInterleave,
    /// The swizzle of a box in shared memory.
    pub swizzle: TensorSwizzle,
    /// How much the L2 cache fetches at a time.
    pub promotion: TensorL2Promotion,
    /// The value of elements outside the tensor.
    pub fill: TensorFill,
}

impl<'a> Im2colTensor<'a> {
    /// Creates images with corners and traversal strides that take all pixels, no interleaving, no swizzle, no L2
    /// promotion, and zeros outside.
    pub fn new(
        data_type: TensorDataType,
        sizes: &'a [u64],
        strides: &'a [u64],
        channels_per_pixel: u32,
        pixels_per_column: u32,
    ) -> Self {
        Self {
            data_type,
            sizes,
            strides,
            lower_corner: &[0; 3],
            upper_corner: &[0; 3],
            channels_per_pixel,
            pixels_per_column,
            element_strides: &[1; 5],
            interleave: TensorInterleave::None,
            swizzle: TensorSwizzle::None,
            promotion: TensorL2Promotion::None,
            fill: TensorFill::Zeros,
        }
    }

    /// Encodes the tensor map of the images at `address`.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidValue`] if the lengths of the slices do not match the number of dimensions, or the
    /// driver's error, for instance if a pixel has more than 256 channels or a column more than 1024 pixels.
    pub fn encode<T: DeviceCopy>(&self, address: DevicePointer<T>) -> CudaResult<TensorMap> {
        let rank = self.sizes.len();
        let fits = (3..=5).contains(&rank)
            && self.strides.len() >= rank - 1
            && self.lower_corner.len() >= rank - 2
            && self.upper_corner.len() >= rank - 2
            && self.element_strides.len() >= rank;
        // SAFETY: the pointer is valid for a write, and the arrays are as long as the driver reads for this rank. The
        // driver only stores the address.
        encoded(fits, |map| unsafe {
            sys::cuTensorMapEncodeIm2col(
                map,
                self.data_type as u32,
                rank as u32,
                without_memory(address),
                self.sizes.as_ptr(),
                self.strides.as_ptr(),
                self.lower_corner.as_ptr(),
                self.upper_corner.as_ptr(),
                self.channels_per_pixel,
                self.pixels_per_column,
                self.element_strides.as_ptr(),
                self.interleave as u32,
                self.swizzle as u32,
                self.promotion as u32,
                self.fill as u32,
            )
        })
    }
}

/// Returns the map that the driver encodes, or an error if the lengths do not match.
fn encoded(
    fits: bool,
    encode: impl FnOnce(&mut sys::CUtensorMap) -> sys::CUresult,
) -> CudaResult<TensorMap> {
    if !fits {
        return Err(CudaError::InvalidValue);
    }
    let mut map = sys::CUtensorMap { opaque: [0; 16] };
    encode(&mut map).to_result()?;
    Ok(TensorMap(map))
}

/// Converts a device address to the driver's form.
fn without_memory<T: DeviceCopy>(address: DevicePointer<T>) -> *mut c_void {
    ptr::without_provenance_mut(address.as_raw() as usize)
}

impl TensorMap {
    /// Replaces the address of the tensor.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn replace_address<T: DeviceCopy>(&mut self, address: DevicePointer<T>) -> CudaResult<()> {
        // SAFETY: the map is valid for writes; the driver only stores the address.
        unsafe { sys::cuTensorMapReplaceAddress(&mut self.0, without_memory(address)) }.to_result()
    }

    /// Returns the driver's form of the map.
    pub fn as_raw(&self) -> &sys::CUtensorMap {
        &self.0
    }
}
