//! The record of a run, from which all tables, charts and comparisons are made.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::distinct::distinct;
pub use crate::outcome::Outcome;
use crate::overhead::Overhead;

/// The version of the format. A record with another version is refused.
pub const FORMAT: u32 = 1;

/// The name of this library among the contenders.
pub const OURS: &str = "warpwright";

/// The end of the name of a policy row that ships.
pub const CHOSEN: &str = " (chosen)";

/// A run of the benchmark on one card.
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
    /// Whether the run had fewer sizes and samples.
    pub quick: bool,
    /// The card.
    pub card: Card,
    /// The card's highest rates, measured in the same run.
    pub ceilings: Vec<Ceiling>,
    /// The peers, including missing ones.
    pub peers: Vec<Peer>,
    /// The cases.
    pub rows: Vec<Row>,
    /// The library's cost beyond the driver; empty in older records.
    #[serde(default, skip_serializing_if = "Overhead::is_empty")]
    pub overhead: Overhead,
    /// The duration of the run, in seconds.
    pub seconds: f64,
}

/// A card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// The card's name.
    pub name: String,
    /// The card's compute capability.
    pub compute_capability: String,
    /// The CUDA version that the driver supports.
    pub cuda: String,
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// The memory in bytes.
    pub memory_bytes: u64,
    /// The second-level cache in bytes.
    pub l2_bytes: u64,
}

impl Card {
    /// Returns the folder name of the card's records: `h100` for an `NVIDIA H100 80GB HBM3`.
    pub fn folder(&self) -> String {
        let words = self.name.split_whitespace().map(str::to_ascii_lowercase);
        let mut words =
            words.filter(|word| !["nvidia", "geforce", "tesla", "quadro"].contains(&word.as_str()));
        let word = words.next().unwrap_or_else(|| "card".to_owned());
        // In `RTX 4090` the number is part of the name.
        let number = words
            .next()
            .filter(|next| word == "rtx" && next.starts_with(|c: char| c.is_ascii_digit()));
        let clean = |text: String| text.replace(|c: char| !c.is_ascii_alphanumeric(), "");
        clean(word) + &number.map(clean).unwrap_or_default()
    }
}

/// A highest rate of the card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// The bound that the rate belongs to.
    pub bound: Bound,
    /// Bytes or operations per second; for bytes, those of the largest buffer.
    pub rate: f64,
    /// How the rate was measured.
    pub how: String,
    /// The rates on smaller buffers, for bounds that move bytes: bytes moved, and the rate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_size: Vec<(u64, f64)>,
}

impl Ceiling {
    /// Returns the rate that work can reach which moves `bytes` bytes. Little work reaches less than much work. Between two
    /// measured sizes the rate is interpolated linearly in the logarithm of the size.
    pub fn rate_for(&self, bytes: u64) -> f64 {
        let (Some(first), Some(last)) = (self.by_size.first(), self.by_size.last()) else {
            return self.rate;
        };
        if bytes <= first.0 || bytes >= last.0 {
            return if bytes <= first.0 { first.1 } else { last.1 };
        }
        let above = self.by_size.iter().position(|(size, _)| bytes < *size);
        let Some([(low, slow), (high, fast)]) =
            above.and_then(|above| self.by_size.get(above - 1..=above))
        else {
            return last.1;
        };
        let part = (bytes as f64 / *low as f64).ln() / (*high as f64 / *low as f64).ln();
        slow + part * (fast - slow)
    }
}

/// The ceiling that limits a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// A copy: bytes read and written in equal parts.
    Copy,
    /// A read: bytes read.
    Read,
    /// A write: bytes written.
    Write,
    /// Fused multiply-adds of `f32`, two operations each.
    FmaF32,
    /// Fused multiply-adds of `f64`, two operations each.
    FmaF64,
    /// Products on tensor cores, two operations each. No ceiling is measured.
    Tensor,
}

impl Bound {
    /// All bounds.
    pub const ALL: [Self; 6] = [
        Self::Copy,
        Self::Read,
        Self::Write,
        Self::FmaF32,
        Self::FmaF64,
        Self::Tensor,
    ];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Read => "read",
            Self::Write => "write",
            Self::FmaF32 => "FMA f32",
            Self::FmaF64 => "FMA f64",
            Self::Tensor => "tensor",
        }
    }

    /// Returns whether it counts operations rather than bytes.
    pub fn is_arithmetic(self) -> bool {
        matches!(self, Self::FmaF32 | Self::FmaF64 | Self::Tensor)
    }
}

/// A peer: another library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The peer's name.
    pub name: String,
    /// The peer's version and where it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The reason why it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// The aim of a case.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Aim {
    /// The minimum share of the ceiling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The minimum ratio of a peer's time to ours, for every peer without its own aim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

/// A case: one operation on one problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The family of kernels.
    pub family: String,
    /// The operation, such as `sum f32`.
    pub work: String,
    /// The problem's size, such as `2^28`.
    pub size: String,
    /// The number of elements, for charts over the size.
    pub elements: u64,
    /// The minimum number of bytes that must be read and written.
    pub bytes: u64,
    /// The arithmetic operations; 0 if they are not counted.
    #[serde(default)]
    pub operations: u64,
    /// The ceiling that limits the case.
    pub bound: Bound,
    /// The number of sets of buffers that were used in turn.
    pub sets: usize,
    /// The aim.
    #[serde(default)]
    pub aim: Aim,
    /// The results: ours first, then those of the peers.
    pub results: Vec<Contender>,
}

/// One library's result in a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contender {
    /// The library's name.
    pub name: String,
    /// The library's own aim, if it differs from the case's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_aim: Option<f64>,
    /// The way that it used, if it has several: the fastest one that was right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<String>,
    /// The outcome.
    pub outcome: Outcome,
}

impl Row {
    /// Returns the name by which rows of two records are matched.
    pub fn name(&self) -> String {
        format!("{}: {}, {}", self.family, self.work, self.size)
    }

    /// Returns our result.
    pub fn ours(&self) -> Option<&Contender> {
        self.results.iter().find(|it| it.name == OURS)
    }

    /// Returns the peers' results.
    pub fn peers(&self) -> impl Iterator<Item = &Contender> {
        self.results.iter().filter(|it| it.name != OURS)
    }

    /// Returns the rate of an operation that takes `seconds`: bytes per second, or operations per second if these are the
    /// limit.
    pub fn rate(&self, seconds: f64) -> f64 {
        let amount = if self.bound.is_arithmetic() {
            self.operations
        } else {
            self.bytes
        };
        amount as f64 / seconds
    }

    /// Returns our rate as a share of the ceiling for as many bytes, or `None` if one is not known.
    pub fn share(&self, ceilings: &[Ceiling]) -> Option<f64> {
        let ours = self.ours()?.outcome.times()?;
        let ceiling = ceilings.iter().find(|it| it.bound == self.bound)?;
        Some(self.rate(ours.median) / ceiling.rate_for(self.bytes))
    }

    /// Returns whether the share meets its aim, or `None` if there is no aim or no share.
    pub fn share_met(&self, ceilings: &[Ceiling]) -> Option<bool> {
        Some(self.share(ceilings)? >= self.aim.share?)
    }

    /// Returns a peer's median time as a multiple of ours, or `None` if one was not timed.
    pub fn ratio(&self, peer: &Contender) -> Option<f64> {
        let ours = self.ours()?.outcome.times()?;
        Some(peer.outcome.times()?.median / ours.median)
    }

    /// Returns whether the ratio to this peer meets its aim, or `None` if there is no aim or no ratio.
    pub fn ratio_met(&self, peer: &Contender) -> Option<bool> {
        let aim = peer.ratio_aim.or(self.aim.ratio)?;
        Some(self.ratio(peer)? >= aim)
    }
}

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// Returns a line that says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse(text, FORMAT, "of the benchmark")
    }

    /// Returns the text of the record.
    pub fn to_text(&self) -> String {
        to_text(self)
    }

    /// Returns the rate of a ceiling.
    pub fn ceiling(&self, bound: Bound) -> Option<f64> {
        let mut ceilings = self.ceilings.iter();
        Some(ceilings.find(|ceiling| ceiling.bound == bound)?.rate)
    }

    /// Returns whether the row missed an aim: that of the share, or one of the ratios.
    pub fn is_missed(&self, row: &Row) -> bool {
        let ratio = |peer| row.ratio_met(peer) == Some(false);
        self.share_met(row) == Some(false) || row.peers().any(ratio)
    }

    /// Returns whether the share meets its aim, or `None` if there is no aim or no share.
    pub fn share_met(&self, row: &Row) -> Option<bool> {
        row.share_met(&self.ceilings)
    }

    /// Returns the families, in the order of the record.
    pub fn families(&self) -> Vec<&str> {
        distinct(self.rows.iter().map(|row| row.family.as_str()))
    }

    /// Returns the cases of a family.
    pub fn of_family(&self, name: &str) -> Vec<&Row> {
        let rows = self.rows.iter();
        rows.filter(|row| row.family == name).collect()
    }
}

/// Parses a record. `what` names its kind in errors.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, format: u32, what: &str) -> Result<T, String> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let wrong = |error| format!("a record {what} required: {error}");
    let version: Version = serde_json::from_str(text).map_err(wrong)?;
    if version.format != format {
        return Err(format!(
            "a record {what} of format {format} required, given {}",
            version.format
        ));
    }
    serde_json::from_str(text).map_err(wrong)
}

/// Returns the text of a record.
pub(crate) fn to_text(record: &impl Serialize) -> String {
    // The structs are plain, with names as keys, so this cannot fail.
    let mut text = serde_json::to_string_pretty(record).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    pub use crate::outcome::tests::times;
    use crate::overhead::tests::overhead;

    /// Makes a row of the work `work`, with our and CUB's median in microseconds.
    pub fn row(work: &str, ours: f64, peer: f64) -> Row {
        let contender = |name: &str, outcome| Contender {
            name: name.to_owned(),
            ratio_aim: None,
            way: None,
            outcome,
        };
        Row {
            family: "reduce".to_owned(),
            work: work.to_owned(),
            size: "2^20".to_owned(),
            elements: 1 << 20,
            bytes: 4 << 20,
            operations: 1 << 20,
            bound: Bound::Read,
            sets: 2,
            aim: Aim {
                share: Some(0.97),
                ratio: Some(1.0),
            },
            results: vec![
                contender(OURS, times(ours)),
                contender("CUB", times(peer)),
                contender(
                    "PyTorch",
                    Outcome::Missing("no <torch> & no GPU".to_owned()),
                ),
            ],
        }
    }

    /// Makes a record of two sizes of one work, and of one product.
    pub fn record() -> Record {
        let ceiling = |bound, rate| Ceiling {
            bound,
            rate,
            how: "measured".to_owned(),
            by_size: vec![(64 << 20, rate)],
        };
        let large = Row {
            size: "2^24".to_owned(),
            elements: 1 << 24,
            bytes: 64 << 20,
            ..row("sum f32", 22.0, 23.1)
        };
        let product = Row {
            family: "gemm".to_owned(),
            size: "1024^3".to_owned(),
            operations: 1 << 31,
            bound: Bound::FmaF32,
            ..row("product f32", 60.0, 45.0)
        };
        Record {
            format: FORMAT,
            command: "warpwright-bench".to_owned(),
            date: "2026-11-21".to_owned(),
            version: "0.1.0".to_owned(),
            quick: false,
            card: Card {
                name: "NVIDIA H100 80GB HBM3".to_owned(),
                compute_capability: "9.0".to_owned(),
                cuda: "13.0".to_owned(),
                multiprocessors: 132,
                memory_bytes: 80 << 30,
                l2_bytes: 50 << 20,
            },
            ceilings: vec![
                ceiling(Bound::Read, 3.1e12),
                ceiling(Bound::Copy, 3e12),
                ceiling(Bound::FmaF32, 6e13),
            ],
            peers: vec![
                Peer {
                    name: "CUB".to_owned(),
                    found: Some("13.0".to_owned()),
                    missing: None,
                },
                Peer {
                    name: "PyTorch".to_owned(),
                    found: None,
                    missing: Some("no <torch> & no GPU".to_owned()),
                },
            ],
            rows: vec![row("sum f32", 4.0, 3.0), large, product],
            overhead: overhead(),
            seconds: 12.5,
        }
    }

    #[test]
    fn a_record_from_before_overhead_was_measured_is_read() {
        let old = Record {
            overhead: Overhead::default(),
            ..record()
        };
        assert!(!old.to_text().contains("overhead"));
        assert_eq!(Record::parse(&old.to_text()).unwrap(), old);
        // The same of graphs.
        let mut old = record();
        old.overhead.graphs.clear();
        assert!(!old.to_text().contains("graphs"));
        assert_eq!(Record::parse(&old.to_text()).unwrap(), old);
    }

    #[test]
    fn a_record_comes_back_from_its_text() {
        let record = record();
        assert_eq!(Record::parse(&record.to_text()).unwrap(), record);
    }

    #[test]
    fn another_format_and_other_text_are_refused() {
        let other = record()
            .to_text()
            .replacen("\"format\": 1", "\"format\": 99", 1);
        assert!(Record::parse(&other).unwrap_err().contains("given 99"));
        assert!(Record::parse("{}").is_err());
        assert!(Record::parse("sum: x").unwrap_err().contains("required"));
    }

    #[test]
    fn rates_and_ratios() {
        let record = record();
        let [small, large, product] = &record.rows[..] else {
            panic!()
        };
        let cub = small.peers().next().unwrap();
        assert_eq!(small.ratio(cub), Some(0.75));
        assert_eq!(small.ratio_met(cub), Some(false));
        assert_eq!(large.ratio_met(large.peers().next().unwrap()), Some(true));
        // A missing peer has no ratio.
        assert_eq!(small.ratio(small.peers().nth(1).unwrap()), None);
        let share = large.share(&record.ceilings).unwrap();
        assert!((share - (64 << 20) as f64 / 22e-6 / 3.1e12).abs() < 1e-9);
        assert_eq!(record.share_met(large), Some(true));
        assert!((product.rate(60e-6) - f64::from(1 << 30) * 2.0 / 60e-6).abs() < 1.0);
        assert_eq!(record.families(), ["reduce", "gemm"]);
    }

    #[test]
    fn cards_have_folders() {
        let folder = |name: &str| {
            Card {
                name: name.to_owned(),
                ..record().card
            }
            .folder()
        };
        assert_eq!(folder("NVIDIA H100 80GB HBM3"), "h100");
        assert_eq!(folder("NVIDIA GeForce RTX 4090"), "rtx4090");
        assert_eq!(folder(""), "card");
    }
}
