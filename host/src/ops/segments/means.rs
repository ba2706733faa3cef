//! Means of segments: the device adds, and the host divides.

use std::marker::PhantomData;

use cuda_std::{bf16, f16};
use warpwright_gpu::Family;

use super::{
    super::{
        plan::Plan,
        reduce::{Reducible, quotient},
        request::{Operation, Prepared, Shape},
    },
    Operator, Over, SegmentReduction, Segments, SegmentsRequest, Words,
};
use crate::{
    buffer::{Vector, VectorView, host_vec},
    device::Device,
    error::{Error, InvalidKind, Result},
};

/// The operation's name for errors.
const MEAN: &str = "mean of segments";

impl Device {
    /// Computes the mean of each segment of `values`: see [`SegmentsRequest::mean`]. Waits for the means.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let values = device.upload(&[1_u8, 2, 250, 255])?;
    /// let segments = device.segments(device.upload(&[0_u32, 2, 2, 4])?)?;
    /// assert_eq!(device.segment_means(&values, &segments)?, [Some(1.5), None, Some(252.5)]);
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
    ) -> Result<Vec<Option<f64>>> {
        self.reduce_segments(values, segments).mean()
    }
}

/// An element of whose segments the means can be found: `u8 u16 u32 i32 f32 f64 f16 bf16`. Sums of `u64` and `i64` wrap, and
/// would give wrong means. Other crates cannot implement this trait.
pub trait Averaged: Reducible {
    /// The most elements of a segment whose sum cannot overflow, whatever their values. A segment of more is refused. For
    /// floats there is no such limit.
    const MOST_ADDENDS: usize;

    #[doc(hidden)]
    fn mean(sum: Self::Sum, len: usize) -> f64;
}

macro_rules! averaged {
    ($($ty:ident: $most:expr, |$sum:ident, $len:ident| $mean:expr;)*) => { $(
        impl Averaged for $ty {
            const MOST_ADDENDS: usize = $most;
            fn mean($sum: Self::Sum, $len: usize) -> f64 {
                $mean
            }
        }
    )* };
}
averaged! {
    u8: (u64::MAX / u8::MAX as u64) as usize, |sum, len| quotient(sum.into(), len);
    u16: (u64::MAX / u16::MAX as u64) as usize, |sum, len| quotient(sum.into(), len);
    u32: (u64::MAX / u32::MAX as u64) as usize, |sum, len| quotient(sum.into(), len);
    i32: (i64::MIN / i32::MIN as i64) as usize, |sum, len| quotient(sum.into(), len);
    f32: usize::MAX, |sum, len| f64::from(sum) / len as f64;
    f64: usize::MAX, |sum, len| sum / len as f64;
    f16: usize::MAX, |sum, len| f64::from(sum) / len as f64;
    bf16: usize::MAX, |sum, len| f64::from(sum) / len as f64;
}

/// Returns the mean of a segment of `len` elements with this sum, if it has elements.
fn mean<T: Averaged>(sum: T::Sum, len: usize) -> Result<Option<f64>> {
    if len > T::MOST_ADDENDS {
        let most = T::MOST_ADDENDS;
        return Err(Error::invalid(
            InvalidKind::TooLarge,
            MEAN,
            format!("at most {most} elements of a segment, whose sum surely fits 64 bits"),
            format!("{len}"),
        ));
    }
    Ok((len > 0).then(|| T::mean(sum, len)))
}

/// Writes the means of the segments with these sums and offsets.
fn divide<T: Averaged, O: Copy + Into<u64>>(
    sums: &[T::Sum],
    offsets: &[O],
    means: &mut [Option<f64>],
) -> Result<()> {
    for ((to, sum), pair) in means.iter_mut().zip(sums).zip(offsets.windows(2)) {
        let [begin, end] = [pair[0], pair[1]].map(Into::<u64>::into);
        *to = mean::<T>(*sum, (end - begin) as usize)?;
    }
    Ok(())
}

/// Means of segments. The workspace is that of sums.
#[derive(Debug)]
pub struct Means<'a, T: Reducible>(SegmentReduction<'a, T, &'a Segments, T::Sum>);

/// Means of segments whose variant is chosen and whose sums have their memory. The output are the sums.
pub type PreparedMeans<'a, T> = Prepared<Means<'a, T>>;

impl<'a, T: Averaged> SegmentsRequest<'a, T> {
    /// Computes the means, and waits for them. A segment without elements has none.
    ///
    /// For integers this is the exact sum divided by the number of elements and rounded once, to the nearest `f64`, so the
    /// result is the same on every device, for every variant. For floats this is the [`sum`](Self::sum) divided in `f64`: it is
    /// the same bits wherever the sum is, has the sum's error and one rounding more, and is infinite if the sum is.
    ///
    /// The device adds, and the host divides: it gets the sums and the offsets. To go on with the device, take the sums.
    ///
    /// # Errors
    /// As for [`sum`](Self::sum). Also [`Error::Invalid`] if a segment has so many integers that their sum could overflow
    /// ([`Averaged::MOST_ADDENDS`]).
    pub fn mean(self) -> Result<Vec<Option<f64>>> {
        let mut prepared = self.prepare_mean()?;
        prepared.enqueue()?;
        prepared.finish()
    }

    /// Prepares [`mean`](Self::mean): chooses the variant and allocates memory, so that the work can be queued repeatedly.
    /// [`finish`](PreparedMeans::finish) returns the means.
    ///
    /// # Errors
    /// As for [`sum`](Self::sum).
    pub fn prepare_mean(self) -> Result<PreparedMeans<'a, T>> {
        let means = |over: Over<'a, T, _>, to| {
            let (operator, results) = (Operator::Sum, PhantomData);
            let sums = SegmentReduction {
                over,
                operator,
                results,
            };
            (Means(sums), to)
        };
        self.with(means).prepare()
    }
}

impl<T: Averaged> PreparedMeans<'_, T> {
    /// Waits for the work queued last, and returns the means.
    ///
    /// # Errors
    /// As for [`output`](Self::output), and [`SegmentsRequest::mean`].
    pub fn finish(&self) -> Result<Vec<Option<f64>>> {
        let sums = self.output()?.to_vec()?;
        let mut means = host_vec(MEAN, sums.len(), None)?;
        match &self.op.0.over.groups.words {
            Words::Narrow(offsets) => divide::<T, _>(&sums, &offsets.to_vec()?, &mut means)?,
            Words::Wide(offsets) => divide::<T, _>(&sums, &offsets.to_vec()?, &mut means)?,
        }
        Ok(means)
    }
}

impl<T: Reducible> Operation for Means<'_, T> {
    type Output = Vector<T::Sum>;

    fn name(&self) -> &'static str {
        MEAN
    }

    fn family(&self) -> &'static Family {
        self.0.family()
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        self.0.plan(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_could_overflow_are_refused() {
        let most = <u32 as Averaged>::MOST_ADDENDS;
        assert_eq!(most as u128 * u128::from(u32::MAX), u128::from(u64::MAX));
        let sum = u64::MAX;
        assert_eq!(mean::<u32>(sum, most).unwrap(), Some(u32::MAX.into()));
        let error = mean::<u32>(sum, most + 1).unwrap_err().to_string();
        for part in ["mean of segments", "at most 4294967297", "4294967298"] {
            assert!(error.contains(part), "{error}");
        }
        let most = <i32 as Averaged>::MOST_ADDENDS;
        let least = i32::MIN.into();
        assert_eq!(mean::<i32>(i64::MIN, most).unwrap(), Some(least));
        assert!(mean::<i32>(i64::MIN, most + 1).is_err());
        assert_eq!(
            mean::<f32>(3.0, usize::MAX).unwrap(),
            Some(3.0 * 2_f64.powi(-64))
        );
        assert_eq!(mean::<u8>(0, 0).unwrap(), None);
    }
}
