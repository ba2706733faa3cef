//! Constant memory as the CPU executor means it: a table that the host sets between launches.

use core::panic::Location;
use std::sync::{PoisonError, RwLock};

use super::{fault::FaultKind, lane::Lane};

/// The values of a constant table, once they have been set: its first elements, or all.
pub(crate) struct Table<T>(RwLock<Option<Vec<T>>>);

impl<T: Copy> Table<T> {
    pub const fn new() -> Self {
        Self(RwLock::new(None))
    }

    pub fn set(&self, values: &[T]) {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let table = table.get_or_insert_default();
        table.clear();
        table.extend_from_slice(values);
    }

    #[track_caller]
    pub fn get(&self, index: usize, name: &'static str) -> T {
        let value = {
            let values = self.0.read().unwrap_or_else(PoisonError::into_inner);
            values
                .as_ref()
                .map(|values| values.get(index).copied().ok_or(values.len()))
        };
        let lane = Lane::current();
        let at = Location::caller();
        match value {
            Some(Ok(value)) => value,
            Some(Err(len)) => lane.block().fail(
                lane,
                FaultKind::OutOfBounds {
                    view: Some(name),
                    index,
                    count: 1,
                    len,
                    write: false,
                    at,
                },
            ),
            None => {
                let what = format!(
                    "the constant table `{name}` must be set before the launch, and is not"
                );
                lane.block().fail(lane, FaultKind::Argument { what, at })
            }
        }
    }
}
