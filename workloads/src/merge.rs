//! Merges, and the places of keys in a sorted array: exact.

use half::{bf16, f16};
use rayon::prelude::*;
use warpwright::{Device, Result, Vector};

use crate::parallel;
use crate::sample::{Make, Part};
use crate::sort::{Key, Sorted, few_keys, sorted};
use crate::{Family, Prepared, Problem, Scale, Verdict, Workload, prepared, with_variant};

const LENGTHS: [usize; 8] = [0, 1, 31, 257, 3839, 3840, 3841, 8000];
const LARGE: [usize; 3] = [1 << 16, 1 << 20, 5_000_011];

/// What is done with two arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// They are merged.
    Merge,
    /// They are merged, with the number of each key.
    Pairs,
    /// The place of each key of the second in the first, before its equals.
    Lower,
    /// The same, behind its equals.
    Upper,
}

/// A merge or a search.
#[derive(Clone)]
pub struct Merge<K> {
    /// The keys of the first and the second array.
    len: [usize; 2],
    what: What,
    is_descending: bool,
    part: Part,
    of: String,
    /// What makes the keys of each array.
    make: [Make<K>; 2],
}

impl<K: Key> Merge<K> {
    /// Makes a problem of uniform keys: `len` in all for a merge, and for a search as many needles as sorted keys.
    pub fn new(len: usize, what: What) -> Self {
        let second = match what {
            What::Merge | What::Pairs => len - len / 2,
            What::Lower | What::Upper => len,
        };
        let first = match what {
            What::Merge | What::Pairs => len / 2,
            What::Lower | What::Upper => len,
        };
        Self {
            len: [first, second],
            what,
            is_descending: false,
            part: Part::WHOLE,
            of: K::NAME.to_owned(),
            make: [Make::hashed(K::from_hash), Make::hashed(K::from_hash)],
        }
    }

    /// Returns the same problem for arrays of these lengths.
    #[must_use]
    pub fn lengths(self, len: [usize; 2]) -> Self {
        Self { len, ..self }
    }

    /// Returns the same problem for keys of which few are different.
    #[must_use]
    pub fn few(self) -> Self {
        self.of("few", [few_keys(), few_keys()])
    }

    /// Returns the same problem for other keys of the first and the second array. `what` describes them.
    #[must_use]
    pub fn of(self, what: &str, make: [Make<K>; 2]) -> Self {
        let of = format!("{what} {}", K::NAME);
        Self { of, make, ..self }
    }

    /// Returns the same problem for arrays in descending order.
    #[must_use]
    pub fn descending(self) -> Self {
        Self {
            is_descending: true,
            ..self
        }
    }

    /// Returns the number by which a key is sorted.
    fn number(&self, key: K) -> u64 {
        if self.is_descending {
            !key.rank()
        } else {
            key.rank()
        }
    }

    /// Returns an array with the elements before and behind its part.
    fn keys(&self, side: usize, set: usize) -> Vec<K> {
        let total = self.part.total(self.len[side]);
        let mut keys = self.make[side].values(total, 31 + side as u64, set);
        if side == 0 || matches!(self.what, What::Merge | What::Pairs) {
            let part = &mut keys[self.part.range(self.len[side])];
            let in_order = sorted(part, self.is_descending);
            part.copy_from_slice(&in_order);
        }
        keys
    }
}

/// Returns places as an answer.
fn places<K>(places: Result<&Vector<u64>>) -> Result<Sorted<K>> {
    Ok(Sorted {
        keys: Vec::new(),
        values: places?.to_vec()?,
    })
}

/// The two arrays, and the numbers of their keys.
pub struct Input<K> {
    keys: [Vector<K>; 2],
    /// Empty unless they are merged too.
    values: [Vector<u32>; 2],
}

impl<K: Key> Problem for Merge<K> {
    type Input = Input<K>;
    type Answer = Sorted<K>;
    type Truth = Sorted<K>;

    fn family(&self) -> &'static str {
        "merge"
    }

    fn name(&self) -> String {
        let [a, b] = self.len.map(|len| self.part.name("elements", len));
        let of = &self.of;
        let mut name = match self.what {
            What::Merge => format!("{a} and {b} {of}"),
            What::Pairs => format!("{a} and {b} {of} with u32"),
            What::Lower => format!("lower bounds of {b} in {a} {of}"),
            What::Upper => format!("upper bounds of {b} in {a} {of}"),
        };
        if self.is_descending {
            name += ", descending";
        }
        name
    }

    fn bytes(&self) -> usize {
        let [a, b] = self.len;
        let key = size_of::<K>();
        match self.what {
            What::Merge => 2 * (a + b) * key,
            What::Pairs => 2 * (a + b) * (key + 4),
            What::Lower | What::Upper => b * (key + 8),
        }
    }

    fn input(&self, device: &Device, set: usize) -> Result<Input<K>> {
        let keys = |side| device.upload(&self.keys(side, set));
        let values = |side: usize| {
            let len = match self.what {
                What::Pairs => self.part.total(self.len[side]) as u32,
                _ => 0,
            };
            let numbers: Vec<u32> = (0..len).map(|at| 2 * at + side as u32).collect();
            device.upload(&numbers)
        };
        Ok(Input {
            keys: [keys(0)?, keys(1)?],
            values: [values(0)?, values(1)?],
        })
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Input<K>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Sorted<K>>> {
        /// Makes the calls of the options.
        macro_rules! prepare {
            ($request:expr) => {{
                let mut request = with_variant!($request, variant);
                if self.is_descending {
                    request = request.descending();
                }
                request.prepare()?
            }};
        }
        let [first, second] = self.len.map(|len| self.part.range(len));
        let a = input.keys[0].slice(first.clone())?;
        let b = input.keys[1].slice(second.clone())?;
        Ok(match self.what {
            What::Merge => {
                prepared!(prepare!(device.merge_request(a, b)), |it| Ok(Sorted {
                    keys: it.output()?.to_vec()?,
                    values: Vec::new(),
                }))
            }
            What::Pairs => {
                let x = input.values[0].slice(first)?;
                let y = input.values[1].slice(second)?;
                let request = device.merge_pairs_request((a, x), (b, y));
                prepared!(prepare!(request), |it| Ok(Sorted {
                    keys: it.output()?.to_vec()?,
                    values: it.values()?.to_vec()?.into_iter().map(u64::from).collect(),
                }))
            }
            What::Lower => {
                prepared!(prepare!(device.lower_bound_request(a, b)), |it| places(
                    it.output()
                ))
            }
            What::Upper => {
                prepared!(prepare!(device.upper_bound_request(a, b)), |it| places(
                    it.output()
                ))
            }
        })
    }

    fn excludes(&self, variant: &str) -> bool {
        match self.what {
            What::Merge => false,
            What::Pairs => variant != "best",
            What::Lower | What::Upper => variant == "path",
        }
    }

    fn truth(&self, set: usize) -> Sorted<K> {
        let part = |side: usize| {
            let range = self.part.range(self.len[side]);
            let keys = self.keys(side, set)[range.clone()].to_vec();
            (keys, range)
        };
        let ([a, b], [first, second]) = {
            let ((a, first), (b, second)) = (part(0), part(1));
            ([a, b], [first, second])
        };
        if matches!(self.what, What::Lower | What::Upper) {
            let sorted: Vec<u64> = a.iter().map(|key| self.number(*key)).collect();
            let is_upper = self.what == What::Upper;
            let place = |needle: &K| {
                let needle = self.number(*needle);
                sorted.partition_point(|key| *key < needle || is_upper && *key == needle) as u64
            };
            return Sorted {
                keys: Vec::new(),
                values: parallel::map(b.len(), 1 << 12, |at| place(&b[at])),
            };
        }
        // The sort is stable: equal keys of the first array stay before those of the second.
        let numbers = |range: std::ops::Range<usize>, side: u64| {
            range
                .map(move |at| 2 * at as u64 + side)
                .collect::<Vec<_>>()
        };
        let values = [numbers(first, 0), numbers(second, 1)].concat();
        let keys = [a, b].concat();
        let mut all: Vec<(u64, u64)> =
            parallel::map(keys.len(), 1 << 14, |at| (self.number(keys[at]), at as u64));
        all.par_sort_unstable();
        let places = || all.iter().map(|(_, at)| *at as usize);
        Sorted {
            keys: places().map(|at| keys[at]).collect(),
            values: match self.what {
                What::Pairs => places().map(|at| values[at]).collect(),
                _ => Vec::new(),
            },
        }
    }

    fn check(&self, truth: &Sorted<K>, answer: &Sorted<K>) -> Verdict {
        truth.check(answer)
    }
}

/// The family `merge`.
pub const FAMILY: Family = Family {
    name: "merge",
    checks,
    timings,
    sizes: [16, 28],
    few: |len| Workload::new(Merge::<u32>::new(len, What::Merge)),
    operations,
    same_everywhere: true,
};

/// Returns the problems that the variants are checked with.
fn checks(scale: Scale) -> Vec<Workload> {
    fn of<K: Key>(all: &mut Vec<Workload>, len: usize) {
        all.extend([
            Workload::new(Merge::<K>::new(len, What::Merge)),
            Workload::new(Merge::<K>::new(len, What::Pairs).few().descending()),
            Workload::new(Merge::<K>::new(len, What::Lower).few()),
            Workload::new(Merge::<K>::new(len, What::Upper).descending()),
        ]);
    }
    let mut all = Vec::new();
    for len in scale.all(&LENGTHS, &LARGE) {
        of::<u32>(&mut all, len);
    }
    let len = scale.pick(3001, 300_001);
    of::<u8>(&mut all, len);
    of::<u16>(&mut all, len);
    of::<u64>(&mut all, len);
    of::<i8>(&mut all, len);
    of::<i16>(&mut all, len);
    of::<i32>(&mut all, len);
    of::<i64>(&mut all, len);
    of::<f16>(&mut all, len);
    of::<bf16>(&mut all, len);
    of::<f32>(&mut all, len);
    of::<f64>(&mut all, len);
    // One side has next to nothing, and the first keys are not aligned for wide loads.
    let merge = |len| Merge::<u16>::new(0, What::Merge).few().lengths(len);
    all.push(Workload::new(merge([0, len])));
    all.push(Workload::new(merge([len, 2])));
    all.push(Workload::new(Merge {
        part: Part([1, 1]),
        ..merge([len, len / 3])
    }));
    all.push(Workload::new(Merge {
        part: Part([3, 2]),
        ..Merge::<u8>::new(2 * len, What::Pairs).few()
    }));
    all
}

/// Returns the problems that the variants are timed with.
fn timings(size: usize) -> Vec<Workload> {
    vec![
        Workload::new(Merge::<u32>::new(size, What::Merge)),
        Workload::new(Merge::<u64>::new(size / 2, What::Merge)),
        Workload::new(Merge::<u32>::new(size / 8, What::Lower)),
    ]
}

fn operations() -> Vec<Workload> {
    vec![
        Workload::new(Merge::<f32>::new(5000, What::Merge)),
        Workload::new(Merge::<u16>::new(5000, What::Pairs).few()),
        Workload::new(Merge::<i64>::new(3000, What::Lower).descending()),
        Workload::new(Merge::<u8>::new(3000, What::Upper)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(what: What, keys: [Vec<i8>; 2]) -> Sorted<i8> {
        let len = keys.each_ref().map(Vec::len);
        let problem = Merge::new(0, what).lengths(len);
        problem.of("given", keys.map(Make::given)).truth(0)
    }

    #[test]
    fn the_oracle_is_stable() {
        let both = truth(What::Pairs, [vec![-3, 5, 5], vec![5, 7]]);
        assert_eq!(both.keys, [-3, 5, 5, 5, 7]);
        assert_eq!(both.values, [0, 2, 4, 1, 3]);
        assert!(truth(What::Merge, [vec![1], vec![1, 2]]).values.is_empty());
    }

    #[test]
    fn the_oracle_counts_equal_keys_for_upper_bounds_alone() {
        let keys = [vec![-3, 5, 5], vec![5, -4, 6, -3]];
        assert_eq!(truth(What::Lower, keys.clone()).values, [1, 0, 3, 0]);
        assert_eq!(truth(What::Upper, keys).values, [3, 0, 3, 1]);
    }
}
