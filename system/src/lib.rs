//! The project's security-sensitive calls of the operating system: environment variables, folders that no other user can
//! write to, and child processes with a time limit.
//!
//! `SECURITY.md` in the repository lists every variable and the behavior with raised privileges.

#![warn(missing_docs)]

pub mod environment;
pub mod folder;
pub mod process;
