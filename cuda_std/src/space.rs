//! The state space of an access: views have one, and atomic operations name it.

/// The state space of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// Global memory.
    Global,
    /// The block's shared memory.
    Shared,
    /// Any space, determined at run time.
    Generic,
}
