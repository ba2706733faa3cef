//! Printing from kernels: [`print!`](crate::print!) and [`println!`](crate::println!).
//!
//! On the GPU the text goes through CUDA's `vprintf` into a buffer of the device (1 MiB unless the host sets another size),
//! which the driver writes to the standard output of the process at the next synchronisation, copy or load of a module; a
//! full buffer loses text. On the CPU executor it goes to the standard output at once.
//!
//! A panic's message goes the same way on the GPU, of the first lane that panics in a module: see
//! `CudaBuilder::panic_messages`.
//!
//! A call writes its text as a whole, on the GPU in pieces of up to 255 bytes: a longer text of one lane may have that of
//! another in it. Nothing is allocated. On the host the macros are `std`'s own.

#[cfg(target_arch = "nvptx64")]
use core::fmt;

/// Writes the arguments; what the macros call.
#[doc(hidden)]
#[cfg(target_arch = "nvptx64")]
pub fn __print(arguments: fmt::Arguments<'_>) {
    let mut bytes = [0; 256];
    let mut text = Text::new(&mut bytes, usize::MAX);
    // Only a `Display` of the user's can fail; what it wrote before that is printed.
    let _ = fmt::Write::write_fmt(&mut text, arguments);
    text.flush();
}

/// Most bytes of a panic's message; what is longer is cut and ends in `…`.
#[cfg(target_arch = "nvptx64")]
pub(crate) const LIMIT: usize = 4096;

/// Text on its way to `vprintf`, closed by a zero after each push.
#[cfg(target_arch = "nvptx64")]
pub(crate) struct Text<'a> {
    bytes: &'a mut [u8; 256],
    len: usize,
    /// Bytes that there is still room for.
    left: usize,
}

#[cfg(target_arch = "nvptx64")]
impl<'a> Text<'a> {
    /// An empty text of at most `limit` bytes, which go through `bytes`.
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

    /// Writes the zero behind the text.
    fn close(&mut self) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = 0;
        }
    }

    /// Adds a text, whatever room there is.
    pub(crate) fn push(&mut self, text: &str) {
        // A zero would end the text.
        for byte in text.bytes().filter(|&byte| byte != 0) {
            if self.len + 1 == self.bytes.len() {
                self.flush();
            }
            // Always there: a check would be one more panic.
            if let Some(place) = self.bytes.get_mut(self.len) {
                *place = byte;
                self.len += 1;
            }
        }
        // A panic on the way to the end of the text prints what is there.
        self.close();
    }

    /// Ends the line, with a mark where the text was cut.
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

/// Prints from a kernel, as `std`'s macro does: see [`io`](crate::io).
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! print {
    ($($arguments:tt)*) => { $crate::io::__print(::core::format_args!($($arguments)*)) };
}

/// Prints a line from a kernel, as `std`'s macro does: see [`io`](crate::io).
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($arguments:tt)*) => {
        $crate::io::__print(::core::format_args!("{}\n", ::core::format_args!($($arguments)*)))
    };
}
