//! Reversals.

use cuda_std::kernel::Entry;
use warpwright_gpu::{
    Family,
    reverse::{FAMILY, ReverseBest, policy::BLOCK},
};

pub use warpwright_gpu::reverse::Variant;

use super::{
    plan::{Place, Plan},
    request::{Destination, New, Operation, Prepared, Request, Shape},
};
use crate::{
    buffer::{Vector, VectorView},
    device::Device,
    error::Result,
};

impl Device {
    /// Returns the elements of `values` from the last one to the first. Exact.
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), [`Error::OutOfMemory`](crate::Error::OutOfMemory), and errors
    /// of the device.
    pub fn reverse<'a>(&self, values: impl Into<VectorView<'a, u32>>) -> Result<Vector<u32>> {
        self.reverse_request(values).run()
    }

    /// Makes a request of [`reverse`](Self::reverse), with options.
    pub fn reverse_request<'a>(
        &self,
        values: impl Into<VectorView<'a, u32>>,
    ) -> ReverseRequest<'a> {
        let values = values.into();
        Request::new(self, Reverse { values })
    }
}

/// A reversal. It needs no workspace.
#[derive(Debug, Clone)]
pub struct Reverse<'a> {
    values: VectorView<'a, u32>,
}

/// A request of a reversal.
pub type ReverseRequest<'a, D = New> = Request<Reverse<'a>, D>;
/// A reversal whose variant is chosen and whose result has its memory.
pub type PreparedReverse<'a, R = Vector<u32>> = Prepared<Reverse<'a>, R>;

impl<D: Destination<Vector<u32>>> ReverseRequest<'_, D> {
    /// Reverses the elements and returns the result.
    ///
    /// # Errors
    /// As for [`Device::reverse`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<D::Claimed> {
        self.prepare()?.made()
    }
}

impl Operation for Reverse<'_> {
    type Output = Vector<u32>;

    fn name(&self) -> &'static str {
        "reverse"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let input = plan.input(self.values)?;
        let len = input.len();
        if len > 0 {
            let config = plan.linear(len.div_ceil(BLOCK), BLOCK)?;
            let args = (input, Place::output(len));
            // SAFETY: the output has as many elements as the input and does not overlap it.
            unsafe { plan.launch(Entry::of::<ReverseBest>(), config, args) };
        }
        Ok(Shape::Vector(len))
    }
}
