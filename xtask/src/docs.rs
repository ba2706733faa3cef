//! `docs`: the tables in the pages that come from records of runs on a card.
//!
//! `benches/record/<card>/<date>-ladder.txt` is what `warpwright ladder` printed there, below two lines that
//! begin with `#`: the command, and the card. The newest of each card becomes `docs/LADDER.md`, and the rows
//! of `best` become the README's table. The records of `warpwright ulp` become `docs/ULP.md`.

mod ulp;

use std::collections::BTreeMap;
use std::fs;

use crate::{Result, project};

const PAGE: &str = "docs/LADDER.md";
const README: &str = "README.md";
/// What the README's table is between.
const MARKS: [&str; 2] = [
    "<!-- ladder: `cargo xtask docs` writes this table -->\n",
    "<!-- end of ladder -->\n",
];

/// What to do.
#[derive(clap::Args)]
pub struct Arguments {
    /// Change nothing; fail if a page is not what the records say.
    #[arg(long)]
    check: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let root = project::root();
    let mut stale = Vec::new();
    let mut pages = pages(
        &records("-ladder.txt")?,
        &fs::read_to_string(root.join(README))?,
    )?;
    pages.push((ulp::PAGE, ulp::page(&records(ulp::SUFFIX)?)?));
    for (path, text) in pages {
        let file = root.join(path);
        if fs::read_to_string(&file).is_ok_and(|now| now.replace('\r', "") == text) {
            continue;
        }
        stale.push(path);
        if !arguments.check {
            fs::create_dir_all(file.parent().unwrap_or(&root))?;
            fs::write(&file, text)?;
        }
    }
    match (stale.as_slice(), arguments.check) {
        ([], _) => println!("docs: the pages are what the records say"),
        (stale, false) => println!("docs: wrote {}", stale.join(", ")),
        (stale, true) => {
            return Err(format!(
                "docs: {} required to be what the records say: type `cargo xtask docs`",
                stale.join(", ")
            )
            .into());
        }
    }
    Ok(())
}

/// The newest record with this suffix of each device: its path, and its text.
fn records(suffix: &str) -> Result<Vec<(String, String)>> {
    let folder = project::root().join("benches/record");
    let mut newest = BTreeMap::new();
    for card in fs::read_dir(&folder)? {
        let card = card?;
        let mut names: Vec<String> = fs::read_dir(card.path())?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<std::io::Result<_>>()?;
        names.retain(|name| name.ends_with(suffix));
        if let Some(name) = names.into_iter().max() {
            let text = fs::read_to_string(card.path().join(&name))?;
            let card = card.file_name().to_string_lossy().into_owned();
            newest.insert(format!("benches/record/{card}/{name}"), text);
        }
    }
    Ok(newest.into_iter().collect())
}

/// The pages as they should be.
fn pages(records: &[(String, String)], readme: &str) -> Result<Vec<(&'static str, String)>> {
    let mut page = String::from(
        "# The ladders, timed\n\nWritten by `cargo xtask docs` from the records that `warpwright ladder` \
         printed. A rung's time is the median of\nmany runs, after its result was found right. `of copy` is \
         its rate beside that of a copy within the device in the\nsame run; a copy's rate counts bytes read \
         and bytes written.\n",
    );
    let mut table = String::new();
    for (path, text) in records {
        let record = Record::parse(text).map_err(|error| format!("{path}: {error}"))?;
        page += &format!(
            "\n## {}\n\n`{}`, [record](../{path})\n",
            record.card, record.command
        );
        table += &format!(
            "`{}` on {} ([record]({path}), [every rung](docs/LADDER.md)):\n\n",
            record.command, record.card
        );
        table +=
            "| family | problem | `best` | rate | of copy |\n| --- | --- | ---: | ---: | ---: |\n";
        for ladder in &record.ladders {
            page += &format!(
                "\n### {}\n\n{}\n\n{}",
                ladder.family,
                ladder.problem,
                ladder.markdown()
            );
            table += &ladder.best()?;
        }
    }
    let [begin, end] = MARKS;
    let (Some(from), Some(to)) = (readme.find(begin), readme.find(end)) else {
        return Err(
            format!("{README}: the marks of the ladder's table required, found none").into(),
        );
    };
    let readme = format!(
        "{}\n{table}\n{}",
        &readme[..from + begin.len()],
        &readme[to..]
    );
    Ok(vec![(PAGE, page), (README, readme)])
}

/// A run of `warpwright ladder`.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    command: String,
    card: String,
    ladders: Vec<Ladder>,
}

#[derive(Debug, PartialEq, Eq)]
struct Ladder {
    family: String,
    problem: String,
    titles: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Record {
    fn parse(text: &str) -> Result<Self> {
        let mut notes = text.lines().filter_map(|line| line.strip_prefix("# "));
        let (Some(command), Some(card)) = (notes.next(), notes.next()) else {
            return Err("two lines with `# ` required: the command, and the card".into());
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
                return Err(format!("a family or a row required, given `{line}`").into());
            }
        }
        Ok(Self {
            command: command.to_owned(),
            card: card.to_owned(),
            ladders,
        })
    }
}

/// The cells of a row: two spaces and more lie between them, and one within.
fn cells(row: &str) -> Vec<String> {
    let cells = row.split("  ").map(str::trim);
    cells
        .filter(|cell| !cell.is_empty())
        .map(str::to_owned)
        .collect()
}

impl Ladder {
    fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut text = line(&self.titles);
        text += "| --- |";
        text += &" ---: |".repeat(self.titles.len().saturating_sub(1));
        text.push('\n');
        for row in &self.rows {
            let mut row = row.clone();
            // A rung that was not timed says why instead.
            row.resize(self.titles.len().max(row.len()), String::new());
            if let Some(name) = row.first_mut() {
                *name = format!("`{name}`");
            }
            text += &line(&row);
        }
        text
    }

    /// The row of `best` for the README.
    fn best(&self) -> Result<String> {
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

    #[test]
    fn pages_are_written_between_the_marks() {
        let records = [("benches/record/a/b-ladder.txt".to_owned(), TEXT.to_owned())];
        let readme = format!("before\n{}old\n{}after\n", MARKS[0], MARKS[1]);
        let pages = pages(&records, &readme).unwrap();
        let text = &pages[1].1;
        assert!(text.starts_with("before\n") && text.ends_with("after\n") && !text.contains("old"));
        assert!(text.contains("| sum | 16 f32 | 1 us | 3 GB/s | 93 % |"));
        assert!(pages[0].1.contains("### max"));
        assert!(super::pages(&records, "no marks").is_err());
    }
}
