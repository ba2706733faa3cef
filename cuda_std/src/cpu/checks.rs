//! The checks of the CPU executor, and the environment variables that select checks, order and stack size.

use core::{
    fmt,
    ops::{BitOr, BitOrAssign},
    str::FromStr,
};

use super::{Order, stacks::STACK_BYTES};

/// The environment variable that selects the checks: `mem`, `init`, `race`, `sync` separated by commas, `all` or `none`.
pub const CHECK_VARIABLE: &str = "WARPWRIGHT_CHECK";
/// The environment variable that selects the order of lanes and blocks: `forward`, `backward`, or the seed of a
/// pseudo-random order, a number below 2^64.
pub const ORDER_VARIABLE: &str = "WARPWRIGHT_ORDER_SEED";
/// The environment variable that sets the size of a lane's stack in bytes.
pub const STACK_VARIABLE: &str = "WARPWRIGHT_STACK";

/// Returns the value of [`STACK_VARIABLE`], or `None` if it is not set or empty.
///
/// # Errors
/// A line that names the variable, its valid values and its value.
pub fn stack_bytes_from_env() -> Result<Option<usize>, String> {
    match system::environment::variable(STACK_VARIABLE) {
        None => Ok(None),
        Some(text) => match text.to_string_lossy().parse() {
            Ok(bytes) if STACK_BYTES.contains(&bytes) => Ok(Some(bytes)),
            _ => Err(format!(
                "{STACK_VARIABLE}: a number of bytes from {} to {} required, given `{}`",
                STACK_BYTES.start(),
                STACK_BYTES.end(),
                text.to_string_lossy()
            )),
        },
    }
}

/// A set of checks.
///
/// With every set, including the empty one, an access through a view must lie within the view and be aligned, and waiting
/// for lanes that never arrive is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Checks(u8);

impl Checks {
    /// No checks beyond those that are always made.
    pub const NONE: Self = Self(0);
    /// Every access must lie within one array of shared memory, or within one host allocation that has not been freed,
    /// whatever the view's bounds are.
    pub const MEM: Self = Self(1);
    /// Reads of shared memory and of new allocations must be of initialized bytes.
    pub const INIT: Self = Self(2);
    /// Two lanes that access the same bytes, at least one of them writing, must have an order between the accesses. The
    /// bytes of an asynchronous copy must not be accessed before it was waited for.
    pub const RACE: Self = Self(4);
    /// All lanes must arrive at a barrier by the same line, and must wait for their asynchronous copies before they return.
    pub const SYNC: Self = Self(8);
    /// All checks.
    pub const ALL: Self = Self(15);

    const NAMES: [(&'static str, Self); 4] = [
        ("mem", Self::MEM),
        ("init", Self::INIT),
        ("race", Self::RACE),
        ("sync", Self::SYNC),
    ];

    /// Returns whether the set contains all of `other`.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns whether accesses must be followed one by one.
    pub(super) const fn follow_accesses(self) -> bool {
        self.0 & (Self::MEM.0 | Self::INIT.0 | Self::RACE.0) != 0
    }

    /// Returns the value of [`CHECK_VARIABLE`], or `None` if it is not set or empty.
    ///
    /// # Errors
    /// A line that names the variable, its valid values and its value.
    pub fn from_env() -> Result<Option<Self>, String> {
        from_env(CHECK_VARIABLE)
    }
}

impl Default for Checks {
    /// Returns the checks that cost next to nothing: [`SYNC`](Self::SYNC).
    fn default() -> Self {
        Self::SYNC
    }
}

impl BitOr for Checks {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Checks {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NONE => return f.write_str("none"),
            Self::ALL => return f.write_str("all"),
            _ => {}
        }
        let mut separator = "";
        for (name, check) in Self::NAMES {
            if self.contains(check) {
                write!(f, "{separator}{name}")?;
                separator = ",";
            }
        }
        Ok(())
    }
}

impl FromStr for Checks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => return Ok(Self::ALL),
            "none" => return Ok(Self::NONE),
            _ => {}
        }
        let mut checks = Self::NONE;
        for part in text.split(',') {
            let found = Self::NAMES.iter().find(|(name, _)| *name == part.trim());
            let (_, check) = found.ok_or_else(|| {
                format!("mem, init, race and sync with commas between, all or none required, given `{text}`")
            })?;
            checks |= *check;
        }
        Ok(checks)
    }
}

impl Order {
    /// Returns the value of [`ORDER_VARIABLE`], or `None` if it is not set or empty.
    ///
    /// # Errors
    /// A line that names the variable, its valid values and its value.
    pub fn from_env() -> Result<Option<Self>, String> {
        from_env(ORDER_VARIABLE)
    }

    /// Returns `count` different orders: forward, backward, then seeds from 1 on.
    pub fn several(count: u64) -> impl Iterator<Item = Self> {
        (0..count).map(|i| match i {
            0 => Self::Forward,
            1 => Self::Backward,
            i => Self::Seeded(i - 1),
        })
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forward => f.write_str("forward"),
            Self::Backward => f.write_str("backward"),
            Self::Seeded(seed) => seed.fmt(f),
        }
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "forward" => Ok(Self::Forward),
            "backward" => Ok(Self::Backward),
            seed => seed.parse().map(Self::Seeded).map_err(|_| {
                format!("forward, backward or a number below 2^64 required, given `{text}`")
            }),
        }
    }
}

fn from_env<T: FromStr<Err = String>>(variable: &str) -> Result<Option<T>, String> {
    match system::environment::variable(variable) {
        None => Ok(None),
        Some(text) => {
            let parsed = text.to_string_lossy().parse();
            parsed
                .map(Some)
                .map_err(|error| format!("{variable}: {error}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_written_as_they_are_read() {
        for text in ["none", "all", "mem", "init,race", "mem,sync"] {
            assert_eq!(text.parse::<Checks>().unwrap().to_string(), text);
        }
        assert_eq!("race, mem,init,sync".parse(), Ok(Checks::ALL));
        for text in ["", "memory", "all,mem", "mem,,race", "none,race"] {
            let error = text.parse::<Checks>().unwrap_err();
            assert!(error.contains(&format!("given `{text}`")), "{error}");
        }
    }

    #[test]
    fn orders_are_written_as_they_are_read() {
        for order in Order::several(5).chain([Order::Seeded(u64::MAX)]) {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        for text in ["", "-1", "fore", "18446744073709551616"] {
            assert!(text.parse::<Order>().is_err(), "{text}");
        }
    }

    #[test]
    fn several_orders_differ() {
        let orders: Vec<Order> = Order::several(6).collect();
        for (i, order) in orders.iter().enumerate() {
            assert!(!orders[..i].contains(order));
        }
    }
}
