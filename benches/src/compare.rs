//! Two records side by side: what got slower.

use crate::record::{Outcome, Record, Row};
use crate::table;

/// What came of a case from one record to the other.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The new time is this multiple of the old one, which is more than is let pass.
    Slower(f64),
    /// The new time is this multiple of the old one, which is less than the noise that is let pass.
    Faster(f64),
    /// About as fast as it was.
    Same(f64),
    /// It was timed, and is no longer: for this reason.
    Broken(String),
    /// It is in the old record alone.
    Gone,
    /// It is in the new record alone, or was not timed before.
    New,
}

impl Change {
    /// Whether it is a reason to look.
    pub fn is_worse(&self) -> bool {
        matches!(self, Self::Slower(_) | Self::Broken(_) | Self::Gone)
    }
}

/// The changes of our times, case by case. A time is slower where it is longer by more than `tolerance` (0.05 for 5 %)
/// and by more than the spread of either record. A case that only the old record has counts as worse, but where the new
/// one was made with fewer cases (`quick` or of some families).
///
/// # Errors
/// If the records are of two cards: their times say nothing of each other.
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
    let find = |rows: &[Row], name: &str| rows.iter().find(|row| row.name() == name).cloned();
    let mut all = Vec::new();
    for row in &new.rows {
        let name = row.name();
        let before = find(&old.rows, &name);
        all.push((name, change(before.as_ref(), row, tolerance)));
    }
    let families = new.families();
    for row in old
        .rows
        .iter()
        .filter(|row| find(&new.rows, &row.name()).is_none())
    {
        let left_out = new.quick || !families.contains(&row.family.as_str());
        if !left_out {
            all.push((row.name(), Change::Gone));
        }
    }
    Ok(all)
}

fn change(old: Option<&Row>, new: &Row, tolerance: f64) -> Change {
    let times = |row: &Row| row.ours().and_then(|ours| ours.outcome.times().copied());
    let Some(before) = old.and_then(times) else {
        return Change::New;
    };
    let Some(after) = times(new) else {
        let outcome = new.ours().map(|ours| &ours.outcome);
        return Change::Broken(
            outcome
                .and_then(Outcome::reason)
                .unwrap_or_else(|| "not timed".to_owned()),
        );
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

/// The changes as text: the worse ones first, then the better ones, and a line that counts.
pub fn text(changes: &[(String, Change)]) -> String {
    let mut text = String::new();
    let line = |name: &str, change: &Change| match change {
        Change::Slower(ratio) => format!("slower   {name}: {} of the old time\n", percent(*ratio)),
        Change::Broken(reason) => format!("broken   {name}: {reason}\n"),
        Change::Gone => format!("gone     {name}\n"),
        Change::Faster(ratio) => format!("faster   {name}: {} of the old time\n", percent(*ratio)),
        Change::New => format!("new      {name}\n"),
        Change::Same(_) => String::new(),
    };
    let (worse, rest): (Vec<_>, Vec<_>) = changes.iter().partition(|(_, change)| change.is_worse());
    for (name, change) in worse.iter().chain(&rest) {
        text += &line(name, change);
    }
    let same = rest
        .iter()
        .filter(|(_, change)| matches!(change, Change::Same(_)))
        .count();
    text + &format!(
        "{} cases: {} worse, {same} as before\n",
        changes.len(),
        worse.len()
    )
}

fn percent(ratio: f64) -> String {
    format!("{} %", table::significant(100.0 * ratio))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{record, row};

    fn of(rows: Vec<Row>) -> Record {
        Record { rows, ..record() }
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
            text.starts_with("slower ") && text.ends_with("5 cases: 2 worse, 1 as before\n"),
            "{text}"
        );
        // With a tolerance that lets it pass.
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
