//! The element at one position of the sorted order, and the median.

use warpwright_gpu::{
    Family,
    top_k::{
        FAMILY, Kernels,
        policy::{KTH_BLOCK, KTH_DIGIT_BITS, KTH_DIGITS, KTH_LEAST_PER_BLOCK, KTH_RESIDENT},
    },
};

#[cfg(feature = "ladder")]
use super::{Row, Variant};
use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::{Error, InvalidKind, Result},
    ops::{
        Strided,
        plan::{Place, Plan},
        request::{New, Operation, Prepared, Request, Shape},
        sort::SortKey,
    },
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
        self.select_kth(values, values.len().saturating_sub(1) / 2)
    }
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
        let (elements, k) = (plan.input(self.values)?, self.k);
        let len = elements.len();
        if k >= len {
            return Err(Error::invalid(
                InvalidKind::Range,
                plan.operation,
                format!("a position below the {len} elements there are"),
                format!("{k}"),
            ));
        }
        let output = Place::output(1);
        #[cfg(feature = "ladder")]
        match Variant::ALL[plan.choice.index] {
            Variant::Naive => {
                sorted::<T>(plan, elements.cast(), k, output)?;
                return Ok(Shape::Vector(1));
            }
            Variant::Best => {}
            _ => {
                let reason = "it selects several elements, not one of a position";
                return Err(plan.not_eligible(reason.to_owned()));
            }
        }
        digits::<T>(plan, elements.cast(), k, output)?;
        Ok(Shape::Vector(1))
    }
}

/// Plans a sort of everything.
#[cfg(feature = "ladder")]
fn sorted<T: SortKey>(
    plan: &mut Plan<'_>,
    elements: Place<T::Bits>,
    k: usize,
    output: Place<T::Bits>,
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
    elements: Place<T::Bits>,
    k: usize,
    output: Place<T::Bits>,
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
