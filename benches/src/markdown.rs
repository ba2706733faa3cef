//! Renders records as tables in a page, between the page's marks.

use crate::counters;
use crate::overhead::Form;
use crate::record::{Outcome, Record, Row};
use crate::table;

/// The mark before a table. Its name is a family's, `card`, `overhead`, or `counters`.
const BEGIN: (&str, &str) = ("<!-- bench ", ": `cargo xtask docs` writes this -->\n");
/// The mark after a table.
const END: &str = "<!-- end of bench -->\n";
/// The text if no record has the data.
const NONE: &str = "No record with `{}` yet: `cargo xtask bench --record` on a card makes one.\n";
/// The same text for counters.
const NO_COUNTERS: &str = "No record of counters yet: `warpwright-bench counters --from RECORD.json --record \
                           benches/record` on a card makes one.\n";

/// Returns the page with the tables of the benchmark's and the counters' records between its marks. A record comes with its
/// path relative to the project.
///
/// # Errors
/// Returns a line that says what is wrong with the marks.
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
    let parts: Vec<String> = records
        .iter()
        .map(|(path, record)| match name {
            "card" => run(path, record),
            "overhead" => overhead(record),
            _ => family(name, record),
        })
        .filter(|part| !part.is_empty())
        .collect();
    if parts.is_empty() {
        NONE.replace("{}", name)
    } else {
        parts.join("\n")
    }
}

/// Returns the counters of the rows that missed an aim.
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
        text += &line(&counters::TITLES.map(str::to_owned));
        text += &format!("| --- | --- | --- |{} --- | --- |\n", " ---: |".repeat(6));
        for row in &record.rows {
            let mut cells = row.cells();
            cells[2] = format!("`{}`", cells[2]);
            text += &line(&cells);
        }
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

/// Returns the description of a run: the card, its ceilings, the peers.
fn run(path: &str, record: &Record) -> String {
    let mut text = format!(
        "`{}`, {}, [record](../{path}){}.\n\n{}.\n\n",
        record.command,
        record.date,
        if record.quick {
            ", with fewer sizes and samples"
        } else {
            ""
        },
        table::card(&record.card)
    );
    text += "| ceiling | rate | measured by |\n| --- | ---: | --- |\n";
    for ceiling in &record.ceilings {
        text += &line(&[
            ceiling.bound.name().to_owned(),
            table::rate(ceiling.bound, ceiling.rate),
            ceiling.how.clone(),
        ]);
    }
    text += "\n| peer | |\n| --- | --- |\n";
    for peer in &record.peers {
        let said = match (&peer.found, &peer.missing) {
            (Some(found), _) => found.clone(),
            (None, reason) => format!("missing: {}", reason.as_deref().unwrap_or("not looked for")),
        };
        text += &line(&[peer.name.clone(), said]);
    }
    text
}

/// Returns the library's cost beyond the driver: operations on one element, and the first operation of a process.
fn overhead(record: &Record) -> String {
    let overhead = &record.overhead;
    if overhead.is_empty() {
        return String::new();
    }
    let mut text = format!("{}, {}:\n\n", record.card.name, record.date);
    text +=
        "| on one element | prepared | bare calls | ratio | in one call | bare calls | ratio |\n";
    text += "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    for prepared in overhead.calls.iter().filter(|it| it.form == Form::Prepared) {
        let mut cells = vec![prepared.work.clone()];
        let once =
            (overhead.calls.iter()).find(|it| it.form == Form::Once && it.work == prepared.work);
        for calls in [Some(prepared), once].into_iter().flatten() {
            cells.extend(match (calls.times(), calls.ratio()) {
                (Some([ours, bare]), Some(ratio)) => [
                    table::time(ours.median),
                    table::time(bare.median),
                    aimed(format!("{ratio:.2}"), calls.met()),
                ],
                _ => [
                    calls.ours.reason().unwrap_or_default(),
                    String::new(),
                    String::new(),
                ],
            });
        }
        text += &line(&cells);
    }
    text += "\n| first of a process | context alone | without the driver's cache | from the driver's cache |\n| --- | ---: | ---: | ---: |\n";
    for cold in &overhead.cold {
        let median = |outcome: &Outcome| match outcome.times() {
            Some(times) => table::time(times.median),
            None => outcome.reason().unwrap_or_default(),
        };
        text += &line(&[
            cold.family.clone(),
            median(&cold.uncached.context),
            aimed(median(&cold.uncached.first), cold.uncached.met()),
            aimed(median(&cold.cached.first), cold.cached.met()),
        ]);
    }
    text
}

/// Returns the tables of a family: each work at its largest size, and the ratios at the others.
fn family(name: &str, record: &Record) -> String {
    let rows: Vec<&Row> = record
        .rows
        .iter()
        .filter(|row| row.family == name)
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut peers: Vec<&str> = Vec::new();
    for peer in rows.iter().flat_map(|row| row.peers()) {
        if !peers.contains(&peer.name.as_str()) {
            peers.push(&peer.name);
        }
    }
    let mut titles = ["work", "size", "time", "rate", "of ceiling", "spread"]
        .map(str::to_owned)
        .to_vec();
    titles.extend(
        peers
            .iter()
            .flat_map(|peer| [(*peer).to_owned(), "ratio".to_owned()]),
    );
    let mut text = format!("{}, {}:\n\n", record.card.name, record.date);
    text += &line(&titles);
    text += &format!("| --- | --- |{}\n", " ---: |".repeat(titles.len() - 2));
    for row in rows.iter().filter(|row| is_largest(row, &rows)) {
        text += &line(&cells(record, row, &peers));
    }
    for peer in &peers {
        text += &by_size(&rows, peer);
    }
    text
}

/// Returns whether no other row of the same work is larger.
pub(crate) fn is_largest(row: &Row, rows: &[&Row]) -> bool {
    !rows.iter().any(|other| {
        other.work == row.work && other.elements > row.elements && is_sized(row, other)
    })
}

/// Returns whether two rows are sizes of one problem, not two shapes: `2^12` and `2^28`, not `3 x 5`.
fn is_sized(row: &Row, other: &Row) -> bool {
    !row.size.contains(" x ") && !other.size.contains(" x ")
}

fn cells(record: &Record, row: &Row, peers: &[&str]) -> Vec<String> {
    let mut cells = vec![row.work.clone(), row.size.clone()];
    let times = row.ours().and_then(|ours| ours.outcome.times());
    match times {
        Some(times) => {
            let share = record.share(row).map_or_else(String::new, |share| {
                let text = format!("{:.1} % of {}", 100.0 * share, row.bound.name());
                aimed(text, record.share_met(row))
            });
            cells.extend([
                table::time(times.median),
                table::rate(row.bound, row.rate(times.median)),
                share,
                format!("{:.1} %", 100.0 * times.spread()),
            ]);
        }
        None => {
            let reason = row
                .ours()
                .and_then(|ours| ours.outcome.reason())
                .unwrap_or_default();
            cells.extend([reason, String::new(), String::new(), String::new()]);
        }
    }
    for name in peers {
        let peer = row.peers().find(|peer| peer.name == *name);
        cells.extend(match peer.map(|peer| (peer, peer.outcome.times())) {
            Some((peer, Some(times))) => {
                let ratio = row.ratio(peer).map_or_else(String::new, |ratio| {
                    aimed(format!("{ratio:.2}"), row.ratio_met(peer))
                });
                let way = peer.way.as_ref();
                let way = way.map_or_else(String::new, |way| format!(", `{way}`"));
                [table::time(times.median) + &way, ratio]
            }
            Some((peer, None)) => [peer.outcome.reason().unwrap_or_default(), String::new()],
            None => [String::new(), String::new()],
        });
    }
    cells
}

/// Returns the ratios to a peer by size, for works that have several sizes.
fn by_size(rows: &[&Row], peer: &str) -> String {
    let mut sizes: Vec<(u64, &str)> = Vec::new();
    let mut works: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| {
        rows.iter()
            .any(|other| other.work == row.work && other.size != row.size && is_sized(row, other))
    }) {
        if !sizes.contains(&(row.elements, &row.size)) {
            sizes.push((row.elements, &row.size));
        }
        if !works.contains(&row.work.as_str()) {
            works.push(&row.work);
        }
    }
    if sizes.is_empty() {
        return String::new();
    }
    sizes.sort_unstable();
    let mut titles = vec![format!("time of {peer} / ours")];
    titles.extend(sizes.iter().map(|(_, size)| (*size).to_owned()));
    let mut text = format!(
        "\n{}| --- |{}\n",
        line(&titles),
        " ---: |".repeat(sizes.len())
    );
    for work in works {
        let mut cells = vec![work.to_owned()];
        for (_, size) in &sizes {
            let row = rows
                .iter()
                .find(|row| row.work == work && row.size == *size);
            let cell = row.and_then(|row| {
                let peer = row.peers().find(|it| it.name == peer)?;
                Some(aimed(
                    format!("{:.2}", row.ratio(peer)?),
                    row.ratio_met(peer),
                ))
            });
            cells.push(cell.unwrap_or_default());
        }
        text += &line(&cells);
    }
    text
}

/// Highlights a figure that missed its aim.
fn aimed(text: String, met: Option<bool>) -> String {
    if met == Some(false) {
        format!("**{text}**")
    } else {
        text
    }
}

fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells
        .iter()
        .map(|cell| cell.replace('|', "\\|").replace('\n', " "))
        .collect();
    format!("| {} |\n", cells.join(" | "))
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
        // The largest size has all figures, the others only ratios. A missed aim is highlighted.
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
        // Filling the page again does not change it.
        assert_eq!(fill(&page, &records, &[]).unwrap(), page);
    }

    #[test]
    fn the_way_that_a_peer_took_stands_behind_its_time() {
        let mut found = record();
        for row in &mut found.rows {
            row.results[1].way = Some("FFT, one row".to_owned());
        }
        // The counters survive a round trip through the record's text.
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
        // An old record without this measurement has no such table.
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
        // Every line of the table has the same number of cells.
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
