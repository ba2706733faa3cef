//! What a panic does: where it is and what it says is printed, then the launch ends with an error.
//!
//! A build without messages (`PanicMessages::None` of the builder) has none of this: its panics trap where they are. `Place`,
//! the default, leaves the formatting of numbers to `vprintf`, which does it on the host: what `core::fmt` formats, by calls
//! through pointers, takes the registers of the whole kernel. `Full` does that.

use core::{ffi::c_char, panic::PanicInfo, sync::atomic::Ordering};

use super::{
    Place, atomic, block_dim, block_idx, fence_system, grid_dim, nanosleep, thread_idx, vprintf,
};
use crate::{
    atomic::{How, Scope, Space},
    io::{LIMIT, Text},
};

/// Most rounds of [`ROUND`] nanoseconds in which a lane waits for another one's message: about a second.
const ROUNDS: u32 = 1 << 16;
const ROUND: u32 = 16_384;

/// The number of the lane that writes the message, plus one; 0 before the first panic. After it the device's
/// context is of no use, so nothing sets it back.
static mut WRITER: u64 = 0;
/// Whether the message is written.
static mut WRITTEN: u32 = 0;
/// The message, which a lane's stack may have no room for: it has 1 KiB unless the host sets another size.
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
        // No more than that of the message: so the optimiser sees that nothing reads the arguments, and drops what would
        // format them.
        #[cfg(not(cuda_std_panic_messages = "full"))]
        report(place, info.message().as_str());
        #[cfg(cuda_std_panic_messages = "full")]
        report(place, info);
    }
    super::trap()
}

/// Where a panic is.
#[repr(C)]
struct Location {
    file: *const c_char,
    line: u32,
    column: u32,
}

/// Writes the message of the first lane that panics. The others wait: who traps ends the lane that writes, too.
#[cold]
#[inline(never)]
fn report(place: Location, message: impl Message) {
    let me = lane() + 1;
    // SAFETY: the statics are there as long as the module, and all lanes reach these two by atomic operations.
    unsafe {
        let writer = atomic::u64::cas(&raw mut WRITER, 0, me, how(Ordering::Relaxed));
        if writer == me {
            // A panic in the message of a panic: what is there of that is printed.
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
    // SAFETY: no other lane comes here.
    let mut text = Text::new(unsafe { &mut *(&raw mut BYTES) }, LIMIT);
    message.write(&mut text);
    text.end();
    fence_system();
    // SAFETY: as above.
    unsafe { atomic::u32::store(&raw mut WRITTEN, 1, how(Ordering::Relaxed)) }
}

/// Writes which lane panics, and where.
fn head(place: Location) {
    /// What `vprintf` reads, one after the other.
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
    // SAFETY: the arguments are those that the format names.
    unsafe { vprintf(format.as_ptr().cast(), (&raw const arguments).cast()) };
}

/// What a panic says.
trait Message {
    fn write(self, text: &mut Text<'_>);
}

impl Message for Option<&str> {
    /// A text that is there is written; one that would have to be made is not.
    fn write(self, text: &mut Text<'_>) {
        text.push(self.unwrap_or("a message that `PanicMessages::Full` shows"));
    }
}

impl Message for &PanicInfo<'_> {
    fn write(self, text: &mut Text<'_>) {
        // Only a `Display` of the user's can fail; what it wrote before that is printed.
        let _ = core::fmt::Write::write_fmt(text, format_args!("{}", self.message()));
    }
}

/// The number of the lane in the launch.
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
