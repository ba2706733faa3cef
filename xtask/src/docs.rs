//! `docs`: writes the tables in the pages that come from records of runs on a card.
//!
//! `benches/record/<card>/<date>-ladder.txt` is the output of `warpwright ladder` on that card, below two lines that begin with
//! `#`: the command, and the card. The newest of each card becomes `docs/LADDER.md`, and the rows of `best` become the README's
//! table. `<date>-bench.json` in the same folder was written by `cargo xtask bench --record`. The newest of each card become
//! the tables of `docs/PERFORMANCE.md` and of the pages that it names. The output of `cargo xtask build-time` becomes a block
//! there, and `<date>-counters.json` of `warpwright-bench counters --record` the table of counters. `<date>-tune.json` was
//! written by `cargo xtask tune all --record`, and `<date>-tune-FAMILY.json` by a sweep of one family: they become
//! `docs/TUNING.md`. The records of `warpwright ulp` become `docs/ULP.md`, that of `cargo xtask counts` `docs/HOW-WE-KNOW.md`,
//! those of compute-sanitizer `docs/COMPUTE-SANITIZER.md`, and that of `cargo xtask mutants` a part of `docs/SANITIZER.md`.

mod agreement;
mod build_time;
mod counts;
mod mutants;
mod page;
mod ulp;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fs_err as fs;
use warpwright_bench::ladder::Record;
use warpwright_bench::{counters, markdown, record, tuning};

use crate::{Result, project};

const PAGE: &str = "docs/LADDER.md";
const README: &str = "README.md";
const PERFORMANCE: &str = "docs/PERFORMANCE.md";
/// The other pages with the tables of the benchmark.
const TIMES: [&str; 4] = [
    "docs/COUNTERS.md",
    "docs/OVERHEAD.md",
    "docs/TIMES-OF-PRODUCTS.md",
    "docs/TIMES-OF-SCANS-AND-SORTS.md",
];
const TUNING: &str = "docs/TUNING.md";
/// The ends of the names of the benchmark's records, and of the sweeps'.
const BENCH: &str = "-bench.json";
const TUNE: &str = "-tune.json";
/// The marks around the README's table.
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
    let agreement = agreement::page(&records(agreement::SUFFIX)?)?;
    pages.push((agreement::PAGE, agreement));
    pages.push((counts::PAGE, counts::page(&records(counts::SUFFIX)?)?));
    let mut benches = parsed(BENCH, record::Record::parse)?;
    let mut parts = single("bench")?;
    parts.extend(parsed("-bench-overhead.json", record::Record::parse)?);
    // The page is about cards that have a complete run, or a record of each family.
    let cards = recorded_cards(&benches, &parts);
    parts.retain(|(path, _)| cards.contains(&card(path)));
    benches = together(BENCH, benches, parts);
    let counted = records_where(counters::SUFFIX, counted_of)?;
    let counted = parse_all(counted, counters::Record::parse)?;
    let filled = |page: &str| -> Result<String> {
        let text = fs::read_to_string(root.join(page))?.replace('\r', "");
        let filled = markdown::fill(&text, &benches, &counted);
        Ok(filled.map_err(|error| format!("{page}: {error}"))?)
    };
    for page in TIMES {
        pages.push((page, filled(page)?));
    }
    let performance = filled(PERFORMANCE)?;
    let filled = build_time::fill(&performance, PERFORMANCE, &records(build_time::SUFFIX)?)?;
    pages.push((PERFORMANCE, filled));
    let sanitizer = fs::read_to_string(root.join(mutants::PAGE))?.replace('\r', "");
    let filled = mutants::fill(&sanitizer, &records(mutants::SUFFIX)?)?;
    pages.push((mutants::PAGE, filled));
    pages.push((TUNING, tuning::page(&sweeps()?)));
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

/// Returns the newest record of each card whose name ends with `ending`, read by `parse`, with its path.
fn parsed<R>(ending: &str, parse: fn(&str) -> Result<R, String>) -> Result<Vec<(String, R)>> {
    parse_all(records(ending)?, parse)
}

fn parse_all<R>(
    records: Vec<(String, String)>,
    parse: fn(&str) -> Result<R, String>,
) -> Result<Vec<(String, R)>> {
    let read = |(path, text): (String, String)| {
        let record = parse(&text).map_err(|error| format!("{path}: {error}"))?;
        Ok((path, record))
    };
    records.into_iter().map(read).collect()
}

/// A record, and its path.
type Named = (String, record::Record);

/// Returns the newest complete sweep of each card, and the newest ones of single families.
fn sweeps() -> Result<Vec<Named>> {
    let whole = parsed(TUNE, record::Record::parse)?;
    Ok(together(TUNE, whole, single("tune")?))
}

/// Returns the newest records of single families, of a kind.
fn single(kind: &str) -> Result<Vec<Named>> {
    let mut single = Vec::new();
    for family in project::families() {
        let of_family = format!("-{kind}-{family}.json");
        single.extend(parsed(&of_family, record::Record::parse)?);
    }
    Ok(single)
}

/// Returns the cards that have a complete record, or one of each family.
fn recorded_cards(complete: &[Named], single: &[Named]) -> BTreeSet<PathBuf> {
    let mut families: BTreeMap<PathBuf, BTreeSet<&str>> = BTreeMap::new();
    for (path, record) in single {
        let rows = record.rows.iter().map(|row| &*row.family);
        families.entry(card(path)).or_default().extend(rows);
    }
    let all = project::families();
    families.retain(|_, has| all.iter().all(|family| has.contains(family)));
    let complete = complete.iter().map(|(path, _)| card(path));
    families.into_keys().chain(complete).collect()
}

/// Returns the folder of a record, which is its card's.
fn card(path: &str) -> PathBuf {
    Path::new(path).parent().unwrap_or(Path::new("")).to_owned()
}

/// Joins the records of a card, the complete one first, whose name ends with `ending`. What has a later record of its own is
/// removed from it: families, and the overhead.
fn together(ending: &str, mut records: Vec<Named>, single: Vec<Named>) -> Vec<Named> {
    for (path, whole) in &mut records {
        let later = |(other, it): &&Named| card(other) == card(path) && it.date >= whole.date;
        let since: Vec<_> = single.iter().filter(later).map(|(_, it)| it).collect();
        let rows = since.iter().flat_map(|it| it.rows.iter());
        let families: BTreeSet<&str> = rows.map(|row| &*row.family).collect();
        whole.rows.retain(|row| !families.contains(&*row.family));
        if since.iter().any(|it| !it.overhead.is_empty()) {
            whole.overhead = Default::default();
        }
    }
    records.extend(single);
    records.retain(|(_, record)| !record.rows.is_empty() || !record.overhead.is_empty());
    records.sort_by_key(|(path, _)| (card(path), !path.ends_with(ending)));
    records
}

/// Returns the newest record of each card whose name ends with `ending`: its path, and its text.
fn records(ending: &str) -> Result<Vec<(String, String)>> {
    records_where(ending, |_| "")
}

/// Returns the newest record of each `subject` of each card, of those whose name ends with `ending`: its path, and its text.
fn records_where(ending: &str, subject: fn(&str) -> &str) -> Result<Vec<(String, String)>> {
    let folder = project::root().join("benches/record");
    let mut found = BTreeMap::new();
    for card in fs::read_dir(&folder)? {
        let card = card?;
        let mut names: Vec<String> = fs::read_dir(card.path())?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<std::io::Result<_>>()?;
        names.retain(|name| name.ends_with(ending));
        names.sort();
        let newest: BTreeMap<_, _> = names.iter().map(|name| (subject(name), name)).collect();
        for name in newest.into_values() {
            let text = fs::read_to_string(card.path().join(name))?;
            let card = card.file_name().to_string_lossy().into_owned();
            found.insert(format!("benches/record/{card}/{name}"), text);
        }
    }
    Ok(found.into_iter().collect())
}

/// Returns what a record of counters is of: its name without the date, the ending, and the number of an older one of that day.
fn counted_of(name: &str) -> &str {
    const DATE: usize = "2026-11-21".len();
    let subject = name.get(DATE..).unwrap_or_default();
    let subject = subject.strip_suffix(counters::SUFFIX).unwrap_or(subject);
    subject.trim_end_matches(|it: char| it.is_ascii_digit() || it == '-')
}

/// Returns the table of the families.
fn families() -> String {
    let mut table = String::from(
        "\n## The families\n\n| family | what it computes | variants |\n| --- | --- | --- |\n",
    );
    for family in warpwright_gpu::FAMILIES {
        let names: Vec<_> = family
            .variants
            .iter()
            .map(|variant| format!("`{}`", variant.name))
            .collect();
        let (name, summary) = (family.name, family.summary);
        table += &format!("| `{name}` | {summary} | {} |\n", names.join(", "));
    }
    table
}

/// Returns the pages in their correct state.
fn pages(records: &[(String, String)], readme: &str) -> Result<Vec<(&'static str, String)>> {
    let mut page = String::from(
        "# The ladders, timed\n\nWritten by `cargo xtask docs` from the records that `warpwright ladder` \
         printed. A rung's time is the median of\nmany runs, after its result was found right. `of copy` is \
         its rate beside that of a copy within the device in the\nsame run; a copy's rate counts bytes read \
         and bytes written.\n",
    );
    page += &families();
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
    let readme = page::fill(readme, README, MARKS, &table)?;
    Ok(vec![(PAGE, page), (README, readme)])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# a command\n# A card\nsum: 16 f32 on cuda:0\n  variant  time  GB/s  of copy\n  best  \
                        1 us  3  93 %\nmax: 8 u8\n  variant  time\n  best  cannot: why\n";

    #[test]
    fn every_record_in_json_is_read() {
        let folder = project::root().join("benches/record");
        let mut count = 0;
        for card in fs::read_dir(&folder).unwrap() {
            for file in fs::read_dir(card.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let name = path.to_string_lossy().into_owned();
                if !name.ends_with(".json") {
                    continue;
                }
                let text = fs::read_to_string(&path).unwrap();
                let read = if name.ends_with(counters::SUFFIX) {
                    counters::Record::parse(&text).map(|record| record.rows.len())
                } else {
                    let kinds = ["-bench.json", "-bench-", "-tune.json", "-tune-"];
                    assert!(kinds.iter().any(|kind| name.contains(kind)), "{name}");
                    record::Record::parse(&text)
                        .map(|record| record.rows.len() + record.overhead.cold.len())
                };
                assert!(matches!(read, Ok(rows) if rows > 0), "{name}: {read:?}");
                count += 1;
            }
        }
        assert!(count > 0);
    }

    #[test]
    fn a_family_that_was_swept_by_itself_since_is_left_out_of_the_whole_sweep() {
        // One row of any recorded sweep.
        let folder = project::root().join("benches/record");
        let cards = fs::read_dir(folder).unwrap();
        let mut files = cards.flat_map(|card| fs::read_dir(card.unwrap().path()).unwrap());
        let path = files
            .find_map(|file| {
                let path = file.unwrap().path();
                let name = path.to_string_lossy().into_owned();
                (name.contains("-tune") && name.ends_with(".json")).then_some(path)
            })
            .expect("a record of a sweep");
        let text = fs::read_to_string(path).unwrap();
        let swept = || {
            let mut record = record::Record::parse(&text).unwrap();
            let row = record.rows[0].clone();
            record.rows = vec![row];
            record.rows[0].family = "swept".to_owned();
            record.date = "2026-11-21".to_owned();
            record
        };
        let whole = |date: &str| {
            let mut whole = swept();
            let mut other = whole.rows[0].clone();
            other.family = "other".to_owned();
            whole.rows.push(other);
            whole.date = date.to_owned();
            ("benches/record/h100/x-tune.json".to_owned(), whole)
        };
        let families = |date: &str, folder: &str| {
            let single = (format!("{folder}/x-tune-swept.json"), swept());
            let sweeps = together(TUNE, vec![whole(date)], vec![single]);
            let of =
                |(_, record): &Named| record.rows.iter().map(|row| row.family.clone()).collect();
            sweeps.iter().map(of).collect::<Vec<BTreeSet<String>>>()
        };
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (other, swept): (_, BTreeSet<String>) = (set(&["other"]), set(&["swept"]));
        let both: BTreeSet<String> = set(&["other", "swept"]);
        let here = "benches/record/h100";
        assert_eq!(families("2026-11-21", here), [other, swept.clone()]);
        // An older sweep, and one of another card.
        assert_eq!(families("2026-11-22", here), [both.clone(), swept.clone()]);
        assert_eq!(families("2026-11-20", "benches/record/z"), [both, swept]);
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
