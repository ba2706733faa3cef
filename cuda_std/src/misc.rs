//! Clocks, traps and debugging, and the bytes of words.

use crate::imp;

/// Stops at this point under a debugger. Without one a GPU may take it as an error; on the CPU executor
/// it does nothing.
#[inline(always)]
pub fn breakpoint() {
    imp::misc::breakpoint();
}

/// Adds one per warp to the hardware's profiler counter `counter`, 0 to 7. Nothing on the CPU executor.
///
/// # Panics
/// With any other `counter`.
#[inline(always)]
pub fn profiler_counter(counter: u32) {
    assert!(counter <= 7, "a profiler counter must be 0 to 7");
    imp::misc::profiler_counter(counter);
}

/// The clock of the multiprocessor that the lane runs on, in cycles. On the CPU executor nanoseconds
/// since some moment.
#[inline(always)]
pub fn clock() -> u64 {
    imp::misc::clock()
}

/// A clock that is the same for the whole device, in nanoseconds; it may step by a microsecond or so.
#[inline(always)]
pub fn global_timer() -> u64 {
    imp::misc::global_timer()
}

/// Ends the launch with an error. The CPU executor says where.
#[inline(always)]
#[track_caller]
pub fn trap() -> ! {
    imp::trap()
}

/// Four of the eight bytes of `low` (bytes 0 to 3) and `high` (bytes 4 to 7): byte `i` of the result is the one
/// that the hexadecimal digit `i` of `selector` names, counted from the lowest. A digit of 8 or more gives the
/// sign of byte `digit - 8`, spread over 8 bits. One instruction on the GPU (`prmt`).
#[inline(always)]
pub fn byte_permute(low: u32, high: u32, selector: u32) -> u32 {
    imp::misc::byte_permute(low, high, selector)
}
