//! `Vec`, `Box`, `String`, `format!`, and memory of `malloc`.

use core::ffi::c_void;

use cuda_std::{mem, prelude::*};

/// Numbers that [`of`] gives.
pub const RESULTS: usize = 6;

/// More than `malloc` aligns to.
#[repr(align(256))]
struct Aligned([u8; 300]);

/// What a program makes of a number with collections.
pub fn of(number: u32) -> [u64; RESULTS] {
    let mut values: Vec<u32> = (0..20)
        .map(|i| number.wrapping_mul(2_654_435_761) >> i & 0xff)
        .collect();
    values.sort_unstable();
    // It grows more than once.
    for i in 0..100 {
        values.push(i);
    }
    let sum = values.iter().map(|&value| u64::from(value)).sum::<u64>();

    let text = format!("{number:>5}|{:x}|{:?}", number * 3, &values[..3]);
    let words: Vec<String> = text.split('|').map(|word| word.trim().to_owned()).collect();
    let read: u32 = words[0].parse().unwrap_or(u32::MAX);
    let bytes = text
        .bytes()
        .fold(0_u64, |hash, byte| hash * 31 % 1_000_003 + u64::from(byte));

    let functions: [Box<dyn Fn(u64) -> u64>; 2] = [
        Box::new(|x| x + 1),
        Box::new(move |x| x * u64::from(number)),
    ];
    let called = functions.iter().fold(2, |value, function| function(value));

    let mut aligned = vec![Aligned([0; 300]), Aligned([1; 300])];
    aligned[1].0[299] = number as u8;
    let aside = aligned
        .iter()
        .filter(|value| !core::ptr::from_ref(*value).addr().is_multiple_of(256))
        .count();
    let last = aligned
        .pop()
        .map_or(0, |value| u64::from(value.0[299]) + u64::from(value.0[0]));

    [sum, u64::from(read), bytes, called, aside as u64, last]
}

/// [`of`] each lane's number.
#[kernel]
pub unsafe fn collections(output: GlobalMut<u64>) {
    let i = thread::index_1d_wide();
    for (k, value) in of(i as u32).into_iter().enumerate() {
        output.set(RESULTS * i + k, value);
    }
}

/// Each lane leaves `malloc`'s memory with its number in it to the next launch: the pointers are in `pointers`.
#[kernel]
pub unsafe fn leave(pointers: GlobalMut<u64>) {
    let i = thread::index_1d_wide();
    // SAFETY: room for the number, aligned to 16 bytes.
    unsafe {
        let place = mem::malloc(8).cast::<u64>();
        if !place.is_null() {
            place.write(i as u64 * 3);
        }
        pointers.set(i, place.addr() as u64);
    }
}

/// Each lane takes the number that [`leave`] left at its pointer, and gives the memory back; all bits are set where the pointer
/// is null or not aligned.
#[kernel]
pub unsafe fn take(pointers: GlobalMut<u64>) {
    let i = thread::index_1d_wide();
    let place = pointers.get(i) as usize as *mut u64;
    if place.is_null() || !place.addr().is_multiple_of(16) {
        pointers.set(i, u64::MAX);
        return;
    }
    // SAFETY: by `leave`.
    unsafe {
        pointers.set(i, place.read());
        mem::free(place.cast::<c_void>());
    }
}
