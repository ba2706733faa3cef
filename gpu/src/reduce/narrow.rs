//! Elements of one and two bytes. A 16-byte load holds so many that they are combined a word at a time.
//!
//! ```text
//! sum of bytes:      for each word: pairs += (word & 00ff00ff) + (word >> 8 & 00ff00ff)         (two sums of 16 bits)
//! first equal:       x = word ^ wanted in every element
//!                    the lowest upper bit of an element in (x - 01..01) & ~x & 80..80 is that of the first 0 in x
//! extreme of floats: for each word, and for the word << 16: plain = extreme(plain, word)
//!                                                           moved = the other extreme(moved, word + the NaN patterns)
//! ```
//!
//! Element by element each would take up to four times as many operations.

use cuda_std::view::Wide;

/// Returns whether a 16-byte load holds enough elements of this type to combine them a word at a time. On an H100 this was
/// slower for four and for two elements.
pub const fn is_narrow<T>() -> bool {
    size_of::<T>() <= 2
}

/// Folds the four words of elements of at most two bytes. `bits` returns an element's bits.
#[inline(always)]
#[track_caller]
fn fold_words<T: Copy, V>(
    wide: Wide<T>,
    start: V,
    bits: impl Fn(T) -> u32,
    add: impl Fn(V, u32) -> V,
) -> V {
    let per_word = 4 / size_of::<T>();
    let (value, _) = wide.fold((start, 0), |(value, lower), element, lane| {
        let place = lane % per_word;
        let word = lower | bits(element) << (place * 8 * size_of::<T>());
        if place + 1 < per_word {
            (value, word)
        } else {
            (add(value, word), 0)
        }
    });
    value
}

/// Returns the sum of 16 bytes. The bytes at even places of a word and those at odd places are added separately, in 16 bits
/// each.
#[inline(always)]
#[track_caller]
pub fn sum_of_bytes<T: Copy>(wide: Wide<T>, byte: impl Fn(T) -> u8) -> u32 {
    let halves = 0x00ff_00ff;
    let pairs = fold_words(
        wide,
        0_u32,
        |element| u32::from(byte(element)),
        |pairs, word| pairs + (word & halves) + (word >> 8 & halves),
    );
    (pairs & 0xffff) + (pairs >> 16)
}

/// Returns the place of the first of 16 bytes, or of 8 elements of 16 bits, whose bits are `wanted`. One of them must have
/// these bits.
#[inline(always)]
#[track_caller]
pub fn first_equal<T: Copy>(wide: Wide<T>, bits: impl Fn(T) -> u32, wanted: u32) -> u32 {
    let width = 8 * size_of::<T>() as u32;
    let ones = u32::MAX / ((1 << width) - 1);
    let upper = ones << (width - 1);
    // The result has the upper bit of every element that is 0, and of some elements above the first of them.
    let zeros = |word: u32| word.wrapping_sub(ones) & !word & upper;
    let (found, at, _) = fold_words(wide, (0, 0, 0), bits, |(found, at, next), word| {
        let here = zeros(word ^ (wanted * ones));
        let (found, at) = if found == 0 {
            (here, next)
        } else {
            (found, at)
        };
        (found, at, next + 32 / width)
    });
    at + found.trailing_zeros() / width
}

/// Returns the bits of the minimum or the maximum of eight floats of 16 bits, or of a NaN if there is one.
///
/// The floats are not converted to keys. By their bits they lie on a circle: +0 to +infinity, +NaN, -0 to -infinity, -NaN, and
/// again +0. An extreme of the unchanged bits is the answer if there is a number of the preferred sign, and it finds a NaN of
/// that sign. For the other case the bits are rotated by the number of NaN bit patterns of one sign, which puts the NaNs of the
/// other sign at the end where the other extreme is the answer.
///
/// A word's upper element is compared together with the lower one: the upper one decides, except among equals. The lower one
/// carries into the upper one only if it is a NaN of negative sign, which either extreme finds.
#[inline(always)]
#[track_caller]
pub fn most_wanted_bits<T: Copy, const LEAST: bool, const INFINITY: u32>(
    wide: Wide<T>,
    bits: impl Fn(T) -> u16,
) -> u16 {
    let nans = 0x7fff - INFINITY;
    // For the minimum: as unsigned and as signed numbers. For the maximum: the other way round.
    let start = if LEAST {
        (0, i32::MAX as u32)
    } else {
        (i32::MIN as u32, u32::MAX)
    };
    let extremes = |(plain, moved): (u32, u32), word: u32, on: u32| {
        if LEAST {
            (plain.max(word), (moved as i32).min(on as i32) as u32)
        } else {
            ((plain as i32).max(word as i32) as u32, moved.min(on))
        }
    };
    let ((plain, moved), _) = wide.fold((start, 0), |(so_far, lower), element, lane| {
        let element = u32::from(bits(element));
        if lane % 2 == 0 {
            return (so_far, element);
        }
        let word = lower | element << 16;
        let on = word.wrapping_add(nans * 0x1_0001);
        let so_far = extremes(so_far, word, on);
        (extremes(so_far, word << 16, on << 16), 0)
    });
    let (plain, moved) = (plain >> 16, moved >> 16);
    let (preferred, nan) = if LEAST {
        (
            plain >= 0x8000,
            plain > 0x8000 + INFINITY || (moved >= 0x8000 && moved < 0x8000 + nans),
        )
    } else {
        (
            plain < 0x8000,
            (plain > INFINITY && plain < 0x8000) || moved < nans,
        )
    };
    if nan {
        0x7fff
    } else if preferred {
        plain as u16
    } else {
        (moved - nans) as u16
    }
}
