//! The greatest or the smallest elements of each segment.

use warpwright::ops::segments::Segments;
use warpwright::{Device, Result, Vector};

use super::TopK;
use crate::segments::{Cut, segments};
use crate::sort::{Key, Sorted};
use crate::{Prepared, Problem, Verdict, prepared, with_variant};

/// The elements that a problem of a vector wants, of each segment of that vector.
#[derive(Clone)]
pub struct TopKSegments<K> {
    all: TopK<K>,
    /// The number of segments.
    count: usize,
    cut: Cut,
}

impl<K: Key> TopKSegments<K> {
    /// Makes the problem of `count` segments, of which a third are empty and one has most elements.
    pub fn new(all: TopK<K>, count: usize) -> Self {
        let cut = Cut::Skewed;
        Self { all, count, cut }
    }

    /// Returns the same problem of segments of any length.
    #[must_use]
    pub fn random(self) -> Self {
        let cut = Cut::Random;
        Self { cut, ..self }
    }

    fn offsets(&self) -> Vec<u64> {
        self.cut.offsets(0, self.all.len, self.count)
    }
}

impl<K: Key> Problem for TopKSegments<K> {
    type Input = (Vector<K>, Segments);
    /// The keys are the elements, the values their positions.
    type Answer = Sorted<K>;
    type Truth = Sorted<K>;

    fn family(&self) -> &'static str {
        "top_k"
    }

    fn name(&self) -> String {
        format!("{}, each of {} segments", self.all.name(), self.count)
    }

    fn bytes(&self) -> usize {
        let size = size_of::<K>();
        self.all.len * size + self.count * self.all.k * (size + 8)
    }

    fn input(&self, device: &Device, set: usize) -> Result<Self::Input> {
        let values = device.upload(&self.all.values(set))?;
        Ok((values, segments(device, &self.offsets(), false)?))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        (values, segments): &'a Self::Input,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Sorted<K>>> {
        let request = device.top_k_segments_request(values, segments, self.all.k);
        let mut request = with_variant!(request, variant);
        if self.all.is_smallest {
            request = request.smallest();
        }
        Ok(prepared!(request.prepare()?, |it| Ok(Sorted {
            values: it.positions()?.to_vec()?,
            keys: it.output()?.to_vec()?,
        })))
    }

    fn truth(&self, set: usize) -> Sorted<K> {
        let all = self.all.values(set);
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (row, pair) in self.offsets().windows(2).enumerate() {
            let segment = &all[pair[0] as usize..pair[1] as usize];
            let first = self.all.first(segment);
            keys.extend(first.iter().map(|at| segment[*at as usize]));
            values.extend(first.iter().map(|at| pair[0] + at));
            keys.resize((row + 1) * self.all.k, K::from_hash(0));
            values.resize((row + 1) * self.all.k, u64::MAX);
        }
        Sorted { keys, values }
    }

    fn check(&self, truth: &Sorted<K>, answer: &Sorted<K>) -> Verdict {
        truth.check(answer)
    }
}
