//! The driver calls that an operation needs, issued directly through the driver's functions.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr;

use warpwright::Device;

use super::super::Result;
use super::super::driver::{Driver, Handle};

/// The arguments of a launch: the words, the index of each argument's first word, and the words that hold addresses in the
/// room.
#[derive(Default)]
pub struct Arguments {
    words: Vec<u64>,
    starts: Vec<usize>,
    in_room: Vec<(usize, u64)>,
}

impl Arguments {
    /// Adds an argument of at most 8 bytes, in the low bytes of a word.
    pub fn word(self, word: u64) -> Self {
        self.words(&[word])
    }

    /// Adds an argument of several words.
    pub fn words(mut self, words: &[u64]) -> Self {
        self.starts.push(self.words.len());
        self.words.extend(words);
        self
    }

    /// Adds a view: an address and a length.
    pub fn view(self, address: u64, len: u64) -> Self {
        self.word(address).word(len)
    }

    /// Adds a view that begins `offset` bytes into the room.
    pub fn room(mut self, offset: u64, len: u64) -> Self {
        self.in_room.push((self.words.len(), offset));
        self.view(0, len)
    }
}

/// The one piece of work of an operation.
pub enum Work {
    /// A copy to the start of the room.
    Copy {
        /// The source address.
        from: u64,
        /// The number of bytes.
        bytes: usize,
    },
    /// A launch of one block.
    Launch {
        /// The kernel.
        kernel: Handle,
        /// The threads along x and y.
        block: [u32; 2],
        /// The bytes of dynamic shared memory.
        shared_bytes: u32,
        /// The arguments.
        arguments: Arguments,
    },
}

impl Work {
    /// Makes a launch of one block without dynamic shared memory.
    pub fn launch(kernel: Handle, block: [u32; 2], arguments: Arguments) -> Self {
        Self::Launch {
            kernel,
            block,
            shared_bytes: 0,
            arguments,
        }
    }
}

/// The needs of an operation.
pub struct Needs {
    /// The bytes of device memory (the room) for its results and everything else.
    pub room: usize,
    /// The bytes of the room that must be zero.
    pub clear: Option<Range<usize>>,
    /// Whether these bytes must be cleared each time, because the work changes them.
    pub clear_again: bool,
    /// The work.
    pub work: Work,
    /// The bytes of the room that are copied to the host.
    pub result: Range<usize>,
}

impl Needs {
    /// Makes room for one element of four bytes, which is the result.
    pub fn element(work: Work) -> Self {
        Self {
            room: 4,
            clear: None,
            clear_again: false,
            work,
            result: 0..4,
        }
    }
}

/// An operation by the driver's functions alone, in the stream of one of the library's handles.
pub struct Bare<'a> {
    driver: &'a Driver,
    stream: Handle,
    needs: Needs,
    pointers: Vec<*mut c_void>,
    room: u64,
    /// The address that the bytes of the result count from, if not that of the room.
    elsewhere: Option<u64>,
    bytes: Vec<u8>,
}

impl<'a> Bare<'a> {
    /// Makes the operation, with a room for [`again`](Self::again).
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(driver: &'a Driver, device: &Device, mut needs: Needs) -> Result<Self> {
        let stream = device.cuda_stream().ok_or("a CUDA device required")?;
        let mut pointers = Vec::new();
        if let Work::Launch { arguments, .. } = &mut needs.work {
            let words = arguments.words.as_mut_ptr();
            for start in &arguments.starts {
                // SAFETY: the start of an argument is within the words, which are not moved from here on.
                pointers.push(unsafe { words.add(*start) }.cast());
            }
        }
        let bytes = vec![0; needs.result.len()];
        let mut bare = Self {
            driver,
            stream,
            needs,
            pointers,
            room: 0,
            elsewhere: None,
            bytes,
        };
        bare.room = bare.allocate()?;
        bare.place(bare.room);
        bare.clear(bare.room)?;
        Ok(bare)
    }

    /// Returns the same operation, whose result is not in the room but in memory at this address.
    #[must_use]
    pub fn with_result_at(mut self, address: u64) -> Self {
        self.elsewhere = Some(address);
        self
    }

    /// Runs the operation again in the existing room, and waits.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn again(&mut self) -> Result<()> {
        if self.needs.clear_again {
            self.clear(self.room)?;
        }
        self.work(self.room)?;
        self.wait()
    }

    /// Runs the operation in a new room, including allocation and release, and returns the result on the host.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn once(&mut self) -> Result<&[u8]> {
        let room = self.allocate()?;
        self.place(room);
        self.clear(room)?;
        self.work(room)?;
        self.read(room)?;
        // SAFETY: the room was allocated above and is freed once; the stream is alive.
        unsafe { self.driver.free(room, self.stream)? };
        // The addresses for `again` are restored, which takes a store or two.
        self.place(self.room);
        Ok(&self.bytes)
    }

    /// Returns the result of the last run in the existing room.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn result(&mut self) -> Result<&[u8]> {
        self.read(self.room)?;
        Ok(&self.bytes)
    }

    fn allocate(&self) -> Result<u64> {
        let mut room = 0;
        // SAFETY: the function writes one address.
        unsafe { (self.driver).allocate(&mut room, self.needs.room, self.stream)? };
        Ok(room)
    }

    /// Writes the addresses in the room to the arguments.
    fn place(&mut self, room: u64) {
        if let Work::Launch { arguments, .. } = &mut self.needs.work {
            for (word, offset) in &arguments.in_room {
                // SAFETY: the word belongs to an argument. It is written through the pointer from which the launch reads it.
                unsafe { arguments.words.as_mut_ptr().add(*word).write(room + offset) };
            }
        }
    }

    fn clear(&self, room: u64) -> Result<()> {
        let Some(range) = &self.needs.clear else {
            return Ok(());
        };
        // SAFETY: the bytes are within the room.
        unsafe { (self.driver).set(room + range.start as u64, 0, range.len(), self.stream) }
    }

    fn work(&mut self, room: u64) -> Result<()> {
        match &self.needs.work {
            // SAFETY: both sides have this many bytes.
            Work::Copy { from, bytes } => unsafe {
                self.driver.copy(room, *from, *bytes, self.stream)
            },
            Work::Launch {
                kernel,
                block: [x, y],
                shared_bytes,
                ..
            } => {
                let params = self.pointers.as_mut_ptr();
                // SAFETY: the arguments are the kernel's, as the library passes them: a test compares them.
                unsafe {
                    self.driver.launch(
                        *kernel,
                        1,
                        1,
                        1,
                        *x,
                        *y,
                        1,
                        *shared_bytes,
                        self.stream,
                        params,
                        ptr::null_mut(),
                    )
                }
            }
        }
    }

    fn read(&mut self, room: u64) -> Result<()> {
        let from = self.elsewhere.unwrap_or(room) + self.needs.result.start as u64;
        let to = &mut self.bytes;
        // SAFETY: the result is within the room, or where the caller said, and the host's bytes are not moved until the wait is
        // over.
        unsafe { (self.driver).copy_out(to.as_mut_ptr().cast(), from, to.len(), self.stream)? };
        self.wait()
    }

    fn wait(&self) -> Result<()> {
        // SAFETY: the stream is alive as long as the library's handle.
        unsafe { self.driver.synchronize(self.stream) }
    }
}

impl Drop for Bare<'_> {
    fn drop(&mut self) {
        // A failure here does not affect the times. SAFETY: the room belongs to this operation and is no longer used.
        let _ = unsafe { self.driver.free(self.room, self.stream) };
    }
}
