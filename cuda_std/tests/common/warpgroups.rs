//! Products of warpgroups, for their tests.

use cuda_std::{
    Plain,
    cpu::{Checks, Options, Order},
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
pub fn store_sums<S: Sums>(c: GlobalMut<S::Element>, thread: usize, sums: &S) {
    for (i, sum) in sums.as_ref().iter().enumerate() {
        let (row, column) = wgmma::place(thread, i);
        c.set(row * S::COLUMNS + column, *sum);
    }
}

/// A matrix of numbers at a multiple of 16 bytes, whose rows are whole lines of 128 bytes.
pub struct Matrix {
    memory: Vec<[u128; 1]>,
    rows: usize,
    columns: usize,
    element_bytes: usize,
}

impl Matrix {
    pub fn new<T: Plain>(rows: usize, columns: usize, element: impl Fn(usize, usize) -> T) -> Self {
        let element_bytes = size_of::<T>();
        let mut matrix = Self {
            memory: vec![[0]; rows * columns * element_bytes / 16],
            rows,
            columns,
            element_bytes,
        };
        for (i, place) in matrix.elements().iter_mut().enumerate() {
            *place = element(i / columns, i % columns);
        }
        matrix
    }

    pub fn elements<T: Plain>(&mut self) -> &mut [T] {
        assert_eq!(size_of::<T>(), self.element_bytes);
        let start = self.memory.as_mut_ptr().cast();
        // SAFETY: the words have as many bytes as the elements, for which all bits are valid.
        unsafe { core::slice::from_raw_parts_mut(start, self.rows * self.columns) }
    }

    pub fn map(&mut self) -> EncodedTensorMap {
        EncodedTensorMap::for_cpu(&TiledMatrix {
            address: self.memory.as_mut_ptr().expose_provenance() as u64,
            element_bytes: self.element_bytes as u32,
            sizes: [self.columns as u64, self.rows as u64],
            stride: (self.element_bytes * self.columns) as u64,
            tile: [128 / self.element_bytes as u32, 64],
            swizzle: Swizzle::Bytes128,
            stack: None,
            to_tf32: false,
        })
        .unwrap()
    }
}
