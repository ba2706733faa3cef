//! The cases: problems combined with rungs, where the rungs come from the catalogue.

use std::{
    collections::BTreeSet,
    fmt::{Debug, Display},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use rayon::prelude::*;
use warpwright::{Device, DeviceKind, Family, Variant};
use warpwright_gpu::{
    reduce::policy::{self as reduce, Cut},
    tuning::{ARCHITECTURE, chosen, shipped},
};

use crate::{
    compare::Outcome,
    devices::{self, Executor},
};

/// Returns the family called `name`.
///
/// # Panics
/// Panics if the catalogue has no such family.
pub fn family(name: &str) -> &'static Family {
    let found = warpwright::families()
        .iter()
        .find(|family| family.name == name);
    found.unwrap_or_else(|| panic!("the catalogue has no family `{name}`"))
}

/// Returns the variants of the family called `name`.
///
/// # Panics
/// Panics if the catalogue has no such family, or the family has no variants.
pub fn variants(name: &str) -> &'static [Variant] {
    let variants = family(name).variants;
    assert!(!variants.is_empty(), "the family `{name}` has no variants");
    variants
}

/// The numbers of elements that unaligned views leave out at their start.
pub const OFFSETS: [usize; 3] = [1, 3, 7];

/// Returns the large length of an executor.
pub const fn large(executor: Executor) -> usize {
    match executor {
        Executor::Cpu => (1 << 18) + 3,
        Executor::Cuda => (1 << 24) + 3,
    }
}

/// Returns lengths around which something changes, in ascending order: zero, one, a warp, each of `blocks` once and twice,
/// primes, and [`large`].
pub fn lengths(executor: Executor, blocks: &[usize]) -> Vec<usize> {
    let mut lengths: BTreeSet<usize> = [0, 1, 2, 31, 32, 33, 1009, 4099, 65537].into();
    for block in blocks {
        lengths.extend([
            block - 1,
            *block,
            block + 1,
            2 * block - 1,
            2 * block,
            2 * block + 1,
        ]);
    }
    lengths.insert(large(executor));
    lengths.into_iter().collect()
}

/// Returns the elements of a block of a reduction, for every variant.
pub fn reduce_blocks() -> Vec<usize> {
    let spans = warpwright_gpu::reduce::Variant::ALL.map(|variant| match variant.cut() {
        Cut::PerBlock(elements) => elements,
        Cut::Strided {
            least_per_block, ..
        } => least_per_block,
        // The elements have 4 bytes.
        Cut::Best => shipped::<reduce::Policy, f32>().least_bytes(0) / 4,
        Cut::Folding { by } => by,
    });
    BTreeSet::from(spans)
        .into_iter()
        .filter(|span| *span > 2)
        .collect()
}

/// Returns the maximum number of additions that an element passes through when `variant` reduces `len` elements on `device`.
pub fn reduce_chain(variant: &Variant, len: usize, device: &Device) -> usize {
    let variant: warpwright_gpu::reduce::Variant =
        (variant.name.parse()).expect("a variant of this family");
    let log2 = |n: usize| n.max(1).next_power_of_two().ilog2() as usize;
    // Within a block: a tree over its threads, and one step to round up to full warps.
    let block = log2(reduce::RUNG_BLOCK) + 1;
    match variant.cut() {
        Cut::PerBlock(elements) => {
            let (mut partials, mut chain) = (len.div_ceil(elements), block + elements / 256);
            while partials > 1 {
                chain +=
                    reduce::FINISH_SPAN / reduce::FINISH_BLOCK + log2(reduce::FINISH_BLOCK) + 1;
                partials = partials.div_ceil(reduce::FINISH_SPAN);
            }
            chain
        }
        Cut::Strided {
            blocks_per_multiprocessor,
            least_per_block,
        } => {
            // The number of blocks is between one per multiprocessor, if no more are resident, and the maximum of the policy.
            let multiprocessors = device.info().multiprocessors.max(1) as usize;
            let blocks = |most: usize| len.div_ceil(least_per_block).clamp(1, most);
            let threads = blocks(multiprocessors) * reduce::RUNG_BLOCK;
            let partials = blocks(multiprocessors * blocks_per_multiprocessor as usize);
            len.div_ceil(threads) + 2 * block + partials.div_ceil(reduce::FINISH_BLOCK)
        }
        Cut::Best => {
            // For any element size: the fewest threads and the most blocks of all rows.
            let multiprocessors = device.info().multiprocessors.max(1) as usize;
            let policies = [1, 2, 4, 8].map(|bytes| chosen(ARCHITECTURE, bytes));
            let cuts = policies.iter().flat_map(|policy: &reduce::Policy| {
                let cuts = policy.threads.into_iter().zip(policy.blocks);
                cuts.map(|(threads, blocks)| (threads, blocks as usize, policy.unroll))
            });
            let chains = cuts.map(|(threads, blocks, unroll)| {
                let most = multiprocessors * blocks;
                // A thread's share, rounded up to whole rounds of 16-byte loads, and an element at either end.
                let share = (len.div_ceil(most * threads)).next_multiple_of(unroll * 16) + 2;
                share + 2 * (log2(threads) + 1) + most.div_ceil(threads)
            });
            chains.max().unwrap_or(0)
        }
        // Every fold halves the length, and every pass may round up once more.
        Cut::Folding { .. } => 2 * log2(len) + 1,
    }
}

/// A problem that several rungs solve.
pub trait Problem: Debug + Sync {
    /// Returns the executor to run on.
    fn executor(&self) -> Executor;
}

/// Solves every one of `problems` by each of its `rungs` on every device of its executor, and fails with a list of what went
/// wrong. `prepare` prepares a problem on a device, and `check` solves it by one rung.
///
/// # Panics
/// Panics if any case fails, or if there are no cases.
pub fn run<P: Problem, R: Display, S>(
    problems: &[P],
    rungs: impl Fn(&P) -> Vec<R> + Sync,
    prepare: impl Fn(&Device, &P) -> warpwright::Result<S> + Sync,
    check: impl Fn(&Device, &P, &S, &R) -> Outcome + Sync,
) {
    let report = Report::default();
    // Opened here, so that a missing required device fails once and not once per problem.
    let devices = |problem: &P| problem.executor().devices();
    problems.iter().map(devices).for_each(drop);
    // The problems run on the CPU executor's own threads, so that small launches need not wait for another thread to wake.
    problems.par_iter().for_each(|problem| {
        let rungs = rungs(problem);
        if rungs.is_empty() {
            return;
        }
        let devices = devices(problem);
        if devices.is_empty() {
            report.left_out(rungs.len());
        }
        for device in devices {
            let prepared = match prepare(device, problem) {
                Ok(prepared) => prepared,
                Err(error) => {
                    report.case(device, problem, &"uploading", Err(error.to_string()));
                    continue;
                }
            };
            for rung in &rungs {
                let outcome = guarded(|| check(device, problem, &prepared, rung));
                report.case(device, problem, rung, outcome);
            }
        }
    });
    report.finish();
}

/// Runs a check. A panic of the code under test fails its case and does not stop the others.
fn guarded(check: impl FnOnce() -> Outcome) -> Outcome {
    catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|_| Err("a panic (see above)".to_owned()))
}

/// The results of the cases.
#[derive(Debug, Default)]
struct Report {
    run: AtomicUsize,
    left_out: AtomicUsize,
    wrong: Mutex<Vec<String>>,
}

impl Report {
    fn case(&self, device: &Device, problem: &dyn Debug, rung: &dyn Display, outcome: Outcome) {
        self.run.fetch_add(1, Ordering::Relaxed);
        if let Err(wrong) = outcome {
            let line = format!("{} {rung} of {problem:?}: {wrong}", device.kind());
            self.wrong
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(line);
        }
    }

    fn left_out(&self, cases: usize) {
        self.left_out.fetch_add(cases, Ordering::Relaxed);
        devices::leave_out(cases);
    }

    fn finish(self) {
        const SHOWN: usize = 20;
        let run = self.run.into_inner();
        let wrong = self
            .wrong
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        assert!(run > 0, "there are no cases");
        assert!(
            wrong.is_empty(),
            "{} of {run} cases are wrong:\n{}",
            wrong.len(),
            wrong
                .iter()
                .take(SHOWN)
                .map(|line| format!("  {line}\n"))
                .collect::<String>()
        );
        println!("{run} cases, {} left out", self.left_out.into_inner());
    }
}

/// Returns whether `device` is a CUDA device.
pub fn is_cuda(device: &Device) -> bool {
    matches!(device.kind(), DeviceKind::Cuda { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Number(i32, Executor);

    impl Problem for Number {
        fn executor(&self) -> Executor {
            self.1
        }
    }

    fn outcome(problems: &[Number], rungs: &[&'static str]) -> std::thread::Result<()> {
        catch_unwind(AssertUnwindSafe(|| {
            run(
                problems,
                |_| rungs.to_vec(),
                |_, problem| Ok(problem.0),
                |_, _, number, rung| match (*number, *rung) {
                    (13, _) => Err("unlucky".to_owned()),
                    (14, "second") => panic!("worse"),
                    _ => Ok(()),
                },
            );
        }))
    }

    fn message(problems: &[Number], rungs: &[&'static str]) -> String {
        let payload = outcome(problems, rungs).expect_err("the cases must fail");
        payload
            .downcast_ref::<String>()
            .cloned()
            .unwrap_or_else(|| {
                payload
                    .downcast_ref::<&str>()
                    .expect("a message")
                    .to_string()
            })
    }

    #[test]
    fn no_cases_are_a_failure() {
        assert_eq!(message(&[], &["first"]), "there are no cases");
        assert_eq!(
            message(&[Number(1, Executor::Cpu)], &[]),
            "there are no cases"
        );
    }

    #[test]
    fn a_wrong_case_and_a_panic_are_failures_and_the_other_cases_run() {
        let problems = [13, 14, 15].map(|number| Number(number, Executor::Cpu));
        let message = message(&problems, &["first", "second"]);
        assert!(message.starts_with("3 of 6 cases are wrong:"), "{message}");
        assert!(
            message.contains("cpu first of Number(13, Cpu): unlucky"),
            "{message}"
        );
        assert!(
            message.contains("cpu second of Number(14, Cpu): a panic"),
            "{message}"
        );
    }

    #[test]
    fn right_cases_pass() {
        assert!(outcome(&[Number(15, Executor::Cpu)], &["first"]).is_ok());
    }

    #[test]
    fn lengths_hold_the_edges_of_every_block() {
        let lengths = lengths(Executor::Cpu, &reduce_blocks());
        for length in [
            0,
            1,
            255,
            256,
            257,
            511,
            512,
            513,
            1023,
            1025,
            65537,
            (1 << 18) + 3,
        ] {
            assert!(lengths.contains(&length), "{length}");
        }
        assert!(lengths.is_sorted());
    }

    #[test]
    fn a_chain_is_no_shorter_than_a_tree_and_far_shorter_than_a_loop() {
        let device = devices::cpu();
        for variant in variants("reduce") {
            for len in [1_usize, 257, 65537, 1 << 18] {
                let chain = reduce_chain(variant, len, &device);
                assert!(
                    chain >= len.ilog2() as usize,
                    "{} {len} {chain}",
                    variant.name
                );
            }
            let chain = reduce_chain(variant, 1 << 18, &device);
            assert!(chain < (1 << 18) / 50, "{} {chain}", variant.name);
        }
    }
}
