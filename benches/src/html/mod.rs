//! Renders a record as one page: tables and charts, without external files, in light and dark.

mod charts;

use crate::ladder;
use crate::markdown::is_largest;
use crate::overhead::Start;
use crate::record::{Outcome, Record, Row};
use crate::table;

/// The page's style. The colors are variables, so that charts follow them.
const STYLE: &str = include_str!("page.css");

/// Returns the page of a record, with the ladders of the same card if there are any.
pub fn page(record: &Record, ladders: &[ladder::Ladder]) -> String {
    let title = format!("warpwright on {}", record.card.name);
    let mut body = format!(
        "<header><h1>{}</h1><p>{}, <code>{}</code>{}. {}.</p></header>\n",
        escape(&title),
        escape(&record.date),
        escape(&record.command),
        if record.quick {
            ", with fewer sizes and samples"
        } else {
            ""
        },
        escape(&table::card(&record.card)),
    );
    body += &navigation(record, ladders);
    body += "<section id=\"run\"><h2>The run</h2>\n";
    body += "<p>A time is the median of samples that were taken of ours and of each peer in turn, after the answers of all were \
             found right. A ratio is the peer's time divided by ours: above 1, ours is faster. A figure that missed what \
             was wanted of it is marked <span class=\"missed\">so</span>.</p>\n";
    body += &rows_of(
        "ceiling",
        &["rate", "measured by"],
        record.ceilings.iter().map(|ceiling| {
            (
                ceiling.bound.name().to_owned(),
                vec![
                    table::rate(ceiling.bound, ceiling.rate),
                    ceiling.how.clone(),
                ],
            )
        }),
    );
    body += &rows_of(
        "peer",
        &["found"],
        record.peers.iter().map(|peer| {
            let said = peer.found.clone().unwrap_or_else(|| {
                format!("missing: {}", peer.missing.as_deref().unwrap_or_default())
            });
            (peer.name.clone(), vec![said])
        }),
    );
    body += "</section>\n<section id=\"roofline\"><h2>Roofline</h2>\n";
    body += &charts::roofline(record);
    body += "</section>\n";
    for family in record.families() {
        let rows: Vec<&Row> = record
            .rows
            .iter()
            .filter(|row| row.family == family)
            .collect();
        body += &format!("<section id=\"{0}\"><h2>{0}</h2>\n", escape(family));
        let largest: Vec<&Row> = rows
            .iter()
            .copied()
            .filter(|row| is_largest(row, &rows))
            .collect();
        body += &charts::ratios(&largest);
        body += &charts::rates(record, &rows);
        body += &details(record, &rows);
        body += "</section>\n";
    }
    if !record.overhead.is_empty() {
        body += "<section id=\"overhead\"><h2>overhead</h2>\n";
        body += &overhead(record);
        body += "</section>\n";
    }
    if !ladders.is_empty() {
        body += "<section id=\"ladders\"><h2>Ladders</h2>\n<p>Every rung of a family on one problem, from the card's latest ladder.</p>\n";
        for ladder in ladders {
            body += &charts::ladder(ladder);
        }
        body += "</section>\n";
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(&title)
    )
}

fn navigation(record: &Record, ladders: &[ladder::Ladder]) -> String {
    let mut names = vec!["run", "roofline"];
    names.extend(record.families());
    names.extend((!record.overhead.is_empty()).then_some("overhead"));
    names.extend((!ladders.is_empty()).then_some("ladders"));
    let links: Vec<String> = names
        .iter()
        .map(|name| format!("<a href=\"#{0}\">{0}</a>", escape(name)))
        .collect();
    format!("<nav>{}</nav>\n", links.join(" "))
}

/// Returns a table of names and their values.
fn rows_of(
    name: &str,
    titles: &[&str],
    rows: impl Iterator<Item = (String, Vec<String>)>,
) -> String {
    let mut text = format!("<div class=\"wide\"><table><tr><th>{}</th>", escape(name));
    titles
        .iter()
        .for_each(|title| text += &format!("<th>{}</th>", escape(title)));
    text += "</tr>\n";
    for (name, cells) in rows {
        text += &format!("<tr><td>{}</td>", escape(&name));
        cells
            .iter()
            .for_each(|cell| text += &format!("<td>{}</td>", escape(cell)));
        text += "</tr>\n";
    }
    text + "</table></div>\n"
}

/// Returns the library's cost beyond the driver: a chart, and both tables.
fn overhead(record: &Record) -> String {
    let overhead = &record.overhead;
    let mut text = charts::overhead(&overhead.calls);
    let median = |outcome: &Outcome| match outcome.times() {
        Some(times) => table::time(times.median),
        None => outcome.reason().unwrap_or_default(),
    };
    text += "<div class=\"wide\"><table><tr><th>on one element</th><th>asked for</th><th>time</th><th>bare calls</th><th>ratio</th></tr>\n";
    for calls in &overhead.calls {
        let ratio = calls.ratio().map_or_else(String::new, |ratio| {
            aimed(&format!("{ratio:.3}"), calls.met())
        });
        text += &format!(
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{ratio}</td></tr>\n",
            escape(&calls.work),
            calls.form.name(),
            escape(&median(&calls.ours)),
            escape(&median(&calls.bare)),
        );
    }
    text += "</table></div>\n<div class=\"wide\"><table><tr><th>first of a process</th><th>context alone</th><th>without the driver's cache</th>\
             <th>from the cache</th></tr>\n";
    for cold in &overhead.cold {
        let first = |start: &Start| aimed(&median(&start.first), start.met());
        text += &format!(
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
            escape(&cold.family),
            escape(&median(&cold.uncached.context)),
            first(&cold.uncached),
            first(&cold.cached),
        );
    }
    text + "</table></div>\n"
}

/// Returns all figures of a family, folded.
fn details(record: &Record, rows: &[&Row]) -> String {
    let mut text = format!(
        "<details><summary>All {} cases</summary>\n<div class=\"wide\"><table><tr><th>work</th><th>size</th><th>time</th><th>rate</th>\
         <th>of ceiling</th><th>spread</th><th>peers</th></tr>\n",
        rows.len()
    );
    for row in rows {
        let cells = match row.ours().and_then(|ours| ours.outcome.times()) {
            Some(times) => {
                let share = record.share(row).map_or_else(String::new, |share| {
                    aimed(
                        &format!("{:.1} % of {}", 100.0 * share, row.bound.name()),
                        record.share_met(row),
                    )
                });
                let rate = table::rate(row.bound, row.rate(times.median));
                format!(
                    "<td class=\"n\">{}</td><td class=\"n\">{rate}</td><td class=\"n\">{share}</td><td class=\"n\">{:.1} %</td>",
                    table::time(times.median),
                    100.0 * times.spread()
                )
            }
            None => {
                let reason = row
                    .ours()
                    .and_then(|ours| ours.outcome.reason())
                    .unwrap_or_default();
                format!("<td colspan=\"4\">{}</td>", escape(&reason))
            }
        };
        let peers: Vec<String> = row
            .peers()
            .map(|peer| match (peer.outcome.times(), row.ratio(peer)) {
                (Some(times), Some(ratio)) => format!(
                    "{} {}, {}",
                    escape(&peer.name),
                    table::time(times.median),
                    aimed(&format!("{ratio:.2}"), row.ratio_met(peer))
                ),
                (Some(times), None) => {
                    format!("{} {}", escape(&peer.name), table::time(times.median))
                }
                _ => format!(
                    "{} {}",
                    escape(&peer.name),
                    escape(&peer.outcome.reason().unwrap_or_default())
                ),
            })
            .collect();
        text += &format!(
            "<tr><td>{}</td><td>{}</td>{cells}<td>{}</td></tr>\n",
            escape(&row.work),
            escape(&row.size),
            peers.join("; ")
        );
    }
    text + "</table></div></details>\n"
}

fn aimed(text: &str, met: Option<bool>) -> String {
    match met {
        Some(false) => format!("<span class=\"missed\">{}</span>", escape(text)),
        _ => escape(text),
    }
}

/// Returns text escaped for a page.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
