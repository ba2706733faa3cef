//! The crate against a make-believe driver, whose memory is the host's and which runs no kernels.

#![cfg(all(unix, not(target_os = "macos")))]

#[path = "../common/mod.rs"]
mod common;

mod contexts;
mod errors;
mod graphs;
mod launches;
mod memory;
mod modules;
