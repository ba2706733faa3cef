//! The demo's part for each family: one problem on the picture by every variant, and further ones by the best variant.

use std::path::Path;
use std::time::Duration;

use warpwright::ops::axis::{Axis, AxisOperator};
use warpwright::ops::map::{Function, Sin, Sqrt, Tanh};
use warpwright::ops::reduce::{Operator, Value};
use warpwright::ops::scan::Operator as ScanOperator;
use warpwright::{Boundary, Device, DeviceKind, Error, Generator, cuda_std::map::MapFn};
use warpwright_cli::output::Target;
use warpwright_cli::plot::HistogramPlot;
use warpwright_cli::timed;
use warpwright_workloads::axis::{AxisReduction, Data as AxisData};
use warpwright_workloads::convolution::Convolution;
use warpwright_workloads::gemm::{Data as Factors, Product};
use warpwright_workloads::histogram::Counts;
use warpwright_workloads::map::{Map, to_ulps, wave};
use warpwright_workloads::merge::{Merge, What};
use warpwright_workloads::random::{Distribution, Draw};
use warpwright_workloads::reduce::{Data, Reduction};
use warpwright_workloads::sample::Make;
use warpwright_workloads::scan::{Data as ScanData, Scan};
use warpwright_workloads::segments::Lengths;
use warpwright_workloads::select::{Kind, Selection};
use warpwright_workloads::sort::{Sort, Sorted, With};
use warpwright_workloads::top_k::TopK;
use warpwright_workloads::transpose::Transpose;
use warpwright_workloads::{Family, Problem, Sets, Unit, Verdict, equal, within};

use crate::table::{Outcome, Table};
use crate::{Picture, Result, picture};

/// The input of a part.
pub struct Ground<'a> {
    /// The device.
    pub device: &'a Device,
    /// The picture.
    pub image: &'a Picture,
    /// The folder for pictures.
    pub out: &'a Path,
}

/// Runs a family's part.
type Part = fn(&Ground<'_>) -> Result<Table>;

/// The parts that work on the picture.
const PARTS: &[(&str, Part)] = &[
    ("transpose", transpose),
    ("reduce", reduce),
    ("columns", |ground| axis(ground, Axis::Columns)),
    ("rows", |ground| axis(ground, Axis::Rows)),
    ("histogram", histogram),
    ("gemm", gemm),
    ("convolution", convolution),
    ("map", map),
    ("random", random),
    ("scan", scan),
    ("select", select),
    ("sort", sort),
    ("merge", merge),
    ("top_k", top_k),
    ("segments", segments),
];

/// Runs the part of a family. A family without a part on the picture has the first workload that `ladder` times, of as many
/// elements as the picture has pixels.
pub fn part(ground: &Ground<'_>, family: &Family) -> Result<Table> {
    match PARTS.iter().find(|(name, _)| *name == family.name) {
        Some((_, part)) => part(ground),
        None => timing(ground, family),
    }
}

fn timing(ground: &Ground<'_>, family: &Family) -> Result<Table> {
    let workloads = (family.timings)(ground.image.pixels.len());
    let workload = workloads.first().ok_or("a workload to time required")?;
    let input = workload.input(ground.device)?;
    let one = |variant: &'static str| {
        let mut ready = input.prepare(ground.device, Some(variant))?;
        let time = timed(ground.device, || ready.enqueue())?;
        Ok(outcome(time, ready.check()?))
    };
    let title = format!("{}: {}", family.name, workload.name());
    Ground::table(family.name, title, workload.bytes() as u64, one)
}

/// Returns the outcome of a timed variant.
fn outcome(time: Duration, verdict: Verdict) -> Outcome {
    match verdict {
        Ok(()) => Outcome::Timed(time),
        Err(text) => Outcome::Wrong(text),
    }
}

/// The seed of all random numbers.
const SEED: u64 = 2026;

/// The text of a result, or what is wrong with it.
type Shown = Result<String, String>;

impl Ground<'_> {
    /// Runs every variant on the only set of a problem, and returns the answer of the last one, `best`.
    fn variants<P: Problem>(
        &self,
        title: String,
        sets: &Sets<P>,
    ) -> Result<(Table, Option<P::Answer>)> {
        let (problem, mut last) = (sets.problem(), None);
        let (family, bytes) = (problem.family(), problem.bytes() as u64);
        let one = |variant: &'static str| self.one(sets, variant, &mut last);
        let table = Self::table(family, title, bytes, one)?;
        Ok((table, last))
    }

    /// Runs every variant of a family by `one`.
    fn table(
        family: &str,
        title: String,
        bytes: u64,
        mut one: impl FnMut(&'static str) -> warpwright::Result<Outcome>,
    ) -> Result<Table> {
        let family = warpwright::families().iter().find(|it| it.name == family);
        let mut rows = Vec::new();
        for variant in family.into_iter().flat_map(|family| family.variants) {
            let outcome = match one(variant.name) {
                Ok(outcome) => outcome,
                Err(Error::NotEligible { reason, .. }) => Outcome::Cannot(reason),
                Err(error) => return Err(error.into()),
            };
            rows.push((variant.name, outcome));
        }
        Ok(Table {
            title,
            bytes,
            rows,
            values: Vec::new(),
            picture: None,
        })
    }

    fn one<P: Problem>(
        &self,
        sets: &Sets<P>,
        variant: &str,
        last: &mut Option<P::Answer>,
    ) -> warpwright::Result<Outcome> {
        let mut prepared = sets.prepare(self.device, Some(variant))?;
        let time = timed(self.device, || prepared[0].enqueue())?;
        let answer = last.insert(prepared[0].answer()?);
        Ok(outcome(time, sets.check(0, answer)))
    }

    /// Returns the answer of the variant that the library chooses, and its text.
    fn best<P: Problem>(
        &self,
        sets: &Sets<P>,
        show: impl FnOnce(&P::Answer) -> String,
    ) -> Result<(P::Answer, Shown)> {
        let mut prepared = sets.prepare(self.device, None)?;
        prepared[0].enqueue()?;
        let answer = prepared[0].answer()?;
        let shown = sets.check(0, &answer).map(|()| show(&answer));
        Ok((answer, shown))
    }

    /// Returns only the text of the answer.
    fn value<P: Problem>(
        &self,
        sets: &Sets<P>,
        show: impl FnOnce(&P::Answer) -> String,
    ) -> Result<Shown> {
        Ok(self.best(sets, show)?.1)
    }

    /// Returns the size that a part may have on the device.
    fn most(&self, on_cpu: usize, on_card: usize) -> usize {
        match self.device.kind() {
            DeviceKind::Cpu => on_cpu,
            _ => on_card,
        }
    }

    fn sets<P: Problem>(&self, problem: P) -> Result<Sets<P>> {
        Ok(Sets::new(problem, self.device, 1)?)
    }

    fn save(&self, name: &str, pixels: Vec<u8>, width: usize, height: usize) -> Result<()> {
        picture::save(&self.out.join(name), pixels, width, height)
    }

    fn plot(&self, name: &str, plot: &HistogramPlot<'_>) -> Result<()> {
        let target = Target::plot(&self.out.join(name))?;
        Ok(target.stage_text(&plot.svg())?.commit()?)
    }
}

impl Table {
    /// Returns the same table with a picture that was written to this file.
    fn showing(self, picture: &'static str) -> Self {
        let picture = Some(picture);
        Self { picture, ..self }
    }
}

/// Transposes the picture.
fn transpose(ground: &Ground<'_>) -> Result<Table> {
    const FILE: &str = "transposed.png";
    let Picture { width, height, .. } = *ground.image;
    let problem = Transpose::new((height, width), "u8", |hash| hash as u8);
    let sets = ground.sets(problem.of(ground.image.make()))?;
    let (table, last) =
        ground.variants(format!("transpose of {} u8", ground.image.size()), &sets)?;
    ground.save(FILE, last.unwrap_or_default(), height, width)?;
    Ok(table.showing(FILE))
}

/// Computes the sum of the pixels by every variant, and other reductions.
fn reduce(ground: &Ground<'_>) -> Result<Table> {
    let len = ground.image.pixels.len();
    let problem =
        |operator| Reduction::<u8>::new(operator, len, Data::Exact).of(ground.image.make());
    let sets = ground.sets(problem(Operator::Sum))?;
    let title = format!("sum of {len} u8, and other reductions");
    let (mut table, _) = ground.variants(title, &sets)?;
    let show = |value: &Option<Value<u8>>| match value {
        None => "none".to_owned(),
        Some(Value::Sum(sum)) => sum.to_string(),
        Some(Value::Element(element)) => element.to_string(),
        Some(Value::Index(index)) => index.to_string(),
        Some(Value::Mean(mean)) => mean.to_string(),
        Some(other) => format!("{other:?}"),
    };
    for (name, operator) in [
        ("sum", Operator::Sum),
        ("least", Operator::Min),
        ("greatest", Operator::Max),
        ("first of the least", Operator::ArgMin),
        ("first of the greatest", Operator::ArgMax),
        ("mean", Operator::Mean),
    ] {
        let value = ground.value(&sets.with(problem(operator)), show)?;
        table.values.push((name, value));
    }
    Ok(table)
}

/// Computes the sum of each column or row of the pixels by every variant, and other reductions.
fn axis(ground: &Ground<'_>, axis: Axis) -> Result<Table> {
    let Picture { width, height, .. } = *ground.image;
    let problem = |operator| {
        let problem = AxisReduction::<u8>::new(axis, operator, (height, width), AxisData::Exact);
        problem.of(ground.image.make())
    };
    let sets = ground.sets(problem(AxisOperator::Sum))?;
    let (family, size) = (axis.family().name, ground.image.size());
    let title = format!("sum of each of the {family} of {size} u8");
    let (mut table, _) = ground.variants(title, &sets)?;
    let results = match axis {
        Axis::Columns => width,
        Axis::Rows => height,
    };
    for (name, operator) in [
        ("least", AxisOperator::Min),
        ("greatest", AxisOperator::Max),
        ("mean", AxisOperator::Mean),
    ] {
        let value = ground.value(&sets.with(problem(operator)), |_| {
            format!("{results} results")
        })?;
        table.values.push((name, value));
    }
    Ok(table)
}

/// Counts each gray value.
fn histogram(ground: &Ground<'_>) -> Result<Table> {
    const FILE: &str = "histogram.svg";
    let len = ground.image.pixels.len();
    let sets = ground.sets(Counts::numbers(len, 256, "u8", ground.image.make()))?;
    let title = format!("histogram of {len} u8 in 256 bins");
    let (mut table, _) = ground.variants(title, &sets)?;
    let (found, shown) = ground.best(&sets, |found| {
        let used = found.counts.iter().filter(|count| **count > 0).count();
        format!("{used} of 256 grey values occur")
    })?;
    let plot = HistogramPlot {
        title: "Grey values of the picture",
        counts: &found.counts,
        outside: found.outside,
        range: None,
    };
    ground.plot(FILE, &plot)?;
    table.values.push(("best, as drawn", shown));
    Ok(table.showing(FILE))
}

/// Smooths the picture's middle by a matrix product. The other matrix has 1, 2, 1 around its diagonal, so that each pixel
/// becomes four times a mean of its neighbors in the row. All values are exact in `f32`.
fn gemm(ground: &Ground<'_>) -> Result<Table> {
    const FILE: &str = "smoothed.png";
    // The CPU executor runs lane by lane, so its part is smaller.
    let most = ground.most(256, 4096);
    let (all, rows, pixels) = (
        ground.image.width,
        ground.image.height,
        ground.image.pixels.clone(),
    );
    let (width, height) = (all.min(most), rows.min(most));
    let (left, top) = ((all - width) / 2, (rows - height) / 2);
    let part = move |at, _, _| f32::from(pixels[(top + at / width) * all + left + at % width]);
    let weight = move |at: usize, _, _| match (at / width).abs_diff(at % width) {
        0 => 2.0,
        1 => 1.0,
        _ => 0.0,
    };
    let problem = Product::<f32>::new([height, width, width], Factors::Whole);
    let sets = ground.sets(problem.of([Make::by(part), Make::by(weight)]))?;
    let title = format!("product of {height} x {width} and {width} x {width} f32");
    let (table, last) = ground.variants(title, &sets)?;
    let smoothed = last.unwrap_or_default();
    let smoothed = smoothed.iter().map(|value| (value / 4.0) as u8).collect();
    ground.save(FILE, smoothed, width, height)?;
    Ok(table.showing(FILE))
}

/// Blurs the picture along its rows.
fn convolution(ground: &Ground<'_>) -> Result<Table> {
    const FILE: &str = "blurred.png";
    let Picture { width, height, .. } = *ground.image;
    // A bell of odd width, about a hundredth of the picture's, whose weights add up to 1.
    let half = (width / 200).clamp(1, 100) as i32;
    let bell = |x: i32| (-4.0 * f64::from(x * x) / f64::from(half * half)).exp();
    let total: f64 = (-half..=half).map(bell).sum();
    let mask: Vec<f32> = (-half..=half).map(|x| (bell(x) / total) as f32).collect();

    let (size, weights) = (ground.image.size(), mask.len());
    let problem = Convolution::rows((height, width), mask, Boundary::Clamp, ground.image.make());
    let title = format!("convolution of the rows of {size} u8 with a mask of {weights}");
    let (table, last) = ground.variants(title, &ground.sets(problem)?)?;
    ground.save(FILE, last.unwrap_or_default(), width, height)?;
    Ok(table.showing(FILE))
}

/// Computes the sine of every pixel by every variant, and other functions.
fn map(ground: &Ground<'_>) -> Result<Table> {
    let (len, pixels) = (ground.image.pixels.len(), ground.image.pixels.clone());
    let angles = Make::by(move |at, _, _| f32::from(pixels[at]));
    let sets = ground.sets(Map::sine(len).of(angles.clone()))?;
    let title = format!("sin of {len} pixels as f32, and other functions");
    let (mut table, _) = ground.variants(title, &sets)?;
    let wave_off = |at: usize, found: f32| (f64::from(found) - wave(at, len)).abs();
    table.values = vec![
        ("sin", ulps(ground, &sets, &angles, Sin, f64::sin)?),
        ("tanh", ulps(ground, &sets, &angles, Tanh, f64::tanh)?),
        ("sqrt", ulps(ground, &sets, &angles, Sqrt, f64::sqrt)?),
        (
            "wave",
            ground.value(&ground.sets(Map::wave(len))?, |found| {
                largest(found, "", wave_off)
            })?,
        ),
    ];
    Ok(table)
}

/// Computes the cumulative sums of the pixels by every variant.
fn scan(ground: &Ground<'_>) -> Result<Table> {
    let (len, pixels) = (ground.image.pixels.len(), ground.image.pixels.clone());
    let values = Make::by(move |at, _, _| u32::from(pixels[at]));
    let problem = Scan::<u32>::new(ScanOperator::Sum, len, ScanData::Exact);
    let sets = ground.sets(problem.of(values))?;
    let title = format!("cumulative sums of {len} pixels as u32");
    let (mut table, _) = ground.variants(title, &sets)?;
    let half = ground.value(&sets, |sums| {
        let whole = sums.last().copied().unwrap_or_default();
        let before = sums.partition_point(|sum| *sum < whole / 2);
        format!("{} % of the pixels", 100 * before / len.max(1))
    })?;
    table
        .values
        .push(("half of the light lies in the first", half));
    Ok(table)
}

/// Returns the largest error of a function against `f64` in units in the last place, which may be at most 1.
fn ulps<F: Function + Send + Sync + 'static>(
    ground: &Ground<'_>,
    sets: &Sets<Map>,
    make: &Make<f32>,
    function: F,
    exact: fn(f64) -> f64,
) -> Result<Shown>
where
    F::Map: MapFn<In = f32, Out = f32>,
{
    let angles = &sets.truth(0)[0];
    let right = move |x: f32, found| to_ulps(found, exact(x.into()), 1.0);
    let problem = Map::one(angles.len(), "", function, right).of(make.clone());
    ground.value(&sets.with(problem), |found| {
        largest(found, " ulp", |at, found| {
            Unit::Ulp
                .error(found, exact(angles[at].into()))
                .unwrap_or_default()
        })
    })
}

/// Returns the largest error of some results.
fn largest(found: &[f32], unit: &str, error: impl Fn(usize, f32) -> f64) -> String {
    let errors = found
        .iter()
        .enumerate()
        .map(|(at, found)| error(at, *found));
    format!("at most {:.2e}{unit} off", errors.fold(0.0, f64::max))
}

/// Makes as many random numbers as the picture has pixels by every variant, and checks means of the distributions.
fn random(ground: &Ground<'_>) -> Result<Table> {
    const FILE: &str = "normal.svg";
    let (device, len) = (ground.device, ground.image.pixels.len());
    let problem = Draw::<f32>::new(Generator::Philox, Distribution::Uniform, len).seed(SEED);
    let title = format!("{len} uniform f32 by Philox, and other distributions by XORWOW");
    let (mut table, _) = ground.variants(title, &ground.sets(problem)?)?;

    let mut random = device.generator(Generator::Xorwow, SEED)?;
    let normal = random.normal(len, 0.0_f32, 1.0)?;
    let log_normal = device.mean(&random.log_normal(len, 0.0_f64, 0.5)?)?;
    let poisson = device.mean(&random.poisson(len, 7.5)?)?;
    let spread = (0.25_f64.exp() * 0.25_f64.exp_m1()).sqrt();
    for (name, found, mean, deviation) in [
        ("mean of normal", device.mean(&normal)?, 0.0, 1.0),
        ("mean of log-normal", log_normal, 0.125_f64.exp(), spread),
        ("mean of Poisson", poisson, 7.5, 7.5_f64.sqrt()),
    ] {
        // The bound is five standard deviations.
        let bound = 5.0 * deviation / (len as f64).sqrt();
        let found = found.unwrap_or(f64::NAN);
        let shown = || format!("{found:.6}, expected {mean:.6} within {bound:.6}");
        let value = within(found, mean, bound).map(|()| shown());
        table.values.push((name, value));
    }
    let histogram = device.histogram_range(&normal, 256, -5.0, 5.0)?;
    let plot = HistogramPlot {
        title: "Normal random numbers",
        counts: &histogram.counts,
        outside: histogram.outside,
        range: Some((-5.0, 5.0)),
    };
    ground.plot(FILE, &plot)?;
    Ok(table.showing(FILE))
}

/// Selects the light pixels, then the first pixel of each run of equal ones, and partitions the pixels.
fn select(ground: &Ground<'_>) -> Result<Table> {
    const MIDDLE: u8 = 127;
    let len = ground.image.pixels.len();
    let problem = |kind| Selection::new(len, kind, "u8", ground.image.make());
    let sets = ground.sets(problem(Kind::Greater(MIDDLE)))?;
    let title = format!("the light ones of {len} u8");
    let (mut table, _) = ground.variants(title, &sets)?;
    for (name, kind) in [
        ("light pixels", Kind::Greater(MIDDLE)),
        ("light, then dark", Kind::Partition(MIDDLE)),
        ("first of each run", Kind::Unique),
    ] {
        let value = ground.value(&sets.with(problem(kind)), |found| {
            format!("{} of {len}", found.count)
        })?;
        table.values.push((name, value));
    }
    Ok(table)
}

/// Sorts the middle of the picture's pixels by every variant, and finds its darkest and its median pixel.
fn sort(ground: &Ground<'_>) -> Result<Table> {
    // The network of comparisons moves everything at each of its steps.
    let most = ground.most(1 << 12, 1 << 24);
    let pixels = ground.image.pixels.clone();
    let len = pixels.len().min(most);
    let first = (pixels.len() - len) / 2;
    let make = Make::by(move |at: usize, _, _| pixels[first + at]);
    let problem = |with| Sort::<u8>::new(len, with).of("pixels as", make.clone());
    let sets = ground.sets(problem(With::Nothing))?;
    let title = format!("sort of {len} u8, and positions");
    let (mut table, last) = ground.variants(title, &sets)?;
    let sorted = last.unwrap_or_default().keys;
    let median = sorted.get(len / 2).copied().unwrap_or_default();
    table.values.push(("median", Ok(median.to_string())));
    let darkest = ground.value(&ground.sets(problem(With::Positions))?, |found| {
        let at = found.values.first().copied().unwrap_or_default();
        format!("pixel {}", first as u64 + at)
    })?;
    table.values.push(("first of the darkest", darkest));
    Ok(table)
}

/// Merges the sorted pixels of the picture's two halves by every variant, and counts the light ones by a search in all.
fn merge(ground: &Ground<'_>) -> Result<Table> {
    const MIDDLE: u8 = 127;
    let pixels = &ground.image.pixels;
    let len = pixels.len();
    let (upper, lower) = pixels.split_at(len / 2);
    let halves = [Make::given(upper), Make::given(lower)];
    let problem = Merge::<u8>::new(len, What::Merge).of("pixels as", halves);
    let sets = ground.sets(problem)?;
    let title = format!("merge of two sorted halves of {len} u8");
    let (mut table, _) = ground.variants(title, &sets)?;
    let median = ground.value(&sets, |found| {
        let median = found.keys.get(len / 2).copied();
        median.unwrap_or_default().to_string()
    })?;
    let search = [ground.image.make(), Make::given([MIDDLE])];
    let search = Merge::new(0, What::Upper).of("pixels as", search);
    let light = ground.value(&ground.sets(search.lengths([len, 1]))?, |found| {
        let others = found.values.first().copied().unwrap_or_default();
        format!("{} of {len}", len as u64 - others)
    })?;
    table.values = vec![("median", median), ("light pixels", light)];
    Ok(table)
}

/// Finds the brightest pixels by every variant, the darkest pixels, and the brightest pixel of each row.
fn top_k(ground: &Ground<'_>) -> Result<Table> {
    let (width, pixels) = (ground.image.width, ground.image.pixels.clone());
    // One of the variants sorts everything, so the CPU executor's part is the upper rows.
    let most = ground.most((1 << 18) / width.max(1), usize::MAX);
    let height = most.max(1).min(ground.image.height);
    let len = height * width;
    let make = Make::by(move |at: usize, _, _| pixels[at]);
    let problem = TopK::<u8>::new(len, len.min(10)).of("pixels as", make.clone());
    let sets = ground.sets(problem.clone())?;
    let title = format!("the ten brightest of {len} u8, and others");
    let (mut table, _) = ground.variants(title, &sets)?;
    let show = |found: &Sorted<u8>| {
        let all = found.keys.iter().zip(&found.values);
        let all = all.map(|(value, at)| format!("{value} at {at}"));
        all.collect::<Vec<_>>().join(", ")
    };
    let darkest = sets.with(problem.smallest());
    let rows = TopK::rows((height, width), width.min(1)).of("pixels as", make);
    table.values = vec![
        ("ten brightest", ground.value(&sets, show)?),
        ("ten darkest", ground.value(&darkest, show)?),
        (
            "brightest of each row",
            ground.value(&sets.with(rows), |found| {
                format!("{} results", found.keys.len())
            })?,
        ),
    ];
    Ok(table)
}

/// Finds the runs of equal pixels and their lengths by every variant. The lengths add up to the number of pixels.
fn segments(ground: &Ground<'_>) -> Result<Table> {
    let len = ground.image.pixels.len();
    let problem = Lengths::<u8>::new(len).of("pixels as", ground.image.make());
    let sets = ground.sets(problem)?;
    let title = format!("run lengths of {len} u8");
    let (mut table, _) = ground.variants(title, &sets)?;
    let (found, shown) = ground.best(&sets, |found| found.keys.len().to_string())?;
    let total = found.values.iter().sum::<u64>();
    let longest = found.values.iter().zip(&found.keys).max();
    let longest = longest.map_or_else(
        || "none".to_owned(),
        |(length, pixel)| format!("{length} of {pixel}"),
    );
    table.values = vec![
        ("runs", shown.clone()),
        ("longest", shown.map(|_| longest)),
        (
            "all lengths together",
            equal(&[total], &[len as u64]).map(|()| format!("{total} pixels")),
        ),
    ];
    Ok(table)
}
