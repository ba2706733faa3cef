//! One-dimensional convolution of a vector, or of each row of a matrix.

pub use warpwright_gpu::convolution::Boundary;
use warpwright_gpu::{
    Family,
    convolution::{
        FAMILY, Kernels, Weight,
        policy::{self, Policy},
    },
};

use cuda_std::kernel::LaunchConfig;

pub use warpwright_gpu::convolution::Variant;

use super::{
    plan::{Constants, Place, Plan},
    request::{Destination, Make, New, Operation, Prepared, Request, Shape},
    sealed::Sealed,
};
use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::{Error, InvalidKind, Result},
    matrix::{Matrix, MatrixView},
};

/// An element type that can be convolved: `u8`, `f32`, `f64`.
pub trait Convolvable: Element + Sealed {
    /// The type of the mask's weights and of the sums: `f32` for `u8` and `f32`, `f64` for `f64`.
    type Mask: Element + Weight + std::fmt::Debug;
    #[doc(hidden)]
    fn plan(plan: &mut Plan<'_>, problem: &Problem<'_, Self, Self::Mask>) -> Result<()>;
}

macro_rules! convolvable {
    ($($ty:ident: $mask:ident;)*) => { $(
        impl Convolvable for $ty {
            type Mask = $mask;

            fn plan(plan: &mut Plan<'_>, problem: &Problem<'_, $ty, $mask>) -> Result<()> {
                problem.plan(plan)
            }
        }
    )* };
}
convolvable! {
    u8: f32;
    f32: f32;
    f64: f64;
}

/// The input of a convolution: a vector, or a matrix whose rows are convolved.
pub trait Signal<'a>: Copy + Sealed {
    /// The element type.
    type Element: Convolvable;
    /// The result: a vector or a matrix of the same shape.
    type Output: Make;

    /// Returns the elements, the number of rows and the number of columns.
    #[doc(hidden)]
    fn parts(self) -> (VectorView<'a, Self::Element>, usize, usize);
    #[doc(hidden)]
    fn shape(self) -> Shape;
}

impl<T> Sealed for VectorView<'_, T> {}
impl<T> Sealed for MatrixView<'_, T> {}

impl<'a, T: Convolvable> Signal<'a> for VectorView<'a, T> {
    type Element = T;
    type Output = Vector<T>;

    fn parts(self) -> (VectorView<'a, T>, usize, usize) {
        (self, 1, self.len())
    }

    fn shape(self) -> Shape {
        Shape::Vector(self.len())
    }
}

impl<'a, T: Convolvable> Signal<'a> for MatrixView<'a, T> {
    type Element = T;
    type Output = Matrix<T>;

    fn parts(self) -> (VectorView<'a, T>, usize, usize) {
        (self.as_vector(), self.height(), self.width())
    }

    fn shape(self) -> Shape {
        Shape::Matrix(self.height(), self.width())
    }
}

const OPERATION: &str = "convolve";

/// The type of a mask's weights.
type MaskOf<'a, S> = <<S as Signal<'a>>::Element as Convolvable>::Mask;

impl Device {
    /// Convolves `values` with `mask`: element `i` of the result is the sum of `mask[j] * values[i - mask.len() / 2 + j]`
    /// over all `j`, with zeros outside of `values`.
    ///
    /// The mask is not flipped: this is a correlation. A reversed mask makes it the convolution of textbooks. The mask can
    /// have any number of weights from 1, even more than there are values. There can be any number of values, including
    /// none. The result has the length and the element type of `values`.
    ///
    /// Sums are computed in the mask's type, in the order of the window, with one fused multiply-add per weight: every
    /// variant gives the same bits on every device, except for the payload of a NaN. The error is at most `k / (1 - k)`
    /// times the sum of the products' magnitudes, with `k = mask.len() * 2^-24` (`2^-53` for `f64`). An element outside is
    /// multiplied like any other, so an infinite weight times a zero gives NaN. For `u8` the sum is rounded to the nearest
    /// integer, ties to even, and clamped to 0 to 255; NaN gives 0.
    ///
    /// Queues the work and does not wait, but for the [upload](Self::upload) of a mask that does not fit constant memory.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the mask is empty, [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and errors of the
    /// device.
    pub fn convolve<'a, T: Convolvable>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        mask: &[T::Mask],
    ) -> Result<Vector<T>> {
        self.convolve_request(values, mask).run()
    }

    /// Makes a request of [`convolve`](Self::convolve), with options.
    pub fn convolve_request<'a, T: Convolvable>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        mask: &[T::Mask],
    ) -> ConvolveRequest<'a, VectorView<'a, T>> {
        Convolve::request(self, values.into(), mask)
    }

    /// Convolves each row of `matrix` with `mask`, as [`convolve`](Self::convolve) does for the row alone; it waits as that
    /// does.
    ///
    /// # Errors
    /// As for [`convolve`](Self::convolve).
    pub fn convolve_rows<'a, T: Convolvable>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
        mask: &[T::Mask],
    ) -> Result<Matrix<T>> {
        self.convolve_rows_request(matrix, mask).run()
    }

    /// Makes a request of [`convolve_rows`](Self::convolve_rows), with options.
    pub fn convolve_rows_request<'a, T: Convolvable>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
        mask: &[T::Mask],
    ) -> ConvolveRequest<'a, MatrixView<'a, T>> {
        Convolve::request(self, matrix.into(), mask)
    }
}

/// A convolution of a signal. Its workspace holds the mask if the mask does not fit constant memory, or if the variant does
/// not read constant memory.
#[derive(Debug, Clone)]
pub struct Convolve<'a, S: Signal<'a>> {
    input: S,
    mask: Vec<MaskOf<'a, S>>,
    boundary: Boundary,
    in_memory: bool,
}

/// A request of a convolution.
pub type ConvolveRequest<'a, S, D = New> = Request<Convolve<'a, S>, D>;
/// A convolution whose variant is chosen and whose result has its memory.
pub type PreparedConvolve<'a, S, R = <S as Signal<'a>>::Output> = Prepared<Convolve<'a, S>, R>;

impl<'a, S: Signal<'a>> Convolve<'a, S> {
    fn request(device: &Device, input: S, mask: &[MaskOf<'a, S>]) -> ConvolveRequest<'a, S> {
        let (mask, boundary) = (mask.to_vec(), Boundary::default());
        let convolve = Self {
            input,
            mask,
            boundary,
            in_memory: false,
        };
        Request::new(device, convolve)
    }
}

impl<'a, S: Signal<'a>, D> ConvolveRequest<'a, S, D> {
    /// Sets what lies outside of the values, or of a row. The default is zeros.
    pub fn boundary(mut self, boundary: Boundary) -> Self {
        self.op.boundary = boundary;
        self
    }

    /// Keeps the mask in the workspace, however short it is, so that a [graph](Device::capture) takes the work: a convolution
    /// whose mask is in constant memory it refuses. The result is the same, and may take longer. Of the rungs below `best`,
    /// `basic` alone keeps the mask there anyway, and the others ignore this option.
    pub fn mask_in_memory(mut self) -> Self {
        self.op.in_memory = true;
        self
    }

    /// Computes the convolution and returns its result. Waits as [`Device::convolve`] does.
    ///
    /// # Errors
    /// As for [`Device::convolve`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<D::Claimed>
    where
        D: Destination<S::Output>,
    {
        self.prepare()?.made()
    }
}

impl<'a, S: Signal<'a>> Operation for Convolve<'a, S> {
    type Output = S::Output;

    fn name(&self) -> &'static str {
        OPERATION
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        if self.mask.is_empty() {
            return Err(Error::invalid(
                InvalidKind::Length,
                OPERATION,
                "a mask of 1 weight or more",
                "none",
            ));
        }
        let (view, height, width) = self.input.parts();
        let problem = Problem {
            input: plan.input(view)?,
            height,
            width,
            mask: &self.mask,
            boundary: self.boundary,
            in_memory: self.in_memory,
        };
        <S::Element as Convolvable>::plan(plan, &problem)?;
        Ok(self.input.shape())
    }
}

/// The inputs of a convolution: elements and mask.
#[doc(hidden)]
#[derive(Debug)]
pub struct Problem<'a, T, W> {
    input: Place<T>,
    height: usize,
    width: usize,
    mask: &'a [W],
    boundary: Boundary,
    in_memory: bool,
}

#[cfg(feature = "ladder")]
impl<T: Kernels> Problem<'_, T, T::Sum>
where
    T::Sum: Element,
{
    fn rung(&self, plan: &mut Plan<'_>, variant: Variant) -> Result<()> {
        let len = self.mask.len();
        if variant == Variant::Basic {
            return self.basic(plan);
        }
        if len > policy::MOST_CONSTANTS {
            return Err(plan.not_eligible(format!(
                "it takes masks of {} weights at most, given {len}; basic and best take any",
                policy::MOST_CONSTANTS,
            )));
        }
        self.constant(plan, variant == Variant::Tiled)
    }

    fn basic(&self, plan: &mut Plan<'_>) -> Result<()> {
        let Some(config) = self.config(plan, policy::RUNG_BLOCK, policy::RUNG_BLOCK)? else {
            return Ok(());
        };
        let mask = self.in_workspace(plan);
        let args = (self.input, mask, self.output(), self.width, self.boundary);
        // SAFETY: see `config`; the mask is in a room of its own.
        unsafe { plan.launch(T::BASIC, config, args) };
        Ok(())
    }

    /// Plans a rung that reads the mask from constant memory.
    fn constant(&self, plan: &mut Plan<'_>, tiled: bool) -> Result<()> {
        let Some(config) = self.config(plan, policy::RUNG_BLOCK, policy::RUNG_BLOCK)? else {
            return Ok(());
        };
        let len = self.mask.len();
        let (kernel, shared_bytes) = if tiled {
            (T::TILED, (policy::RUNG_BLOCK - 1 + len) * size_of::<T>())
        } else {
            (T::CONSTANT_MASK, 0)
        };
        let config = config.with_shared(shared_bytes as u32);
        let args = (self.input, self.output(), self.width, len, self.boundary);
        // SAFETY: see `config`; the table holds the mask.
        let launch = unsafe { plan.launch(kernel, config, args) };
        launch.constants = Some(in_table::<T::Sum>(self.mask.to_vec()));
        Ok(())
    }
}

impl<T: Kernels> Problem<'_, T, T::Sum>
where
    T::Sum: Element,
{
    fn plan(&self, plan: &mut Plan<'_>) -> Result<()> {
        let len = self.mask.len();
        #[cfg(feature = "ladder")]
        if Variant::ALL[plan.choice.index] != Variant::Best {
            return self.rung(plan, Variant::ALL[plan.choice.index]);
        }
        match self.copies() {
            _ if len / T::CHUNK >= u32::MAX as usize => Err(plan.not_eligible(format!(
                "it takes masks of fewer than {} weights, given {len}",
                u32::MAX as usize * T::CHUNK,
            ))),
            Some((values, apart)) if !self.in_memory => self.best(plan, values, apart),
            _ => self.long(plan),
        }
    }

    fn best(&self, plan: &mut Plan<'_>, values: Vec<T::Sum>, apart: usize) -> Result<()> {
        let tuned: Policy = plan.policy(T::BEST, size_of::<T>());
        let len = self.mask.len();
        let shared_bytes = policy::best_shared_bytes(len, T::CHUNK, false) as u32;
        let span = policy::best_span(T::CHUNK);
        let mut tiles = tuned.most_tiles(len, self.width, T::CHUNK);
        if tiles > 1
            && let Some(resident) = plan.device.resident_blocks(
                OPERATION,
                (T::BEST.descriptor(), None),
                policy::BEST_BLOCK as u32,
                shared_bytes,
            )?
        {
            let resident = resident as usize * plan.device.info().multiprocessors.max(1) as usize;
            let blocks = self.width.div_ceil(span).saturating_mul(self.height);
            tiles = policy::filling_tiles(tiles, blocks, resident);
        }
        let Some(config) = self.config(plan, policy::BEST_BLOCK, span * tiles as usize)? else {
            return Ok(());
        };
        let (width, output) = (self.width, self.output());
        let args = (self.input, output, width, len, apart, tiles, self.boundary);
        // SAFETY: see `config`; the table holds the mask's copies, `apart` elements apart.
        let launch = unsafe { plan.launch(T::BEST, config.with_shared(shared_bytes), args) };
        launch.constants = Some(in_table::<T::Sum>(values));
        Ok(())
    }

    fn long(&self, plan: &mut Plan<'_>) -> Result<()> {
        let span = policy::best_span(T::CHUNK);
        let Some(config) = self.config(plan, policy::BEST_BLOCK, span)? else {
            return Ok(());
        };
        let bytes = policy::best_shared_bytes(self.mask.len(), T::CHUNK, true);
        let config = config.with_shared(bytes as u32);
        let mask = self.in_workspace(plan);
        let args = (self.input, mask, self.output(), self.width, self.boundary);
        // SAFETY: see `config`; the mask is in a room of its own, and has fewer than 2^32 chunks.
        unsafe { plan.launch(T::LONG, config, args) };
        Ok(())
    }

    /// Returns the shape of the launch, or `None` if there are no elements. Otherwise `width` is not 0, the output has as
    /// many elements as the input, and there is a block for every `span` elements of a row.
    fn config(&self, plan: &Plan<'_>, threads: usize, span: usize) -> Result<Option<LaunchConfig>> {
        if self.height == 0 || self.width == 0 {
            return Ok(None);
        }
        let blocks = self.width.div_ceil(span).saturating_mul(self.height);
        plan.linear(blocks, threads).map(Some)
    }

    fn output(&self) -> Place<T> {
        Place::output(self.input.len())
    }

    fn in_workspace(&self, plan: &mut Plan<'_>) -> Place<T::Sum> {
        let mask = self.mask.to_vec();
        plan.kept(mask.len(), move || mask.clone())
    }

    /// Returns the constant-memory table of `best` and the distance between its copies of the mask.
    ///
    /// The mask is preceded by as many zero weights as there are elements between the aligned address and a block's first
    /// window. If that number differs between rows, the table has a copy of the mask for each case. Returns `None` if the
    /// table does not fit constant memory.
    fn copies(&self) -> Option<(Vec<T::Sum>, usize)> {
        let (address, mask) = (self.input.offset() as usize, self.mask);
        let len = mask.len();
        let same = self.height <= 1 || self.width.is_multiple_of(T::CHUNK);
        let (skips, apart) = if same {
            let skip = (address / size_of::<T>()).wrapping_sub(len / 2) % T::CHUNK;
            (skip..skip + 1, 0)
        } else {
            (0..T::CHUNK, (T::CHUNK - 1 + len).next_multiple_of(T::CHUNK))
        };
        let mut values = Vec::new();
        for skip in skips {
            if values.len() + skip + len > policy::MOST_CONSTANTS {
                return None;
            }
            values.extend(std::iter::repeat_n(T::Sum::ZERO, skip));
            values.extend_from_slice(mask);
            let full = (values.len())
                .next_multiple_of(T::CHUNK)
                .max(skip * apart + apart);
            values.resize(full, T::Sum::ZERO);
        }
        if values.len() > policy::MOST_CONSTANTS {
            return None;
        }
        Some((values, apart))
    }
}

/// Sets the constant table of the values' type to the values.
fn in_table<W: Weight + Element>(values: Vec<W>) -> Constants {
    Box::new(move |launch| launch(&[W::table().with(&values)]))
}
