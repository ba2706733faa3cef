//! Matrices of `faer` and arrays of Arrow: they arrive as they are and come back. Nulls are refused.

use std::{fmt::Debug, sync::Arc};

use arrow_array::{
    Array, ArrowPrimitiveType, Float16Array, Float64Array, Int32Array, PrimitiveArray,
    TimestampMicrosecondArray, UInt8Array, types,
};
use cuda_std::{bf16, f16};
use faer::{Mat, MatRef, c64};
use warpwright::{Device, Element, Error, InvalidKind, Result};
use warpwright_tests::devices;

/// Asserts that `result` is [`Error::Invalid`] of this kind, told in one line.
#[track_caller]
fn refused<T: Debug>(result: Result<T>, kind: InvalidKind, told: &str) {
    let error = result.expect_err("an error");
    assert!(
        matches!(error, Error::Invalid { kind: found, .. } if found == kind),
        "{error:?}"
    );
    assert_eq!(error.to_string(), told);
}

/// Uploads a matrix, compares it element by element, and downloads it.
fn around<T: Element + PartialEq + Debug>(device: &Device, theirs: MatRef<'_, T>) -> Result<()> {
    let (height, width) = theirs.shape();
    let matrix = device.upload_faer(theirs)?;
    assert_eq!((matrix.height(), matrix.width()), (height, width));
    let places = (0..height).flat_map(|row| (0..width).map(move |column| (row, column)));
    let expected: Vec<T> = places.map(|place| theirs[place]).collect();
    assert_eq!(matrix.to_vec()?, expected, "{theirs:?}");
    let back = matrix.to_faer()?;
    assert_eq!(back.shape(), (height, width));
    assert_eq!(back, theirs);
    Ok(())
}

/// Shapes with and without gaps between columns of a [`Mat`], for every type.
const SHAPES: [[usize; 2]; 10] = [
    [0, 0],
    [0, 3],
    [3, 0],
    [1, 1],
    [1, 5],
    [5, 1],
    [2, 3],
    [33, 7],
    [64, 5],
    [128, 1],
];

#[test]
fn matrices_of_faer_go_around() -> Result<()> {
    fn all<T: Element + PartialEq + Debug>(device: &Device, of: fn(u8) -> T) -> Result<()> {
        for [height, width] in SHAPES {
            let matrix = Mat::from_fn(height, width, |row, column| of((row * 7 + column) as u8));
            around(device, matrix.as_ref())?;
            around(device, matrix.transpose())?;
        }
        Ok(())
    }
    for device in devices::all() {
        all(device, f32::from)?;
        all(device, f64::from)?;
        all(device, |value| c64::new(value.into(), -1.5))?;
        all(device, |value| f16::from_f32(value.into()))?;
        all(device, |value| bf16::from_f32(value.into()))?;
        all(device, |value| value)?;
        all(device, i32::from)?;
        all(device, u64::from)?;
    }
    Ok(())
}

#[test]
fn parts_of_matrices_of_faer_go_around() -> Result<()> {
    let matrix = Mat::from_fn(19, 9, |row, column| (row * 100 + column) as i32);
    let numbers: Vec<i32> = (0..24).collect();
    for device in devices::all() {
        let part = matrix.submatrix(3, 2, 11, 4);
        for part in [
            part,
            part.reverse_cols(),
            matrix.subrows(4, 1),
            matrix.subcols(2, 1),
        ] {
            around(device, part)?;
            around(device, part.transpose())?;
        }
        // A single row or column of elements that are apart, and the same one several times.
        around(device, matrix.row(2).as_mat())?;
        around(device, matrix.col(2).as_mat())?;
        around(device, matrix.row(2).transpose().as_mat())?;
        around(device, matrix.subrows(4, 1).reverse_cols())?;
        around(device, matrix.subcols(4, 1).reverse_rows())?;
        around(device, MatRef::from_repeated_col(matrix.col(3), 5))?;
        around(
            device,
            MatRef::from_repeated_row(matrix.transpose().row(3), 5),
        )?;
        // Slices without and with gaps. The last line has no gap behind it.
        around(device, MatRef::from_row_major_slice(&numbers, 4, 6))?;
        around(device, MatRef::from_column_major_slice(&numbers, 4, 6))?;
        let rows = MatRef::from_row_major_slice_with_stride(&numbers[..23], 4, 5, 6);
        around(device, rows)?;
        let columns = MatRef::from_column_major_slice_with_stride(&numbers[..23], 5, 4, 6);
        around(device, columns)?;
        // Other kinds of arguments, and rows of a result.
        let whole = device.upload_faer(&matrix)?;
        assert_eq!(
            device.upload_faer(matrix.clone())?.to_vec()?,
            whole.to_vec()?
        );
        let typed = matrix.try_as_col_major().expect("columns");
        assert_eq!(device.upload_faer(typed)?.to_vec()?, whole.to_vec()?);
        assert_eq!(whole.rows(2..5)?.to_faer()?, matrix.subrows(2, 3));
    }
    Ok(())
}

#[test]
fn elements_of_faer_that_are_apart_go_around() -> Result<()> {
    let matrix = Mat::from_fn(32, 4, |row, column| (row + column) as f32);
    // SAFETY: every other element of the first 16 of each column.
    let apart = unsafe { MatRef::from_raw_parts(matrix.as_ptr(), 8, 4, 2, 32) };
    // A column of 64 KiB and more, with a gap behind it.
    let long = Mat::from_fn((1 << 14) + 1, 3, |row, column| (row * 3 + column) as f32);
    // Elements that the device does not transpose.
    let odd = Mat::from_fn(5, 3, |row, column| [row as u8, column as u8, 7]);
    for device in devices::all() {
        for part in [apart, matrix.reverse_rows(), long.as_ref()] {
            around(device, part)?;
            around(device, part.transpose())?;
        }
        around(device, odd.as_ref())?;
        around(device, odd.transpose())?;
    }
    Ok(())
}

/// Uploads an array and slices of it, and downloads them.
fn there_and_back<P: ArrowPrimitiveType<Native: Element>>(
    device: &Device,
    values: Vec<P::Native>,
) -> Result<()> {
    let array = PrimitiveArray::<P>::new(values.clone().into(), None);
    let len = values.len();
    for (start, end) in [(0, len), (1, len), (1, len - 1), (len, len)] {
        let part = array.slice(start, end - start);
        let vector = device.upload_arrow(&part)?;
        assert_eq!(vector.to_vec()?, values[start..end]);
        assert_eq!(vector.to_arrow::<P>()?, part);
        assert_eq!(device.upload(part.values())?.to_vec()?, values[start..end]);
    }
    let vector = device.upload_arrow(&array)?;
    assert_eq!(vector.slice(1..3)?.to_arrow::<P>()?, array.slice(1, 2));
    Ok(())
}

#[test]
fn arrays_of_arrow_go_around() -> Result<()> {
    for device in devices::all() {
        there_and_back::<types::Float64Type>(device, vec![1.5, -0.0, f64::INFINITY, 4.0])?;
        there_and_back::<types::Float32Type>(device, vec![1.5, -0.0, f32::MIN, 4.0])?;
        there_and_back::<types::Float16Type>(device, [1, 2, 3].map(f16::from_bits).to_vec())?;
        there_and_back::<types::Int32Type>(device, vec![-1, i32::MIN, i32::MAX, 0, 7])?;
        there_and_back::<types::UInt8Type>(device, (0..=255).collect())?;
        there_and_back::<types::Int64Type>(device, vec![-1, i64::MIN, i64::MAX])?;
        there_and_back::<types::Decimal128Type>(device, vec![-1, i128::MIN, i128::MAX])?;
        there_and_back::<types::TimestampMillisecondType>(device, vec![1, 2, 3])?;

        // The type of the result is the program's choice.
        let times: TimestampMicrosecondArray = device.upload(&[1_i64, 2])?.to_arrow()?;
        assert_eq!(times, TimestampMicrosecondArray::from(vec![1, 2]));
        let values = device.upload_arrow(&UInt8Array::from(vec![1, 2, 3]))?;
        let sums: UInt8Array = device.cumulative_sum(&values)?.to_arrow()?;
        assert_eq!(sums.values(), &[1, 3, 6]);
        assert_eq!(
            device.sum(&device.upload_arrow(&Float64Array::from(vec![0.5, 2.0]))?)?,
            2.5
        );
    }
    Ok(())
}

#[test]
fn nulls_are_refused() -> Result<()> {
    let array = Int32Array::from(vec![Some(1), None, Some(3), Some(4), None]);
    let shared: Arc<dyn Array> = Arc::new(array.clone());
    assert_eq!(shared.null_count(), 2);
    for device in devices::all() {
        refused(
            device.upload_arrow(&array),
            InvalidKind::Value,
            "upload_arrow: an array without nulls required, null count 2 given",
        );
        let told = "upload_arrow: an array without nulls required, null count 1 given";
        refused(
            device.upload_arrow(&array.slice(3, 2)),
            InvalidKind::Value,
            told,
        );
        // A slice between the nulls, and a mask that lets every element through.
        assert_eq!(device.upload_arrow(&array.slice(2, 2))?.to_vec()?, [3, 4]);
        let all = Int32Array::from(vec![Some(1), Some(2)]);
        assert_eq!(device.upload_arrow(&all)?.to_vec()?, [1, 2]);
        assert!(device.upload_arrow(&array.slice(5, 0))?.is_empty());
    }
    Ok(())
}

#[test]
fn the_cpu_uses_buffers_of_arrow_where_they_are() -> Result<()> {
    let device = devices::cpu();
    let array = Float16Array::from([1.0, 2.0, 3.5].map(f16::from_f32).to_vec());
    let part = array.slice(1, 2);
    let view = device.host_view(part.values())?;
    assert_eq!(view.device_pointer(), part.values().as_ptr().addr() as u64);
    assert_eq!(view.to_arrow::<types::Float16Type>()?, part);
    assert_eq!(device.max(view)?, Some(f16::from_f32(3.5)));
    Ok(())
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod on_mock_devices {
    use warpwright_tests::faults::{self, Driver};

    use super::*;

    const DONE: &str = "all copies are as stated";

    #[test]
    fn child() {
        let Some(behind) = faults::is_child() else {
            return;
        };
        let driver = faults::driver(behind).expect("a driver");
        driver.devices(1, 1 << 30);
        copies(&driver).expect("no call fails");
        assert_eq!(driver.wrong(), "");
        println!("{DONE}");
    }

    #[test]
    fn copies_are_as_stated() {
        faults::run_child("on_mock_devices::child", DONE);
    }

    /// One copy without gaps or of short lines, else one for each line, and a kernel where columns become rows.
    fn copies(driver: &Driver) -> Result<()> {
        let device = Device::cuda(0)?;
        let count = |made: &[String], name: &str| {
            let found = made.iter().filter(|made| made.starts_with(name));
            found.count()
        };
        let dense = Mat::<f32>::from_fn(32, 5, |_, _| 1.0);
        let short = Mat::<f32>::from_fn(30, 5, |_, _| 1.0);
        let long = Mat::<f32>::from_fn((1 << 14) + 1, 5, |_, _| 1.0);
        for (matrix, copies, kernels) in [
            (dense.as_ref(), 1, 1),
            (dense.transpose(), 1, 0),
            (short.as_ref(), 1, 0),
            (short.transpose(), 1, 0),
            (long.as_ref(), 5, 1),
            (long.transpose(), 5, 0),
        ] {
            let (uploaded, made) = driver.names_of(|| device.upload_faer(matrix));
            assert_eq!(count(&made, "cuMemcpyHtoD"), copies, "{made:?}");
            assert_eq!(count(&made, "cuLaunchKernel"), kernels, "{made:?}");
            uploaded?;
        }
        for (height, copies, kernels) in [(32, 1, 1), (30, 1, 0), ((1 << 14) + 1, 5, 1)] {
            let matrix = device.zeros_matrix::<f32>(height, 5)?;
            let (result, made) = driver.names_of(|| matrix.to_faer());
            assert_eq!(result?.shape(), (height, 5));
            assert_eq!(count(&made, "cuMemcpyDtoH"), copies, "{made:?}");
            assert_eq!(count(&made, "cuLaunchKernel"), kernels, "{made:?}");
        }
        let array = Int32Array::from(vec![1, 2, 3, 4]).slice(1, 2);
        let (uploaded, made) = driver.names_of(|| device.upload_arrow(&array));
        assert_eq!(count(&made, "cuMemcpyHtoD"), 1, "{made:?}");
        let (array, made) = driver.names_of(|| uploaded?.to_arrow::<types::Int32Type>());
        assert_eq!(array?.len(), 2);
        assert_eq!(count(&made, "cuMemcpyDtoH"), 1, "{made:?}");
        Ok(())
    }
}
