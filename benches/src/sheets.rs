//! What a record says, as the tables that a terminal and the pages in Markdown and in HTML have in common.

use crate::counters;
use crate::distinct::distinct;
use crate::overhead::{Calls, Cold, Form, Graph, Overhead, Start};
use crate::record::{Ceiling, Outcome, Record, Row};
use crate::sheet::{Cell, Sheet};
use crate::table;

/// What bounds the card's rates.
pub fn ceilings(record: &Record) -> Sheet {
    let mut sheet = Sheet::new("l r l", ["ceiling", "rate", "measured by"]);
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
    let graphs = (!overhead.graphs.is_empty()).then(|| graphs(&overhead.graphs));
    let sheets = [
        Some(calls(&overhead.calls)),
        graphs,
        Some(cold(&overhead.cold)),
    ];
    sheets.into_iter().flatten().collect()
}

/// Operations on one element beside the driver's calls.
pub fn calls(all: &[Calls]) -> Sheet {
    let mut sheet = Sheet::new(
        "l33 r10",
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
            Cell::ratio(ratio, calls.met()),
        ],
        _ => [reason(&calls.ours), Cell::default(), Cell::default()],
    };
    for prepared in all.iter().filter(|it| it.form == Form::Prepared) {
        let mut others = all.iter();
        let once = others.find(|it| it.form == Form::Once && it.work == prepared.work);
        let both = [Some(prepared), once].into_iter().flatten();
        let work = [Cell::from(&*prepared.work)].into_iter();
        sheet.row(work.chain(both.flat_map(figures)));
    }
    sheet
}

/// Graphs beside the same operations queued one by one, and beside PyTorch's graphs.
pub fn graphs(graphs: &[Graph]) -> Sheet {
    let titles = [
        "graph of",
        "replayed",
        "one by one",
        "PyTorch's graph",
        "ours / PyTorch's",
    ];
    let mut sheet = Sheet::new("l33 r10", titles);
    for graph in graphs {
        let ratio = graph.ratio().map(|ratio| Cell::ratio(ratio, graph.met()));
        sheet.row([
            Cell::from(&*graph.work),
            table::outcome(&graph.ours).into(),
            table::outcome(&graph.apart).into(),
            table::outcome(&graph.pytorch).into(),
            ratio.unwrap_or_default(),
        ]);
    }
    sheet
}

/// The first operations of processes.
pub fn cold(families: &[Cold]) -> Sheet {
    let mut sheet = Sheet::new(
        "l33 r10",
        [
            "first of a process",
            "context alone",
            "without the driver's cache",
            "from the driver's cache",
        ],
    );
    let first = |start: &Start| Cell::aimed(table::outcome(&start.first), start.met());
    for cold in families {
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
    let peers = rows.iter().flat_map(|row| row.peers());
    distinct(peers.map(|peer| peer.name.as_str()))
}

/// Cases: ours, and the time and the ratio of each peer.
pub fn cases(ceilings: &[Ceiling], rows: &[&Row], peers: &[&str]) -> Sheet {
    let ours = ["work", "size", "time", "rate", "of ceiling", "spread"];
    let theirs = peers.iter().flat_map(|peer| [*peer, "ratio"]);
    let mut sheet = Sheet::new("l34 l16 r10 r14 r16 r7 r10", ours.into_iter().chain(theirs));
    for row in rows {
        let name = [Cell::from(&*row.work), Cell::from(&*row.size)];
        let theirs = peers.iter().flat_map(|peer| rival(row, peer));
        sheet.row(name.into_iter().chain(own(ceilings, row)).chain(theirs));
    }
    sheet
}

/// Our time, rate, share and spread.
fn own(ceilings: &[Ceiling], row: &Row) -> [Cell; 4] {
    let Some(ours) = row.ours() else {
        return Default::default();
    };
    let Some(times) = ours.outcome.times() else {
        let why = reason(&ours.outcome);
        return [why, Cell::default(), Cell::default(), Cell::default()];
    };
    let share = row.share(ceilings);
    let share = share.map(|share| Cell::aimed(of_ceiling(row, share), row.share_met(ceilings)));
    [
        table::time(times.median).into(),
        table::rate(row.bound, row.rate(times.median)).into(),
        share.unwrap_or_default(),
        format!("{:.1} %", 100.0 * times.spread()).into(),
    ]
}

/// A share of a row's ceiling.
fn of_ceiling(row: &Row, share: f64) -> String {
    format!("{:.1} % of {}", 100.0 * share, row.bound.name())
}

/// A case of a sweep: the library, and each policy row, whose times are compared with the library's.
pub fn sweep(row: &Row, ceilings: &[Ceiling]) -> Sheet {
    let titles = ["policy row", "time", "of ceiling", "/ ours", "spread"];
    let mut sheet = Sheet::new("l r", titles);
    let ceiling = ceilings.iter().find(|it| it.bound == row.bound);
    for contender in &row.results {
        let name = Cell::from(&*contender.name);
        let Some(times) = contender.outcome.times() else {
            sheet.row([name, reason(&contender.outcome)]);
            continue;
        };
        let share = ceiling.map(|it| row.rate(times.median) / it.rate_for(row.bytes));
        let ratio = row.ratio(contender).unwrap_or(1.0);
        sheet.row([
            name,
            table::time(times.median).into(),
            share.map_or_else(Cell::default, |share| of_ceiling(row, share).into()),
            format!("{ratio:.3}").into(),
            format!("{:.1} %", 100.0 * times.spread()).into(),
        ]);
    }
    sheet
}

/// The counters of kernels.
pub fn counters(rows: &[counters::Row]) -> Sheet {
    let columns = "l32 l15 l42 r9 r7 r13 r17 r7 r7 l13 l";
    let mut sheet = Sheet::new(columns, counters::TITLES);
    for row in rows {
        let mut cells = row.cells();
        cells[2] = format!("`{}`", cells[2]);
        sheet.row(cells);
    }
    sheet
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
    let ratio = row
        .ratio(peer)
        .map(|ratio| Cell::ratio(ratio, row.ratio_met(peer)));
    [
        (table::time(times.median) + &way.unwrap_or_default()).into(),
        ratio.unwrap_or_default(),
    ]
}

/// Why there is no time.
fn reason(outcome: &Outcome) -> Cell {
    outcome.reason().unwrap_or_default().into()
}
