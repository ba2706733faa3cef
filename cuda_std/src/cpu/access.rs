//! The kinds of memory accesses, and which pairs are a race if nothing orders them.

/// The kind of a memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// An atomic operation.
    Atomic {
        /// Whether it writes. A load only reads, and so does a compare-and-exchange that fails. Every other operation
        /// writes, even if it leaves the value unchanged.
        writes: bool,
        /// Whether its scope is the block, so that it is atomic only for the lanes of its block.
        block_scope: bool,
        /// The size of its element in bytes, 4 or 8.
        bytes: u8,
    },
    /// A read by an asynchronous copy.
    CopyFrom,
    /// A write by an asynchronous copy.
    CopyTo,
}

/// The bits of a kind's code.
const WRITES: u8 = 1;
const ATOMIC: u8 = 2;
/// For an atomic operation: its scope is the block. For another access: it is an asynchronous copy's.
const SPECIAL: u8 = 4;
/// For an atomic operation: its element has 8 bytes.
const WIDE: u8 = 8;
/// All codes are below this number.
pub(super) const CODES: usize = 16;

impl AccessKind {
    /// Returns the kind's code, which [`from_code`](Self::from_code) converts back.
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Read => 0,
            Self::Write => WRITES,
            Self::Atomic {
                writes,
                block_scope,
                bytes,
            } => {
                let narrow = if block_scope { SPECIAL } else { 0 };
                ATOMIC | writes as u8 | narrow | if bytes == 8 { WIDE } else { 0 }
            }
            Self::CopyFrom => SPECIAL,
            Self::CopyTo => SPECIAL | WRITES,
        }
    }

    /// Returns the kind of this code.
    pub(super) const fn from_code(code: u8) -> Self {
        let (writes, special) = (code & WRITES != 0, code & SPECIAL != 0);
        match (code & ATOMIC != 0, special, writes) {
            (true, ..) => Self::Atomic {
                writes,
                block_scope: special,
                bytes: if code & WIDE != 0 { 8 } else { 4 },
            },
            (false, false, false) => Self::Read,
            (false, false, true) => Self::Write,
            (false, true, false) => Self::CopyFrom,
            (false, true, true) => Self::CopyTo,
        }
    }

    /// Returns whether it writes.
    const fn writes(self) -> bool {
        self.code() & WRITES != 0
    }

    /// Returns whether two unordered accesses to the same bytes are a race, for lanes of the same block or of two blocks.
    /// They are if one of them writes and they are not atomic for each other. Two atomic operations are atomic for each
    /// other if the scope of each includes the other's lane and their bytes are all the same ("morally strong" in the PTX
    /// memory model).
    pub(super) const fn conflicts(self, other: Self, same_block: bool) -> bool {
        if !self.writes() && !other.writes() {
            return false;
        }
        let (
            Self::Atomic {
                block_scope: narrow,
                bytes,
                ..
            },
            Self::Atomic {
                block_scope: other_narrow,
                bytes: other_bytes,
                ..
            },
        ) = (self, other)
        else {
            return true;
        };
        // Elements are aligned, so elements of the same size that overlap are the same.
        bytes != other_bytes || (!same_block && (narrow || other_narrow))
    }

    /// Returns the reason why two atomic operations that race are not atomic for each other.
    pub(super) fn not_atomic_to(self, other: Self) -> Option<String> {
        match (self, other) {
            (Self::Atomic { bytes, .. }, Self::Atomic { bytes: others, .. }) if bytes != others => {
                Some(format!(
                    "atomic operations of another width ({bytes} and {others} bytes) are not atomic for \
                     each other"
                ))
            }
            (Self::Atomic { .. }, Self::Atomic { .. }) => {
                Some("an atomic operation of scope block is not atomic for other blocks".to_owned())
            }
            _ => None,
        }
    }

    /// Returns whether it is an atomic operation.
    pub(super) const fn is_atomic(self) -> bool {
        self.code() & ATOMIC != 0
    }

    /// Returns whether it belongs to an asynchronous copy.
    pub(super) const fn is_copy(self) -> bool {
        matches!(self, Self::CopyFrom | Self::CopyTo)
    }

    pub(super) const fn verb(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Atomic { writes: false, .. } => "reads atomically",
            Self::Atomic { writes: true, .. } => "changes atomically",
            Self::CopyFrom => "copies asynchronously from",
            Self::CopyTo => "copies asynchronously to",
        }
    }
}
