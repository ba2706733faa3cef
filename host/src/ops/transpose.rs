//! Transpose of a row-major matrix.

use warpwright_gpu::{
    Family,
    transpose::{FAMILY, Word, policy::cuts},
};

pub use warpwright_gpu::transpose::Variant;

use super::{
    plan::{Place, Plan},
    request::{Destination, New, Operation, Prepared, Request, Shape},
};
use crate::{
    buffer::Element,
    device::Device,
    error::{Error, Result},
    matrix::{Matrix, MatrixView},
};

impl Device {
    /// The transpose of `matrix`: a `width` x `height` matrix with `output[x][y] = input[y][x]`.
    ///
    /// Elements of 1, 2, 4, 8 or 16 bytes, any shape, also with no elements. Exact; every variant gives
    /// the same result on every device.
    ///
    /// # Errors
    /// [`Error::Invalid`] for elements of another size, [`Error::DeviceMismatch`],
    /// [`Error::OutOfMemory`], and what the device reports.
    pub fn transpose<'a, T: Element>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> Result<Matrix<T>> {
        self.transpose_request(matrix).run()
    }

    /// A transpose with options.
    pub fn transpose_request<'a, T: Element>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
    ) -> TransposeRequest<'a, T> {
        let input = matrix.into();
        Request::new(self, Transpose { input })
    }
}

/// A transpose; it takes no workspace.
#[derive(Debug, Clone)]
pub struct Transpose<'a, T> {
    input: MatrixView<'a, T>,
}

/// A transpose that is to be done.
pub type TransposeRequest<'a, T, D = New> = Request<Transpose<'a, T>, D>;
/// A transpose whose variant is chosen and whose result has its place.
pub type PreparedTranspose<'a, T, R = Matrix<T>> = Prepared<Transpose<'a, T>, R>;

impl<T: Element, D: Destination<Matrix<T>>> TransposeRequest<'_, T, D> {
    /// Does it.
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
        match size_of::<T>() {
            1 => words::<u8>(plan, input.cast(), height, width),
            2 => words::<u16>(plan, input.cast(), height, width),
            4 => words::<u32>(plan, input.cast(), height, width),
            8 => words::<u64>(plan, input.cast(), height, width),
            16 => words::<u128>(plan, input.cast(), height, width),
            size => Err(Error::invalid(
                plan.operation,
                "elements of 1, 2, 4, 8 or 16 bytes",
                format!("{size}"),
            )),
        }?;
        Ok(Shape::Matrix(width, height))
    }
}

/// The transpose of a matrix of words.
fn words<W: Word>(plan: &mut Plan<'_>, input: Place<W>, height: usize, width: usize) -> Result<()> {
    if height.min(width) == 0 {
        return Ok(());
    }
    if height.min(width) == 1 {
        // A single row or column stays as it is.
        plan.copy(input);
        return Ok(());
    }
    let kernel = W::KERNELS[plan.choice.index];
    let policy = plan.policy(kernel, size_of::<W>());
    let cut = cuts(policy, size_of::<W>())[plan.choice.index];
    let tiles = width
        .div_ceil(cut.tile_width)
        .saturating_mul(height.div_ceil(cut.tile_height));
    let config = plan.tiles(tiles, cut.block)?;
    let output = Place::output(input.len());
    // SAFETY: both have `width * height` elements and do not overlap; the grid has a block per tile.
    unsafe { plan.launch(kernel, config, (input, output, width, height)) };
    Ok(())
}
