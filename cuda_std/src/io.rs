//! Printing from kernels: [`print!`](crate::print!) and [`println!`](crate::println!).
//!
//! On the GPU, CUDA's `vprintf` writes the text to a buffer of the device (1 MiB unless the host sets another size). The
//! driver writes the buffer to the standard output of the process at the next synchronization, copy or load of a module. A
//! full buffer loses text. The CPU executor writes to the standard output at once.
//!
//! On the GPU the message of the first lane that panics in a module is printed the same way: see
//! `CudaBuilder::panic_messages`.
//!
//! A call writes its text as a whole. On the GPU it writes pieces of up to 255 bytes, so the text of another lane may
//! appear inside a longer text. Nothing is allocated. On the host the macros are those of `std`.

#[cfg(target_arch = "nvptx64")]
use core::fmt;

/// Writes the arguments. The macros call this.
#[doc(hidden)]
#[cfg(target_arch = "nvptx64")]
pub fn __print(arguments: fmt::Arguments<'_>) {
    let mut bytes = [0; 256];
    let mut text = Text::new(&mut bytes, usize::MAX);
    // Only a user's `Display` can fail; the text that it wrote before is printed.
    let _ = fmt::Write::write_fmt(&mut text, arguments);
    text.flush();
}

/// The maximum size of a panic's message in bytes. A longer message is cut and ends in `…`.
#[cfg(target_arch = "nvptx64")]
pub(crate) const LIMIT: usize = 4096;

/// A text buffer for `vprintf`, terminated by a zero after each push.
#[cfg(target_arch = "nvptx64")]
pub(crate) struct Text<'a> {
    bytes: &'a mut [u8; 256],
    len: usize,
    /// The number of bytes that may still be added.
    left: usize,
}

#[cfg(target_arch = "nvptx64")]
impl<'a> Text<'a> {
    /// Creates an empty text of at most `limit` bytes, buffered in `bytes`.
    pub(crate) fn new(bytes: &'a mut [u8; 256], limit: usize) -> Self {
        Self {
            bytes,
            len: 0,
            left: limit,
        }
    }

    fn flush(&mut self) {
        if let Some(place) = self.bytes.get_mut(self.len)
            && self.len > 0
        {
            *place = 0;
            crate::imp::print(self.bytes.as_ptr());
            self.len = 0;
            self.close();
        }
    }

    /// Writes the terminating zero.
    fn close(&mut self) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = 0;
        }
    }

    /// Adds `text`, ignoring the limit.
    pub(crate) fn push(&mut self, text: &str) {
        // A zero would end the text.
        for byte in text.bytes().filter(|&byte| byte != 0) {
            if self.len + 1 == self.bytes.len() {
                self.flush();
            }
            // The element always exists; an index would add a panic.
            if let Some(place) = self.bytes.get_mut(self.len) {
                *place = byte;
                self.len += 1;
            }
        }
        // If a panic occurs before the end of the text, the text so far is printed.
        self.close();
    }

    /// Ends the line, with a mark if the text was cut.
    pub(crate) fn end(mut self) {
        self.push(if self.left == 0 { "…\n" } else { "\n" });
        self.flush();
    }
}

#[cfg(target_arch = "nvptx64")]
impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.len() > self.left {
            self.push(&text[..text.floor_char_boundary(self.left)]);
            self.left = 0;
            return Err(fmt::Error);
        }
        self.left -= text.len();
        self.push(text);
        Ok(())
    }
}

/// Prints from a kernel like `std`'s macro. See [`io`](crate::io).
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! print {
    ($($arguments:tt)*) => { $crate::io::__print(::core::format_args!($($arguments)*)) };
}

/// Prints a line from a kernel like `std`'s macro. See [`io`](crate::io).
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($arguments:tt)*) => {
        $crate::io::__print(::core::format_args!("{}\n", ::core::format_args!($($arguments)*)))
    };
}
