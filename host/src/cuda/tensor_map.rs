//! Tensor maps.

use super::context::CudaContext;
use super::error::{Result, of};
use cuda_std::tensor_map::{EncodedTensorMap, Swizzle, TiledMatrix};
use cust::memory::DevicePointer;
use cust::tensor_map::{TensorDataType, TensorL2Promotion, TensorSwizzle, TiledTensor};

/// Encodes the tensor map of a matrix in device memory, in the context of the device: the driver asks for one. Elements are
/// told by their size, as nothing is computed with them unless they are rounded to TF32.
///
/// # Errors
/// What the driver does not accept, and [`CudaErrorKind::MissingFunction`](super::CudaErrorKind) before CUDA 12.
pub(crate) fn encode(context: &CudaContext, matrix: &TiledMatrix) -> Result<EncodedTensorMap> {
    context.make_current()?;
    let data_type = match matrix.element_bytes {
        1 => TensorDataType::U8,
        2 => TensorDataType::U16,
        4 if matrix.to_tf32 => TensorDataType::Tf32,
        4 => TensorDataType::U32,
        _ => TensorDataType::U64,
    };
    let dimensions = 2 + usize::from(matrix.stack.is_some());
    let (count, between) = matrix.stack.map_or((1, 0), |it| (it.count, it.stride));
    let [columns, rows] = matrix.sizes;
    let (sizes, strides) = ([columns, rows, count], [matrix.stride, between]);
    let tile = [matrix.tile[0], matrix.tile[1], 1];
    let mut tensor = TiledTensor::new(
        data_type,
        &sizes[..dimensions],
        &strides[..dimensions - 1],
        &tile[..dimensions],
    );
    tensor.swizzle = match matrix.swizzle {
        Swizzle::None => TensorSwizzle::None,
        Swizzle::Bytes32 => TensorSwizzle::Bytes32,
        Swizzle::Bytes64 => TensorSwizzle::Bytes64,
        Swizzle::Bytes128 => TensorSwizzle::Bytes128,
    };
    // Lines of the second-level cache have 128 bytes.
    if matrix.tile[0] * matrix.element_bytes >= 128 {
        tensor.promotion = TensorL2Promotion::Bytes128;
    }
    let address = DevicePointer::<u8>::from_raw(matrix.address);
    let map = tensor
        .encode(address)
        .map_err(of("cuTensorMapEncodeTiled"))?;
    Ok(EncodedTensorMap::from_words(map.as_raw().opaque))
}
