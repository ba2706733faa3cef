//! CUB's reductions and sorts of segments, those by key, and run lengths.

use std::ffi::{c_int, c_void};

use super::{Absent, Cub, count};
use crate::run::Result;

type Segments = unsafe extern "C" fn(
    *mut c_void,
    *mut usize,
    *const c_void,
    *const u32,
    *mut c_void,
    usize,
    *mut c_void,
) -> c_int;
type SortSegments = unsafe extern "C" fn(
    *mut c_void,
    *mut usize,
    *const c_void,
    *const u32,
    *mut c_void,
    usize,
    usize,
    *mut c_void,
) -> c_int;
type ScanByKey = unsafe extern "C" fn(
    *mut c_void,
    *mut usize,
    *const c_void,
    *const f32,
    *mut f32,
    c_int,
    *mut c_void,
) -> c_int;
type ByKey = unsafe extern "C" fn(
    *mut c_void,
    *mut usize,
    *const c_void,
    *const f32,
    *mut c_void,
    *mut f32,
    *mut c_int,
    c_int,
    *mut c_void,
) -> c_int;
type Lengths = unsafe extern "C" fn(
    *mut c_void,
    *mut usize,
    *const c_void,
    *mut c_void,
    *mut c_int,
    *mut c_int,
    c_int,
    *mut c_void,
) -> c_int;

impl Cub {
    /// Returns the sums of `count` segments. It takes the addresses of the elements, of the offsets, which have 32 bits, and of
    /// the sums.
    ///
    /// # Errors
    /// Returns an error if CUB is missing or could not be prepared.
    pub fn segments(
        &self,
        element: &'static str,
        count: usize,
    ) -> Result<impl FnMut([u64; 3]) -> Result<()> + use<>, Absent> {
        let (function, stream) = (self.function::<Segments>("segments", element)?, self.stream);
        // SAFETY: as above; there is an offset more than there are sums.
        let call = move |room: *mut c_void, bytes: *mut usize, [from, offsets, to]: [u64; 3]| unsafe {
            function(
                room,
                bytes,
                from as *const c_void,
                offsets as *const u32,
                to as *mut c_void,
                count,
                stream,
            )
        };
        self.with_addresses(call)
    }

    /// Returns a sort of the keys of each of `count` segments of `len` keys. It takes the addresses of the keys, of the
    /// offsets, which have 32 bits, and of the sorted keys.
    ///
    /// # Errors
    /// Returns an error if CUB is missing or could not be prepared.
    pub fn sort_segments(
        &self,
        element: &'static str,
        len: usize,
        count: usize,
    ) -> Result<impl FnMut([u64; 3]) -> Result<()> + use<>, Absent> {
        let function = self.function::<SortSegments>("sort_segments", element)?;
        let stream = self.stream;
        // SAFETY: as above; there is an offset more than there are segments, and as many sorted keys as keys.
        let call = move |room: *mut c_void, bytes: *mut usize, [from, offsets, to]: [u64; 3]| unsafe {
            let (from, offsets) = (from as *const c_void, offsets as *const u32);
            function(
                room,
                bytes,
                from,
                offsets,
                to as *mut c_void,
                len,
                count,
                stream,
            )
        };
        self.with_addresses(call)
    }

    /// Returns the cumulative sums of `len` values of `f32` by their keys. It takes the addresses of keys, values and sums.
    ///
    /// # Errors
    /// Returns an error if CUB is missing or could not be prepared.
    pub fn scan_by_key(
        &self,
        element: &'static str,
        len: usize,
    ) -> Result<impl FnMut([u64; 3]) -> Result<()> + use<>, Absent> {
        let (function, len, stream) = (
            self.function::<ScanByKey>("scan_by_key", element)?,
            count(len)?,
            self.stream,
        );
        // SAFETY: as above; there are as many results as values.
        let call = move |room: *mut c_void, bytes: *mut usize, [keys, values, sums]: [u64; 3]| unsafe {
            let (keys, values, sums) = (
                keys as *const c_void,
                values as *const f32,
                sums as *mut f32,
            );
            function(room, bytes, keys, values, sums, len, stream)
        };
        self.with_addresses(call)
    }

    /// Returns the sums of `len` values of `f32` by their keys. It takes the addresses of keys, values, the first keys of the
    /// runs, sums, and the number of runs, of 32 bits.
    ///
    /// # Errors
    /// Returns an error if CUB is missing or could not be prepared.
    pub fn by_key(
        &self,
        element: &'static str,
        len: usize,
    ) -> Result<impl FnMut([u64; 5]) -> Result<()> + use<>, Absent> {
        let (function, len, stream) = (
            self.function::<ByKey>("by_key", element)?,
            count(len)?,
            self.stream,
        );
        // SAFETY: as above; the results have room for a run per key.
        let call = move |room: *mut c_void, bytes: *mut usize, all: [u64; 5]| unsafe {
            let [keys, values, firsts, sums, count] = all;
            function(
                room,
                bytes,
                keys as *const c_void,
                values as *const f32,
                firsts as *mut c_void,
                sums as *mut f32,
                count as *mut c_int,
                len,
                stream,
            )
        };
        self.with_addresses(call)
    }

    /// Returns the lengths of the runs of `len` keys. It takes the addresses of keys, the first keys of the runs, lengths and
    /// the number of runs, both of 32 bits.
    ///
    /// # Errors
    /// Returns an error if CUB is missing or could not be prepared.
    pub fn lengths(
        &self,
        element: &'static str,
        len: usize,
    ) -> Result<impl FnMut([u64; 4]) -> Result<()> + use<>, Absent> {
        let (function, len, stream) = (
            self.function::<Lengths>("lengths", element)?,
            count(len)?,
            self.stream,
        );
        // SAFETY: as above; the results have room for a run per key.
        let call = move |room: *mut c_void, bytes: *mut usize, all: [u64; 4]| unsafe {
            let [keys, firsts, lengths, count] = all;
            function(
                room,
                bytes,
                keys as *const c_void,
                firsts as *mut c_void,
                lengths as *mut c_int,
                count as *mut c_int,
                len,
                stream,
            )
        };
        self.with_addresses(call)
    }
}
