//! One-dimensional convolution of a vector, or of each row of a matrix.

use cuda_std::kernel::{KernelDescriptor, LaunchConfig};
pub use warpwright_gpu::convolution::Boundary;
use warpwright_gpu::convolution::{
    FAMILY, Kernels, Sample, Weight,
    policy::{self, Policy},
};

use super::{Choice, ChosenBy, choose, grid_size, made::Made, sealed::Sealed};
use crate::{
    buffer::{Element, Vector, VectorView, VectorViewMut},
    device::Device,
    error::{Error, Result},
    executor::{Launch, ordered},
    launch::RawArgs,
    matrix::{Matrix, MatrixView},
};

/// An element type that can be convolved: `u8`, `f32`, `f64`.
pub trait Convolvable: Element + Sealed {
    /// The type of the mask's weights, in which sums are made too: `f32` for `u8` and `f32`, `f64` for
    /// `f64`.
    type Mask: Element + Weight + std::fmt::Debug;
    #[doc(hidden)]
    type Sample: Kernels + Sample<Sum = Self::Mask>;
}

macro_rules! convolvable {
    ($($ty:ident: $mask:ident;)*) => { $(
        impl Convolvable for $ty {
            type Mask = $mask;
            type Sample = $ty;
        }
    )* };
}
convolvable! {
    u8: f32;
    f32: f32;
    f64: f64;
}

/// What a request convolves: a vector, or the rows of a matrix.
pub trait Signal<'a>: Copy + Sealed {
    /// The elements.
    type Element: Convolvable;
    /// The result: a vector or a matrix of the same shape.
    type Output;

    #[doc(hidden)]
    fn parts(self) -> (VectorView<'a, Self::Element>, usize, usize);
    #[doc(hidden)]
    fn output(self, device: &Device) -> Result<Self::Output>;
    #[doc(hidden)]
    fn elements(output: &mut Self::Output) -> VectorViewMut<'_, Self::Element>;
}

impl<T> Sealed for VectorView<'_, T> {}
impl<T> Sealed for MatrixView<'_, T> {}

impl<'a, T: Convolvable> Signal<'a> for VectorView<'a, T> {
    type Element = T;
    type Output = Vector<T>;

    fn parts(self) -> (VectorView<'a, T>, usize, usize) {
        (self, 1, self.len())
    }

    fn output(self, device: &Device) -> Result<Vector<T>> {
        Vector::uninit(device, OPERATION, self.len())
    }

    fn elements(output: &mut Vector<T>) -> VectorViewMut<'_, T> {
        output.view_mut()
    }
}

impl<'a, T: Convolvable> Signal<'a> for MatrixView<'a, T> {
    type Element = T;
    type Output = Matrix<T>;

    fn parts(self) -> (VectorView<'a, T>, usize, usize) {
        (self.as_vector(), self.height(), self.width())
    }

    fn output(self, device: &Device) -> Result<Matrix<T>> {
        Matrix::uninit(device, OPERATION, self.height(), self.width())
    }

    fn elements(output: &mut Matrix<T>) -> VectorViewMut<'_, T> {
        output.as_vector_mut()
    }
}

const OPERATION: &str = "convolve";

/// What a mask is made of.
type MaskOf<'a, S> = <<S as Signal<'a>>::Element as Convolvable>::Mask;

impl Device {
    /// The convolution of `values` with `mask`: element `i` of the result is the sum of
    /// `mask[j] * values[i - mask.len() / 2 + j]` over all `j`, with zeros outside of `values`.
    ///
    /// The mask is not flipped: this is a correlation, and a mask that is turned around makes it the
    /// convolution of a textbook. Any mask of at least one weight, also wider than the values; any number
    /// of values, also none. The result has as many elements as there are values, of their type.
    ///
    /// Sums are made in the type of the mask, go through the window in order and take each weight by one fused
    /// multiply-add: every variant gives the same bits on every device (but for the payload of a NaN). The
    /// error is at most `k / (1 - k)` times the sum of the products' magnitudes, with
    /// `k = mask.len() * 2^-24` (`2^-53` for `f64`). An element outside is multiplied like any other, so an
    /// infinite weight on a zero gives NaN. For `u8` the sum is rounded to the nearest integer, of two to
    /// the even one, and limited to 0 to 255; NaN gives 0.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the mask is empty, [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and what
    /// the device reports.
    pub fn convolve<'a, T: Convolvable>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        mask: &[T::Mask],
    ) -> Result<Vector<T>> {
        self.convolve_request(values, mask).run()
    }

    /// [`convolve`](Self::convolve) with options.
    pub fn convolve_request<'a, T: Convolvable>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        mask: &[T::Mask],
    ) -> ConvolveRequest<'a, VectorView<'a, T>> {
        ConvolveRequest::new(self, values.into(), mask)
    }

    /// The convolution of each row of `matrix` with `mask`, as [`convolve`](Self::convolve) does it for the
    /// row alone.
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

    /// [`convolve_rows`](Self::convolve_rows) with options.
    pub fn convolve_rows_request<'a, T: Convolvable>(
        &self,
        matrix: impl Into<MatrixView<'a, T>>,
        mask: &[T::Mask],
    ) -> ConvolveRequest<'a, MatrixView<'a, T>> {
        ConvolveRequest::new(self, matrix.into(), mask)
    }
}

/// A convolution that is to be done.
#[derive(Debug, Clone)]
#[must_use = "a request does nothing until it is run"]
pub struct ConvolveRequest<'a, S: Signal<'a>> {
    device: Device,
    input: S,
    mask: Vec<MaskOf<'a, S>>,
    boundary: Boundary,
    variant: Option<String>,
}

impl<'a, S: Signal<'a>> ConvolveRequest<'a, S> {
    fn new(device: &Device, input: S, mask: &[MaskOf<'a, S>]) -> Self {
        Self {
            device: device.clone(),
            input,
            mask: mask.to_vec(),
            boundary: Boundary::default(),
            variant: None,
        }
    }

    /// What lies outside of the values, or of a row; zeros by default.
    pub fn boundary(mut self, boundary: Boundary) -> Self {
        self.boundary = boundary;
        self
    }

    /// Uses the variant called `name`: `basic`, `constant_mask`, `tiled` or `best`.
    pub fn variant(mut self, name: impl Into<String>) -> Self {
        self.variant = Some(name.into());
        self
    }

    /// Does it.
    ///
    /// # Errors
    /// As for [`Device::convolve`]; [`Error::UnknownVariant`] and [`Error::NotEligible`] too.
    pub fn run(self) -> Result<S::Output> {
        let mut prepared = self.prepare()?;
        prepared.enqueue()?;
        prepared.into_output()
    }

    /// Chooses the variant and makes room for the result, so that the work can be queued repeatedly.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn prepare(self) -> Result<PreparedConvolve<'a, S>> {
        let Self {
            device,
            input,
            mask,
            boundary,
            variant,
        } = self;
        if mask.is_empty() {
            return Err(Error::invalid(
                OPERATION,
                "a mask of 1 weight or more",
                "none",
            ));
        }
        let (view, height, width) = input.parts();
        device.require_same(OPERATION, view.device())?;
        let choice = choose(&FAMILY, variant.as_deref())?;
        let plan = plan::<<S::Element as Convolvable>::Sample>(
            &device,
            choice,
            Problem {
                address: view.address() as usize,
                height,
                width,
                mask: &mask,
            },
        )?;
        let output = input.output(&device)?;
        let weights = match plan.weights {
            Weights::Constants { values, apart } => Placed::Constants { values, apart },
            Weights::Global => Placed::Global(device.upload(&mask)?),
        };
        Ok(PreparedConvolve {
            device,
            input,
            output: Made::at(OPERATION, output),
            mask_width: mask.len(),
            boundary,
            choice,
            launch: plan.launch,
            weights,
            tiles: plan.tiles,
        })
    }
}

/// What is to be convolved with what.
struct Problem<'a, W> {
    /// Of the first element, in bytes.
    address: usize,
    height: usize,
    width: usize,
    mask: &'a [W],
}

struct Plan<W> {
    /// None where there are no elements.
    launch: Option<(&'static KernelDescriptor, LaunchConfig)>,
    weights: Weights<W>,
    /// How many a block goes through; `best` wants to know.
    tiles: Option<u32>,
}

/// How a kernel gets the mask.
enum Weights<W> {
    /// As a view of global memory.
    Global,
    /// In its table in constant memory: what that has to hold. `best` wants to know how far the copies in
    /// it are apart.
    Constants {
        values: Vec<W>,
        apart: Option<usize>,
    },
}

/// A mask in its place.
#[derive(Debug)]
enum Placed<W> {
    Global(Vector<W>),
    Constants {
        values: Vec<W>,
        apart: Option<usize>,
    },
}

fn plan<T: Kernels>(
    device: &Device,
    choice: Choice,
    problem: Problem<'_, T::Sum>,
) -> Result<Plan<T::Sum>> {
    let Problem {
        height,
        width,
        mask,
        ..
    } = problem;
    let mut kernel = T::KERNELS[choice.index];
    let (mut threads, mut span) = (policy::RUNG_BLOCK, policy::RUNG_BLOCK);
    let mut shared_bytes = 0;
    let mut tiles = None;
    let weights = match choice.variant() {
        "basic" => Weights::Global,
        "best" => {
            let weights = copies::<T>(&problem);
            let long = matches!(weights, Weights::Global);
            if mask.len() / T::CHUNK >= u32::MAX as usize {
                return Err(Error::NotEligible {
                    family: FAMILY.name,
                    variant: "best",
                    reason: format!(
                        "it takes masks of fewer than {} weights, given {}; basic takes any",
                        u32::MAX as usize * T::CHUNK,
                        mask.len()
                    ),
                });
            }
            if long {
                kernel = T::LONG;
            }
            let tuned: Policy = device.policy(kernel, size_of::<T>());
            threads = policy::BEST_BLOCK;
            shared_bytes = policy::best_shared_bytes(mask.len(), T::CHUNK, long);
            let mut each = if long {
                1
            } else {
                tuned.most_tiles(mask.len(), width, T::CHUNK)
            };
            if each > 1
                && let Some(resident) = device.resident_blocks(
                    OPERATION,
                    kernel,
                    threads as u32,
                    shared_bytes as u32,
                )?
            {
                let resident = resident as usize * device.info().multiprocessors.max(1) as usize;
                let blocks = width.div_ceil(policy::best_span(T::CHUNK));
                each = policy::filling_tiles(each, blocks.saturating_mul(height), resident);
            }
            span = policy::best_span(T::CHUNK) * each as usize;
            tiles = (!long).then_some(each);
            weights
        }
        variant => {
            if mask.len() > policy::MOST_CONSTANTS {
                return Err(Error::NotEligible {
                    family: FAMILY.name,
                    variant,
                    reason: format!(
                        "it takes masks of {} weights at most, given {}; basic and best take any",
                        policy::MOST_CONSTANTS,
                        mask.len()
                    ),
                });
            }
            if variant == "tiled" {
                shared_bytes = (policy::RUNG_BLOCK - 1 + mask.len()) * size_of::<T>();
            }
            let values = mask.to_vec();
            Weights::Constants {
                values,
                apart: None,
            }
        }
    };
    let launch = if height == 0 || width == 0 {
        None
    } else {
        let blocks = width.div_ceil(span).saturating_mul(height);
        let config = LaunchConfig {
            grid: [grid_size(&FAMILY, choice, blocks)?, 1, 1],
            block: [threads as u32, 1, 1],
            shared_bytes: shared_bytes as u32,
        };
        Some((kernel, config))
    };
    Ok(Plan {
        launch,
        weights,
        tiles,
    })
}

/// The mask as `best` wants it in constant memory: behind as many weights that are none as the aligned
/// address lies before a block's first window. Where that differs between rows, a copy for each case.
fn copies<T: Kernels>(problem: &Problem<'_, T::Sum>) -> Weights<T::Sum> {
    let Problem {
        address,
        height,
        width,
        mask,
    } = *problem;
    let len = mask.len();
    let same = height <= 1 || width.is_multiple_of(T::CHUNK);
    let (skips, apart) = if same {
        let skip = (address / size_of::<T>()).wrapping_sub(len / 2) % T::CHUNK;
        (skip..skip + 1, 0)
    } else {
        (0..T::CHUNK, (T::CHUNK - 1 + len).next_multiple_of(T::CHUNK))
    };
    let mut values = Vec::new();
    for skip in skips {
        if values.len() + skip + len > policy::MOST_CONSTANTS {
            return Weights::Global;
        }
        values.extend(std::iter::repeat_n(T::Sum::ZERO, skip));
        values.extend_from_slice(mask);
        let full = (values.len())
            .next_multiple_of(T::CHUNK)
            .max(skip * apart + apart);
        values.resize(full, T::Sum::ZERO);
    }
    if values.len() > policy::MOST_CONSTANTS {
        return Weights::Global;
    }
    Weights::Constants {
        values,
        apart: Some(apart),
    }
}

/// A convolution whose variant is chosen and whose result has its place.
#[derive(Debug)]
pub struct PreparedConvolve<'a, S: Signal<'a>> {
    device: Device,
    input: S,
    output: Made<S::Output>,
    mask_width: usize,
    boundary: Boundary,
    choice: Choice,
    launch: Option<(&'static KernelDescriptor, LaunchConfig)>,
    weights: Placed<MaskOf<'a, S>>,
    tiles: Option<u32>,
}

impl<'a, S: Signal<'a>> PreparedConvolve<'a, S> {
    /// The variant that runs.
    pub fn variant(&self) -> &'static str {
        self.choice.variant()
    }

    /// Who chose it.
    pub fn chosen_by(&self) -> ChosenBy {
        self.choice.chosen_by()
    }

    /// Bytes of device memory that it takes beside the result: the mask's, where constant memory has no room for it or the
    /// variant does not look there; else none.
    pub fn workspace_bytes(&self) -> usize {
        match &self.weights {
            Placed::Global(mask) => mask.len() * size_of::<MaskOf<'a, S>>(),
            Placed::Constants { .. } => 0,
        }
    }

    /// Queues the work.
    ///
    /// # Errors
    /// What the device reports.
    pub fn enqueue(&mut self) -> Result<()> {
        self.output.by(|output| {
            let Some((kernel, config)) = self.launch else {
                return Ok(());
            };
            let (input, _, width) = self.input.parts();
            let output = S::elements(output);
            let mut args = RawArgs::new();
            args.view(input.address(), input.len());
            let constants = match &self.weights {
                Placed::Global(mask) => {
                    args.view(mask.view().address(), mask.len())
                        .view(output.address(), output.len())
                        .value(width);
                    None
                }
                Placed::Constants { values, apart } => {
                    args.view(output.address(), output.len())
                        .value(width)
                        .value(self.mask_width);
                    if let Some(apart) = apart {
                        args.value(*apart);
                    }
                    Some(MaskOf::<'a, S>::table().with(values))
                }
            };
            if let Some(tiles) = self.tiles {
                args.value(tiles);
            }
            args.value(self.boundary);
            let params = args.pointers();
            let launch = Launch {
                operation: OPERATION,
                kernel,
                config,
                params: &params,
                module: None,
                constants: constants.as_slice(),
            };
            ordered(&self.device.executor, &[input.device()], || {
                // SAFETY: the output is a new allocation with as many elements as the input, a multiple of the
                // row's width, which is not 0; the grid has a block per part of a row; the table holds the mask
                // as the kernel wants it, and the mask in global memory is this request's own.
                unsafe { self.device.launch_tuned(&launch) }
            })
        })
    }

    /// The result of the work queued last.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no work was queued, or the last could not be.
    pub fn output(&self) -> Result<&S::Output> {
        self.output.get()
    }

    /// The result of the work queued last, to keep.
    ///
    /// # Errors
    /// As for [`output`](Self::output).
    pub fn into_output(self) -> Result<S::Output> {
        self.output.take()
    }
}
