//! Driver objects that are destroyed when they are dropped.

use super::context::CudaContext;
use cust::error::DropResult;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A driver object of a context. Dropping it destroys it with [`CudaContext::give_back`].
pub(super) struct Kept<T> {
    thing: ManuallyDrop<T>,
    drop: fn(T) -> DropResult<T>,
    context: Arc<CudaContext>,
}

impl<T> Kept<T> {
    /// Wraps an object. `drop` destroys it.
    pub(super) fn new(context: &Arc<CudaContext>, thing: T, drop: fn(T) -> DropResult<T>) -> Self {
        Self {
            thing: ManuallyDrop::new(thing),
            drop,
            context: context.clone(),
        }
    }

    pub(super) fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }
}

impl<T> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.thing
    }
}

impl<T> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.thing
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        // SAFETY: only this `drop` takes the object, once.
        let thing = unsafe { ManuallyDrop::take(&mut self.thing) };
        self.context.give_back(thing, self.drop);
    }
}
