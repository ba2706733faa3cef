//! See `cli/tests/targets`.
#![no_main]

#[path = "../../cli/tests/targets/mod.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::input_file(bytes));
