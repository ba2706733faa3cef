//! The table of a family's variants.

use std::fmt;
use std::time::Duration;

use warpwright_bench::table::{significant, time};

/// The result of one variant.
pub enum Outcome {
    /// The result was right; this is the time that the device took.
    Timed(Duration),
    /// The result was wrong.
    Wrong(String),
    /// There is no result: the variant does not support the problem, for this reason.
    Cannot(String),
}

/// The results of a family's variants, and further results.
pub struct Table {
    /// The problem of every variant.
    pub title: String,
    /// The minimum number of bytes that the problem must read and write.
    pub bytes: u64,
    /// The variants.
    pub rows: Vec<(&'static str, Outcome)>,
    /// Further results: a name, and the value or what is wrong with it.
    pub values: Vec<(&'static str, Result<String, String>)>,
    /// The file that shows a result.
    pub picture: Option<&'static str>,
}

impl Table {
    /// Returns the number of right results.
    pub fn right(&self) -> usize {
        let rows = self.rows.iter();
        let rows = rows.filter(|row| matches!(row.1, Outcome::Timed(_)));
        rows.count() + self.values.iter().filter(|value| value.1.is_ok()).count()
    }

    /// Returns the number of wrong results. A table without a right result counts as wrong itself.
    pub fn wrong(&self) -> usize {
        let rows = self.rows.iter();
        let rows = rows.filter(|row| matches!(row.1, Outcome::Wrong(_)));
        let wrong = rows.count() + self.values.iter().filter(|value| value.1.is_err()).count();
        wrong.max(usize::from(self.right() == 0))
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
        for (variant, outcome) in &self.rows {
            match outcome {
                Outcome::Timed(took) => {
                    let seconds = took.as_secs_f64();
                    let rate = self.bytes as f64 / seconds.max(1e-9) / 1e9;
                    let (time, rate) = (time(seconds), significant(rate));
                    writeln!(f, "  {variant:<24}{:<8}{time:>10}{rate:>12}", "ok")?;
                }
                Outcome::Wrong(text) => writeln!(f, "  {variant:<24}WRONG   {text}")?,
                Outcome::Cannot(reason) => {
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
            bytes: 4_000_000,
            rows: vec![
                ("a", Outcome::Timed(time)),
                ("b", Outcome::Wrong("expected 1, found 2".to_owned())),
                ("c", Outcome::Cannot("too large".to_owned())),
            ],
            picture: None,
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
