//! Means of segments.

use cuda_std::{
    bf16, f16,
    kernel::{Entry, EntryOf},
};
use warpwright_gpu::{Family, reduce::Dividend, segments::SegmentsMeans};

use super::{
    super::{
        plan::Plan,
        reduce::Reducible,
        request::{Destination, Operation, Prepared, Shape},
    },
    Bounds, Groups, Operator, Over, Segments, SegmentsRequest,
    plan::means,
};
use crate::{
    buffer::{Vector, VectorView},
    device::Device,
    error::{Error, InvalidKind, Result},
};

impl Device {
    /// Computes the mean of each segment of `values`: see [`SegmentsRequest::mean`]. Queues the work and does not wait.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let values = device.upload(&[1_u8, 2, 250, 255])?;
    /// let segments = device.segments(device.upload(&[0_u32, 2, 4])?)?;
    /// assert_eq!(device.segment_means(&values, &segments)?.to_vec()?, [1.5, 252.5]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`SegmentsRequest::mean`].
    pub fn segment_means<'a, T: Averaged>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        segments: &'a Segments,
    ) -> Result<Vector<f64>> {
        self.reduce_segments(values, segments).mean()
    }
}

/// An element of whose segments the means can be found: `u8 u16 u32 i32 f32 f64 f16 bf16`. Sums of `u64` and `i64` wrap, and
/// would give wrong means. Other crates cannot implement this trait.
pub trait Averaged: Reducible<Sum: Dividend> {
    /// The most elements whose sum cannot overflow, whatever their values. Segments that have more of them together are
    /// refused. For floats there is no such limit.
    const MOST_ADDENDS: usize;
    #[doc(hidden)]
    const MEANS: EntryOf<SegmentsMeans<Self::Sum>>;
}

macro_rules! averaged {
    ($($ty:ident as $sum:ident: $most:expr;)*) => { $(
        impl Averaged for $ty {
            const MOST_ADDENDS: usize = $most;
            const MEANS: EntryOf<SegmentsMeans<$sum>> = Entry::of::<SegmentsMeans<$sum>>();
        }
    )* };
}
averaged! {
    u8 as u64: (u64::MAX / u8::MAX as u64) as usize;
    u16 as u64: (u64::MAX / u16::MAX as u64) as usize;
    u32 as u64: (u64::MAX / u32::MAX as u64) as usize;
    i32 as i64: (i64::MIN / i32::MIN as i64) as usize;
    f32 as f32: usize::MAX;
    f64 as f64: usize::MAX;
    f16 as f32: usize::MAX;
    bf16 as f32: usize::MAX;
}

/// Means of segments. The workspace is that of sums, and the sums.
#[derive(Debug)]
pub struct Means<'a, T>(Over<'a, T, &'a Segments>);

/// Means of segments whose variant is chosen and which have their memory.
pub type PreparedMeans<'a, T, R = Vector<f64>> = Prepared<Means<'a, T>, R>;

/// The result of preparing means of `T`s.
type Ready<'a, T, D> = Result<PreparedMeans<'a, T, <D as Destination<Vector<f64>>>::Claimed>>;

impl<'a, T: Averaged, D: Destination<Vector<f64>>> SegmentsRequest<'a, T, D> {
    /// Computes the means. That of a segment without elements is NaN.
    ///
    /// For integers this is the exact sum divided by the number of elements and rounded once, to the nearest `f64`, so the
    /// result is the same on every device, for every variant. For floats this is the [`sum`](Self::sum) divided in `f64`: it is
    /// the same bits wherever the sum is, has the sum's error and one rounding more, and is infinite if the sum is. Queues the
    /// work and does not wait.
    ///
    /// # Errors
    /// As for [`sum`](Self::sum). Also [`Error::Invalid`] if the segments have so many integers together that a sum could
    /// overflow ([`Averaged::MOST_ADDENDS`]).
    pub fn mean(self) -> Result<D::Claimed> {
        self.prepare_mean()?.made()
    }

    /// Like [`prepare_sum`](Self::prepare_sum), for the means.
    ///
    /// # Errors
    /// As for [`mean`](Self::mean).
    pub fn prepare_mean(self) -> Ready<'a, T, D> {
        self.with(|over, to| (Means(over), to)).prepare()
    }
}

/// Refuses so many elements that their sum could overflow.
fn require_sum<T: Averaged>(operation: &'static str, len: usize) -> Result<()> {
    if len <= T::MOST_ADDENDS {
        return Ok(());
    }
    Err(Error::invalid(
        InvalidKind::TooLarge,
        operation,
        format!(
            "at most {} elements of segments, whose sum surely fits 64 bits",
            T::MOST_ADDENDS
        ),
        format!("{len}"),
    ))
}

impl<T: Averaged> Operation for Means<'_, T> {
    type Output = Vector<f64>;

    fn name(&self) -> &'static str {
        "mean of segments"
    }

    fn family(&self) -> &'static Family {
        &super::FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let Over {
            values,
            groups,
            is_apart,
        } = &mut self.0;
        let values = plan.input(*values)?;
        require_sum::<T>(plan.operation, groups.range().len())?;
        let bounds = groups.plan(plan, values.len())?;
        let sums = plan.room::<T::Sum>(bounds.most);
        let bounds = Bounds {
            is_apart: *is_apart,
            results: Some(sums.cast()),
            ..bounds
        };
        T::plan_segments(Operator::Sum, plan, values, &bounds)?;
        let offsets = (bounds.offsets, bounds.per_offset);
        means(plan, T::MEANS, sums, offsets, 0)?;
        Ok(Shape::Vector(bounds.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_could_overflow_are_refused() {
        fn refused<T: Averaged>(most: u64, each: u64, limit: u64) {
            // The sum of so many is in range, and that of one more not.
            assert!(u128::from(most) * u128::from(each) <= u128::from(limit));
            assert!(u128::from(most + 1) * u128::from(each) > u128::from(limit));
            assert_eq!(T::MOST_ADDENDS as u64, most);
            require_sum::<T>("means", most as usize).unwrap();
            let error = require_sum::<T>("means", most as usize + 1).unwrap_err();
            let text = error.to_string();
            for part in [format!("at most {most} elements"), format!("{}", most + 1)] {
                assert!(text.contains(&part), "{text}");
            }
        }
        refused::<u8>(u64::MAX / 255, 255, u64::MAX);
        refused::<u16>(u64::MAX / 65_535, 65_535, u64::MAX);
        refused::<u32>((1 << 32) + 1, u32::MAX.into(), u64::MAX);
        refused::<i32>(1 << 32, 1 << 31, 1 << 63);
        require_sum::<f32>("means", usize::MAX).unwrap();
    }
}
