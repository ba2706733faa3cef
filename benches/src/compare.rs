//! Compares two records, to find what became slower.

use crate::record::{Outcome, Record};
use crate::sheet::Sheet;
use crate::table;

/// The change of a case from one record to the other.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The new time is this multiple of the old one, which exceeds the tolerance.
    Slower(f64),
    /// The new time is this multiple of the old one, and smaller by more than the tolerance.
    Faster(f64),
    /// The new time is this multiple of the old one, within the tolerance.
    Same(f64),
    /// The old record has a time and the new one does not, for this reason.
    Broken(String),
    /// Only the old record has the case.
    Gone,
    /// Only the new record has the case or its time.
    New,
}

impl Change {
    /// Returns whether the change needs attention.
    pub fn is_worse(&self) -> bool {
        matches!(self, Self::Slower(_) | Self::Broken(_) | Self::Gone)
    }
}

/// Returns the changes of our times, case by case. A time is slower if it is longer by more than `tolerance` (0.05 for 5 %) and
/// by more than the spread of either record. A case that only the old record has counts as worse, unless the new record was
/// made with fewer cases (`quick` or only some families).
///
/// # Errors
/// Returns an error if the records are of two cards, whose times cannot be compared.
pub fn changes(
    old: &Record,
    new: &Record,
    tolerance: f64,
) -> Result<Vec<(String, Change)>, String> {
    if old.card.name != new.card.name {
        return Err(format!(
            "two records of one card required, given {} and {}",
            old.card.name, new.card.name
        ));
    }
    if !(tolerance.is_finite() && tolerance >= 0.0) {
        return Err(format!(
            "a tolerance of at least 0 required, given {tolerance}"
        ));
    }
    let (before, now) = (timings(old), timings(new));
    let find = |list: &[Timing], name: &str| list.iter().find(|it| it.name == name).cloned();
    let mut all = Vec::new();
    for timing in &now {
        let before = find(&before, &timing.name);
        let change = change(before.as_ref(), timing, tolerance);
        all.push((timing.name.clone(), change));
    }
    for timing in before {
        let left_out = new.quick || !now.iter().any(|it| it.part == timing.part);
        if find(&now, &timing.name).is_none() && !left_out {
            all.push((timing.name, Change::Gone));
        }
    }
    Ok(all)
}

/// Our result in a case.
#[derive(Clone)]
struct Timing {
    name: String,
    /// The family, or `overhead`: a part that a run covers completely or not at all.
    part: String,
    outcome: Option<Outcome>,
}

/// Returns all of our results in a record.
fn timings(record: &Record) -> Vec<Timing> {
    const OVERHEAD: &str = "overhead";
    let rows = record.rows.iter().map(|row| Timing {
        name: row.name(),
        part: row.family.clone(),
        outcome: row.ours().map(|ours| ours.outcome.clone()),
    });
    let overhead = |name: String, outcome: &Outcome| Timing {
        name: format!("{OVERHEAD}: {name}"),
        part: OVERHEAD.to_owned(),
        outcome: Some(outcome.clone()),
    };
    let calls = record.overhead.calls.iter().map(|calls| {
        let name = format!("{}, one element, {}", calls.work, calls.form.name());
        overhead(name, &calls.ours)
    });
    let cold = record.overhead.cold.iter().flat_map(|cold| {
        let name = |how: &str| format!("first {}, {how}", cold.family);
        [
            overhead(name("compiled"), &cold.uncached.first),
            overhead(name("from the cache"), &cold.cached.first),
        ]
    });
    let graphs = record.overhead.graphs.iter();
    let graphs = graphs.map(|graph| overhead(format!("graph of {}", graph.work), &graph.ours));
    rows.chain(calls).chain(cold).chain(graphs).collect()
}

fn change(old: Option<&Timing>, new: &Timing, tolerance: f64) -> Change {
    let times = |timing: &Timing| timing.outcome.as_ref()?.times().copied();
    let Some(before) = old.and_then(times) else {
        return Change::New;
    };
    let Some(after) = times(new) else {
        let reason = new.outcome.as_ref().and_then(Outcome::reason);
        return Change::Broken(reason.unwrap_or_else(|| "not timed".to_owned()));
    };
    let ratio = after.median / before.median;
    let noise = tolerance.max(before.spread()).max(after.spread());
    if ratio > 1.0 + noise {
        Change::Slower(ratio)
    } else if ratio < 1.0 / (1.0 + noise) {
        Change::Faster(ratio)
    } else {
        Change::Same(ratio)
    }
}

/// Returns the changes as a table, the worse ones first, and a line with the counts.
pub fn text(changes: &[(String, Change)]) -> String {
    let (worse, rest): (Vec<_>, Vec<_>) = changes.iter().partition(|(_, change)| change.is_worse());
    let mut sheet = Sheet::new("l", ["change", "case", "of the old time"]);
    let mut same = 0;
    for (name, change) in worse.iter().chain(&rest) {
        let (what, found) = match change {
            Change::Slower(ratio) => ("slower", percent(*ratio)),
            Change::Broken(reason) => ("broken", reason.clone()),
            Change::Gone => ("gone", String::new()),
            Change::Faster(ratio) => ("faster", percent(*ratio)),
            Change::New => ("new", String::new()),
            Change::Same(_) => {
                same += 1;
                continue;
            }
        };
        sheet.row([what, name, &found]);
    }
    let (all, worse) = (changes.len(), worse.len());
    format!(
        "{}{all} cases: {worse} worse, {same} as before\n",
        sheet.text()
    )
}

fn percent(ratio: f64) -> String {
    format!("{} %", table::significant(100.0 * ratio))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overhead::Overhead;
    use crate::record::Row;
    use crate::record::tests::{record, row, times};

    fn of(rows: Vec<Row>) -> Record {
        Record {
            rows,
            overhead: Overhead::default(),
            ..record()
        }
    }

    #[test]
    fn overhead_is_compared_too() {
        let (old, mut new) = (record(), record());
        new.overhead.calls[0].ours = times(20.0);
        new.overhead.graphs[1].ours = times(60.0);
        new.overhead.cold.clear();
        let found = changes(&old, &new, 0.05).unwrap();
        let worse: Vec<_> = found.iter().filter(|(_, it)| it.is_worse()).collect();
        assert_eq!(worse.len(), 4, "{worse:?}");
        assert_eq!(worse[0].0, "overhead: sum f32, one element, prepared");
        assert!(matches!(worse[0].1, Change::Slower(_)));
        assert_eq!(worse[1].0, "overhead: graph of 2 operations, waited for");
        assert_eq!(worse[2].1, Change::Gone);
        // A run without that part leaves out no case.
        new.overhead = Overhead::default();
        let found = changes(&old, &new, 0.05).unwrap();
        assert!(!found.iter().any(|(_, it)| it.is_worse()));
    }

    #[test]
    fn what_got_slower_is_flagged() {
        let old = of(vec![
            row("a", 100.0, 90.0),
            row("b", 100.0, 90.0),
            row("c", 100.0, 90.0),
            row("d", 100.0, 90.0),
        ]);
        let mut new = of(vec![
            row("a", 120.0, 90.0),
            row("b", 101.0, 90.0),
            row("c", 80.0, 90.0),
            row("e", 1.0, 1.0),
        ]);
        let found = changes(&old, &new, 0.05).unwrap();
        let of = |name: &str| {
            found
                .iter()
                .find(|(it, _)| it.contains(&format!(" {name},")))
                .unwrap()
                .1
                .clone()
        };
        assert!(matches!(of("a"), Change::Slower(ratio) if (ratio - 1.2).abs() < 1e-9));
        assert!(matches!(of("b"), Change::Same(_)));
        assert!(matches!(of("c"), Change::Faster(_)));
        assert_eq!(of("d"), Change::Gone);
        assert_eq!(of("e"), Change::New);
        let text = text(&found);
        assert!(
            text.contains("\n  slower ") && text.ends_with("5 cases: 2 worse, 1 as before\n"),
            "{text}"
        );
        // This tolerance accepts it.
        assert!(!changes(&old, &new, 0.25).unwrap()[0].1.is_worse());
        new.quick = true;
        assert_eq!(changes(&old, &new, 0.05).unwrap().len(), 4);
    }

    #[test]
    fn a_case_that_fails_is_worse() {
        let old = of(vec![row("a", 100.0, 90.0)]);
        let mut new = old.clone();
        new.rows[0].results[0].outcome = Outcome::Wrong("expected 1".to_owned());
        assert_eq!(
            changes(&old, &new, 0.05).unwrap()[0].1,
            Change::Broken("wrong: expected 1".to_owned())
        );
    }

    #[test]
    fn noise_is_let_pass() {
        let old = of(vec![row("a", 100.0, 90.0)]);
        let mut new = of(vec![row("a", 120.0, 90.0)]);
        if let Outcome::Timed(times) = &mut new.rows[0].results[0].outcome {
            times.high = 150e-6;
        }
        assert!(matches!(
            changes(&old, &new, 0.05).unwrap()[0].1,
            Change::Same(_)
        ));
    }

    #[test]
    fn two_cards_are_not_compared() {
        let mut other = record();
        other.card.name = "another".to_owned();
        assert!(changes(&record(), &other, 0.05).is_err());
        assert!(changes(&record(), &record(), f64::NAN).is_err());
    }
}
