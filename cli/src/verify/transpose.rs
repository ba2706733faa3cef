//! Checks of the transpose: exact, for every element size.

use std::fmt::Debug;

use warpwright::{Device, Element, MatrixView};

use super::{Case, Scale, Wrong, all_equal};
use crate::sample;

/// Heights and widths around the sides of tiles, and none.
const SHAPES: [(usize, usize); 14] = [
    (0, 0),
    (0, 7),
    (7, 0),
    (1, 1),
    (1, 67),
    (67, 1),
    (2, 3),
    (16, 16),
    (15, 17),
    (31, 33),
    (33, 31),
    (64, 32),
    (65, 130),
    (129, 63),
];

/// Shapes for a GPU: large, prime, and long and thin.
const LARGE: [(usize, usize); 5] = [
    (1024, 2048),
    (2053, 1021),
    (3, 300_007),
    (300_007, 3),
    (4099, 4111),
];

pub(super) fn cases(scale: Scale) -> Vec<Case> {
    let mut cases = Vec::new();
    elements::<u8>("u8", scale, |hash| hash as u8, &mut cases);
    elements::<u16>("u16", scale, |hash| hash as u16, &mut cases);
    elements::<u32>("u32", scale, |hash| hash as u32, &mut cases);
    elements::<u64>("u64", scale, |hash| hash, &mut cases);
    elements::<[u64; 2]>("u64 pairs", scale, |hash| [hash, !hash], &mut cases);
    cases
}

fn elements<T: Element + Debug + PartialEq>(
    name: &str,
    scale: Scale,
    from_hash: fn(u64) -> T,
    cases: &mut Vec<Case>,
) {
    let mut shapes = SHAPES.to_vec();
    if scale == Scale::Large {
        shapes.extend(LARGE);
    }
    for (height, width) in shapes {
        cases.push(Case::new(
            format!("{height} x {width} {name}"),
            move |device, variant| {
                let values = sample::values(height * width, 1, from_hash);
                let matrix = device.upload_matrix(&values, height, width)?;
                check(device, variant, matrix.view(), &values)
            },
        ));
    }
    // Rows of a larger matrix: the first element is not aligned for wide loads.
    cases.push(Case::new(
        format!("rows 1 to 42 of 47 x 35 {name}"),
        move |device, variant| {
            let values = sample::values(47 * 35, 2, from_hash);
            let matrix = device.upload_matrix(&values, 47, 35)?;
            check(device, variant, matrix.rows(1..42)?, &values[35..42 * 35])
        },
    ));
}

fn check<T: Element + Debug + PartialEq>(
    device: &Device,
    variant: &str,
    matrix: MatrixView<'_, T>,
    values: &[T],
) -> Result<(), Wrong> {
    let (height, width) = (matrix.height(), matrix.width());
    let found = device
        .transpose_request(matrix)
        .variant(variant)
        .run()?
        .to_vec()?;
    all_equal(&found, &transposed(values, height, width))
}

/// The oracle.
pub(crate) fn transposed<T: Copy>(values: &[T], height: usize, width: usize) -> Vec<T> {
    let mut result = Vec::with_capacity(values.len());
    for column in 0..width {
        for row in 0..height {
            result.push(values[row * width + column]);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_is_right() {
        assert_eq!(transposed(&[1, 2, 3, 4, 5, 6], 2, 3), [1, 4, 2, 5, 3, 6]);
    }
}
