//! The results of a sweep over the tuning tables, for the policy rows that ship.
//!
//! A sweep's record is a record of the benchmark whose peers are policy rows. A table chooses a row for a family and an element
//! size, so the cases of a family with one element type form one [`Group`].

use crate::distinct::distinct;
use crate::record::{CHOSEN, Outcome, Record, Row};
use crate::sheet::Sheet;
use crate::sheets;

/// The share by which the chosen row may be slower than the fastest, in the mean of a group.
pub const TOLERANCE: f64 = 0.02;

/// The element types, as the names of cases have them.
const ELEMENTS: [&str; 5] = ["u8", "u16", "f32", "f64", "u128"];

/// The cases for which a table chooses one policy row.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The family.
    pub family: String,
    /// The type of the elements.
    pub element: String,
    /// The names of the cases, each with its work and its size.
    pub cases: Vec<String>,
    /// The policy rows, the fastest first.
    pub rows: Vec<Measured>,
    /// The policy rows that were wrong or failed, and why.
    pub failed: Vec<(String, String)>,
}

/// A policy row that was timed in every case.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The row's values.
    pub label: String,
    /// Whether it is the row that ships.
    pub chosen: bool,
    /// The geometric mean of its times as multiples of the chosen row's.
    pub mean: f64,
    /// The least of these multiples.
    pub least: f64,
    /// The greatest of these multiples.
    pub greatest: f64,
}

impl Group {
    /// Returns the chosen row's mean time as a multiple of the fastest row's, or `None` if it was not timed.
    pub fn behind(&self) -> Option<f64> {
        let chosen = self.rows.iter().find(|row| row.chosen)?;
        Some(chosen.mean / self.rows.first()?.mean)
    }

    /// Returns whether the chosen row is within [`TOLERANCE`] of the fastest.
    pub fn is_justified(&self) -> bool {
        self.behind()
            .is_some_and(|behind| behind <= 1.0 + TOLERANCE)
    }

    fn of(family: &str, element: &str, rows: &[&Row]) -> Self {
        let mut group = Self {
            family: family.to_owned(),
            element: element.to_owned(),
            cases: rows
                .iter()
                .map(|row| format!("{}, {}", row.work, row.size))
                .collect(),
            rows: Vec::new(),
            failed: Vec::new(),
        };
        let chosen: Vec<Option<f64>> = rows
            .iter()
            .map(|row| {
                let chosen = row.peers().find(|it| it.name.ends_with(CHOSEN))?;
                Some(chosen.outcome.times()?.median)
            })
            .collect();
        for name in sheets::names(rows) {
            let outcomes = rows
                .iter()
                .map(|row| row.peers().find(|it| it.name == name).map(|it| &it.outcome));
            let ratios: Option<Vec<f64>> = outcomes
                .clone()
                .zip(&chosen)
                .map(|(outcome, chosen)| Some(outcome?.times()?.median / (*chosen)?))
                .collect();
            let label = name.strip_suffix(CHOSEN).unwrap_or(name).to_owned();
            match ratios {
                Some(ratios) => group.rows.push(Measured {
                    chosen: name.ends_with(CHOSEN),
                    label,
                    mean: (ratios.iter().map(|it| it.ln()).sum::<f64>() / ratios.len() as f64)
                        .exp(),
                    least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
                    greatest: ratios.iter().copied().fold(0.0, f64::max),
                }),
                None => {
                    let reason = outcomes.flatten().find_map(Outcome::reason);
                    let reason = reason.unwrap_or_else(|| "not timed in every case".to_owned());
                    group.failed.push((label, reason));
                }
            }
        }
        group.rows.sort_by(|a, b| a.mean.total_cmp(&b.mean));
        group
    }
}

/// Returns the groups of a sweep, in the order of its cases.
pub fn groups(record: &Record) -> Vec<Group> {
    let key = |row: &Row| {
        let element = row
            .work
            .split([' ', ','])
            .find(|word| ELEMENTS.contains(word));
        (row.family.clone(), element.unwrap_or("any").to_owned())
    };
    let keys = distinct(record.rows.iter().map(key));
    let of = |wanted: &(String, String)| {
        let rows: Vec<&Row> = record
            .rows
            .iter()
            .filter(|row| key(row) == *wanted)
            .collect();
        Group::of(&wanted.0, &wanted.1, &rows)
    };
    keys.iter().map(of).collect()
}

/// Returns the verdict on a group in one line.
pub fn verdict(group: &Group) -> String {
    match (group.behind(), group.rows.first()) {
        (Some(1.0), _) => "the chosen row is the fastest".to_owned(),
        (Some(behind), _) if group.is_justified() => format!(
            "the chosen row is within {:.0} % of the fastest: {behind:.3} of its time",
            100.0 * TOLERANCE
        ),
        (Some(behind), Some(fastest)) => format!(
            "NOT JUSTIFIED: the chosen row takes {behind:.3} of the time of `{}`",
            fastest.label
        ),
        _ => "NOT JUSTIFIED: the chosen row was not timed".to_owned(),
    }
}

/// Returns the page of the newest sweeps of each card, of all families or of one, from the paths of the records and the
/// records.
pub fn page(records: &[(String, Record)]) -> String {
    let mut page = String::from(
        "# The tables of tuning, measured\n\nWritten by `cargo xtask docs` from the records of `cargo xtask tune all \
         --record` and\n`tune FAMILY --record`. A family's numbers (threads of a block, loads in flight, blocks per \
         multiprocessor and the like)\nare rows of a table, `gpu/src/<family>/policy.rs`. The sweep compiles a kernel for \
         every row, verifies each row's answers, and\ntimes all rows in turn in one process, through the library's own \
         operations. A table chooses a row for a size of element, over\nall sizes of problems: so times are means over \
         the cases of a type, as multiples of the chosen row's time in the same case.\n",
    );
    if records.is_empty() {
        page += "\nNo sweep is recorded yet.\n";
    }
    for (path, record) in records {
        let mut families: Vec<&str> = record.rows.iter().map(|row| &*row.family).collect();
        families.dedup();
        page += &format!(
            "\n## {}: {}\n\n`{}`, {}, [record](../{path})\n",
            record.card.name,
            families.join(", "),
            record.command,
            record.date
        );
        for group in groups(record) {
            page += &format!(
                "\n### {} {}\n\n{}.\n\n",
                group.family,
                group.element,
                capitalised(&verdict(&group))
            );
            let mut sheet = Sheet::new("l r", ["numbers", "mean", "least", "greatest"]);
            for row in &group.rows {
                let chosen = if row.chosen { " **(chosen)**" } else { "" };
                let [mean, least, greatest] =
                    [row.mean, row.least, row.greatest].map(|ratio| format!("{ratio:.3}"));
                sheet.row([format!("{}{chosen}", row.label), mean, least, greatest]);
            }
            for (label, reason) in &group.failed {
                sheet.row([&**label, reason, "", ""]);
            }
            page += &sheet.markdown();
            page += &format!("\nCases: {}.\n", group.cases.join("; "));
        }
    }
    page
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Contender, OURS, tests};
    use crate::stats::Times;

    /// A case's work, its size, and the seconds of each contender.
    type Case<'a> = (&'a str, &'a str, &'a [(&'a str, f64)]);

    fn record(times: &[Case<'_>]) -> Record {
        let contender = |name: &str, seconds: f64| Contender {
            name: name.to_owned(),
            ratio_aim: None,
            way: None,
            outcome: match Times::of(&[seconds], 1) {
                Some(times) => Outcome::Timed(times),
                None => Outcome::Wrong("why".to_owned()),
            },
        };
        let row = |(work, size, results): &Case<'_>| Row {
            family: "rows".to_owned(),
            size: (*size).to_owned(),
            results: std::iter::once((OURS, 1.0))
                .chain(results.iter().copied())
                .map(|(name, seconds)| contender(name, seconds))
                .collect(),
            ..tests::row(work, 1.0, 1.0)
        };
        Record {
            rows: times.iter().map(row).collect(),
            ..tests::record()
        }
    }

    #[test]
    fn a_row_is_chosen_for_a_type_over_all_its_cases() {
        let found = record(&[
            ("sums u8", "1", &[("a (chosen)", 2.0), ("b", 1.0)]),
            ("sums u8", "2", &[("a (chosen)", 1.0), ("b", 2.02)]),
            ("sums f32", "1", &[("a (chosen)", 1.0), ("b", 0.9)]),
        ]);
        let groups = groups(&found);
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0].cases, ["sums u8, 1", "sums u8, 2"]);
        assert!(groups[0].is_justified() && groups[0].rows[0].chosen);
        let other = &groups[0].rows[1];
        assert!((other.mean - 1.01_f64.sqrt()).abs() < 1e-12);
        assert_eq!((other.least, other.greatest), (0.5, 2.02));
        assert!(!groups[1].is_justified());
        assert!(verdict(&groups[1]).starts_with("NOT JUSTIFIED"));
        let page = page(&[("p".to_owned(), found)]);
        assert!(page.contains("### rows f32\n\nNOT JUSTIFIED: the chosen row takes 1.111"));
        assert!(page.contains("| a **(chosen)** | 1.000 |"));
    }

    #[test]
    fn a_row_that_was_wrong_is_told_and_a_chosen_one_is_not_justified() {
        let found = record(&[("sums u8", "1", &[("a (chosen)", 1.0), ("b", f64::NAN)])]);
        let group = &groups(&found)[0];
        assert!(group.is_justified());
        assert_eq!(group.failed, [("b".to_owned(), "wrong: why".to_owned())]);
        let found = record(&[("sums u8", "1", &[("a (chosen)", f64::NAN), ("b", 1.0)])]);
        assert!(!groups(&found)[0].is_justified());
    }

    #[test]
    fn within_the_tolerance_a_row_is_justified() {
        let found = record(&[("sums u8", "1", &[("a (chosen)", 1.019), ("b", 1.0)])]);
        assert!(groups(&found)[0].is_justified());
        let found = record(&[("sums u8", "1", &[("a (chosen)", 1.021), ("b", 1.0)])]);
        assert!(!groups(&found)[0].is_justified());
    }
}
