//! Requests that are refused before anything is launched.

use super::*;
use crate::buffer::VectorView;

/// Makes a view of more memory than exists. Nothing may access it.
fn huge<T: AxisReducible>(device: &Device, height: usize, width: usize) -> MatrixView<'_, T> {
    let elements = VectorView::from_parts(1 << 40, height * width, device);
    MatrixView::from_vector(elements, height, width).unwrap()
}

fn check<T: AxisReducible>() {
    let device = Device::cpu();
    let long = T::MOST_ADDENDS + 1;
    for (matrix, axis) in [
        (huge::<T>(&device, long, 1), Axis::Columns),
        (huge::<T>(&device, 1, long), Axis::Rows),
    ] {
        for variant in axis.family().variants {
            let request = || device.reduce_axis(matrix, axis).variant(variant.name);
            for error in [
                request().prepare_sum().map(drop).unwrap_err(),
                request().prepare_mean().map(drop).unwrap_err(),
            ] {
                let text = error.to_string();
                assert!(matches!(error, Error::Invalid { .. }), "{text}");
                assert!(text.contains(&T::MOST_ADDENDS.to_string()), "{text}");
                assert!(text.contains(&long.to_string()), "{text}");
            }
        }
    }
}

#[test]
fn a_sum_that_could_overflow_is_refused_before_the_launch() {
    check::<u8>();
    check::<u16>();
    check::<u32>();
    check::<i32>();
}

#[test]
fn as_many_addends_as_are_let_through_fit() {
    fn most(largest: i128, smallest: i128, addends: usize, sum: [i128; 2]) {
        let addends = addends as i128;
        assert!(addends * largest <= sum[1] && addends * smallest >= sum[0]);
        // One more would not fit.
        let more = addends + 1;
        assert!(more * largest > sum[1] || more * smallest < sum[0]);
    }
    let unsigned = [0, u64::MAX.into()];
    most(u8::MAX.into(), 0, u8::MOST_ADDENDS, unsigned);
    most(u16::MAX.into(), 0, u16::MOST_ADDENDS, unsigned);
    most(u32::MAX.into(), 0, u32::MOST_ADDENDS, unsigned);
    let signed = [i64::MIN.into(), i64::MAX.into()];
    most(i32::MAX.into(), i32::MIN.into(), i32::MOST_ADDENDS, signed);
}
