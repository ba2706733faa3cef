//! Sorts of each segment by itself.

use warpwright::ops::segments::Segments;
use warpwright::{Device, Result};

use super::{Input, Key, Sorted, With, widened};
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
    with: With,
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
            with: With::Nothing,
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

    /// Returns the same sort with values, or of positions.
    #[must_use]
    pub fn with(self, with: With) -> Self {
        Self { with, ..self }
    }

    fn offsets(&self) -> Vec<u64> {
        self.cut.offsets(self.outside, self.len, self.count)
    }

    fn keys(&self, set: usize) -> Vec<K> {
        self.make.values(self.len + 2 * self.outside, 23, set)
    }
}

impl<K: Key> Problem for SortSegments<K> {
    type Input = (Input<K>, Segments);
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
        name += self.with.name();
        if self.cut == Cut::Skewed {
            name += ", skewed";
        }
        if self.is_descending {
            name += ", descending";
        }
        name
    }

    fn bytes(&self) -> usize {
        self.len * self.with.bytes::<K>()
    }

    fn input(&self, device: &Device, set: usize) -> Result<Self::Input> {
        let input = Input::new(device, &self.keys(set), self.with)?;
        Ok((
            input,
            segments(device, &self.offsets(), self.cut == Cut::Skewed)?,
        ))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        (input, segments): &'a Self::Input,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Sorted<K>>> {
        let keys = &input.keys;
        /// Makes the calls of the options.
        macro_rules! prepare {
            ($request:expr, |$it:ident| $keys:expr, $values:expr) => {{
                let mut request = with_variant!($request, variant);
                if self.is_descending {
                    request = request.descending();
                }
                prepared!(request.prepare()?, |$it| Ok(Sorted {
                    keys: $keys,
                    values: $values,
                }))
            }};
        }
        Ok(match self.with {
            With::Nothing => {
                prepare!(
                    device.sort_segments_request(keys, segments),
                    |it| it.output()?.to_vec()?,
                    Vec::new()
                )
            }
            With::Words => {
                let request = device.sort_pairs_segments_request(keys, &input.words, segments);
                prepare!(
                    request,
                    |it| it.output()?.to_vec()?,
                    widened(it.values()?.to_vec()?)
                )
            }
            With::Longs => {
                let request = device.sort_pairs_segments_request(keys, &input.longs, segments);
                prepare!(request, |it| it.output()?.to_vec()?, it.values()?.to_vec()?)
            }
            With::Positions => {
                let request = device.argsort_segments_request::<K, u32>(keys, segments);
                prepare!(request, |it| Vec::new(), widened(it.output()?.to_vec()?))
            }
        })
    }

    fn truth(&self, set: usize) -> Sorted<K> {
        let keys = self.keys(set);
        let mut order: Vec<u64> = (0..keys.len() as u64).collect();
        for pair in self.offsets().windows(2) {
            order[pair[0] as usize..pair[1] as usize].sort_by_key(|at| {
                let rank = keys[*at as usize].rank();
                if self.is_descending { !rank } else { rank }
            });
        }
        let mut sorted = Sorted {
            keys: order.iter().map(|at| keys[*at as usize]).collect(),
            values: order,
        };
        match self.with {
            With::Nothing => sorted.values.clear(),
            With::Positions => sorted.keys.clear(),
            With::Words | With::Longs => {}
        }
        sorted
    }

    fn check(&self, truth: &Sorted<K>, answer: &Sorted<K>) -> Verdict {
        truth.check(answer)
    }
}
