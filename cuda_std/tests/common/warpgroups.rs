//! Products of warpgroups, for their tests.

use cuda_std::{
    cpu::{Checks, Options, Order},
    mma::Half,
    prelude::*,
    tensor_map::{EncodedTensorMap, Swizzle, TiledMatrix},
    wgmma::{self, Sums},
};

pub fn options(order: Order, checks: Checks) -> Options {
    Options {
        order,
        checks,
        ..Options::default()
    }
}

/// Stores the sums of a thread in a matrix by rows.
pub fn store_sums<S: Sums>(c: GlobalMut<f32>, thread: usize, sums: &S) {
    for (i, sum) in sums.as_ref().iter().enumerate() {
        let (row, column) = wgmma::place(thread, i);
        c.set(row * S::COLUMNS + column, *sum);
    }
}

/// A matrix of 16-bit elements at a multiple of 16 bytes.
pub struct Matrix {
    memory: Vec<[u128; 1]>,
    rows: usize,
    columns: usize,
}

impl Matrix {
    pub fn new<T: Half>(rows: usize, columns: usize, element: impl Fn(usize, usize) -> T) -> Self {
        let mut matrix = Self {
            memory: vec![[0]; rows * columns / 8],
            rows,
            columns,
        };
        for (i, place) in matrix.elements().iter_mut().enumerate() {
            *place = element(i / columns, i % columns);
        }
        matrix
    }

    pub fn elements<T: Half>(&mut self) -> &mut [T] {
        let start = self.memory.as_mut_ptr().cast();
        // SAFETY: words of 16 bytes are 8 elements of 2, for which all bits are valid.
        unsafe { core::slice::from_raw_parts_mut(start, self.rows * self.columns) }
    }

    pub fn map(&mut self) -> EncodedTensorMap {
        EncodedTensorMap::for_cpu(&TiledMatrix {
            address: self.memory.as_mut_ptr().expose_provenance() as u64,
            element_bytes: 2,
            sizes: [self.columns as u64, self.rows as u64],
            stride: 2 * self.columns as u64,
            tile: [64, 64],
            swizzle: Swizzle::Bytes128,
            stack: None,
            to_tf32: false,
        })
        .unwrap()
    }
}
