//! The element at one position of the sorted order, of a vector or of each row of a matrix.

use half::{bf16, f16};
use warpwright::{Device, MatrixRect, MatrixView, Result, Vector};

use super::with_nans;
use crate::sample::{Make, Part};
use crate::sort::{Key, few_keys};
use crate::{Bits, Prepared, Problem, Scale, Verdict, Workload, equal, prepared, with_variant};

/// Lengths and positions.
const SIZES: [(usize, usize); 7] = [
    (1, 0),
    (2, 1),
    (257, 128),
    (1000, 0),
    (1000, 999),
    (20_011, 10_000),
    (70_001, 69_000),
];

/// The same for a GPU.
const LARGE: [(usize, usize); 3] = [
    (300_001, 1),
    (5_000_011, 2_500_005),
    (1 << 24, (1 << 24) - 1),
];

/// Numbers of rows, their lengths, and positions.
const ROWS: [(usize, usize, usize); 5] = [
    (1, 1, 0),
    (300, 4, 1),
    (37, 83, 41),
    (5, 1000, 999),
    (2, 40_001, 20_000),
];

/// Rows for a GPU.
const LARGE_ROWS: [(usize, usize, usize); 3] =
    [(70_001, 100, 50), (1024, 32_000, 16_000), (3, 1_000_003, 7)];

/// The element at position `k` of the sorted order of a vector, or of each row of a matrix.
#[derive(Clone)]
pub struct Kth<K> {
    /// The number of rows; a vector has none.
    rows: Option<usize>,
    /// The length of the vector, or of a row.
    len: usize,
    k: usize,
    part: Part,
    what: &'static str,
    make: Make<K>,
}

impl<K: Key> Kth<K> {
    /// Makes the problem of values of every kind.
    pub fn new(len: usize, k: usize) -> Self {
        Self {
            rows: None,
            len,
            k,
            part: Part::WHOLE,
            what: "any",
            make: with_nans(),
        }
    }

    /// Makes the problem of each row of a matrix.
    pub fn rows(height: usize, width: usize, k: usize) -> Self {
        Self {
            rows: Some(height),
            ..Self::new(width, k)
        }
    }

    /// Makes the problem of the median.
    pub fn median(len: usize) -> Self {
        Self::new(len, len.saturating_sub(1) / 2)
    }

    /// Returns the same problem of other values. `what` describes them.
    #[must_use]
    pub fn of(self, what: &'static str, make: Make<K>) -> Self {
        Self { what, make, ..self }
    }

    fn values(&self, set: usize) -> Vec<K> {
        let total = self.part.total(self.len);
        self.make.values(self.rows.unwrap_or(1) * total, 24, set)
    }
}

impl<K: Key> Problem for Kth<K> {
    type Input = Vector<K>;
    type Answer = Vec<K>;
    type Truth = Vec<K>;

    fn family(&self) -> &'static str {
        "top_k"
    }

    fn name(&self) -> String {
        let each = self
            .rows
            .map(|rows| format!("each of {rows} rows of "))
            .unwrap_or_default();
        let elements = self.part.name("elements", self.len);
        let (k, what, ty) = (self.k, self.what, K::NAME);
        format!("number {k} of {each}{elements} {what} {ty}, sorted")
    }

    fn bytes(&self) -> usize {
        self.rows.unwrap_or(1) * self.len * size_of::<K>()
    }

    fn input(&self, device: &Device, set: usize) -> Result<Vector<K>> {
        device.upload(&self.values(set))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        input: &'a Vector<K>,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Vec<K>>> {
        /// Makes the calls of the options.
        macro_rules! prepare {
            ($request:expr) => {
                prepared!(with_variant!($request, variant).prepare()?, |it| it
                    .output()?
                    .to_vec())
            };
        }
        let part = self.part.range(self.len);
        Ok(match self.rows {
            None => prepare!(device.select_kth_request(input.slice(part)?, self.k)),
            Some(rows) => {
                let width = self.part.total(self.len);
                let matrix = MatrixView::from_vector(input.view(), rows, width)?;
                let rows = MatrixRect::from(matrix).rect(.., part)?;
                prepare!(device.select_kth_rows_request(rows, self.k))
            }
        })
    }

    fn excludes(&self, variant: &str) -> bool {
        variant == "two_level"
    }

    fn truth(&self, set: usize) -> Vec<K> {
        let mut values = self.values(set);
        let rows = values.chunks_mut(self.part.total(self.len));
        let elements = rows.map(|row| {
            let row = &mut row[self.part.range(self.len)];
            let (_, element, _) = row.select_nth_unstable_by_key(self.k, |value| value.rank());
            *element
        });
        elements.collect()
    }

    fn check(&self, truth: &Vec<K>, answer: &Vec<K>) -> Verdict {
        equal(&answer.bits(), &truth.bits())
    }
}

/// Returns the problems that the variants are checked with.
pub(super) fn checks(scale: Scale) -> Vec<Workload> {
    let mut all = Vec::new();
    for (len, k) in scale.all(&SIZES, &LARGE) {
        all.push(Workload::new(Kth::<f32>::new(len, k)));
        all.push(Workload::new(Kth::<u64>::new(len, k)));
    }
    for (height, width, k) in scale.all(&ROWS, &LARGE_ROWS) {
        all.push(Workload::new(Kth::<f32>::rows(height, width, k)));
        all.push(Workload::new(Kth::<u8>::rows(height, width, k)));
    }
    of_type::<u8>(&mut all);
    of_type::<u16>(&mut all);
    of_type::<u32>(&mut all);
    of_type::<i8>(&mut all);
    of_type::<i16>(&mut all);
    of_type::<i32>(&mut all);
    of_type::<i64>(&mut all);
    of_type::<f16>(&mut all);
    of_type::<bf16>(&mut all);
    of_type::<f32>(&mut all);
    of_type::<f64>(&mut all);
    all
}

fn of_type<K: Key>(all: &mut Vec<Workload>) {
    // The first element is not aligned for wide loads.
    let part = Part([3, 2]);
    let (what, make) = ("few", few_keys());
    let median = Kth::<K>::median(3001);
    all.push(Workload::new(Kth {
        part,
        ..median.clone()
    }));
    all.push(Workload::new(Kth {
        what,
        make,
        ..median
    }));
    // Between the rows are other elements.
    all.push(Workload::new(Kth {
        part,
        ..Kth::<K>::rows(7, 311, 200)
    }));
}

pub(super) fn operations() -> Vec<Workload> {
    vec![
        Workload::new(Kth::<f32>::median(3000)),
        Workload::new(Kth::<f32>::rows(30, 100, 49)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_is_right() {
        let make = Make::given([2.0_f32, f32::NAN, -0.0, 0.0, -f32::NAN, 2.0]);
        let at = |k| {
            Kth {
                make: make.clone(),
                ..Kth::new(6, k)
            }
            .truth(0)[0]
        };
        assert!(at(0).is_nan() && at(0).is_sign_negative());
        assert_eq!(
            [at(1), at(2), at(3), at(4)].map(f32::to_bits),
            [-0.0_f32, 0.0, 2.0, 2.0].map(f32::to_bits)
        );
        assert!(at(5).is_nan());
    }
}
