//! Profile counters of the benchmark's cases: the record of a run of Nsight Compute, and its tables.

pub mod metrics;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::{self, Bound, Card};
use crate::table;
use metrics::{Kind, METRICS};

/// The version of the format. A record with another version is refused.
pub const FORMAT: u32 = 1;

/// The end of a record's file name.
pub const SUFFIX: &str = "-counters.json";

/// The bytes of a sector of the second-level cache.
const SECTOR: f64 = 32.0;

/// The counters of some cases on one card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of the format: [`FORMAT`].
    pub format: u32,
    /// The command that made the record.
    pub command: String,
    /// The day, as `2026-11-21`, in UTC.
    pub date: String,
    /// The version of the library.
    pub version: String,
    /// The profiler and its version.
    pub profiler: String,
    /// The card.
    pub card: Card,
    /// The kernels, in the order of the cases and of their launches.
    pub rows: Vec<Row>,
    /// The cases without counters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failed>,
    /// The duration of the run, in seconds.
    pub seconds: f64,
}

/// A kernel of one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// As in [`record::Row`].
    pub family: String,
    /// As in [`record::Row`].
    pub work: String,
    /// As in [`record::Row`].
    pub size: String,
    /// The minimum number of bytes that the operation must read and write.
    pub bytes: u64,
    /// The ceiling that limits the operation.
    pub bound: Bound,
    /// The kernel.
    pub kernel: Kernel,
}

/// A launch of a kernel, and its counters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// The kernel's name.
    pub name: String,
    /// The number of blocks along x, y and z.
    pub grid: [u32; 3],
    /// The number of threads of a block along x, y and z.
    pub block: [u32; 3],
    /// The metrics by name, without those that the profiler did not provide.
    pub metrics: BTreeMap<String, Value>,
}

/// A number with its unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// The number.
    pub value: f64,
    /// The unit as the profiler names it; empty if there is none.
    pub unit: String,
}

/// A case without counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The case.
    pub name: String,
    /// The reason.
    pub reason: String,
}

impl Value {
    /// Returns the number in seconds or in bytes, by its unit, or `None` for other units.
    fn scaled(&self) -> Option<f64> {
        let factor = match self.unit.as_str() {
            "ns" | "nsecond" => 1e-9,
            "us" | "usecond" => 1e-6,
            "ms" | "msecond" => 1e-3,
            "s" | "second" | "byte" => 1.0,
            "Kbyte" => 1e3,
            "Mbyte" => 1e6,
            "Gbyte" => 1e9,
            _ => return None,
        };
        Some(self.value * factor)
    }
}

impl Kernel {
    fn value(&self, name: &str) -> Option<f64> {
        Some(self.metrics.get(name)?.value)
    }

    fn scaled(&self, name: &str) -> Option<f64> {
        self.metrics.get(name)?.scaled()
    }

    /// Returns the heading and the value of the greatest metric of a group.
    fn greatest(&self, kind: Kind) -> Option<(&'static str, f64)> {
        METRICS
            .iter()
            .filter(|metric| metric.kind == kind)
            .filter_map(|metric| Some((metric.heading, self.value(metric.name)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Returns the busiest pipe, in per cent.
    pub fn fullest_pipe(&self) -> Option<(&'static str, f64)> {
        self.greatest(Kind::Pipe)
    }

    /// Returns the most frequent reason why warps wait, and the number of waiting warps per issued instruction.
    pub fn top_stall(&self) -> Option<(&'static str, f64)> {
        self.greatest(Kind::Stall)
    }
}

impl Row {
    /// Makes a row for a kernel of a case.
    pub fn new(case: &record::Row, kernel: Kernel) -> Self {
        Self {
            family: case.family.clone(),
            work: case.work.clone(),
            size: case.size.clone(),
            bytes: case.bytes,
            bound: case.bound,
            kernel,
        }
    }

    /// Returns the bytes from and to memory, as a multiple of what the operation must read and write.
    pub fn bytes_over_least(&self) -> Option<f64> {
        let read = self.kernel.scaled(metrics::DRAM_READ)?;
        let written = self.kernel.scaled(metrics::DRAM_WRITE)?;
        (self.bytes > 0).then(|| (read + written) / self.bytes as f64)
    }

    /// Returns the sectors written in the second-level cache, as a multiple of those of the output. Returns `None` if the case
    /// does not separate output from input, or has almost no output.
    pub fn l2_writes_over_least(&self) -> Option<f64> {
        let output = match self.bound {
            Bound::Copy => self.bytes as f64 / 2.0,
            Bound::Write => self.bytes as f64,
            Bound::Read | Bound::FmaF32 | Bound::FmaF64 | Bound::Tensor => return None,
        };
        (output > 0.0).then_some(self.kernel.value(metrics::L2_WRITE)? * SECTOR / output)
    }

    /// Returns the cells of a table, in the order of [`TITLES`]. A cell is empty if its metric is missing.
    pub fn cells(&self) -> [String; TITLES.len()] {
        let kernel = &self.kernel;
        let percent = |value: Option<f64>| shown(value, |value| format!("{value:.1} %"));
        let multiple = |value: Option<f64>| shown(value, |value| format!("{value:.2}"));
        [
            self.work.clone(),
            self.size.clone(),
            kernel.name.clone(),
            shown(kernel.scaled(metrics::TIME), table::time),
            percent(kernel.value(metrics::DRAM_SHARE)),
            multiple(self.bytes_over_least()),
            multiple(self.l2_writes_over_least()),
            percent(kernel.value(metrics::ISSUE)),
            percent(kernel.value(metrics::WARPS)),
            shown(kernel.fullest_pipe(), |(name, value)| {
                format!("{name} {value:.1} %")
            }),
            shown(kernel.top_stall(), |(name, value)| {
                format!("{name} {value:.1}")
            }),
        ]
    }
}

fn shown<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(String::new, text)
}

/// The titles of a table.
pub const TITLES: [&str; 11] = [
    "work",
    "size",
    "kernel",
    "time",
    "memory",
    "bytes / least",
    "L2 writes / least",
    "issue",
    "warps",
    "fullest pipe",
    "top stall",
];

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// Returns a line that says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        record::parse(text, FORMAT, "of counters")
    }

    /// Returns the text of the record.
    pub fn to_text(&self) -> String {
        record::to_text(self)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Makes a value of a metric.
    fn value(value: f64, unit: &str) -> Value {
        Value {
            value,
            unit: unit.to_owned(),
        }
    }

    fn stall(name: &str) -> String {
        let metric = METRICS.iter().find(|metric| metric.heading == name);
        metric.unwrap().name.to_owned()
    }

    /// Makes a record of one kernel of a copy of 1 MB to 1 MB, and of a case that failed.
    pub fn record() -> Record {
        let metrics = [
            (metrics::TIME.to_owned(), value(12_500.0, "ns")),
            (metrics::DRAM_READ.to_owned(), value(1.1e6, "byte")),
            (metrics::DRAM_WRITE.to_owned(), value(0.9e6, "byte")),
            (metrics::DRAM_SHARE.to_owned(), value(80.25, "%")),
            (metrics::L2_WRITE.to_owned(), value(59_375.0, "sector")),
            (metrics::ISSUE.to_owned(), value(12.5, "%")),
            (stall("ALU"), value(30.0, "%")),
            (stall("XU"), value(45.0, "%")),
            (stall("wait"), value(2.5, "inst")),
            (stall("long scoreboard"), value(21.25, "inst")),
        ];
        let base = crate::record::tests::record();
        Record {
            format: FORMAT,
            command: "warpwright-bench counters".to_owned(),
            date: base.date,
            version: base.version,
            profiler: "Nsight Compute 2025.3.1.0".to_owned(),
            card: base.card,
            rows: vec![Row {
                family: "transpose".to_owned(),
                work: "transpose u8".to_owned(),
                size: "1000 x 1000".to_owned(),
                bytes: 2_000_000,
                bound: Bound::Copy,
                kernel: Kernel {
                    name: "transpose_best__b1".to_owned(),
                    grid: [128, 2, 1],
                    block: [256, 1, 1],
                    metrics: metrics.into(),
                },
            }],
            failed: vec![Failed {
                name: "reduce: sum f32, 2^20".to_owned(),
                reason: "no kernel | was seen".to_owned(),
            }],
            seconds: 7.5,
        }
    }

    #[test]
    fn a_record_comes_back_from_its_text() {
        let record = record();
        assert_eq!(Record::parse(&record.to_text()).unwrap(), record);
        let whole = Record {
            failed: Vec::new(),
            ..record
        };
        assert!(!whole.to_text().contains("failed"));
        assert_eq!(Record::parse(&whole.to_text()).unwrap(), whole);
    }

    #[test]
    fn another_format_and_a_record_of_the_benchmark_are_refused() {
        let other = record()
            .to_text()
            .replacen("\"format\": 1", "\"format\": 99", 1);
        assert!(Record::parse(&other).unwrap_err().contains("given 99"));
        let timed = crate::record::tests::record();
        let error = Record::parse(&timed.to_text()).unwrap_err();
        assert!(
            error.starts_with("a record of counters required"),
            "{error}"
        );
        let error = record::Record::parse(&record().to_text()).unwrap_err();
        assert!(
            error.starts_with("a record of the benchmark required"),
            "{error}"
        );
    }

    #[test]
    fn figures_are_made_from_the_metrics() {
        let row = &record().rows[0];
        assert_eq!(row.bytes_over_least(), Some(1.0));
        assert_eq!(row.l2_writes_over_least(), Some(1.9));
        assert_eq!(row.kernel.fullest_pipe(), Some(("XU", 45.0)));
        assert_eq!(row.kernel.top_stall(), Some(("long scoreboard", 21.25)));
        let cells = row.cells();
        assert_eq!(
            cells[3..],
            [
                "12.50 us",
                "80.2 %",
                "1.00",
                "1.90",
                "12.5 %",
                "",
                "XU 45.0 %",
                "long scoreboard 21.2"
            ]
        );
        // A case that only reads has almost no output.
        let reading = Row {
            bound: Bound::Read,
            ..row.clone()
        };
        assert_eq!(reading.l2_writes_over_least(), None);
    }

    #[test]
    fn a_unit_that_is_not_known_gives_no_time() {
        let mut row = record().rows.remove(0);
        for (unit, found) in [("nsecond", "12.50 us"), ("ms", "12.50 s"), ("cycle", "")] {
            let time = row.kernel.metrics.get_mut(metrics::TIME).unwrap();
            time.unit = unit.to_owned();
            assert_eq!(row.cells()[3], found, "{unit}");
        }
    }

    #[test]
    fn every_metric_has_a_name_and_a_heading_of_its_own() {
        for (at, metric) in METRICS.iter().enumerate() {
            let others = METRICS[..at].iter();
            let same = others.filter(|it| it.name == metric.name || it.heading == metric.heading);
            assert_eq!(same.count(), 0, "{}", metric.name);
            assert!(!metric.heading.is_empty() && !metric.name.contains([',', ' ']));
        }
        for kind in [Kind::Pipe, Kind::Stall] {
            assert!(METRICS.iter().any(|metric| metric.kind == kind));
        }
    }
}
