use super::*;
use crate::record::tests::record;
use crate::record::{Outcome, Record};

fn ladders() -> Vec<ladder::Ladder> {
    let text = "# warpwright ladder\n# A card\nsum: 16 f32 & more\n  variant  time  GB/s  of copy\n  naive  2 ms  100  3 %\n  best  1 ms  \
                200  6 %\n  other  cannot: why\n";
    ladder::Record::parse(text).unwrap().ladders
}

/// Checks that every element is closed, in order, except those that HTML never closes, and that no text has a bare `<` or `&`.
fn well_formed(page: &str) -> Result<(), String> {
    const VOID: [&str; 2] = ["meta", "!DOCTYPE"];
    let mut open: Vec<String> = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        if open.last().is_none_or(|name| name != "style") {
            for part in text.split('&').skip(1) {
                if !["amp;", "lt;", "gt;", "quot;"]
                    .iter()
                    .any(|name| part.starts_with(name))
                {
                    return Err(format!("a bare & in `{text}`"));
                }
            }
        }
        let end = rest[at..].find('>').ok_or("a tag without its end")? + at;
        let tag = &rest[at + 1..end];
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap_or_default();
        if tag.starts_with('/') {
            if open.pop().as_deref() != Some(name) {
                return Err(format!("</{name}> where {open:?} is open"));
            }
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                return Err(format!("a bare < before `{tag}`"));
            }
            if !tag.matches('"').count().is_multiple_of(2) {
                return Err(format!("an open attribute in `{tag}`"));
            }
            open.push(name.to_owned());
        }
        rest = &rest[end + 1..];
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("{open:?} not closed"))
    }
}

#[test]
fn the_check_finds_what_is_malformed() {
    assert_eq!(well_formed("<p>a &amp; b<line x=\"1\"/></p>"), Ok(()));
    for bad in [
        "<p>",
        "<p></b>",
        "<p>a & b</p>",
        "<p>1 < 2</p>",
        "<p a=\"x></p>",
    ] {
        assert!(well_formed(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_page_is_well_formed_and_complete() {
    let page = page(&record(), &ladders());
    well_formed(&page).unwrap();
    for part in [
        "Roofline",
        "Rate over size",
        "sum f32, 2^24: CUB",
        "no &lt;torch&gt; &amp; no GPU",
        "class=\"missed\"",
        "sum: 16 f32 &amp; more",
        "An operation on one element",
        "first of a process",
        "2 operations, waited for",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn the_page_takes_nothing_from_elsewhere() {
    let page = page(&record(), &ladders());
    for word in ["http", "src=", "@import", "url(", "<script", "<link"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn a_run_without_times_has_a_page_too() {
    let mut record = record();
    for row in &mut record.rows {
        for contender in &mut row.results {
            contender.outcome = Outcome::Failed("why < that".to_owned());
        }
    }
    let page = page(&record, &[]);
    well_formed(&page).unwrap();
    assert!(page.contains("failed: why &lt; that") && page.contains("No peer was timed"));
    let none = Record {
        rows: Vec::new(),
        overhead: Default::default(),
        ceilings: Vec::new(),
        peers: Vec::new(),
        ..record
    };
    well_formed(&super::page(&none, &[])).unwrap();
}

#[test]
fn a_tick_of_a_thousand_operations_per_byte_says_so() {
    let mut record = record();
    let row = &mut record.rows[0];
    row.operations = 1000 * row.bytes;
    let chart = charts::roofline(&record);
    assert!(chart.contains("class=\"faint\">1000</text>"), "{chart}");
}
