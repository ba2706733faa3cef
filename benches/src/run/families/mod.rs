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

use serde_json::Value;
use warpwright::{Device, Element, Vector};
use warpwright_workloads::{FAMILIES, Problem, Sets};

use super::peers::cub::Cub;
use super::peers::{Peers, rival};
use super::{Absent, Bench, Contender, Contest, Result, Rival, Spec, address, local, pointer};
use crate::record::Bound;

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
        let bound = operations.map_or(Bound::Copy, |_| Bound::FmaF32);
        let spec = Spec {
            bytes: workload.bytes(),
            ..Spec::of(family.name, workload.name(), 1 << log2, bound)
        };
        let spec = spec.operations(operations.unwrap_or(0));
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

/// A peer's contender, or the reason why the peer is absent.
type Made<'a> = Result<Box<dyn Contender + 'a>, Absent>;

/// The device, the peers and the sets of a case.
struct Place {
    device: Device,
    peers: Rc<Peers>,
    /// The number of sets of buffers.
    count: usize,
}

impl Place {
    /// Makes the sets of a problem.
    fn sets<P: Problem>(&self, problem: P) -> Result<Sets<P>> {
        Ok(Sets::new(problem, &self.device, self.count)?)
    }

    /// Makes one vector that a peer writes for every set.
    fn output<T: Element>(&self, len: usize) -> warpwright::Result<Vec<Vector<T>>> {
        Ok(vec![self.device.zeros(len)?])
    }

    /// Makes a vector for each set, which a peer writes.
    fn outputs<T: Element>(&self, len: usize) -> warpwright::Result<Vec<Vector<T>>> {
        (0..self.count).map(|_| self.device.zeros(len)).collect()
    }

    /// Returns a library as a peer, which `open` opens and `make` prepares. The list is empty if the run has no peers.
    fn peer<'a, T>(
        &self,
        name: &'static str,
        open: fn(&Peers) -> Result<&T, Absent>,
        make: impl FnOnce(&T) -> Made<'a>,
    ) -> Vec<Rival<'a>> {
        if !self.peers.wanted() {
            return Vec::new();
        }
        vec![rival(name, open(&self.peers).and_then(make))]
    }

    /// Returns CUB as a peer, which `make` prepares. The list is empty if the run has no peers.
    fn cub<'a>(&self, make: impl FnOnce(&Cub) -> Made<'a>) -> Vec<Rival<'a>> {
        self.peer("CUB", Peers::cub, make)
    }

    /// Returns frameworks as peers, each with its own aim if it has one. `request` is the work as `peers/frameworks.py` expects
    /// it, without the number of sets. The list is empty if the run has no peers.
    fn frameworks<'a>(
        &self,
        names: &[(&'static str, Option<f64>)],
        mut request: Value,
    ) -> Vec<Rival<'a>> {
        request["sets"] = self.count.into();
        self.peers.framework_rivals(names, &request)
    }

    /// Returns PyTorch as a peer.
    fn pytorch<'a>(&self, request: Value) -> Vec<Rival<'a>> {
        self.frameworks(&[("PyTorch", None)], request)
    }
}

/// Makes a peer's contender that writes one vector. `work` gets the input of a set and the address of an output, and `answer`
/// makes the problem's answer of what the output has. There is one output, or one for each set.
fn writing<'a, P: Problem, T: Element>(
    sets: &'a Sets<P>,
    outputs: Vec<Vector<T>>,
    mut work: impl FnMut(&P::Input, u64) -> Result<()> + 'a,
    answer: impl Fn(Vec<T>) -> P::Answer + 'a,
) -> Made<'a> {
    Ok(local(
        outputs,
        move |outputs, set| {
            let at = set % outputs.len();
            work(&sets.inputs()[set], pointer(&mut outputs[at]))
        },
        move |outputs, set| {
            let output = &outputs[set % outputs.len()];
            Ok(sets.check(set, &answer(output.to_vec()?)))
        },
    ))
}

/// Returns work from one vector to another as work on the first and the address of the second.
fn on_vector<T: Element>(
    mut work: impl FnMut([u64; 2]) -> Result<()>,
) -> impl FnMut(&Vector<T>, u64) -> Result<()> {
    move |input, to| work([address(input), to])
}

/// Runs a case of a problem: ours, the policy rows if the run is a sweep, and the peers that `rivals` prepares.
fn case<P: Problem>(
    bench: &mut Bench,
    mut spec: Spec,
    problem: P,
    rivals: impl for<'a> FnOnce(&'a Sets<P>, &'a Place) -> Vec<Rival<'a>>,
) {
    spec.bytes = problem.bytes();
    case_on(bench, spec, |place| place.sets(problem), rivals);
}

/// Runs a case on the sets that `sets` makes, as [`case`] does.
fn case_on<P: Problem>(
    bench: &mut Bench,
    spec: Spec,
    sets: impl FnOnce(&Place) -> Result<Sets<P>>,
    rivals: impl for<'a> FnOnce(&'a Sets<P>, &'a Place) -> Vec<Rival<'a>>,
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
        all.extend(rivals(sets, &place));
        Ok(Contest {
            sets: place.count,
            ours: ours(sets, &place.device)?,
            rivals: all,
        })
    });
}

/// A case without peers.
fn alone<'a, P: Problem>(_: &'a Sets<P>, _: &'a Place) -> Vec<Rival<'a>> {
    Vec::new()
}
