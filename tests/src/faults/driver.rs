//! The levers of `fault-driver`.

use std::{
    ffi::{CStr, c_char},
    path::Path,
};

use libloading::{Library, Symbol};

/// The driver that fails when it is told to.
pub struct Driver {
    library: Library,
}

/// Which calls fail, by number from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// None: they are counted.
    None = 0,
    /// One.
    Once = 1,
    /// One of those that allocate memory.
    OneAllocation = 2,
    /// One of those that allocate memory, and all later ones.
    Allocations = 3,
    /// One and all later ones.
    Lost = 4,
}

/// How many there are that were made and not given back: contexts, streams, events, device memory, pinned
/// memory, modules.
pub type Live = [u64; 6];

impl Driver {
    /// Opens the library that is, or will be, the process's driver.
    ///
    /// # Errors
    /// That it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, String> {
        // SAFETY: the library's constructors are Rust's own.
        let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
        Ok(Self { library })
    }

    /// The function called `name`.
    ///
    /// # Safety
    /// It has the type `F`.
    unsafe fn function<F>(&self, name: &CStr) -> Symbol<'_, F> {
        // SAFETY: by the contract.
        let found = unsafe { self.library.get(name.to_bytes_with_nul()) };
        found.unwrap_or_else(|error| panic!("{error}"))
    }

    /// So many make-believe devices with so many bytes of memory each.
    pub fn devices(&self, count: u32, memory: u64) {
        // SAFETY: its type.
        let set = unsafe { self.function::<extern "C" fn(u32, u64)>(c"fault_devices") };
        set(count, memory);
    }

    /// Passes calls on to the driver at `path`.
    ///
    /// # Errors
    /// That it cannot be opened.
    pub fn stand_before(&self, path: &CStr) -> Result<(), String> {
        type Function = unsafe extern "C" fn(*const c_char) -> bool;
        // SAFETY: its type; a C string.
        let opened = unsafe { self.function::<Function>(c"fault_stand_before")(path.as_ptr()) };
        if opened {
            Ok(())
        } else {
            Err(format!("{path:?} cannot be opened"))
        }
    }

    /// Has call number `nth` from now on fail with `code`.
    pub fn arm(&self, plan: Plan, nth: u64, code: u32) {
        // SAFETY: its type.
        let arm = unsafe { self.function::<extern "C" fn(u32, u64, u32)>(c"fault_arm") };
        arm(plan as u32, nth, code);
    }

    /// Lets every call be made again. The calls that counted, and the name of the one that failed first.
    pub fn disarm(&self) -> (u64, Option<String>) {
        // SAFETY: its type.
        let calls = unsafe { self.function::<extern "C" fn() -> u64>(c"fault_disarm") }();
        let failed = self.text(c"fault_failed");
        (calls, Some(failed).filter(|name| !name.is_empty()))
    }

    /// All calls so far.
    pub fn calls(&self) -> u64 {
        // SAFETY: its type.
        let calls = unsafe { self.function::<extern "C" fn() -> u64>(c"fault_calls") };
        calls()
    }

    /// What was made and not given back.
    pub fn live(&self) -> Live {
        let mut live = Live::default();
        // SAFETY: its type; it writes as many numbers.
        unsafe { self.function::<unsafe extern "C" fn(*mut Live)>(c"fault_live")(&mut live) };
        live
    }

    /// How many things of all kinds were made and not given back, also those that [`live`](Self::live) leaves out.
    pub fn live_in_all(&self) -> u64 {
        // SAFETY: its type.
        let live = unsafe { self.function::<extern "C" fn() -> u64>(c"fault_live_in_all") };
        live()
    }

    /// Has the driver's own look-up of functions refuse everything, or no longer.
    pub fn refuse_lookups(&self, refuse: bool) {
        // SAFETY: its type.
        let set = unsafe { self.function::<extern "C" fn(bool)>(c"fault_lookup") };
        set(refuse);
    }

    /// Has the driver's own look-up find no function of this name any more.
    pub fn lack(&self, name: &CStr) {
        type Function = unsafe extern "C" fn(*const c_char);
        // SAFETY: its type; a C string.
        unsafe { self.function::<Function>(c"fault_lack")(name.as_ptr()) };
    }

    /// Has each call of a function, by its exported name, return `code` and do nothing; 0 lets it be made again.
    pub fn answer(&self, name: &CStr, code: u32) {
        type Function = unsafe extern "C" fn(*const c_char, u32);
        // SAFETY: its type; a C string.
        unsafe { self.function::<Function>(c"fault_answer")(name.as_ptr(), code) };
    }

    /// Gives the make-believe devices this value of an attribute; a negative one is one that the driver does not know.
    pub fn attribute(&self, attribute: i32, value: i32) {
        // SAFETY: its type.
        let set = unsafe { self.function::<extern "C" fn(i32, i32)>(c"fault_attribute") };
        set(attribute, value);
    }

    /// How many functions the driver's own look-up has found, and how many not.
    pub fn lookups(&self) -> (u32, u32) {
        // SAFETY: its type.
        let count = unsafe { self.function::<extern "C" fn(bool) -> u32>(c"fault_looked_up") };
        (count(true), count(false))
    }

    /// What the library did so far that no driver allows.
    pub fn wrong(&self) -> String {
        self.text(c"fault_wrong")
    }

    /// The calls that `work` makes, each with what it is about where the driver does the work itself: the bytes of memory,
    /// a kernel with its shape and arguments. An address shows as the size of its block and an offset.
    pub fn calls_of<T>(&self, work: impl FnOnce() -> T) -> (T, Vec<String>) {
        type Function = unsafe extern "C" fn(*mut c_char, usize) -> usize;
        // SAFETY: its type.
        let list = unsafe { self.function::<extern "C" fn()>(c"fault_list") };
        list();
        let value = work();
        let mut text = vec![0_u8; 1 << 20];
        // SAFETY: its type; so many bytes are writable.
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
        // SAFETY: its type; so many bytes are writable.
        unsafe { self.function::<Function>(name)(text.as_mut_ptr().cast(), text.len()) };
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
        text.to_string_lossy().into_owned()
    }
}
