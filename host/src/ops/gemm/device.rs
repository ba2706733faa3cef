//! The methods that make requests of matrix products.

use warpwright_gpu::gemm::{Element as _, Epilogue};

use super::{Gemm, GemmElement, GemmGroup, GemmGroupRequest, GemmRequest, Precision, ResultIn};
#[cfg(doc)]
use crate::error::Error;
use crate::{
    buffer::Element,
    device::Device,
    error::Result,
    matrix::Matrix,
    ops::request::{Destination, Request},
    rect::MatrixRect,
};

impl Device {
    /// Multiplies two row-major matrices: `a` is `m` x `k`, `b` is `k` x `n`, and the result is `m` x `n`.
    ///
    /// All sizes are allowed, including 0. If `k` is 0, the result is 0 everywhere. The inputs can be matrices, their
    /// [rows](Matrix::rows) and their [rectangles](Matrix::rect).
    ///
    /// Each element of `f32` and `f64` is the sum of its products in the order of `k`, by fused multiply-adds in the elements'
    /// type. Every variant therefore gives the same bits on every device. The error is at most
    /// `k * epsilon / 2 * sum(|a| * |b|)` to first order.
    ///
    /// Elements of `f16` and `bf16` have sums in `f32`, rounded once to the nearest element. `best` adds 16 products at a time
    /// on tensor cores from compute capability 8.0 on. The same product gives the same bits in every run on one architecture,
    /// and the CPU executor has those of 9.0, but variants and architectures may differ. The error of a sum is at most
    /// `(k + 8) * 2^-23 * sum(|a| * |b|)` for every variant on every device. Before 8.0 `best` multiplies by fused
    /// multiply-adds in `f32`, which is much slower. The result may also be in `f32`, not rounded
    /// ([`gemm_result_in`](Self::gemm_result_in)).
    ///
    /// On 9.0 and on the CPU executor, a product of `f16` or `bf16` whose `k` is long and whose result is small, such as 16 x
    /// 8192 times 8192 x 1024, is the sum of parts of `k`, added in order in `f32`. The parts take a workspace of at most 18
    /// MB. They depend on nothing but the shape and the number of products. Rows of `a` and `b` must begin at multiples of 16
    /// bytes; a product of other matrices has no parts, and other bits.
    ///
    /// Elements of `i8` have sums and a result in `i32`, which is exact up to a `k` of 131,071, and wraps around where it does
    /// not fit: the same bits on every device. On 9.0 `best` reads rows along k that begin at multiples of 16 bytes where they
    /// are: those of `a`, and of a transposed `b`. Other operands are copied, to a workspace of a byte for each element, whose
    /// rows and columns count up to a multiple of 128. Parts of a long `k` take a workspace there as with `f16`.
    ///
    /// Elements of `F8E4M3` and `F8E5M2` (of the crate `float8`) have sums and a result in `f32`; products of `F8E4M3` may have
    /// a result in `bf16` or `f16` ([`gemm_result_in`](Self::gemm_result_in)). On 9.0 and on the CPU
    /// executor `best` adds 32 products at a time on tensor cores, which keep 13 bits, and rounds the sums of each 128 along k
    /// to `f32`. The error of a sum is at most `(2^-5 + k * 2^-24) * sum(|a| * |b|)`, and usually far less. Operands are read
    /// or copied as those of `i8`. On other devices `best` multiplies them as `f16`, with the error of sums of `f16`.
    ///
    /// NaN and infinities propagate as in any such sum. Queues the work and does not wait.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the number of columns of `a` differs from the number of rows of `b`,
    /// [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and errors of the device.
    pub fn matmul<'a, T: GemmElement<Factor = T>>(
        &self,
        a: impl Into<MatrixRect<'a, T>>,
        b: impl Into<MatrixRect<'a, T>>,
    ) -> Result<Matrix<T::Result>> {
        self.gemm(a, b).run()
    }

    /// Makes a request of a matrix product, with options: `alpha * op(A) * op(B) + beta * C`, as in BLAS's GEMM, many such
    /// products at once ([`batch`](Request::batch)), and what follows one in a neural network ([`bias`](Request::bias),
    /// [`relu`](Request::relu), [`gelu`](Request::gelu)).
    ///
    /// ```
    /// # use warpwright::Device;
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::cpu();
    /// let a = device.upload_matrix(&[1.0_f32, 2.0, 3.0, 4.0], 2, 2)?;
    /// let mut c = device.upload_matrix(&[1.0_f32; 4], 2, 2)?;
    /// device.gemm(&a, &a).transpose_b().alpha(2.0).add_to(-1.0, &mut c).run()?;
    /// assert_eq!(c.to_vec()?, [9.0, 21.0, 21.0, 49.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn gemm<'a, T: GemmElement<Factor = T>>(
        &self,
        a: impl Into<MatrixRect<'a, T>>,
        b: impl Into<MatrixRect<'a, T>>,
    ) -> GemmRequest<'a, T> {
        self.gemm_of(a.into(), b.into())
    }

    /// Makes a request of a matrix product as [`gemm`](Self::gemm), whose result, C and bias are of another type `R`: products
    /// of `F8E4M3` with results in `bf16` or `f16`, and of `f16` or `bf16` with results in `f32`. Sums and factors are in
    /// `f32`. A result in `bf16` or `f16` is rounded once, at the end, and one in `f32` is not. `best` alone has such kernels.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// use float8::F8E4M3;
    /// use half::bf16;
    ///
    /// # let device = warpwright::Device::cpu();
    /// let a = device.upload_matrix(&[1.0, 2.0, 3.0, 4.0].map(F8E4M3::from_f32), 2, 2)?;
    /// let c = device.gemm_result_in::<_, bf16>(&a, &a).alpha(0.5).run()?;
    /// assert_eq!(c.to_vec()?, [3.5, 5.0, 7.5, 11.0].map(bf16::from_f32));
    ///
    /// let tenth = device.upload_matrix(&[bf16::from_f32(0.1)], 1, 1)?;
    /// let square = device.gemm_result_in::<_, f32>(&tenth, &tenth).run()?;
    /// assert_eq!(square.to_vec()?, [bf16::from_f32(0.1).to_f32().powi(2)]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn gemm_result_in<'a, T: Element, R>(
        &self,
        a: impl Into<MatrixRect<'a, T>>,
        b: impl Into<MatrixRect<'a, T>>,
    ) -> GemmRequest<'a, ResultIn<T, R>>
    where
        ResultIn<T, R>: GemmElement<Factor = T, Result = R>,
    {
        self.gemm_of(a.into(), b.into())
    }

    /// Makes a request of a group of matrix products, which may differ in everything but their types: sizes, options, and the
    /// places of their results.
    ///
    /// Small products of `f32`, `f16`, `bf16` and `i8` share a launch, so that they fill the device together. A product that
    /// fills it alone has a launch of its own, and so have those of other types. Each product has the bits that it has alone,
    /// with one exception: if it has a long `k`, which alone is the sum of parts (see [`matmul`](Self::matmul)).
    ///
    /// The host makes a table of the products, which is uploaded before the first run.
    ///
    /// ```
    /// # use warpwright::Device;
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::cpu();
    /// let tall = device.upload_matrix(&[1.0_f32, 2.0, 3.0], 3, 1)?;
    /// let wide = device.upload_matrix(&[1.0_f32, 10.0], 1, 2)?;
    /// let products = [device.gemm(&tall, &wide), device.gemm(&tall, &tall).transpose_a()];
    /// let results = device.gemm_group(products).run()?;
    /// assert_eq!(results[0].to_vec()?, [1.0, 10.0, 2.0, 20.0, 3.0, 30.0]);
    /// assert_eq!(results[1].to_vec()?, [14.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Running the request fails as each product does alone, and then computes none of them.
    pub fn gemm_group<'a, T: GemmElement, D: Destination<Matrix<T::Result>>>(
        &self,
        products: impl IntoIterator<Item = GemmRequest<'a, T, D>>,
    ) -> GemmGroupRequest<'a, T, D> {
        Request::new(self, GemmGroup::of(products))
    }

    /// Makes a request of a matrix product of these types.
    #[doc(hidden)]
    pub fn gemm_of<'a, T: GemmElement>(
        &self,
        a: MatrixRect<'a, T::Factor>,
        b: MatrixRect<'a, T::Factor>,
    ) -> GemmRequest<'a, T> {
        let gemm = Gemm {
            a,
            b,
            transpose_a: false,
            transpose_b: false,
            alpha: T::ONE,
            beta: T::Scale::ZERO,
            addend: None,
            count: 1,
            shared: [false; 2],
            bias: None,
            scales: [None; 2],
            activation: Epilogue::NONE,
            precision: Precision::Exact,
            way: None,
            parts: None,
            is_grouped: false,
        };
        Request::new(self, gemm)
    }
}
