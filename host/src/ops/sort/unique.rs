//! The different keys in order.

use warpwright_gpu::{Family, sort::FAMILY};

use super::{
    By, SortKey,
    data::{Data, Keys},
    plan::sort,
};
use crate::{
    buffer::{Vector, VectorView},
    device::Device,
    error::Result,
    ops::{
        plan::{Place, Plan},
        request::{Counted, Destination, New, Operation, Prepared, Request, Shape},
        select::{Selectable, plan_unique},
    },
};

impl Device {
    /// Returns the different elements of `keys`, in ascending order.
    ///
    /// The order is that of [`sort`](Self::sort). Floats are then compared as [`unique`](Self::unique) compares them: every
    /// NaN is different, and of zeros the one that comes first is kept, which is -0 if there is one. The result is the same by
    /// every variant on every device. It keeps the memory of as many elements as the input has. Waits for the number of
    /// elements. The workspace is that of a sort and of a selection, and another copy of the keys.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let keys = device.upload(&[3, 1, 2, 3, 1])?;
    /// assert_eq!(device.sorted_unique(&keys)?.to_vec()?, [1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub fn sorted_unique<'a, K: SortKey + Selectable>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
    ) -> Result<Vector<K>> {
        self.sorted_unique_request(keys).run()
    }

    /// Makes a request of [`sorted_unique`](Self::sorted_unique), with options: descending order, and a range of the bits by
    /// which the keys are sorted. Of neighbors that are equal in all bits, the first is kept. Its prepared form keeps the
    /// number of elements on the device.
    pub fn sorted_unique_request<'a, K: SortKey + Selectable>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
    ) -> SortedUniqueRequest<'a, K> {
        let unique = SortedUnique {
            keys: keys.into(),
            by: By::ALL,
            count: Place::none(),
        };
        Request::new(self, unique)
    }
}

/// The different keys in order.
#[derive(Debug, Clone)]
pub struct SortedUnique<'a, K> {
    keys: VectorView<'a, K>,
    pub(super) by: By,
    /// The number of different keys, in the workspace.
    count: Place<u64>,
}

/// A request of the different keys in order.
pub type SortedUniqueRequest<'a, K, D = New> = Request<SortedUnique<'a, K>, D>;
/// The different keys in order, whose variant is chosen and which have their memory. The result has room for all keys.
pub type PreparedSortedUnique<'a, K, R = Vector<K>> = Prepared<SortedUnique<'a, K>, R>;

impl<K: SortKey + Selectable> SortedUniqueRequest<'_, K> {
    /// Finds the different keys, waits for their number, and returns them.
    ///
    /// # Errors
    /// As for [`Device::sorted_unique`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<Vector<K>> {
        let (mut unique, count) = self.run_counted()?;
        unique.truncate(count);
        Ok(unique)
    }
}

impl<K: SortKey + Selectable, D: Destination<Vector<K>>> SortedUniqueRequest<'_, K, D> {
    /// Finds the different keys, waits for their number, and returns the place and the number. The other elements of the place
    /// are unspecified.
    ///
    /// # Errors
    /// As for [`Device::sorted_unique`], and those of [`prepare`](Self::prepare).
    pub fn run_counted(self) -> Result<(D::Claimed, usize)> {
        self.counted()
    }
}

impl<K: SortKey + Selectable> Counted for SortedUnique<'_, K> {
    fn counted(&self) -> Place<u64> {
        self.count
    }
}

impl<K: SortKey + Selectable> Operation for SortedUnique<'_, K> {
    type Output = Vector<K>;

    fn name(&self) -> &'static str {
        "sorted unique"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let input = plan.input(self.keys)?;
        let sorted = plan.room::<K>(input.len());
        let keys = Keys {
            input: input.cast(),
            output: Some(sorted.cast()),
            in_place: false,
        };
        sort::<K>(plan, self.by, keys, Data::None)?;
        self.count = plan_unique(plan, sorted)?;
        Ok(Shape::Vector(input.len()))
    }
}
