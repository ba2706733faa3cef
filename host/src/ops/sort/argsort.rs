//! The positions of keys in order.

use std::marker::PhantomData;

use warpwright_gpu::{Family, sort::FAMILY};

use super::{
    By, SortKey,
    data::{Data, Keys},
    plan::sort,
};
use crate::{
    buffer::{Element, Vector, VectorView},
    error::{Error, InvalidKind, Result},
    ops::{
        plan::{Place, Plan},
        request::{Destination, New, Operation, Prepared, Request, Shape},
        sealed::Sealed,
    },
};

/// A type of positions: `u32`, `u64`.
pub trait Position: Element + Sealed {
    /// The most keys that have positions of this type.
    #[doc(hidden)]
    const MOST: usize;
}
impl Position for u32 {
    const MOST: usize = 1 << 32;
}
impl Position for u64 {
    const MOST: usize = usize::MAX;
}

/// The positions of keys in order.
#[derive(Debug, Clone)]
pub struct Argsort<'a, K, P> {
    pub(super) keys: VectorView<'a, K>,
    pub(super) by: By,
    pub(super) positions: PhantomData<fn() -> P>,
}

/// A request of the positions of keys in order.
pub type ArgsortRequest<'a, K, P, D = New> = Request<Argsort<'a, K, P>, D>;
/// The positions of keys in order, whose variant is chosen and which have their memory.
pub type PreparedArgsort<'a, K, P, R = Vector<P>> = Prepared<Argsort<'a, K, P>, R>;

impl<K: SortKey, P: Position, D: Destination<Vector<P>>> ArgsortRequest<'_, K, P, D> {
    /// Finds the positions and returns them. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::argsort`](crate::Device::argsort), and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<D::Claimed> {
        self.prepare()?.made()
    }
}

impl<K: SortKey, P: Position> Operation for Argsort<'_, K, P> {
    type Output = Vector<P>;

    fn name(&self) -> &'static str {
        "argsort"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let input = plan.input(self.keys)?;
        let len = input.len();
        require_positions::<P>(plan, len)?;
        let positions = Place::<P>::output(len);
        let data = Data::Positions(positions.cast(), size_of::<P>());
        sort::<K>(plan, self.by, Keys::unwritten(input.cast()), data)?;
        Ok(Shape::Vector(len))
    }
}

/// Checks that positions of this type are enough for `len` keys.
pub(super) fn require_positions<P: Position>(plan: &Plan<'_>, len: usize) -> Result<()> {
    if len <= P::MOST {
        return Ok(());
    }
    Err(Error::invalid(
        InvalidKind::TooLarge,
        plan.operation,
        format!("at most {} keys for positions of this type", P::MOST),
        format!("{len}"),
    ))
}
