//! The table of a family's variants.

use std::fmt;
use std::time::Duration;

use warpwright_bench::table::{significant, time};

/// What came of one variant.
pub enum Row {
    /// The right result.
    Right {
        /// The variant.
        variant: &'static str,
        /// How long the device took.
        time: Duration,
        /// Bytes that the problem must read and write at least.
        bytes: u64,
    },
    /// A wrong result.
    Wrong {
        /// The variant.
        variant: &'static str,
        /// What is wrong.
        text: String,
    },
    /// No result: the variant cannot do the problem.
    NotEligible {
        /// The variant.
        variant: &'static str,
        /// Why not.
        reason: String,
    },
}

/// A family's variants, and what else it computed.
pub struct Table {
    /// What every variant computed.
    pub title: String,
    /// One row per variant.
    pub rows: Vec<Row>,
    /// Further results: a name, and the value or what is wrong with it.
    pub values: Vec<(&'static str, Result<String, String>)>,
}

impl Table {
    /// The number of results that are right.
    pub fn right(&self) -> usize {
        let rows = self
            .rows
            .iter()
            .filter(|row| matches!(row, Row::Right { .. }))
            .count();
        rows + self
            .values
            .iter()
            .filter(|(_, value)| value.is_ok())
            .count()
    }

    /// The number of results that are wrong; a table without a right one is wrong itself.
    pub fn wrong(&self) -> usize {
        let rows = self
            .rows
            .iter()
            .filter(|row| matches!(row, Row::Wrong { .. }))
            .count();
        let wrong = rows
            + self
                .values
                .iter()
                .filter(|(_, value)| value.is_err())
                .count();
        if self.right() == 0 {
            wrong.max(1)
        } else {
            wrong
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        writeln!(
            f,
            "  {:<24}{:<8}{:>10}{:>12}",
            "variant", "result", "time", "GB/s"
        )?;
        for row in &self.rows {
            match row {
                Row::Right {
                    variant,
                    time: took,
                    bytes,
                } => {
                    let seconds = took.as_secs_f64();
                    let rate = *bytes as f64 / seconds.max(1e-9) / 1e9;
                    let (time, rate) = (time(seconds), significant(rate));
                    writeln!(f, "  {variant:<24}{:<8}{time:>10}{rate:>12}", "ok")?;
                }
                Row::Wrong { variant, text } => writeln!(f, "  {variant:<24}WRONG   {text}")?,
                Row::NotEligible { variant, reason } => {
                    writeln!(f, "  {variant:<24}-       cannot do this: {reason}")?;
                }
            }
        }
        for (name, value) in &self.values {
            match value {
                Ok(value) => writeln!(f, "  {name:<24}ok      {value}")?,
                Err(text) => writeln!(f, "  {name:<24}WRONG   {text}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_and_wrong_results_are_counted_and_shown() {
        let time = Duration::from_millis(2);
        let mut table = Table {
            title: "sum".to_owned(),
            rows: vec![
                Row::Right {
                    variant: "a",
                    time,
                    bytes: 4_000_000,
                },
                Row::Wrong {
                    variant: "b",
                    text: "expected 1, found 2".to_owned(),
                },
                Row::NotEligible {
                    variant: "c",
                    reason: "too large".to_owned(),
                },
            ],
            values: vec![
                ("mean", Ok("2.5".to_owned())),
                ("max", Err("no".to_owned())),
            ],
        };
        assert_eq!((table.right(), table.wrong()), (2, 2));
        let text = table.to_string();
        assert!(text.contains("ok        2.000 ms       2.000\n"), "{text}");
        assert!(text.contains("WRONG   expected 1, found 2\n"), "{text}");
        table.rows.truncate(0);
        table.values.clear();
        assert_eq!((table.right(), table.wrong()), (0, 1));
    }
}
