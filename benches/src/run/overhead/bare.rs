//! The driver calls that an operation needs, issued directly through the driver's functions.

use std::ffi::c_void;
use std::ptr;

use warpwright::cuda_std::kernel::LaunchConfig;
use warpwright::ops::calls::{Call, Calls, Launch, Room, Span};
use warpwright::{Device, kernel_ptx};

use super::super::Result;
use super::super::driver::{Driver, Handle};

/// An operation by the driver's functions alone, in the stream of one of the library's handles. Its calls are those of work
/// that the library prepared, with kernels from modules of their own.
pub struct Bare<'a> {
    driver: &'a Driver,
    stream: Handle,
    /// The memory of the prepared work.
    rooms: Vec<Room>,
    /// The addresses of the memory that the calls use.
    used: Vec<u64>,
    setup: Vec<Step>,
    steps: Vec<Step>,
    results: Vec<Span>,
    bytes: Vec<u8>,
}

enum Step {
    Launch(Handle, LaunchConfig, Arguments),
    Copy(Span, Span),
    Clear(Span),
    Upload(Span, Vec<u8>),
}

/// The arguments of a launch.
struct Arguments {
    words: Vec<u64>,
    /// Pointers to the words where an argument begins.
    pointers: Vec<*mut c_void>,
    /// The words that are addresses in rooms, the numbers of the rooms, and the offsets.
    places: Vec<(usize, usize, u64)>,
}

impl<'a> Bare<'a> {
    /// Makes the operation of the calls of prepared work.
    ///
    /// # Errors
    /// Returns the driver's error, or that of a kernel that the library does not have.
    ///
    /// # Safety
    /// The prepared work was queued before, and it and its input exist until the operation is dropped.
    pub unsafe fn new(driver: &'a Driver, device: &Device, calls: Calls) -> Result<Self> {
        let Calls {
            rooms,
            setup,
            steps,
            results,
        } = calls;
        let stream = device.cuda_stream().ok_or("a CUDA device required")?;
        let step = |call| {
            Ok(match call {
                Call::Launch(launch) => {
                    let kernel = kernel(driver, device, stream, &launch)?;
                    Step::Launch(kernel, launch.config, Arguments::of(launch, &rooms))
                }
                Call::Copy(from, to) => Step::Copy(from, to),
                Call::Clear(span) => Step::Clear(span),
                Call::Upload(to, bytes) => Step::Upload(to, bytes),
            })
        };
        let all = |calls: Vec<Call>| calls.into_iter().map(step).collect::<Result<Vec<_>>>();
        Ok(Self {
            driver,
            stream,
            setup: all(setup)?,
            steps: all(steps)?,
            used: rooms.iter().map(|room| room.address).collect(),
            rooms,
            bytes: vec![0; results.iter().map(|span| span.bytes).sum()],
            results,
        })
    }

    /// Runs the operation again in the memory of the prepared work, and waits.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn again(&mut self) -> Result<()> {
        self.run(&self.steps)?;
        self.wait()
    }

    /// Runs the operation in new memory, including allocation and release, and returns the result on the host.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn once(&mut self) -> Result<&[u8]> {
        let done = self.in_new_memory();
        // The addresses for `again` are restored, which takes a store or two.
        for (used, room) in self.used.iter_mut().zip(&self.rooms) {
            *used = room.address;
        }
        self.place();
        done?;
        Ok(&self.bytes)
    }

    fn in_new_memory(&mut self) -> Result<()> {
        for (used, room) in self.used.iter_mut().zip(&self.rooms) {
            if room.bytes > 0 {
                // SAFETY: the function writes one address.
                unsafe { self.driver.allocate(used, room.bytes, self.stream)? };
            }
        }
        self.place();
        self.run(&self.setup)?;
        self.run(&self.steps)?;
        self.result()?;
        for (used, room) in self.used.iter().zip(&self.rooms) {
            if room.bytes > 0 {
                // SAFETY: the memory was allocated above and is freed once; the stream is alive.
                unsafe { self.driver.free(*used, self.stream)? };
            }
        }
        Ok(())
    }

    /// Copies the result of the last run to the host, and waits.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn result(&mut self) -> Result<&[u8]> {
        let mut rest = &mut *self.bytes;
        for span in &self.results {
            let (to, after) = rest.split_at_mut(span.bytes);
            let (to, from) = (
                to.as_mut_ptr().cast(),
                address(&self.rooms, &self.used, span),
            );
            // SAFETY: both sides have this many bytes, and the host's are not moved until the wait is over.
            unsafe { (self.driver).copy_out(to, from, span.bytes, self.stream)? };
            rest = after;
        }
        self.wait()?;
        Ok(&self.bytes)
    }

    /// Overwrites the result in the memory of the prepared work.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn spoil(&self) -> Result<()> {
        for span in &self.results {
            // SAFETY: the work has this memory, and nothing reads it now.
            unsafe { (self.driver).set(span.address, 0xa5, span.bytes, self.stream)? };
        }
        Ok(())
    }

    /// Writes the addresses in rooms to the arguments.
    fn place(&mut self) {
        for step in &mut self.steps {
            let Step::Launch(_, _, arguments) = step else {
                continue;
            };
            for (word, room, offset) in &arguments.places {
                let address = self.used[*room] + offset;
                // SAFETY: there is such a word. It is written through the pointer from which the launch reads it.
                unsafe { arguments.words.as_mut_ptr().add(*word).write(address) };
            }
        }
    }

    fn run(&self, steps: &[Step]) -> Result<()> {
        let (driver, stream) = (self.driver, self.stream);
        let address = |span| address(&self.rooms, &self.used, span);
        steps.iter().try_for_each(|step| {
            // SAFETY: these are the calls of the library, in memory of the same size: a test compares them. The spans have as
            // many bytes, and so has what is uploaded at most.
            unsafe {
                match step {
                    Step::Copy(from, to) => {
                        driver.copy(address(to), address(from), from.bytes, stream)
                    }
                    Step::Clear(span) => driver.set(address(span), 0, span.bytes, stream),
                    Step::Upload(to, bytes) => {
                        driver.copy_in(address(to), bytes.as_ptr().cast(), bytes.len(), stream)
                    }
                    Step::Launch(kernel, config, arguments) => {
                        let ([x, y, z], block) = (config.grid, config.block);
                        driver.launch(
                            *kernel,
                            x,
                            y,
                            z,
                            block[0],
                            block[1],
                            block[2],
                            config.shared_bytes,
                            stream,
                            arguments.pointers.as_ptr().cast_mut(),
                            ptr::null_mut(),
                        )
                    }
                }
            }
        })
    }

    fn wait(&self) -> Result<()> {
        // SAFETY: the stream is alive as long as the library's handle.
        unsafe { self.driver.synchronize(self.stream) }
    }
}

impl Arguments {
    fn of(launch: Launch, rooms: &[Room]) -> Self {
        let mut words = launch.words;
        let places = launch.places.into_iter();
        let places = places.map(|(word, room)| (word, room, words[word] - rooms[room].address));
        let places = places.collect();
        let (first, mut start, mut pointers) = (words.as_mut_ptr(), 0, Vec::new());
        for raw in launch.kernel.params.iter().copied().flatten() {
            // SAFETY: each raw parameter begins a word of its own, and the words are not moved from here on.
            pointers.push(unsafe { first.add(start) }.cast());
            start += raw.size.div_ceil(size_of::<u64>());
        }
        Self {
            words,
            pointers,
            places,
        }
    }
}

/// Returns the address of a span where the rooms are those at `used`.
fn address(rooms: &[Room], used: &[u64], span: &Span) -> u64 {
    match span.room {
        Some(at) => span.address - rooms[at].address + used[at],
        None => span.address,
    }
}

/// Returns a launch's kernel in a module of its own, whose tables start with the launch's values.
fn kernel(driver: &Driver, device: &Device, stream: Handle, launch: &Launch) -> Result<Handle> {
    let name = launch.kernel.name;
    let capability = device.info().compute_capability.unwrap_or_default();
    let ptx = kernel_ptx(name, capability)
        .ok_or_else(|| format!("a kernel `{name}` required in the library, found none"))?;
    let module = driver.module(&ptx)?;
    for (table, values) in &launch.constants {
        let (address, bytes) = driver.table(&module, table)?;
        if values.len() > bytes {
            return Err(format!("room for {} bytes required, given {bytes}", values.len()).into());
        }
        // SAFETY: the table has room for the values, and the driver reads pageable memory before the copy returns.
        unsafe { driver.copy_in(address, values.as_ptr().cast(), values.len(), stream)? };
    }
    driver.kernel(&module, name)
}
