//! The rungs of the ladder below `best`, which are compiled with the feature `ladder` alone.

mod ballot;
mod naive;
mod reduce_then_scan;

pub use ballot::{SortBallotItems, SortBallotKeys, sort_ballot_items, sort_ballot_keys};
pub use naive::{SortNaiveStep, sort_naive_step};
pub use reduce_then_scan::{
    SortReduceThenScanCount, SortReduceThenScanPlaces, SortReduceThenScanScatter,
    sort_reduce_then_scan_count, sort_reduce_then_scan_places, sort_reduce_then_scan_scatter,
};
