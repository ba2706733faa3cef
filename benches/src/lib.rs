//! The benchmark: times the library and its peers in one process, in turn.
//!
//! [`record`] is the result of a run. [`markdown`], [`html`] and [`compare`] read records and need no GPU. With the feature
//! `run`, [`run`](mod@run) makes a record.

pub mod compare;
pub mod counters;
mod distinct;
pub mod html;
pub mod ladder;
pub mod markdown;
mod outcome;
pub mod overhead;
pub mod record;
#[cfg(feature = "run")]
pub mod run;
pub mod sheet;
pub mod sheets;
pub mod stats;
pub mod table;
pub mod tuning;
