//! The words that all views of a record share.

use crate::overhead::{Calls, Graph, Start};
use crate::record::{Bound, Card, Ceiling, Outcome, Peer, Record};

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

/// Returns the median, or the reason why there is none.
pub fn outcome(outcome: &Outcome) -> String {
    match outcome.times() {
        Some(times) => time(times.median),
        None => outcome.reason().unwrap_or_default(),
    }
}

/// Returns the summary of a whole run.
pub fn foot(record: &Record) -> String {
    let met = |all: &mut dyn Iterator<Item = Option<bool>>| {
        let all: Vec<bool> = all.flatten().collect();
        let met = all.iter().filter(|met| **met).count();
        format!("{met} of {}", all.len())
    };
    let Record { rows, overhead, .. } = record;
    let mut text = format!(
        "{} cases in {:.0} s; aims met: {} shares of a ceiling, {} ratios to a peer",
        rows.len(),
        record.seconds,
        met(&mut rows.iter().map(|row| record.share_met(row))),
        met(&mut rows
            .iter()
            .flat_map(|row| row.peers().map(move |peer| row.ratio_met(peer))))
    );
    if !overhead.is_empty() {
        let starts = overhead
            .cold
            .iter()
            .flat_map(|it| [&it.uncached, &it.cached]);
        text += &format!(
            ", {} operations on one element, {} graphs, {} first operations",
            met(&mut overhead.calls.iter().map(Calls::met)),
            met(&mut overhead.graphs.iter().map(Graph::met)),
            met(&mut starts.map(Start::met))
        );
    }
    text + " (a figure that missed its aim has a `!`)"
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
