//! Clocks and debugging as instructions.

use core::arch::asm;

#[inline(always)]
pub fn breakpoint() {
    // SAFETY: the instruction only stops for a debugger.
    unsafe { asm!("brkpt;", options(nomem, nostack, preserves_flags)) }
}

macro_rules! pmevent {
    ($number:literal) => {
        // SAFETY: the instruction only increments a counter.
        unsafe {
            asm!(
                concat!("pmevent ", $number, ";"),
                options(nomem, nostack, preserves_flags)
            )
        }
    };
}

#[inline(always)]
pub fn profiler_counter(counter: u32) {
    // The instruction only takes a constant.
    match counter {
        0 => pmevent!(0),
        1 => pmevent!(1),
        2 => pmevent!(2),
        3 => pmevent!(3),
        4 => pmevent!(4),
        5 => pmevent!(5),
        6 => pmevent!(6),
        _ => pmevent!(7),
    }
}

// The instruction is not `nomem`, so that it stays between the memory accesses that it times.

#[inline(always)]
pub fn clock() -> u64 {
    let cycles: u64;
    // SAFETY: the instruction reads a special register.
    unsafe { asm!("mov.u64 {0}, %clock64;", out(reg64) cycles, options(nostack, preserves_flags)) }
    cycles
}

#[inline(always)]
pub fn global_timer() -> u64 {
    let nanos: u64;
    // SAFETY: the instruction reads a special register.
    unsafe {
        asm!("mov.u64 {0}, %globaltimer;", out(reg64) nanos, options(nostack, preserves_flags))
    }
    nanos
}

/// Returns the high and the low half of the product. With a 64-bit product, LLVM would widen the computations on the halves
/// to 64 bits.
#[inline(always)]
pub fn wide_product(a: u32, b: u32) -> (u32, u32) {
    let (high, low): (u32, u32);
    // SAFETY: the instruction is arithmetic on registers.
    unsafe {
        asm!(
            "{{ .reg .b64 product; mul.wide.u32 product, {2}, {3}; mov.b64 {{{1}, {0}}}, product; }}",
            out(reg32) high,
            out(reg32) low,
            in(reg32) a,
            in(reg32) b,
            options(pure, nomem, nostack, preserves_flags)
        )
    }
    (high, low)
}

#[inline(always)]
pub fn byte_permute(low: u32, high: u32, selector: u32) -> u32 {
    let bytes: u32;
    // SAFETY: the instruction is arithmetic on registers.
    unsafe {
        asm!(
            "prmt.b32 {0}, {1}, {2}, {3};",
            out(reg32) bytes,
            in(reg32) low,
            in(reg32) high,
            in(reg32) selector,
            options(pure, nomem, nostack, preserves_flags)
        )
    }
    bytes
}

macro_rules! dp4a {
    ($($name:ident: $ty:ident, $instruction:literal;)*) => { $(
        #[inline(always)]
        pub fn $name(a: $ty, b: $ty, sum: $ty) -> $ty {
            let result: $ty;
            // SAFETY: the instruction is arithmetic on registers.
            unsafe {
                asm!(
                    concat!($instruction, " {0}, {1}, {2}, {3};"),
                    out(reg32) result,
                    in(reg32) a,
                    in(reg32) b,
                    in(reg32) sum,
                    options(pure, nomem, nostack, preserves_flags)
                )
            }
            result
        }
    )* };
}
dp4a! {
    dp4a_u32: u32, "dp4a.u32.u32";
    dp4a_i32: i32, "dp4a.s32.s32";
}
