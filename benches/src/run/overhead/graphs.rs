//! A graph of small operations: the library's, PyTorch's, and the operations queued one by one.

use serde_json::json;
use warpwright::{Device, Graph};
use warpwright_workloads::{Family, Input, Ready};

use super::super::peers::{Peers, rival};
use super::super::{Absent, Contender, Contest, Mode, Result, Scale, timing};
use crate::overhead;
use crate::record::Outcome;

/// The operations, in turn: the square root of 1024 `f32`, the transpose of a matrix of 32 x 32 elements of 4 bytes, the sums
/// of the columns of a matrix of 32 x 32 `f32`, and the sums of its rows. Each is one kernel of the library, and one of
/// PyTorch: `torch.sqrt`, `copy_` of a transposed view, and `torch.sum` twice. Each has an input and an output of its own.
/// The names are those of the families, and of the work in `peers/frameworks.py`.
const OPERATIONS: [(&str, &str); 4] = [
    ("map", "sqrt"),
    ("transpose", "transpose"),
    ("columns", "columns"),
    ("rows", "rows"),
];
/// How often they are in the graph.
const ROUNDS: usize = 5;
/// The side of a matrix.
const SIDE: usize = 32;

/// How the graph is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Its launches are queued back to back.
    Queued,
    /// Each launch is waited for.
    WaitedFor,
    /// Before each launch the work is captured again and the graph updated, as for other arrays.
    Updated,
}

/// Times the graph and the operations one by one, beside PyTorch's graph: queued back to back, each time waited for, and, as
/// PyTorch does not, each time updated. `report` is called after each.
///
/// # Errors
/// Returns an error if the operations cannot be prepared or captured. Later errors are in the rows.
pub fn graphs(
    device: &Device,
    peers: &Peers,
    scale: Scale,
    mut report: impl FnMut(&overhead::Graph),
) -> Result<Vec<overhead::Graph>> {
    let inputs = inputs(device)?;
    let names: Vec<&str> = OPERATIONS.repeat(ROUNDS).iter().map(|it| it.1).collect();
    let mut rows = Vec::new();
    for (of_graph, how) in [
        (Use::Queued, ""),
        (Use::WaitedFor, ", waited for"),
        (Use::Updated, ", updated each time"),
    ] {
        let waits = of_graph == Use::WaitedFor;
        let made = |captured| Operations::new(device, &inputs, captured, of_graph);
        let request = json!({
            "work": "graph", "operations": names, "waits": waits,
            "shape": [SIDE, SIDE], "element": "f4", "sets": 1,
        });
        let mut rivals = vec![rival("one by one", Ok(Box::new(made(false)?)))];
        if of_graph == Use::Updated {
            let missing = "it captures and instantiates anew".to_owned();
            rivals.push(rival("PyTorch", Err(Absent::Missing(missing))));
        } else {
            rivals.extend(peers.framework_rivals(&[("PyTorch", None)], &request));
        }
        let contest = Contest {
            sets: 1,
            ours: Box::new(made(true)?),
            rivals,
        };
        let results = timing::run(device, Mode::Time, scale, contest);
        let mut outcomes = results.into_iter().map(|it| it.outcome);
        let mut next = || {
            let absent = || Outcome::Missing("not asked for".to_owned());
            outcomes.next().unwrap_or_else(absent)
        };
        let row = overhead::Graph {
            work: format!("{} small operations{how}", names.len()),
            ours: next(),
            apart: next(),
            pytorch: next(),
        };
        report(&row);
        rows.push(row);
    }
    Ok(rows)
}

/// Makes the input of each operation.
fn inputs(device: &Device) -> Result<Vec<Box<dyn Input>>> {
    let operations = OPERATIONS.repeat(ROUNDS).into_iter();
    let inputs = operations.map(|(family, _)| {
        let family = Family::called(family).ok_or("a family required")?;
        Ok((family.few)(SIDE * SIDE).input(device)?)
    });
    inputs.collect()
}

/// The operations, prepared.
struct Operations<'a> {
    device: &'a Device,
    /// Their graph, unless they are queued one by one.
    graph: Option<Graph>,
    ready: Vec<Box<dyn Ready + 'a>>,
    of_graph: Use,
}

impl<'a> Operations<'a> {
    fn new(
        device: &'a Device,
        inputs: &'a [Box<dyn Input>],
        captured: bool,
        of_graph: Use,
    ) -> Result<Self> {
        let ready = inputs.iter().map(|input| input.prepare(device, None));
        let mut ready = ready.collect::<Result<Vec<_>, _>>()?;
        let mut all = || ready.iter_mut().try_for_each(|it| it.enqueue());
        let graph = captured.then(|| device.capture(&mut all)).transpose()?;
        Ok(Self {
            device,
            graph,
            ready,
            of_graph,
        })
    }
}

impl Contender for Operations<'_> {
    fn enqueue(&mut self, _: usize) -> Result<()> {
        let mut all = || self.ready.iter_mut().try_for_each(|it| it.enqueue());
        match &mut self.graph {
            Some(graph) => {
                if self.of_graph == Use::Updated {
                    graph.update(all)?;
                }
                // SAFETY: the operations are here and their inputs are borrowed; nothing else uses what they write.
                unsafe { graph.launch()? };
            }
            None => all()?,
        }
        if self.of_graph == Use::WaitedFor {
            self.device.synchronize()?;
        }
        Ok(())
    }

    fn check(&mut self, _: usize) -> Result<Result<(), String>> {
        for ready in &self.ready {
            if let Err(text) = ready.check()? {
                return Ok(Err(text));
            }
        }
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use warpwright::ops::calls::Call;

    use super::*;

    #[test]
    fn the_graph_gives_the_bits_of_the_operations_one_by_one() {
        let device = Device::cpu();
        let inputs = inputs(&device).unwrap();
        let bits = [true, false].map(|captured| {
            let mut all = Operations::new(&device, &inputs, captured, Use::Queued).unwrap();
            for ready in &mut all.ready {
                // A kernel, and nothing cleared or copied.
                let calls = ready.calls().unwrap();
                assert!(matches!(&calls.steps[..], [Call::Launch(_)]));
            }
            all.enqueue(0).unwrap();
            assert_eq!(all.check(0).unwrap(), Ok(()));
            let bits = all.ready.iter().map(|it| it.bits().unwrap());
            bits.collect::<Vec<_>>()
        });
        assert_eq!(bits[0], bits[1]);
    }

    #[test]
    fn the_graph_is_timed_with_or_without_pytorch() {
        let device = Device::cpu();
        for wanted in [false, true] {
            let peers = Peers::new(device.clone(), wanted);
            let rows = graphs(&device, &peers, Scale::Tiny, |_| {}).unwrap();
            assert_eq!(rows.len(), 3);
            for row in rows {
                assert!(row.ours.times().is_some() && row.apart.times().is_some());
                match row.pytorch {
                    Outcome::Missing(reason) => assert!(!reason.is_empty()),
                    other => assert!(wanted && other.times().is_some(), "{other:?}"),
                }
            }
        }
    }
}
