//! Means of segments.

use half::{bf16, f16};
use warpwright::ops::reduce::{Operator as Whole, Value};
use warpwright::ops::segments::{Averaged, Segments};
use warpwright::{Device, Result, Vector};

use super::{Cut, Item, Reduce, check_all};
use crate::reduce::{Data, Reduction, Truth, truth};
use crate::sample::Part;
use crate::{Prepared, Problem, Total, Verdict, Workload, parallel, prepared, with_variant};

/// The means of segments given by offsets.
#[derive(Clone)]
pub struct Means<T>(Reduce<T>);

impl<T: Item + Averaged> Means<T> {
    /// Makes the means of `count` segments of any length of `len` elements.
    pub fn new(len: usize, count: usize) -> Self {
        Self(Reduce::new(len, count))
    }

    /// Returns the means of fractions, which are rounded.
    #[must_use]
    pub fn rounded(len: usize, count: usize) -> Self {
        let data = Data::Fractions(usize::MAX);
        Self(Reduce::by(super::Operator::Sum, len, count, data))
    }
}

impl<T: Item + Averaged> Problem for Means<T> {
    type Input = (Vector<T>, Segments);
    type Answer = Vec<f64>;
    type Truth = Vec<Truth>;

    fn family(&self) -> &'static str {
        self.0.family()
    }

    fn name(&self) -> String {
        self.0.described("mean")
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn input(&self, device: &Device, set: usize) -> Result<Self::Input> {
        self.0.input(device, set)
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        (values, segments): &'a Self::Input,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Vec<f64>>> {
        let values = values.slice(self.0.here())?;
        let mut request = with_variant!(device.reduce_segments(values, segments), variant);
        if self.0.is_apart {
            request = request.apart();
        }
        Ok(prepared!(request.prepare_mean()?, |it| it
            .output()?
            .to_vec()))
    }

    fn truth(&self, set: usize) -> Vec<Truth> {
        let (values, offsets) = (self.0.values(set), self.0.offsets());
        let chain = match self.0.data {
            Data::Fractions(chain) if T::Sum::ROUNDING.is_some() => Some(chain),
            _ => None,
        };
        parallel::map(offsets.len() - 1, 256, |at| {
            let segment = &values[offsets[at] as usize..offsets[at + 1] as usize];
            truth(Whole::Mean, segment, chain)
        })
    }

    fn check(&self, truth: &Vec<Truth>, answer: &Vec<f64>) -> Verdict {
        check_all(truth, answer, |truth, mean| match truth {
            Truth::None if mean.is_nan() => Ok(()),
            _ => Reduction::<T>::check(truth, Some(Value::Mean(*mean))),
        })
    }
}

/// Adds the problems of every type.
pub(super) fn checks(all: &mut Vec<Workload>) {
    fn of<T: Item + Averaged>(all: &mut Vec<Workload>) {
        for (len, count, cut, is_wide) in [
            (3001, 40, Cut::Random, false),
            (2000, 1500, Cut::Skewed, true),
        ] {
            all.push(Workload::new(Means(Reduce {
                view: Part([3, 2]),
                part: Part([5, 1]),
                cut,
                is_wide,
                is_apart: is_wide,
                ..Reduce::<T>::new(len, count)
            })));
        }
    }
    of::<u8>(all);
    of::<u16>(all);
    of::<u32>(all);
    of::<i32>(all);
    of::<f16>(all);
    of::<bf16>(all);
    of::<f32>(all);
    of::<f64>(all);
    all.push(Workload::new(Means::<f32>::rounded(20_011, 7)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Make;

    #[test]
    fn the_oracle_is_right() {
        let means = Means(Reduce {
            make: Make::given([9_u8, 2, 255, 0]),
            part: Part([1, 0]),
            ..Reduce::new(3, 1)
        });
        let truth = means.truth(0);
        assert_eq!(truth, [Truth::Real(257.0 / 3.0, 0.0)]);
        let check = |found: &[f64]| means.check(&truth, &found.to_vec());
        assert!(check(&[257.0 / 3.0]).is_ok());
        for wrong in [&[f64::NAN][..], &[85.0], &[], &[257.0 / 3.0, f64::NAN]] {
            assert!(check(wrong).is_err(), "{wrong:?}");
        }
        let none = Means::<f32>::new(0, 2);
        assert_eq!(none.truth(0), [Truth::None; 2]);
        assert!(none.check(&none.truth(0), &vec![f64::NAN; 2]).is_ok());
        assert!(none.check(&none.truth(0), &vec![0.0; 2]).is_err());
    }
}
