//! The tuning of the scans.

use crate::tuning::{self, Choice};

pub use cuda_std::scan::{CHUNKS, SEGMENTED_CHUNKS, STATUS_STRIDE};

/// The threads of a block of every rung except `best`.
pub const RUNG_BLOCK: usize = 256;
/// The minimum number of resident blocks of the rungs: without it `ptxas` makes room for more, and spills.
pub const RUNG_RESIDENT: u32 = 4;
/// The 16-byte chunks that a thread of the rungs takes of a tile.
pub const RUNG_CHUNKS: usize = 2;
/// The bytes of a tile of the rungs.
pub const RUNG_TILE_BYTES: usize = RUNG_BLOCK * RUNG_CHUNKS * 16;

/// The threads of a block of `scan_wide`.
pub const WIDE_BLOCK: usize = 256;
/// The minimum number of resident blocks of `scan_wide`. A block reads little and writes much, so that many are needed to have
/// enough on its way while others wait for totals.
pub const WIDE_RESIDENT: u32 = 4;
/// The 16-byte chunks of elements that a thread of `scan_wide` copies to shared memory.
pub const WIDE_CHUNKS: usize = 4;
/// The bytes of the elements of a tile of `scan_wide`: a status of 128 bytes is less than a hundredth of them.
pub const WIDE_TILE_BYTES: usize = WIDE_BLOCK * WIDE_CHUNKS * 16;

/// Returns the windows of 32 tiles in a batch of `scan_wide` with an accumulator of `bytes` bytes: a lane has the same number
/// of registers for statuses of one and of two words.
pub const fn wide_windows(bytes: usize) -> usize {
    if bytes > 4 { 4 } else { 8 }
}

/// The 16-byte chunks of keys of a thread of `scan_heads_of_keys`.
pub const KEY_CHUNKS: usize = 4;

/// The keys of a group, whose heads `scan_heads_of_keys` counts.
pub const KEY_GROUP: usize = 2048;

/// The policy of `best`. The order of additions depends on `threads` and `windows`: rows that differ in one of them may differ
/// in the last bits of float sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The threads of a block.
    pub threads: usize,
    /// The windows of 32 tiles in a batch, whose totals one warp adds at once: 2, 4 or 8.
    pub windows: usize,
    /// The tiles of a block that are in shared memory or on their way there: 3 or 4. All but one are published before the
    /// block needs the prefix of the first of them. A block that publishes fewer makes the others wait: 20 times as long.
    pub slots: usize,
    /// The resident blocks per multiprocessor: of the kernel with a tile per block, and of the persistent one.
    pub resident: [u32; 2],
    /// The 16-byte chunks that a thread takes of a tile.
    pub chunks: usize,
    /// The number of bytes from which on the blocks are persistent.
    pub persistent_bytes: usize,
}

impl Policy {
    /// Returns the number of bytes of a tile.
    pub const fn tile_bytes(&self) -> usize {
        self.threads * self.chunks * 16
    }

    /// Returns the dynamic shared memory of a persistent block, in bytes.
    pub const fn ring_bytes(&self) -> usize {
        self.slots * self.tile_bytes()
    }

    /// Returns the numbers of the kernels for segments: smaller tiles, whose prefixes have flags besides, and more of them.
    pub const fn of_segments(self) -> Self {
        Self {
            slots: 4,
            chunks: SEGMENTED_CHUNKS,
            ..self
        }
    }

    /// Returns the dynamic shared memory of a persistent block that scans segments of elements of `size` bytes, in bytes: the
    /// ring, and a bit for each element.
    pub const fn segmented_ring_bytes(&self, size: usize) -> usize {
        self.ring_bytes() + self.ring_bytes() / size / 8
    }
}

const WORDS: Policy = Policy {
    threads: 256,
    windows: 8,
    slots: 3,
    resident: [2, 2],
    chunks: CHUNKS,
    persistent_bytes: 64 << 20,
};

/// Bytes take more registers, which the statuses of fewer windows leave.
const NARROW: Policy = Policy {
    windows: 4,
    persistent_bytes: 16 << 20,
    ..WORDS
};

/// Elements of two bytes take more registers still, and a status of 8 bytes is two words.
const WIDE: Policy = Policy {
    windows: 2,
    persistent_bytes: 16 << 20,
    ..WORDS
};

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        WORDS,
        NARROW,
        WIDE,
        Policy {
            persistent_bytes: 128 << 20,
            ..WORDS
        },
        Policy {
            threads: 512,
            resident: [1, 1],
            ..WIDE
        },
        Policy {
            threads: 512,
            resident: [1, 1],
            ..NARROW
        },
        Policy {
            threads: 128,
            slots: 4,
            resident: [4, 3],
            ..NARROW
        },
        Policy {
            persistent_bytes: 8 << 20,
            ..NARROW
        },
        Policy {
            persistent_bytes: 64 << 20,
            ..NARROW
        },
    ];
    const CHOICES: &'static [Choice] =
        &[Choice::up_to(2, 1), Choice::up_to(4, 0), Choice::always(2)];
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]] = &[
        super::best::SCAN_BEST_ROWS,
        super::persistent::SCAN_BEST_PERSISTENT_ROWS,
    ];
}
