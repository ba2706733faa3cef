//! Top-k: the greatest or smallest elements and their positions.

mod kth;
mod segments;

use warpwright_gpu::{
    Family,
    sort::{Bits, Twist},
    top_k::{
        FAMILY, Kernels, Order, STATE_LEN,
        policy::{self, MOST_K},
    },
};

pub use self::{
    kth::{Kth, KthRequest, KthRows, KthRowsRequest, PreparedKth, PreparedKthRows},
    segments::{PreparedTopKSegments, TopKSegments, TopKSegmentsRequest},
};
pub use warpwright_gpu::top_k::Variant;

use super::{
    Strided,
    plan::{Place, Plan},
    request::{Destination, New, Operation, Prepared, Request, Shape, Writable},
    second::Second,
    sort::{SortKey, descending_positions},
};
use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::{Error, InvalidKind, Result},
    matrix::Matrix,
    rect::MatrixRect,
};

impl Device {
    /// Returns the `k` greatest elements and their positions, the greatest first.
    ///
    /// Elements are compared as [`sort`](Self::sort) compares them, but NaNs, which are all equal, come before all numbers. Of
    /// equal elements the first come first. The elements keep their bits. The result is the same by every variant on every
    /// device.
    ///
    /// Up to `k` = 4096, a long input is read once, and the workspace is at most 5 % of the size of the elements, or 512 KiB
    /// (for elements of 64 bits 768 KiB) where that is more. For a greater `k`, or 2^32 elements, everything is sorted: the
    /// workspace is three copies of the elements and 16 bytes for each, and what a sort takes beside its copies. Queues the
    /// work and does not wait.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let x = device.upload(&[3.0_f32, -1.0, 7.0, 3.0])?;
    /// let (values, positions) = device.top_k(&x, 3)?;
    /// assert_eq!(values.to_vec()?, [7.0, 3.0, 3.0]);
    /// assert_eq!(positions.to_vec()?, [2, 0, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are fewer than `k` elements, [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and errors
    /// of the device.
    pub fn top_k<'a, T: SortKey>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        k: usize,
    ) -> Result<(Vector<T>, Vector<u64>)> {
        self.top_k_request(values, k).run()
    }

    /// Makes a request of [`top_k`](Self::top_k), with options.
    pub fn top_k_request<'a, T: SortKey>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        k: usize,
    ) -> TopKRequest<'a, T> {
        let (values, wanted, positions) = (values.into(), Wanted::greatest(k), Second::new());
        Request::new(
            self,
            TopK {
                values,
                wanted,
                positions,
            },
        )
    }

    /// Returns the `k` greatest elements of each row and their positions in the row, a row of both per row. Otherwise as
    /// [`top_k`](Self::top_k). A `k` above 4096 sorts one row after the other. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`top_k`](Self::top_k).
    pub fn top_k_rows<'a, T: SortKey>(
        &self,
        matrix: impl Into<MatrixRect<'a, T>>,
        k: usize,
    ) -> Result<(Matrix<T>, Matrix<u64>)> {
        self.top_k_rows_request(matrix, k).run()
    }

    /// Makes a request of [`top_k_rows`](Self::top_k_rows), with options.
    pub fn top_k_rows_request<'a, T: SortKey>(
        &self,
        matrix: impl Into<MatrixRect<'a, T>>,
        k: usize,
    ) -> TopKRowsRequest<'a, T> {
        let (matrix, wanted, positions) = (matrix.into(), Wanted::greatest(k), Second::new());
        Request::new(
            self,
            TopKRows {
                matrix,
                wanted,
                positions,
            },
        )
    }
}

/// Which elements are wanted.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    k: usize,
    is_smallest: bool,
    /// Whether `best` takes samples of every input that is long enough, for tests.
    is_sampled: bool,
}

impl Wanted {
    fn greatest(k: usize) -> Self {
        Self {
            k,
            is_smallest: false,
            is_sampled: false,
        }
    }

    fn order<T: SortKey>(self) -> Order<T::Bits> {
        let Twist { magnitude, flip } = T::TWIST;
        let flip = if self.is_smallest {
            flip ^ T::Bits::ONES
        } else {
            flip
        };
        let infinity = T::INFINITY;
        let twist = Twist { magnitude, flip };
        Order { twist, infinity }
    }
}

/// The greatest or smallest elements of an array, whose positions go to an `E`.
#[derive(Debug)]
pub struct TopK<'a, T, E = Vector<u64>> {
    values: VectorView<'a, T>,
    wanted: Wanted,
    positions: Second<E>,
}

/// The greatest or smallest elements of each row of a matrix, whose positions go to an `E`.
#[derive(Debug)]
pub struct TopKRows<'a, T, E = Matrix<u64>> {
    matrix: MatrixRect<'a, T>,
    wanted: Wanted,
    positions: Second<E>,
}

/// A request of the greatest or smallest elements of an array.
pub type TopKRequest<'a, T, D = New, E = Vector<u64>> = Request<TopK<'a, T, E>, D>;
/// The greatest or smallest elements of an array, whose variant is chosen and which have their memory. Its output are the
/// elements.
pub type PreparedTopK<'a, T, R = Vector<T>, E = Vector<u64>> = Prepared<TopK<'a, T, E>, R>;
/// A request of the greatest or smallest elements of each row of a matrix.
pub type TopKRowsRequest<'a, T, D = New, E = Matrix<u64>> = Request<TopKRows<'a, T, E>, D>;
/// The greatest or smallest elements of each row of a matrix, whose variant is chosen and which have their memory. Its output
/// are the elements, a row for each row.
pub type PreparedTopKRows<'a, T, R = Matrix<T>, E = Matrix<u64>> = Prepared<TopKRows<'a, T, E>, R>;

/// The options of a request, and the two results.
macro_rules! results {
    ($($op:ident<$($field:ident),*>, $request:ident, $prepared:ident, $output:ident, $call:literal;)*) => { $(
        impl<'a, T: SortKey, D> $request<'a, T, D> {
            /// Writes the positions to `place` instead of a new array. [`output_to`](Self::output_to) says where the elements
            /// go.
            pub fn positions_to<E: Writable<$output<u64>>>(self, place: E) -> $request<'a, T, D, E> {
                self.with(|op, to| {
                    let positions = Second::There(place);
                    let op = $op { $($field: op.$field,)* positions };
                    (op, to)
                })
            }
        }

        impl<T: SortKey, D, E> $request<'_, T, D, E> {
            /// Selects the smallest elements, the smallest first. NaNs come first all the same.
            pub fn smallest(self) -> Self {
                self.with(|mut op, to| {
                    op.wanted.is_smallest = true;
                    (op, to)
                })
            }

            /// Takes samples of inputs of at least 16384 elements, for tests. Not for users.
            #[doc(hidden)]
            pub fn sampled(self) -> Self {
                self.with(|mut op, to| {
                    op.wanted.is_sampled = true;
                    (op, to)
                })
            }
        }

        impl<T: SortKey, D: Destination<$output<T>>, E: Writable<$output<u64>>> $request<'_, T, D, E> {
            /// Selects the elements and returns them and their positions. Queues the work and does not wait.
            ///
            /// # Errors
            #[doc = concat!("As for [`Device::", $call, "`], and those of [`prepare`](Self::prepare).")]
            pub fn run(self) -> Result<(D::Claimed, E)> {
                let mut prepared = self.prepare()?;
                prepared.enqueue()?;
                let positions = prepared.op.positions.take($call)?;
                Ok((prepared.into_output()?, positions))
            }
        }

        impl<T: SortKey, R, E: Writable<$output<u64>>> $prepared<'_, T, R, E> {
            /// Returns the positions of the work queued last. Does not wait for them.
            ///
            /// # Errors
            /// As for [`output`](Self::output).
            pub fn positions(&self) -> Result<&E> {
                self.output()?;
                self.op.positions.get($call)
            }
        }
    )* };
}
results! {
    TopK<values, wanted>, TopKRequest, PreparedTopK, Vector, "top_k";
    TopKRows<matrix, wanted>, TopKRowsRequest, PreparedTopKRows, Matrix, "top_k_rows";
    TopKSegments<values, segments, wanted>, TopKSegmentsRequest, PreparedTopKSegments, Matrix, "top_k_segments";
}

impl<T: SortKey, E: Writable<Vector<u64>>> Operation for TopK<'_, T, E> {
    type Output = Vector<T>;

    fn name(&self) -> &'static str {
        "top_k"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let elements = plan.input(self.values)?;
        let k = self.wanted.k;
        let rows = Rows {
            elements: elements.cast(),
            height: 1,
            width: elements.len(),
            stride: elements.len(),
        };
        rows.check(plan, k)?;
        let place = self.positions.place(plan, Shape::Vector(k))?;
        plan.result(place);
        rows.select(plan, self.wanted, self.wanted.order::<T>(), place)?;
        Ok(Shape::Vector(k))
    }
}

impl<T: SortKey, E: Writable<Matrix<u64>>> Operation for TopKRows<'_, T, E> {
    type Output = Matrix<T>;

    fn name(&self) -> &'static str {
        "top_k_rows"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let (rows, k) = (Rows::of(plan, self.matrix)?, self.wanted.k);
        rows.check(plan, k)?;
        let place = self.positions.place(plan, Shape::Matrix(rows.height, k))?;
        plan.result(place);
        rows.select(plan, self.wanted, self.wanted.order::<T>(), place)?;
        Ok(Shape::Matrix(rows.height, k))
    }
}

/// The rows of which each has its own result.
#[derive(Clone, Copy)]
struct Rows<U> {
    /// The elements from the first row's first to the last row's last.
    elements: Place<U>,
    height: usize,
    width: usize,
    stride: usize,
}

/// One row, and the places of its result.
struct Row<U> {
    elements: Place<U>,
    order: Order<U>,
    k: usize,
    values: Place<U>,
    positions: Place<u64>,
}

impl<U: Kernels + Element> Rows<U> {
    fn of<T: SortKey<Bits = U>>(plan: &mut Plan<'_>, matrix: MatrixRect<'_, T>) -> Result<Self> {
        Ok(Self {
            elements: plan.input(matrix.elements())?.cast(),
            height: matrix.height(),
            width: matrix.width(),
            stride: matrix.stride(),
        })
    }

    /// Returns whether each row is the work of one block, because it is short or there are as many as multiprocessors.
    fn are_for_blocks(&self, plan: &Plan<'_>) -> bool {
        self.width <= policy::SMALL || self.height >= multiprocessors(plan)
    }

    fn check(&self, plan: &Plan<'_>, k: usize) -> Result<()> {
        if k > self.width {
            return Err(Error::invalid(
                InvalidKind::Range,
                plan.operation,
                format!("k of at most the {} elements there are", self.width),
                format!("{k}"),
            ));
        }
        Ok(())
    }

    /// Plans the launches of the chosen variant.
    fn select(
        &self,
        plan: &mut Plan<'_>,
        wanted: Wanted,
        order: Order<U>,
        positions: Place<u64>,
    ) -> Result<()> {
        let (k, height) = (wanted.k, self.height);
        if k == 0 || height == 0 {
            return Ok(());
        }
        let values = Place::output(height * k);
        let row = |i: usize| Row {
            elements: self.elements.part(i * self.stride, self.width),
            order,
            k,
            values: values.part(i * k, k),
            positions: positions.part(i * k, k),
        };
        // Positions have 32 bits in the kernels.
        let fits = k <= MOST_K && self.width < u32::MAX as usize;
        #[cfg(feature = "ladder")]
        match Variant::ALL[plan.choice.index] {
            Variant::Naive => return plan.in_turn(height, |plan, i| row(i).sorted(plan)),
            Variant::TwoLevel if fits => {
                return plan.in_turn(height, |plan, i| row(i).two_level(plan));
            }
            Variant::TwoLevel => {
                return Err(plan.not_eligible(format!(
                    "it selects {MOST_K} of fewer than 2^32 elements at most, and this is {k} of {}",
                    self.width
                )));
            }
            _ => {}
        }
        if !fits {
            return plan.in_turn(height, |plan, i| row(i).sorted(plan));
        }
        let is_sampled = wanted.is_sampled && self.width >= policy::LEAST_SAMPLED;
        if self.are_for_blocks(plan) && !is_sampled {
            return self.by_blocks(plan, order, k, positions);
        }
        plan.in_turn(height, |plan, i| {
            let row = row(i);
            let entries = row.chunks(plan) * k;
            if row.elements.len() <= policy::MOST_CHUNKED
                && entries <= policy::MOST_CHUNK_ENTRIES
                && !is_sampled
            {
                row.two_level(plan)
            } else {
                row.sampled(plan)
            }
        })
    }

    /// Plans one launch, of a block per row.
    fn by_blocks(
        &self,
        plan: &mut Plan<'_>,
        order: Order<U>,
        k: usize,
        positions: Place<u64>,
    ) -> Result<()> {
        let (most, shared) = entries::<U>(plan, k);
        let config = plan.linear(self.height, policy::BLOCK)?;
        let args = (
            self.elements,
            order,
            self.width as u64,
            self.stride as u64,
            k as u32,
            most as u32,
            Place::output(self.height * k),
            positions,
        );
        // SAFETY: `k` is at most the number of elements of a row, and at most `most`. The outputs have `k` elements per row.
        unsafe { plan.launch(U::ROWS, config.with_shared(shared), args) };
        Ok(())
    }
}

/// Returns the entries that a block has room for to find `k`, and its shared memory in bytes.
fn entries<U>(plan: &Plan<'_>, k: usize) -> (usize, u32) {
    let most_bytes = plan.device.info().shared_bytes_per_block;
    let most = policy::most_entries(k, size_of::<U>(), most_bytes);
    (most, policy::shared_bytes(most, size_of::<U>()) as u32)
}

fn multiprocessors(plan: &Plan<'_>) -> usize {
    plan.device.info().multiprocessors.max(1) as usize
}

impl<U: Kernels + Element> Row<U> {
    /// Returns the number of parts of which blocks select in `two_level`.
    fn chunks(&self, plan: &Plan<'_>) -> usize {
        let least = policy::LEAST_CHUNK.max(self.k * policy::LEAST_CHUNK_PER_K);
        (self.elements.len() / least).clamp(1, 2 * multiprocessors(plan))
    }

    /// Plans a sort of everything.
    fn sorted(&self, plan: &mut Plan<'_>) -> Result<()> {
        let len = self.elements.len();
        let ranks = plan.room::<U>(len);
        let positions = plan.room::<u64>(len);
        let config = plan.linear(len.div_ceil(policy::BLOCK), policy::BLOCK)?;
        // SAFETY: there is a rank per element.
        unsafe { plan.launch(U::RANKS, config, (self.elements, self.order, ranks)) };
        descending_positions(plan, ranks, positions)?;
        let config = plan.linear(self.k.div_ceil(policy::BLOCK), policy::BLOCK)?;
        let args = (
            self.elements,
            positions.cast(),
            2,
            Place::none(),
            1,
            0,
            self.k,
            self.values,
            self.positions,
        );
        // SAFETY: the positions are those of the elements, and there are at least `k`.
        unsafe { plan.launch(<U as Kernels>::GATHER, config, args) };
        Ok(())
    }

    /// Plans two launches: a block for each part, and one for their best.
    fn two_level(&self, plan: &mut Plan<'_>) -> Result<()> {
        let chunks = self.chunks(plan);
        let state = plan.zeros::<u64>(STATE_LEN);
        let list = List::of(plan, chunks * self.k);
        self.best_of_chunks(plan, chunks, state, list)
    }

    /// Plans a sample, a filter, and the two launches of `two_level`, of which the first does nothing if the candidates are
    /// good.
    fn sampled(&self, plan: &mut Plan<'_>) -> Result<()> {
        let (len, k) = (self.elements.len(), self.k);
        let policy::Sampling { target, capacity } = policy::sampling(len, k);
        let capacity = capacity.min(len);
        let state = plan.room::<u64>(STATE_LEN);
        let list = List::of(plan, capacity);
        let target = target.min(MOST_K).min(policy::samples(len));
        let (most, shared) = entries::<U>(plan, target);
        let samples = policy::samples(len);
        let (ranks, done) = (plan.room::<U>(samples), plan.zeros::<u32>(1));
        let config = plan.linear(samples.div_ceil(policy::BLOCK), policy::BLOCK)?;
        let config = config.with_shared(shared);
        let args = (
            self.elements,
            self.order,
            target as u32,
            most as u32,
            ranks,
            done,
            state,
        );
        // SAFETY: there are enough elements, and fewer than 2^32. There is room for a rank per sample.
        unsafe { plan.launch(U::SAMPLE, config, args) };
        let strided = Strided {
            kernel: U::FILTER.descriptor(),
            threads: policy::BLOCK as u32,
            shared_bytes: 0,
            blocks_per_multiprocessor: policy::FILTER_RESIDENT,
            least_per_block: policy::FILTER_LEAST_PER_BLOCK,
        };
        let blocks = strided.blocks(plan.device, plan.operation, len)?;
        let config = plan.linear(blocks, policy::BLOCK)?;
        let args = (self.elements, self.order, state, list.ranks, list.positions);
        // SAFETY: the state is that of the sample.
        unsafe { plan.launch(U::FILTER, config, args) };
        let chunks = (capacity / k).min(len / k);
        let chunks = chunks.clamp(1, 2 * multiprocessors(plan));
        self.best_of_chunks(plan, chunks, state, list)
    }

    /// Plans the launches that select of each part, unless the state says that the list has candidates, and then of the list.
    fn best_of_chunks(
        &self,
        plan: &mut Plan<'_>,
        chunks: usize,
        state: Place<u64>,
        list: List<U>,
    ) -> Result<()> {
        let (most, shared) = entries::<U>(plan, self.k);
        let (k, most, capacity) = (self.k as u32, most as u32, list.ranks.len() as u64);
        let config = plan.linear(chunks, policy::BLOCK)?.with_shared(shared);
        let args = (
            self.elements,
            self.order,
            k,
            most,
            state,
            capacity,
            list.ranks,
            list.positions,
        );
        // SAFETY: every part has at least `k` elements, and the list has room for `k` of each.
        unsafe { plan.launch(U::CHUNKS, config, args) };
        let config = plan.linear(1, policy::BLOCK)?.with_shared(shared);
        let args = (
            self.elements,
            list.ranks,
            list.positions,
            state,
            capacity,
            chunks as u32,
            k,
            most,
            self.values,
            self.positions,
        );
        // SAFETY: the list has at least `k` entries, by the state or by the parts. The outputs have `k` elements.
        unsafe { plan.launch(U::MERGE, config, args) };
        Ok(())
    }
}

/// Room for entries.
#[derive(Clone, Copy)]
struct List<U> {
    ranks: Place<U>,
    positions: Place<u32>,
}

impl<U> List<U> {
    fn of(plan: &mut Plan<'_>, len: usize) -> Self {
        Self {
            ranks: plan.room(len),
            positions: plan.room(len),
        }
    }
}
