//! Operands and results as tensor maps.

use cuda_std::tensor_map::{EncodedTensorMap, Stack, Swizzle, TiledMatrix};

use warpwright_gpu::gemm::Problem;

use crate::{
    buffer::Element,
    device::Device,
    error::Result,
    ops::plan::{MapOfOutput, Plan},
    rect::MatrixRect,
};

/// Returns whether a device has tensor maps: drivers do from CUDA 12 on.
pub(super) fn has_maps(device: &Device) -> bool {
    let version = device.info().driver_version;
    version.is_none_or(|version| version >= (12, 0))
}

/// Returns whether an operand, which is a stack of some matrices, is of columns whose elements are adjacent: each is a row too.
pub(super) fn is_column<T: Element>(rect: &MatrixRect<'_, T>) -> bool {
    rect.width() == 1 && rect.stride() == 1
}

/// Returns the width, the height, and the bytes between the rows and between the matrices of an operand, which is a stack of
/// some. `as_row` takes columns as rows.
fn layout<T: Element>(rect: &MatrixRect<'_, T>, stack: usize, as_row: bool) -> [usize; 4] {
    let (height, stride) = (rect.height() / stack, rect.stride() * size_of::<T>());
    let next = height.saturating_mul(stride);
    match as_row {
        // No row follows, so that any distance will do.
        true => [height, 1, next.next_multiple_of(16), next],
        false => [rect.width(), height, stride, next],
    }
}

/// Returns whether tensor maps can describe an operand, which is a stack of some matrices.
pub(super) fn has_map<T: Element>(rect: &MatrixRect<'_, T>, stack: usize, as_row: bool) -> bool {
    let [_, _, stride, next] = layout(rect, stack, as_row);
    let are_aligned = stack == 1 || next.is_multiple_of(16);
    let address = rect.elements().address();
    address.is_multiple_of(16) && stride.is_multiple_of(16) && are_aligned && next < 1 << 40
}

/// Returns the matrices C as tensor maps describe them, in tiles of 16 rows of 128 bytes, if rows of C begin at multiples of 16
/// bytes and C has whole tiles. The address is an offset in the output.
pub(super) fn map_of_output<R: Element>(plan: &Plan<'_>, problem: &Problem) -> MapOfOutput {
    let &Problem {
        m, n, count, ldc, ..
    } = problem;
    let (bytes, stride) = (size_of::<R>(), ldc * size_of::<R>());
    // Tiles that are not whole do without.
    let is_mapped = m >= 64
        && n >= 64
        && stride.is_multiple_of(16)
        && plan.target.is_none_or(|address| address.is_multiple_of(16));
    MapOfOutput(is_mapped.then(|| TiledMatrix {
        address: 0,
        element_bytes: bytes as u32,
        sizes: [n as u64, m as u64],
        stride: stride as u64,
        tile: [(128 / bytes) as u32, 16],
        swizzle: Swizzle::Bytes128,
        stack: Some(Stack {
            count: count as u64,
            stride: (m * stride) as u64,
        }),
        to_tf32: false,
    }))
}

/// Returns the tensor map of an operand, which is a stack of some matrices, for tiles of so many rows, 128 bytes each. It
/// rounds `f32` to TF32.
pub(super) fn map<T: Element>(
    plan: &Plan<'_>,
    rect: &MatrixRect<'_, T>,
    stack: usize,
    as_row: bool,
    rows: usize,
) -> Result<EncodedTensorMap> {
    let [width, height, stride, next] = layout(rect, stack, as_row);
    plan.device.tensor_map(&TiledMatrix {
        address: rect.elements().address(),
        element_bytes: size_of::<T>() as u32,
        sizes: [width as u64, height as u64],
        stride: stride as u64,
        tile: [128 / size_of::<T>() as u32, rows as u32],
        swizzle: Swizzle::Bytes128,
        stack: Some(Stack {
            count: stack as u64,
            // Of one matrix any distance will do.
            stride: next.next_multiple_of(16) as u64,
        }),
        // Exact products of `f32` have no maps.
        to_tf32: size_of::<T>() == size_of::<f32>(),
    })
}
