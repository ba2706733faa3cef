//! Sorts: the order is exact, so keys, values and positions must be equal.

mod segments;
mod unique;

use std::fmt::Debug;

use half::{bf16, f16};
use rayon::prelude::*;
use warpwright::ops::sort::SortKey;
use warpwright::{Device, Result, Vector};

pub use self::segments::SortSegments;
pub use self::unique::SortedUnique;
use crate::compare::{each, equal};
use crate::parallel;
use crate::sample::{Make, Part};
use crate::{Family, Prepared, Problem, Scale, Verdict, Workload, prepared, with_variant};

const LENGTHS: [usize; 9] = [0, 1, 31, 32, 33, 257, 1000, 4096, 4099];
const LARGE: [usize; 3] = [1 << 16, 1 << 20, 5_000_011];

/// A key type.
pub trait Key: SortKey + Debug {
    /// The type's name.
    const NAME: &'static str;

    /// Returns the key with the lowest bits of a hash.
    fn from_hash(hash: u64) -> Self;
    /// Returns the key's place in the type's order: the least key has 0.
    fn rank(self) -> u64;
    /// Returns the key at a place in the type's order.
    fn from_rank(rank: u64) -> Self;
    /// Returns a NaN, or at times an infinity, with the sign and the payload of a hash's lowest bits; any integer, if the type
    /// has no NaN.
    fn nan(hash: u64) -> Self;
    /// Returns whether the key is a NaN.
    fn is_nan(self) -> bool;
}

macro_rules! keys {
    (integers $($type:ident)*; floats $($float:ident $bits:ident),*) => {
        $(impl Key for $type {
            const NAME: &'static str = stringify!($type);

            fn from_hash(hash: u64) -> Self {
                hash as Self
            }

            fn rank(self) -> u64 {
                self.wrapping_sub(Self::MIN) as u64 & (u64::MAX >> (64 - Self::BITS))
            }

            fn from_rank(rank: u64) -> Self {
                (rank as Self).wrapping_add(Self::MIN)
            }

            fn nan(hash: u64) -> Self {
                Self::from_hash(hash)
            }

            fn is_nan(self) -> bool {
                false
            }
        })*
        $(impl Key for $float {
            const NAME: &'static str = stringify!($float);

            fn from_hash(hash: u64) -> Self {
                Self::from_bits(hash as $bits)
            }

            // The order of IEEE 754's totalOrder: negative numbers have the reverse order of their bits.
            fn rank(self) -> u64 {
                let bits = self.to_bits();
                let is_negative = self.is_sign_negative();
                (if is_negative { !bits } else { bits | 1 << ($bits::BITS - 1) }).into()
            }

            fn from_rank(rank: u64) -> Self {
                let bits = rank as $bits;
                let is_negative = bits >> ($bits::BITS - 1) == 0;
                Self::from_bits(if is_negative { !bits } else { bits ^ 1 << ($bits::BITS - 1) })
            }

            fn nan(hash: u64) -> Self {
                Self::from_bits(hash as $bits | Self::INFINITY.to_bits())
            }

            fn is_nan(self) -> bool {
                $float::is_nan(self)
            }
        })*
    };
}
keys!(integers u8 u16 u32 u64 i8 i16 i32 i64; floats f16 u16, bf16 u16, f32 u32, f64 u64);

/// Returns keys in their order.
pub(crate) fn sorted<K: Key>(keys: &[K], is_descending: bool) -> Vec<K> {
    let turned = |rank: u64| if is_descending { !rank } else { rank };
    let mut ranks = parallel::map(keys.len(), 1 << 14, |at| turned(keys[at].rank()));
    ranks.par_sort_unstable();
    parallel::map(keys.len(), 1 << 14, |at| K::from_rank(turned(ranks[at])))
}

/// What goes with the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum With {
    /// Nothing.
    Nothing,
    /// A number of 32 bits for each key.
    Words,
    /// A number of 64 bits for each key.
    Longs,
    /// The result are the keys' positions, and not the keys.
    Positions,
}

impl With {
    /// Returns the end of a problem's name.
    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Words => " with u32",
            Self::Longs => " with u64",
            Self::Positions => ", positions",
        }
    }

    /// Returns the bytes that are read and written for each key.
    fn bytes<K>(self) -> usize {
        let key = size_of::<K>();
        match self {
            Self::Nothing => 2 * key,
            Self::Words => 2 * (key + 4),
            Self::Longs => 2 * (key + 8),
            Self::Positions => key + 4,
        }
    }
}

/// A sort.
#[derive(Clone)]
pub struct Sort<K> {
    len: usize,
    with: With,
    is_descending: bool,
    bits: Option<[u32; 2]>,
    part: Part,
    what: String,
    make: Make<K>,
}

impl<K: Key> Sort<K> {
    /// Makes a sort of uniform keys.
    pub fn new(len: usize, with: With) -> Self {
        Self {
            len,
            with,
            is_descending: false,
            bits: None,
            part: Part::WHOLE,
            what: K::NAME.to_owned(),
            make: Make::hashed(K::from_hash),
        }
    }

    /// Returns the same sort of other keys. `what` describes them.
    #[must_use]
    pub fn of(self, what: &str, make: Make<K>) -> Self {
        let what = format!("{what} {}", K::NAME);
        Self { what, make, ..self }
    }

    /// Returns the same sort in descending order.
    #[must_use]
    pub fn descending(self) -> Self {
        Self {
            is_descending: true,
            ..self
        }
    }

    /// Returns the same sort by a range of bits.
    #[must_use]
    pub fn by(self, bits: [u32; 2]) -> Self {
        Self {
            bits: Some(bits),
            ..self
        }
    }

    /// Returns the number by which a key is sorted.
    fn number(&self, key: K) -> u64 {
        let rank = key.rank();
        let rank = match self.bits {
            Some([from, to]) => rank << (64 - to) >> (64 - to + from),
            None => rank,
        };
        if self.is_descending { !rank } else { rank }
    }

    fn keys(&self, set: usize) -> Vec<K> {
        self.make.values(self.part.total(self.len), 21, set)
    }
}

/// The input of a sort. The values are the numbers of the keys.
pub struct Input<K> {
    /// The keys.
    pub keys: Vector<K>,
    /// The values of 32 bits, if the sort has such.
    pub words: Vector<u32>,
    /// The values of 64 bits, if the sort has such.
    pub longs: Vector<u64>,
}

impl<K: Key> Input<K> {
    fn new(device: &Device, keys: &[K], with: With) -> Result<Self> {
        let numbers = |of| if with == of { keys.len() } else { 0 };
        let words: Vec<u32> = (0..numbers(With::Words) as u32).collect();
        let longs: Vec<u64> = (0..numbers(With::Longs) as u64).collect();
        Ok(Self {
            keys: device.upload(keys)?,
            words: device.upload(&words)?,
            longs: device.upload(&longs)?,
        })
    }
}

/// The result of a sort. What the sort does not return is empty.
#[derive(Debug, Clone, Default)]
pub struct Sorted<K> {
    /// The keys.
    pub keys: Vec<K>,
    /// The values or positions.
    pub values: Vec<u64>,
}

impl<K: Key> Sorted<K> {
    /// Checks that another result has the same bits.
    pub(crate) fn check(&self, found: &Self) -> Verdict {
        each(&found.keys, self.keys.len(), |at, found| {
            let expected = self.keys[at];
            (found.rank() != expected.rank())
                .then(|| format!("expected {expected:?}, found {found:?}"))
        })?;
        equal(&found.values, &self.values)
    }
}

impl<K: Key> crate::Bits for Sorted<K> {
    fn bits(&self) -> Vec<u8> {
        [self.keys.bits(), self.values.bits()].concat()
    }
}

impl<K: Key> Problem for Sort<K> {
    type Input = Input<K>;
    type Answer = Sorted<K>;
    type Truth = Sorted<K>;

    fn family(&self) -> &'static str {
        "sort"
    }

    fn name(&self) -> String {
        let mut name = format!("{} {}", self.part.name("elements", self.len), self.what);
        name += self.with.name();
        if let Some([from, to]) = self.bits {
            name += &format!(", bits {from} to {to}");
        }
        if self.is_descending {
            name += ", descending";
        }
        name
    }

    fn bytes(&self) -> usize {
        self.len * self.with.bytes::<K>()
    }

    fn input(&self, device: &Device, set: usize) -> Result<Input<K>> {
        Input::new(device, &self.keys(set), self.with)
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
                if let Some([from, to]) = self.bits {
                    request = request.bits(from..to);
                }
                request.prepare()?
            }};
        }
        let part = self.part.range(self.len);
        let keys = input.keys.slice(part.clone())?;
        Ok(match self.with {
            With::Nothing => prepared!(prepare!(device.sort_request(keys)), |it| Ok(Sorted {
                keys: it.output()?.to_vec()?,
                values: Vec::new(),
            })),
            With::Words => {
                let values = input.words.slice(part)?;
                prepared!(prepare!(device.sort_pairs_request(keys, values)), |it| Ok(
                    Sorted {
                        keys: it.output()?.to_vec()?,
                        values: widened(it.values()?.to_vec()?),
                    }
                ))
            }
            With::Longs => {
                let values = input.longs.slice(part)?;
                prepared!(prepare!(device.sort_pairs_request(keys, values)), |it| Ok(
                    Sorted {
                        keys: it.output()?.to_vec()?,
                        values: it.values()?.to_vec()?,
                    }
                ))
            }
            With::Positions => {
                prepared!(prepare!(device.argsort_request::<K, u32>(keys)), |it| Ok(
                    Sorted {
                        keys: Vec::new(),
                        values: widened(it.output()?.to_vec()?),
                    }
                ))
            }
        })
    }

    fn truth(&self, set: usize) -> Sorted<K> {
        let range = self.part.range(self.len);
        let first = if self.with == With::Positions {
            0
        } else {
            range.start as u64
        };
        let keys = self.keys(set)[range].to_vec();
        if self.with == With::Nothing && self.bits.is_none() {
            let keys = sorted(&keys, self.is_descending);
            let values = Vec::new();
            return Sorted { keys, values };
        }
        let mut all: Vec<(u64, u64)> =
            parallel::map(keys.len(), 1 << 14, |at| (self.number(keys[at]), at as u64));
        all.par_sort_unstable();
        let values = match self.with {
            With::Nothing => Vec::new(),
            _ => all.iter().map(|(_, at)| first + at).collect(),
        };
        let keys = match self.with {
            With::Positions => Vec::new(),
            _ => all.iter().map(|(_, at)| keys[*at as usize]).collect(),
        };
        Sorted { keys, values }
    }

    fn check(&self, truth: &Sorted<K>, answer: &Sorted<K>) -> Verdict {
        truth.check(answer)
    }
}

/// The family `sort`.
pub const FAMILY: Family = Family {
    name: "sort",
    checks,
    timings,
    sizes: [13, 28],
    few: |len| Workload::new(Sort::<u32>::new(len, With::Nothing)),
    operations,
    same_everywhere: true,
};

/// Returns the words as numbers of 64 bits.
fn widened(words: Vec<u32>) -> Vec<u64> {
    words.into_iter().map(u64::from).collect()
}

/// Returns keys of which few are different.
pub(crate) fn few_keys<K: Key>() -> Make<K> {
    Make::hashed(|hash| K::from_hash(hash % 5 * 0x0123_4567_89ab_cdef))
}

fn few<K: Key>(len: usize, with: With) -> Sort<K> {
    Sort::new(len, with).of("few", few_keys())
}

/// Returns the problems that the variants are checked with.
fn checks(scale: Scale) -> Vec<Workload> {
    fn of<K: Key>(all: &mut Vec<Workload>, len: usize) {
        all.extend([
            Workload::new(Sort::<K>::new(len, With::Nothing)),
            Workload::new(Sort::<K>::new(len, With::Words).descending()),
            Workload::new(Sort::<K>::new(len, With::Positions)),
            Workload::new(few::<K>(len, With::Longs)),
        ]);
    }
    let mut all = Vec::new();
    for len in scale.all(&LENGTHS, &LARGE) {
        of::<u32>(&mut all, len);
        of::<f64>(&mut all, len);
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
    // Keys of few bits that are more than one block sorts.
    let more = len.max(5003);
    all.push(Workload::new(Sort::<u8>::new(more, With::Nothing)));
    all.push(Workload::new(Sort::<u16>::new(more, With::Nothing)));
    all.push(Workload::new(
        Sort::<u32>::new(len, With::Nothing).by([5, 18]),
    ));
    all.push(Workload::new(
        Sort::<f32>::new(len, With::Words).by([31, 32]),
    ));
    // The first key is not aligned for wide loads.
    let part = Sort {
        part: Part([1, 1]),
        ..Sort::<u16>::new(len, With::Words)
    };
    all.push(Workload::new(part));
    all.extend([
        Workload::new(SortSegments::<f32>::new(len, len / 9)),
        Workload::new(SortSegments::<u64>::new(len, 30).skewed()),
        Workload::new(SortSegments::<u8>::new(len, 1)),
        Workload::new(SortSegments::<i16>::new(0, 3)),
        Workload::new(SortSegments::<f64>::new(len, len / 9).with(With::Words)),
        Workload::new(
            SortSegments::<u16>::new(len, 30)
                .with(With::Positions)
                .skewed(),
        ),
        Workload::new(SortSegments::<i32>::new(len, 1).with(With::Longs)),
        Workload::new(SortedUnique(few::<f32>(len, With::Nothing))),
        Workload::new(SortedUnique(
            Sort::<u16>::new(len, With::Nothing).descending(),
        )),
    ]);
    all
}

/// Returns the problems that the variants are timed with.
fn timings(size: usize) -> Vec<Workload> {
    vec![
        Workload::new(Sort::<u32>::new(size, With::Nothing)),
        Workload::new(Sort::<u32>::new(size, With::Words)),
        Workload::new(Sort::<u64>::new(size / 2, With::Nothing)),
    ]
}

fn operations() -> Vec<Workload> {
    vec![
        Workload::new(Sort::<f32>::new(3000, With::Nothing)),
        Workload::new(few::<u16>(5000, With::Words)),
        Workload::new(few::<i64>(3000, With::Positions).descending()),
        Workload::new(SortSegments::<f32>::new(3000, 200)),
        Workload::new(SortSegments::<u64>::new(3000, 200).with(With::Words)),
        Workload::new(SortedUnique(few::<f32>(3000, With::Nothing))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_in_the_order_of_the_type() {
        assert!((-1_i8).rank() < 0_i8.rank() && i8::MIN.rank() == 0 && i8::MAX.rank() == 255);
        assert!((-0.0_f32).rank() < 0.0_f32.rank() && (-f32::NAN).rank() < f32::MIN.rank());
        assert!(f64::NAN.rank() > f64::INFINITY.rank() && u64::MAX.rank() == u64::MAX);
        assert!(bf16::NEG_INFINITY.rank() < bf16::MIN.rank());
        assert!(Key::is_nan(f16::nan(1)) && Key::is_nan(f64::nan(u64::MAX)) && !Key::is_nan(1_u8));
    }

    #[test]
    fn the_oracle_is_stable() {
        let make = Make::given(vec![0x21_u32, 0x13, 0x11, 0x22]);
        let sort = Sort::new(4, With::Words).of("given", make);
        let truth = sort.clone().by([0, 4]).truth(0);
        assert_eq!(truth.keys, [0x21, 0x11, 0x22, 0x13]);
        assert_eq!(truth.values, [0, 2, 3, 1]);
        let truth = sort.by([4, 8]).descending().truth(0);
        assert_eq!(truth.values, [0, 3, 1, 2]);
    }

    #[test]
    fn wrong_results_are_noticed() {
        let sort = Sort::<f32>::new(2, With::Words);
        let [keys, values] = [vec![-0.0, 0.0], vec![0.0, 0.0]];
        let truth = Sorted {
            keys,
            values: vec![0, 1],
        };
        assert!(sort.check(&truth, &truth.clone()).is_ok());
        assert!(
            sort.check(
                &truth,
                &Sorted {
                    keys: values,
                    ..truth.clone()
                }
            )
            .is_err()
        );
        assert!(
            sort.check(
                &truth,
                &Sorted {
                    values: vec![1, 0],
                    ..truth.clone()
                }
            )
            .is_err()
        );
        assert!(sort.check(&truth, &Sorted::default()).is_err());
    }
}
