//! The second result of an operation, such as the values of a sort of keys with values.

use super::{
    plan::{Place, Plan},
    request::{Make, Shape, Writable},
};
use crate::{
    device::Device,
    error::{Error, InvalidKind, Result},
};

/// The memory of a second result, of type `R`.
#[derive(Debug)]
pub(super) enum Second<R> {
    /// The plan allocates it.
    New(fn(&'static str, &Device, Shape) -> Result<(R, u64)>),
    /// It is there: a caller's place, or memory that was allocated.
    There(R),
    /// It was given to the caller.
    Taken,
}

impl<R> Second<R> {
    /// Returns one that the plan allocates.
    pub fn new() -> Self
    where
        R: Make,
    {
        Self::New(R::make)
    }

    /// Returns the place of so many elements. Allocates them, or checks the caller's place.
    pub fn place<O, T>(&mut self, plan: &mut Plan<'_>, shape: Shape) -> Result<Place<T>>
    where
        R: Writable<O>,
    {
        if let Self::New(make) = self {
            *self = Self::There(make(plan.operation, plan.device, shape)?.0);
        }
        let (operation, device) = (plan.operation, plan.device);
        let target = self.get(operation)?.target();
        let address = target.claim(operation, device, shape, plan.work())?;
        Ok(Place::at(address, shape.len()))
    }

    /// Returns the result.
    pub fn get(&self, operation: &'static str) -> Result<&R> {
        match self {
            Self::There(there) => Ok(there),
            Self::New(_) | Self::Taken => Err(missing(operation)),
        }
    }

    /// Gives the result away.
    pub fn take(&mut self, operation: &'static str) -> Result<R> {
        match std::mem::replace(self, Self::Taken) {
            Self::There(there) => Ok(there),
            Self::New(_) | Self::Taken => Err(missing(operation)),
        }
    }
}

fn missing(operation: &'static str) -> Error {
    let required = "a second result that is planned";
    Error::invalid(InvalidKind::NotQueued, operation, required, "none")
}
