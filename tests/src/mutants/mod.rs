//! A generated corpus of defects: every synchronizing operation that a kernel executes is dropped or weakened in turn, and the
//! sanitizer's report is recorded.
//!
//! First every workload runs once, and each site that its launches reach is recorded. Each change of each site is a mutant of
//! that workload. The mutant runs over a few of the cases that reach the site, in several orders of blocks and lanes, with
//! every check and without. The result is whether it is reported, and whether it changes a result.

mod reasons;
mod report;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cuda_std::cpu::mutate::{self, Mutation, Recorded};
use cuda_std::cpu::{Checks, Order};

pub use reasons::{REASONS, Reason};
pub use report::{LEAST_RATE, Report};
pub use workloads::{Case, DEFECTS_NAME, Outcome, Source, Workload};

/// The number of orders of blocks and lanes in which every mutant runs.
pub const ORDERS: u64 = 6;

/// The maximum number of cases of a mutant.
const CASES: usize = 8;

/// The maximum number of lanes and operations of a case, if there is a smaller one.
const MOST_STEPS: u64 = 400_000;

/// The maximum number of cases of a workload that are tried to find their sites.
const TRIED: usize = 96;

/// The time limit of one mutant. Its operations are limited, so this is for loops without any.
const PATIENCE: Duration = Duration::from_secs(300);

/// The selection of mutants to run.
pub struct Plan {
    /// The families, or `defects`; empty for all.
    pub names: Vec<String>,
    /// The number of orders of blocks and lanes.
    pub orders: u64,
}

/// A mutant and its results.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// The family and the variant, or the kernel.
    pub workload: String,
    /// The change.
    pub mutation: Mutation,
    /// The cases that it ran over.
    pub cases: Vec<usize>,
    /// For each order, the check that reports it, and the report.
    pub reported: Vec<Option<(String, String)>>,
    /// Without checks, the first order that changes a result, the case, and the change.
    pub changed: Option<(Order, String, String)>,
}

impl Mutant {
    /// Returns the number of orders in which it is reported.
    pub fn reports(&self) -> usize {
        self.reported.iter().flatten().count()
    }

    /// Returns whether it changes a result and no order reports it.
    pub fn survives(&self) -> bool {
        self.changed.is_some() && self.reports() == 0
    }

    /// Returns whether it neither changes a result nor is reported.
    pub fn is_silent(&self) -> bool {
        self.changed.is_none() && self.reports() == 0
    }
}

/// Generates the corpus and runs it. It prints the progress on standard error.
///
/// # Errors
/// Returns what is wrong with the plan, or with an unchanged workload.
pub fn run(plan: &Plan) -> Result<Report, String> {
    // Each thread makes its own source: the cases share nothing.
    let source = Source::new(&plan.names)?;
    let start = Instant::now();
    let recorded = record_all(&plan.names, &source)?;
    let mutants = generate(&source, &recorded);
    eprintln!(
        "mutants: {} of {} workloads, recorded in {:.0?}",
        mutants.len(),
        recorded.len(),
        start.elapsed()
    );
    let done = in_parallel(&plan.names, mutants.len(), |workloads, index| {
        let (workload, mutant) = &mutants[index];
        let mut mutant = mutant.clone();
        judge(
            &workloads[*workload],
            &recorded[*workload],
            plan.orders,
            &mut mutant,
        );
        Ok(mutant)
    })?;
    eprintln!("mutants: done in {:.0?}", start.elapsed());
    Ok(Report::new(done, plan.orders))
}

/// Runs a job for every index on as many threads as there are processors, each with its own workloads. Returns the results in
/// order. It fails with the first error, or if a job takes too long.
fn in_parallel<R: Send>(
    names: &[String],
    jobs: usize,
    job: impl Fn(&[Workload<'_>], usize) -> Result<R, String> + Sync,
) -> Result<Vec<R>, String> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (next, finished) = (AtomicUsize::new(0), AtomicBool::new(false));
    let results: Mutex<BTreeMap<usize, Result<R, String>>> = Mutex::default();
    let since = Mutex::new(vec![None; threads]);
    let lock = |thread: usize, value| {
        let mut since = since.lock().expect("no thread panics with it");
        since[thread] = value;
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let (next, results, job, lock) = (&next, &results, &job, &lock);
                scope.spawn(move || {
                    let source = Source::new(names).expect("it was made before");
                    let workloads = source.workloads();
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= jobs {
                            break;
                        }
                        lock(thread, Some((index, Instant::now())));
                        let result = job(&workloads, index);
                        lock(thread, None);
                        let mut results = results.lock().expect("no thread panics with it");
                        results.insert(index, result);
                        let count = results.len();
                        if count.is_multiple_of(500) {
                            eprintln!("mutants: {count} of {jobs}");
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !finished.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(50));
                let since = since.lock().expect("no thread panics with it");
                let late = since
                    .iter()
                    .flatten()
                    .find(|(_, start)| start.elapsed() > PATIENCE);
                if let Some((index, _)) = late {
                    // The thread cannot be stopped.
                    eprintln!("mutants: job {index} takes more than {PATIENCE:?}");
                    std::process::exit(1);
                }
            }
        });
        for worker in workers {
            let _ = worker.join();
        }
        finished.store(true, Ordering::Relaxed);
    });
    let results = results.into_inner().expect("no thread panics with it");
    if results.len() < jobs {
        return Err("a thread of the corpus panicked".to_owned());
    }
    results.into_values().collect()
}

/// Records the sites of the cases of every workload; `None` for a case that was not tried or is not supported.
fn record_all(names: &[String], source: &Source) -> Result<Vec<Vec<Option<Recorded>>>, String> {
    let count = source.workloads().len();
    in_parallel(names, count, |workloads, index| {
        let workload = &workloads[index];
        let tried = sample(workload.cases.len());
        let record_one = |(index, case): (usize, &Case<'_>)| {
            if !tried.contains(&index) {
                return Ok(None);
            }
            match mutate::record(|| case.run(Order::Forward, Checks::NONE)) {
                (Outcome::Right, recorded) => Ok(Some(recorded)),
                (Outcome::Cannot, _) => Ok(None),
                (outcome, _) => Err(format!(
                    "{}: {} without a mutation: {outcome:?}",
                    workload.name, case.name
                )),
            }
        };
        workload.cases.iter().enumerate().map(record_one).collect()
    })
}

/// Returns indices below `len`, spread without a period, so that they include all kinds of cases.
fn sample(len: usize) -> BTreeSet<usize> {
    /// The fraction of the golden ratio: its multiples are never close together.
    const STEP: f64 = 0.618_033_988_749_895;
    let mut chosen = BTreeSet::new();
    for i in 0..16 * TRIED {
        if chosen.len() < TRIED.min(len) {
            chosen.insert(((i as f64 * STEP).fract() * len as f64) as usize);
        }
    }
    chosen
}

/// Returns every change of every site of each workload.
fn generate(source: &Source, recorded: &[Vec<Option<Recorded>>]) -> Vec<(usize, Mutant)> {
    let mut all = Vec::new();
    for (index, workload) in source.workloads().iter().enumerate() {
        let mut sites = BTreeMap::new();
        for case in recorded[index].iter().flatten() {
            for (site, times) in &case.sites {
                let most = sites.entry(*site).or_insert(0_u32);
                *most = (*most).max(*times);
            }
        }
        for (site, times) in sites {
            for mutation in Mutation::all(site, times) {
                let mutant = Mutant {
                    workload: workload.name.clone(),
                    mutation,
                    cases: choose(&mutation, &recorded[index]),
                    reported: Vec::new(),
                    changed: None,
                };
                all.push((index, mutant));
            }
        }
    }
    all
}

/// Returns a few of the cases that reach the mutation, from the smallest to larger ones.
fn choose(mutation: &Mutation, recorded: &[Option<Recorded>]) -> Vec<usize> {
    let mut cases: Vec<(u64, usize)> = recorded
        .iter()
        .enumerate()
        .filter_map(|(index, recorded)| {
            let recorded = recorded.as_ref()?;
            let times = recorded.sites.get(&mutation.site)?;
            let comes = mutation.time.is_none_or(|time| time < *times);
            comes.then_some((recorded.steps, index))
        })
        .collect();
    cases.sort_unstable();
    let small = cases.partition_point(|(steps, _)| *steps <= MOST_STEPS);
    cases.truncate(small.max(1));
    let count = cases.len().min(CASES);
    let chosen = (0..count).map(|i| cases[i * (cases.len() - 1) / (count - 1).max(1)].1);
    chosen.collect()
}

/// Runs a mutant over its cases: with every check in every order, until one reports it; and without checks, until a result
/// changes.
fn judge(workload: &Workload<'_>, recorded: &[Option<Recorded>], orders: u64, mutant: &mut Mutant) {
    let mutation = mutant.mutation;
    let run = |case: usize, order, checks| {
        let steps = recorded[case].as_ref().map_or(0, |recorded| recorded.steps);
        let most = 20 * steps + 100_000;
        let case = &workload.cases[case];
        mutate::with(mutation, most, || case.run(order, checks)).0
    };
    let mut cases = mutant.cases.clone();
    for order in Order::several(orders) {
        let found = cases.iter().enumerate().find_map(|(position, case)| {
            match run(*case, order, Checks::ALL) {
                Outcome::Fault(check, text) => Some((position, (check, text))),
                _ => None,
            }
        });
        // The case that found it in one order is tried first in the next.
        let report = found.map(|(position, report)| {
            cases.swap(0, position);
            report
        });
        mutant.reported.push(report);
    }
    let mut runs =
        Order::several(orders).flat_map(|order| cases.iter().map(move |case| (order, case)));
    mutant.changed = runs.find_map(|(order, case)| {
        let name = workload.cases[*case].name.clone();
        match run(*case, order, Checks::NONE) {
            Outcome::Right => None,
            Outcome::Cannot => Some((order, name, "it was refused".to_owned())),
            Outcome::Wrong(text) | Outcome::Fault(_, text) => Some((order, name, text)),
        }
    });
}
