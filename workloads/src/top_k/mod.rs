//! The greatest or the smallest elements, in order: values and positions must be equal, bit by bit.

mod kth;
mod segments;

use half::{bf16, f16};
use rayon::prelude::*;
use warpwright::{Device, MatrixRect, MatrixView, Result, Vector};

pub use self::kth::Kth;
pub use self::segments::TopKSegments;
use crate::parallel;
use crate::sample::{Make, Part};
use crate::sort::{Key, Sorted, few_keys};
use crate::{Family, Prepared, Problem, Scale, Verdict, Workload, prepared, with_variant};

/// Lengths, and how many elements are wanted of them. The library does more than 4096 in another way.
const SIZES: [(usize, usize); 12] = [
    (0, 0),
    (1, 1),
    (31, 1),
    (33, 10),
    (257, 257),
    (1000, 0),
    (1000, 10),
    (4099, 257),
    (5003, 4096),
    (5003, 5000),
    (5003, 5003),
    (20_011, 10),
];

/// Sizes for a GPU.
const LARGE: [(usize, usize); 9] = [
    (300_001, 10),
    (300_001, 300_001),
    (1 << 20, 257),
    (1 << 20, 4096),
    (5_000_011, 1),
    (5_000_011, 257),
    (5_000_011, 4096),
    (5_000_011, 5000),
    (20_000_003, 10),
];

/// Numbers of rows, their lengths, and how many elements are wanted of each.
const ROWS: [(usize, usize, usize); 10] = [
    (0, 7, 3),
    (7, 0, 0),
    (1, 1, 1),
    (300, 4, 1),
    (67, 5, 5),
    (37, 83, 10),
    (5, 1000, 257),
    (2, 5003, 4096),
    (2, 5003, 5000),
    (1, 40_001, 10),
];

/// Rows for a GPU.
const LARGE_ROWS: [(usize, usize, usize); 5] = [
    (70_001, 100, 10),
    (1024, 4001, 50),
    (130, 32_000, 257),
    (3, 1_000_003, 10),
    (2, 300_001, 5000),
];

/// The values of which the oracle makes one list.
const CHUNK: usize = 1 << 18;

/// The `k` greatest or smallest elements of a vector, or of each row of a matrix.
#[derive(Clone)]
pub struct TopK<K> {
    /// The number of rows; a vector has none.
    rows: Option<usize>,
    /// The length of the vector, or of a row.
    len: usize,
    k: usize,
    is_smallest: bool,
    is_sampled: bool,
    /// The part of a longer vector, or the columns of a wider matrix.
    part: Part,
    what: String,
    make: Make<K>,
}

impl<K: Key> TopK<K> {
    /// Makes the problem of a vector's greatest elements. The values are uniform in their bits, without NaN.
    pub fn new(len: usize, k: usize) -> Self {
        Self {
            rows: None,
            len,
            k,
            is_smallest: false,
            is_sampled: false,
            part: Part::WHOLE,
            what: K::NAME.to_owned(),
            make: Make::hashed(number),
        }
    }

    /// Makes the problem of the greatest elements of each row of a matrix.
    pub fn rows((height, width): (usize, usize), k: usize) -> Self {
        Self {
            rows: Some(height),
            ..Self::new(width, k)
        }
    }

    /// Returns the same problem of other values. `what` describes them.
    #[must_use]
    pub fn of(self, what: &str, make: Make<K>) -> Self {
        let what = format!("{what} {}", K::NAME);
        Self { what, make, ..self }
    }

    /// Returns the same problem of the smallest elements.
    #[must_use]
    pub fn smallest(self) -> Self {
        Self {
            is_smallest: true,
            ..self
        }
    }

    /// Returns the same problem by a sample, which `best` otherwise takes of many elements alone.
    #[must_use]
    pub fn sampled(self) -> Self {
        Self {
            is_sampled: true,
            ..self
        }
    }

    fn values(&self, set: usize) -> Vec<K> {
        let total = self.part.total(self.len);
        self.make.values(self.rows.unwrap_or(1) * total, 23, set)
    }

    /// Returns the number by which a value is sorted. NaNs have the least one.
    fn number(&self, value: K) -> u64 {
        match (value.is_nan(), self.is_smallest) {
            (true, _) => 0,
            (false, true) => value.rank(),
            (false, false) => !value.rank(),
        }
    }

    /// Returns the positions of the first `k` of these values in their order.
    fn first(&self, values: &[K]) -> Vec<u64> {
        let first = |part: std::ops::Range<usize>| {
            let pair = |at: usize| (self.number(values[at]), at as u64);
            let mut pairs: Vec<_> = part.map(pair).collect();
            if self.k < pairs.len() {
                pairs.select_nth_unstable(self.k);
                pairs.truncate(self.k);
            }
            pairs
        };
        let mut all: Vec<(u64, u64)> = parallel::parts(values.len(), CHUNK, first).concat();
        all.par_sort_unstable();
        all.truncate(self.k);
        all.into_iter().map(|(_, at)| at).collect()
    }
}

impl<K: Key> Problem for TopK<K> {
    type Input = Vector<K>;
    /// The keys are the elements, the values their positions.
    type Answer = Sorted<K>;
    type Truth = Sorted<K>;

    fn family(&self) -> &'static str {
        "top_k"
    }

    fn name(&self) -> String {
        let which = if self.is_smallest {
            "smallest"
        } else {
            "greatest"
        };
        let each = self
            .rows
            .map(|rows| format!("each of {rows} rows of "))
            .unwrap_or_default();
        let elements = self.part.name("elements", self.len);
        let how = if self.is_sampled { ", by a sample" } else { "" };
        format!("{} {which} of {each}{elements} {}{how}", self.k, self.what)
    }

    fn bytes(&self) -> usize {
        let size = size_of::<K>();
        self.rows.unwrap_or(1) * (self.len * size + self.k * (size + 8))
    }

    fn input(&self, device: &Device, set: usize) -> Result<Vector<K>> {
        device.upload(&self.values(set))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Vector<K>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Sorted<K>>> {
        /// Makes the calls of the options.
        macro_rules! prepare {
            ($request:expr) => {{
                let mut request = with_variant!($request, variant);
                if self.is_smallest {
                    request = request.smallest();
                }
                if self.is_sampled {
                    request = request.sampled();
                }
                prepared!(request.prepare()?, |it| Ok(Sorted {
                    values: it.positions()?.to_vec()?,
                    keys: it.output()?.to_vec()?,
                }))
            }};
        }
        let part = self.part.range(self.len);
        Ok(match self.rows {
            None => prepare!(device.top_k_request(input.slice(part)?, self.k)),
            Some(rows) => {
                let width = self.part.total(self.len);
                let matrix = MatrixView::from_vector(input.view(), rows, width)?;
                let rows = MatrixRect::from(matrix).rect(.., part)?;
                prepare!(device.top_k_rows_request(rows, self.k))
            }
        })
    }

    fn truth(&self, set: usize) -> Sorted<K> {
        let all = self.values(set);
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for row in all.chunks(self.part.total(self.len).max(1)) {
            let row = &row[self.part.range(self.len)];
            let first = self.first(row);
            keys.extend(first.iter().map(|at| row[*at as usize]));
            values.extend(first);
        }
        Sorted { keys, values }
    }

    fn check(&self, truth: &Sorted<K>, answer: &Sorted<K>) -> Verdict {
        truth.check(answer)
    }
}

/// The family `top_k`.
pub const FAMILY: Family = Family {
    name: "top_k",
    checks,
    timings,
    sizes: [14, 28],
    few: |len| Workload::new(TopK::<f32>::new(len, len.min(3))),
    operations,
    same_everywhere: true,
};

/// Returns a number made from a hash.
fn number<K: Key>(hash: u64) -> K {
    let value = K::from_hash(hash);
    if value.is_nan() {
        K::from_hash(0)
    } else {
        value
    }
}

/// Returns numbers with NaNs of both signs and of many payloads among them.
fn with_nans<K: Key>() -> Make<K> {
    Make::hashed(|hash| match hash >> 60 {
        0 => K::nan(hash),
        _ => number(hash),
    })
}

/// Returns the problems that the variants are checked with.
fn checks(scale: Scale) -> Vec<Workload> {
    let mut all = Vec::new();
    for (len, k) in scale.all(&SIZES, &LARGE) {
        of_kinds::<u32>(&mut all, &TopK::new(len, k));
        of_kinds::<f64>(&mut all, &TopK::new(len, k));
    }
    for (height, width, k) in scale.all(&ROWS, &LARGE_ROWS) {
        of_kinds::<f32>(&mut all, &TopK::rows((height, width), k));
        of_kinds::<u8>(&mut all, &TopK::rows((height, width), k));
    }
    let len = scale.pick(3001, 300_001);
    of_type::<u8>(&mut all, len);
    of_type::<u16>(&mut all, len);
    of_type::<u64>(&mut all, len);
    of_type::<i8>(&mut all, len);
    of_type::<i16>(&mut all, len);
    of_type::<i32>(&mut all, len);
    of_type::<i64>(&mut all, len);
    of_type::<f16>(&mut all, len);
    of_type::<bf16>(&mut all, len);
    of_type::<f32>(&mut all, len);
    all.push(Workload::new(TopK::<f32>::new(100_000, 257)));
    of_kinds::<f32>(&mut all, &TopK::new(20_011, 257).sampled());
    of_kinds::<u8>(&mut all, &TopK::new(20_011, 257).sampled());
    of_kinds::<i16>(&mut all, &TopK::new(20_011, 257).sampled());
    of_kinds::<u64>(&mut all, &TopK::new(20_011, 257).sampled());
    let zeros = Make::hashed(|hash| if hash & 1 == 0 { 0.0 } else { -0.0 });
    let zeros = TopK::<f32>::new(len, 1700).of("zeros as", zeros);
    all.push(Workload::new(zeros.clone().smallest()));
    all.push(Workload::new(zeros));
    // The first element is not aligned for wide loads. Between the rows are other elements.
    unaligned(&mut all, TopK::<u16>::new(len, 257));
    unaligned(&mut all, TopK::<f32>::new(len, 10));
    unaligned(&mut all, TopK::<u8>::rows((37, 83), 10));
    unaligned(&mut all, TopK::<f32>::rows((5, 1000), 257));
    unaligned(&mut all, TopK::<f64>::rows((2, 5003), 5000));
    all.extend([
        Workload::new(TopKSegments::new(TopK::<f32>::new(len, 10), len / 9)),
        Workload::new(TopKSegments::new(TopK::<u64>::new(len, 300).smallest(), 30)),
        Workload::new(TopKSegments::new(TopK::<u8>::new(len, 257), 1)),
        Workload::new(TopKSegments::new(TopK::<i16>::new(0, 2), 3)),
    ]);
    all.extend(kth::checks(scale));
    all
}

/// Adds a problem of each kind of values, with one order and the other.
fn of_kinds<K: Key>(all: &mut Vec<Workload>, problem: &TopK<K>) {
    let equal = Make::hashed(|_| K::from_hash(0x0102_0304_0506_0708));
    all.extend([
        Workload::new(problem.clone()),
        Workload::new(problem.clone().of("any", with_nans()).smallest()),
        Workload::new(problem.clone().of("few", few_keys())),
        Workload::new(problem.clone().of("equal", equal).smallest()),
    ]);
}

/// Adds problems of another type.
fn of_type<K: Key>(all: &mut Vec<Workload>, len: usize) {
    let problem = |k| TopK::<K>::new(len, k);
    all.extend([
        Workload::new(problem(10)),
        Workload::new(problem(257).smallest()),
        Workload::new(problem(257).of("any", with_nans())),
        Workload::new(problem(10).of("few", few_keys()).smallest()),
    ]);
}

/// Adds a problem of the elements behind the third, or of the columns behind the third.
fn unaligned<K: Key>(all: &mut Vec<Workload>, problem: TopK<K>) {
    let part = Part([3, 2]);
    all.push(Workload::new(TopK { part, ..problem }));
}

/// Returns the problems that the variants are timed with.
fn timings(size: usize) -> Vec<Workload> {
    let width = size.min(1 << 15);
    vec![
        Workload::new(TopK::<f32>::new(size, size.min(10))),
        Workload::new(TopK::<f32>::new(size, size.min(256))),
        Workload::new(TopK::<f32>::rows(
            (size / width.max(1), width),
            width.min(50),
        )),
    ]
}

fn operations() -> Vec<Workload> {
    let mut all = vec![
        Workload::new(TopK::<f32>::new(3000, 10).of("any", with_nans())),
        Workload::new(TopK::<u16>::new(5000, 257).of("few", few_keys()).smallest()),
        Workload::new(TopK::<i64>::new(5003, 4000)),
        Workload::new(TopK::<u32>::new(17_000, 100).sampled()),
        Workload::new(TopK::<f32>::rows((30, 100), 10)),
        Workload::new(TopKSegments::new(TopK::<f32>::new(3000, 10), 200)),
    ];
    all.extend(kth::operations());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth<K: Key>(problem: TopK<K>, values: &[K]) -> Sorted<K> {
        problem.of("given", Make::given(values)).truth(0)
    }

    #[test]
    fn the_oracle_is_right() {
        let values = [2.0, f32::NAN, -0.0, 0.0, -f32::NAN, 2.0];
        let greatest = truth(TopK::new(6, 5), &values);
        assert_eq!(greatest.values, [1, 4, 0, 5, 3]);
        assert_eq!(greatest.keys[2..], [2.0, 2.0, 0.0]);
        assert!(greatest.keys[1].is_nan() && greatest.keys[1].is_sign_negative());
        let least = truth(TopK::new(6, 4).smallest(), &values);
        assert_eq!(least.values, [1, 4, 2, 3]);

        let rows = truth(TopK::rows((2, 3), 2), &[1_i8, 3, -2, 6, 5, 6]);
        assert_eq!(
            (rows.keys, rows.values),
            (vec![3, 1, 6, 6], vec![1, 0, 0, 2])
        );
        let wide = TopK {
            part: Part([1, 1]),
            ..TopK::rows((2, 1), 1)
        };
        let found = truth(wide, &[9_u8, 3, 9, 9, 5, 9]);
        assert_eq!((found.keys, found.values), (vec![3, 5], vec![0, 0]));
    }

    #[test]
    fn the_oracle_takes_all_chunks_together() {
        let len = 2 * CHUNK + 5;
        let make = Make::by(|at, _, _| (at % 1000) as u16);
        let found = TopK::new(len, 300).of("", make).truth(0);
        assert_eq!(found.keys, [999; 300]);
        assert!((0..300).all(|i| found.values[i] == 1000 * i as u64 + 999));
    }

    #[test]
    fn wrong_results_are_noticed() {
        let problem = TopK::new(3, 2).of("given", Make::given([1_u8, 2, 2]));
        let truth = problem.truth(0);
        let wrong = |keys: &[u8], values: &[u64]| {
            let answer = Sorted {
                keys: keys.to_vec(),
                values: values.to_vec(),
            };
            problem.check(&truth, &answer).is_err()
        };
        assert!(!wrong(&[2, 2], &[1, 2]));
        assert!(wrong(&[2, 2], &[2, 1]) && wrong(&[2, 1], &[1, 2]) && wrong(&[2], &[1]));
    }
}
