//! Constant memory on the CPU executor: a table that the host sets between launches, or for one launch only.

use core::panic::Location;
use std::sync::{PoisonError, RwLock};

use super::{fault::FaultKind, lane::Lane};

/// The values of a constant table: its first elements, or all. `None` until they are set.
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

    /// Returns element `index` of the table of `owner`, which is called `name`.
    #[track_caller]
    pub fn get<O>(&self, index: usize, owner: &O, name: &'static str) -> T {
        let lane = Lane::current();
        let element = |values: &[T]| values.get(index).copied().ok_or(values.len());
        let of_launch = lane.block().constants().iter();
        let value = match of_launch.rev().find(|values| values.are_for(owner)) {
            // SAFETY: the values have the owner's element type, and are borrowed while the launch lasts.
            Some(values) => Some(element(unsafe {
                core::slice::from_raw_parts(values.as_ptr().cast(), values.len())
            })),
            None => {
                let values = self.0.read().unwrap_or_else(PoisonError::into_inner);
                values.as_deref().map(element)
            }
        };
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
