//! A record as one page: tables and charts, with nothing from elsewhere, in light and in dark.

mod charts;

use crate::markdown::largest;
use crate::record::{Record, Row};
use crate::sheet::{Sheet, escape};
use crate::{ladder, sheets, table};

/// The page's style. The colours are variables, so that charts follow them.
const STYLE: &str = include_str!("page.css");

/// The page of a record, with the ladders of the same card where there are some.
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
    body += &sheets::ceilings(record).html();
    body += &sheets::peers(record).html();
    body += "</section>\n<section id=\"roofline\"><h2>Roofline</h2>\n";
    body += &charts::roofline(record);
    body += "</section>\n";
    for family in record.families() {
        let rows = record.of_family(family);
        body += &format!("<section id=\"{0}\"><h2>{0}</h2>\n", escape(family));
        body += &charts::ratios(&largest(&rows));
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

/// What the library costs beyond the driver: a chart, and the tables.
fn overhead(record: &Record) -> String {
    let overhead = &record.overhead;
    let tables = sheets::overhead(overhead);
    charts::overhead(&overhead.calls) + &tables.iter().map(Sheet::html).collect::<String>()
}

/// All figures of a family, folded away.
fn details(record: &Record, rows: &[&Row]) -> String {
    format!(
        "<details><summary>All {} cases</summary>\n{}</details>\n",
        rows.len(),
        sheets::cases(&record.ceilings, rows, &sheets::names(rows)).html()
    )
}

#[cfg(test)]
mod tests;
