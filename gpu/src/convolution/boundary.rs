//! The values outside of the input.

use cuda_std::Global;

use super::Sample;

/// The values that a window has past an end of the input or of the row.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Boundary {
    /// Zeros.
    #[default]
    Zero,
    /// The nearest element: the first or the last one.
    Clamp,
    /// The elements from the other end on, repeated as needed.
    Wrap,
}

#[cfg(not(target_arch = "nvptx64"))]
// SAFETY: the type is one word, and the host makes only these values.
unsafe impl cuda_std::kernel::ByValue for Boundary {}

/// A row of the input, and the values outside of it. The row has at least one element.
#[derive(Clone, Copy)]
pub(super) struct Row<T> {
    pub input: Global<T>,
    /// The index of the row's first element in the input.
    pub start: usize,
    pub width: usize,
    pub boundary: Boundary,
}

impl<T: Sample> Row<T> {
    /// Returns the element of a column, which may lie outside.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, column: isize) -> T {
        // One comparison covers both ends: a column below the first wraps to far past the last.
        if (column as usize) < self.width {
            return self.input.get(self.start + column as usize);
        }
        // No `match`: for a fourth value it would leave the kernel, and `ptxas` keeps nothing in uniform registers across a
        // loop that some lanes of a warp may leave.
        if self.boundary == Boundary::Zero {
            return T::ZERO;
        }
        let before = column < 0;
        let nearest = if self.boundary == Boundary::Clamp {
            if before { 0 } else { self.width - 1 }
        } else {
            // The distance past the end, and the element that it leads to. There is no panic, for the same reason.
            let beyond = if before { !column } else { column } as usize;
            let part = beyond.checked_rem(self.width).unwrap_or(0);
            if before { self.width - 1 - part } else { part }
        };
        self.input.get(self.start + nearest)
    }
}
