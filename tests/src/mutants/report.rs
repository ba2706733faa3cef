//! The results of the corpus, as text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use cuda_std::cpu::mutate::{Mutation, Operation, Site};

use super::reasons;
use super::{DEFECTS_NAME, Mutant};

/// The minimum share, in per cent, of reported mutants among those that change a result.
pub const LEAST_RATE: usize = 95;

/// The results of the corpus.
#[derive(Debug)]
pub struct Report {
    /// The mutants.
    pub mutants: Vec<Mutant>,
    orders: u64,
}

/// The counts of mutants of a class.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    all: usize,
    in_every: usize,
    in_some: usize,
    changed: usize,
    changed_and_reported: usize,
    changed_and_in_every: usize,
}

impl Counts {
    fn add(&mut self, mutant: &Mutant, orders: u64) {
        let (reports, changed) = (mutant.reports(), mutant.changed.is_some());
        let every = reports as u64 == orders;
        self.all += 1;
        self.in_every += usize::from(every);
        self.in_some += usize::from(reports > 0 && !every);
        self.changed += usize::from(changed);
        self.changed_and_reported += usize::from(changed && reports > 0);
        self.changed_and_in_every += usize::from(changed && every);
    }

    fn row(&self, name: &str) -> String {
        let Self {
            all,
            in_every,
            in_some,
            changed,
            changed_and_reported,
            changed_and_in_every,
        } = self;
        let not = all - in_every - in_some;
        format!(
            "| {name} | {all} | {in_every} | {in_some} | {not} | {changed} | {changed_and_reported} | \
             {changed_and_in_every} |\n"
        )
    }
}

/// Returns the name of a mutant's class.
fn class(mutant: &Mutant) -> String {
    let operation = match mutant.mutation.site.operation {
        Operation::Barrier => "barrier",
        Operation::SyncWarp => "`sync_warp`",
        Operation::Warp(_) => "shuffle or vote",
        Operation::Fence { .. } => "fence",
        Operation::Atomic { .. } => "atomic operation",
        Operation::Wait => "wait for copies",
        Operation::Commit => "end of a group of copies",
    };
    let once = match mutant.mutation.time {
        Some(_) => ", once",
        None => "",
    };
    format!("{operation}: {}{once}", mutant.mutation.change)
}

/// Returns whether the mutant belongs to a kernel that ships.
fn is_of_gpu(mutant: &Mutant) -> bool {
    !mutant.workload.starts_with(DEFECTS_NAME)
}

/// Returns the text of a site's line.
fn line(site: &Site) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join(site.at.file())).unwrap_or_default();
    let line = text.lines().nth(site.at.line() as usize - 1);
    line.unwrap_or_default().trim().to_owned()
}

impl Report {
    /// Makes the report on these mutants.
    pub fn new(mutants: Vec<Mutant>, orders: u64) -> Self {
        Self { mutants, orders }
    }

    fn counts<'a>(&self, mutants: impl Iterator<Item = &'a Mutant>) -> Counts {
        let mut counts = Counts::default();
        mutants.for_each(|mutant| counts.add(mutant, self.orders));
        counts
    }

    /// Returns the share, in per cent, of mutants reported in some order among those that change a result. Without such mutants
    /// it is 100.
    pub fn rate(&self) -> f64 {
        let counts = self.counts(self.mutants.iter());
        match counts.changed {
            0 => 100.0,
            changed => 100.0 * counts.changed_and_reported as f64 / changed as f64,
        }
    }

    /// Returns the failures: too few mutants are reported, or a mutant that changes a result is neither reported nor has a
    /// reason.
    pub fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        if self.rate() < LEAST_RATE as f64 {
            wrong.push(format!(
                "{LEAST_RATE} % reported of those that change a result required, {:.1} % are",
                self.rate()
            ));
        }
        for mutant in self.mutants.iter().filter(|mutant| mutant.survives()) {
            let text = line(&mutant.mutation.site);
            if reasons::find(mutant, &text).is_none() {
                wrong.push(format!("not reported, without a reason: {}", told(mutant)));
            }
        }
        wrong
    }

    /// Returns the mutants of `gpu/` that are neither reported nor change a result, and have no reason.
    pub fn unexplained(&self) -> Vec<String> {
        let silent = self.mutants.iter().filter(|mutant| mutant.is_silent());
        silent
            .filter(|mutant| is_of_gpu(mutant))
            .filter(|mutant| reasons::find(mutant, &line(&mutant.mutation.site)).is_none())
            .map(told)
            .collect()
    }

    /// Returns the tables and lists, in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let of_gpu = |mutant: &&Mutant| is_of_gpu(mutant);
        let parts = [
            (
                "The kernels of `gpu/`",
                self.mutants.iter().filter(of_gpu).collect(),
            ),
            (
                "The unchanged kernels of `tests/defects`",
                self.mutants
                    .iter()
                    .filter(|mutant| !of_gpu(mutant))
                    .collect(),
            ),
        ];
        for (title, mutants) in parts {
            let mutants: Vec<&Mutant> = mutants;
            if !mutants.is_empty() {
                let _ = write!(text, "\n### {title}\n\n{}", self.table(&mutants));
            }
        }
        let survivors = self.mutants.iter().filter(|mutant| mutant.survives());
        text += &list(
            "Changed a result, and not reported",
            &survivors.collect::<Vec<_>>(),
        );
        let silent = self.mutants.iter().filter(of_gpu);
        let silent = silent.filter(|mutant| mutant.is_silent());
        text += &list(
            "Neither reported nor another result, in `gpu/`",
            &silent.collect::<Vec<_>>(),
        );
        text
    }

    fn table(&self, mutants: &[&Mutant]) -> String {
        let workloads: BTreeSet<&str> = mutants.iter().map(|m| m.workload.as_str()).collect();
        let sites: BTreeSet<Site> = mutants.iter().map(|m| m.mutation.site).collect();
        let all = self.counts(mutants.iter().copied());
        let mut text = format!(
            "{} mutants of {} operations in {} kernels or variants, in {} orders each. {} change a result in some \
             order: {:.1} % of these are reported, {:.1} % in every order. {} more are reported though no result \
             changed.\n\n",
            all.all,
            sites.len(),
            workloads.len(),
            self.orders,
            all.changed,
            percent(all.changed_and_reported, all.changed),
            percent(all.changed_and_in_every, all.changed),
            all.in_every + all.in_some - all.changed_and_reported,
        );
        text += "| what is changed | mutants | reported in every order | in some | in none | change a result | of \
                 these reported | in every order |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
        let mut classes: BTreeMap<String, Counts> = BTreeMap::new();
        for mutant in mutants {
            let counts = classes.entry(class(mutant)).or_default();
            counts.add(mutant, self.orders);
        }
        for (name, counts) in classes {
            text += &counts.row(&name);
        }
        text += &all.row("all");
        text
    }
}

fn percent(part: usize, of: usize) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}

/// Returns a mutant in one line.
pub fn told(mutant: &Mutant) -> String {
    let site = &mutant.mutation.site;
    let time = mutant
        .mutation
        .time
        .map_or_else(String::new, |time| format!(", time {}", time + 1));
    let changed = mutant.changed.as_ref();
    let changed = changed.map_or_else(String::new, |(order, case, what)| {
        format!("; in the order {order}, {case}: {what}")
    });
    format!(
        "{}: {}:{} {} {}{time}{changed}",
        mutant.workload,
        site.at.file(),
        site.at.line(),
        site.operation,
        mutant.mutation.change
    )
}

/// Returns mutants with their reasons, those of one site and change together.
fn list(title: &str, mutants: &[&Mutant]) -> String {
    let mut text = format!("\n### {title}: {}\n\n", mutants.len());
    if mutants.is_empty() {
        text += "None.\n";
    }
    // The times, by the change and by the kernel; `None` for every time.
    let mut together: BTreeMap<String, BTreeMap<&str, BTreeSet<Option<u32>>>> = BTreeMap::new();
    for mutant in mutants {
        let Mutation { site, change, time } = &mutant.mutation;
        let why = reasons::find(mutant, &line(site)).map_or("no reason is given", |why| why);
        let what = format!(
            "`{}:{}` {} {change}: {why}",
            site.at.file(),
            site.at.line(),
            site.operation,
        );
        let whose = together.entry(what).or_default();
        whose.entry(&mutant.workload).or_default().insert(*time);
    }
    for (what, whose) in together {
        let whose: Vec<String> = whose
            .iter()
            .map(|(name, times)| of_times(name, times))
            .collect();
        let _ = writeln!(text, "- {what} ({})", whose.join("; "));
    }
    text
}

/// Returns text such as `reduce best, the lane's times 2, 3`.
fn of_times(name: &str, times: &BTreeSet<Option<u32>>) -> String {
    let times: Vec<String> = times
        .iter()
        .flatten()
        .map(|time| (time + 1).to_string())
        .collect();
    match times.len() {
        0 => name.to_owned(),
        1 => format!("{name}, time {}", times[0]),
        _ => format!("{name}, times {}", times.join(", ")),
    }
}
