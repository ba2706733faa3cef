//! Controls the mock driver `fault-driver`.

use std::{
    ffi::{CStr, c_char},
    path::Path,
};

use libloading::{Library, Symbol};

/// The mock driver, whose calls can be made to fail.
pub struct Driver {
    library: Library,
}

/// The calls that fail, by number from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// No call. Calls are only counted.
    None = 0,
    /// One call.
    Once = 1,
    /// One call of those that allocate memory.
    OneAllocation = 2,
    /// One call of those that allocate memory, and all later ones of those.
    Allocations = 3,
    /// One call and all later ones.
    Lost = 4,
}

/// The numbers of objects that were created and not released: contexts, streams, events, device memory, pinned memory, modules.
pub type Live = [u64; 6];

impl Driver {
    /// Opens the library that is, or will be, the process's driver.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, String> {
        // SAFETY: the library's constructors are Rust's own.
        let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
        Ok(Self { library })
    }

    /// Returns the function called `name`.
    ///
    /// # Safety
    /// The function has type `F`.
    unsafe fn function<F>(&self, name: &CStr) -> Symbol<'_, F> {
        // SAFETY: the caller keeps the contract.
        let found = unsafe { self.library.get(name.to_bytes_with_nul()) };
        found.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sets the number of mock devices, and the bytes of memory of each.
    pub fn devices(&self, count: u32, memory: u64) {
        // SAFETY: the function has this type.
        let set = unsafe { self.function::<extern "C" fn(u32, u64)>(c"fault_devices") };
        set(count, memory);
    }

    /// Forwards calls to the driver at `path`.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened.
    pub fn stand_before(&self, path: &CStr) -> Result<(), String> {
        type Function = unsafe extern "C" fn(*const c_char) -> bool;
        // SAFETY: the function has this type, and the path is a C string.
        let opened = unsafe { self.function::<Function>(c"fault_stand_before")(path.as_ptr()) };
        if opened {
            Ok(())
        } else {
            Err(format!("{path:?} cannot be opened"))
        }
    }

    /// Makes call number `nth` from now on fail with `code`.
    pub fn arm(&self, plan: Plan, nth: u64, code: u32) {
        // SAFETY: the function has this type.
        let arm = unsafe { self.function::<extern "C" fn(u32, u64, u32)>(c"fault_arm") };
        arm(plan as u32, nth, code);
    }

    /// Lets all calls succeed again. Returns the number of counted calls, and the name of the first that failed.
    pub fn disarm(&self) -> (u64, Option<String>) {
        // SAFETY: the function has this type.
        let calls = unsafe { self.function::<extern "C" fn() -> u64>(c"fault_disarm") }();
        let failed = self.text(c"fault_failed");
        (calls, Some(failed).filter(|name| !name.is_empty()))
    }

    /// Returns the number of all calls so far.
    pub fn calls(&self) -> u64 {
        // SAFETY: the function has this type.
        let calls = unsafe { self.function::<extern "C" fn() -> u64>(c"fault_calls") };
        calls()
    }

    /// Returns the numbers of objects that were created and not released.
    pub fn live(&self) -> Live {
        let mut live = Live::default();
        // SAFETY: the function has this type, and it writes this many numbers.
        unsafe { self.function::<unsafe extern "C" fn(*mut Live)>(c"fault_live")(&mut live) };
        live
    }

    /// Returns the number of objects of all kinds that were created and not released, including kinds that [`live`](Self::live)
    /// leaves out.
    pub fn live_in_all(&self) -> u64 {
        // SAFETY: the function has this type.
        let live = unsafe { self.function::<extern "C" fn() -> u64>(c"fault_live_in_all") };
        live()
    }

    /// Makes the driver's own function lookup fail for every name, or work again.
    pub fn refuse_lookups(&self, refuse: bool) {
        // SAFETY: the function has this type.
        let set = unsafe { self.function::<extern "C" fn(bool)>(c"fault_lookup") };
        set(refuse);
    }

    /// Makes the driver's own function lookup fail for this name from now on.
    pub fn lack(&self, name: &CStr) {
        type Function = unsafe extern "C" fn(*const c_char);
        // SAFETY: the function has this type, and the name is a C string.
        unsafe { self.function::<Function>(c"fault_lack")(name.as_ptr()) };
    }

    /// Makes each call of a function, given by its exported name, return `code` and do nothing; 0 restores it.
    pub fn answer(&self, name: &CStr, code: u32) {
        type Function = unsafe extern "C" fn(*const c_char, u32);
        // SAFETY: the function has this type, and the name is a C string.
        unsafe { self.function::<Function>(c"fault_answer")(name.as_ptr(), code) };
    }

    /// Holds back the callbacks of mock devices from now on.
    pub fn hold_callbacks(&self) {
        // SAFETY: the function has this type.
        let hold = unsafe { self.function::<extern "C" fn()>(c"fault_hold_callbacks") };
        hold();
    }

    /// Calls the callbacks that were held back, with this status, and later ones at once. Returns their number.
    pub fn release_callbacks(&self, status: u32) -> u32 {
        type Function = extern "C" fn(u32) -> u32;
        // SAFETY: the function has this type.
        let release = unsafe { self.function::<Function>(c"fault_release_callbacks") };
        release(status)
    }

    /// Sets the value of an attribute of the mock devices. A negative value makes it unknown to the driver.
    pub fn attribute(&self, attribute: i32, value: i32) {
        // SAFETY: the function has this type.
        let set = unsafe { self.function::<extern "C" fn(i32, i32)>(c"fault_attribute") };
        set(attribute, value);
    }

    /// Says whether there are links between the mock devices, by which they can access each other's memory.
    pub fn links(&self, linked: bool) {
        // SAFETY: the function has this type.
        let set = unsafe { self.function::<extern "C" fn(bool)>(c"fault_links") };
        set(linked);
    }

    /// Returns the numbers of functions that the driver's own lookup found and did not find.
    pub fn lookups(&self) -> (u32, u32) {
        // SAFETY: the function has this type.
        let count = unsafe { self.function::<extern "C" fn(bool) -> u32>(c"fault_looked_up") };
        (count(true), count(false))
    }

    /// Returns the calls that the library made so far and that no driver allows.
    pub fn wrong(&self) -> String {
        self.text(c"fault_wrong")
    }

    /// Runs `work` and returns the names of the calls that it makes, without those that make the context current or name an
    /// error.
    pub fn names_of<T>(&self, work: impl FnOnce() -> T) -> (T, Vec<String>) {
        let (value, calls) = self.calls_of(work);
        let names = calls.iter().filter_map(|call| call.split(' ').next());
        let names =
            names.filter(|name| !name.starts_with("cuCtx") && !name.starts_with("cuGetError"));
        (value, names.map(str::to_owned).collect())
    }

    /// Runs `work` and returns the calls that it makes. A call that the mock driver executes itself has details: the bytes of
    /// memory, or a kernel with its shape and arguments. An address is shown as the size of its block and an offset.
    pub fn calls_of<T>(&self, work: impl FnOnce() -> T) -> (T, Vec<String>) {
        type Function = unsafe extern "C" fn(*mut c_char, usize) -> usize;
        // SAFETY: the function has this type.
        let list = unsafe { self.function::<extern "C" fn()>(c"fault_list") };
        list();
        let value = work();
        let mut text = vec![0_u8; 1 << 20];
        // SAFETY: the function has this type, and this many bytes are writable.
        let bytes = unsafe {
            self.function::<Function>(c"fault_listed")(text.as_mut_ptr().cast(), text.len())
        };
        assert!(bytes <= text.len(), "a list of {bytes} bytes");
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
        let lines = text.to_string_lossy().into_owned();
        (value, lines.lines().map(str::to_owned).collect())
    }

    fn text(&self, name: &CStr) -> String {
        type Function = unsafe extern "C" fn(*mut c_char, usize);
        let mut text = vec![0_u8; 4096];
        // SAFETY: the function has this type, and this many bytes are writable.
        unsafe { self.function::<Function>(name)(text.as_mut_ptr().cast(), text.len()) };
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
        text.to_string_lossy().into_owned()
    }
}
