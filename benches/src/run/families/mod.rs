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
use warpwright_workloads::{Problem, Sets};

use super::peers::Peers;
use super::{Bench, Contender, Contest, Result, Rival, Spec, local};

/// A family's name, and the function that runs its cases.
type Family = (&'static str, fn(&mut Bench));

/// The families, in the order of a run.
pub const FAMILIES: &[Family] = &[
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
