//! Records as tables in a page, between marks that the page has.

use crate::counters;
use crate::distinct::distinct;
use crate::record::{Record, Row};
use crate::sheet::{Cell, Sheet};
use crate::{sheets, table};

/// What a page has in front of a table; the name is a family's, `card`, `overhead`, or `counters`.
const BEGIN: (&str, &str) = ("<!-- bench ", ": `cargo xtask docs` writes this -->\n");
/// What a page has behind a table.
const END: &str = "<!-- end of bench -->\n";
/// What stands where no record has anything to say.
const NONE: &str = "No record with `{}` yet: `cargo xtask bench --record` on a card makes one.\n";
/// The same of counters.
const NO_COUNTERS: &str = "No record of counters yet: `warpwright-bench counters --from RECORD.json --record \
                           benches/record` on a card makes one.\n";

/// The page with what the records, those of the benchmark and those of counters, say between its marks. A record comes with its
/// path below the page's project.
///
/// # Errors
/// A line that says what is wrong with the marks.
pub fn fill(
    page: &str,
    records: &[(String, Record)],
    counters: &[(String, counters::Record)],
) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = page;
    while let Some(at) = rest.find(BEGIN.0) {
        let name_at = at + BEGIN.0.len();
        let name_end = rest[name_at..]
            .find(BEGIN.1)
            .ok_or_else(|| format!("`{}` required behind `{}`", BEGIN.1.trim(), BEGIN.0))?;
        let name = &rest[name_at..name_at + name_end];
        let body = name_at + name_end + BEGIN.1.len();
        let end = rest[body..]
            .find(END)
            .ok_or_else(|| format!("`{}` required behind the mark of {name}", END.trim()))?;
        text += &rest[..body];
        text.push('\n');
        text += &match name {
            "counters" => counted(counters),
            _ => section(name, records),
        };
        text.push('\n');
        text += END;
        rest = &rest[body + end + END.len()..];
    }
    Ok(text + rest)
}

fn section(name: &str, records: &[(String, Record)]) -> String {
    let parts = match name {
        "card" => runs(records),
        "overhead" => records.iter().map(|(_, it)| overhead(it)).collect(),
        _ => records.iter().map(|(_, it)| family(name, it)).collect(),
    };
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        NONE.replace("{}", name)
    } else {
        parts.join("\n")
    }
}

/// The runs of each card: the newest of them with its ceilings and peers, and what the others were.
fn runs(records: &[(String, Record)]) -> Vec<String> {
    let of_one_card = |a: &(String, Record), b: &(String, Record)| a.1.card.name == b.1.card.name;
    let mut parts = Vec::new();
    for runs in records.chunk_by(of_one_card) {
        let newest = runs.iter().max_by_key(|(_, record)| &record.date);
        let Some((newest, record)) = newest else {
            continue;
        };
        let mut text = run(newest, record);
        let others = runs.iter().filter(|(path, _)| path != newest);
        let others: String = others
            .map(|(path, record)| format!("- {}.\n", source(path, record)))
            .collect();
        if !others.is_empty() {
            text += &format!("\nOther runs on this card:\n\n{others}");
        }
        parts.push(text);
    }
    parts
}

/// Where the figures of a run come from.
fn source(path: &str, record: &Record) -> String {
    let quick = if record.quick {
        ", with fewer sizes and samples"
    } else {
        ""
    };
    let Record { command, date, .. } = record;
    format!("`{command}`, {date}, [record](../{path}){quick}")
}

/// The counters of the rows that were missed.
fn counted(records: &[(String, counters::Record)]) -> String {
    if records.is_empty() {
        return NO_COUNTERS.to_owned();
    }
    let mut text = String::new();
    for (path, record) in records {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &format!(
            "{}, `{}`, {}, {}, [record](../{path}):\n\n",
            record.card.name, record.command, record.profiler, record.date
        );
        text += &sheets::counters(&record.rows).markdown();
        for failed in &record.failed {
            text += &format!(
                "\nNo counters of {}: {}.\n",
                failed.name,
                failed.reason.trim_end_matches('.')
            );
        }
    }
    text
}

/// What a run was: the card, its ceilings, the peers.
fn run(path: &str, record: &Record) -> String {
    let mut text = format!(
        "{}.\n\n{}.\n\n",
        source(path, record),
        table::card(&record.card)
    );
    if !record.ceilings.is_empty() {
        text += &sheets::ceilings(record).markdown();
        text.push('\n');
    }
    text + &sheets::peers(record).markdown()
}

/// What the library costs beyond the driver.
fn overhead(record: &Record) -> String {
    let overhead = &record.overhead;
    if overhead.is_empty() {
        return String::new();
    }
    let sheets = sheets::overhead(overhead);
    let sheets: Vec<String> = sheets.iter().map(Sheet::markdown).collect();
    format!(
        "{}, {}:\n\n{}",
        record.card.name,
        record.date,
        sheets.join("\n")
    )
}

/// The tables of a family: each work at its largest size, and the ratios at the others.
fn family(name: &str, record: &Record) -> String {
    let rows = record.of_family(name);
    if rows.is_empty() {
        return String::new();
    }
    let peers = sheets::names(&rows);
    let mut text = format!("{}, {}:\n\n", record.card.name, record.date);
    text += &sheets::cases(&record.ceilings, &largest(&rows), &peers).markdown();
    for peer in &peers {
        text += &by_size(&rows, peer);
    }
    text
}

/// The rows that no other row of the same work exceeds in size.
pub(crate) fn largest<'a>(rows: &[&'a Row]) -> Vec<&'a Row> {
    let exceeds = |other: &Row, row: &Row| {
        other.work == row.work && other.elements > row.elements && is_sized(row, other)
    };
    let is_largest = |row: &&&Row| !rows.iter().any(|other| exceeds(other, row));
    rows.iter().filter(is_largest).copied().collect()
}

/// Whether two rows are of one problem in two sizes, not of two shapes: `2^12` and `2^28`, not `3 x 5`.
fn is_sized(row: &Row, other: &Row) -> bool {
    !row.size.contains(" x ") && !other.size.contains(" x ")
}

/// The ratios to a peer by size, of works that have several.
fn by_size(rows: &[&Row], peer: &str) -> String {
    let met = |row: &Row| {
        let found = row.peers().find(|it| it.name == peer);
        found.is_some_and(|peer| row.ratio(peer).is_some())
    };
    let is_shown = |row: &&&Row| {
        let mut same = rows.iter().filter(|other| other.work == row.work);
        same.clone()
            .any(|other| other.size != row.size && is_sized(row, other))
            && same.any(|other| met(other))
    };
    let shown = rows.iter().filter(is_shown);
    let works = distinct(shown.clone().map(|row| row.work.as_str()));
    let mut sizes = distinct(shown.map(|row| (row.elements, row.size.as_str())));
    if sizes.is_empty() {
        return String::new();
    }
    sizes.sort_unstable();
    let mut titles = vec![format!("time of {peer} / ours")];
    titles.extend(sizes.iter().map(|(_, size)| (*size).to_owned()));
    let mut sheet = Sheet::new("l r", titles);
    for work in works {
        let ratios = sizes.iter().map(|(_, size)| {
            let mut rows = rows.iter();
            let row = rows.find(|row| row.work == work && row.size == *size)?;
            let peer = row.peers().find(|it| it.name == peer)?;
            Some(Cell::ratio(row.ratio(peer)?, row.ratio_met(peer)))
        });
        let ratios = ratios.map(Option::unwrap_or_default);
        sheet.row([Cell::from(work)].into_iter().chain(ratios));
    }
    format!("\n{}", sheet.markdown())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    const PAGE: &str = "# P\n<!-- bench card: `cargo xtask docs` writes this -->\nold\n<!-- end of bench -->\nprose\n\
                        <!-- bench reduce: `cargo xtask docs` writes this -->\n<!-- end of bench -->\nend\n";

    #[test]
    fn a_page_is_filled_between_its_marks() {
        let records = [("benches/record/h100/a-bench.json".to_owned(), record())];
        let page = fill(PAGE, &records, &[]).unwrap();
        assert!(
            page.starts_with("# P\n")
                && page.ends_with("end\n")
                && page.contains("\nprose\n")
                && !page.contains("old")
        );
        assert!(
            page.contains("| CUB | 13.0 |")
                && page.contains("| PyTorch | missing: no <torch> & no GPU |"),
            "{page}"
        );
        // The largest size in full, the others as ratios; what missed its aim stands out.
        assert!(
            page.contains("| sum f32 | 2^24 | 22.00 us |")
                && !page.contains("| sum f32 | 2^20 | 4"),
            "{page}"
        );
        assert!(
            page.contains("| time of CUB / ours | 2^20 | 2^24 |"),
            "{page}"
        );
        assert!(page.contains("| sum f32 | **0.75** | 1.05 |"), "{page}");
        // Filled again, it stays.
        assert_eq!(fill(&page, &records, &[]).unwrap(), page);
    }

    #[test]
    fn the_way_that_a_peer_took_stands_behind_its_time() {
        let mut found = record();
        for row in &mut found.rows {
            row.results[1].way = Some("FFT, one row".to_owned());
        }
        // It survives the record's text.
        let found = Record::parse(&found.to_text()).unwrap();
        let page = fill(PAGE, &[("a".to_owned(), found)], &[]).unwrap();
        assert!(page.contains(" us, `FFT, one row` | 1.05 |"), "{page}");
    }

    #[test]
    fn overhead_has_its_tables() {
        let page = PAGE.replace("bench card", "bench overhead");
        let records = |record| [("a-bench.json".to_owned(), record)];
        let filled = fill(&page, &records(record()), &[]).unwrap();
        assert!(
            filled.contains(
                "| sum f32 | 10.50 us | 10.00 us | 1.05 | 12.50 us | 10.00 us | **1.25** |"
            ),
            "{filled}"
        );
        assert!(
            filled.contains("| reduce | 250.0 ms | **60.00 ms** | 12.00 ms |"),
            "{filled}"
        );
        assert!(
            filled.contains("| 2 operations | 30.00 us | 60.00 us | 40.00 us | 0.75 |")
                && filled.contains(
                    "| 2 operations, waited for | 48.00 us | 60.00 us | 40.00 us | **1.20** |"
                )
                && filled.contains(
                    "| 3 operations | 30.00 us | 60.00 us | missing: no <torch> & no GPU |  |"
                ),
            "{filled}"
        );
        // Graphs have no table in a record from before they were measured.
        let mut before = record();
        before.overhead.graphs.clear();
        let filled = fill(&page, &records(before), &[]).unwrap();
        assert!(
            filled.contains("| sum f32 | 10.50 us |") && !filled.contains("| graph of |"),
            "{filled}"
        );
        // A record from before all of it says nothing.
        let old = Record {
            overhead: Default::default(),
            ..record()
        };
        let filled = fill(&page, &records(old), &[]).unwrap();
        assert!(filled.contains("No record with `overhead` yet"), "{filled}");
    }

    #[test]
    fn counters_have_their_table() {
        let page = PAGE.replace("bench card", "bench counters");
        let counted = [(
            "benches/record/h100/a-counters.json".to_owned(),
            counters::tests::record(),
        )];
        let filled = fill(&page, &[], &counted).unwrap();
        assert!(
            filled.contains("`warpwright-bench counters`, Nsight Compute 2025.3.1.0, 2026-11-21, [record](../benches/record/h100/a-counters.json)"),
            "{filled}"
        );
        assert!(
            filled.contains(
                "| transpose u8 | 1000 x 1000 | `transpose_best__b1` | 12.50 us | 80.2 % | 1.00 | 1.90 | 12.5 % |  | XU 45.0 % | long scoreboard 21.2 |"
            ),
            "{filled}"
        );
        assert!(
            filled.contains("\nNo counters of reduce: sum f32, 2^20: no kernel | was seen.\n"),
            "{filled}"
        );
        // Every line of the table has as many cells.
        let cells: Vec<usize> = filled
            .lines()
            .filter(|line| line.starts_with('|'))
            .map(|line| line.matches('|').count())
            .collect();
        assert_eq!(cells, [12; 3]);
        assert_eq!(fill(&filled, &[], &counted).unwrap(), filled);
        let none = fill(&page, &[("a-bench.json".to_owned(), record())], &[]).unwrap();
        assert!(none.contains("No record of counters yet"), "{none}");
    }

    #[test]
    fn without_a_record_the_page_says_so() {
        let page = fill(PAGE, &[], &[]).unwrap();
        assert_eq!(page.matches("No record with `").count(), 2);
        assert!(page.contains("No record with `reduce` yet"));
    }

    #[test]
    fn a_mark_without_its_end_is_an_error() {
        assert!(
            fill(
                "<!-- bench reduce: `cargo xtask docs` writes this -->\n",
                &[],
                &[]
            )
            .unwrap_err()
            .contains("end of bench")
        );
        assert!(fill("<!-- bench reduce", &[], &[]).is_err());
    }
}
