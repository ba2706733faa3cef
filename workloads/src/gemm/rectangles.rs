//! Products of unaligned rectangles.

use warpwright::ops::calls::Calls;
use warpwright::{Device, Element, Matrix, Result};

use super::{Places, Product, Real, Values, View, near, refuses, result_of};
use crate::compare::each;
use crate::sample;
use crate::{Number, Prepared, Problem, Verdict, with_variant};

/// A product of unaligned rectangles, scaled and added to a scaled rectangle.
#[derive(Clone)]
pub(super) struct Rectangles<T: Real>(pub(super) Product<T>);

/// The rows of the matrix above a rectangle.
const ABOVE: usize = 2;
/// The columns of the matrix before a rectangle, and on both sides of it.
const BEFORE: usize = 3;
const AROUND: usize = 5;

impl<T: Real> Rectangles<T> {
    /// Returns the heights and widths of the rectangles of A, B and C.
    fn sides(&self) -> [[usize; 2]; 3] {
        let ([a, b], [m, n, _]) = (self.0.sides(), self.0.shape);
        [a, b, [m, n]]
    }

    fn values(&self, set: usize) -> Values<T> {
        let [a, b, c] = self.sides();
        let len = |[height, width]: [usize; 2]| (height + ABOVE) * (width + AROUND);
        let operand = |(sides, stream)| {
            sample::values(len(sides), sample::stream(stream, set), T::Factor::fraction)
        };
        let c = sample::values(len(c), sample::stream(5, set), result_of::<T>);
        ([(a, 3), (b, 4)].map(operand), c)
    }
}

/// Returns the rectangle's part of a matrix on the host.
fn inner<T>(values: &[T], width: usize, transposed: bool) -> View<'_, T> {
    let width = width + AROUND;
    View {
        values: &values[ABOVE * width + BEFORE..],
        width,
        transposed,
    }
}

impl<T: Real> Problem for Rectangles<T> {
    type Input = Places<T>;
    type Answer = Vec<T::Result>;
    type Truth = Values<T>;

    fn family(&self) -> &'static str {
        "gemm"
    }

    fn name(&self) -> String {
        format!("rectangles and factors: {}", self.0.name())
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn excludes(&self, variant: &str) -> bool {
        // The rows begin behind an odd number of elements.
        refuses::<T>(variant, false)
    }

    fn varies(&self) -> bool {
        self.0.varies()
    }

    fn input(&self, device: &Device, set: usize) -> Result<Places<T>> {
        fn upload<E: Element>(
            device: &Device,
            values: &[E],
            [height, width]: [usize; 2],
        ) -> Result<Matrix<E>> {
            device.upload_matrix(values, height + ABOVE, width + AROUND)
        }
        let (([a, b], c), [of_a, of_b, of_c]) = (self.values(set), self.sides());
        let operands = [upload(device, &a, of_a)?, upload(device, &b, of_b)?];
        Ok((operands, upload(device, &c, of_c)?))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        ([a, b], c): &'a Places<T>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Vec<T::Result>>> {
        let [[_, width_a], [_, width_b], [_, n]] = self.sides();
        let columns = |width: usize| BEFORE..BEFORE + width;
        let a = a.rect(ABOVE.., columns(width_a))?;
        let b = b.rect(ABOVE.., columns(width_b))?;
        let (device, variant) = (device.clone(), variant.map(str::to_owned));
        // The sum overwrites C, so each run gets a new C.
        let enqueue = move |sum: &mut Option<Matrix<T::Result>>| {
            let mut request = with_variant!(device.gemm_of::<T>(a, b), &variant);
            if self.0.transposed[0] {
                request = request.transpose_a();
            }
            if self.0.transposed[1] {
                request = request.transpose_b();
            }
            if let Some(way) = self.0.way {
                request = request.way(way);
            }
            let mut place = device.upload_matrix(&c.to_vec()?, c.height(), c.width())?;
            let target = place.rect_mut(ABOVE.., columns(n))?;
            let [alpha, beta] = T::FACTORS.map(T::factor_of);
            request.alpha(alpha).add_to(beta, target).run()?;
            *sum = Some(place);
            Ok(())
        };
        let read =
            |sum: &Option<Matrix<T::Result>>| sum.as_ref().map_or(Ok(Vec::new()), Matrix::to_vec);
        let (bytes, kernels) = (|_: &_| 0, |_: &_| Vec::new());
        let calls = |_: &mut _| Ok(Calls::default());
        Ok(Prepared::new(None, bytes, kernels, calls, enqueue, read))
    }

    fn truth(&self, set: usize) -> Values<T> {
        self.values(set)
    }

    fn check(&self, ([a, b], c): &Values<T>, answer: &Vec<T::Result>) -> Verdict {
        let [alpha, beta] = T::FACTORS;
        let [[_, width_a], [_, width_b], [_, n]] = self.sides();
        let [transposed_a, transposed_b] = self.0.transposed;
        let (a, b) = (
            inner(a, width_a, transposed_a),
            inner(b, width_b, transposed_b),
        );
        each(answer, c.len(), |index, found| {
            let (old, width) = (c[index], n + AROUND);
            let (row, column) = (index / width, index % width);
            if row < ABOVE || !(BEFORE..BEFORE + n).contains(&column) {
                let wrong = *found != old;
                return wrong.then(|| format!("outside of C: expected {old:?}, found {found:?}"));
            }
            let (row, column) = (row - ABOVE, column - BEFORE);
            // Kahan's summation (1965) of products that have errors of their own.
            let (mut total, mut lost, mut size) = (0.0_f64, 0.0_f64, 0.0_f64);
            for k in 0..self.0.shape[2] {
                let (x, y) = (a.at(row, k).real(), b.at(k, column).real());
                let product = x * y;
                size += product.abs();
                for term in [product, x.mul_add(y, -product)] {
                    let term = term - lost;
                    let next = total + term;
                    lost = (next - total) - term;
                    total = next;
                }
            }
            let old = old.real();
            let expected = alpha.mul_add(total, beta * old);
            let size = alpha.abs() * size + (beta * old).abs();
            // The roundings of the sum and of the two factors, and those of the oracle.
            let error = T::error(self.0.shape[2] + 8);
            near::<T>(*found, expected, error * size, false).err()
        })
    }
}
