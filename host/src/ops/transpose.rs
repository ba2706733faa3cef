//! Transpose of a row-major matrix.

use cuda_std::kernel::{KernelDescriptor, LaunchConfig};
use warpwright_gpu::transpose::{FAMILY, Word, policy::cuts};

use super::{Choice, ChosenBy, choose, grid_size, made::Made};
use crate::{
    buffer::{Element, copy},
    device::Device,
    error::{Error, Result},
    launch::RawArgs,
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
        TransposeRequest {
            device: self.clone(),
            input: matrix.into(),
            variant: None,
        }
    }
}

/// A transpose that is to be done.
#[derive(Debug, Clone)]
#[must_use = "a request does nothing until it is run"]
pub struct TransposeRequest<'a, T> {
    device: Device,
    input: MatrixView<'a, T>,
    variant: Option<String>,
}

impl<'a, T: Element> TransposeRequest<'a, T> {
    /// Uses the variant called `name`: `naive`, `tiled`, `padded` or `best`.
    pub fn variant(mut self, name: impl Into<String>) -> Self {
        self.variant = Some(name.into());
        self
    }

    /// Does it.
    ///
    /// # Errors
    /// As for [`Device::transpose`]; [`Error::UnknownVariant`] and [`Error::NotEligible`] too.
    pub fn run(self) -> Result<Matrix<T>> {
        let mut prepared = self.prepare()?;
        prepared.enqueue()?;
        prepared.into_output()
    }

    /// Chooses the variant and makes room for the result, so that the work can be queued repeatedly.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn prepare(self) -> Result<PreparedTranspose<'a, T>> {
        let Self {
            device,
            input,
            variant,
        } = self;
        device.require_same("transpose", input.device())?;
        let choice = choose(&FAMILY, variant.as_deref())?;
        let kernels = match size_of::<T>() {
            1 => u8::KERNELS,
            2 => u16::KERNELS,
            4 => u32::KERNELS,
            8 => u64::KERNELS,
            16 => u128::KERNELS,
            size => {
                return Err(Error::invalid(
                    "transpose",
                    "elements of 1, 2, 4, 8 or 16 bytes",
                    format!("{size}"),
                ));
            }
        };
        let kernel = kernels[choice.index];
        let cut = cuts(device.policy(kernel, size_of::<T>()), size_of::<T>())[choice.index];
        let tiles = input
            .width()
            .div_ceil(cut.tile_width)
            .saturating_mul(input.height().div_ceil(cut.tile_height));
        let work = if input.width() == 0 || input.height() == 0 {
            Work::Nothing
        } else if input.width() == 1 || input.height() == 1 {
            Work::Copy
        } else {
            let [x, y] = cut.block;
            let config = LaunchConfig {
                grid: [grid_size(&FAMILY, choice, tiles)?, 1, 1],
                block: [x, y, 1],
                shared_bytes: 0,
            };
            Work::Launch(kernel, config)
        };
        let output = Matrix::uninit(&device, "transpose", input.width(), input.height())?;
        Ok(PreparedTranspose {
            device,
            input,
            output: Made::at("transpose", output),
            choice,
            work,
        })
    }
}

#[derive(Debug)]
enum Work {
    Nothing,
    /// A single row or column stays as it is.
    Copy,
    Launch(&'static KernelDescriptor, LaunchConfig),
}

/// A transpose whose variant is chosen and whose result has its place.
#[derive(Debug)]
pub struct PreparedTranspose<'a, T> {
    device: Device,
    input: MatrixView<'a, T>,
    output: Made<Matrix<T>>,
    choice: Choice,
    work: Work,
}

impl<T: Element> PreparedTranspose<'_, T> {
    /// The variant that runs.
    pub fn variant(&self) -> &'static str {
        self.choice.variant()
    }

    /// Who chose it.
    pub fn chosen_by(&self) -> ChosenBy {
        self.choice.chosen_by()
    }

    /// Bytes of device memory that it takes beside the result: none.
    pub fn workspace_bytes(&self) -> usize {
        0
    }

    /// Queues the work.
    ///
    /// # Errors
    /// What the device reports.
    pub fn enqueue(&mut self) -> Result<()> {
        self.output.by(|output| {
            let (input, mut output) = (self.input.as_vector(), output.as_vector_mut());
            match self.work {
                Work::Nothing => Ok(()),
                Work::Copy => copy("transpose", input, &mut output),
                Work::Launch(kernel, config) => {
                    let mut args = RawArgs::new();
                    args.view(input.address(), input.len())
                        .view(output.address(), output.len())
                        .value(self.input.width())
                        .value(self.input.height());
                    let (launch, owners) = ((kernel, config), [input.device()]);
                    // SAFETY: both have `width * height` elements of the kernel's word size, the output is a
                    // new allocation, and the grid has a block per tile.
                    unsafe { self.device.queue("transpose", launch, &args, &owners) }
                }
            }
        })
    }

    /// The result of the work queued last.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no work was queued, or the last could not be.
    pub fn output(&self) -> Result<&Matrix<T>> {
        self.output.get()
    }

    /// The result of the work queued last, to keep.
    ///
    /// # Errors
    /// As for [`output`](Self::output).
    pub fn into_output(self) -> Result<Matrix<T>> {
        self.output.take()
    }
}
