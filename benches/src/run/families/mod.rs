//! The cases, one file per family.

mod axis;
mod convolution;
mod gemm;
mod histogram;
mod map;
mod random;
mod reduce;
mod scan;
mod segments;
mod select;
mod sort;
mod top_k;
mod transpose;

use std::cell::OnceCell;
use std::rc::Rc;

use warpwright::Device;
use warpwright_workloads::{FAMILIES, Problem, Sets};

use super::peers::Peers;
use crate::record::{Aim, Bound};

use super::{Bench, Contender, Contest, Result, Rival, Spec, local};

/// A function that runs a family's cases.
type Cases = fn(&mut Bench);

/// The families with cases beside peers, in the order of a run, and the functions that run these cases.
const CASES: &[(&str, Cases)] = &[
    ("reduce", reduce::run),
    ("columns", axis::columns),
    ("rows", axis::rows),
    ("transpose", transpose::run),
    ("histogram", histogram::run),
    ("convolution", convolution::run),
    ("map", map::run),
    ("random", random::run),
    ("scan", scan::run),
    ("select", select::run),
    ("gemm", gemm::run),
    ("sort", sort::run),
    ("top_k", top_k::run),
    ("segments", segments::run),
];

/// A family of the benchmark.
#[derive(Clone, Copy)]
pub struct Family(&'static warpwright_workloads::Family);

/// Returns all families, in the order of a run.
pub fn all() -> impl Iterator<Item = Family> {
    let listed = CASES.iter().filter_map(|(name, _)| workloads(name));
    let others = FAMILIES
        .iter()
        .filter(|family| cases(family.name).is_none());
    listed.chain(others).map(Family)
}

fn workloads(name: &str) -> Option<&'static warpwright_workloads::Family> {
    warpwright_workloads::Family::called(name)
}

fn cases(name: &str) -> Option<Cases> {
    let found = CASES.iter().find(|(family, _)| *family == name);
    found.map(|(_, run)| *run)
}

impl Family {
    /// Returns the family called `name`.
    pub fn called(name: &str) -> Option<Self> {
        workloads(name).map(Self)
    }

    /// Returns the family's name in the catalogue.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Runs the family's cases. A family without cases beside peers has the workloads that `ladder` times, without peers.
    pub fn run(self, bench: &mut Bench) {
        match cases(self.name()) {
            Some(run) => run(bench),
            None => plain(bench, self.0),
        }
    }
}

/// Runs a family's timings, by the library alone.
fn plain(bench: &mut Bench, family: &warpwright_workloads::Family) {
    let log2 = bench.scale().pick(28, 26, 12);
    for workload in (family.timings)(1 << log2) {
        let operations = workload.operations();
        let spec = Spec {
            family: family.name,
            work: workload.name(),
            size: format!("2^{log2}"),
            elements: 1 << log2,
            bytes: workload.bytes(),
            operations: operations.unwrap_or(0),
            bound: operations.map_or(Bound::Copy, |_| Bound::FmaF32),
            aim: Aim::default(),
        };
        let (device, sets) = (bench.device(), bench.sets(spec.bytes));
        let made = OnceCell::new();
        bench.case(spec, || {
            let new: Vec<_> = (0..sets)
                .map(|_| workload.input(&device))
                .collect::<Result<_, _>>()?;
            let inputs = made.get_or_init(|| new).iter();
            let ready: Vec<_> = inputs
                .map(|input| input.prepare(&device, None))
                .collect::<Result<_, _>>()?;
            let ours = local(
                ready,
                |ready, set| Ok(ready[set].enqueue()?),
                |ready, set| Ok(ready[set].check()?),
            );
            Ok(Contest {
                sets,
                ours,
                rivals: Vec::new(),
            })
        });
    }
}

/// Makes our contender: the library on the sets of a problem, with the variant that it chooses.
fn ours<'a, P: Problem>(sets: &'a Sets<P>, device: &Device) -> Result<Box<dyn Contender + 'a>> {
    Ok(local(
        sets.prepare(device, None)?,
        |prepared, set| Ok(prepared[set].enqueue()?),
        |prepared, set| Ok(sets.check(set, &prepared[set].answer()?)),
    ))
}

/// The device and the sets of a case.
struct Place {
    device: Device,
    peers: Rc<Peers>,
    /// The number of sets of buffers.
    count: usize,
}

impl Place {
    fn sets<P: Problem>(&self, problem: P) -> Result<Sets<P>> {
        Ok(Sets::new(problem, &self.device, self.count)?)
    }
}

/// Runs a case of a problem: ours on the sets that `sets` makes, the policy rows if the run is a sweep, and the peers that
/// `rivals` prepares.
fn case<P: Problem>(
    bench: &mut Bench,
    spec: Spec,
    sets: impl FnOnce(&Place) -> Result<Sets<P>>,
    rivals: impl for<'a> FnOnce(&'a Sets<P>, &'a Place) -> Result<Vec<Rival<'a>>>,
) {
    let place = Place {
        device: bench.device(),
        peers: bench.peers(),
        count: bench.sets(spec.bytes),
    };
    let candidates = bench.candidates(&spec);
    let made = OnceCell::new();
    bench.case(spec, || {
        let new = sets(&place)?;
        let sets = made.get_or_init(|| new);
        let mut all = candidates.rivals(|device| ours(sets, device));
        all.extend(rivals(sets, &place)?);
        Ok(Contest {
            sets: place.count,
            ours: ours(sets, &place.device)?,
            rivals: all,
        })
    });
}
