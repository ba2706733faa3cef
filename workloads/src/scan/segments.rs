//! Scans of segments: each is held to the oracle of a whole array.

use half::{bf16, f16};
use warpwright::ops::scan::{Operator, Scannable};
use warpwright::ops::segments::Segments;
use warpwright::{Device, MatrixView, Result, Vector};

use super::{Data, Scan, with_options};
use crate::sample::Part;
use crate::segments::{Cut, Key, Keys, segments};
use crate::{Number, Prepared, Problem, Scale, Verdict, Workload};

/// What says where segments begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The offsets of so many segments, of 64 bits if `is_wide`. They leave out the first and the last element.
    Offsets {
        count: usize,
        cut: Cut,
        is_wide: bool,
    },
    /// The rows of a matrix of this width.
    Rows(usize),
    /// The columns of a matrix of this width.
    Columns(usize),
    /// Keys.
    Keys,
}

/// A scan of each segment of an array, or of the values of each run of equal keys of type `K`.
#[derive(Clone)]
pub struct Segmented<T, K = u32> {
    scan: Scan<T>,
    by: By,
    keys: Keys<K>,
}

impl<T: Number> Segmented<T> {
    /// Makes a scan of `count` segments of any length.
    pub fn by_offsets(scan: Scan<T>, count: usize) -> Self {
        Self::by(
            scan,
            By::Offsets {
                count,
                cut: Cut::Random,
                is_wide: false,
            },
        )
    }

    /// Makes a scan of the rows of a matrix of this width. It divides the scan's length.
    pub fn by_rows(scan: Scan<T>, width: usize) -> Self {
        Self::by(scan, By::Rows(width))
    }
}

impl<T: Number, K: Key> Segmented<T, K> {
    /// Makes a scan of the values of keys in runs of four on the average.
    pub fn by_keys(scan: Scan<T>) -> Self {
        Self::by(scan, By::Keys)
    }

    fn by(scan: Scan<T>, by: By) -> Self {
        let keys = Keys::new(scan.len);
        Self { scan, by, keys }
    }

    /// Returns the offsets.
    fn offsets(&self, count: usize, cut: Cut) -> Vec<u64> {
        let outside = self.scan.len.min(2);
        cut.offsets(outside / 2, self.scan.len - outside, count)
    }

    /// Returns where segments begin, and the end.
    fn starts(&self, set: usize) -> Vec<usize> {
        let len = self.scan.len;
        match self.by {
            By::Offsets { count, cut, .. } => {
                let offsets = self.offsets(count, cut);
                let offsets = offsets.iter().map(|offset| *offset as usize);
                [0].into_iter().chain(offsets).chain([len]).collect()
            }
            By::Rows(width) => (0..=len).step_by(width).collect(),
            By::Columns(width) => (0..=len).step_by(len.div_ceil(width).max(1)).collect(),
            By::Keys => Keys::starts(&self.keys.here(set)),
        }
    }
}

/// What says on a device where segments begin.
pub enum Given<K> {
    /// Offsets.
    Offsets(Segments),
    /// The width of a matrix.
    Rows(usize),
    /// The width of a matrix whose columns are scanned.
    Columns(usize),
    /// Keys.
    Keys(Vector<K>),
}

impl<T: Number + Scannable, K: Key> Problem for Segmented<T, K> {
    type Input = (Vector<T>, Given<K>);
    type Answer = Vec<T>;
    type Truth = (Vec<T>, Vec<usize>);

    fn family(&self) -> &'static str {
        "scan"
    }

    fn name(&self) -> String {
        let scan = self.scan.name();
        match self.by {
            By::Offsets {
                count,
                cut,
                is_wide,
            } => {
                let kind = if cut == Cut::Skewed { "skewed " } else { "" };
                let wide = if is_wide { ", 64-bit offsets" } else { "" };
                format!("{scan}, in {count} {kind}segments{wide}")
            }
            By::Rows(width) => format!("{scan}, in rows of {width}"),
            By::Columns(width) => format!("{scan}, in {width} columns"),
            By::Keys => format!("{scan}, by key {}", K::NAME),
        }
    }

    fn bytes(&self) -> usize {
        self.scan.bytes()
            + match self.by {
                By::Offsets { count, is_wide, .. } => count * if is_wide { 8 } else { 4 },
                By::Rows(_) | By::Columns(_) => 0,
                By::Keys => self.scan.len * size_of::<K>(),
            }
    }

    fn input(&self, device: &Device, set: usize) -> Result<Self::Input> {
        let given = match self.by {
            By::Offsets {
                count,
                cut,
                is_wide,
            } => {
                let offsets = self.offsets(count, cut);
                Given::Offsets(segments(device, &offsets, is_wide)?)
            }
            By::Rows(width) => Given::Rows(width),
            By::Columns(width) => Given::Columns(width),
            By::Keys => Given::Keys(device.upload(&self.keys.all(set))?),
        };
        Ok((self.scan.input(device, set)?, given))
    }

    fn prepare<'a>(
        &'a self,
        device: &Device,
        (values, given): &'a Self::Input,
        variant: Option<&str>,
    ) -> Result<Prepared<'a, Vec<T>>> {
        let (scan, len) = (&self.scan, self.scan.len);
        let (values, operator) = (values.slice(scan.part.range(len))?, scan.operator);
        match given {
            Given::Offsets(segments) => {
                let request = device.scan_segments_request(values, segments, operator);
                with_options!(scan, request, variant)
            }
            Given::Rows(width) => {
                let matrix = MatrixView::from_vector(values, len / width, *width)?;
                let request = device.scan_rows_request(matrix, operator);
                with_options!(scan, request, variant)
            }
            Given::Columns(width) => {
                let matrix = MatrixView::from_vector(values, len / width, *width)?;
                let request = device.scan_columns_request(matrix, operator);
                with_options!(scan, request, variant)
            }
            Given::Keys(keys) => {
                let request = device.scan_by_key_request(keys, values, operator);
                with_options!(scan, request, variant)
            }
        }
    }

    fn excludes(&self, variant: &str) -> bool {
        variant != "best"
    }

    fn truth(&self, set: usize) -> Self::Truth {
        (self.scan.truth(set), self.starts(set))
    }

    fn check(&self, (values, starts): &Self::Truth, answer: &Vec<T>) -> Verdict {
        if answer.len() != values.len() {
            return self.scan.results(self.scan.initial(), values, answer);
        }
        let by_columns = |all: &[T]| match self.by {
            By::Columns(width) => (0..width)
                .flat_map(|column| all.iter().skip(column).step_by(width).copied())
                .collect(),
            _ => all.to_vec(),
        };
        let (values, answer) = (by_columns(values), by_columns(answer));
        starts.windows(2).try_for_each(|pair| {
            let range = pair[0]..pair[1];
            (self
                .scan
                .results(self.scan.initial(), &values[range.clone()], &answer[range]))
            .map_err(|error| format!("in the segment from {}: {error}", pair[0]))
        })
    }
}

/// Returns the problems that the variants are checked with.
pub(super) fn checks(scale: Scale) -> Vec<Workload> {
    let mut all = Vec::new();
    of_type::<u8>(&mut all);
    of_type::<u16>(&mut all);
    of_type::<u32>(&mut all);
    of_type::<u64>(&mut all);
    of_type::<i32>(&mut all);
    of_type::<i64>(&mut all);
    of_type::<f32>(&mut all);
    of_type::<f64>(&mut all);
    of_type::<f16>(&mut all);
    of_type::<bf16>(&mut all);

    by_key::<u8>(&mut all);
    by_key::<u16>(&mut all);
    by_key::<u32>(&mut all);
    by_key::<u64>(&mut all);
    by_key::<i32>(&mut all);
    by_key::<i64>(&mut all);
    by_key::<f32>(&mut all);
    by_key::<f64>(&mut all);
    by_key::<f16>(&mut all);
    by_key::<bf16>(&mut all);

    let sums = |len| Scan::<f32>::new(Operator::Sum, len, Data::Exact);
    let sizes = [
        (0, 0),
        (0, 3),
        (1, 1),
        (5, 0),
        (33, 40),
        (4099, 2),
        (9001, 20_011),
    ];
    let large = [
        ((1 << 20) + 3, 1000),
        (3_000_017, 1),
        (5_000_011, 3_000_017),
    ];
    for (len, count) in scale.all(&sizes, &large) {
        for cut in [Cut::Random, Cut::Skewed] {
            for is_wide in [false, true] {
                let by = By::Offsets {
                    count,
                    cut,
                    is_wide,
                };
                all.push(Workload::new(Segmented::<f32>::by(sums(len), by)));
            }
        }
    }
    let shapes = [
        (0, 7),
        (3, 1),
        (9000, 3),
        (9000, 45),
        (33_000, 33_000),
        (40_000, 20_000),
    ];
    let large = [(1 << 22, 1 << 11), (3_000_000, 1_500_000)];
    for (len, width) in scale.all(&shapes, &large) {
        all.push(Workload::new(Segmented::by_rows(sums(len), width)));
        all.push(Workload::new(Segmented::by_rows(
            sums(len).exclusive(),
            width,
        )));
        let columns = By::Columns(width);
        all.push(Workload::new(Segmented::<f32>::by(sums(len), columns)));
    }
    // A NaN stays in its segment, and rounding errors do.
    let nan = |at| Scan::<f32>::new(Operator::Max, 9000, Data::NanAt(at));
    let rounded = Scan::<f64>::new(Operator::Sum, 20_011, Data::Fractions(usize::MAX));
    all.extend([
        Workload::new(Segmented::by_rows(nan(4499), 4500)),
        Workload::new(Segmented::by_rows(nan(4500), 4500)),
        Workload::new(Segmented::by_offsets(rounded, 7)),
    ]);
    all
}

fn of_type<T: Number + Scannable>(all: &mut Vec<Workload>) {
    for operator in Operator::ALL {
        // The first element is not aligned for wide loads.
        let scan = Scan {
            part: Part([1, 2]),
            ..Scan::<T>::new(operator, 8999, Data::Exact)
        };
        all.push(Workload::new(Segmented::by_offsets(scan, 50)));
        let scan = Scan::<T>::new(operator, 35_000, Data::Exact).exclusive();
        all.push(Workload::new(Segmented::by_offsets(scan, 3000)));
    }
}

fn by_key<K: Key>(all: &mut Vec<Workload>) {
    for len in [0, 1, 31, 4097] {
        let scan = Scan::<u32>::new(Operator::Sum, len, Data::Exact);
        all.push(Workload::new(Segmented::<u32, K>::by_keys(scan)));
    }
}

pub(super) fn operations() -> Vec<Workload> {
    let scan = || Scan::<f32>::new(Operator::Sum, 9001, Data::Fractions(usize::MAX));
    vec![
        Workload::new(Segmented::by_offsets(scan(), 70)),
        Workload::new(Segmented::by_rows(scan(), 9001)),
        Workload::new(Segmented::<f32, u16>::by_keys(scan())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_segment_is_held_to_its_own_elements() {
        let scan = Scan::<u32>::new(Operator::Sum, 4, Data::Exact);
        let rows = Segmented::by_rows(scan, 2);
        let truth = (vec![1, 2, 3, 4], rows.starts(0));
        assert_eq!(rows.check(&truth, &vec![1, 3, 3, 7]), Ok(()));
        let wrong = rows.check(&truth, &vec![1, 3, 6, 10]).unwrap_err();
        assert!(wrong.contains("segment from 2"), "{wrong}");
        assert!(rows.check(&truth, &vec![1, 3, 3]).is_err());
        let columns = Segmented::<u32> {
            by: By::Columns(2),
            ..rows
        };
        assert_eq!(columns.check(&truth, &vec![1, 2, 4, 6]), Ok(()));
        assert!(columns.check(&truth, &vec![1, 3, 3, 7]).is_err());
    }
}
