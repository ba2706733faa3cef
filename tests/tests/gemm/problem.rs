//! A product as a case of the tests: its operands, and what should come out.

use std::{cell::RefCell, fmt::Debug};

use cuda_std::{F8E4M3, F8E5M2, FloatExt, bf16, f16};

use warpwright::{
    Device, Matrix, MatrixRectMut, Vector,
    ops::gemm::{GemmElement, GemmRequest, Precision, ResultIn, Way},
};
use warpwright_gpu::gemm::{Element, Matrices, Rung, Scalar, Variant};
use warpwright_tests::{
    cases::Problem,
    compare::{self, Outcome},
    devices::Executor,
    number::Number,
    oracle::{self, Total},
};

use super::host::Host;
pub use super::host::Margin;

/// The types of a product: what the library multiplies.
pub trait Multiplied: GemmElement<Result: Debug> + Debug {
    fn factor(value: f64) -> Self::Scale;
}

/// The types of a product of floats, and what the tests know of them.
pub trait Real: Multiplied<Factor: Number, Result: Number> {
    /// If A and B are of 16 bits: half the distance from 1 to the next element, and from 0 to the least. Then `best` and others
    /// have an order of additions of their own.
    const HALVES: Option<[f64; 2]>;
    /// If the sums are rounded to elements of C once more: the same distances of those.
    const ROUNDED: Option<[f64; 2]>;
    /// The error of `gelu` of 1.
    const GELU: f64;
}

macro_rules! reals {
    ($($ty:ident: $factor:ident, $gelu:expr, $rounded:expr;)*) => { $(
        impl Multiplied for $ty {
            fn factor(value: f64) -> $factor {
                value as $factor
            }
        }
        impl Real for $ty {
            const HALVES: Option<[f64; 2]> = $rounded;
            const ROUNDED: Option<[f64; 2]> = $rounded;
            const GELU: f64 = $gelu;
        }
    )* };
}
reals! {
    f32: f32, 4.0 * f32::EPSILON as f64, None;
    f64: f64, 4.0 * f64::EPSILON, None;
    f16: f32, 1.0 / 65_536.0, Some([f16::EPSILON.to_f64_const() / 2.0, f16::MIN_POSITIVE_SUBNORMAL.to_f64_const() / 2.0]);
    bf16: f32, 1.0 / 65_536.0, Some([bf16::EPSILON.to_f64_const() / 2.0, bf16::MIN_POSITIVE_SUBNORMAL.to_f64_const() / 2.0]);
}

macro_rules! in_f32 {
    ($($ty:ident)*) => { $(
        impl Real for ResultIn<$ty, f32> {
            const HALVES: Option<[f64; 2]> = $ty::HALVES;
            const ROUNDED: Option<[f64; 2]> = None;
            const GELU: f64 = <f32 as Real>::GELU;
        }
    )* };
}
in_f32! { f16 bf16 }

macro_rules! multiplied {
    ($($ty:ty: $factor:ident;)*) => { $(
        impl Multiplied for $ty {
            fn factor(value: f64) -> $factor {
                value as $factor
            }
        }
    )* };
}
multiplied! {
    i8: i32;
    F8E4M3: f32;
    F8E5M2: f32;
    ResultIn<F8E4M3, bf16>: f32;
    ResultIn<F8E4M3, f16>: f32;
    ResultIn<f16, f32>: f32;
    ResultIn<bf16, f32>: f32;
}

/// None; one that keeps 16-byte loads aligned; one that does not.
pub const MARGINS: [Margin; 3] = [[0, 0, 0], [1, 4, 8], [2, 3, 2]];

/// Factors of the product and of C: the plain product, other factors, C untouched, nothing at all.
pub const FACTORS: [[f64; 2]; 6] = [
    [1.0, 0.0],
    [-0.75, 0.0],
    [1.0, 1.0],
    [2.5, -1.25],
    [0.0, 0.5],
    [0.0, 0.0],
];

/// What is done with sums besides the factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    pub bias: bool,
    pub activation: Option<Activation>,
    /// Scales of rows, and of columns.
    pub scales: [bool; 2],
    /// Whether another matrix than C is added.
    pub residual: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    Relu,
    Gelu,
}

/// Each step with and without others.
pub const TAILS: [Tail; 8] = {
    let [none, relu, gelu] = [None, Some(Activation::Relu), Some(Activation::Gelu)];
    [
        tail(true, gelu, [false, false], false),
        tail(true, none, [false, false], false),
        tail(false, relu, [false, false], true),
        tail(true, relu, [true, true], false),
        tail(false, gelu, [true, false], false),
        NO_TAIL,
        tail(false, none, [true, true], true),
        tail(true, none, [false, true], true),
    ]
};

/// The factors alone.
pub const NO_TAIL: Tail = tail(false, None, [false, false], false);

const fn tail(
    bias: bool,
    activation: Option<Activation>,
    scales: [bool; 2],
    residual: bool,
) -> Tail {
    Tail {
        bias,
        activation,
        scales,
        residual,
    }
}

/// `C = alpha * op(A) * op(B) + beta * C` and what follows, for one product or several.
#[derive(Debug, Clone, Copy)]
pub struct Gemm {
    pub executor: Executor,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub transpose: [bool; 2],
    pub factors: [f64; 2],
    /// The products, and whether all have the same A, and the same B.
    pub count: usize,
    pub shared: [bool; 2],
    pub tail: Tail,
    /// Of A, B and C.
    pub margins: [Margin; 3],
    pub precision: Precision,
    /// The kernels of `best`, if not those that the library chooses.
    pub way: Option<Way>,
    /// The parts of k for warpgroups, if not those that the library chooses.
    pub parts: Option<usize>,
}

impl Problem for Gemm {
    fn executor(&self) -> Executor {
        self.executor
    }
}

/// A, B and C.
pub struct Operands<T: Matrices> {
    pub a: Host<T::Factor>,
    pub b: Host<T::Factor>,
    pub c: Host<T::Result>,
    pub bias: Vec<T::Result>,
    /// The scales of rows, and of columns.
    pub scales: [Vec<T::Result>; 2],
}

/// Operands on a device.
pub struct Uploaded<T: Multiplied> {
    a: Matrix<T::Factor>,
    b: Matrix<T::Factor>,
    c: Matrix<T::Result>,
    addend: Matrix<T::Result>,
    bias: Vector<T::Result>,
    scales: [Vector<T::Scale>; 2],
}

impl Gemm {
    /// The rows of all C.
    pub fn rows(&self) -> usize {
        self.count * self.m
    }

    /// Those with the nearest elements to some values.
    pub fn operands<T: Real>(&self, value: impl FnMut() -> f64) -> Operands<T> {
        let value = RefCell::new(value);
        self.operands_of(
            || T::Factor::from_real(value.borrow_mut()()),
            || T::Result::from_real(value.borrow_mut()()),
        )
    }

    /// Those of A and B, and those of C and the bias.
    pub fn operands_of<T: Multiplied>(
        &self,
        mut value: impl FnMut() -> T::Factor,
        mut of_result: impl FnMut() -> T::Result,
    ) -> Operands<T> {
        let [stack_a, stack_b] = self.shared.map(|it| if it { 1 } else { self.count });
        let mut operand = |[height, width]: [usize; 2], transposed: bool, stack: usize, margin| {
            let [height, width] = if transposed {
                [width, height]
            } else {
                [height, width]
            };
            Host::new(stack * height, width, margin, &mut value)
        };
        let [a, b] = self.transpose;
        Operands {
            a: operand([self.m, self.k], a, stack_a, self.margins[0]),
            b: operand([self.k, self.n], b, stack_b, self.margins[1]),
            c: Host::new(self.count * self.m, self.n, self.margins[2], &mut of_result),
            bias: (0..self.n).map(|_| of_result()).collect(),
            scales: [self.rows(), self.n].map(|len| (0..len).map(|_| of_result()).collect()),
        }
    }

    pub fn pairs<'a, T: Multiplied>(
        &self,
        operands: &'a Operands<T>,
        row: usize,
        column: usize,
    ) -> impl Iterator<Item = (T::Factor, T::Factor)> + 'a {
        let [a, b] = self.transpose;
        let (number, row) = (row / self.m, row % self.m);
        // The first rows of the product's own matrices.
        let first = |height: usize, is_shared: bool| if is_shared { 0 } else { number * height };
        let above_a = first(if a { self.k } else { self.m }, self.shared[0]);
        let above_b = first(if b { self.n } else { self.k }, self.shared[1]);
        let of_a = match a {
            true => operands.a.line(above_a, row, true),
            false => operands.a.line(above_a + row, 0, false),
        };
        let of_b = match b {
            true => operands.b.line(above_b + column, 0, false),
            false => operands.b.line(above_b, column, true),
        };
        let k = if self.factors[0] == 0.0 { 0 } else { self.k };
        of_a.zip(of_b).take(k)
    }

    /// What the documentation says, operation by operation: the same bits everywhere, except for `best` of 16-bit types.
    pub fn by_the_book<T: Multiplied>(
        &self,
        operands: &Operands<T>,
        row: usize,
        column: usize,
    ) -> T::Result {
        let [alpha, beta] = self.factors.map(T::factor);
        let zero = T::Scale::ZERO;
        let none = self.k == 0 || alpha == zero;
        let sum = self.pairs(operands, row, column).fold(zero, |sum, (a, b)| {
            Scalar::mul_add(a.widen(), b.widen(), sum)
        });
        let sum = [row, column]
            .into_iter()
            .enumerate()
            .filter(|(side, _)| self.tail.scales[*side])
            .fold(sum, |sum, (side, line)| {
                sum.times(operands.scales[side][line].widen())
            });
        let old = operands.c.at(row, column, false).widen();
        let mut value = match (none, beta == zero) {
            (true, true) => zero,
            (true, false) => beta.times(old),
            (false, true) => alpha.times(sum),
            (false, false) => Scalar::mul_add(alpha, sum, beta.times(old)),
        };
        if self.tail.bias {
            value = value.plus(operands.bias[column].widen());
        }
        T::Result::rounded(match self.tail.activation {
            Some(Activation::Relu) if value < zero => zero,
            Some(Activation::Gelu) => T::Result::gelu(value),
            _ => value,
        })
    }

    /// Against sums of twice the precision: `k` roundings of the sum, those of the two scales, of the two factors and of the
    /// bias. A sum of 16-bit elements may lose twice as much, and 16 more, and may be rounded to an element. One of planes has
    /// a rounding for each 64 products, and a few. A rounding to a subnormal number loses at most the least number. The slope
    /// of `gelu` is below 1.13.
    pub fn near_the_truth<T: Real>(
        &self,
        operands: &Operands<T>,
        row: usize,
        column: usize,
        got: T::Result,
    ) -> Outcome {
        let [alpha, beta] = self.factors;
        let pairs: Vec<(f64, f64)> = self
            .pairs(operands, row, column)
            .map(|(a, b)| (a.real(), b.real()))
            .collect();
        let Total::Real { value, .. } = oracle::real_dot(pairs.iter().copied()) else {
            return Err("the oracle gave an integer".to_owned());
        };
        // Tensor cores align a subnormal element of 16 bits as the least normal one.
        let normal = T::HALVES.map_or(0.0, |[relative, least]| least / relative);
        let size = |x: f64| if x == 0.0 { 0.0 } else { x.abs().max(normal) };
        let magnitude: f64 = pairs.iter().map(|(a, b)| size(*a) * size(*b)).sum();
        let old = if beta == 0.0 {
            0.0
        } else {
            operands.c.at(row, column, false).real()
        };
        let bias = if self.tail.bias {
            operands.bias[column].real()
        } else {
            0.0
        };
        let scale = |side: usize, line: usize| match self.tail.scales[side] {
            true => operands.scales[side][line].real(),
            false => 1.0,
        };
        let scale = alpha * scale(0, row) * scale(1, column);
        let magnitude = scale.abs() * magnitude + (beta * old).abs() + bias.abs();
        // The oracle rounds its last five operations.
        let rounding = 5.0 * f64::EPSILON * magnitude;
        let mut value = scale.mul_add(value, beta * old) + bias;
        let roundings = match (T::HALVES, self.precision) {
            (_, Precision::Bf16x6) => self.k / 64 + 64 + 6,
            // The elements' two roundings, each 2^13 of those of a sum, and 2 for each product.
            (_, Precision::Tf32) => (1 << 14) + 4 + 2 * (self.k + 8) + 6,
            (None, _) => self.k + 6,
            (Some(_), _) => 2 * (self.k + 11),
        };
        let mut bound = compare::sum_bound::<T::Factor>(roundings, magnitude)
            + roundings as f64 * T::Factor::SMALLEST
            + rounding;
        match self.tail.activation {
            Some(Activation::Relu) => value = value.max(0.0),
            Some(Activation::Gelu) => {
                bound = 1.13 * bound + (value.abs() + bound) * T::GELU;
                value *= value.norm_cdf();
            }
            None => {}
        }
        if let Some([relative, least]) = T::ROUNDED {
            bound += (value.abs() + bound) * relative + least;
        }
        compare::within(got.real(), value, bound)
    }

    /// The operands on a device.
    pub fn upload<T: Multiplied>(
        &self,
        device: &Device,
        operands: &Operands<T>,
    ) -> warpwright::Result<Uploaded<T>> {
        let mut host = operands.c.clone();
        // What is added is C as it was, elsewhere: then C itself must not be read.
        let addend: Vec<_> = (0..self.rows())
            .flat_map(|row| (0..self.n).map(move |column| operands.c.at(row, column, false)))
            .collect();
        if self.tail.residual {
            host.all.fill(T::Result::ZERO);
        }
        let scales = |side: usize| {
            let scales: Vec<_> = operands.scales[side].iter().map(|it| it.widen()).collect();
            device.upload(&scales)
        };
        Ok(Uploaded {
            a: operands.a.upload(device)?,
            b: operands.b.upload(device)?,
            c: host.upload(device)?,
            addend: device.upload_matrix(&addend, self.rows(), self.n)?,
            bias: device.upload(&operands.bias)?,
            scales: [scales(0)?, scales(1)?],
        })
    }

    /// The request of the product by a variant.
    pub fn request<'a, T: Multiplied>(
        &self,
        device: &Device,
        operands: &Operands<T>,
        on_device: &'a mut Uploaded<T>,
        variant: &str,
    ) -> warpwright::Result<GemmRequest<'a, T, MatrixRectMut<'a, T::Result>>> {
        let ([rows_a, columns_a], [rows_b, columns_b]) = (operands.a.ranges(), operands.b.ranges());
        let [rows_c, columns_c] = operands.c.ranges();
        let [alpha, beta] = self.factors.map(T::factor);
        let (a, b) = (&on_device.a, &on_device.b);
        let mut request = device
            .gemm_of::<T>(a.rect(rows_a, columns_a)?, b.rect(rows_b, columns_b)?)
            .alpha(alpha)
            .precision(self.precision)
            .variant(variant);
        if self.transpose[0] {
            request = request.transpose_a();
        }
        if self.transpose[1] {
            request = request.transpose_b();
        }
        request = request.batch(self.count);
        if self.shared[0] {
            request = request.share_a();
        }
        if self.shared[1] {
            request = request.share_b();
        }
        if self.tail.bias {
            request = request.bias(&on_device.bias);
        }
        if self.tail.scales[0] {
            request = request.scale_rows(&on_device.scales[0]);
        }
        if self.tail.scales[1] {
            request = request.scale_columns(&on_device.scales[1]);
        }
        request = match self.tail.activation {
            Some(Activation::Relu) => request.relu(),
            Some(Activation::Gelu) => request.gelu(),
            None => request,
        };
        if let Some(way) = self.way {
            request = request.way(way);
        }
        if let Some(parts) = self.parts {
            request = request.parts(parts);
        }
        let to = on_device.c.rect_mut(rows_c, columns_c)?;
        Ok(match self.tail.residual {
            true => request.add_matrix(beta, &on_device.addend).output_to(to),
            false => request.add_to(beta, to),
        })
    }

    /// The result of a request that was run, with the margin that belongs to it.
    pub fn result<T: Multiplied>(
        &self,
        operands: &Operands<T>,
        on_device: &Uploaded<T>,
    ) -> warpwright::Result<Vec<T::Result>> {
        let got = on_device.c.to_vec()?;
        if !self.tail.residual {
            return Ok(got);
        }
        let [rows_c, columns_c] = operands.c.ranges();
        // The margin is that of the operands, if nothing was written there.
        let mut all = operands.c.all.clone();
        for (i, value) in got.into_iter().enumerate() {
            let (row, column) = (i / operands.c.ld(), i % operands.c.ld());
            let is_inside = rows_c.contains(&row) && columns_c.contains(&column);
            if is_inside || value.widen() != T::Scale::ZERO {
                all[i] = value;
            }
        }
        Ok(all)
    }

    /// The result by a variant, with the margin that belongs to it.
    pub fn by_the_library<T: Multiplied>(
        &self,
        device: &Device,
        operands: &Operands<T>,
        variant: &str,
    ) -> warpwright::Result<Vec<T::Result>> {
        let mut on_device = self.upload(device, operands)?;
        self.request(device, operands, &mut on_device, variant)?
            .run()?;
        self.result(operands, &on_device)
    }

    pub fn check<T: Real>(
        &self,
        device: &Device,
        operands: &Operands<T>,
        variant: &str,
    ) -> Outcome {
        let got = self.by_the_library(device, operands, variant);
        let got = got.map_err(|error| error.to_string())?;
        self.is_right(operands, variant, &got)
    }

    /// Checks C and its margin, as a variant has left them.
    pub fn is_right<T: Real>(
        &self,
        operands: &Operands<T>,
        variant: &str,
        got: &[T::Result],
    ) -> Outcome {
        for row in 0..self.rows() {
            for column in 0..self.n {
                let at = operands.c.place(row, column);
                self.near_the_truth(operands, row, column, got[at])
                    .map_err(|wrong| format!("({row}, {column}): {wrong}"))?;
            }
        }
        let mut all = self.all_by_the_book(operands);
        let is_exact = T::HALVES.is_none() && self.precision == Precision::Exact;
        let in_order = variant
            .parse()
            .is_ok_and(|variant| matches!(T::rung(variant), Rung::InOrder(_)));
        if !is_exact && !in_order {
            // Only what is around C has known bits.
            for row in 0..self.rows() {
                let at = operands.c.place(row, 0);
                all[at..at + self.n].copy_from_slice(&got[at..at + self.n]);
            }
        }
        compare::same_bits(got, &all)
    }

    /// C and its margin, [by the book](Self::by_the_book).
    pub fn all_by_the_book<T: Multiplied>(&self, operands: &Operands<T>) -> Vec<T::Result> {
        let mut all = operands.c.all.clone();
        for row in 0..self.rows() {
            for column in 0..self.n {
                all[operands.c.place(row, column)] = self.by_the_book(operands, row, column);
            }
        }
        all
    }
}

/// A product of plain matrices.
pub fn plain(executor: Executor, [m, n, k]: [usize; 3]) -> Gemm {
    Gemm {
        executor,
        m,
        n,
        k,
        transpose: [false; 2],
        factors: [1.0, 0.0],
        count: 1,
        shared: [false; 2],
        tail: NO_TAIL,
        margins: [[0; 3]; 3],
        precision: Precision::Exact,
        way: None,
        parts: None,
    }
}

/// The variants whose kernels for a type are such.
pub fn variants_with<T: Multiplied>(is_such: impl Fn(Rung<T>) -> bool) -> Vec<&'static str> {
    let variants = Variant::ALL.into_iter();
    let such = variants.filter(|variant| is_such(T::rung(*variant)));
    such.map(Variant::name).collect()
}

/// The variants that take every product of a type. `halves` tests those that do not.
pub fn variants<T: Multiplied>() -> Vec<&'static str> {
    variants_with::<T>(|rung| !matches!(rung, Rung::Mapped(..) | Rung::None))
}
