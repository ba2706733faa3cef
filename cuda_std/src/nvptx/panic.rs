//! The panic handler: it prints the location and the message, then ends the launch with an error.
//!
//! A build without messages (`PanicMessages::None` of the builder) has no handler: its panics trap in place. `Place`, the
//! default, leaves the formatting of numbers to `vprintf`, which formats on the host: `core::fmt` calls through pointers,
//! so it takes the registers of the whole kernel. `Full` uses `core::fmt`.

use core::{ffi::c_char, panic::PanicInfo, sync::atomic::Ordering};

use super::{
    Place, atomic, block_dim, block_idx, fence_system, grid_dim, nanosleep, thread_idx, vprintf,
};
use crate::{
    atomic::{How, Scope, Space},
    io::{LIMIT, Text},
};

/// The maximum number of rounds of [`ROUND`] nanoseconds that a lane waits for another lane's message: about a second.
const ROUNDS: u32 = 1 << 16;
const ROUND: u32 = 16_384;

/// The number of the lane that writes the message, plus one; 0 before the first panic. After a panic the device's context
/// is unusable, so nothing resets it.
static mut WRITER: u64 = 0;
/// Whether the message has been written.
static mut WRITTEN: u32 = 0;
/// The buffer of the message. It may not fit on a lane's stack, which has 1 KiB unless the host sets another size.
static mut BYTES: [u8; 256] = [0; 256];

const fn how(order: Ordering) -> How {
    How {
        space: Space::Generic,
        order,
        scope: Scope::Device,
        place: Place,
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    if cfg!(not(panic = "immediate-abort")) {
        let place = info.location();
        let place = Location {
            file: place.map_or(c"?", |place| place.file_as_c_str()).as_ptr(),
            line: place.map_or(0, |place| place.line()),
            column: place.map_or(0, |place| place.column()),
        };
        // Only the constant text of the message is used, so the optimizer sees that nothing reads the arguments and drops
        // the code that would format them.
        #[cfg(not(cuda_std_panic_messages = "full"))]
        report(place, info.message().as_str());
        #[cfg(cuda_std_panic_messages = "full")]
        report(place, info);
    }
    super::trap()
}

/// The source location of a panic.
#[repr(C)]
struct Location {
    file: *const c_char,
    line: u32,
    column: u32,
}

/// Writes the message of the first lane that panics. Other lanes wait, since a trap would also end the lane that writes.
#[cold]
#[inline(never)]
fn report(place: Location, message: impl Message) {
    let me = lane() + 1;
    // SAFETY: the statics live as long as the module, and all lanes access these two atomically.
    unsafe {
        let writer = atomic::u64::cas(&raw mut WRITER, 0, me, how(Ordering::Relaxed));
        if writer == me {
            // A panic inside the formatting of a panic's message: print the message so far.
            super::print((&raw const BYTES).cast());
            super::print(c"\n".as_ptr().cast());
            return;
        }
        if writer != 0 {
            for _ in 0..ROUNDS {
                if atomic::u32::load(&raw mut WRITTEN, how(Ordering::Relaxed)) != 0 {
                    break;
                }
                nanosleep(ROUND);
            }
            return;
        }
    }
    head(place);
    // SAFETY: no other lane reaches this.
    let mut text = Text::new(unsafe { &mut *(&raw mut BYTES) }, LIMIT);
    message.write(&mut text);
    text.end();
    fence_system();
    // SAFETY: as above.
    unsafe { atomic::u32::store(&raw mut WRITTEN, 1, how(Ordering::Relaxed)) }
}

/// Writes the lane and the location of the panic.
fn head(place: Location) {
    /// The arguments of `vprintf`, in order.
    #[repr(C)]
    struct Arguments {
        block: [u32; 3],
        lane: [u32; 3],
        place: Location,
    }
    let arguments = Arguments {
        block: [block_idx::<0>(), block_idx::<1>(), block_idx::<2>()],
        lane: [thread_idx::<0>(), thread_idx::<1>(), thread_idx::<2>()],
        place,
    };
    let format = c"block (%u, %u, %u), lane (%u, %u, %u): panicked at %s:%u:%u:\n";
    // SAFETY: the arguments match the format.
    unsafe { vprintf(format.as_ptr().cast(), (&raw const arguments).cast()) };
}

/// A panic's message.
trait Message {
    fn write(self, text: &mut Text<'_>);
}

impl Message for Option<&str> {
    /// Writes the message if it is a constant; a message that needs formatting is not written.
    fn write(self, text: &mut Text<'_>) {
        text.push(self.unwrap_or("a message that `PanicMessages::Full` shows"));
    }
}

impl Message for &PanicInfo<'_> {
    fn write(self, text: &mut Text<'_>) {
        // Only a user's `Display` can fail; the text that it wrote before is printed.
        let _ = core::fmt::Write::write_fmt(text, format_args!("{}", self.message()));
    }
}

/// Returns the number of the lane in the launch.
fn lane() -> u64 {
    let number = |[x, y, z]: [u32; 3], [wide, high]: [u32; 2]| {
        u64::from(x) + u64::from(wide) * (u64::from(y) + u64::from(high) * u64::from(z))
    };
    let block = number(
        [block_idx::<0>(), block_idx::<1>(), block_idx::<2>()],
        [grid_dim::<0>(), grid_dim::<1>()],
    );
    let thread = number(
        [thread_idx::<0>(), thread_idx::<1>(), thread_idx::<2>()],
        [block_dim::<0>(), block_dim::<1>()],
    );
    let threads = block_dim::<0>() * block_dim::<1>() * block_dim::<2>();
    block * u64::from(threads) + thread
}
