//! The rungs of the ladder below `best`, which are compiled with the feature `ladder` alone.

mod block_per_row;
mod chunk_atomic;

pub use block_per_row::{RowsBlockPerRow, rows_block_per_row};
pub use chunk_atomic::{
    RowsChunkAtomic, RowsChunkAtomicFinish, rows_chunk_atomic, rows_chunk_atomic_finish,
};
