//! Clocks and debugging functions on the CPU executor.

use std::{sync::OnceLock, time::Instant};

pub fn breakpoint() {}

pub fn profiler_counter(_counter: u32) {}

pub fn clock() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

pub fn global_timer() -> u64 {
    clock()
}

pub fn wide_product(a: u32, b: u32) -> (u32, u32) {
    let product = u64::from(a) * u64::from(b);
    ((product >> 32) as u32, product as u32)
}

pub fn byte_permute(low: u32, high: u32, selector: u32) -> u32 {
    let bytes = (u64::from(high) << 32 | u64::from(low)).to_le_bytes();
    u32::from_le_bytes(std::array::from_fn(|i| {
        let digit = (selector >> (4 * i)) as usize & 0xf;
        let byte = bytes[digit & 7];
        if digit < 8 {
            byte
        } else {
            ((byte as i8) >> 7) as u8
        }
    }))
}
