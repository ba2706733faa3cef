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

pub fn dp4a_u32(a: u32, b: u32, sum: u32) -> u32 {
    let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    products.fold(sum, |sum, (a, b)| {
        sum.wrapping_add(u32::from(a) * u32::from(b))
    })
}

pub fn dp4a_i32(a: i32, b: i32, sum: i32) -> i32 {
    let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    products.fold(sum, |sum, (a, b)| {
        sum.wrapping_add(i32::from(a as i8) * i32::from(b as i8))
    })
}
