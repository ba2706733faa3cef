//! One operation of each family on one element: by the library, and by the driver calls that it needs.

use std::mem;

use warpwright::Device;
use warpwright_workloads::{FAMILIES, Family, Input, Ready, Verdict};

use super::super::Result;
use super::super::driver::Driver;
use super::bare::Bare;

/// An operation on one element.
pub struct Case<'a> {
    /// The family.
    pub family: &'static str,
    /// The operation.
    pub work: String,
    device: &'a Device,
    input: &'a dyn Input,
    ready: Box<dyn Ready + 'a>,
    bare: Bare<'a>,
    /// Whether the first answer is right, and its bits.
    first: (Verdict, Vec<u8>),
    /// The bytes of a right answer of the bare calls.
    right: Option<Vec<u8>>,
}

/// Prepares the case of each family, and passes it to `each`.
///
/// # Errors
/// Returns the errors of the library, the driver, and `each`.
pub fn cases(
    device: &Device,
    driver: &Driver,
    mut each: impl FnMut(Case<'_>) -> Result<()>,
) -> Result<()> {
    for Family { name, few, .. } in FAMILIES {
        let workload = few(1);
        let input = workload.input(device)?;
        let mut ready = input.prepare(device, None)?;
        ready.enqueue()?;
        let first = (ready.check()?, ready.bits()?);
        // SAFETY: the case has the work and the input, and drops neither before the bare calls.
        let bare = unsafe { Bare::new(driver, device, ready.calls()?)? };
        each(Case {
            family: name,
            work: workload.name(),
            device,
            input: &*input,
            ready,
            bare,
            first,
            right: None,
        })?;
    }
    Ok(())
}

impl Case<'_> {
    /// Runs it again by its prepared request, and waits.
    ///
    /// # Errors
    /// Returns the library's errors.
    pub fn again(&mut self) -> Result<()> {
        self.ready.enqueue()?;
        Ok(self.device.synchronize()?)
    }

    /// Runs it from the request to the result on the host, and returns the bits of the result.
    ///
    /// # Errors
    /// Returns the library's errors.
    pub fn once(&self) -> Result<Vec<u8>> {
        Ok(self.input.once(self.device)?)
    }

    /// Does what [`again`](Self::again) does by the driver's functions alone.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn bare_again(&mut self) -> Result<()> {
        self.bare.again()
    }

    /// Does what [`once`](Self::once) does by the driver's functions alone, and returns the bytes that it reads.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn bare_once(&mut self) -> Result<&[u8]> {
        self.bare.once()
    }

    /// Checks what all four compute.
    ///
    /// # Errors
    /// Returns the errors of the library and the driver.
    pub fn verify(&mut self) -> Result<Verdict> {
        let is = |what: &str, found: &[u8], expected: &[u8]| match found == expected {
            true => Ok(()),
            false => Err(format!("{what}: expected {expected:?}, found {found:?}")),
        };
        self.again()?;
        let again = self.ready.check()?;
        let once = is("in one call", &self.once()?, &self.first.1);
        // The bare calls repeat the second run of the work, whose numbers are other ones if they are random.
        let right = match mem::take(&mut self.right) {
            Some(right) => right,
            None => self.bare.result()?.to_vec(),
        };
        self.bare.spoil()?;
        self.bare.again()?;
        let bare = is("bare calls", self.bare.result()?, &right);
        let bare_once = is("bare calls in one call", self.bare.once()?, &right);
        self.right = Some(right);
        let first = self.first.0.clone();
        Ok([first, again, once, bare, bare_once].into_iter().collect())
    }
}
