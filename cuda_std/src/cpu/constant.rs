//! Constant memory as the CPU executor means it: a table that the host sets between launches.

use core::panic::Location;
use std::sync::{PoisonError, RwLock};

use super::{fault::FaultKind, lane::Lane};

/// The values of a constant table, once they have been set.
pub(crate) struct Table<T, const N: usize>(RwLock<Option<[T; N]>>);

impl<T: Copy, const N: usize> Table<T, N> {
    pub const fn new() -> Self {
        Self(RwLock::new(None))
    }

    pub fn set(&self, values: [T; N]) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(values);
    }

    #[track_caller]
    pub fn get(&self, index: usize, name: &'static str) -> T {
        let value = {
            let values = self.0.read().unwrap_or_else(PoisonError::into_inner);
            values.as_ref().map(|values| values.get(index).copied())
        };
        let lane = Lane::current();
        let at = Location::caller();
        match value {
            Some(Some(value)) => value,
            Some(None) => lane.block().fail(
                lane,
                FaultKind::OutOfBounds {
                    view: Some(name),
                    index,
                    count: 1,
                    len: N,
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
