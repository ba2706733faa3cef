//! Sorts of each segment by itself.

use warpwright::ops::segments::Segments;
use warpwright::{Device, Result, Vector};

use super::{Key, Sorted};
use crate::sample::Make;
use crate::segments::{Cut, segments};
use crate::{Prepared, Problem, Verdict, prepared, with_variant};

/// A sort of each segment.
#[derive(Clone)]
pub struct SortSegments<K> {
    len: usize,
    /// The number of segments.
    count: usize,
    cut: Cut,
    is_descending: bool,
    /// The keys before the first segment, and as many behind the last.
    outside: usize,
    make: Make<K>,
}

impl<K: Key> SortSegments<K> {
    /// Makes a sort of `count` segments of any length of `len` uniform keys.
    pub fn new(len: usize, count: usize) -> Self {
        Self {
            len,
            count,
            cut: Cut::Random,
            is_descending: false,
            outside: 0,
            make: Make::hashed(K::from_hash),
        }
    }

    /// Returns the same sort in descending order, of segments of which a third are empty and one has most keys, with keys
    /// outside.
    #[must_use]
    pub fn skewed(self) -> Self {
        Self {
            cut: Cut::Skewed,
            is_descending: true,
            outside: 5,
            ..self
        }
    }

    fn offsets(&self) -> Vec<u64> {
        self.cut.offsets(self.outside, self.len, self.count)
    }

    fn keys(&self, set: usize) -> Vec<K> {
        self.make.values(self.len + 2 * self.outside, 23, set)
    }
}

impl<K: Key> Problem for SortSegments<K> {
    type Input = (Vector<K>, Segments);
    type Answer = Sorted<K>;
    type Truth = Sorted<K>;

    fn family(&self) -> &'static str {
        "sort"
    }

    fn name(&self) -> String {
        let mut name = format!(
            "{} elements {} in {} segments",
            self.len,
            K::NAME,
            self.count
        );
        if self.cut == Cut::Skewed {
            name += ", skewed";
        }
        if self.is_descending {
            name += ", descending";
        }
        name
    }

    fn bytes(&self) -> usize {
        2 * self.len * size_of::<K>()
    }

    fn input(&self, device: &Device, set: usize) -> Result<Self::Input> {
        let keys = device.upload(&self.keys(set))?;
        Ok((
            keys,
            segments(device, &self.offsets(), self.cut == Cut::Skewed)?,
        ))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        (keys, segments): &'a Self::Input,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Sorted<K>>> {
        let mut request = with_variant!(device.sort_segments_request(keys, segments), variant);
        if self.is_descending {
            request = request.descending();
        }
        Ok(prepared!(request.prepare()?, |it| Ok(Sorted {
            keys: it.output()?.to_vec()?,
            values: Vec::new(),
        })))
    }

    fn truth(&self, set: usize) -> Sorted<K> {
        let mut keys = self.keys(set);
        for pair in self.offsets().windows(2) {
            keys[pair[0] as usize..pair[1] as usize].sort_unstable_by_key(|key| {
                let rank = key.rank();
                if self.is_descending { !rank } else { rank }
            });
        }
        let values = Vec::new();
        Sorted { keys, values }
    }

    fn check(&self, truth: &Sorted<K>, answer: &Sorted<K>) -> Verdict {
        truth.check(answer)
    }
}
