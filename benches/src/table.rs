//! Records as text for a terminal, and the words that all views share.

use crate::overhead::{Calls, Cold, Graph, Start};
use crate::record::{Bound, Card, Ceiling, Outcome, Peer, Record, Row};

/// Returns a card in one line.
pub fn card(card: &Card) -> String {
    format!(
        "{}: compute capability {}, {} multiprocessors, {:.1} GiB, L2 cache of {:.0} MiB, driver for CUDA {}",
        card.name,
        card.compute_capability,
        card.multiprocessors,
        card.memory_bytes as f64 / f64::from(1 << 30),
        card.l2_bytes as f64 / f64::from(1 << 20),
        card.cuda
    )
}

/// Returns a peer in one line.
pub fn peer(peer: &Peer) -> String {
    match (&peer.found, &peer.missing) {
        (Some(found), _) => format!("peer {}: {found}", peer.name),
        (None, Some(reason)) => format!("peer {}: missing: {reason}", peer.name),
        (None, None) => format!("peer {}", peer.name),
    }
}

/// Returns a ceiling in one line.
pub fn ceiling(ceiling: &Ceiling) -> String {
    let mut text = format!(
        "ceiling {}: {} ({})",
        ceiling.bound.name(),
        rate(ceiling.bound, ceiling.rate),
        ceiling.how
    );
    for (bytes, found) in &ceiling.by_size {
        text += &format!("; {} MiB: {}", bytes >> 20, rate(ceiling.bound, *found));
    }
    text
}

/// Returns a rate with its unit.
pub fn rate(bound: Bound, rate: f64) -> String {
    let unit = if bound.is_arithmetic() {
        "TFLOP/s"
    } else {
        "TB/s"
    };
    format!("{} {unit}", significant(rate / 1e12))
}

/// Returns a time with its unit.
pub fn time(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    format!("{} {unit}", significant(value))
}

/// Returns four significant digits, or all digits before the point if there are more.
pub fn significant(value: f64) -> String {
    let figures = match value.abs() {
        v if v >= 1000.0 || v == 0.0 || !v.is_finite() => 0,
        v => (3 - v.log10().floor() as i32).clamp(0, 6) as usize,
    };
    format!("{value:.figures$}")
}

/// Like [`significant`], without the zeros at the end of a fraction.
pub fn short(value: f64) -> String {
    let text = significant(value);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Returns the titles of the table.
pub fn head() -> String {
    format!(
        "  {:<34} {:>16} {:>10} {:>14} {:>14} {:>7}  {}",
        "work", "size", "time", "rate", "of ceiling", "spread", "peers: time, ratio to ours"
    )
}

/// Returns a case in one line.
pub fn row(row: &Row, ceilings: &[Ceiling]) -> String {
    let start = format!("  {:<34} {:>16}", row.work, row.size);
    let Some(ours) = row.ours() else {
        return format!("{start} not run");
    };
    let Outcome::Timed(times) = &ours.outcome else {
        return format!(
            "{start} {}",
            ours.outcome.reason().unwrap_or_else(|| "right".to_owned())
        );
    };
    let found = row.rate(times.median);
    let share = row.share(ceilings);
    let share = share.map_or_else(String::new, |share| {
        let mark = mark(row.aim.share.map(|aim| share >= aim));
        format!("{:.1} % {}{mark}", 100.0 * share, row.bound.name())
    });
    let mut text = format!(
        "{start} {:>10} {:>14} {share:>14} {:>5.1} %",
        time(times.median),
        rate(row.bound, found),
        100.0 * times.spread()
    );
    for peer in row.peers() {
        text += &match (peer.outcome.times(), row.ratio(peer)) {
            (Some(theirs), Some(ratio)) => {
                let way = peer.way.as_ref();
                format!(
                    "  {} {} {ratio:.3}{}{}",
                    peer.name,
                    time(theirs.median),
                    mark(row.ratio_met(peer)),
                    way.map_or_else(String::new, |way| format!(" ({way})"))
                )
            }
            _ => format!(
                "  {} {}",
                peer.name,
                peer.outcome.reason().unwrap_or_default()
            ),
        };
    }
    text
}

/// Returns a case of a sweep: the library's time, then that of each policy row.
pub fn sweep(row: &Row, ceilings: &[Ceiling]) -> String {
    let mut text = format!("{}\n", row.name());
    let ours = row.ours().and_then(|ours| ours.outcome.times());
    let ceiling = ceilings.iter().find(|it| it.bound == row.bound);
    for contender in &row.results {
        text += &match contender.outcome.times() {
            None => format!(
                "  {:<12} {}\n",
                contender
                    .outcome
                    .reason()
                    .unwrap_or_else(|| "right".to_owned()),
                contender.name
            ),
            Some(times) => {
                let share = ceiling.map_or_else(String::new, |it| {
                    let share = row.rate(times.median) / it.rate_for(row.bytes);
                    format!("{:.1} % {}", 100.0 * share, row.bound.name())
                });
                let ratio = ours.map_or(1.0, |ours| times.median / ours.median);
                format!(
                    "  {:>10} {share:>14} {ratio:>7.3} {:>5.1} %  {}\n",
                    time(times.median),
                    100.0 * times.spread(),
                    contender.name
                )
            }
        };
    }
    text
}

/// Returns the titles of operations on one element.
pub fn calls_head() -> String {
    format!(
        "  {:<20} {:<12} {:>10} {:>12} {:>7}",
        "on one element", "asked for", "time", "bare calls", "ratio"
    )
}

/// Returns an operation on one element in one line.
pub fn calls(calls: &Calls) -> String {
    let start = format!("  {:<20} {:<12}", calls.work, calls.form.name());
    match (calls.times(), calls.ratio()) {
        (Some([ours, bare]), Some(ratio)) => format!(
            "{start} {:>10} {:>12} {ratio:>7.3}{}",
            time(ours.median),
            time(bare.median),
            mark(calls.met())
        ),
        _ => format!("{start} {}", calls.ours.reason().unwrap_or_default()),
    }
}

/// Returns the titles of graphs.
pub fn graphs_head() -> String {
    format!(
        "  {:<33} {:>10} {:>12} {:>12} {:>14}",
        "graph of", "replayed", "one by one", "PyTorch's", "ours / theirs"
    )
}

/// Returns a graph in one line.
pub fn graph(graph: &Graph) -> String {
    let ratio = graph.ratio().map(|ratio| format!("{ratio:.3}"));
    format!(
        "  {:<33} {:>10} {:>12} {:>12} {:>14}{}",
        graph.work,
        outcome(&graph.ours),
        outcome(&graph.apart),
        outcome(&graph.pytorch),
        ratio.unwrap_or_default(),
        mark(graph.met())
    )
}

/// Returns the median, or the reason why there is none.
pub fn outcome(outcome: &Outcome) -> String {
    match outcome.times() {
        Some(times) => time(times.median),
        None => outcome.reason().unwrap_or_default(),
    }
}

/// Returns the titles of first operations.
pub fn cold_head() -> String {
    format!(
        "  {:<20} {:>10} {:>16} {:>16}",
        "first of a process", "context", "without cache", "from the cache"
    )
}

/// Returns the first operations of a family in one line.
pub fn cold(cold: &Cold) -> String {
    let shown = |start: &Start| outcome(&start.first) + mark(start.met());
    let context = cold.uncached.context.times();
    format!(
        "  {:<20} {:>10} {:>16} {:>16}",
        cold.family,
        context.map_or_else(String::new, |times| time(times.median)),
        shown(&cold.uncached),
        shown(&cold.cached)
    )
}

/// Returns the mark after a figure that missed its aim.
fn mark(met: Option<bool>) -> &'static str {
    if met == Some(false) { "!" } else { "" }
}

/// Returns the summary of a whole run.
pub fn foot(record: &Record) -> String {
    let (mut shares, mut ratios) = ((0, 0), (0, 0));
    let count = |met: Option<bool>, counts: &mut (usize, usize)| {
        if let Some(met) = met {
            counts.0 += usize::from(met);
            counts.1 += 1;
        }
    };
    for row in &record.rows {
        count(record.share_met(row), &mut shares);
        row.peers()
            .for_each(|peer| count(row.ratio_met(peer), &mut ratios));
    }
    let (mut calls, mut firsts, mut graphs) = ((0, 0), (0, 0), (0, 0));
    for row in &record.overhead.calls {
        count(row.met(), &mut calls);
    }
    for cold in &record.overhead.cold {
        count(cold.uncached.met(), &mut firsts);
        count(cold.cached.met(), &mut firsts);
    }
    for graph in &record.overhead.graphs {
        count(graph.met(), &mut graphs);
    }
    let overhead = if record.overhead.is_empty() {
        String::new()
    } else {
        format!(
            ", {} of {} operations on one element, {} of {} graphs, {} of {} first operations",
            calls.0, calls.1, graphs.0, graphs.1, firsts.0, firsts.1
        )
    };
    format!(
        "{} cases in {:.0} s; aims met: {} of {} shares of a ceiling, {} of {} ratios to a peer{overhead} (a figure that missed its aim has a `!`)",
        record.rows.len(),
        record.seconds,
        shares.0,
        shares.1,
        ratios.0,
        ratios.1
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noughts_before_the_point_stay() {
        for (value, expected) in [
            (1000.0, "1000"),
            (25_000.0, "25000"),
            (100.0, "100"),
            (0.5, "0.5"),
            (12.5, "12.5"),
            (0.0, "0"),
        ] {
            assert_eq!(short(value), expected);
        }
        assert_eq!(significant(100.0), "100.0");
    }
}
