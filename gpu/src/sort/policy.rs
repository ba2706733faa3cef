//! The tuning of the sorts.

use super::bits::DIGITS;
use crate::tuning::{self, Choice};

/// The policy of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The threads of a block, at least 256: one for every value of a digit.
    pub threads: usize,
    /// The blocks per multiprocessor that the registers have room for.
    pub resident: u32,
    /// The keys of a thread in a sort of keys alone, at most 32.
    pub keys: usize,
    /// The blocks per multiprocessor that the registers have room for if an order among equal keys can be seen: with values, or
    /// by some of the bits.
    pub items_resident: u32,
    /// The most shared memory of such a block in bytes.
    pub items_bytes: usize,
    /// The earlier tiles whose status a thread looks at in one step: 1 to 4.
    pub predecessors: usize,
}

impl Policy {
    /// Returns the keys that the threads of a block hold in a sort of keys alone.
    pub const fn most_keys(&self) -> usize {
        self.threads * self.keys
    }

    /// Returns the keys of a tile in a sort of keys alone, on a device that allows a block `most_bytes` of shared memory: as
    /// many as the threads hold, or as fit.
    pub const fn keys_tile(&self, key_bytes: usize, most_bytes: usize) -> usize {
        let mut tile = self.most_keys();
        while self.keys_shared_bytes(key_bytes, tile) > most_bytes && tile > DIGITS {
            tile -= DIGITS;
        }
        tile
    }

    /// Returns the shared memory of a block in bytes, for tiles of `tile` keys alone.
    pub const fn keys_shared_bytes(&self, key_bytes: usize, tile: usize) -> usize {
        self.counts_bytes() + (tile + 1) * key_bytes
    }

    /// Returns the most keys of a tile with values of `value_bytes` bytes, or with none if that is 0, on a device that allows a
    /// block `most_bytes` of shared memory.
    pub const fn items_tile(
        &self,
        key_bytes: usize,
        value_bytes: usize,
        most_bytes: usize,
    ) -> usize {
        let bytes = if most_bytes < self.items_bytes {
            most_bytes
        } else {
            self.items_bytes
        };
        let each = key_bytes + value_bytes + size_of::<u16>();
        let most = (bytes - self.counts_bytes()) / each;
        // The number of a key in its tile has 16 bits.
        let most = if most < MOST_ITEMS { most } else { MOST_ITEMS };
        let step = if most < self.threads {
            DIGITS
        } else {
            self.threads
        };
        most / step * step
    }

    /// Returns the keys of a tile with values for `len` keys: at most `most`, and fewer if a multiprocessor would have none.
    pub const fn share(&self, most: usize, len: usize, multiprocessors: usize) -> usize {
        let share = len.div_ceil(multiprocessors).next_multiple_of(self.threads);
        let share = if share < LEAST_ITEMS {
            LEAST_ITEMS
        } else {
            share
        };
        if share < most { share } else { most }
    }

    /// Returns the shared memory of a block in bytes, for tiles of `tile` keys with values, which is a multiple of 16.
    pub const fn items_shared_bytes(
        &self,
        key_bytes: usize,
        value_bytes: usize,
        tile: usize,
    ) -> usize {
        self.counts_bytes() + tile * (key_bytes + value_bytes + size_of::<u16>())
    }

    /// Returns the bytes of shared memory for the counts of the digits.
    const fn counts_bytes(&self) -> usize {
        (self.threads / 32 * DIGITS + 2 * DIGITS + WORDS) * 4
    }
}

/// The most keys of a tile with values.
const MOST_ITEMS: usize = 1 << 16;
/// The least keys of a tile with values, if they fit: what a tile takes beside its keys is not worth it for fewer.
const LEAST_ITEMS: usize = 1 << 13;

/// The words of a block's shared memory for sums and for what thread 0 tells the others.
pub const WORDS: usize = 32;

/// The keys of one launch of a pass over more keys: a status word has 30 bits for a number of keys.
pub const MOST_KEYS_PER_LAUNCH: usize = 1 << 30;

/// The threads of a block that counts the digits.
pub const DIGITS_BLOCK: usize = 1024;
/// The minimum number of keys of a block that counts the digits.
pub const DIGITS_LEAST_PER_BLOCK: usize = DIGITS_BLOCK * 16;
/// Returns the 16-byte loads that a thread has in flight when it counts the digits of keys of `key_bytes` bytes. With eight
/// digits to count, registers are short.
pub const fn digits_unroll(key_bytes: usize) -> usize {
    if key_bytes > 4 { 2 } else { 4 }
}
/// The bytes beside the counters of a block that counts the digits.
const DIGITS_OTHER_BYTES: usize = WORDS * 4;

/// Returns the shared memory in bytes of a block that counts `passes` digits, with this many counters of each digit.
pub const fn digits_shared_bytes(passes: u32, copies: usize) -> usize {
    passes as usize * DIGITS * copies * 4 + DIGITS_OTHER_BYTES
}

/// Returns the counters of each digit: the largest power of two that fits in `most_bytes` of shared memory, and at most one
/// per lane of a warp.
pub const fn digits_copies(passes: u32, most_bytes: usize) -> usize {
    let mut copies = 32;
    while copies > 1 && digits_shared_bytes(passes, copies) > most_bytes {
        copies /= 2;
    }
    copies
}

/// The most threads of the block that sorts a small input in one launch, a multiple of 256.
pub const SMALL_THREADS: usize = 512;
/// The most keys of such a thread.
pub const SMALL_ITEMS: usize = 8;
/// The most keys of a small input.
pub const SMALL_KEYS: usize = SMALL_THREADS * SMALL_ITEMS;

/// Returns the threads of the block for `len` keys.
pub const fn small_threads(len: usize) -> usize {
    if len <= DIGITS * SMALL_ITEMS {
        DIGITS
    } else {
        SMALL_THREADS
    }
}

/// Returns the shared memory of the block in bytes, for `len` keys of `key_bytes` bytes.
pub const fn small_shared_bytes(len: usize, key_bytes: usize) -> usize {
    // The numbers of 2 bytes behind the keys are aligned.
    let keys = (len * key_bytes).next_multiple_of(2);
    (small_threads(len) / 32 * DIGITS + WORDS) * 4 + keys + len * 2
}

/// The threads of a block that marks where segments begin.
pub const MARKS_BLOCK: usize = 256;

/// The threads of a block that copies keys and values by positions.
pub const GATHER_BLOCK: usize = 256;

/// The threads of a block of `naive` and `reduce_then_scan`.
pub const RUNG_BLOCK: usize = 256;
/// The keys of a thread of `reduce_then_scan`.
pub const RUNG_ITEMS: usize = 16;
/// The keys of a tile of `reduce_then_scan`.
pub const RUNG_TILE: usize = RUNG_BLOCK * RUNG_ITEMS;

/// The dynamic shared memory of a block that scatters in `reduce_then_scan`, in bytes.
pub const RUNG_SCATTER_BYTES: usize =
    (RUNG_BLOCK / 32 * DIGITS + WORDS + 2 * DIGITS) * 4 + RUNG_BLOCK / 32 * size_of::<u64>();

const BASE: Policy = Policy {
    threads: 512,
    resident: 2,
    keys: 32,
    items_resident: 1,
    items_bytes: 226 << 10,
    predecessors: 4,
};

/// For keys of 8 bytes.
const LONG: Policy = Policy { keys: 16, ..BASE };

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        BASE,
        Policy { keys: 28, ..BASE },
        Policy { keys: 24, ..BASE },
        Policy {
            predecessors: 2,
            ..BASE
        },
        Policy {
            threads: 384,
            resident: 3,
            items_resident: 2,
            items_bytes: 113 << 10,
            ..BASE
        },
        LONG,
        Policy { keys: 14, ..LONG },
        Policy { keys: 20, ..LONG },
        Policy {
            threads: 384,
            resident: 3,
            items_resident: 2,
            items_bytes: 113 << 10,
            ..LONG
        },
        // More keys of a byte spill: each takes a register, and its digit another one.
        Policy { keys: 16, ..BASE },
    ];
    const CHOICES: &'static [Choice] =
        &[Choice::up_to(1, 9), Choice::up_to(4, 0), Choice::always(5)];
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]] = &[
        super::best::SORT_BEST_FIRST_ROWS,
        super::best::SORT_BEST_KEYS_ROWS,
        super::best::SORT_BEST_ITEMS_ROWS,
    ];
}
