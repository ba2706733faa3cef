//! The options of a matrix product.

use warpwright_gpu::gemm::Epilogue;

use super::{Gemm, GemmElement, GemmRequest, Precision, Way};
use crate::{buffer::VectorView, matrix::Matrix, ops::request::Destination, rect::MatrixRect};
#[cfg(doc)]
use crate::{device::Device, error::Error};

impl<'a, T: GemmElement, D> GemmRequest<'a, T, D> {
    /// Multiplies the product by `alpha`. If `alpha` is 0, A and B are not read, and their NaNs do not propagate.
    pub fn alpha(mut self, alpha: T::Scale) -> Self {
        self.op.alpha = alpha;
        self
    }

    /// Uses the transpose of A, which is then `k` x `m`.
    pub fn transpose_a(mut self) -> Self {
        self.op.transpose_a = true;
        self
    }

    /// Uses the transpose of B, which is then `n` x `k`.
    pub fn transpose_b(mut self) -> Self {
        self.op.transpose_b = true;
        self
    }

    /// Computes `count` products at once. A, B and the result are then stacks of `count` matrices of the same size, one below
    /// the other: A of `count * m` rows, or `count * k` if it is transposed.
    ///
    /// Each product is computed as if it were alone, and has the same bits, with one exception: the parts of a long `k` depend
    /// on the number of products (see [`Device::matmul`]).
    ///
    /// ```
    /// # use warpwright::Device;
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::cpu();
    /// // Two matrices of 1 x 2, and two of 2 x 1.
    /// let a = device.upload_matrix(&[1.0_f32, 2.0, 3.0, 4.0], 2, 2)?;
    /// let b = device.upload_matrix(&[1.0_f32, 10.0, 100.0, 1000.0], 4, 1)?;
    /// let c = device.gemm(&a, &b).batch(2).run()?;
    /// assert_eq!((c.height(), c.width()), (2, 1));
    /// assert_eq!(c.to_vec()?, [21.0, 4300.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Running the request fails with [`Error::Invalid`] if `count` is 0, or if it does not divide the rows of A or of B.
    pub fn batch(mut self, count: usize) -> Self {
        self.op.count = count;
        self
    }

    /// Uses the same A for all products of a [`batch`](Self::batch): it is one matrix, no stack.
    pub fn share_a(mut self) -> Self {
        self.op.shared[0] = true;
        self
    }

    /// Uses the same B for all products of a [`batch`](Self::batch): it is one matrix, no stack.
    pub fn share_b(mut self) -> Self {
        self.op.shared[1] = true;
        self
    }

    /// Adds `bias` to each row of the result, after the factors: one element for each column, of the result's type. For results
    /// in `f16` and `bf16` the sum is in `f32`, and the result is still rounded once.
    ///
    /// ```
    /// # use warpwright::Device;
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::cpu();
    /// let inputs = device.upload_matrix(&[1.0_f32, 2.0], 1, 2)?;
    /// let weights = device.upload_matrix(&[1.0_f32, -1.0, 1.0, -1.0], 2, 2)?;
    /// let bias = device.upload(&[0.5_f32, 0.5])?;
    /// let layer = device.gemm(&inputs, &weights).bias(&bias).relu().run()?;
    /// assert_eq!(layer.to_vec()?, [3.5, 0.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Running the request fails with [`Error::Invalid`] if `bias` has not as many elements as the result has columns.
    pub fn bias(mut self, bias: impl Into<VectorView<'a, T::Result>>) -> Self {
        self.op.bias = Some(bias.into());
        self
    }

    /// Multiplies the sums of each row of the result by a factor, before [`alpha`](Self::alpha): one element of `scales` for
    /// each row of all products, of the type of sums. Each product by a factor is rounded once, also that of
    /// [`scale_columns`](Self::scale_columns), which follows.
    ///
    /// So are elements of 8 bits used, whose rows of A and columns of B have scales of their own:
    ///
    /// ```
    /// use float8::F8E4M3;
    /// # use warpwright::Device;
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::cpu();
    /// let number = F8E4M3::from_f32;
    /// let a = device.upload_matrix(&[1.0, 2.0, 3.0, 4.0].map(number), 2, 2)?;
    /// let b = device.upload_matrix(&[1.0, 0.0, 0.0, 1.0].map(number), 2, 2)?;
    /// let (rows, columns) = (device.upload(&[0.5, 100.0])?, device.upload(&[1.0, 0.25])?);
    /// let c = device.gemm(&a, &b).scale_rows(&rows).scale_columns(&columns).run()?;
    /// assert_eq!(c.to_vec()?, [0.5, 0.25, 300.0, 100.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Without products (`k` or `alpha` is 0) the scales are not used. Exact products of `f32`, and those of `f64` before
    /// compute capability 9.0, are then computed by tiles of 64 x 64 elements, which takes more time for large matrices.
    ///
    /// # Errors
    /// Running the request fails with [`Error::Invalid`] if `scales` has not as many elements as the result has rows.
    pub fn scale_rows(mut self, scales: impl Into<VectorView<'a, T::Scale>>) -> Self {
        self.op.scales[0] = Some(scales.into());
        self
    }

    /// Multiplies the sums of each column of the result by a factor, after [`scale_rows`](Self::scale_rows): one element of
    /// `scales` for each column, of the type of sums.
    ///
    /// # Errors
    /// Running the request fails with [`Error::Invalid`] if `scales` has not as many elements as the result has columns.
    pub fn scale_columns(mut self, scales: impl Into<VectorView<'a, T::Scale>>) -> Self {
        self.op.scales[1] = Some(scales.into());
        self
    }

    /// Replaces elements of the result below 0 by 0, after the [`bias`](Self::bias). NaN stays. Replaces
    /// [`gelu`](Self::gelu).
    pub fn relu(mut self) -> Self {
        self.op.activation = Epilogue::RELU;
        self
    }

    /// Computes the Gaussian error linear unit of each element `x` of the result, after the [`bias`](Self::bias): `x` times
    /// the distribution function of the standard normal distribution at `x`. Replaces [`relu`](Self::relu).
    ///
    /// For results in `f16` and `bf16` the error is below `2^-16 * |x|`, before they are rounded. In `f32` and `f64` it is
    /// below `4 * epsilon * |x|`. The bits of the function are the same on every device. Negative infinity gives NaN, as the
    /// formula does.
    ///
    /// # Errors
    /// Running the request fails with [`Error::Invalid`] for matrices of `i8`, which have no such function.
    pub fn gelu(mut self) -> Self {
        self.op.activation = Epilogue::GELU;
        self
    }

    /// Computes a product of `f32` with this [`Precision`].
    ///
    /// [`Bf16x6`](Precision::Bf16x6) divides each element into three of `bf16`, which together have the 24 bits of `f32`, and
    /// adds six of their nine products, on tensor cores. It takes compute capability 9.0 or the CPU executor, which give the
    /// same bits, and `best`.
    /// - The error of a sum is at most `(k / 64 + 64) * 2^-24 * sum(|a| * |b|)`, where the exact product's bound is
    ///   `k * 2^-24 * sum(|a| * |b|)`, plus `2^-133` for each `a` and `b` times the other one. The bits differ from those of
    ///   the exact product.
    /// - A sum that is an infinity or NaN is computed again as an exact one, and has its value. That is slow if there are many.
    /// - The workspace has 6 bytes for each element of A and B, whose `m`, `n` and `k` count up to a multiple of 128, 128 and
    ///   64.
    ///
    /// [`Tf32`](Precision::Tf32) rounds each element to the nearest with 10 bits of a fraction, ties to even, and adds their
    /// products on tensor cores, 8 at a time. It takes the same devices, with the same bits on all of them, and `best`.
    /// - The error of a sum is at most `(2^-10 + 2^-22 + (k + 8) * 2^-23) * sum(|a| * |b|)`, plus `2^-137` for each `a` and `b`
    ///   times the other one.
    /// - Numbers beyond the largest of TF32, which are above `3.40199e38`, become infinite, and infinities and NaN propagate.
    /// - Operands whose rows begin at multiples of 16 bytes are read where they are. Of a transposed A and a B that is not, the
    ///   one with fewer rows or columns of the result is copied. So are other operands: to a workspace of 4 bytes for each
    ///   element, whose rows and columns count up to a multiple of 128, and of 32 along k.
    /// - Parts of a long `k` are as with `f16`, for all operands: see [`matmul`](crate::Device::matmul).
    ///
    /// ```
    /// # use warpwright::{Device, ops::gemm::Precision};
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::cpu();
    /// let a = device.upload_matrix(&[1.0_f32, 2.0, 3.0, 4.0], 2, 2)?;
    /// let c = device.gemm(&a, &a).precision(Precision::Bf16x6).run()?;
    /// assert_eq!(c.to_vec()?, [7.0, 10.0, 15.0, 22.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Running the request fails with [`Error::Invalid`] if the precision is not [`Exact`](Precision::Exact) and the matrices
    /// are not of `f32`, and with [`Error::NotEligible`] if the device or the variant has not this precision.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.op.precision = precision;
        self
    }

    /// Has `best` launch these kernels, where the device has them, for tests.
    #[doc(hidden)]
    pub fn way(mut self, way: Way) -> Self {
        self.op.way = Some(way);
        self
    }

    /// Has warpgroups divide k into about so many parts, for tests.
    #[doc(hidden)]
    pub fn parts(mut self, parts: usize) -> Self {
        self.op.parts = Some(parts);
        self
    }

    /// Adds `beta` times `place`, which is C, and overwrites C with the sum. [`output_to`](Self::output_to) does not read
    /// its place.
    ///
    /// An element becomes `alpha * s + beta * c`: `beta * c` is rounded first, and the rest is rounded once. For `f16` and
    /// `bf16` that is in `f32`, and a result in these types is rounded once more. For `i8` it is in `i32`, and wraps around.
    /// If `beta` is 0, C is not read, and its NaNs do not propagate. Without products (`k` or `alpha` is 0) the result is
    /// `beta * C`.
    pub fn add_to<E: Destination<Matrix<T::Result>>>(
        self,
        beta: T::Scale,
        place: E,
    ) -> GemmRequest<'a, T, E> {
        let addend = None;
        self.with(|gemm, _| {
            let gemm = Gemm {
                beta,
                addend,
                ..gemm
            };
            (gemm, place)
        })
    }

    /// Adds `beta` times a matrix of the result's size, which stays as it is: a residual connection. The values are those of
    /// [`add_to`](Self::add_to), before the [`bias`](Self::bias). The last call of the two counts. As to time, see
    /// [`scale_rows`](Self::scale_rows).
    ///
    /// ```
    /// # use warpwright::Device;
    /// # fn main() -> warpwright::Result<()> {
    /// let device = Device::cpu();
    /// let inputs = device.upload_matrix(&[1.0_f32, 2.0], 1, 2)?;
    /// let weights = device.upload_matrix(&[0.0_f32, 1.0, 1.0, 0.0], 2, 2)?;
    /// let block = device.gemm(&inputs, &weights).add_matrix(1.0, &inputs).run()?;
    /// assert_eq!(block.to_vec()?, [3.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Running the request fails with [`Error::Invalid`] if the matrix has not the size of the result.
    pub fn add_matrix(
        mut self,
        beta: T::Scale,
        matrix: impl Into<MatrixRect<'a, T::Result>>,
    ) -> Self {
        self.op.beta = beta;
        self.op.addend = Some(matrix.into());
        self
    }
}
