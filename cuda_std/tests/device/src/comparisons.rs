//! A user's comparisons, for sorts of elements of every size.

use cuda_std::merge::Compare;

/// Compares the distances of points from one point. The third number of an element is not looked at.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Nearer {
    pub x: f32,
    pub y: f32,
}

// SAFETY: two numbers.
unsafe impl Compare for Nearer {
    type Item = [f32; 3];

    fn is_less(self, a: [f32; 3], b: [f32; 3]) -> bool {
        let distance = |[x, y, _]: [f32; 3]| {
            let (x, y) = (x - self.x, y - self.y);
            x * x + y * y
        };
        distance(a) < distance(b)
    }
}

/// Compares the remainders of a division, the greater ones first.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Remainders<T> {
    pub by: T,
}

macro_rules! remainders {
    ($($ty:ident)*) => { $(
        // SAFETY: one number.
        unsafe impl Compare for Remainders<$ty> {
            type Item = $ty;

            fn is_less(self, a: $ty, b: $ty) -> bool {
                a % self.by > b % self.by
            }
        }
    )* };
}
remainders!(u8 u16 u32 u64);

/// Compares the second word of four, and then the first.
#[derive(Debug, Clone, Copy)]
pub struct SecondWord;

// SAFETY: no fields.
unsafe impl Compare for SecondWord {
    type Item = [u32; 4];

    fn is_less(self, a: [u32; 4], b: [u32; 4]) -> bool {
        (a[1], a[0]) < (b[1], b[0])
    }
}

/// Says anything, of equal elements too, but always the same.
#[derive(Debug, Clone, Copy)]
pub struct Contrary;

// SAFETY: no fields.
unsafe impl Compare for Contrary {
    type Item = u32;

    fn is_less(self, a: u32, b: u32) -> bool {
        let mixed = a.wrapping_mul(0x9e37_79b9) ^ b.rotate_left(13).wrapping_mul(0x85eb_ca6b);
        mixed.count_ones().is_multiple_of(2)
    }
}

/// Panics for one number.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Without {
    pub number: u32,
}

// SAFETY: one number.
unsafe impl Compare for Without {
    type Item = i32;

    fn is_less(self, a: i32, b: i32) -> bool {
        assert!(
            a as u32 != self.number && b as u32 != self.number,
            "not this number"
        );
        a < b
    }
}

cuda_std::sort_kernel!(
    sort_nearer: Nearer,
    sort_remainders_u8: Remainders<u8>,
    sort_remainders_u16: Remainders<u16>,
    sort_remainders_u32: Remainders<u32>,
    sort_remainders_u64: Remainders<u64>,
    sort_second_word: SecondWord,
    sort_contrary: Contrary,
    sort_without: Without,
);
