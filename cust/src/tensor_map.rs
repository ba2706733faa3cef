//! Tensor maps: descriptions of tensors for the units that copy boxes of them to shared memory (compute capability 9.0 and
//! later).

use std::ffi::c_void;
use std::ptr;

use crate::error::{CudaError, CudaResult, ToResult};
use crate::memory::{DeviceCopy, DevicePointer};
use crate::sys;

/// The description of a tensor. A kernel takes it by value, as a parameter in constant memory.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMap(sys::CUtensorMap);

// SAFETY: words without references to memory of the host.
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
        /// `f32`; subnormal numbers become zero.
        F32FlushToZero = 10,
        /// `f32` of 19 bits
        Tf32 = 11,
        /// `f32` of 19 bits; subnormal numbers become zero.
        Tf32FlushToZero = 12,
    }

    /// How a tensor's channels are laid out.
    TensorInterleave {
        /// One behind the other.
        None = 0,
        /// In pieces of 16 bytes.
        Bytes16 = 1,
        /// In pieces of 32 bytes.
        Bytes32 = 2,
    }

    /// How a box is mixed in shared memory, against conflicts of banks.
    TensorSwizzle {
        /// Not at all.
        None = 0,
        /// Within 32 bytes.
        Bytes32 = 1,
        /// Within 64 bytes.
        Bytes64 = 2,
        /// Within 128 bytes.
        Bytes128 = 3,
    }

    /// How much the L2 cache reads at a time.
    TensorL2Promotion {
        /// What is asked for.
        None = 0,
        /// 64 bytes.
        Bytes64 = 1,
        /// 128 bytes.
        Bytes128 = 2,
        /// 256 bytes.
        Bytes256 = 3,
    }

    /// What elements outside are read as.
    TensorFill {
        /// Zeros.
        Zeros = 0,
        /// A certain NaN; for types of floats.
        Nan = 1,
    }
}

/// A tensor of which boxes are copied. The first dimension is the one whose elements are neighbours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TiledTensor<'a> {
    /// The type of the elements.
    pub data_type: TensorDataType,
    /// The elements of each dimension: up to five.
    pub sizes: &'a [u64],
    /// The bytes from one element to the next, of each dimension but the first.
    pub strides: &'a [u64],
    /// The elements of a box in each dimension.
    pub box_sizes: &'a [u32],
    /// Of how many elements one is taken, in each dimension: 1 for all.
    pub element_strides: &'a [u32],
    /// How channels are laid out.
    pub interleave: TensorInterleave,
    /// How a box is mixed in shared memory.
    pub swizzle: TensorSwizzle,
    /// How much the L2 cache reads at a time.
    pub promotion: TensorL2Promotion,
    /// What elements outside are read as.
    pub fill: TensorFill,
}

impl<'a> TiledTensor<'a> {
    /// A tensor of which all elements are taken, neither interleaved nor mixed, with zeros outside.
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

    /// The description of the tensor at this address.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] where the lengths do not fit the dimensions, and what the driver says, for instance that
    /// an address or a stride is not a multiple of 16.
    pub fn encode<T: DeviceCopy>(&self, address: DevicePointer<T>) -> CudaResult<TensorMap> {
        let rank = self.sizes.len();
        let fits = (1..=5).contains(&rank)
            && self.strides.len() >= rank - 1
            && self.box_sizes.len() >= rank
            && self.element_strides.len() >= rank;
        // SAFETY: a place to write to, and arrays as long as the driver reads for this rank. The address is only written
        // down.
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

/// Images of which the pixels under a convolution's mask are copied, as the columns of a matrix (`im2col`). The first
/// dimension is the channels, the last one the images; those between are an image's own, one to three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Im2colTensor<'a> {
    /// The type of the elements.
    pub data_type: TensorDataType,
    /// The elements of each dimension: three to five.
    pub sizes: &'a [u64],
    /// The bytes from one element to the next, of each dimension but the first.
    pub strides: &'a [u64],
    /// Where the box of an image's pixels begins, from its first pixel, in each of its own dimensions.
    pub lower_corner: &'a [i32],
    /// Where the box ends, from the image's last pixel.
    pub upper_corner: &'a [i32],
    /// The channels that are copied of a pixel.
    pub channels_per_pixel: u32,
    /// The pixels of a column.
    pub pixels_per_column: u32,
    /// Of how many elements one is taken, in each dimension: 1 for all.
    pub element_strides: &'a [u32],
    /// How channels are laid out.
    pub interleave: TensorInterleave,
    /// How a box is mixed in shared memory.
    pub swizzle: TensorSwizzle,
    /// How much the L2 cache reads at a time.
    pub promotion: TensorL2Promotion,
    /// What elements outside are read as.
    pub fill: TensorFill,
}

impl<'a> Im2colTensor<'a> {
    /// Images of which all pixels are taken, neither interleaved nor mixed, with zeros outside.
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

    /// The description of the images at this address.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] where the lengths do not fit the dimensions, and what the driver says, for instance that
    /// there are more than 256 channels of a pixel or 1024 pixels of a column.
    pub fn encode<T: DeviceCopy>(&self, address: DevicePointer<T>) -> CudaResult<TensorMap> {
        let rank = self.sizes.len();
        let fits = (3..=5).contains(&rank)
            && self.strides.len() >= rank - 1
            && self.lower_corner.len() >= rank - 2
            && self.upper_corner.len() >= rank - 2
            && self.element_strides.len() >= rank;
        // SAFETY: a place to write to, and arrays as long as the driver reads for this rank. The address is only written
        // down.
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

/// What the driver encodes, where the lengths fit.
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

/// An address on the device as the driver takes it.
fn without_memory<T: DeviceCopy>(address: DevicePointer<T>) -> *mut c_void {
    ptr::without_provenance_mut(address.as_raw() as usize)
}

impl TensorMap {
    /// Has the description mean the same tensor at another address.
    ///
    /// # Errors
    /// What the driver says.
    pub fn replace_address<T: DeviceCopy>(&mut self, address: DevicePointer<T>) -> CudaResult<()> {
        // SAFETY: a description to change; the address is only written down.
        unsafe { sys::cuTensorMapReplaceAddress(&mut self.0, without_memory(address)) }.to_result()
    }

    /// The driver's form.
    pub fn as_raw(&self) -> &sys::CUtensorMap {
        &self.0
    }
}
