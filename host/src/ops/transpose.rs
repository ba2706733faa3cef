//! Transposes of row-major matrices.

use warpwright_gpu::{
    Family,
    transpose::{FAMILY, Word, policy::cut},
};

pub use warpwright_gpu::transpose::Variant;

use super::{
    plan::{Place, Plan},
    request::{Destination, New, Operation, Prepared, Request, Shape},
};
use crate::{
    buffer::Element,
    device::Device,
    error::{Error, InvalidKind, Result},
    matrix::{Matrix, MatrixView},
};

impl Device {
    /// Transposes `matrix`: the result is a `width` x `height` matrix with `output[x][y] = input[y][x]`.
    ///
    /// Elements can have 1, 2, 4, 8 or 16 bytes. The matrix can have any shape, including one without elements. The result
    /// is exact: every variant gives the same result on every device. Queues the work and does not wait.
    ///
    /// # Errors
    /// [`Error::Invalid`] for elements of another size, [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and errors of
    /// the device.
    pub fn transpose<'a, T: Element>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> Result<Matrix<T>> {
        self.transpose_request(matrix).run()
    }

    /// Makes a request of [`transpose`](Self::transpose), with options.
    pub fn transpose_request<'a, T: Element>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> TransposeRequest<'a, T> {
        let input = matrix.into();
        Request::new(self, Transpose { input })
    }
}

/// A transpose. It needs no workspace.
#[derive(Debug, Clone)]
pub struct Transpose<'a, T> {
    input: MatrixView<'a, T>,
}

/// A request of a transpose.
pub type TransposeRequest<'a, T, D = New> = Request<Transpose<'a, T>, D>;
/// A transpose whose variant is chosen and whose result has its memory.
pub type PreparedTranspose<'a, T, R = Matrix<T>> = Prepared<Transpose<'a, T>, R>;

impl<T: Element, D: Destination<Matrix<T>>> TransposeRequest<'_, T, D> {
    /// Transposes the matrix and returns the result. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::transpose`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<D::Claimed> {
        self.prepare()?.made()
    }
}

impl<T: Element> Operation for Transpose<'_, T> {
    type Output = Matrix<T>;

    fn name(&self) -> &'static str {
        "transpose"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let input = plan.input(self.input.as_vector())?;
        let (height, width) = (self.input.height(), self.input.width());
        let variant = Variant::ALL[plan.choice.index];
        transposed(
            plan,
            variant,
            input,
            Place::output(input.len()),
            [height, width],
        )?;
        Ok(Shape::Matrix(width, height))
    }
}

/// Plans the transpose of a matrix of this height and width.
pub(super) fn transposed<T>(
    plan: &mut Plan<'_>,
    variant: Variant,
    input: Place<T>,
    output: Place<T>,
    shape: [usize; 2],
) -> Result<()> {
    match size_of::<T>() {
        1 => words::<u8>(plan, variant, input.cast(), output.cast(), shape),
        2 => words::<u16>(plan, variant, input.cast(), output.cast(), shape),
        4 => words::<u32>(plan, variant, input.cast(), output.cast(), shape),
        8 => words::<u64>(plan, variant, input.cast(), output.cast(), shape),
        16 => words::<u128>(plan, variant, input.cast(), output.cast(), shape),
        size => Err(Error::invalid(
            InvalidKind::ElementSize,
            plan.operation,
            "elements of 1, 2, 4, 8 or 16 bytes",
            format!("{size}"),
        )),
    }
}

/// Plans the transpose of a matrix of words.
fn words<W: Word>(
    plan: &mut Plan<'_>,
    variant: Variant,
    input: Place<W>,
    output: Place<W>,
    [height, width]: [usize; 2],
) -> Result<()> {
    if height.min(width) == 0 {
        return Ok(());
    }
    if height.min(width) == 1 {
        // A single row or column keeps its order.
        plan.copy_to(input, output);
        return Ok(());
    }
    let kernel = W::kernel(variant);
    let policy = plan.policy(kernel, size_of::<W>());
    let cut = cut(variant, policy, size_of::<W>());
    let tiles = width
        .div_ceil(cut.tile_width)
        .saturating_mul(height.div_ceil(cut.tile_height));
    let config = plan.tiles(tiles, cut.block)?;
    // SAFETY: input and output have `width * height` elements and do not overlap, and the grid has a block per tile.
    unsafe { plan.launch(kernel, config, (input, output, width, height)) };
    Ok(())
}
