//! What the CPU executor checks, and how both choices of a run, checks and order, are written as text.

use core::{
    fmt,
    ops::{BitOr, BitOrAssign},
    str::FromStr,
};

use super::{Order, stacks::STACK_BYTES};

/// The variable that says what to check: `mem`, `init`, `race`, `sync` with commas between, `all` or `none`.
pub const CHECK_VARIABLE: &str = "WARPWRIGHT_CHECK";
/// The variable that says in which order lanes and blocks run: `forward`, `backward`, or the seed of a
/// pseudo-random order, a number below 2^64.
pub const ORDER_VARIABLE: &str = "WARPWRIGHT_ORDER_SEED";
/// The variable that says how many bytes of stack a lane has.
pub const STACK_VARIABLE: &str = "WARPWRIGHT_STACK";

/// What [`STACK_VARIABLE`] asks for; none if it is not set or empty.
///
/// # Errors
/// A line that names the variable, what it takes and what it is.
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
/// Whatever is chosen, an access through a view stays within the view and is aligned, and lanes that wait
/// for lanes that never come are an error: both come with the accesses and the barriers themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Checks(u8);

impl Checks {
    /// Nothing beyond what always holds.
    pub const NONE: Self = Self(0);
    /// Every access lies within one array of shared memory, or one allocation of the host's that has not
    /// been freed, whatever the view says.
    pub const MEM: Self = Self(1);
    /// No read of shared memory, or of a new allocation, that nobody wrote.
    pub const INIT: Self = Self(2);
    /// No two lanes touch the same bytes without an order between them where one writes, and nobody those of
    /// an asynchronous copy that was not waited for.
    pub const RACE: Self = Self(4);
    /// Lanes come to a barrier by the same line, and wait for their asynchronous copies before they return.
    pub const SYNC: Self = Self(8);
    /// All of them.
    pub const ALL: Self = Self(15);

    const NAMES: [(&'static str, Self); 4] = [
        ("mem", Self::MEM),
        ("init", Self::INIT),
        ("race", Self::RACE),
        ("sync", Self::SYNC),
    ];

    /// Whether all of `other` are in here.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether accesses have to be followed one by one.
    pub(super) const fn follow_accesses(self) -> bool {
        self.0 & (Self::MEM.0 | Self::INIT.0 | Self::RACE.0) != 0
    }

    /// What [`CHECK_VARIABLE`] asks for; none if it is not set or empty.
    ///
    /// # Errors
    /// A line that names the variable, what it takes and what it is.
    pub fn from_env() -> Result<Option<Self>, String> {
        from_env(CHECK_VARIABLE)
    }
}

impl Default for Checks {
    /// What costs next to nothing: [`SYNC`](Self::SYNC).
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
    /// What [`ORDER_VARIABLE`] asks for; none if it is not set or empty.
    ///
    /// # Errors
    /// A line that names the variable, what it takes and what it is.
    pub fn from_env() -> Result<Option<Self>, String> {
        from_env(ORDER_VARIABLE)
    }

    /// `count` different orders: forward, backward, then seeds from 1 on.
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
