//! The constant tables of a module: their values, and the streams whose work reads them.
//!
//! Work in one stream is in order, so values stay the same from launch to launch and are copied again only if they change.
//! Several streams can read the same values at a time. A stream that changes values waits for all readers.

use super::error::{CudaError, Result, driver};
use super::stream::{CudaEvent, CudaStream};
use cuda_std::constant::ConstantValues;
use cust::error::CudaError as DriverError;
use cust::sys::{CUdeviceptr, CUmodule};
use std::ffi::CString;
use std::sync::Arc;

/// The most streams that read the values at a time. One more waits for them all and is then the only one.
const MOST_READERS: usize = 8;

/// The tables of a module that were set so far.
#[derive(Default)]
pub(super) struct Tables {
    found: Vec<Table>,
    readers: Vec<Reader>,
    /// An event for reuse, which no reader needs any more.
    spare: Option<CudaEvent>,
    /// Whether two streams, both still in use, have used the tables. Until then no event is recorded: if the only stream
    /// must be waited for, the event is recorded at that time.
    shared: bool,
}

/// A table in device memory.
struct Table {
    name: &'static str,
    address: CUdeviceptr,
    bytes: usize,
    /// The values at the table's start. `None` if they are unknown.
    values: Option<Vec<u8>>,
}

/// A stream whose work reads the tables as they are.
struct Reader {
    stream: u64,
    until: Until,
}

/// When a stream's reading is done.
enum Until {
    /// When all work in the stream is done.
    Now(Arc<CudaStream>),
    /// When the work before the event is done.
    Marked(CudaEvent),
}

impl Tables {
    /// Queues `work`, which reads the tables, after setting them to `constants` if they hold other values or if `always` is
    /// true.
    ///
    /// # Errors
    /// As for [`CudaModule::with_constants`](super::CudaModule::with_constants).
    ///
    /// # Safety
    /// `module` must be loaded, and must always be the same. Unless `always` is true, the values must have no padding.
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
        // Work that was queued before an error must be waited for as well.
        queued.and(self.mark(stream))
    }

    /// Returns the index of a table that has room for the values.
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

    /// Makes `stream` wait until it can read the tables as they are, or change them. Notes it as a reader.
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
            // A stream that nothing else holds any more will not return.
            self.shared |= own.is_none() && Arc::strong_count(only) > 1;
        }
        // Nothing may refer to a borrowed stream once its handle is gone: an event is behind each of its uses.
        self.shared |= stream.is_borrowed();
        let alone =
            changes || (own.is_none() && self.readers.len() >= MOST_READERS) || !self.shared;
        // Every reader's work comes after the setting of what it reads. To read the same values, waiting for one reader is
        // therefore enough.
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

    /// Marks the end of the queued work, if others may have to wait for it.
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
        // If no event can be recorded for others to wait for, the work is waited for here.
        marked.or_else(|error| {
            self.readers
                .retain(|reader| !(stream.is_borrowed() && reader.stream == stream.id()));
            stream.synchronize().and(Err(error))
        })
    }
}

impl Reader {
    /// Returns an event after the reader's work.
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
    /// Returns whether the table starts with these values.
    ///
    /// # Safety
    /// The values must have no padding.
    unsafe fn holds(&self, values: &ConstantValues<'_>) -> bool {
        // SAFETY: the values are readable while they live; without padding every byte is initialized.
        let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr(), values.bytes()) };
        self.values
            .as_ref()
            .is_some_and(|held| held.starts_with(bytes))
    }

    /// Queues setting the table.
    fn set(
        &mut self,
        stream: &CudaStream,
        values: &ConstantValues<'_>,
        padded: bool,
    ) -> Result<()> {
        // The driver reads pinned memory later and other memory now, so it is given a copy that is not pinned.
        let mut copy = Vec::<u8>::with_capacity(values.bytes());
        self.values = None;
        // SAFETY: the values are readable and the copy has room for them. The copy goes to a table that is large enough, in
        // the order that the caller ensures.
        unsafe {
            std::ptr::copy_nonoverlapping(values.as_ptr(), copy.as_mut_ptr(), values.bytes());
            stream.copy_to_device(self.address, copy.as_ptr(), values.bytes())
        }
        .map_err(wrong(values))?;
        if !padded {
            // SAFETY: every byte was written above.
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
