//! Printing from kernels: [`print!`](crate::print!) and [`println!`](crate::println!).
//!
//! On the GPU the text goes through CUDA's `vprintf` into a buffer of the device (1 MiB unless the host sets another size),
//! which the driver writes to the standard output of the process at the next synchronisation, copy or load of a module; a
//! full buffer loses text. On the CPU executor it goes to the standard output at once.
//!
//! A call writes its text as a whole, on the GPU in pieces of up to 255 bytes: a longer text of one lane may have that of
//! another in it. Nothing is allocated. On the host the macros are `std`'s own.

#[cfg(target_arch = "nvptx64")]
use core::fmt;

/// Writes the arguments; what the macros call.
#[doc(hidden)]
#[cfg(target_arch = "nvptx64")]
pub fn __print(arguments: fmt::Arguments<'_>) {
    let mut text = Text::new();
    // Only a `Display` of the user's can fail; what it wrote before that is printed.
    let _ = fmt::Write::write_fmt(&mut text, arguments);
    text.flush();
}

/// Text on its way to `vprintf`, closed by a zero.
#[cfg(target_arch = "nvptx64")]
struct Text {
    bytes: [u8; 256],
    len: usize,
}

#[cfg(target_arch = "nvptx64")]
impl Text {
    const fn new() -> Self {
        Self {
            bytes: [0; 256],
            len: 0,
        }
    }

    fn flush(&mut self) {
        if self.len > 0 {
            self.bytes[self.len] = 0;
            crate::imp::print(self.bytes.as_ptr());
            self.len = 0;
        }
    }
}

#[cfg(target_arch = "nvptx64")]
impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            if self.len + 1 == self.bytes.len() {
                self.flush();
            }
            self.bytes[self.len] = byte;
            self.len += 1;
        }
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
