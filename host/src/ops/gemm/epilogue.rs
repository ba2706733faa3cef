//! What is done with the sums of a product.

use warpwright_gpu::gemm::Epilogue;

use super::{Gemm, GemmElement, OPERATION};
use crate::{
    buffer::{Element, VectorView},
    error::{Error, InvalidKind, Result},
    ops::plan::{Place, Plan},
};

impl<T: GemmElement> Gemm<'_, T> {
    /// Returns the place of one element for each row or column, if there are any.
    pub(super) fn of_lines<U: Element>(
        plan: &mut Plan<'_>,
        name: &str,
        view: Option<VectorView<'_, U>>,
        len: usize,
        lines: &str,
    ) -> Result<Place<U>> {
        match view {
            Some(view) if view.len() != len => Err(Error::invalid(
                InvalidKind::Length,
                OPERATION,
                format!("{name} of {len} elements, as the result has {lines}"),
                format!("{} elements", view.len()),
            )),
            Some(view) => plan.input(view),
            None => Ok(Place::none()),
        }
    }

    /// Returns whether the kernels for large tiles on ordinary units, which are those of elements as wide as sums, lack a step:
    /// scales, or another matrix than C.
    pub(super) fn takes_small_tiles(&self) -> bool {
        let has_more = self.addend.is_some() || self.scales.iter().any(Option::is_some);
        has_more && size_of::<T::Factor>() == size_of::<T::Scale>()
    }

    /// Returns what is done with sums. Without products there are none, and nothing may affect `beta * C`.
    pub(super) fn epilogue(&self, has_products: bool) -> Epilogue {
        let [of_rows, of_columns] = self.scales.map(|scales| scales.is_some() && has_products);
        let some = [
            (self.bias.is_some(), Epilogue::BIAS),
            (of_rows, Epilogue::ROW_SCALES),
            (of_columns, Epilogue::COLUMN_SCALES),
        ];
        let some = some.iter().filter(|(is_done, _)| *is_done);
        some.fold(self.activation, |all, (_, step)| all.and(*step))
    }
}
