//! Sorts: keys in order, alone, with values, or as positions.

mod argsort;
mod data;
mod pairs;
mod plan;
mod segments;
mod unique;

use std::ops::{Bound, RangeBounds};

use warpwright_gpu::{
    Family, merge,
    sort::{Bits, FAMILY, Range, Twist},
    top_k,
};

pub use warpwright_gpu::sort::Variant;

pub(super) use self::plan::{Compared, descending_positions, twist};
pub(super) use self::segments::Cut;
pub use self::{
    argsort::{Argsort, ArgsortRequest, Position, PreparedArgsort},
    pairs::{
        ArgsortSegments, ArgsortSegmentsRequest, PreparedArgsortSegments,
        PreparedSortPairsSegments, SortPairsSegments, SortPairsSegmentsRequest,
    },
    segments::{PreparedSortSegments, SortSegments, SortSegmentsRequest},
    unique::{PreparedSortedUnique, SortedUnique, SortedUniqueRequest},
};
use self::{
    data::{Data, Given, Keys},
    plan::sort,
};
use super::{
    plan::{Place, Plan},
    request::{Destination, New, Operation, Prepared, Request, Shape, Writable},
    sealed::Sealed,
    second::Second,
};
use crate::{
    buffer::{Element, Vector, VectorView, VectorViewMut},
    device::Device,
    error::{Error, InvalidKind, Result},
};

/// A key: `u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64`.
pub trait SortKey: Element + Sealed {
    /// The unsigned integer of the same size.
    #[doc(hidden)]
    type Bits: top_k::Kernels + merge::Kernels + Element;
    /// How the bits become numbers in the key's ascending order.
    #[doc(hidden)]
    const TWIST: Twist<Self::Bits>;
    /// The bits of infinity for floats, otherwise 0.
    #[doc(hidden)]
    const INFINITY: Self::Bits;
}

macro_rules! keys {
    ($($bits:ident: $unsigned:ty, $signed:ty, [$($float:ty),*];)*) => { $(
        keys!(@ $bits, $unsigned, 0, 0, 0);
        keys!(@ $bits, $signed, 0, 1 << ($bits::BITS - 1), 0);
        $(keys!(@ $bits, $float, $bits::MAX >> 1, 1 << ($bits::BITS - 1), <$float>::INFINITY.to_bits());)*
    )* };
    (@ $bits:ident, $key:ty, $magnitude:expr, $flip:expr, $infinity:expr) => {
        impl SortKey for $key {
            type Bits = $bits;
            const TWIST: Twist<$bits> = Twist { magnitude: $magnitude, flip: $flip };
            const INFINITY: $bits = $infinity;
        }
    };
}
keys! {
    u8: u8, i8, [];
    u16: u16, i16, [half::f16, half::bf16];
    u32: u32, i32, [f32];
    u64: u64, i64, [f64];
}

impl Device {
    /// Returns the keys in ascending order.
    ///
    /// Integers are in their order, floats in that of `total_cmp`: NaNs with the sign set first, then the numbers with -0
    /// before
    /// +0, then the other NaNs. Every bit of a key is kept. There can be any number of keys. The result is the same for every
    /// variant and on every device. The workspace is one more copy of the keys and at most 2 % (4 % for keys of 2 bytes), and
    /// some 70 KiB. Queues the work and does not wait.
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and errors of the device.
    pub fn sort<'a, K: SortKey>(&self, keys: impl Into<VectorView<'a, K>>) -> Result<Vector<K>> {
        self.sort_request(keys).run()
    }

    /// Makes a request of [`sort`](Self::sort), with options: descending order, and a range of the keys' bits.
    pub fn sort_request<'a, K: SortKey>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
    ) -> SortRequest<'a, K> {
        let keys = keys.into();
        Request::new(self, Sort { keys, by: By::ALL })
    }

    /// Sorts the keys where they are. Otherwise as [`sort`](Self::sort). Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub fn sort_in_place<'a, K: SortKey>(
        &self,
        keys: impl Into<VectorViewMut<'a, K>>,
    ) -> Result<()> {
        self.sort_in_place_request(keys).run()
    }

    /// Makes a request of [`sort_in_place`](Self::sort_in_place), with options.
    pub fn sort_in_place_request<'a, K: SortKey>(
        &self,
        keys: impl Into<VectorViewMut<'a, K>>,
    ) -> SortInPlaceRequest<'a, K> {
        let keys = keys.into();
        Request::new(self, SortInPlace { keys, by: By::ALL })
    }

    /// Returns the keys in ascending order, and the values in the order of their keys. Equal keys keep the order of their
    /// values.
    ///
    /// A value has 1, 2, 4, 8 or 16 bytes. Otherwise as [`sort`](Self::sort); the workspace has one more copy of the values
    /// too. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort). Also [`Error::Invalid`] for values of another size, and if there are not as many values as
    /// keys.
    pub fn sort_pairs<'a, K: SortKey, V: Element>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
        values: impl Into<VectorView<'a, V>>,
    ) -> Result<(Vector<K>, Vector<V>)> {
        self.sort_pairs_request(keys, values).run()
    }

    /// Makes a request of [`sort_pairs`](Self::sort_pairs), with options.
    pub fn sort_pairs_request<'a, K: SortKey, V: Element>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
        values: impl Into<VectorView<'a, V>>,
    ) -> SortPairsRequest<'a, K, V> {
        let pairs = SortPairs {
            keys: keys.into(),
            values: values.into(),
            by: By::ALL,
            sorted: Second::new(),
        };
        Request::new(self, pairs)
    }

    /// Sorts the keys and values where they are. Otherwise as [`sort_pairs`](Self::sort_pairs). Queues the work and does not
    /// wait.
    ///
    /// # Errors
    /// As for [`sort_pairs`](Self::sort_pairs).
    pub fn sort_pairs_in_place<'a, K: SortKey, V: Element>(
        &self,
        keys: impl Into<VectorViewMut<'a, K>>,
        values: impl Into<VectorViewMut<'a, V>>,
    ) -> Result<()> {
        self.sort_pairs_in_place_request(keys, values).run()
    }

    /// Makes a request of [`sort_pairs_in_place`](Self::sort_pairs_in_place), with options.
    pub fn sort_pairs_in_place_request<'a, K: SortKey, V: Element>(
        &self,
        keys: impl Into<VectorViewMut<'a, K>>,
        values: impl Into<VectorViewMut<'a, V>>,
    ) -> SortPairsInPlaceRequest<'a, K, V> {
        let pairs = SortPairsInPlace {
            keys: keys.into(),
            values: values.into(),
            by: By::ALL,
        };
        Request::new(self, pairs)
    }

    /// Returns the positions of the keys in ascending order: the first is the position of the least key. Equal keys are in the
    /// order of their positions.
    ///
    /// There can be 2^32 keys; [`argsort_request`](Self::argsort_request) makes positions of 64 bits for more. Otherwise as
    /// [`sort`](Self::sort); the workspace has up to two copies of the keys and one of the positions. Queues the work and does
    /// not wait.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort). Also [`Error::Invalid`] for more keys.
    pub fn argsort<'a, K: SortKey>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
    ) -> Result<Vector<u32>> {
        self.argsort_request(keys).run()
    }

    /// Makes a request of [`argsort`](Self::argsort), with options. `P` is the type of the positions, `u32` or `u64`.
    pub fn argsort_request<'a, K: SortKey, P: Position>(
        &self,
        keys: impl Into<VectorView<'a, K>>,
    ) -> ArgsortRequest<'a, K, P> {
        let keys = keys.into();
        let by = By::ALL;
        Request::new(
            self,
            Argsort {
                keys,
                by,
                positions: std::marker::PhantomData,
            },
        )
    }
}

/// By what keys are sorted.
#[derive(Debug, Clone, Copy)]
struct By {
    is_descending: bool,
    /// The first bit, and the one behind the last. `None` for all.
    bits: Option<[u32; 2]>,
    /// The most keys of a tile of `ballot` and `best` and the most tiles of a launch, for tests. Small inputs are then sorted
    /// like large ones.
    tile: Option<[usize; 2]>,
}

impl By {
    const ALL: Self = Self {
        is_descending: false,
        bits: None,
        tile: None,
    };

    /// Returns how keys are compared.
    fn compared<K: SortKey>(&self, operation: &'static str) -> Result<Compared<K::Bits>> {
        Ok(Compared {
            range: self.range(operation, <K::Bits as Bits>::BITS)?,
            twist: twist::<K>(self.is_descending),
            tile: self.tile,
        })
    }

    /// Returns the range of bits of keys that have `of` bits.
    fn range(&self, operation: &'static str, of: u32) -> Result<Range> {
        match self.bits {
            None => Ok(Range { first: 0, bits: of }),
            Some([first, end]) if first < end && end <= of => Ok(Range {
                first,
                bits: end - first,
            }),
            Some([first, end]) => Err(Error::invalid(
                InvalidKind::Range,
                operation,
                format!("a range of bits with at least one of the {of} bits of a key"),
                format!("{first}..{end}"),
            )),
        }
    }
}

/// Returns the bound of a range of bits, with `open` where there is none.
fn bound(bound: Bound<&u32>, past: u32, open: u32) -> u32 {
    match bound {
        Bound::Included(bit) => bit.saturating_add(past),
        Bound::Excluded(bit) => bit.saturating_add(1 - past),
        Bound::Unbounded => open,
    }
}

macro_rules! options {
    ($($request:ident<$($param:ident: $bound:ident),*> $($second:ident)?;)*) => { $(
        impl<'a, K: SortKey, $($param: $bound,)* D $(, $second)?>
            $request<'a, K, $($param,)* D $(, $second)?>
        {
            /// Sorts in descending order. Equal keys keep their order all the same.
            pub fn descending(self) -> Self {
                self.with(|mut op, to| {
                    op.by.is_descending = true;
                    (op, to)
                })
            }

            /// Compares only these bits of the keys, of which 0 is the lowest. Keys with equal bits keep their order.
            ///
            /// The bits are those of the number that is compared: of signed keys, the sign is inverted; of floats with the sign
            /// set all bits are, and of other floats the sign.
            pub fn bits(self, range: impl RangeBounds<u32>) -> Self {
                let bits = [
                    bound(range.start_bound(), 0, 0),
                    bound(range.end_bound(), 1, <K::Bits as Bits>::BITS),
                ];
                self.with(|mut op, to| {
                    op.by.bits = Some(bits);
                    (op, to)
                })
            }

            /// Sorts by tiles of at most `keys` keys, a multiple of 256, and at most `tiles` of them in a launch, for tests of
            /// many tiles. Not for users.
            #[doc(hidden)]
            pub fn tile(self, keys: usize, tiles: usize) -> Self {
                self.with(|mut op, to| {
                    op.by.tile = Some([keys, tiles]);
                    (op, to)
                })
            }
        }
    )* };
}
options! {
    SortRequest<>;
    SortSegmentsRequest<>;
    SortInPlaceRequest<>;
    SortPairsRequest<V: Element> E;
    SortPairsInPlaceRequest<V: Element>;
    ArgsortRequest<P: Position>;
    ArgsortSegmentsRequest<P: Position>;
    SortPairsSegmentsRequest<V: Element> E;
    SortedUniqueRequest<>;
}

/// A sort of keys.
#[derive(Debug, Clone)]
pub struct Sort<'a, K> {
    keys: VectorView<'a, K>,
    by: By,
}

/// A request of a sort of keys.
pub type SortRequest<'a, K, D = New> = Request<Sort<'a, K>, D>;
/// A sort of keys whose variant is chosen and whose result has its memory.
pub type PreparedSort<'a, K, R = Vector<K>> = Prepared<Sort<'a, K>, R>;

impl<K: SortKey, D: Destination<Vector<K>>> SortRequest<'_, K, D> {
    /// Sorts the keys and returns the result. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::sort`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<D::Claimed> {
        self.prepare()?.made()
    }
}

impl<K: SortKey> Operation for Sort<'_, K> {
    type Output = Vector<K>;

    fn name(&self) -> &'static str {
        "sort"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let input = plan.input(self.keys)?;
        let keys = Keys {
            input: input.cast(),
            output: Some(Place::output(input.len())),
            in_place: false,
        };
        sort::<K>(plan, self.by, keys, Data::None)?;
        Ok(Shape::Vector(input.len()))
    }
}

/// A sort of keys where they are.
#[derive(Debug)]
pub struct SortInPlace<'a, K> {
    keys: VectorViewMut<'a, K>,
    by: By,
}

/// A request of a sort of keys where they are.
pub type SortInPlaceRequest<'a, K, D = New> = Request<SortInPlace<'a, K>, D>;
/// A sort of keys where they are, whose variant is chosen.
pub type PreparedSortInPlace<'a, K> = Prepared<SortInPlace<'a, K>>;

impl<K: SortKey> SortInPlaceRequest<'_, K> {
    /// Sorts the keys. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::sort_in_place`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<()> {
        self.prepare()?.made()
    }
}

impl<K: SortKey> Operation for SortInPlace<'_, K> {
    type Output = ();

    fn name(&self) -> &'static str {
        "sort"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let keys = plan.input(self.keys.as_view())?;
        sort::<K>(plan, self.by, Keys::in_place(keys), Data::None)?;
        Ok(Shape::Nothing)
    }
}

/// A sort of keys with values, which go to an `E`.
#[derive(Debug)]
pub struct SortPairs<'a, K, V, E = Vector<V>> {
    keys: VectorView<'a, K>,
    values: VectorView<'a, V>,
    by: By,
    sorted: Second<E>,
}

/// A request of a sort of keys with values.
pub type SortPairsRequest<'a, K, V, D = New, E = Vector<V>> = Request<SortPairs<'a, K, V, E>, D>;
/// A sort of keys with values whose variant is chosen and whose results have their memory. Its output are the keys.
pub type PreparedSortPairs<'a, K, V, R = Vector<K>, E = Vector<V>> =
    Prepared<SortPairs<'a, K, V, E>, R>;

/// The second result of requests, which are the sorted values.
macro_rules! values {
    ($($op:ident<$($field:ident),*>, $request:ident, $prepared:ident, $call:literal;)*) => { $(
        impl<'a, K: SortKey, V: Element, D> $request<'a, K, V, D> {
            /// Writes the values to `place` instead of a new array: a vector or a view of one. [`output_to`](Self::output_to)
            /// says where the keys go.
            pub fn values_to<E: Writable<Vector<V>>>(self, place: E) -> $request<'a, K, V, D, E> {
                self.with(|op, to| {
                    let sorted = Second::There(place);
                    let op = $op { $($field: op.$field,)* sorted };
                    (op, to)
                })
            }
        }

        impl<K: SortKey, V: Element, D: Destination<Vector<K>>, E: Writable<Vector<V>>>
            $request<'_, K, V, D, E>
        {
            /// Sorts the keys and values and returns the results. Queues the work and does not wait.
            ///
            /// # Errors
            #[doc = concat!("As for [`Device::", $call, "`], and those of [`prepare`](Self::prepare).")]
            pub fn run(self) -> Result<(D::Claimed, E)> {
                let mut prepared = self.prepare()?;
                prepared.enqueue()?;
                let values = prepared.op.sorted.take($call)?;
                Ok((prepared.into_output()?, values))
            }
        }

        impl<K: SortKey, V: Element, R, E: Writable<Vector<V>>> $prepared<'_, K, V, R, E> {
            /// Returns the values of the work queued last. Does not wait for them.
            ///
            /// # Errors
            /// As for [`output`](Self::output).
            pub fn values(&self) -> Result<&E> {
                self.output()?;
                self.op.sorted.get($call)
            }
        }
    )* };
}
values! {
    SortPairs<keys, values, by>, SortPairsRequest, PreparedSortPairs, "sort_pairs";
    SortPairsSegments<keys, values, segments, by>, SortPairsSegmentsRequest, PreparedSortPairsSegments,
        "sort_pairs_segments";
}

impl<K: SortKey, V: Element, E: Writable<Vector<V>>> Operation for SortPairs<'_, K, V, E> {
    type Output = Vector<K>;

    fn name(&self) -> &'static str {
        "sort"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let (keys, values) = (plan.input(self.keys)?, plan.input(self.values)?);
        let bytes = value_bytes::<V>(plan, keys.len(), values.len())?;
        let output: Place<V> = self.sorted.place(plan, Shape::Vector(values.len()))?;
        let given = Given {
            input: values.cast(),
            output: output.cast(),
            bytes,
        };
        let both = Keys {
            input: keys.cast(),
            output: Some(Place::output(keys.len())),
            in_place: false,
        };
        sort::<K>(plan, self.by, both, Data::Given(given))?;
        Ok(Shape::Vector(keys.len()))
    }
}

/// A sort of keys with values where they are.
#[derive(Debug)]
pub struct SortPairsInPlace<'a, K, V> {
    keys: VectorViewMut<'a, K>,
    values: VectorViewMut<'a, V>,
    by: By,
}

/// A request of a sort of keys with values where they are.
pub type SortPairsInPlaceRequest<'a, K, V, D = New> = Request<SortPairsInPlace<'a, K, V>, D>;
/// A sort of keys with values where they are, whose variant is chosen.
pub type PreparedSortPairsInPlace<'a, K, V> = Prepared<SortPairsInPlace<'a, K, V>>;

impl<K: SortKey, V: Element> SortPairsInPlaceRequest<'_, K, V> {
    /// Sorts the keys and values. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::sort_pairs_in_place`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<()> {
        self.prepare()?.made()
    }
}

impl<K: SortKey, V: Element> Operation for SortPairsInPlace<'_, K, V> {
    type Output = ();

    fn name(&self) -> &'static str {
        "sort"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let keys = plan.input(self.keys.as_view())?;
        let values = plan.input(self.values.as_view())?;
        let bytes = value_bytes::<V>(plan, keys.len(), values.len())?;
        let given = Given {
            input: values.cast(),
            output: values.cast(),
            bytes,
        };
        sort::<K>(plan, self.by, Keys::in_place(keys), Data::Given(given))?;
        Ok(Shape::Nothing)
    }
}

/// Checks the values of `keys` keys, and returns the bytes of one.
pub(super) fn value_bytes<V: Element>(
    plan: &Plan<'_>,
    keys: usize,
    values: usize,
) -> Result<usize> {
    let bytes = size_of::<V>();
    if keys != values {
        return Err(Error::invalid(
            InvalidKind::Length,
            plan.operation,
            format!("as many values as keys, {keys}"),
            format!("{values}"),
        ));
    }
    if !matches!(bytes, 1 | 2 | 4 | 8 | 16) {
        return Err(Error::invalid(
            InvalidKind::ElementSize,
            plan.operation,
            "values of 1, 2, 4, 8 or 16 bytes",
            format!("{bytes}"),
        ));
    }
    Ok(bytes)
}
