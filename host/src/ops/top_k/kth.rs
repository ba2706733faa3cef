//! The element at one position of the sorted order, and the median: of an array, or of each row of a matrix.

use warpwright_gpu::{
    Family,
    top_k::{
        FAMILY, Kernels,
        policy::{KTH_BLOCK, KTH_DIGIT_BITS, KTH_DIGITS, KTH_LEAST_PER_BLOCK, KTH_RESIDENT},
    },
};

use super::Rows;
#[cfg(feature = "ladder")]
use super::{Row, Variant};
use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::{Error, InvalidKind, Result},
    ops::{
        Strided,
        plan::{Place, Plan},
        request::{Destination, New, Operation, Prepared, Request, Shape},
        sort::SortKey,
    },
    rect::MatrixRect,
};

impl Device {
    /// Returns the element that [`sort`](Self::sort) would put at position `k`: 0 is the smallest.
    ///
    /// Reads the elements once for each of their bytes, and waits for the result. The workspace is 2 KiB and 32 bytes.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let x = device.upload(&[3.0_f32, -1.0, 7.0, 3.0])?;
    /// assert_eq!(device.select_kth(&x, 1)?, 3.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are not more than `k` elements, [`Error::DeviceMismatch`], [`Error::OutOfMemory`], and
    /// errors of the device.
    pub fn select_kth<'a, T: SortKey>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        k: usize,
    ) -> Result<T> {
        self.select_kth_request(values, k).run()
    }

    /// Makes a request of [`select_kth`](Self::select_kth), with options. Its result is an array of one element.
    pub fn select_kth_request<'a, T: SortKey>(
        &self,
        values: impl Into<VectorView<'a, T>>,
        k: usize,
    ) -> KthRequest<'a, T> {
        let values = values.into();
        Request::new(self, Kth { values, k })
    }

    /// Returns the median: the element that [`sort`](Self::sort) would put in the middle, and the lower one of two in the
    /// middle. Waits for the result.
    ///
    /// # Errors
    /// As for [`select_kth`](Self::select_kth); there must be an element.
    pub fn median<'a, T: SortKey>(&self, values: impl Into<VectorView<'a, T>>) -> Result<T> {
        let values = values.into();
        self.select_kth(values, middle(values.len()))
    }

    /// Returns for each row of a matrix the element that [`sort`](Self::sort) would put at position `k` of the row: an array of
    /// as many elements as there are rows.
    ///
    /// Reads the elements once for each of their bytes. The workspace is at most 2 KiB and 32 bytes. Queues the work and does
    /// not wait.
    ///
    /// ```
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let matrix = device.upload_matrix(&[3, 1, 2, 9, 7, 8], 2, 3)?;
    /// assert_eq!(device.select_kth_rows(&matrix, 0)?.to_vec()?, [1, 7]);
    /// assert_eq!(device.median_rows(&matrix)?.to_vec()?, [2, 8]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are rows, and they have not more than `k` elements; otherwise as for
    /// [`select_kth`](Self::select_kth).
    pub fn select_kth_rows<'a, T: SortKey>(
        &self,
        matrix: impl Into<MatrixRect<'a, T>>,
        k: usize,
    ) -> Result<Vector<T>> {
        self.select_kth_rows_request(matrix, k).run()
    }

    /// Makes a request of [`select_kth_rows`](Self::select_kth_rows), with options.
    pub fn select_kth_rows_request<'a, T: SortKey>(
        &self,
        matrix: impl Into<MatrixRect<'a, T>>,
        k: usize,
    ) -> KthRowsRequest<'a, T> {
        let matrix = matrix.into();
        Request::new(self, KthRows { matrix, k })
    }

    /// Returns the [`median`](Self::median) of each row of a matrix. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`select_kth_rows`](Self::select_kth_rows); a row must have an element.
    pub fn median_rows<'a, T: SortKey>(
        &self,
        matrix: impl Into<MatrixRect<'a, T>>,
    ) -> Result<Vector<T>> {
        let matrix = matrix.into();
        self.select_kth_rows(matrix, middle(matrix.width()))
    }
}

/// Returns the position of the median of so many elements.
fn middle(len: usize) -> usize {
    len.saturating_sub(1) / 2
}

/// The element at one position of the sorted order.
#[derive(Debug)]
pub struct Kth<'a, T> {
    values: VectorView<'a, T>,
    k: usize,
}

/// A request of the element at one position of the sorted order.
pub type KthRequest<'a, T, D = New> = Request<Kth<'a, T>, D>;
/// The element at one position of the sorted order, whose variant is chosen and which has its memory.
pub type PreparedKth<'a, T, R = Vector<T>> = Prepared<Kth<'a, T>, R>;

impl<T: SortKey> KthRequest<'_, T> {
    /// Finds the element, and waits for it.
    ///
    /// # Errors
    /// As for [`Device::select_kth`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<T> {
        let mut prepared = self.prepare()?;
        prepared.enqueue()?;
        let mut element = [T::zeroed()];
        prepared.output()?.view().download(&mut element)?;
        Ok(element[0])
    }
}

impl<T: SortKey> Operation for Kth<'_, T> {
    type Output = Vector<T>;

    fn name(&self) -> &'static str {
        "select_kth"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let elements = plan.input(self.values)?;
        let rows = Rows {
            elements: elements.cast(),
            height: 1,
            width: elements.len(),
            stride: elements.len(),
        };
        kth::<T>(plan, rows, self.k)?;
        Ok(Shape::Vector(1))
    }
}

/// The element at one position of the sorted order of each row of a matrix.
#[derive(Debug)]
pub struct KthRows<'a, T> {
    matrix: MatrixRect<'a, T>,
    k: usize,
}

/// A request of the element at one position of the sorted order of each row.
pub type KthRowsRequest<'a, T, D = New> = Request<KthRows<'a, T>, D>;
/// The element at one position of the sorted order of each row, whose variant is chosen and which has its memory.
pub type PreparedKthRows<'a, T, R = Vector<T>> = Prepared<KthRows<'a, T>, R>;

impl<T: SortKey, D: Destination<Vector<T>>> KthRowsRequest<'_, T, D> {
    /// Finds the elements and returns them. Queues the work and does not wait.
    ///
    /// # Errors
    /// As for [`Device::select_kth_rows`], and those of [`prepare`](Self::prepare).
    pub fn run(self) -> Result<D::Claimed> {
        self.prepare()?.made()
    }
}

impl<T: SortKey> Operation for KthRows<'_, T> {
    type Output = Vector<T>;

    fn name(&self) -> &'static str {
        "select_kth_rows"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn plan(&mut self, plan: &mut Plan<'_>) -> Result<Shape> {
        let rows = Rows::of(plan, self.matrix)?;
        kth::<T>(plan, rows, self.k)?;
        Ok(Shape::Vector(rows.height))
    }
}

/// Plans the launches of the chosen variant.
fn kth<T: SortKey>(plan: &mut Plan<'_>, rows: Rows<T::Bits>, k: usize) -> Result<()> {
    let Rows {
        elements,
        height,
        width,
        stride,
    } = rows;
    if height == 0 {
        return Ok(());
    }
    if k >= width {
        return Err(Error::invalid(
            InvalidKind::Range,
            plan.operation,
            format!("a position below the {width} elements there are"),
            format!("{k}"),
        ));
    }
    let output = Place::output(height);
    let row = |i: usize| (elements.part(i * stride, width), output.part(i, 1));
    #[cfg(feature = "ladder")]
    match Variant::ALL[plan.choice.index] {
        Variant::Naive => {
            return plan.in_turn(height, |plan, i| sorted::<T>(plan, row(i), k));
        }
        Variant::Best => {}
        _ => {
            let reason = "it selects several elements, not one of a position";
            return Err(plan.not_eligible(reason.to_owned()));
        }
    }
    if height == 1 || !rows.are_for_blocks(plan) {
        return plan.in_turn(height, |plan, i| digits::<T>(plan, row(i), k));
    }
    let config = plan.linear(height, KTH_BLOCK)?;
    let (len, stride) = (width as u64, stride as u64);
    let args = (elements, T::TWIST, len, stride, k as u64, output);
    // SAFETY: `k` is below the number of elements of a row, and there is an output per row.
    unsafe { plan.launch(T::Bits::KTH_ROWS, config, args) };
    Ok(())
}

/// Plans a sort of everything.
#[cfg(feature = "ladder")]
fn sorted<T: SortKey>(
    plan: &mut Plan<'_>,
    (elements, output): (Place<T::Bits>, Place<T::Bits>),
    k: usize,
) -> Result<()> {
    use warpwright_gpu::{
        sort::{Bits, Twist},
        top_k::Order,
    };

    // The smallest element has the greatest rank, and no magnitude makes a NaN.
    let Twist { magnitude, flip } = T::TWIST;
    let flip = flip ^ T::Bits::ONES;
    let order = Order {
        twist: Twist { magnitude, flip },
        infinity: T::Bits::ONES,
    };
    let positions = plan.room(k + 1);
    let row = Row {
        elements,
        order,
        k: k + 1,
        values: plan.room(k + 1),
        positions,
    };
    let values = row.values;
    row.sorted(plan)?;
    plan.copy_to(values.part(k, 1), output);
    Ok(())
}

/// Plans a launch for each digit.
fn digits<T: SortKey>(
    plan: &mut Plan<'_>,
    (elements, output): (Place<T::Bits>, Place<T::Bits>),
    k: usize,
) -> Result<()>
where
    T::Bits: Kernels + Element,
{
    let kernel = T::Bits::KTH;
    let strided = Strided {
        kernel: kernel.descriptor(),
        threads: KTH_BLOCK as u32,
        shared_bytes: 0,
        blocks_per_multiprocessor: KTH_RESIDENT,
        least_per_block: KTH_LEAST_PER_BLOCK,
    };
    let blocks = strided.blocks(plan.device, plan.operation, elements.len())?;
    let config = plan.linear(blocks, KTH_BLOCK)?;
    let counts = plan.zeros::<u64>(KTH_DIGITS);
    let ticket = plan.zeros::<u32>(1);
    let state = plan.room::<u64>(2);
    let passes = 8 * size_of::<T>() as u32 / KTH_DIGIT_BITS;
    for pass in 0..passes {
        let args = (
            elements,
            T::TWIST,
            pass,
            k as u64,
            counts,
            ticket,
            state,
            output,
        );
        // SAFETY: `k` is below the number of elements. The counts and the ticket are 0, and the kernel leaves them so.
        unsafe { plan.launch(kernel, config, args) };
    }
    Ok(())
}
