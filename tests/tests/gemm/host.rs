//! Matrices on the host, as the tests of products make them.

use warpwright::{Device, Matrix};

/// Rows above a matrix, columns to the left and to the right of it, in a larger one.
pub type Margin = [usize; 3];

/// A matrix on the host, within a larger one.
#[derive(Debug, Clone)]
pub struct Host<T> {
    pub all: Vec<T>,
    pub height: usize,
    pub width: usize,
    pub margin: Margin,
}

impl<T: Copy> Host<T> {
    pub fn new(height: usize, width: usize, margin: Margin, mut value: impl FnMut() -> T) -> Self {
        let [above, left, right] = margin;
        let all = (above + height) * (left + width + right);
        Self {
            all: (0..all).map(|_| value()).collect(),
            height,
            width,
            margin,
        }
    }

    pub fn ld(&self) -> usize {
        self.margin[1] + self.width + self.margin[2]
    }

    pub fn place(&self, row: usize, column: usize) -> usize {
        (self.margin[0] + row) * self.ld() + self.margin[1] + column
    }

    /// Element (row, column), or of the transpose.
    pub fn at(&self, row: usize, column: usize, transposed: bool) -> T {
        self.all[self.place_of([row, column], transposed)]
    }

    /// The elements from (row, column) on: along the row, or down the column.
    pub fn line(&self, row: usize, column: usize, down: bool) -> impl Iterator<Item = T> + '_ {
        let step = if down { self.ld().max(1) } else { 1 };
        let from = self.all.get(self.place(row, column)..).unwrap_or_default();
        from.iter().step_by(step).copied()
    }

    /// Sets element (row, column), or of the transpose.
    pub fn put(&mut self, at: [usize; 2], transposed: bool, value: T) {
        let place = self.place_of(at, transposed);
        self.all[place] = value;
    }

    fn place_of(&self, [row, column]: [usize; 2], transposed: bool) -> usize {
        match transposed {
            true => self.place(column, row),
            false => self.place(row, column),
        }
    }
}

impl<T: warpwright::Element> Host<T> {
    pub fn upload(&self, device: &Device) -> warpwright::Result<Matrix<T>> {
        device.upload_matrix(&self.all, self.margin[0] + self.height, self.ld())
    }

    /// Where it is in what [`upload`](Self::upload) gave.
    pub fn ranges(&self) -> [std::ops::Range<usize>; 2] {
        let [above, left, _] = self.margin;
        [above..above + self.height, left..left + self.width]
    }
}
