//! What the driver made, given back at its end.

use super::context::CudaContext;
use cust::error::DropResult;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;

/// Something of a context, which gives it back as [`CudaContext::give_back`] does.
pub(super) struct Kept<T> {
    thing: ManuallyDrop<T>,
    drop: fn(T) -> DropResult<T>,
    context: Arc<CudaContext>,
}

impl<T> Kept<T> {
    /// `drop` destroys it.
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

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        // SAFETY: taken here alone, at the end.
        let thing = unsafe { ManuallyDrop::take(&mut self.thing) };
        self.context.give_back(thing, self.drop);
    }
}
