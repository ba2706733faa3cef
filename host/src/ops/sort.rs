//! Sorts: keys in order, alone, with values, or as positions.

use std::ops::{Bound, RangeBounds};

use cuda_std::kernel::EntryOf;
use warpwright_gpu::{
    Family,
    sort::{
        Bits, Column, DIGITS, FAMILY, Kernels, Pass, Range, SortBestItems, SortBestKeys, Twist,
        Twists,
        policy::{self, Policy},
    },
};

#[cfg(feature = "ladder")]
use warpwright_gpu::sort::REDUCE_THEN_SCAN_PLACES;

pub use warpwright_gpu::sort::Variant;

use super::{
    Strided,
    plan::{Place, Plan},
    request::{Destination, New, Operation, Prepared, Request, Shape},
    sealed::Sealed,
};
use crate::{
    buffer::{Element, Vector, VectorView, VectorViewMut},
    device::Device,
    error::{Error, Result},
};

/// A key: `u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64`.
pub trait SortKey: Element + Sealed {
    /// The unsigned integer of the same size.
    #[doc(hidden)]
    type Bits: Kernels + Element;
    /// How the bits become numbers in the key's ascending order.
    #[doc(hidden)]
    const TWIST: Twist<Self::Bits>;
}

macro_rules! keys {
    ($($bits:ident: $unsigned:ty, $signed:ty, [$($float:ty),*];)*) => { $(
        keys!(@ $bits, $unsigned, 0, 0);
        keys!(@ $bits, $signed, 0, 1 << ($bits::BITS - 1));
        $(keys!(@ $bits, $float, $bits::MAX >> 1, 1 << ($bits::BITS - 1));)*
    )* };
    (@ $bits:ident, $key:ty, $magnitude:expr, $flip:expr) => {
        impl SortKey for $key {
            type Bits = $bits;
            const TWIST: Twist<$bits> = Twist { magnitude: $magnitude, flip: $flip };
        }
    };
}
keys! {
    u8: u8, i8, [];
    u16: u16, i16, [half::f16, half::bf16];
    u32: u32, i32, [f32];
    u64: u64, i64, [f64];
}

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

impl Device {
    /// Returns the keys in ascending order.
    ///
    /// Integers are in their order, floats in that of `total_cmp`: NaNs with the sign set first, then the numbers with -0 before
    /// +0, then the other NaNs. Every bit of a key is kept. There can be any number of keys. The result is the same for every
    /// variant and on every device. The workspace is one more copy of the keys and at most 2 % (4 % for keys of 2 bytes), and
    /// some 70 KiB.
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

    /// Sorts the keys where they are. Otherwise as [`sort`](Self::sort).
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
    /// A value has 1, 2, 4, 8 or 16 bytes. Otherwise as [`sort`](Self::sort); the workspace has one more copy of the values too.
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
            sorted_values: None,
        };
        Request::new(self, pairs)
    }

    /// Sorts the keys and values where they are. Otherwise as [`sort_pairs`](Self::sort_pairs).
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
    /// [`sort`](Self::sort); the workspace has up to two copies of the keys and one of the positions.
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

    /// Returns the range of bits of keys that have `of` bits.
    fn range(&self, operation: &'static str, of: u32) -> Result<Range> {
        match self.bits {
            None => Ok(Range { first: 0, bits: of }),
            Some([first, end]) if first < end && end <= of => Ok(Range {
                first,
                bits: end - first,
            }),
            Some([first, end]) => Err(Error::invalid(
                operation,
                format!("a range of bits with at least one of the {of} bits of a key"),
                format!("{first}..{end}"),
            )),
        }
    }

    /// Returns the twist that makes ascending numbers of the keys.
    fn twist<K: SortKey>(&self) -> Twist<K::Bits> {
        let Twist { magnitude, flip } = K::TWIST;
        let flip = if self.is_descending {
            flip ^ K::Bits::ONES
        } else {
            flip
        };
        Twist { magnitude, flip }
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
    ($($request:ident<$($param:ident: $bound:ident),*>;)*) => { $(
        impl<'a, K: SortKey, $($param: $bound,)* D> $request<'a, K, $($param,)* D> {
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
    SortInPlaceRequest<>;
    SortPairsRequest<V: Element>;
    SortPairsInPlaceRequest<V: Element>;
    ArgsortRequest<P: Position>;
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
    /// Sorts the keys and returns the result.
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
    /// Sorts the keys.
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

/// A sort of keys with values.
#[derive(Debug)]
pub struct SortPairs<'a, K, V> {
    keys: VectorView<'a, K>,
    values: VectorView<'a, V>,
    by: By,
    /// The sorted values, once the work is planned.
    sorted_values: Option<Vector<V>>,
}

/// A request of a sort of keys with values.
pub type SortPairsRequest<'a, K, V, D = New> = Request<SortPairs<'a, K, V>, D>;
/// A sort of keys with values whose variant is chosen and whose results have their memory. Its output are the keys.
pub type PreparedSortPairs<'a, K, V, R = Vector<K>> = Prepared<SortPairs<'a, K, V>, R>;

impl<K: SortKey, V: Element, D: Destination<Vector<K>>> SortPairsRequest<'_, K, V, D> {
    /// Sorts the keys and values and returns the results.
    ///
    /// # Errors
    /// As for [`Device::sort_pairs`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<(D::Claimed, Vector<V>)> {
        let mut prepared = self.prepare()?;
        prepared.enqueue()?;
        let values = prepared.op.sorted_values.take();
        let values = values.ok_or_else(no_values)?;
        Ok((prepared.into_output()?, values))
    }
}

impl<K: SortKey, V: Element, R> PreparedSortPairs<'_, K, V, R> {
    /// Returns the values of the work queued last.
    ///
    /// # Errors
    /// As for [`output`](Self::output).
    pub fn values(&self) -> Result<&Vector<V>> {
        self.output()?;
        self.op.sorted_values.as_ref().ok_or_else(no_values)
    }
}

fn no_values() -> Error {
    Error::invalid("sort", "values that are planned", "none")
}

impl<K: SortKey, V: Element> Operation for SortPairs<'_, K, V> {
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
        let sorted = Vector::uninit(plan.device, plan.operation, values.len())?;
        let output = Place::of(sorted.view());
        self.sorted_values = Some(sorted);
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
    /// Sorts the keys and values.
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

/// The positions of keys in order.
#[derive(Debug, Clone)]
pub struct Argsort<'a, K, P> {
    keys: VectorView<'a, K>,
    by: By,
    positions: std::marker::PhantomData<fn() -> P>,
}

/// A request of the positions of keys in order.
pub type ArgsortRequest<'a, K, P, D = New> = Request<Argsort<'a, K, P>, D>;
/// The positions of keys in order, whose variant is chosen and which have their memory.
pub type PreparedArgsort<'a, K, P, R = Vector<P>> = Prepared<Argsort<'a, K, P>, R>;

impl<K: SortKey, P: Position, D: Destination<Vector<P>>> ArgsortRequest<'_, K, P, D> {
    /// Finds the positions and returns them.
    ///
    /// # Errors
    /// As for [`Device::argsort`], and those of [`prepare`](Self::prepare).
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
        if len > P::MOST {
            return Err(Error::invalid(
                plan.operation,
                format!("at most {} keys for positions of this type", P::MOST),
                format!("{len}"),
            ));
        }
        let keys = Keys {
            input: input.cast(),
            output: None,
            in_place: false,
        };
        let positions = Place::<P>::output(len);
        let data = Data::Positions(positions.cast(), size_of::<P>());
        sort::<K>(plan, self.by, keys, data)?;
        Ok(Shape::Vector(len))
    }
}

/// Checks the values of `keys` keys, and returns the bytes of one.
fn value_bytes<V: Element>(plan: &Plan<'_>, keys: usize, values: usize) -> Result<usize> {
    let bytes = size_of::<V>();
    if keys != values {
        return Err(Error::invalid(
            plan.operation,
            format!("as many values as keys, {keys}"),
            format!("{values}"),
        ));
    }
    if !matches!(bytes, 1 | 2 | 4 | 8 | 16) {
        return Err(Error::invalid(
            plan.operation,
            "values of 1, 2, 4, 8 or 16 bytes",
            format!("{bytes}"),
        ));
    }
    Ok(bytes)
}

/// The keys of a sort, as bits.
#[derive(Clone, Copy)]
struct Keys<U> {
    input: Place<U>,
    /// `None` if only the order of the keys is wanted.
    output: Option<Place<U>>,
    /// Whether the output is the input.
    in_place: bool,
}

impl<U> Keys<U> {
    fn in_place<K>(keys: Place<K>) -> Self {
        Self {
            input: keys.cast(),
            output: Some(keys.cast()),
            in_place: true,
        }
    }
}

/// What goes with the keys.
#[derive(Clone, Copy)]
enum Data {
    None,
    Given(Given),
    /// The place of the positions, and the bytes of one.
    Positions(Place<u8>, usize),
}

/// Values, and the bytes of one. They are sorted where they are if the keys are.
#[derive(Clone, Copy)]
struct Given {
    input: Place<u8>,
    output: Place<u8>,
    bytes: usize,
}

/// Plans a sort.
fn sort<K: SortKey>(plan: &mut Plan<'_>, by: By, keys: Keys<K::Bits>, data: Data) -> Result<()> {
    let range = by.range(plan.operation, <K::Bits as Bits>::BITS)?;
    let problem = Problem {
        len: keys.input.len(),
        keys,
        data,
        range,
        twist: by.twist::<K>(),
        tile: by.tile,
    };
    if problem.len == 0 {
        return Ok(());
    }
    #[cfg(feature = "ladder")]
    match Variant::ALL[plan.choice.index] {
        Variant::Naive => return problem.naive(plan),
        Variant::ReduceThenScan => return problem.reduce_then_scan(plan),
        Variant::Ballot => return problem.sweeps(plan, K::Bits::BALLOT, false),
        _ => {}
    }
    if problem.is_small(plan) {
        return problem.small(plan);
    }
    problem.sweeps(plan, (K::Bits::KEYS, K::Bits::ITEMS), true)
}

/// The kernels of a sweep: over keys alone, and over keys and values.
type Sweeps<U> = (Option<EntryOf<SortBestKeys<U>>>, EntryOf<SortBestItems<U>>);

/// The source and the destination of each pass over the keys or the values.
type Moves<T> = Vec<(Place<T>, Place<T>)>;

/// What is sorted.
#[derive(Clone, Copy)]
struct Problem<U> {
    len: usize,
    keys: Keys<U>,
    data: Data,
    range: Range,
    twist: Twist<U>,
    tile: Option<[usize; 2]>,
}

impl<U: Kernels + Element> Problem<U> {
    fn is_small(&self, plan: &Plan<'_>) -> bool {
        let bytes = policy::small_shared_bytes(self.len.min(policy::SMALL_KEYS), size_of::<U>());
        self.tile.is_none()
            && self.len <= policy::SMALL_KEYS
            && bytes <= plan.device.info().shared_bytes_per_block
    }

    /// Plans one launch of one block.
    fn small(&self, plan: &mut Plan<'_>) -> Result<()> {
        let shared = policy::small_shared_bytes(self.len, size_of::<U>());
        let config = plan.linear(1, policy::small_threads(self.len))?;
        let (input, values) = (self.keys.input, self.values());
        let output = self.keys.output.unwrap_or(Place::none());
        let args = (
            input,
            output,
            values.input,
            values.output,
            self.range,
            self.twists(0, 1),
            self.column(0, 0),
        );
        // SAFETY: input and output have as many keys, and the block has room for them. So have the values.
        unsafe { plan.launch(U::SMALL, config.with_shared(shared as u32), args) };
        Ok(())
    }

    /// Plans a sweep per digit. `with_first` is whether the first pass over all bits of keys alone has a kernel of its own.
    fn sweeps(
        &self,
        plan: &mut Plan<'_>,
        (later, items): Sweeps<U>,
        with_first: bool,
    ) -> Result<()> {
        let (size, passes) = (size_of::<U>(), self.range.passes());
        let is_whole = self.range.bits == U::BITS;
        let keys_alone = is_whole && matches!(self.data, Data::None);
        // For bytes there is only the first pass over keys alone.
        let keys_alone = keys_alone && (later.is_some() || with_first);
        // Without values and with all bits the first pass needs no order.
        let free_first = keys_alone && with_first;

        let most_bytes = plan.device.info().shared_bytes_per_block;
        let policy: Policy = if keys_alone {
            plan.policy(later.unwrap_or(U::FIRST), size)
        } else {
            plan.policy(items, size)
        };
        let [most_tile, most_tiles] = self.tile.unwrap_or([usize::MAX; 2]);
        let tile = policy.tile(!keys_alone, size, most_bytes).min(most_tile);
        let shared = policy.shared_bytes(!keys_alone, size, tile) as u32;
        let part = ((policy::MOST_KEYS_PER_LAUNCH - 1) / tile).min(most_tiles) * tile;
        let parts = self.len.div_ceil(part);
        let ordered = (passes as usize - usize::from(free_first)) * parts;
        let tiles = self.len.min(part).div_ceil(tile);

        let begins = plan.room::<u64>((passes as usize + 2) * DIGITS);
        let tickets = plan.room::<u32>(passes as usize * parts);
        // The tags of the words are those of the last launch, which are not those of the first.
        let states = plan.zeros::<u32>(if ordered > 0 { tiles * DIGITS } else { 0 });
        self.count(plan, begins, tickets)?;

        let keys = self.key_moves(plan, passes);
        let values = self.value_moves(plan, passes);
        let mut launches = 0;
        for pass in 0..passes {
            let first = free_first && pass == 0;
            let (shift, mask) = self.range.digit(pass);
            let (source, target) = keys[pass as usize];
            let (values_in, values_out) = values[pass as usize];
            for at in 0..parts {
                let from = at * part;
                let len = part.min(self.len - from);
                let row = |at: usize| match at {
                    0 => pass,
                    _ => passes + (at % 2) as u32,
                };
                let is_last = first || at + 1 == parts;
                let begin = if first { pass } else { row(at) };
                let known = if first || parts > 1 || ordered == 1 {
                    2
                } else {
                    tag(launches, ordered)
                };
                let words = Pass {
                    shift,
                    mask,
                    tile: tile as u32,
                    ticket: pass * parts as u32 + at as u32,
                    begin,
                    next: if is_last { begin } else { row(at + 1) },
                    known: known << 30,
                    wide: u32::from(self.len > 1 << 32 || self.tile.is_some()),
                };
                if !first {
                    if parts > 1 || ordered == 1 {
                        plan.clear(states);
                    }
                    launches += 1;
                }
                let config = plan.linear(len.div_ceil(tile), policy.threads)?;
                let config = config.with_shared(shared);
                let (input, twists) = (source.part(from, len), self.twists(pass, passes));
                if keys_alone {
                    let kernel = match later {
                        Some(later) if !first => later,
                        _ => U::FIRST,
                    };
                    let args = (input, target, begins, tickets, states, words, twists);
                    // SAFETY: source and target have all keys and do not overlap. The counts are those of the keys. The ticket
                    // is 0, and no status has the tag.
                    unsafe { plan.launch(kernel, config, args) };
                } else {
                    let column = self.column(pass, from);
                    let bytes = column.bytes as usize;
                    let values_in = match values_in.len() {
                        0 => values_in,
                        _ => values_in.part(from * bytes, len * bytes),
                    };
                    let args = (
                        input, target, values_in, values_out, begins, tickets, states, words,
                        twists, column,
                    );
                    // SAFETY: as above; there are as many values as keys.
                    unsafe { plan.launch(items, config, args) };
                }
            }
        }
        Ok(())
    }

    /// Plans counting the digits.
    fn count(&self, plan: &mut Plan<'_>, begins: Place<u64>, tickets: Place<u32>) -> Result<()> {
        let passes = self.range.passes();
        let counts = plan.zeros::<u64>(passes as usize * DIGITS);
        let done = plan.zeros::<u32>(1);
        let most_bytes = plan.device.info().shared_bytes_per_block;
        let copies = policy::digits_copies(passes, most_bytes);
        let strided = Strided {
            kernel: U::COUNT.descriptor(),
            threads: policy::DIGITS_BLOCK as u32,
            shared_bytes: policy::digits_shared_bytes(passes, copies) as u32,
            blocks_per_multiprocessor: 2,
            least_per_block: policy::DIGITS_LEAST_PER_BLOCK,
        };
        let blocks = strided.blocks(plan.device, plan.operation, self.len)?;
        let blocks = blocks.max(self.len.div_ceil(u32::MAX as usize));
        let config = plan.linear(blocks, policy::DIGITS_BLOCK)?;
        let args = (
            self.keys.input,
            counts,
            begins,
            tickets,
            done,
            self.range,
            self.twist,
            copies.ilog2(),
        );
        // SAFETY: the rooms have 256 elements per digit. The counts and `done` are 0, and the kernel leaves them 0.
        unsafe { plan.launch(U::COUNT, config.with_shared(strided.shared_bytes), args) };
        Ok(())
    }

    /// Plans three launches per digit.
    #[cfg(feature = "ladder")]
    fn reduce_then_scan(&self, plan: &mut Plan<'_>) -> Result<()> {
        let passes = self.range.passes();
        let (count, scatter) = U::REDUCE_THEN_SCAN;
        let tiles = self.len.div_ceil(policy::RUNG_TILE);
        let counts = plan.room::<u64>(tiles * DIGITS);
        let totals = plan.room::<u64>(DIGITS);
        let keys = self.key_moves(plan, passes);
        let values = self.value_moves(plan, passes);
        let config = plan.linear(tiles, policy::RUNG_BLOCK)?;
        let rows = plan.linear(DIGITS, policy::RUNG_BLOCK)?;
        for pass in 0..passes {
            let (shift, mask) = self.range.digit(pass);
            let (source, target) = keys[pass as usize];
            let (values_in, values_out) = values[pass as usize];
            let words = Pass {
                shift,
                mask,
                tile: policy::RUNG_TILE as u32,
                ticket: 0,
                begin: 0,
                next: 0,
                known: 0,
                wide: 1,
            };
            let twists = self.twists(pass, passes);
            let args = (
                source,
                target,
                values_in,
                values_out,
                counts,
                totals,
                words,
                twists,
                self.column(pass, 0),
            );
            let bytes = policy::RUNG_SCATTER_BYTES as u32;
            // SAFETY: there is a count per tile and digit. Source and target have all keys and values and do not overlap.
            unsafe {
                plan.launch(count, config, (source, counts, words, twists));
                plan.launch(REDUCE_THEN_SCAN_PLACES, rows, (counts, totals));
                plan.launch(scatter, config.with_shared(bytes), args);
            }
        }
        Ok(())
    }

    /// Plans a launch per step of the network, and a gather.
    #[cfg(feature = "ladder")]
    fn naive(&self, plan: &mut Plan<'_>) -> Result<()> {
        let (step, gather) = U::NAIVE;
        let positions = plan.room::<u64>(self.len);
        let padded = self.len.next_power_of_two().max(2);
        let config = plan.linear(
            (padded / 2).div_ceil(policy::RUNG_BLOCK),
            policy::RUNG_BLOCK,
        )?;
        let input = self.keys.input;
        let mut block = 2;
        while block <= padded {
            let mut distance = block / 2;
            while distance > 0 {
                let mirrored = u32::from(distance == block / 2);
                let args = (input, positions, distance, mirrored, self.range, self.twist);
                // SAFETY: there is a position per key.
                unsafe { plan.launch(step, config, args) };
                distance /= 2;
            }
            block *= 2;
        }
        let mut values = self.values();
        let mut source = input;
        if self.keys.in_place {
            source = self.copied(plan, input);
            if let Data::Given(given) = self.data {
                values.input = self.copied(plan, given.input);
            }
        }
        let config = plan.linear(self.len.div_ceil(policy::RUNG_BLOCK), policy::RUNG_BLOCK)?;
        let output = self.keys.output.unwrap_or(Place::none());
        let args = (
            source,
            output,
            values.input,
            values.output,
            positions,
            self.column(0, 0),
        );
        // SAFETY: the positions are those of the keys, and no output overlaps an input.
        unsafe { plan.launch(gather, config, args) };
        Ok(())
    }

    /// Returns a room with a copy of `from`.
    #[cfg(feature = "ladder")]
    fn copied<T>(&self, plan: &mut Plan<'_>, from: Place<T>) -> Place<T> {
        let to = plan.room(from.len());
        plan.copy_to(from, to);
        to
    }

    /// Returns the places of the values.
    fn values(&self) -> Given {
        match self.data {
            Data::None => Given {
                input: Place::none(),
                output: Place::none(),
                bytes: 0,
            },
            Data::Given(given) => given,
            Data::Positions(output, bytes) => Given {
                input: Place::none(),
                output,
                bytes,
            },
        }
    }

    /// Returns what the values of a pass are, from key `first` on.
    fn column(&self, pass: u32, first: usize) -> Column {
        Column {
            bytes: self.values().bytes as u32,
            positions: u32::from(pass == 0 && matches!(self.data, Data::Positions(..))),
            first: first as u64,
        }
    }

    fn twists(&self, pass: u32, passes: u32) -> Twists<U> {
        let of = |is_here: bool| if is_here { self.twist } else { Twist::NONE };
        Twists {
            input: of(pass == 0),
            output: of(pass + 1 == passes),
        }
    }

    /// Plans the places of the keys in each pass.
    fn key_moves(&self, plan: &mut Plan<'_>, passes: u32) -> Moves<U> {
        let Keys {
            input,
            output,
            in_place,
        } = self.keys;
        match output {
            Some(output) => self.moves(plan, input, output, in_place, passes),
            None => {
                // The last pass writes no keys.
                let rooms = [1, 2].map(|from| if passes > from { self.len } else { 0 });
                let rooms = rooms.map(|len| plan.room::<U>(len));
                let mut source = input;
                let mut moves = Moves::new();
                for pass in 0..passes as usize {
                    let is_last = pass + 1 == passes as usize;
                    let target = if is_last {
                        Place::none()
                    } else {
                        rooms[pass % 2]
                    };
                    moves.push((source, target));
                    source = target;
                }
                moves
            }
        }
    }

    /// Plans the places of the values in each pass.
    fn value_moves(&self, plan: &mut Plan<'_>, passes: u32) -> Moves<u8> {
        let Given { input, output, .. } = self.values();
        let in_place = self.keys.in_place && matches!(self.data, Data::Given(_));
        self.moves(plan, input, output, in_place, passes)
    }

    /// Plans moves from `input` to `output`, by way of one room.
    fn moves<T>(
        &self,
        plan: &mut Plan<'_>,
        input: Place<T>,
        output: Place<T>,
        in_place: bool,
        passes: u32,
    ) -> Moves<T> {
        let needs_copy = in_place && passes % 2 == 1;
        let room = plan.room::<T>(if passes > 1 || needs_copy {
            output.len()
        } else {
            0
        });
        let mut source = input;
        if needs_copy {
            plan.copy_to(input, room);
            source = room;
        }
        let mut moves = Moves::new();
        for pass in 0..passes {
            let target = if (passes - 1 - pass).is_multiple_of(2) {
                output
            } else {
                room
            };
            moves.push((source, target));
            source = target;
        }
        moves
    }
}

/// Returns the tag of the status words of one of several launches: another one than that of the launch before, where the last
/// one is before the first. 0 is the tag at the start, and 1 that of a tile's own count.
fn tag(launch: usize, launches: usize) -> u32 {
    if launch + 1 == launches && launches % 2 == 1 {
        return 0;
    }
    2 + (launch % 2) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_launch_meets_the_tag_of_the_one_before() {
        for launches in 2..=8 {
            let tags: Vec<u32> = (0..launches).map(|it| tag(it, launches)).collect();
            assert!(tags.iter().all(|tag| [0, 2, 3].contains(tag)), "{tags:?}");
            assert_ne!(tags[0], 0, "what the memory is set to");
            for (at, tag) in tags.iter().enumerate() {
                assert_ne!(*tag, tags[(at + 1) % launches], "{tags:?}");
            }
        }
    }
}
