//! Jumping ahead in XORWOW's shift register: many steps at once.
//!
//! A step is a linear map `A` of the register's 160 bits over GF(2). `A` satisfies its own characteristic polynomial `c`,
//! so `A^n = p(A)`, where `p = x^n mod c` has at most 160 terms (Haramoto, Matsumoto, Nishimura, Panneton, L'Ecuyer,
//! "Efficient jump ahead for F2-linear random number generators", 2008). A distance is stored as its `p`: five words, where
//! the matrix has 800. The compiler computes the polynomials of the powers of two here, from the recurrence alone.
//!
//! ```text
//! jump(register, n):      for each set bit i of n:     register = apply(register, x^(2^i) mod c)
//! apply(register, p):     for i = 0 .. 159:            if x^i is in p: result ^= register
//!                                                      register = step(register)
//! ```

/// A polynomial of degree below 160: bit `i` of word `w` is the coefficient of `x^(32 w + i)`.
type Polynomial = [u32; 5];

/// The number of bits of the register.
const BITS: usize = 160;

/// `x^(2^i) mod c`: the jumps for each bit of a number of words.
pub static OFFSETS: [Polynomial; 64] = powers(0);
/// `x^(2^(67 + i)) mod c`: the jumps for each bit of a number of sequences.
pub static SEQUENCES: [Polynomial; 64] = powers(67);

/// Returns the register after one step.
#[inline(always)]
pub const fn step(register: [u32; 5]) -> [u32; 5] {
    let [a, b, c, d, e] = register;
    let mixed = a ^ (a >> 2);
    [b, c, d, e, (e ^ (e << 4)) ^ (mixed ^ (mixed << 1))]
}

/// Returns the register after `count` times the distance whose powers are given.
#[inline]
pub fn jump(register: [u32; 5], count: u64, powers: &'static [Polynomial; 64]) -> [u32; 5] {
    let (mut register, mut count, mut bit) = (register, count, 0);
    while count != 0 {
        if count & 1 != 0 {
            register = apply(register, &powers[bit]);
        }
        count >>= 1;
        bit += 1;
    }
    register
}

/// Returns `p(A)` times the register: the sum of `A^i` times the register over the terms `x^i` of `p`.
#[inline]
fn apply(register: [u32; 5], polynomial: &'static Polynomial) -> [u32; 5] {
    let [mut a, mut b, mut c, mut d, mut e] = [0; 5];
    let mut register = register;
    for word in 0..5 {
        let mut bits = polynomial[word];
        for _ in 0..32 {
            let mask = (bits & 1).wrapping_neg();
            a ^= register[0] & mask;
            b ^= register[1] & mask;
            c ^= register[2] & mask;
            d ^= register[3] & mask;
            e ^= register[4] & mask;
            register = step(register);
            bits >>= 1;
        }
    }
    [a, b, c, d, e]
}

/// Returns `x^(2^(first + i)) mod c` for `i` from 0 to 63.
const fn powers(first: usize) -> [Polynomial; 64] {
    let reduction = characteristic();
    let mut power = [2, 0, 0, 0, 0];
    let mut table = [[0; 5]; 64];
    let mut i = 0;
    while i < first + 64 {
        if i >= first {
            table[i - first] = power;
        }
        power = square(power, reduction);
        i += 1;
    }
    table
}

/// Returns the square modulo `x^160 + reduction`. Over GF(2) it is the sum of the terms' squares.
const fn square(polynomial: Polynomial, reduction: Polynomial) -> Polynomial {
    let mut wide = [0_u32; 10];
    let mut i = 0;
    while i < BITS {
        if polynomial[i / 32] >> (i % 32) & 1 != 0 {
            wide[2 * i / 32] |= 1 << (2 * i % 32);
        }
        i += 1;
    }
    // From the top down, replace x^(160 + k) by x^k times the reduction.
    let mut bit = 2 * BITS - 1;
    while bit >= BITS {
        if wide[bit / 32] >> (bit % 32) & 1 != 0 {
            wide[bit / 32] ^= 1 << (bit % 32);
            let (words, shift) = ((bit - BITS) / 32, (bit - BITS) % 32);
            let mut i = 0;
            while i < 5 {
                let shifted = (reduction[i] as u64) << shift;
                wide[words + i] ^= shifted as u32;
                wide[words + i + 1] ^= (shifted >> 32) as u32;
                i += 1;
            }
        }
        bit -= 1;
    }
    [wide[0], wide[1], wide[2], wide[3], wide[4]]
}

/// Returns the characteristic polynomial of a step, without its term `x^160`, by the Berlekamp-Massey algorithm from one
/// bit of 320 steps.
///
/// # Panics
/// Panics at compile time if the polynomial does not have full degree, since the register then does not have full period.
const fn characteristic() -> Polynomial {
    // The output bits, the newest in bit 0, for the length of the longest polynomial.
    let mut history = [0_u32; 6];
    let mut connection = [1_u32, 0, 0, 0, 0, 0];
    let mut previous = connection;
    let (mut length, mut since) = (0, 1);
    let mut register = [1, 0, 0, 0, 0];
    let mut n = 0;
    while n < 2 * BITS {
        let output = register[0] & 1;
        register = step(register);
        history = shifted_left(history, 1);
        history[0] |= output;
        let (mut parity, mut i) = (0, 0);
        while i < 6 {
            parity ^= (history[i] & connection[i]).count_ones() & 1;
            i += 1;
        }
        if parity == 0 {
            since += 1;
        } else {
            let old = connection;
            let shifted = shifted_left(previous, since);
            let mut i = 0;
            while i < 6 {
                connection[i] ^= shifted[i];
                i += 1;
            }
            if 2 * length <= n {
                length = n + 1 - length;
                previous = old;
                since = 1;
            } else {
                since += 1;
            }
        }
        n += 1;
    }
    assert!(length == BITS, "the register has not its full period");
    // The connection polynomial is the reciprocal of the characteristic one.
    let mut reduction = [0; 5];
    let mut i = 0;
    while i < BITS {
        if connection[(BITS - i) / 32] >> ((BITS - i) % 32) & 1 != 0 {
            reduction[i / 32] |= 1 << (i % 32);
        }
        i += 1;
    }
    reduction
}

const fn shifted_left(bits: [u32; 6], by: usize) -> [u32; 6] {
    let mut shifted = [0; 6];
    let mut i = by / 32;
    while i < 6 {
        shifted[i] = bits[i - by / 32] << (by % 32);
        if !by.is_multiple_of(32) && i > by / 32 {
            shifted[i] |= bits[i - by / 32 - 1] >> (32 - by % 32);
        }
        i += 1;
    }
    shifted
}
