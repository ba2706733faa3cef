//! What a record says, as the tables that its pages in Markdown and in HTML have in common.

use crate::overhead::{Calls, Form, Overhead, Start};
use crate::record::{Outcome, Record, Row};
use crate::sheet::{Cell, Sheet};
use crate::table;

/// What bounds the card's rates.
pub fn ceilings(record: &Record) -> Sheet {
    let mut sheet = Sheet::new("lrl", ["ceiling", "rate", "measured by"]);
    for ceiling in &record.ceilings {
        sheet.row([
            ceiling.bound.name().to_owned(),
            table::rate(ceiling.bound, ceiling.rate),
            ceiling.how.clone(),
        ]);
    }
    sheet
}

/// The peers, or why they are missing.
pub fn peers(record: &Record) -> Sheet {
    let mut sheet = Sheet::new("l", ["peer", "found"]);
    for peer in &record.peers {
        let said = match (&peer.found, &peer.missing) {
            (Some(found), _) => found.clone(),
            (None, reason) => format!("missing: {}", reason.as_deref().unwrap_or("not looked for")),
        };
        sheet.row([peer.name.clone(), said]);
    }
    sheet
}

/// The tables of what the library costs beyond the driver. Graphs have none in a record from before they were measured.
pub fn overhead(overhead: &Overhead) -> Vec<Sheet> {
    let graphs = (!overhead.graphs.is_empty()).then(|| graphs(overhead));
    let sheets = [Some(calls(overhead)), graphs, Some(cold(overhead))];
    sheets.into_iter().flatten().collect()
}

/// Operations on one element beside the driver's calls.
fn calls(overhead: &Overhead) -> Sheet {
    let mut sheet = Sheet::new(
        "lr",
        [
            "on one element",
            "prepared",
            "bare calls",
            "ratio",
            "in one call",
            "bare calls",
            "ratio",
        ],
    );
    let figures = |calls: &Calls| match (calls.times(), calls.ratio()) {
        (Some([ours, bare]), Some(ratio)) => [
            table::time(ours.median).into(),
            table::time(bare.median).into(),
            Cell::aimed(format!("{ratio:.2}"), calls.met()),
        ],
        _ => [reason(&calls.ours), Cell::default(), Cell::default()],
    };
    for prepared in overhead.calls.iter().filter(|it| it.form == Form::Prepared) {
        let mut others = overhead.calls.iter();
        let once = others.find(|it| it.form == Form::Once && it.work == prepared.work);
        let both = [Some(prepared), once].into_iter().flatten();
        let work = [Cell::from(&*prepared.work)].into_iter();
        sheet.row(work.chain(both.flat_map(figures)));
    }
    sheet
}

/// Graphs beside the same operations queued one by one, and beside PyTorch's graphs.
fn graphs(overhead: &Overhead) -> Sheet {
    let titles = [
        "graph of",
        "replayed",
        "one by one",
        "PyTorch's graph",
        "ours / PyTorch's",
    ];
    let mut sheet = Sheet::new("lr", titles);
    for graph in &overhead.graphs {
        let ratio = graph.ratio().map(|ratio| format!("{ratio:.2}"));
        sheet.row([
            Cell::from(&*graph.work),
            table::outcome(&graph.ours).into(),
            table::outcome(&graph.apart).into(),
            table::outcome(&graph.pytorch).into(),
            Cell::aimed(ratio.unwrap_or_default(), graph.met()),
        ]);
    }
    sheet
}

/// The first operations of processes.
fn cold(overhead: &Overhead) -> Sheet {
    let mut sheet = Sheet::new(
        "lr",
        [
            "first of a process",
            "context alone",
            "without the driver's cache",
            "from the driver's cache",
        ],
    );
    let first = |start: &Start| Cell::aimed(table::outcome(&start.first), start.met());
    for cold in &overhead.cold {
        sheet.row([
            Cell::from(&*cold.family),
            table::outcome(&cold.uncached.context).into(),
            first(&cold.uncached),
            first(&cold.cached),
        ]);
    }
    sheet
}

/// The names of the peers of some cases.
pub fn names<'a>(rows: &[&'a Row]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for peer in rows.iter().flat_map(|row| row.peers()) {
        if !names.contains(&peer.name.as_str()) {
            names.push(&peer.name);
        }
    }
    names
}

/// Cases: ours, and the time and the ratio of each peer.
pub fn cases(record: &Record, rows: &[&Row], peers: &[&str]) -> Sheet {
    let ours = ["work", "size", "time", "rate", "of ceiling", "spread"];
    let theirs = peers.iter().flat_map(|peer| [*peer, "ratio"]);
    let mut sheet = Sheet::new("llr", ours.into_iter().chain(theirs));
    for row in rows {
        let name = [Cell::from(&*row.work), Cell::from(&*row.size)];
        let theirs = peers.iter().flat_map(|peer| rival(row, peer));
        sheet.row(name.into_iter().chain(own(record, row)).chain(theirs));
    }
    sheet
}

/// Our time, rate, share and spread.
fn own(record: &Record, row: &Row) -> [Cell; 4] {
    let Some(ours) = row.ours() else {
        return Default::default();
    };
    let Some(times) = ours.outcome.times() else {
        let why = reason(&ours.outcome);
        return [why, Cell::default(), Cell::default(), Cell::default()];
    };
    let share = record.share(row).map(|share| {
        let text = format!("{:.1} % of {}", 100.0 * share, row.bound.name());
        Cell::aimed(text, record.share_met(row))
    });
    [
        table::time(times.median).into(),
        table::rate(row.bound, row.rate(times.median)).into(),
        share.unwrap_or_default(),
        format!("{:.1} %", 100.0 * times.spread()).into(),
    ]
}

/// A peer's time, the way that it took, and its ratio to ours.
fn rival(row: &Row, name: &str) -> [Cell; 2] {
    let Some(peer) = row.peers().find(|peer| peer.name == name) else {
        return Default::default();
    };
    let Some(times) = peer.outcome.times() else {
        return [reason(&peer.outcome), Cell::default()];
    };
    let way = peer.way.as_ref().map(|way| format!(", `{way}`"));
    let ratio = row.ratio(peer).map(|ratio| {
        let text = format!("{ratio:.2}");
        Cell::aimed(text, row.ratio_met(peer))
    });
    [
        (table::time(times.median) + &way.unwrap_or_default()).into(),
        ratio.unwrap_or_default(),
    ]
}

/// Why there is no time.
fn reason(outcome: &Outcome) -> Cell {
    outcome.reason().unwrap_or_default().into()
}
