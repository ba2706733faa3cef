//! Types of some of the builder's options.

/// The debug information in the PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugInfo {
    /// None.
    None,
    /// Files and lines of the Rust sources, for profilers and disassemblers. Paths are relative to
    /// the crate's workspace.
    LineTables,
    /// Names and types of variables too, as far as LLVM writes them to PTX. The code stays optimized.
    Full,
}

/// The message that a panic on the device prints to the standard output of the process before the launch ends with an
/// error. Panics include a failed assertion, an index out of bounds, an overflow where it is checked, and `unwrap`. If
/// several lanes panic, the message of one is printed. A kernel that cannot panic is the same with each setting; a kernel
/// that accesses memory through views need not be able to panic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PanicMessages {
    /// No message: a panic is one instruction. The library's own kernels are built with this.
    None,
    /// Block, lane, file, line and column, and the message if it is a text without arguments, as of `unwrap`,
    /// `assert!(condition)` or `panic!("text")`. A kernel that can panic contains a call for it and takes at least about 32
    /// registers.
    Place,
    /// The message with its arguments, which `core::fmt` formats on the device, cut after 4 KiB. The cost: each kernel that
    /// can panic takes many more registers, all available ones if a float may be formatted, and longer to compile. The
    /// formatting of floats needs a stack of 4 KiB, while a lane has 1 KiB unless the host sets another size
    /// (`CU_LIMIT_STACK_SIZE`).
    Full,
}

/// The intermediate file that is kept beside the PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmitOption {
    /// The optimized LLVM IR as text, `<module>.ll`.
    LlvmIr,
    /// The optimized LLVM IR as bitcode, `<module>.bc`.
    Bitcode,
}
