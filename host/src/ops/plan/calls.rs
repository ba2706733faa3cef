//! What planned work asks of the driver, as data for who does it without the library: the benchmark, which times both.

use cuda_std::kernel::{KernelDescriptor, LaunchConfig};

use super::{Place, Queued, Step, Work};
use crate::{error::Result, launch::Base};

/// The calls of prepared work.
#[derive(Debug, Default)]
pub struct Calls {
    /// The memory that was allocated for the work, in that order: results beside the output, the output, the workspace.
    pub rooms: Vec<Room>,
    /// The calls before the first run.
    pub setup: Vec<Call>,
    /// The calls of each run.
    pub steps: Vec<Call>,
    /// What the host reads, in that order.
    pub results: Vec<Span>,
}

/// Memory that was allocated. It may have no bytes, and then has no address.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// The address of the first byte.
    pub address: u64,
    /// The number of bytes.
    pub bytes: usize,
}

/// Bytes that a call reads or writes.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// The address of the first byte.
    pub address: u64,
    /// The number of bytes.
    pub bytes: usize,
    /// The number of the room that they are in, unless they are an input.
    pub room: Option<usize>,
}

/// A call.
#[derive(Debug)]
pub enum Call {
    /// Launches a kernel.
    Launch(Launch),
    /// Copies the bytes of the first span to the start of the second.
    Copy(Span, Span),
    /// Sets bytes to 0.
    Clear(Span),
    /// Overwrites bytes with those of the host.
    Upload(Span, Vec<u8>),
}

/// A launch of one of the library's kernels.
#[derive(Debug)]
pub struct Launch {
    /// The kernel.
    pub kernel: &'static KernelDescriptor,
    /// The grid, the block and the dynamic shared memory.
    pub config: LaunchConfig,
    /// The words of the raw parameters, each of which begins a new word.
    pub words: Vec<u64>,
    /// The words that are addresses in rooms, and the numbers of the rooms.
    pub places: Vec<(usize, usize)>,
    /// The names of the constant tables that the kernel reads, and the bytes that they begin with.
    pub constants: Vec<(&'static str, Vec<u8>)>,
}

impl Room {
    /// Returns whether an address is that of one of the bytes.
    pub fn contains(&self, address: u64) -> bool {
        address
            .checked_sub(self.address)
            .is_some_and(|offset| offset < self.bytes as u64)
    }
}

impl Work {
    /// Returns the calls of the work, which was [put](Self::put) to its places.
    pub fn calls(&self) -> Result<Calls> {
        let own = |place: &&Place<u8>| place.base == Base::Memory;
        let room = |address, bytes| Room { address, bytes };
        let mut rooms: Vec<_> = (self.read.iter().filter(own))
            .map(|array| room(array.offset, array.len))
            .collect();
        rooms.push(room(self.output, self.output_bytes));
        rooms.push(room(self.workspace, self.bytes));
        let all = |steps: &[Step]| -> Result<Vec<Call>> {
            steps.iter().map(|step| self.call(&rooms, step)).collect()
        };
        let (setup, steps) = (all(&self.setup)?, all(&self.steps)?);
        let output = Place::output(self.output_bytes);
        let read = self.read.iter().chain([&output]);
        let results = read.map(|place| self.span(&rooms, *place));
        let results = results.filter(|span| span.bytes > 0).collect();
        Ok(Calls {
            rooms,
            setup,
            steps,
            results,
        })
    }

    fn call(&self, rooms: &[Room], step: &Step) -> Result<Call> {
        let span = |place: &Place<u8>| self.span(rooms, *place);
        Ok(match step {
            Step::Launch(queued) => Call::Launch(queued.call(rooms)?),
            Step::Copy(from, to) => Call::Copy(span(from), span(to)),
            Step::Clear(place) => Call::Clear(span(place)),
            Step::Upload(place, make) => {
                let mut all = Vec::new();
                make(&mut |bytes| {
                    all.extend_from_slice(bytes);
                    Ok(())
                })?;
                all.truncate(place.len);
                Call::Upload(span(place), all)
            }
        })
    }

    fn span(&self, rooms: &[Room], place: Place<u8>) -> Span {
        let address = self.address(place);
        Span {
            address,
            bytes: place.len,
            room: number(rooms, place.base, address),
        }
    }
}

impl Queued {
    fn call(&self, rooms: &[Room]) -> Result<Launch> {
        let mut constants = Vec::new();
        if let Some(make) = &self.constants {
            make(&mut |tables| {
                constants.extend(tables.iter().map(|values| {
                    // SAFETY: the pointer is valid for that many bytes while the values are borrowed.
                    let bytes =
                        unsafe { std::slice::from_raw_parts(values.as_ptr(), values.bytes()) };
                    (values.name(), bytes.to_vec())
                }));
                Ok(())
            })?;
        }
        let places = self.places.iter().filter_map(|(word, base)| {
            number(rooms, *base, self.words[*word]).map(|room| (*word, room))
        });
        Ok(Launch {
            kernel: self.kernel,
            config: self.config,
            words: self.words.clone(),
            places: places.collect(),
            constants,
        })
    }
}

/// Returns the number of the room of an address that is relative to `base`.
fn number(rooms: &[Room], base: Base, address: u64) -> Option<usize> {
    match base {
        Base::Workspace => Some(rooms.len() - 1),
        Base::Output => Some(rooms.len() - 2),
        Base::Memory => rooms[..rooms.len() - 2]
            .iter()
            .position(|room| room.contains(address)),
    }
}
