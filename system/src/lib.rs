//! What the project's crates ask of the operating system, where it matters whom they trust:
//! environment variables, folders that nobody else can write to, and child processes with a time limit.
//!
//! `SECURITY.md` of the repository lists every variable, and what is ignored with raised privileges.

#![warn(missing_docs)]

pub mod environment;
pub mod folder;
pub mod process;
