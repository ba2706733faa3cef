//! The benchmark: this library beside its peers, in one process and in turn.
//!
//! [`record`] is what a run leaves behind; [`markdown`], [`html`] and [`compare`] are made from records, and need no GPU.
//! With the feature `run`, [`run`](mod@run) makes one.

pub mod compare;
pub mod counters;
pub mod html;
pub mod ladder;
pub mod markdown;
mod outcome;
pub mod overhead;
pub mod record;
#[cfg(feature = "run")]
pub mod run;
mod sheet;
mod sheets;
pub mod stats;
pub mod table;
pub mod tuning;
