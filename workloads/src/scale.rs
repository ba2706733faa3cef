use warpwright::{Device, DeviceKind};

/// How large problems are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// For the CPU executor, which runs lanes one by one.
    Small,
    /// For a GPU: the small problems and larger ones.
    Large,
}

impl Scale {
    /// What suits a device.
    pub fn of(device: &Device) -> Self {
        match device.kind() {
            DeviceKind::Cpu => Self::Small,
            _ => Self::Large,
        }
    }

    /// One of two values.
    pub fn pick<T>(self, small: T, large: T) -> T {
        match self {
            Self::Small => small,
            Self::Large => large,
        }
    }

    /// The small ones, and at the large scale the others too.
    pub(crate) fn all<T: Copy>(self, small: &[T], large: &[T]) -> Vec<T> {
        let large = self.pick(&[][..], large);
        small.iter().chain(large).copied().collect()
    }
}
