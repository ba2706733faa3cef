//! Clocks, traps, debugging, byte permutation, and products of bytes.

use crate::imp;

/// Stops in a debugger. Without a debugger, a GPU may report an error; the CPU executor does nothing.
#[inline(always)]
pub fn breakpoint() {
    imp::misc::breakpoint();
}

/// Increments the hardware's profiler counter `counter`, 0 to 7, once per warp. Does nothing on the CPU executor.
///
/// # Panics
/// Panics for any other `counter`.
#[inline(always)]
pub fn profiler_counter(counter: u32) {
    assert!(counter <= 7, "a profiler counter must be 0 to 7");
    imp::misc::profiler_counter(counter);
}

/// Returns the clock of the lane's multiprocessor, in cycles. On the CPU executor it returns nanoseconds since an arbitrary
/// start.
#[inline(always)]
pub fn clock() -> u64 {
    imp::misc::clock()
}

/// Returns the device-wide clock in nanoseconds. Its resolution may be about a microsecond.
#[inline(always)]
pub fn global_timer() -> u64 {
    imp::misc::global_timer()
}

/// Ends the launch with an error. The CPU executor reports the source line.
#[inline(always)]
#[track_caller]
pub fn trap() -> ! {
    imp::trap()
}

/// Selects four of the eight bytes of `low` (bytes 0 to 3) and `high` (bytes 4 to 7). Byte `i` of the result is the byte
/// that hexadecimal digit `i` of `selector` names, counted from the lowest. A digit of 8 or more gives the sign of byte
/// `digit - 8`, replicated over 8 bits. One instruction on the GPU (`prmt`).
#[inline(always)]
pub fn byte_permute(low: u32, high: u32, selector: u32) -> u32 {
    imp::misc::byte_permute(low, high, selector)
}

/// Returns `sum` plus the products of the four bytes of `a` with those of `b`, as unsigned numbers, modulo 2^32. One
/// instruction on the GPU (`dp4a.u32.u32`).
#[inline(always)]
pub fn dp4a_u32(a: u32, b: u32, sum: u32) -> u32 {
    imp::misc::dp4a_u32(a, b, sum)
}

/// Returns `sum` plus the products of the four bytes of `a` with those of `b`, as signed numbers, modulo 2^32. One
/// instruction on the GPU (`dp4a.s32.s32`).
#[inline(always)]
pub fn dp4a_i32(a: i32, b: i32, sum: i32) -> i32 {
    imp::misc::dp4a_i32(a, b, sum)
}
