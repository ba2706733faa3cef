//! Which call fails, what was made and not given back, and a list of the calls.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a call makes or gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Context,
    Stream,
    Event,
    Memory,
    Pinned,
    Module,
    /// The kinds from here on are those that `fault_live` does not list.
    Graph,
    GraphExec,
    Pool,
    Linker,
    External,
}

const KINDS: usize = 6;

/// What a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Plain,
    /// Text about an error.
    Text,
    /// About the calling thread alone: works when the context is lost, too.
    OfTheThread,
    Makes(Kind),
    GivesBack(Kind),
}

/// Which calls fail: by number, from 1, since the faults were armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    None,
    /// That one.
    Once,
    /// That one of those that allocate memory.
    OneAllocation,
    /// That one of those that allocate memory, and all later ones.
    Allocations,
    /// That one and all later ones, as when a kernel has faulted. What is given back is given back all the
    /// same, so that the next test finds the driver as it was.
    Lost,
}

struct State {
    plan: Plan,
    nth: u64,
    code: u32,
    calls: u64,
    all_calls: u64,
    failed: Option<&'static str>,
    ledger: BTreeMap<(Kind, u64), u64>,
    wrong: Vec<String>,
    /// The calls, while they are listed.
    list: Option<Vec<String>>,
    /// What functions answer without doing anything.
    answers: BTreeMap<String, u32>,
}

static STATE: Mutex<State> = Mutex::new(State {
    plan: Plan::None,
    nth: 0,
    code: 0,
    calls: 0,
    all_calls: 0,
    failed: None,
    ledger: BTreeMap::new(),
    wrong: Vec::new(),
    list: None,
    answers: BTreeMap::new(),
});

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that the library asked for what no driver allows.
pub fn wrong(what: String) {
    state().wrong.push(what);
}

/// Whether calls are listed.
pub fn is_listing() -> bool {
    state().list.is_some()
}

/// Adds to what is listed of the call that is being made.
pub fn detail(text: &str) {
    let mut state = state();
    if let Some(call) = state.list.as_mut().and_then(|list| list.last_mut()) {
        call.push(' ');
        call.push_str(text);
    }
}

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// The calls that this thread has made.
pub fn calls_of_this_thread() -> u64 {
    CALLS.get()
}

/// Counts the call, and makes it or has it fail.
pub fn call(
    name: &'static str,
    role: Role,
    perform: impl Fn() -> u32,
    handle: impl Fn() -> u64,
) -> u32 {
    CALLS.set(CALLS.get() + 1);
    let verdict = {
        let mut state = state();
        state.all_calls += 1;
        if let Some(list) = &mut state.list {
            list.push(name.to_owned());
        }
        let answer = state.answers.get(name).copied();
        verdict(&mut state, name, role).or(answer)
    };
    if let (Some(code), false) = (verdict, matches!(role, Role::GivesBack(_)) && is_lost()) {
        return code;
    }
    let code = perform();
    if code == 0 {
        match role {
            Role::Makes(kind) => *state().ledger.entry((kind, handle())).or_default() += 1,
            Role::GivesBack(kind) => {
                let mut state = state();
                let key = (kind, handle());
                match state.ledger.get_mut(&key) {
                    None => state.wrong.push(format!("{name}: nothing to give back")),
                    Some(1) => {
                        state.ledger.remove(&key);
                    }
                    Some(count) => *count -= 1,
                }
            }
            _ => {}
        }
    }
    verdict.unwrap_or(code)
}

/// Whether calls fail because the context is lost.
pub fn is_lost() -> bool {
    state().plan == Plan::Lost
}

/// The code that the call is to return without doing anything; none if it is to be made.
fn verdict(state: &mut State, name: &'static str, role: Role) -> Option<u32> {
    let counts = match state.plan {
        Plan::None | Plan::Once => true,
        Plan::OneAllocation | Plan::Allocations => {
            matches!(role, Role::Makes(Kind::Memory | Kind::Pinned))
        }
        Plan::Lost => !matches!(role, Role::Text | Role::OfTheThread),
    };
    if !counts {
        return None;
    }
    state.calls += 1;
    let fails = match state.plan {
        Plan::None => false,
        Plan::Once | Plan::OneAllocation => state.calls == state.nth,
        Plan::Allocations | Plan::Lost => state.calls >= state.nth,
    };
    if !fails {
        return None;
    }
    state.failed.get_or_insert(name);
    Some(state.code)
}

/// Has call number `nth` from now on fail with `code`: by `plan` none (0), that one (1), that allocation
/// (2), that allocation and all later ones (3), that one and all later ones (4).
#[unsafe(no_mangle)]
pub extern "C" fn fault_arm(plan: u32, nth: u64, code: u32) {
    let mut state = state();
    state.plan = match plan {
        1 => Plan::Once,
        2 => Plan::OneAllocation,
        3 => Plan::Allocations,
        4 => Plan::Lost,
        _ => Plan::None,
    };
    (state.nth, state.code, state.calls, state.failed) = (nth, code, 0, None);
}

/// Has each call of the function `name`, as it is exported, return `code` from now on and do nothing; 0 lets it be made again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fault_answer(name: *const c_char, code: u32) {
    // SAFETY: a C string, as the caller promises.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let answers = &mut state().answers;
    if code == 0 {
        answers.remove(&name);
    } else {
        answers.insert(name, code);
    }
}

/// Lets every call be made again. Gives the number of calls that counted.
#[unsafe(no_mangle)]
pub extern "C" fn fault_disarm() -> u64 {
    let mut state = state();
    state.plan = Plan::None;
    state.calls
}

/// All calls so far.
#[unsafe(no_mangle)]
pub extern "C" fn fault_calls() -> u64 {
    state().all_calls
}

/// Writes how many of each kind were made and not given back: contexts (as often as they are retained),
/// streams, events, device memory, pinned memory, modules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fault_live(counts: *mut [u64; KINDS]) {
    let mut live = [0; KINDS];
    for ((kind, _), count) in &state().ledger {
        if let Some(live) = live.get_mut(*kind as usize) {
            *live += count;
        }
    }
    // SAFETY: writable, as the caller promises.
    unsafe { *counts = live };
}

/// How many things of all kinds were made and not given back.
#[unsafe(no_mangle)]
pub extern "C" fn fault_live_in_all() -> u64 {
    state().ledger.values().sum()
}

/// Writes the name of the call that failed first, a C string; an empty one if none did.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fault_failed(text: *mut c_char, room: usize) {
    // SAFETY: as the caller promises.
    unsafe { write(state().failed.unwrap_or_default(), text, room) };
}

/// Begins a list of the calls, with what they are about where the driver does the work itself.
#[unsafe(no_mangle)]
pub extern "C" fn fault_list() {
    state().list = Some(Vec::new());
}

/// Ends the list, and writes it, a line each, as a C string. The bytes that it takes with its NUL: where that is more than
/// `room`, it is cut off.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fault_listed(text: *mut c_char, room: usize) -> usize {
    let list = state().list.take().unwrap_or_default().join("\n");
    // SAFETY: as the caller promises.
    unsafe { write(&list, text, room) };
    list.len() + 1
}

/// Writes what the library did that no driver allows, a C string; an empty one if nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fault_wrong(text: *mut c_char, room: usize) {
    // SAFETY: as the caller promises.
    unsafe { write(&state().wrong.join("; "), text, room) };
}

/// Writes `from` and a NUL to `text`, cut to `room`.
///
/// # Safety
/// `room` bytes, at least one, are writable.
unsafe fn write(from: &str, text: *mut c_char, room: usize) {
    let len = from.len().min(room - 1);
    // SAFETY: `len` and one more fit.
    unsafe {
        text.cast::<u8>().copy_from(from.as_ptr(), len);
        *text.add(len) = 0;
    }
}
