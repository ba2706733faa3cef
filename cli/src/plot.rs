//! Draws a histogram as one SVG file without scripts, external references or fonts.

use std::fmt::Write;

/// The width of the picture in SVG units.
const WIDTH: f64 = 960.0;
/// The height of the picture.
const HEIGHT: f64 = 480.0;
/// The edges of the plotting area.
const LEFT: f64 = 96.0;
const RIGHT: f64 = WIDTH - 28.0;
const TOP: f64 = 76.0;
const BOTTOM: f64 = HEIGHT - 62.0;

/// Up to this many bins are drawn as bars; more become the outline of an area.
const MOST_BARS: usize = 512;
/// More steps than this cannot be told apart even on a large screen.
const MOST_STEPS: usize = 4096;

const INK: &str = "#1f2933";
const QUIET: &str = "#616e7c";
const GRID: &str = "#e4e7eb";
const FILL: &str = "#3b7ea1";

/// A histogram to plot.
#[derive(Debug, Clone, Copy)]
pub struct HistogramPlot<'a> {
    /// The name of the data, such as a file's name, for the title.
    pub title: &'a str,
    /// One count per bin.
    pub counts: &'a [u64],
    /// The number of values that belong to no bin.
    pub outside: u64,
    /// The ends of the binned range; `None` if the values are bin numbers.
    pub range: Option<(f64, f64)>,
}

impl HistogramPlot<'_> {
    /// Draws the histogram and returns the text of an SVG file.
    ///
    /// Up to 512 bins are drawn as bars, more as an area. Above 4096 bins neighbors share a step, which
    /// shows the largest count among them, so that no peak is lost; the subtitle says so.
    pub fn svg(&self) -> String {
        let bins = self.counts.len();
        let group = bins.div_ceil(MOST_STEPS).max(1);
        let steps: Vec<u64> = self
            .counts
            .chunks(group)
            .map(|part| part.iter().copied().max().unwrap_or(0))
            .collect();
        let most = steps.iter().copied().max().unwrap_or(0);
        let count_ticks = ticks(0.0, most.max(1) as f64, 6);
        // The axis ends at the first tick above the highest bar.
        let top = count_ticks.ceiling;
        let (low, high) = self.range.unwrap_or((0.0, bins.max(1) as f64));
        let axes = Axes { low, high, top };

        let mut svg = Svg::new();
        svg.text(LEFT, 34.0, "start", 20.0, INK, 600, self.title);
        svg.text(LEFT, 57.0, "start", 13.0, QUIET, 400, &self.subtitle(group));
        for tick in &count_ticks.values {
            let y = axes.y(*tick);
            svg.line(LEFT, y, RIGHT, y, GRID);
            svg.text(
                LEFT - 10.0,
                y + 4.0,
                "end",
                12.0,
                QUIET,
                400,
                &count_label(*tick),
            );
        }
        if bins <= MOST_BARS {
            bars(&mut svg, &axes, &steps);
        } else {
            area(&mut svg, &axes, &steps, group, bins);
        }
        svg.line(LEFT, BOTTOM, RIGHT, BOTTOM, INK);
        for (position, label) in self.labels() {
            let x = axes.x(position);
            svg.line(x, BOTTOM, x, BOTTOM + 5.0, INK);
            svg.text(x, BOTTOM + 20.0, "middle", 12.0, QUIET, 400, &label);
        }
        let middle = (LEFT + RIGHT) / 2.0;
        let name = if self.range.is_some() { "value" } else { "bin" };
        svg.text(middle, HEIGHT - 18.0, "middle", 13.0, INK, 400, name);
        svg.upright_text(24.0, (TOP + BOTTOM) / 2.0, "values per bin");
        svg.finish()
    }

    /// Returns `1,000 values in 256 bins, 3 left out`.
    fn subtitle(&self, group: usize) -> String {
        let counted: u128 = self.counts.iter().map(|&count| u128::from(count)).sum();
        let mut text = format!(
            "{} values in {} bins",
            grouped(counted),
            grouped(self.counts.len() as u128)
        );
        if let Some((low, high)) = self.range {
            let _ = write!(text, " over {} to {}", number(low), number(high));
        }
        match self.outside {
            0 => text.push_str(", none left out"),
            outside => {
                let _ = write!(text, ", {} left out", grouped(u128::from(outside)));
            }
        }
        if group > 1 {
            let _ = write!(
                text,
                "; each step shows the largest of {group} neighbouring bins"
            );
        }
        text
    }

    /// Returns positions on the horizontal axis, in its own units, and their labels.
    fn labels(&self) -> Vec<(f64, String)> {
        match self.range {
            Some((low, high)) => {
                let ticks = ticks(low, high, 9);
                let inside = ticks
                    .values
                    .into_iter()
                    .filter(|tick| (low..=high).contains(tick));
                inside.map(|tick| (tick, number(tick))).collect()
            }
            // Bin numbers label the middle of their bin.
            None => {
                let last = self.counts.len().saturating_sub(1) as f64;
                let ticks = ticks(0.0, last.max(1.0), 9).values;
                let whole = ticks
                    .into_iter()
                    .filter(|tick| *tick <= last && tick.fract() == 0.0);
                whole
                    .map(|tick| (tick + 0.5, grouped(tick as u128)))
                    .collect()
            }
        }
    }
}

/// The mapping from values to positions in the picture.
struct Axes {
    low: f64,
    high: f64,
    top: f64,
}

impl Axes {
    fn x(&self, value: f64) -> f64 {
        // The width of a range from -f64::MAX to f64::MAX is not finite; half of it is.
        let scale = if (self.high - self.low).is_finite() {
            1.0
        } else {
            0.5
        };
        let share = (value * scale - self.low * scale) / (self.high * scale - self.low * scale);
        LEFT + share * (RIGHT - LEFT)
    }

    /// Returns the position of the left edge of a bin.
    fn edge(bin: usize, bins: usize) -> f64 {
        LEFT + bin as f64 / bins as f64 * (RIGHT - LEFT)
    }

    fn y(&self, count: f64) -> f64 {
        BOTTOM - count / self.top * (BOTTOM - TOP)
    }
}

fn bars(svg: &mut Svg, axes: &Axes, counts: &[u64]) {
    let pitch = (RIGHT - LEFT) / counts.len().max(1) as f64;
    // A gap helps the eye until bars are only a few units wide.
    let gap = if pitch >= 6.0 { 1.0 } else { 0.0 };
    let mut path = String::new();
    for (bin, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (left, right) = (
            Axes::edge(bin, counts.len()),
            Axes::edge(bin + 1, counts.len()) - gap,
        );
        // A bin with few values stays visible beside one with very many.
        let y = axes.y(count as f64).min(BOTTOM - 0.5);
        let _ = write!(
            path,
            "M{left:.2} {BOTTOM:.1}V{y:.2}H{right:.2}V{BOTTOM:.1}Z"
        );
    }
    svg.path(&path);
}

fn area(svg: &mut Svg, axes: &Axes, steps: &[u64], group: usize, bins: usize) {
    let mut path = format!("M{LEFT:.2} {BOTTOM:.1}");
    for (step, &count) in steps.iter().enumerate() {
        let right = Axes::edge(((step + 1) * group).min(bins), bins);
        let y = if count == 0 {
            BOTTOM
        } else {
            axes.y(count as f64).min(BOTTOM - 0.5)
        };
        let _ = write!(path, "V{y:.2}H{right:.2}");
    }
    let _ = write!(path, "V{BOTTOM:.1}Z");
    svg.path(&path);
}

/// Round numbers at equal distances over a range.
struct Ticks {
    values: Vec<f64>,
    /// The first round number that is at least the end of the range.
    ceiling: f64,
}

/// Returns at most about `count` round numbers (1, 2 or 5 times a power of ten apart) from `low` to `high`.
fn ticks(low: f64, high: f64, count: usize) -> Ticks {
    let rough = high / count as f64 - low / count as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    let (first, last) = ((low / step).floor(), (high / step).ceil());
    // Ranges narrower than the spacing of floats around them have no round numbers inside.
    if !(step > 0.0 && first.is_finite() && last - first <= 4.0 * count as f64) {
        return Ticks {
            values: vec![low, high],
            ceiling: high,
        };
    }
    let values = (0..=(last - first) as usize)
        .map(|i| (first + i as f64) * step)
        .collect();
    Ticks {
        values,
        ceiling: last * step,
    }
}

/// Returns the label of a count on the vertical axis: `1,500`, `2.5 M`.
fn count_label(count: f64) -> String {
    for (unit, name) in [(1e12, "T"), (1e9, "G"), (1e6, "M")] {
        if (unit..1e15).contains(&count) {
            return format!("{} {name}", number(count / unit));
        }
    }
    if count.fract() == 0.0 && count < 1e6 {
        grouped(count as u128)
    } else {
        number(count)
    }
}

/// Returns a number with at most 6 significant digits, in exponential form if it is long.
fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    if (1e-4..1e7).contains(&rounded.abs()) {
        format!("{rounded}")
    } else {
        format!("{rounded:e}")
    }
}

/// Returns the digits in groups of three: `1,048,576`.
fn grouped(value: u128) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The text of an SVG file under construction.
struct Svg(String);

impl Svg {
    fn new() -> Self {
        Svg(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', \
             sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        ))
    }

    fn line(&mut self, x1: f64, y1: f64, x2: f64, y2: f64, color: &str) {
        let _ = writeln!(
            self.0,
            "<path d=\"M{x1:.2} {y1:.2}L{x2:.2} {y2:.2}\" stroke=\"{color}\" fill=\"none\"/>"
        );
    }

    fn path(&mut self, path: &str) {
        let _ = writeln!(self.0, "<path d=\"{path}\" fill=\"{FILL}\"/>");
    }

    #[allow(clippy::too_many_arguments)]
    fn text(
        &mut self,
        x: f64,
        y: f64,
        anchor: &str,
        size: f64,
        color: &str,
        weight: u32,
        text: &str,
    ) {
        let text = escaped(text);
        let _ = writeln!(
            self.0,
            "<text x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"{anchor}\" font-size=\"{size}\" \
             font-weight=\"{weight}\" fill=\"{color}\">{text}</text>"
        );
    }

    fn upright_text(&mut self, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        let _ = writeln!(
            self.0,
            "<text x=\"{x:.2}\" y=\"{y:.2}\" transform=\"rotate(-90 {x:.2} {y:.2})\" text-anchor=\"middle\" \
             font-size=\"13\" fill=\"{INK}\">{text}</text>"
        );
    }

    fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }
}

/// Returns a text with XML's reserved characters escaped and its forbidden characters replaced.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(counts: &[u64], outside: u64, range: Option<(f64, f64)>) -> String {
        HistogramPlot {
            title: "a < b & c",
            counts,
            outside,
            range,
        }
        .svg()
    }

    /// Asserts that every number in the picture is finite and every element is closed.
    #[track_caller]
    fn assert_sound(svg: &str) {
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
        assert!(svg.contains("a &lt; b &amp; c"));
    }

    #[test]
    fn few_bins_become_bars_and_empty_ones_none() {
        let svg = plot(&[3, 0, 5, 1], 2, None);
        assert_sound(&svg);
        assert_eq!(svg.matches("Z").count(), 3);
        assert!(svg.contains("9 values in 4 bins, 2 left out"));
    }

    #[test]
    fn many_bins_become_an_area_that_keeps_the_peak() {
        let mut counts = vec![1u64; 65_536];
        counts[40_000] = 1_000_000;
        let svg = plot(&counts, 0, None);
        assert_sound(&svg);
        assert!(svg.contains("largest of 16 neighbouring bins"));
        assert!(
            svg.contains(&format!("V{TOP:.2}H")),
            "the peak does not reach the top"
        );
        assert!(svg.len() < 200_000);
    }

    #[test]
    fn odd_ranges_and_counts_are_drawn() {
        for range in [
            (0.0, 1.0),
            (-1.5, 1e-3),
            (f64::MIN, f64::MAX),
            (1.0, 1.0 + f64::EPSILON),
            (0.0, f64::MIN_POSITIVE * f64::EPSILON),
            (1e300, 2e300),
            (-1e-300, 1e-300),
        ] {
            assert_sound(&plot(&[1, 2, u64::MAX], u64::MAX, Some(range)));
        }
        for counts in [&[][..], &[0], &[0, 0, 0], &[u64::MAX; 600]] {
            assert_sound(&plot(counts, 0, None));
        }
    }

    #[test]
    fn ticks_are_round_and_enclose_the_range() {
        let found = ticks(0.0, 97.0, 6);
        assert_eq!(found.values, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(found.ceiling, 100.0);
        assert_eq!(ticks(0.0, 1.0, 6).ceiling, 1.0);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(grouped(1_048_576), "1,048,576");
        assert_eq!(grouped(999), "999");
        assert_eq!(count_label(1500.0), "1,500");
        assert_eq!(count_label(2_500_000.0), "2.5 M");
        assert_eq!(count_label(5e18), "5e18");
        assert_eq!(number(0.1 + 0.2), "0.3");
        assert_eq!(number(-1e-9), "-1e-9");
        assert_eq!(number(1e22), "1e22");
    }
}
