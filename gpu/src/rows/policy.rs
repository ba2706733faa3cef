//! The tuning of the reductions of rows.

use crate::tuning::{self, Choice};

/// The threads of a block of `chunk_atomic`, and of its last pass.
pub const RUNG_BLOCK: usize = 256;
/// The neighboring elements that a thread of `chunk_atomic` adds.
pub const CHUNK: usize = 128;
/// The threads of a block of `block_per_row`.
pub const ROW_BLOCK: usize = 512;

/// The policy of `best`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The threads of a block.
    pub block: usize,
    /// The maximum number of blocks per multiprocessor: 8 blocks of 256 threads with at most 32 registers fill it.
    pub resident: u32,
    /// The number of 16-byte loads that a thread has in flight: 2, 4 or 8.
    pub unroll: usize,
    /// The minimum number of bytes of a row per block, if several blocks share a row.
    pub least_bytes: usize,
    /// The number of bytes from which on a row has its own block, even if there are rows for every thread: on an H100 warps
    /// that each process several rows were slower.
    pub row_bytes: usize,
    /// The part of the device's threads that the rows must fill, with the number of threads per row that they get. If they fill
    /// less, blocks share rows. A quarter has twice as many loads in flight as it takes to hide the latency of an H100's
    /// memory.
    pub least_filling: usize,
}

impl Policy {
    /// Returns the number of threads that share a row of `bytes` bytes, as a power of two: as many as have all their wide loads
    /// in flight, up to a warp.
    pub fn lanes_log2(&self, bytes: usize) -> u32 {
        let wides = bytes.div_ceil(16);
        wides
            .div_ceil(self.unroll)
            .clamp(1, 32)
            .next_power_of_two()
            .ilog2()
    }

    /// Returns the number of elements of a row that a block takes if several blocks share the row, for rows of `width` elements
    /// of `size` bytes. There are as many blocks as are resident at once (`filling`), and no more than there is work for. The
    /// number is a multiple of 16 bytes.
    pub fn elements_per_block(
        &self,
        height: usize,
        width: usize,
        size: usize,
        filling: usize,
    ) -> usize {
        let most = (width.saturating_mul(size) / self.least_bytes).max(1);
        let blocks = (filling / height).clamp(1, most);
        width.div_ceil(blocks).next_multiple_of(16 / size)
    }
}

/// Makes a row of the table: blocks take at least two rounds of loads of a row, and rows from that size on have their own
/// block.
const fn policy(block: usize, resident: u32, unroll: usize) -> Policy {
    let two_rounds = block * unroll * 16 * 2;
    Policy {
        block,
        resident,
        unroll,
        least_bytes: two_rounds,
        row_bytes: two_rounds,
        least_filling: 4,
    }
}

const SHIPPED: Policy = policy(256, 8, 4);

impl tuning::Policy for Policy {
    const FAMILY: &'static str = super::FAMILY.name;
    const CANDIDATES: &'static [Self] = &[
        SHIPPED,
        policy(256, 8, 2),
        policy(256, 8, 8),
        policy(128, 16, 4),
        policy(512, 4, 4),
        policy(1024, 2, 4),
        Policy {
            row_bytes: SHIPPED.row_bytes / 4,
            ..SHIPPED
        },
        Policy {
            row_bytes: SHIPPED.row_bytes * 4,
            ..SHIPPED
        },
    ];
    const CHOICES: &'static [Choice] = &[Choice::always(0)];
    #[cfg(all(feature = "tuning", not(target_arch = "nvptx64")))]
    const KERNELS: &'static [&'static [cuda_std::kernel::TunedInstance]] = &[
        super::best::ROWS_BEST_ROWS,
        super::best::ROWS_BEST_LONG_ROWS,
    ];
}
