use warpwright::{Device, DeviceKind};

/// The size of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// For the CPU executor, which runs lanes one by one.
    Small,
    /// For a GPU: the small problems and larger ones.
    Large,
}

impl Scale {
    /// Returns the scale that suits a device.
    pub fn of(device: &Device) -> Self {
        match device.kind() {
            DeviceKind::Cpu => Self::Small,
            _ => Self::Large,
        }
    }

    /// Returns one of two values.
    pub fn pick<T>(self, small: T, large: T) -> T {
        match self {
            Self::Small => small,
            Self::Large => large,
        }
    }

    /// Returns the small ones, and at the large scale the others too.
    pub(crate) fn all<T: Copy>(self, small: &[T], large: &[T]) -> Vec<T> {
        let large = self.pick(&[][..], large);
        small.iter().chain(large).copied().collect()
    }
}
