//! What some of the builder's options may be.

/// Which debug information goes into the PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugInfo {
    /// None.
    None,
    /// Files and lines of the Rust sources, for profilers and disassemblers. Paths are relative to
    /// the crate's workspace.
    LineTables,
    /// Names and types of variables too, as far as LLVM writes them into PTX. The code stays optimised.
    Full,
}

/// What a panic on the device prints, to the standard output of the process, before the launch ends with an error: a failed
/// assertion, an index out of bounds, an overflow where it is checked, `unwrap` and all else that panics. One lane's message is
/// printed of those that panic. A kernel that cannot panic is the same with each; one that reaches memory through views
/// need not be able to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PanicMessages {
    /// Nothing: a panic is one instruction. What the library's own kernels are built with.
    None,
    /// Block, lane, file, line and column, and the message where it is a text without arguments, as of `unwrap`,
    /// `assert!(condition)` or `panic!("text")`. A kernel that can panic has a call for it, and takes 32 registers or
    /// so at least.
    Place,
    /// The message with its arguments too, which `core::fmt` formats on the device, cut after 4 KiB. That costs: each kernel
    /// that can panic takes many more registers, all that there are where a float may be formatted, and longer to compile.
    /// The formatting of floats needs a stack of 4 KiB, where a lane has 1 KiB unless the host sets another
    /// size (`CU_LIMIT_STACK_SIZE`).
    Full,
}

/// What is kept beside the PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmitOption {
    /// The optimised LLVM IR as text, `<module>.ll`.
    LlvmIr,
    /// The optimised LLVM IR as bitcode, `<module>.bc`.
    Bitcode,
}
