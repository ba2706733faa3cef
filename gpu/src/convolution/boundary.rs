//! What lies outside the input.

use cuda_std::Global;

use super::Sample;

/// What a window finds where it reaches past an end of the input or of the row.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Boundary {
    /// Zeros.
    #[default]
    Zero,
    /// The nearest element: the first or the last one.
    Clamp,
    /// The elements from the other end on, as often as it takes.
    Wrap,
}

#[cfg(not(target_arch = "nvptx64"))]
// SAFETY: a word, of which the host makes no other values than these.
unsafe impl cuda_std::kernel::ByValue for Boundary {}

/// A row of the input, and what lies outside of it. The row has at least one element.
#[derive(Clone, Copy)]
pub(super) struct Row<T> {
    pub input: Global<T>,
    /// Where it starts in the input.
    pub start: usize,
    pub width: usize,
    pub boundary: Boundary,
}

impl<T: Sample> Row<T> {
    /// The element of this column, which may lie outside.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, column: isize) -> T {
        // One comparison finds both ends: below the first column is far past the last one.
        if (column as usize) < self.width {
            return self.input.get(self.start + column as usize);
        }
        // No `match`: what it does with a fourth value would be to leave the kernel, and `ptxas` keeps nothing in uniform
        // registers across a loop that some lanes of a warp may leave.
        if self.boundary == Boundary::Zero {
            return T::ZERO;
        }
        let before = column < 0;
        let nearest = if self.boundary == Boundary::Clamp {
            if before { 0 } else { self.width - 1 }
        } else {
            // How far it is from the end that it lies beyond, and where that leads. Without a panic, for the same reason.
            let beyond = if before { !column } else { column } as usize;
            let part = beyond.checked_rem(self.width).unwrap_or(0);
            if before { self.width - 1 - part } else { part }
        };
        self.input.get(self.start + nearest)
    }
}
