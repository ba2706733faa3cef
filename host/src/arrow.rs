//! Arrays of Arrow, by the crate `arrow-array`: uploads without a copy on the host, and results as arrays.

use arrow_array::{Array, ArrowNativeTypeOp, ArrowPrimitiveType, PrimitiveArray};

use crate::{
    buffer::{Element, Vector, VectorView},
    device::Device,
    error::{Error, InvalidKind, Result},
};

impl Device {
    /// Copies an array of Arrow to a new array on the device, straight from its memory. Waits as [`upload`](Self::upload) does.
    ///
    /// The array can be a slice of another one. Its buffer of values, a `ScalarBuffer`, is a slice in Rust too:
    /// [`upload`](Self::upload) takes it, and [`host_view`](Self::host_view) uses it where it is. They know nothing of nulls.
    ///
    /// ```
    /// use arrow_array::Float32Array;
    ///
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let theirs = Float32Array::from(vec![1.0, 2.0, 4.0]);
    /// assert_eq!(device.sum(&device.upload_arrow(&theirs)?)?, 7.0);
    /// assert_eq!(device.sum(&device.upload_arrow(&theirs.slice(1, 2))?)?, 6.0);
    ///
    /// let cpu = warpwright::Device::cpu();
    /// assert_eq!(cpu.sum(cpu.host_view(theirs.values())?)?, 7.0); // nothing is copied
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the array has nulls; otherwise as for [`upload`](Self::upload).
    pub fn upload_arrow<P: ArrowPrimitiveType<Native: Element>>(
        &self,
        array: &PrimitiveArray<P>,
    ) -> Result<Vector<P::Native>> {
        match array.null_count() {
            0 => self.upload(array.values()),
            nulls => Err(Error::invalid(
                InvalidKind::Value,
                "upload_arrow",
                "an array without nulls",
                format!("null count {nulls}"),
            )),
        }
    }
}

impl<T: Element + ArrowNativeTypeOp> Vector<T> {
    /// Copies the elements to a new array of Arrow, and waits for them: see [`VectorView::to_arrow`].
    ///
    /// ```
    /// use arrow_array::UInt32Array;
    ///
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let sorted: UInt32Array = device.sort(&device.upload(&[3_u32, 1, 2])?)?.to_arrow()?;
    /// assert_eq!(sorted.values(), &[1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`VectorView::to_arrow`].
    pub fn to_arrow<P: ArrowPrimitiveType<Native = T>>(&self) -> Result<PrimitiveArray<P>> {
        self.view().to_arrow()
    }
}

impl<T: Element + ArrowNativeTypeOp> VectorView<'_, T> {
    /// Copies the elements to a new array of Arrow, without nulls. Waits for the work that computes them.
    ///
    /// The array is of the type that the program asks for, with elements `T`: `i64` makes an `Int64Array`, and an array of
    /// timestamps too. It takes the memory of the copy over.
    ///
    /// ```
    /// use arrow_array::{Int64Array, TimestampSecondArray};
    ///
    /// # fn main() -> warpwright::Result<()> {
    /// let device = warpwright::Device::auto()?;
    /// let values = device.upload(&[1_i64, 2, 3])?;
    /// let numbers: Int64Array = values.slice(1..)?.to_arrow()?;
    /// let times: TimestampSecondArray = values.slice(1..)?.to_arrow()?;
    /// assert_eq!(numbers.values(), times.values());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`to_vec`](Self::to_vec).
    pub fn to_arrow<P: ArrowPrimitiveType<Native = T>>(&self) -> Result<PrimitiveArray<P>> {
        Ok(PrimitiveArray::new(self.to_vec()?.into(), None))
    }
}
