//! Merges of sorted arrays, the places of keys in one, and sorts by a user's comparison.

mod bounds;
mod by;

use cuda_std::{
    kernel::LaunchConfig,
    merge::{self, CONTROL_LEN, THREADS, tile_len},
};
#[cfg(feature = "ladder")]
use warpwright_gpu::merge::policy::{PATH_ITEMS, RUNG_BLOCK};
use warpwright_gpu::{
    Family,
    merge::{FAMILY, Kernels},
};

pub use self::{
    bounds::{Bounds, BoundsRequest, PreparedBounds},
    by::{
        PreparedSortBy, PreparedSortByInPlace, SortBy, SortByInPlace, SortByInPlaceRequest,
        SortByRequest,
    },
};
pub use warpwright_gpu::merge::Variant;

use super::{
    plan::{Place, Plan},
    request::{Destination, New, Operation, Prepared, Request, Shape, Writable},
    second::Second,
    sort::{SortKey, twist, value_bytes},
};
use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::Result,
};

impl Device {
    /// Returns the keys of two sorted arrays in one, sorted. Equal keys of `a` come before those of `b`, and keep their order.
    ///
    /// The order is that of [`sort`](Self::sort): integers are in their order, floats in that of `total_cmp`. Every bit of a
    /// key is kept. The arrays can have any lengths, and can be parts of arrays. The result is the same for every variant and
    /// on every device. If an array is not sorted, the result has all keys in some order; the variants below `best` may then
    /// repeat some and leave out others. The workspace is 16 bytes, and none for up to 2304 keys. Queues the work and does not
    /// wait.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let (a, b) = (device.upload(&[1.5_f32, 4.0])?, device.upload(&[-1.0_f32, 2.0, 4.5])?);
    /// assert_eq!(device.merge(&a, &b)?.to_vec()?, [-1.0, 1.5, 2.0, 4.0, 4.5]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch), [`Error::OutOfMemory`](crate::Error::OutOfMemory), and errors
    /// of the device.
    pub fn merge<'a, K: SortKey>(
        &self,
        a: impl Into<VectorView<'a, K>>,
        b: impl Into<VectorView<'a, K>>,
    ) -> Result<Vector<K>> {
        self.merge_request(a, b).run()
    }

    /// Makes a request of [`merge`](Self::merge), with options: arrays in descending order.
    pub fn merge_request<'a, K: SortKey>(
        &self,
        a: impl Into<VectorView<'a, K>>,
        b: impl Into<VectorView<'a, K>>,
    ) -> MergeRequest<'a, K> {
        let merge = Merge {
            keys: [a.into(), b.into()],
            is_descending: false,
        };
        Request::new(self, merge)
    }

    /// Returns the keys of two sorted arrays in one, sorted, and the values in the order of their keys. Each side is its keys
    /// and its values.
    ///
    /// A value has 1, 2, 4, 8 or 16 bytes. There is the variant `best` alone. Otherwise as [`merge`](Self::merge). Queues the
    /// work and does not wait.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let (a, b) = (device.upload(&[2_u8, 5])?, device.upload(&[1_u8, 5])?);
    /// let (x, y) = (device.upload(&[20, 50])?, device.upload(&[10, 51])?);
    /// let (keys, values) = device.merge_pairs((&a, &x), (&b, &y))?;
    /// assert_eq!((keys.to_vec()?, values.to_vec()?), (vec![1, 2, 5, 5], vec![10, 20, 50, 51]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`merge`](Self::merge). Also [`Error::Invalid`](crate::Error::Invalid) for values of another size, and if a side
    /// does not have as many values as keys; [`Error::NotEligible`](crate::Error::NotEligible) for another variant.
    pub fn merge_pairs<'a, K: SortKey, V: Element>(
        &self,
        a: (impl Into<VectorView<'a, K>>, impl Into<VectorView<'a, V>>),
        b: (impl Into<VectorView<'a, K>>, impl Into<VectorView<'a, V>>),
    ) -> Result<(Vector<K>, Vector<V>)> {
        self.merge_pairs_request(a, b).run()
    }

    /// Makes a request of [`merge_pairs`](Self::merge_pairs), with options.
    pub fn merge_pairs_request<'a, K: SortKey, V: Element>(
        &self,
        a: (impl Into<VectorView<'a, K>>, impl Into<VectorView<'a, V>>),
        b: (impl Into<VectorView<'a, K>>, impl Into<VectorView<'a, V>>),
    ) -> MergePairsRequest<'a, K, V> {
        let pairs = MergePairs {
            keys: [a.0.into(), b.0.into()],
            values: [a.1.into(), b.1.into()],
            is_descending: false,
            merged: Second::new(),
        };
        Request::new(self, pairs)
    }
}

/// A merge of sorted arrays.
#[derive(Debug, Clone)]
pub struct Merge<'a, K> {
    keys: [VectorView<'a, K>; 2],
    is_descending: bool,
}

/// A request of a merge.
pub type MergeRequest<'a, K, D = New> = Request<Merge<'a, K>, D>;
/// A merge whose variant is chosen and whose result has its memory.
pub type PreparedMerge<'a, K, R = Vector<K>> = Prepared<Merge<'a, K>, R>;

impl<K: SortKey, D> MergeRequest<'_, K, D> {
    /// Merges arrays that are in descending order. Equal keys of the first array come first all the same.
    pub fn descending(mut self) -> Self {
        self.op.is_descending = true;
        self
    }

    /// Merges the arrays and returns the result. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::merge`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<D::Claimed>
    where
        D: Destination<Vector<K>>,
    {
        self.prepare()?.made()
    }
}

impl<K: SortKey> Operation for Merge<'_, K> {
    type Output = Vector<K>;

    fn name(&self) -> &'static str {
        "merge"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let [a, b] = bits(plan, self.keys)?;
        let len = a.len() + b.len();
        if len == 0 {
            return Ok(Shape::Vector(0));
        }
        let (output, twist) = (Place::output(len), twist::<K>(self.is_descending));
        #[cfg(feature = "ladder")]
        if let Some((kernel, items)) = match Variant::ALL[plan.choice.index] {
            Variant::Naive => Some((K::Bits::MERGE_NAIVE, 1)),
            Variant::Path => Some((K::Bits::MERGE_PATH, PATH_ITEMS)),
            _ => None,
        } {
            let config = plan.linear(len.div_ceil(items * RUNG_BLOCK), RUNG_BLOCK)?;
            let args = (a, b, twist, output);
            // SAFETY: the output has as many elements as both arrays, and overlaps neither.
            unsafe { plan.launch(kernel, config, args) };
            return Ok(Shape::Vector(len));
        }
        let shared = merge::shared_bytes::<K::Bits>();
        let (config, control) = tiles::<K::Bits>(plan, len, shared)?;
        let args = (twist, a, b, output, control);
        // SAFETY: the output has as many elements as both arrays, and overlaps neither. The words are 0, and the kernel leaves
        // them 0.
        unsafe { plan.launch(K::Bits::MERGE_KEYS, config, args) };
        Ok(Shape::Vector(len))
    }
}

/// A merge of sorted arrays of keys with values, which go to an `E`.
#[derive(Debug)]
pub struct MergePairs<'a, K, V, E = Vector<V>> {
    keys: [VectorView<'a, K>; 2],
    values: [VectorView<'a, V>; 2],
    is_descending: bool,
    merged: Second<E>,
}

/// A request of a merge of keys with values.
pub type MergePairsRequest<'a, K, V, D = New, E = Vector<V>> = Request<MergePairs<'a, K, V, E>, D>;
/// A merge of keys with values whose results have their memory. Its output are the keys.
pub type PreparedMergePairs<'a, K, V, R = Vector<K>, E = Vector<V>> =
    Prepared<MergePairs<'a, K, V, E>, R>;

impl<'a, K: SortKey, V: Element, D> MergePairsRequest<'a, K, V, D> {
    /// Writes the values to `place` instead of a new array: a vector or a view of one. [`output_to`](Self::output_to) says
    /// where the keys go.
    pub fn values_to<E: Writable<Vector<V>>>(self, place: E) -> MergePairsRequest<'a, K, V, D, E> {
        self.with(|op, to| {
            let op = MergePairs {
                keys: op.keys,
                values: op.values,
                is_descending: op.is_descending,
                merged: Second::There(place),
            };
            (op, to)
        })
    }
}

impl<K: SortKey, V: Element, D, E: Writable<Vector<V>>> MergePairsRequest<'_, K, V, D, E> {
    /// Merges arrays that are in descending order. Equal keys of the first array come first all the same.
    pub fn descending(mut self) -> Self {
        self.op.is_descending = true;
        self
    }

    /// Merges the keys and values and returns the results. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::merge_pairs`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<(D::Claimed, E)>
    where
        D: Destination<Vector<K>>,
    {
        let mut prepared = self.prepare()?;
        prepared.enqueue()?;
        let values = prepared.op.merged.take("merge_pairs")?;
        Ok((prepared.into_output()?, values))
    }
}

impl<K: SortKey, V: Element, R, E: Writable<Vector<V>>> PreparedMergePairs<'_, K, V, R, E> {
    /// Returns the values of the work queued last. Does not wait for them.
    ///
    /// # Errors
    /// As for [`output`](Self::output).
    pub fn values(&self) -> Result<&E> {
        self.output()?;
        self.op.merged.get("merge_pairs")
    }
}

impl<K: SortKey, V: Element, E: Writable<Vector<V>>> Operation for MergePairs<'_, K, V, E> {
    type Output = Vector<K>;

    fn name(&self) -> &'static str {
        "merge"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        require_best(plan, "keys with values are merged")?;
        let [a, b] = bits(plan, self.keys)?;
        let [x, y] = [plan.input(self.values[0])?, plan.input(self.values[1])?];
        value_bytes::<V>(plan, a.len(), x.len())?;
        let bytes = value_bytes::<V>(plan, b.len(), y.len())?;
        let len = a.len() + b.len();
        let values: Place<V> = self.merged.place(plan, Shape::Vector(len))?;
        if len == 0 {
            return Ok(Shape::Vector(0));
        }
        let shared = merge::pairs_shared_bytes::<K::Bits>();
        let (config, control) = tiles::<K::Bits>(plan, len, shared)?;
        let args = (
            twist::<K>(self.is_descending),
            a,
            b,
            Place::output(len),
            control,
            x.cast(),
            y.cast(),
            values.cast(),
            bytes as u32,
        );
        // SAFETY: the outputs have as many elements as both arrays, and overlap nothing. The words are 0, and the kernel leaves
        // them 0.
        unsafe { plan.launch(K::Bits::MERGE_PAIRS, config, args) };
        Ok(Shape::Vector(len))
    }
}

/// Returns the places of the keys of two arrays, as bits.
fn bits<K: SortKey>(
    plan: &mut Plan<'_>,
    [a, b]: [VectorView<'_, K>; 2],
) -> Result<[Place<K::Bits>; 2]> {
    Ok([plan.input(a)?.cast(), plan.input(b)?.cast()])
}

/// Returns a launch with a block for each tile of `len` elements of the output, and the words that the blocks share.
fn tiles<T>(plan: &mut Plan<'_>, len: usize, shared: usize) -> Result<(LaunchConfig, Place<u32>)> {
    let tiles = len.div_ceil(tile_len::<T>());
    let config = plan.linear(tiles, THREADS)?.with_shared(shared as u32);
    let control = plan.zeros(if tiles > 1 { CONTROL_LEN } else { 0 });
    Ok((config, control))
}

/// Checks that the variant is `best`, which alone does `what`.
fn require_best(plan: &Plan<'_>, what: &str) -> Result<()> {
    if Variant::ALL[plan.choice.index] != Variant::Best {
        return Err(plan.not_eligible(format!("{what} by `best` alone")));
    }
    Ok(())
}
