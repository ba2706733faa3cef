//! The constant tables of a module: what values they hold, and whose work reads them.
//!
//! Work in one stream is in order, so values stay as they are from launch to launch and are copied again only where they
//! are others. Several streams may read the same values at a time; whoever sets others waits for all who read.

use super::error::{CudaError, Result, driver};
use super::stream::{CudaEvent, CudaStream};
use cuda_std::constant::ConstantValues;
use cust::error::CudaError as DriverError;
use cust::sys::{CUdeviceptr, CUmodule};
use std::ffi::CString;
use std::sync::Arc;

/// Streams that read the values at a time, at most: one more waits for them all, and is the only one then.
const MOST_READERS: usize = 8;

/// The tables of a module that were set so far.
#[derive(Default)]
pub(super) struct Tables {
    found: Vec<Table>,
    readers: Vec<Reader>,
    /// An event that no reader needs any more.
    spare: Option<CudaEvent>,
    /// Whether two streams that were both in use have used the tables. Until then no event is recorded: where the only
    /// stream is waited for, the event is recorded at that time.
    shared: bool,
}

/// A table in the device's memory.
struct Table {
    name: &'static str,
    address: CUdeviceptr,
    bytes: usize,
    /// The values at its start; none where they are not known.
    values: Option<Vec<u8>>,
}

/// A stream whose work reads the tables as they are.
struct Reader {
    stream: u64,
    until: Until,
}

/// When the reading is done.
enum Until {
    /// With all that is in the stream.
    Now(Arc<CudaStream>),
    /// With the work before the event.
    Marked(CudaEvent),
}

impl Tables {
    /// Queues setting the tables to `constants`, where they hold others or `always`, and `work`, which reads them.
    ///
    /// # Errors
    /// As for [`CudaModule::with_constants`](super::CudaModule::with_constants).
    ///
    /// # Safety
    /// `module` is loaded, and always the same. Unless `always`, the values have no padding.
    pub(super) unsafe fn with(
        &mut self,
        module: CUmodule,
        stream: &Arc<CudaStream>,
        constants: &[ConstantValues<'_>],
        always: bool,
        work: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let mut changes = Vec::new();
        for values in constants {
            // SAFETY: by the contract.
            let table = unsafe { self.find(module, values) }?;
            // SAFETY: by the contract.
            if always || !unsafe { self.found[table].holds(values) } {
                changes.push((table, values));
            }
        }
        self.admit(stream, !changes.is_empty())?;
        let queued = changes
            .into_iter()
            .try_for_each(|(table, values)| self.found[table].set(stream, values, always))
            .and_then(|()| work());
        // What was queued before an error is to be waited for as well.
        queued.and(self.mark(stream))
    }

    /// The place of a table that has room for the values.
    ///
    /// # Safety
    /// As for [`with`](Self::with).
    unsafe fn find(&mut self, module: CUmodule, values: &ConstantValues<'_>) -> Result<usize> {
        let name = values.name();
        let place = match self.found.iter().position(|table| table.name == name) {
            Some(place) => place,
            None => {
                let Ok(text) = CString::new(name) else {
                    return Err(wrong(values)(misfit()));
                };
                let (mut address, mut bytes) = (0, 0);
                // SAFETY: the function writes an address and a size; the name is a C string and the module alive.
                unsafe {
                    driver!(cuModuleGetGlobal(
                        &mut address,
                        &mut bytes,
                        module,
                        text.as_ptr()
                    ))
                }
                .map_err(wrong(values))?;
                self.found.push(Table {
                    name,
                    address,
                    bytes,
                    values: None,
                });
                self.found.len() - 1
            }
        };
        if values.bytes() > self.found[place].bytes {
            return Err(wrong(values)(misfit()));
        }
        Ok(place)
    }

    /// Has `stream` wait until it may read the tables as they are, or change them, and notes that it does.
    fn admit(&mut self, stream: &Arc<CudaStream>, changes: bool) -> Result<()> {
        let own = self
            .readers
            .iter()
            .position(|reader| reader.stream == stream.id());
        if let [
            Reader {
                until: Until::Now(only),
                ..
            },
        ] = self.readers.as_slice()
        {
            // A stream that nobody else has any more will not come again.
            self.shared |= own.is_none() && Arc::strong_count(only) > 1;
        }
        let alone =
            changes || (own.is_none() && self.readers.len() >= MOST_READERS) || !self.shared;
        // Every reader's work comes behind the setting of what it reads: to read the same, waiting for one will do.
        let awaited = match (alone, own) {
            (true, _) => self.readers.len(),
            (false, Some(_)) => 0,
            (false, None) => self.readers.len().min(1),
        };
        for reader in &mut self.readers[..awaited] {
            if reader.stream != stream.id() {
                stream.wait(reader.event(&mut self.spare)?)?;
            }
        }
        if alone {
            for reader in self.readers.extract_if(.., |it| it.stream != stream.id()) {
                if let (Until::Marked(event), true) = (reader.until, self.shared) {
                    self.spare = Some(event);
                }
            }
        }
        if own.is_none() {
            self.readers.push(Reader {
                stream: stream.id(),
                until: Until::Now(stream.clone()),
            });
        }
        Ok(())
    }

    /// Marks the end of what was queued, where others may have to wait for it.
    fn mark(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        if !self.shared {
            return Ok(());
        }
        let Some(reader) = self.readers.iter_mut().find(|it| it.stream == stream.id()) else {
            return Ok(());
        };
        let marked = match &reader.until {
            Until::Marked(event) => event.record(stream),
            Until::Now(_) => reader.event(&mut self.spare).map(drop),
        };
        // If it cannot be waited for by an event, it is waited for here.
        marked.or_else(|error| stream.synchronize().and(Err(error)))
    }
}

impl Reader {
    /// An event behind the reader's work.
    fn event(&mut self, spare: &mut Option<CudaEvent>) -> Result<&CudaEvent> {
        if let Until::Now(stream) = &self.until {
            let event = match spare.take() {
                Some(event) => event,
                None => CudaEvent::without_timing(stream.context())?,
            };
            event.record(stream)?;
            self.until = Until::Marked(event);
        }
        match &self.until {
            Until::Marked(event) => Ok(event),
            Until::Now(_) => unreachable!("marked above"),
        }
    }
}

impl Table {
    /// Whether these values are at its start.
    ///
    /// # Safety
    /// The values have no padding.
    unsafe fn holds(&self, values: &ConstantValues<'_>) -> bool {
        // SAFETY: readable while the values live; without padding every byte is one.
        let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr(), values.bytes()) };
        self.values
            .as_ref()
            .is_some_and(|held| held.starts_with(bytes))
    }

    /// Queues setting it.
    fn set(
        &mut self,
        stream: &CudaStream,
        values: &ConstantValues<'_>,
        padded: bool,
    ) -> Result<()> {
        // The driver reads pinned memory later and other memory now, so it gets a copy.
        let mut copy = Vec::<u8>::with_capacity(values.bytes());
        self.values = None;
        // SAFETY: the values are readable and the copy has room for them; the copy goes to a table that
        // is large enough, in the order that the caller keeps.
        unsafe {
            std::ptr::copy_nonoverlapping(values.as_ptr(), copy.as_mut_ptr(), values.bytes());
            stream.copy_to_device(self.address, copy.as_ptr(), values.bytes())
        }
        .map_err(wrong(values))?;
        if !padded {
            // SAFETY: written above, every byte of them.
            unsafe { copy.set_len(values.bytes()) };
            self.values = Some(copy);
        }
        Ok(())
    }
}

fn misfit() -> CudaError {
    CudaError::new("cuModuleGetGlobal", DriverError::InvalidValue)
}

fn wrong(values: &ConstantValues<'_>) -> impl Fn(CudaError) -> CudaError + use<> {
    let (name, bytes) = (values.name(), values.bytes());
    move |error| {
        error.with(format_args!(
            "constant table `{name}`, to be set to {bytes} bytes"
        ))
    }
}
