//! Records of `warpwright ladder`: its output below two lines that begin with `#`, the command and the card.

use crate::sheet::Sheet;

/// A run of `warpwright ladder`.
#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    /// The command.
    pub command: String,
    /// The card, and the date.
    pub card: String,
    /// The ladders.
    pub ladders: Vec<Ladder>,
}

/// The rungs of a family for one problem.
#[derive(Debug, PartialEq, Eq)]
pub struct Ladder {
    /// The family.
    pub family: String,
    /// The problem, and the device.
    pub problem: String,
    /// The titles of the columns.
    pub titles: Vec<String>,
    /// The rungs.
    pub rows: Vec<Vec<String>>,
}

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// Returns a line that says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut notes = text.lines().filter_map(|line| line.strip_prefix("# "));
        let (Some(command), Some(card)) = (notes.next(), notes.next()) else {
            return Err("two lines with `# ` required: the command, and the card".to_owned());
        };
        let mut ladders: Vec<Ladder> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(row) = line.strip_prefix("  ") {
                let ladder = ladders.last_mut().ok_or("a row before the first family")?;
                let cells = cells(row);
                if ladder.titles.is_empty() {
                    ladder.titles = cells;
                } else {
                    ladder.rows.push(cells);
                }
            } else if let Some((family, problem)) = line.split_once(": ") {
                ladders.push(Ladder {
                    family: family.to_owned(),
                    problem: problem.to_owned(),
                    titles: Vec::new(),
                    rows: Vec::new(),
                });
            } else if !line.trim().is_empty() {
                return Err(format!("a family or a row required, given `{line}`"));
            }
        }
        Ok(Self {
            command: command.to_owned(),
            card: card.to_owned(),
            ladders,
        })
    }
}

/// Returns the cells of a row, which are separated by two or more spaces.
fn cells(row: &str) -> Vec<String> {
    let cells = row.split("  ").map(str::trim);
    cells
        .filter(|cell| !cell.is_empty())
        .map(str::to_owned)
        .collect()
}

impl Ladder {
    /// Returns the rungs as a table.
    pub fn markdown(&self) -> String {
        let mut sheet = Sheet::new("l r", &self.titles);
        for row in &self.rows {
            let mut row = row.clone();
            // A rung that was not timed has a reason instead.
            row.resize(self.titles.len().max(row.len()), String::new());
            if let Some(name) = row.first_mut() {
                *name = format!("`{name}`");
            }
            sheet.row(row);
        }
        sheet.markdown()
    }

    /// Returns the row of `best` for the README.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub fn best(&self) -> Result<String, String> {
        let best = self
            .rows
            .iter()
            .rfind(|row| row.first().is_some_and(|name| name == "best"));
        let best = best.ok_or_else(|| format!("{}: a row `best` required", self.family))?;
        let problem = self.problem.split([';', ',']).next().unwrap_or_default();
        let problem = problem.split(" on cuda").next().unwrap_or_default();
        let cell = |index: usize| best.get(index).map_or("", String::as_str);
        let unit = self.titles.get(2).map_or("", String::as_str);
        Ok(format!(
            "| {} | {problem} | {} | {} {unit} | {} |\n",
            self.family,
            cell(1),
            cell(2),
            cell(3)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# warpwright ladder\n# A card, a date\nsum: 16 f32 on cuda:0; a copy: 3 GB/s\n  \
                        variant     time    GB/s    of copy\n  naive    2.59 ms     829     27.6 %\n  \
                        best      1 us     3    93 %\n\nmax: 8 u8 on cuda:0; a copy: 3 GB/s\n  variant     \
                        time    GB/s    of copy\n  best      cannot: why\n";

    #[test]
    fn a_record_becomes_tables() {
        let record = Record::parse(TEXT).unwrap();
        assert_eq!(
            (record.card.as_str(), record.ladders.len()),
            ("A card, a date", 2)
        );
        let sum = &record.ladders[0];
        assert_eq!(sum.rows[0], ["naive", "2.59 ms", "829", "27.6 %"]);
        assert!(sum.markdown().contains("| `best` | 1 us | 3 | 93 % |\n"));
        assert_eq!(
            sum.best().unwrap(),
            "| sum | 16 f32 | 1 us | 3 GB/s | 93 % |\n"
        );
        assert!(
            record.ladders[1]
                .markdown()
                .contains("| `best` | cannot: why |  |  |\n")
        );
        assert!(Record::parse("sum: x\n").is_err());
        assert!(Record::parse("# a\n# b\n  row\n").is_err());
        assert!(Record::parse("# a\n# b\nnonsense\n").is_err());
    }
}
