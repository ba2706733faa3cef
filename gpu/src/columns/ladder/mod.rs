//! The rungs of the ladder below `best`, which are compiled with the feature `ladder` alone.

mod column_per_thread;
mod four_columns_per_thread;

pub use column_per_thread::{ColumnsColumnPerThread, columns_column_per_thread};
pub use four_columns_per_thread::{ColumnsFourColumnsPerThread, columns_four_columns_per_thread};
