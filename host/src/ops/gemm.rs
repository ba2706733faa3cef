//! Matrix product.

use cuda_std::kernel::{KernelDescriptor, LaunchConfig};
use warpwright_gpu::gemm::{
    FAMILY, Kernels, Problem, Strides,
    policy::{self, BEST_MOST_K, CUTS, Cut},
};

use super::{Choice, ChosenBy, choose, grid_size, made::Made, sealed::Sealed as LibraryType};
use crate::{
    buffer::Element,
    device::Device,
    error::{Error, Result},
    launch::RawArgs,
    matrix::Matrix,
    rect::{MatrixRect, MatrixRectMut},
};

/// A type whose matrices can be multiplied: `f32`, `f64`.
pub trait GemmElement: Element + Kernels + LibraryType {
    #[doc(hidden)]
    const ONE: Self;
    #[doc(hidden)]
    const NEGATIVE_ZERO: Self;
}

impl GemmElement for f32 {
    const ONE: Self = 1.0;
    const NEGATIVE_ZERO: Self = -0.0;
}

impl GemmElement for f64 {
    const ONE: Self = 1.0;
    const NEGATIVE_ZERO: Self = -0.0;
}

impl Device {
    /// The product of two row-major matrices: `a` is `m` x `k`, `b` is `k` x `n`, the result `m` x `n`.
    ///
    /// Any sizes, also 0: with no `k` the result is 0 everywhere. Matrices, their
    /// [rows](Matrix::rows) and [rectangles](Matrix::rect).
    ///
    /// Every element is the sum of its products in the order of `k`, each product and sum rounded once
    /// together, in the elements' type. So every variant gives the same bits on every device, and the error
    /// is at most `k * epsilon / 2 * sum(|a| * |b|)` to first order. NaN and infinities come through as
    /// in any such sum.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `a` has not as many columns as `b` has rows, [`Error::DeviceMismatch`],
    /// [`Error::OutOfMemory`], and what the device reports.
    pub fn matmul<'a, T: GemmElement>(
        &self,
        a: impl Into<MatrixRect<'a, T>>,
        b: impl Into<MatrixRect<'a, T>>,
    ) -> Result<Matrix<T>> {
        self.gemm(a, b).run()
    }

    /// The product with options: `alpha * op(A) * op(B) + beta * C`, as BLAS's GEMM has it.
    ///
    /// ```
    /// # use warpwright::Device;
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::cpu();
    /// let a = device.upload_matrix(&[1.0_f32, 2.0, 3.0, 4.0], 2, 2)?;
    /// let mut c = device.upload_matrix(&[1.0_f32; 4], 2, 2)?;
    /// device.gemm(&a, &a).transpose_b().alpha(2.0).beta_c(-1.0, &mut c).run()?;
    /// assert_eq!(c.to_vec()?, [9.0, 21.0, 21.0, 49.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn gemm<'a, T: GemmElement>(
        &self,
        a: impl Into<MatrixRect<'a, T>>,
        b: impl Into<MatrixRect<'a, T>>,
    ) -> GemmRequest<'a, T> {
        GemmRequest {
            device: self.clone(),
            a: a.into(),
            b: b.into(),
            transpose_a: false,
            transpose_b: false,
            alpha: T::ONE,
            beta: T::ZERO,
            c: NewMatrix(()),
            variant: None,
        }
    }
}

/// What a product is written to unless it is told otherwise: a matrix of its own.
#[derive(Debug, Clone, Copy)]
pub struct NewMatrix(());

/// What a product can be written to: a new matrix, a [`Matrix`], `&mut Matrix`, or a [`MatrixRectMut`].
pub trait Destination<T>: sealed::Claim<T> {}
impl<T, C: sealed::Claim<T>> Destination<T> for C {}

mod sealed {
    use super::*;

    /// Something that becomes a place for an `m` x `n` result.
    pub trait Claim<T> {
        type Claimed: Claimed<T>;
        fn claim(self, device: &Device, m: usize, n: usize) -> Result<Self::Claimed>;
    }

    /// A place for a result.
    pub trait Claimed<T> {
        fn rect(&mut self) -> MatrixRectMut<'_, T>;
    }

    impl<T: Element> Claim<T> for NewMatrix {
        type Claimed = Matrix<T>;
        fn claim(self, device: &Device, m: usize, n: usize) -> Result<Matrix<T>> {
            Matrix::uninit(device, OPERATION, m, n)
        }
    }

    macro_rules! claims {
        ($([$($lifetime:lifetime)?] $ty:ty, $rect:expr;)*) => { $(
            impl<$($lifetime,)? T: Element> Claim<T> for $ty {
                type Claimed = Self;
                fn claim(mut self, device: &Device, m: usize, n: usize) -> Result<Self> {
                    let rect = Claimed::rect(&mut self);
                    device.require_same(OPERATION, rect.device())?;
                    if (rect.height(), rect.width()) != (m, n) {
                        return Err(Error::invalid(
                            OPERATION,
                            format!("C of {m} x {n}"),
                            format!("{} x {}", rect.height(), rect.width()),
                        ));
                    }
                    Ok(self)
                }
            }

            impl<$($lifetime,)? T: Element> Claimed<T> for $ty {
                fn rect(&mut self) -> MatrixRectMut<'_, T> {
                    let rect: fn(&mut Self) -> MatrixRectMut<'_, T> = $rect;
                    rect(self)
                }
            }
        )* };
    }
    claims! {
        [] Matrix<T>, |matrix| matrix.into();
        ['c] &'c mut Matrix<T>, |matrix| (&mut **matrix).into();
        ['c] MatrixRectMut<'c, T>, |rect| rect.reborrow();
    }
}
use sealed::Claimed;

const OPERATION: &str = "gemm";

/// A product that is to be made.
#[derive(Debug, Clone)]
#[must_use = "a request does nothing until it is run"]
pub struct GemmRequest<'a, T, C = NewMatrix> {
    device: Device,
    a: MatrixRect<'a, T>,
    b: MatrixRect<'a, T>,
    transpose_a: bool,
    transpose_b: bool,
    alpha: T,
    beta: T,
    c: C,
    variant: Option<String>,
}

impl<'a, T: GemmElement, C: Destination<T>> GemmRequest<'a, T, C> {
    /// Multiplies the product by `alpha`. With 0, A and B are not read: their NaNs do not come through.
    pub fn alpha(mut self, alpha: T) -> Self {
        self.alpha = alpha;
        self
    }

    /// Takes the transpose of A, which is then `k` x `m`.
    pub fn transpose_a(mut self) -> Self {
        self.transpose_a = true;
        self
    }

    /// Takes the transpose of B, which is then `n` x `k`.
    pub fn transpose_b(mut self) -> Self {
        self.transpose_b = true;
        self
    }

    /// Overwrites `c`, an `m` x `n` [`Matrix`], `&mut Matrix` or [`MatrixRectMut`], instead of making a new
    /// matrix. C is not read: its NaNs do not stay.
    pub fn into<D: Destination<T>>(self, c: D) -> GemmRequest<'a, T, D> {
        self.beta_c(T::ZERO, c)
    }

    /// Adds `beta * C` and overwrites `c`: an `m` x `n` [`Matrix`], `&mut Matrix` or [`MatrixRectMut`].
    ///
    /// An element becomes `alpha * s + beta * c`, `beta * c` being rounded first, and the rest once. With
    /// `beta` 0 C is not read, as for [`into`](Self::into); without products (`k` or `alpha` is 0) it is
    /// `beta * C`.
    pub fn beta_c<D: Destination<T>>(self, beta: T, c: D) -> GemmRequest<'a, T, D> {
        GemmRequest {
            device: self.device,
            a: self.a,
            b: self.b,
            transpose_a: self.transpose_a,
            transpose_b: self.transpose_b,
            alpha: self.alpha,
            beta,
            c,
            variant: self.variant,
        }
    }

    /// Uses the variant called `name`: `naive`, `tiled` or `best`.
    pub fn variant(mut self, name: impl Into<String>) -> Self {
        self.variant = Some(name.into());
        self
    }

    /// Does it; gives the new matrix, or what the request was told to write to.
    ///
    /// # Errors
    /// As for [`Device::matmul`]; [`Error::Invalid`] too if C has another shape than the product,
    /// [`Error::UnknownVariant`] and [`Error::NotEligible`].
    pub fn run(self) -> Result<C::Claimed> {
        let mut prepared = self.prepare()?;
        prepared.enqueue()?;
        prepared.into_output()
    }

    /// Chooses the variant and makes room for the result, so that the work can be queued repeatedly.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn prepare(self) -> Result<PreparedGemm<'a, T, C::Claimed>> {
        let Self { device, a, b, .. } = self;
        device.require_same(OPERATION, a.device())?;
        device.require_same(OPERATION, b.device())?;
        let choice = choose(&FAMILY, self.variant.as_deref())?;
        let operand = |rect: &MatrixRect<'_, T>, transposed: bool| {
            let (shape, strides) = ([rect.height(), rect.width()], [rect.stride(), 1]);
            let [row, column] = strides;
            if transposed {
                let strides = Strides {
                    row: column,
                    column: row,
                };
                ([shape[1], shape[0]], strides)
            } else {
                (shape, Strides { row, column })
            }
        };
        let ([m, k], a_strides) = operand(&a, self.transpose_a);
        let ([rows, n], b_strides) = operand(&b, self.transpose_b);
        if k != rows {
            return Err(Error::invalid(
                OPERATION,
                "as many columns of op(A) as rows of op(B)",
                format!("op(A) of {m} x {k} and op(B) of {rows} x {n}"),
            ));
        }
        // Without products neither A and B nor alpha may reach the result: only `beta * C`, to which
        // -0 adds nothing, not even a sign.
        let (k, alpha) = match (k == 0 || self.alpha == T::ZERO, self.beta == T::ZERO) {
            (false, _) => (k, self.alpha),
            (true, true) => (0, T::ZERO),
            (true, false) => (0, T::NEGATIVE_ZERO),
        };
        if choice.variant() == "best" && k > BEST_MOST_K {
            return Err(Error::NotEligible {
                family: FAMILY.name,
                variant: choice.variant(),
                reason: format!(
                    "it takes a k of {BEST_MOST_K} at most, given {k}; tiled takes any"
                ),
            });
        }
        let tiles = |cut: &Cut| {
            let [height, width] = cut.tile;
            m.div_ceil(height).saturating_mul(n.div_ceil(width))
        };
        let (mut cut, mut kernels) = (CUTS[choice.index], T::KERNELS[choice.index]);
        let multiprocessors = device.info().multiprocessors as usize;
        if choice.variant() == "best" && policy::is_small(tiles(&cut), multiprocessors) {
            (cut, kernels) = (policy::best_cut(policy::SMALL), T::SMALL);
        }
        let [x, y] = cut.block;
        let config = LaunchConfig {
            grid: [grid_size(&FAMILY, choice, tiles(&cut))?, 1, 1],
            block: [x, y, 1],
            shared_bytes: 0,
        };
        let kernel = kernels[usize::from(self.transpose_a)][usize::from(self.transpose_b)];
        let mut output = self.c.claim(&device, m, n)?;
        let ldc = output.rect().stride();
        Ok(PreparedGemm {
            device,
            a,
            b,
            output: Made::at(OPERATION, output),
            choice,
            kernel,
            config,
            problem: Problem {
                m,
                n,
                k,
                a: a_strides,
                b: b_strides,
                ldc,
            },
            alpha,
            beta: self.beta,
        })
    }
}

/// A product whose variant is chosen and whose result has its place.
#[derive(Debug)]
pub struct PreparedGemm<'a, T, C = Matrix<T>> {
    device: Device,
    a: MatrixRect<'a, T>,
    b: MatrixRect<'a, T>,
    output: Made<C>,
    choice: Choice,
    kernel: &'static KernelDescriptor,
    config: LaunchConfig,
    problem: Problem,
    alpha: T,
    beta: T,
}

impl<T: GemmElement, C: Claimed<T>> PreparedGemm<'_, T, C> {
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

    /// Queues the work. With a `beta` other than 0, C is what it was and the result: queued again, the work
    /// goes on from there.
    ///
    /// # Errors
    /// What the device reports.
    pub fn enqueue(&mut self) -> Result<()> {
        self.output.by(|output| {
            if self.problem.m == 0 || self.problem.n == 0 {
                return Ok(());
            }
            let (a, b, c) = (self.a.elements(), self.b.elements(), output.rect());
            let mut args = RawArgs::new();
            args.view(a.address(), a.len())
                .view(b.address(), b.len())
                .view(c.elements().address(), c.elements().len())
                .value(self.problem)
                .value(self.alpha)
                .value(self.beta);
            let launch = (self.kernel, self.config);
            let owners = [self.a.device(), self.b.device(), c.device()];
            // SAFETY: the rectangles have the sizes and strides of the problem, whose shapes fit; C is
            // borrowed mutably or owned, so it overlaps neither A nor B; the kernel is the one for these
            // transposes; the grid has a block per tile.
            unsafe { self.device.queue(OPERATION, launch, &args, &owners) }
        })
    }

    /// The result of the work queued last.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no work was queued, or the last could not be.
    pub fn output(&self) -> Result<&C> {
        self.output.get()
    }

    /// The result of the work queued last, to keep.
    ///
    /// # Errors
    /// As for [`output`](Self::output).
    pub fn into_output(self) -> Result<C> {
        self.output.take()
    }
}
