//! The charts, drawn as SVG within the page.

use std::fmt::Write;

use super::escape;
use crate::distinct::distinct;
use crate::ladder::Ladder;
use crate::overhead::Calls;
use crate::record::{Bound, OURS, Record, Row};
use crate::table;

/// The width of a drawing. Charts scale with the page.
const WIDTH: f64 = 880.0;
/// The number of colors, ours first.
const COLOURS: usize = 4;

/// A drawing.
struct Svg {
    text: String,
    width: f64,
    height: f64,
}

impl Svg {
    fn new(width: f64, height: f64) -> Self {
        Self {
            text: String::new(),
            width,
            height,
        }
    }

    // Writing to a string cannot fail, here and below.
    fn line(&mut self, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], class: &str) {
        let _ = writeln!(
            self.text,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>"
        );
    }

    fn bar(&mut self, [x, y]: [f64; 2], [width, height]: [f64; 2], class: &str, title: &str) {
        let (width, title) = (width.max(0.5), escape(title));
        let _ = writeln!(
            self.text,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"2\" class=\"{class}\"><title>{title}</title></rect>"
        );
    }

    fn dot(&mut self, [x, y]: [f64; 2], class: &str, title: &str) {
        let _ = writeln!(
            self.text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\" class=\"{class}\"><title>{}</title></circle>",
            escape(title)
        );
    }

    fn path(&mut self, points: &[[f64; 2]], class: &str) {
        let points: Vec<String> = points
            .iter()
            .map(|[x, y]| format!("{x:.1},{y:.1}"))
            .collect();
        let _ = writeln!(
            self.text,
            "<polyline points=\"{}\" class=\"{class}\"/>",
            points.join(" ")
        );
    }

    /// Draws text whose `anchor` (`start`, `middle` or `end`) is at a point.
    fn label(&mut self, [x, y]: [f64; 2], anchor: &str, class: &str, text: &str) {
        let _ = writeln!(
            self.text,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{}</text>",
            escape(text)
        );
    }

    fn figure(self, caption: &str, legend: &str) -> String {
        let legend = if legend.is_empty() {
            String::new()
        } else {
            format!("<div class=\"legend\">{}</div>", escape(legend))
        };
        format!(
            "<figure><figcaption>{caption}</figcaption>{legend}\n<svg viewBox=\"0 0 {:.0} {:.0}\" role=\"img\" aria-label=\"{caption}\">\n{}</svg></figure>\n",
            self.width,
            self.height,
            self.text,
            caption = escape(caption)
        )
    }
}

/// A logarithmic axis.
struct Log {
    from: f64,
    to: f64,
    place: [f64; 2],
}

impl Log {
    /// Makes an axis from the smallest to the largest of positive values, with a margin.
    fn around(values: impl Iterator<Item = f64>, room: f64, place: [f64; 2]) -> Option<Self> {
        let right = values.filter(|value| value.is_finite() && *value > 0.0);
        let (from, to) = right.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        (to > 0.0).then_some(Self {
            from: from / room,
            to: to * room,
            place,
        })
    }

    fn at(&self, value: f64) -> f64 {
        let part = (value / self.from).ln() / (self.to / self.from).ln();
        self.place[0] + part * (self.place[1] - self.place[0])
    }

    /// Returns a few values with one significant digit that lie on the axis.
    fn marks(&self) -> Vec<f64> {
        let decades = (self.to / self.from).log10();
        let figures: &[f64] = if decades > 2.5 {
            &[1.0]
        } else if decades > 1.0 {
            &[1.0, 3.0]
        } else {
            &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0]
        };
        let exponents = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
        let all = exponents.flat_map(|exponent| {
            figures
                .iter()
                .map(move |figure| figure * 10_f64.powi(exponent))
        });
        all.filter(|value| (self.from..=self.to).contains(value))
            .collect()
    }
}

/// Draws a bar for each peer of each row: its time as a multiple of ours. Bars to the right of the line mean that ours is
/// faster.
pub fn ratios(rows: &[&Row]) -> String {
    let bars: Vec<_> = rows
        .iter()
        .flat_map(|row| {
            row.peers()
                .filter_map(|peer| Some((*row, peer, row.ratio(peer)?)))
        })
        .collect();
    let (left, right, step) = (330.0, WIDTH - 90.0, 17.0);
    // The line of equal times is always visible.
    let values = bars.iter().map(|(.., ratio)| *ratio).chain([0.9, 1.1]);
    let (Some(axis), false) = (Log::around(values, 1.02, [left, right]), bars.is_empty()) else {
        return "<p>No peer was timed in these cases.</p>\n".to_owned();
    };
    let bottom = step * bars.len() as f64 + 8.0;
    let mut svg = Svg::new(WIDTH, bottom + 18.0);
    for mark in axis.marks() {
        let x = axis.at(mark);
        svg.line([x, 0.0], [x, bottom], "grid");
        svg.label([x, bottom + 13.0], "middle", "faint", &mark.to_string());
    }
    let one = axis.at(1.0);
    for (index, (row, peer, ratio)) in bars.iter().enumerate() {
        let (y, x) = (step * index as f64 + 4.0, axis.at(*ratio));
        let title = format!("{} is {ratio:.3} times ours", peer.name);
        let met = row.ratio_met(peer) != Some(false);
        svg.label(
            [left - 8.0, y + 10.0],
            "end",
            "",
            &format!("{}, {}: {}", row.work, row.size, peer.name),
        );
        svg.bar(
            [x.min(one), y],
            [(x - one).abs(), step - 4.0],
            if met { "c0" } else { "low" },
            &title,
        );
        svg.label(
            [x.max(one) + 5.0, y + 10.0],
            "start",
            "faint",
            &format!("{ratio:.2}"),
        );
    }
    svg.line([one, 0.0], [one, bottom], "one");
    svg.figure(
        "The peer's time as a multiple of ours",
        "To the right of the line ours is faster; another colour: less than was wanted.",
    )
}

/// Draws operations on one element: the time of the driver calls, and the time that the library adds.
pub fn overhead(all: &[Calls]) -> String {
    let timed: Vec<_> = all
        .iter()
        .filter_map(|calls| Some((calls, calls.times()?)))
        .collect();
    let longest = timed
        .iter()
        .flat_map(|(_, [ours, bare])| [ours.median, bare.median])
        .fold(0.0, f64::max);
    if longest <= 0.0 {
        return "<p>No operation on one element was timed.</p>\n".to_owned();
    }
    let (left, right, step) = (230.0, WIDTH - 150.0, 17.0);
    let mut svg = Svg::new(WIDTH, step * timed.len() as f64 + 8.0);
    for (index, (calls, [ours, bare])) in timed.iter().enumerate() {
        let y = step * index as f64 + 4.0;
        let x = |seconds: f64| left + seconds / longest * (right - left);
        let (driver, end) = (x(bare.median.min(ours.median)), x(ours.median));
        let name = format!("{}, {}", calls.work, calls.form.name());
        svg.label([left - 8.0, y + 10.0], "end", "", &name);
        let title = format!("the driver calls: {}", table::time(bare.median));
        svg.bar([left, y], [driver - left, step - 4.0], "c1", &title);
        let title = format!("ours: {}", table::time(ours.median));
        let colour = if calls.met() == Some(false) {
            "low"
        } else {
            "c0"
        };
        svg.bar([driver, y], [end - driver, step - 4.0], colour, &title);
        let text = format!("{}, {}", table::time(ours.median), table::time(bare.median));
        svg.label([end + 5.0, y + 10.0], "start", "faint", &text);
    }
    svg.figure(
        "An operation on one element, waiting included",
        "What its driver calls take by themselves, and behind that what the library adds; another colour: more than was wanted.",
    )
}

/// Draws the rate over the size, with a chart for each work that has several sizes.
pub fn rates(record: &Record, rows: &[&Row]) -> String {
    let several = |row: &&&Row| {
        let mut rows = rows.iter();
        !row.size.contains(" x ")
            && rows.any(|other| other.work == row.work && other.elements != row.elements)
    };
    let works = distinct(rows.iter().filter(several).map(|row| row.work.as_str()));
    let charts: String = works.iter().map(|work| rate(record, work, rows)).collect();
    if charts.is_empty() {
        charts
    } else {
        format!("<h3>Rate over size</h3>\n<div class=\"charts\">\n{charts}</div>\n")
    }
}

fn rate(record: &Record, work: &str, rows: &[&Row]) -> String {
    let rows: Vec<&Row> = rows
        .iter()
        .copied()
        .filter(|row| row.work == work)
        .collect();
    let Some(bound) = rows.first().map(|row| row.bound) else {
        return String::new();
    };
    let peers = rows.iter().flat_map(|row| row.peers());
    let timed = peers.filter(|peer| peer.outcome.times().is_some());
    let names = distinct(std::iter::once(OURS).chain(timed.map(|peer| peer.name.as_str())));
    let points = |name: &str| -> Vec<(f64, f64)> {
        let found = rows.iter().filter_map(|row| {
            let times = row
                .results
                .iter()
                .find(|it| it.name == name)?
                .outcome
                .times()?;
            Some((row.elements as f64, row.rate(times.median)))
        });
        found.collect()
    };
    let all: Vec<(f64, f64)> = names.iter().flat_map(|name| points(name)).collect();
    let ceiling = record.ceiling(bound);
    let (width, height) = (360.0, 210.0);
    let x = Log::around(all.iter().map(|point| point.0), 1.4, [48.0, width - 8.0]);
    let y = Log::around(
        all.iter().map(|point| point.1).chain(ceiling),
        1.3,
        [height - 22.0, 6.0],
    );
    let (Some(x), Some(y)) = (x, y) else {
        return String::new();
    };
    let mut svg = Svg::new(width, height);
    for mark in y.marks() {
        svg.line([48.0, y.at(mark)], [width - 8.0, y.at(mark)], "grid");
        svg.label([44.0, y.at(mark) + 4.0], "end", "faint", &short(mark));
    }
    for row in &rows {
        svg.label(
            [x.at(row.elements as f64), height - 6.0],
            "middle",
            "faint",
            row.size.trim_start_matches("2^").trim_end_matches("^3"),
        );
    }
    if let Some(rate) = ceiling {
        svg.line([48.0, y.at(rate)], [width - 8.0, y.at(rate)], "roof");
    }
    for (index, name) in names.iter().enumerate().rev() {
        let colour = index % COLOURS;
        let places: Vec<[f64; 2]> = points(name)
            .iter()
            .map(|point| [x.at(point.0), y.at(point.1)])
            .collect();
        svg.path(&places, &format!("l{colour}"));
        for (place, point) in places.iter().zip(points(name)) {
            svg.dot(
                *place,
                &format!("c{colour}"),
                &format!("{name}: {}", table::rate(bound, point.1)),
            );
        }
    }
    for (index, name) in names.iter().enumerate() {
        let y = height - 34.0 - 14.0 * (names.len() - 1 - index) as f64;
        svg.label(
            [width - 12.0, y],
            "end",
            &format!("c{}", index % COLOURS),
            name,
        );
    }
    let unit = if bound.is_arithmetic() {
        "FLOP/s"
    } else {
        "bytes/s"
    };
    let axis = if rows.iter().all(|row| row.size.starts_with("2^")) {
        "log2 of the elements"
    } else {
        "side"
    };
    svg.figure(work, &format!("{unit} over {axis}; dashed: the ceiling"))
}

/// Returns a rate with a unit prefix in place of its zeros.
fn short(rate: f64) -> String {
    let (value, prefix) = [(1e12, "T"), (1e9, "G"), (1e6, "M")]
        .into_iter()
        .find(|(size, _)| rate >= *size * 0.999)
        .map_or((rate, ""), |(size, prefix)| (rate / size, prefix));
    let value = format!("{value:.1}");
    format!("{} {prefix}", value.trim_end_matches(".0"))
}

/// Draws the rungs of one family as bars.
pub fn ladder(ladder: &Ladder) -> String {
    let column = |title: &str| ladder.titles.iter().position(|it| it == title);
    let Some(unit) = ["GB/s", "TFLOP/s"]
        .into_iter()
        .find(|unit| column(unit).is_some())
    else {
        return String::new();
    };
    let rates: Vec<(&str, Option<f64>)> = ladder
        .rows
        .iter()
        .filter_map(|row| {
            Some((
                row.first()?.as_str(),
                row.get(column(unit)?).and_then(|cell| cell.parse().ok()),
            ))
        })
        .collect();
    let most = rates
        .iter()
        .filter_map(|(_, rate)| *rate)
        .fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    let (left, right, step) = (230.0, WIDTH - 90.0, 17.0);
    let mut svg = Svg::new(WIDTH, step * rates.len() as f64 + 4.0);
    for (index, (name, rate)) in rates.iter().enumerate() {
        let y = step * index as f64 + 2.0;
        svg.label([left - 8.0, y + 10.0], "end", "", name);
        match rate {
            Some(rate) => {
                let width = rate / most * (right - left);
                let text = format!("{} {unit}", table::short(*rate));
                svg.bar(
                    [left, y],
                    [width, step - 4.0],
                    if *name == "best" { "c0" } else { "c1" },
                    &text,
                );
                svg.label([left + width + 5.0, y + 10.0], "start", "faint", &text);
            }
            None => svg.label([left, y + 10.0], "start", "faint", "cannot do this problem"),
        }
    }
    svg.figure(&format!("{}: {}", ladder.family, ladder.problem), "")
}

/// Draws the rate of every case that has operations, below the limits of memory and arithmetic.
pub fn roofline(record: &Record) -> String {
    let points: Vec<(&Row, f64, f64)> = record
        .rows
        .iter()
        .filter(|row| row.operations > 0 && row.bytes > 0)
        .filter(|row| {
            !record.rows.iter().any(|other| {
                other.work == row.work
                    && other.family == row.family
                    && other.elements > row.elements
                    && !row.size.contains(" x ")
            })
        })
        .filter_map(|row| {
            let seconds = row.ours()?.outcome.times()?.median;
            Some((
                row,
                row.operations as f64 / row.bytes as f64,
                row.operations as f64 / seconds,
            ))
        })
        .collect();
    let (Some(read), Some(fma)) = (record.ceiling(Bound::Read), record.ceiling(Bound::FmaF32))
    else {
        return "<p>The ceilings of this card were not measured.</p>\n".to_owned();
    };
    let (width, height) = (WIDTH, 380.0);
    let x = Log::around(
        points.iter().map(|point| point.1).chain([fma / read]),
        2.5,
        [60.0, width - 20.0],
    );
    let y = Log::around(
        points.iter().map(|point| point.2).chain([fma]),
        2.0,
        [height - 30.0, 8.0],
    );
    let (Some(x), Some(y)) = (x, y) else {
        return String::new();
    };
    let mut svg = Svg::new(width, height);
    for mark in y.marks() {
        svg.line([60.0, y.at(mark)], [width - 20.0, y.at(mark)], "grid");
        svg.label([54.0, y.at(mark) + 4.0], "end", "faint", &short(mark));
    }
    for mark in x.marks() {
        svg.line([x.at(mark), 8.0], [x.at(mark), height - 30.0], "grid");
        svg.label(
            [x.at(mark), height - 14.0],
            "middle",
            "faint",
            &table::short(mark),
        );
    }
    for (bound, arithmetic) in [
        (Bound::FmaF32, fma),
        (Bound::FmaF64, record.ceiling(Bound::FmaF64).unwrap_or(fma)),
    ] {
        let (ridge, end) = (arithmetic / read, [x.at(x.to), y.at(arithmetic)]);
        let start = x.from.max(y.from / read);
        svg.path(
            &[
                [x.at(start), y.at(start * read)],
                [x.at(ridge), y.at(arithmetic)],
                end,
            ],
            "roof",
        );
        svg.label([end[0] - 4.0, end[1] - 5.0], "end", "faint", bound.name());
    }
    for (row, intensity, rate) in &points {
        let title = format!(
            "{} {}: {} at {intensity:.2} operations per byte",
            row.work,
            row.size,
            table::rate(Bound::FmaF32, *rate)
        );
        svg.dot(
            [x.at(*intensity), y.at(*rate)],
            if row.bound == Bound::FmaF64 {
                "c1"
            } else {
                "c0"
            },
            &title,
        );
    }
    svg.figure("FLOP/s over operations per byte", "Each dot is a case at its largest size: its name shows under the pointer. Dashed: what reading and multiply-adds allow.")
}
