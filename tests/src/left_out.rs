//! Counts the cases that tests leave out because the machine lacks something, and prints the counts when the process ends.

use std::{
    io::Write as _,
    sync::{Mutex, PoisonError},
};

/// The number of cases, their kind, and the reason.
type Note = (u64, &'static str, String);

static NOTES: Mutex<Vec<Note>> = Mutex::new(Vec::new());

/// Records that `cases` cases about `what` were left out, and the reason. The process prints the total when it ends, whatever
/// its tests print.
pub fn note(cases: usize, what: &'static str, why: &str) {
    unsafe extern "C" {
        /// C's `atexit`: calls `function` when the process ends.
        safe fn atexit(function: extern "C" fn()) -> core::ffi::c_int;
    }
    extern "C" fn tell() {
        let notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
        for note in notes.iter() {
            // If standard error is closed, the error cannot be reported.
            let _ = std::io::stderr().write_all(line(note).as_bytes());
        }
    }
    if cases == 0 {
        return;
    }
    let mut notes = NOTES.lock().unwrap_or_else(PoisonError::into_inner);
    if notes.is_empty() {
        atexit(tell);
    }
    match notes
        .iter_mut()
        .find(|(_, other, reason)| (*other, &**reason) == (what, why))
    {
        Some((count, ..)) => *count += cases as u64,
        None => notes.push((cases as u64, what, why.to_owned())),
    }
}

fn line((count, what, why): &Note) -> String {
    format!("{what} cases left out: {count} ({why})\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_of_one_reason_are_counted_together() {
        // This test program prints the note at its end, too, so the text identifies it.
        const WHAT: &str = "mock";
        for (cases, why) in [
            (2, "a test of this note"),
            (3, "a test of this note"),
            (0, "none"),
        ] {
            note(cases, WHAT, why);
        }
        let notes = NOTES.lock().unwrap();
        let lines: Vec<String> = notes
            .iter()
            .filter(|note| note.1 == WHAT)
            .map(line)
            .collect();
        assert_eq!(lines, ["mock cases left out: 5 (a test of this note)\n"]);
    }
}
