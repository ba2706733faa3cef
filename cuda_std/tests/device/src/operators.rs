//! A user's operators of scans, and a user's predicates of selections.

use cuda_std::{map::MapFn, prelude::*, scan::Scan, warp::Shuffle};

use crate::comparisons::Without;

/// Products of matrices of 2 by 2 numbers modulo 2^32, which do not commute. Elements and prefixes have 16 bytes.
#[derive(Debug, Clone)]
pub struct Matrices;

impl Scan for Matrices {
    type In = [u32; 4];
    type Acc = [u32; 4];
    const IDENTITY: [u32; 4] = [1, 0, 0, 1];

    fn load(element: [u32; 4]) -> [u32; 4] {
        element
    }

    fn combine([a, b, c, d]: [u32; 4], [p, q, r, s]: [u32; 4]) -> [u32; 4] {
        let sum = |x: [u32; 2], y: [u32; 2]| {
            x[0].wrapping_mul(y[0])
                .wrapping_add(x[1].wrapping_mul(y[1]))
        };
        [
            sum([a, b], [p, r]),
            sum([a, b], [q, s]),
            sum([c, d], [p, r]),
            sum([c, d], [q, s]),
        ]
    }

    fn store(prefix: [u32; 4]) -> [u32; 4] {
        prefix
    }
}

/// A text of brackets up to a place.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Depth {
    /// The opening brackets, less the closing ones.
    pub open: i32,
    /// The least number of open brackets anywhere before.
    pub least: i32,
}

// SAFETY: two numbers.
unsafe impl Plain for Depth {}

impl Shuffle for Depth {
    fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
        Self {
            open: self.open.map_words(each),
            least: self.least.map_words(each),
        }
    }
}

/// Whether every bracket so far that closes has one that opens. Elements have 1 byte, and prefixes 8.
#[derive(Debug, Clone)]
pub struct Balanced;

impl Scan for Balanced {
    type In = u8;
    type Acc = Depth;
    const IDENTITY: Depth = Depth { open: 0, least: 0 };

    fn load(byte: u8) -> Depth {
        let open = i32::from(byte == b'(') - i32::from(byte == b')');
        Depth {
            open,
            least: open.min(0),
        }
    }

    fn combine(a: Depth, b: Depth) -> Depth {
        Depth {
            open: a.open + b.open,
            least: a.least.min(a.open + b.least),
        }
    }

    fn store(prefix: Depth) -> u8 {
        u8::from(prefix.least >= 0)
    }
}

/// Four bytes that are shuffled one by one, although [`Shuffle::WORDS`] says that they are one word.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Apart([u8; 4]);

// SAFETY: the type has plain fields.
unsafe impl Plain for Apart {}

impl Shuffle for Apart {
    fn map_words<F: FnMut(u32) -> u32>(self, each: &mut F) -> Self {
        Self(self.0.map_words(each))
    }
}

/// Sums of four bytes each, in accumulators with another number of words than they say: the library refuses it.
#[derive(Debug, Clone)]
pub struct FourBytes;

impl Scan for FourBytes {
    type In = [u8; 4];
    type Acc = Apart;
    const IDENTITY: Apart = Apart([0; 4]);
    const COMMUTATIVE: bool = true;

    fn load(element: [u8; 4]) -> Apart {
        Apart(element)
    }

    fn combine(mut a: Apart, b: Apart) -> Apart {
        let mut i = 0;
        while i < 4 {
            a.0[i] = a.0[i].wrapping_add(b.0[i]);
            i += 1;
        }
        a
    }

    fn store(prefix: Apart) -> [u8; 4] {
        prefix.0
    }
}

/// Sums of numbers. One that does not fit panics.
#[derive(Debug, Clone)]
pub struct Fitting;

impl Scan for Fitting {
    type In = i32;
    type Acc = i32;
    const IDENTITY: i32 = 0;
    const COMMUTATIVE: bool = true;

    fn load(element: i32) -> i32 {
        element
    }

    fn combine(a: i32, b: i32) -> i32 {
        a.checked_add(b).expect("the sum does not fit")
    }

    fn store(prefix: i32) -> i32 {
        prefix
    }
}

cuda_std::scan_kernel!(
    scan_matrices: Matrices,
    scan_balanced: Balanced,
    scan_four_bytes: FourBytes,
    scan_fitting: Fitting,
);

cuda_std::segmented_scan_kernel!(
    scan_matrices_of_segments: Matrices,
    scan_balanced_of_segments: Balanced,
    scan_four_bytes_of_segments: FourBytes,
    scan_fitting_of_segments: Fitting,
);

/// Multiples of a number, from a position on.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Multiples {
    pub of: u32,
    pub from: u32,
}

// SAFETY: plain numbers.
unsafe impl MapFn for Multiples {
    type In = u32;
    type Out = bool;

    fn call(self, index: usize, x: u32) -> bool {
        x.is_multiple_of(self.of) && index >= self.from as usize
    }
}

/// Numbers below the one of a second array.
#[derive(Debug, Clone, Copy)]
pub struct Below;

// SAFETY: no fields.
unsafe impl MapFn for Below {
    type In = (u32, u16);
    type Out = bool;

    fn call(self, _: usize, (x, limit): (u32, u16)) -> bool {
        x < u32::from(limit)
    }
}

// SAFETY: one number.
unsafe impl MapFn for Without {
    type In = i32;
    type Out = bool;

    fn call(self, _: usize, x: i32) -> bool {
        assert!(x as u32 != self.number, "not this number");
        x % 3 == 0
    }
}

cuda_std::select_kernel!(
    select_multiples: Multiples,
    select_below: Below,
    select_without: Without,
);
