//! Tests of the crate with the mock driver, whose device memory is host memory and which runs no kernels.

#![cfg(all(unix, not(target_os = "macos")))]

#[path = "../common/mod.rs"]
mod common;

mod contexts;
mod errors;
mod graphs;
mod launches;
mod memory;
mod modules;
