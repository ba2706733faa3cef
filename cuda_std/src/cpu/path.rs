//! The calls by which a lane has arrived at a barrier.
//!
//! Lanes that meet at a barrier must have arrived by the same calls: on a GPU each inlined call is a barrier of its own.
//! Return addresses are compared first, which is cheap: all words of a lane's stack that could be one. If they differ, the
//! frames are walked. If these differ, the calls are looked up in the debug information, so that code which the compiler
//! has duplicated is one call in the source. Code without debug information counts as the same call.

use core::cell::RefCell;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// The code whose addresses count: that of the kernel.
#[derive(Clone, Copy)]
pub(super) struct Code {
    start: usize,
    bytes: usize,
}

impl Code {
    /// Returns the code of the program or library that has a function at `address`. It is empty if that cannot be known.
    pub fn around(address: usize) -> Self {
        static ALL: OnceLock<Vec<Code>> = OnceLock::new();
        let all = ALL.get_or_init(|| if READS_STACKS { segments() } else { Vec::new() });
        let found = all.iter().find(|code| code.contains(address));
        found.copied().unwrap_or(Self { start: 0, bytes: 0 })
    }

    #[inline]
    fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.bytes
    }

    /// Returns whether the code is known.
    pub fn is_known(&self) -> bool {
        self.bytes > 0
    }

    /// Returns a fingerprint of the return addresses on the stack from `from` up to `end`. Two lanes with the same
    /// fingerprint have arrived by the same calls. Other words may affect it, so different fingerprints can mean the same
    /// calls.
    ///
    /// # Safety
    /// `from` must be aligned for a `usize`, and the memory up to `end` must be the stack of the running lane.
    #[inline(never)]
    pub unsafe fn fingerprint(&self, from: *const usize, end: usize) -> u64 {
        let mut number = 0_u64;
        let mut word = from;
        while word.addr() + size_of::<usize>() <= end {
            // SAFETY: by the contract.
            let value = unsafe { word_of_the_stack(word) };
            if self.contains(value) {
                number = (number.rotate_left(7) ^ value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
            word = word.wrapping_add(1);
        }
        number
    }
}

/// Whether [`word_of_the_stack`] exists for this processor.
const READS_STACKS: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Reads a word of the stack, whatever it holds. It is read by inline assembly, because for Rust the word may be
/// uninitialized, and for AddressSanitizer it may lie beside a variable.
///
/// # Safety
/// The word must be readable.
#[inline(always)]
unsafe fn word_of_the_stack(word: *const usize) -> usize {
    let mut value = word.expose_provenance();
    // SAFETY: this reads one word, by the contract.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!("mov {0}, qword ptr [{0}]", inout(reg) value, options(nostack, readonly, preserves_flags));
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!("ldr {0}, [{0}]", inout(reg) value, options(nostack, readonly, preserves_flags));
    }
    value
}

/// Returns the executable segments of the program and its libraries.
fn segments() -> Vec<Code> {
    #[cfg(target_os = "linux")]
    {
        unsafe extern "C" fn note(
            info: *mut libc::dl_phdr_info,
            _: usize,
            all: *mut libc::c_void,
        ) -> libc::c_int {
            // SAFETY: the pointers are to the system's description of an object, and to the vector given below.
            unsafe {
                let (info, all) = (&*info, &mut *all.cast::<Vec<Code>>());
                for i in 0..usize::from(info.dlpi_phnum) {
                    let header = &*info.dlpi_phdr.add(i);
                    if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0 {
                        all.push(Code {
                            start: (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize),
                            bytes: header.p_memsz as usize,
                        });
                    }
                }
            }
            0
        }
        let mut all: Vec<Code> = Vec::new();
        // SAFETY: the function uses its arguments as it must.
        unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut all).cast()) };
        all
    }
    #[cfg(not(target_os = "linux"))]
    Vec::new()
}

/// Returns the frames of the running lane, the innermost first: the return addresses of those whose stack lies between
/// `from` and `end`.
fn frames(from: usize, end: usize) -> Vec<usize> {
    /// The number of innermost calls that are compared.
    const MOST: usize = 256;
    let mut frames = Vec::new();
    backtrace::trace(|frame| {
        // The innermost frames belong to this look-up, and those beyond the lane's stack to the scheduler.
        let at = frame.sp().addr();
        if at > from && at < end {
            frames.push(frame.ip().addr());
        }
        at < end && frames.len() < MOST
    });
    frames
}

/// A call in the source: the function and the line.
type Call = (String, String);
/// The calls of a return address: several if some were inlined, `None` if they are not known.
type Calls = Option<Arc<[Call]>>;

/// Returns the calls of a frame: several if some were inlined, `None` if they are not known.
fn calls(address: usize) -> Calls {
    static KNOWN: Mutex<Option<HashMap<usize, Calls>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    let found = known.entry(address).or_insert_with(|| {
        let (mut calls, mut whole) = (Vec::new(), true);
        backtrace::resolve(core::ptr::without_provenance_mut(address), |symbol| {
            let name = symbol.name().map(|name| name.to_string());
            match (name, symbol.filename(), symbol.lineno()) {
                (Some(name), Some(file), Some(line)) if line > 0 => {
                    let column = symbol.colno().unwrap_or(0);
                    calls.push((name, format!("{}:{line}:{column}", file.display())));
                }
                _ => whole = false,
            }
        });
        (whole && !calls.is_empty()).then(|| calls.into())
    });
    found.clone()
}

thread_local! {
    /// The paths of the launches on this thread. They are kept, because code does not move.
    static PATHS: RefCell<Paths> = RefCell::default();
}

/// Notes the calls by which the running lane has arrived here, under the fingerprint `number`. Its stack is from `from` to
/// `end`.
pub(super) fn note(number: u64, from: usize, end: usize) {
    PATHS.with_borrow_mut(|paths| paths.note(number, from, end));
}

/// Returns the innermost calls in which two lanes differ, one of each. `None` if they have arrived by the same calls.
pub(super) fn difference(one: u64, other: u64) -> Option<[String; 2]> {
    PATHS.with_borrow_mut(|paths| paths.difference(one, other))
}

/// The calls by which lanes have arrived at barriers, by their fingerprints.
#[derive(Default)]
struct Paths {
    known: HashMap<u64, Arc<[usize]>>,
    /// Pairs of fingerprints that stand for the same calls.
    same: HashMap<(u64, u64), ()>,
}

/// The number of fingerprints that are remembered. They vary if data on the stack look like code.
const MOST_KNOWN: usize = 1 << 12;

impl Paths {
    #[inline]
    fn note(&mut self, number: u64, from: usize, end: usize) {
        if !self.known.contains_key(&number) {
            self.learn(number, from, end);
        }
    }

    #[cold]
    fn learn(&mut self, number: u64, from: usize, end: usize) {
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
            self.same.clear();
        }
        self.known.insert(number, frames(from, end).into());
    }

    fn difference(&mut self, one: u64, other: u64) -> Option<[String; 2]> {
        if one == other || self.same.contains_key(&(one, other)) {
            return None;
        }
        let found = self.compare(one, other);
        if found.is_none() {
            self.same.insert((one, other), ());
        }
        found
    }

    fn compare(&self, one: u64, other: u64) -> Option<[String; 2]> {
        let (one, other) = (self.known.get(&one)?, self.known.get(&other)?);
        // What both have in common, at either end, need not be known: the outermost frames have no source.
        let inner = one.iter().zip(&**other).take_while(|(a, b)| a == b);
        let inner = inner.count();
        let (one, other) = (&one[inner..], &other[inner..]);
        let outer = one.iter().rev().zip(other.iter().rev());
        let outer = outer.take_while(|(a, b)| a == b).count();
        let source = |frames: &[usize]| -> Option<Vec<Call>> {
            let mut all = Vec::new();
            for frame in &frames[..frames.len() - outer] {
                all.extend(calls(*frame)?.iter().cloned());
            }
            Some(all)
        };
        let (one, other) = (source(one)?, source(other)?);
        if one == other {
            return None;
        }
        let differ = one.iter().zip(&other).find(|(a, b)| a != b);
        let (a, b) = differ.or_else(|| Some((one.last()?, other.last()?)))?;
        Some([a.1.clone(), b.1.clone()])
    }
}
