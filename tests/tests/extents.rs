//! Views that are empty, overlap or are huge, lengths around 2^31 and 2^32, and sizes that overflow.
//!
//! The problems without elements are those of the registry. The other cases are not there: what is refused computes nothing, a
//! problem's inputs never overlap, and the registry would make 2^32 elements on the host and check all of them there, for
//! minutes. Here such an array is zero on the device, but for its last two elements.

use std::ops::Bound::{Excluded, Unbounded};

use rayon::prelude::*;
use warpwright::{
    Device, Error, Generator, LaunchConfig, Matrix, MatrixView,
    ops::map::{Scale, ScaleAdd, Wave},
};
use warpwright_tests::{
    cases,
    devices::{self, Executor},
};
use warpwright_workloads::{FAMILIES, Family};

/// Asserts that this is refused for its size, in one line.
#[track_caller]
fn too_large<T>(what: &str, result: warpwright::Result<T>) {
    let Err(error) = result else {
        panic!("{what} is possible")
    };
    let refused = matches!(
        error,
        Error::Invalid { .. } | Error::OutOfMemory { .. } | Error::NotEligible { .. }
    );
    assert!(refused, "{what}: {error:?}");
    assert!(!error.to_string().contains('\n'), "{what}: {error}");
}

#[test]
fn sizes_that_overflow_are_refused() {
    const SIZES: [usize; 6] = [
        usize::MAX,
        usize::MAX / 2 + 1,
        isize::MAX as usize,
        usize::MAX / 4 + 1,
        1 << 62,
        1 << 50,
    ];
    for device in devices::all() {
        for size in SIZES {
            too_large("zeros", device.zeros::<u8>(size));
            too_large("zeros", device.zeros::<[u64; 2]>(size));
            too_large("pinned", device.pinned::<u32>(size));
            too_large("nothing, often", device.zeros::<[u8; 0]>(size));
            too_large("a square", device.zeros_matrix::<u8>(size, size));
            too_large("a column", device.zeros_matrix::<u16>(size, 1));
            too_large("positions", device.map_positions(size, Wave));
            let mut random = device.generator(Generator::Philox, 1).unwrap();
            too_large("bits", random.bits(size));
            too_large("uniform", random.uniform::<f64>(size));
            too_large("poisson", random.poisson(size, 1.0));
            assert_eq!(random.position(), Some(0), "a refused call uses no words");
            let vector = device.zeros::<u16>(10).unwrap();
            too_large("bins", device.histogram(&vector, size));
            // Nothing, but in many rows or columns: it is the results that are too large.
            let tall = Matrix::from_vector(device.zeros::<f32>(0).unwrap(), size, 0).unwrap();
            let wide = Matrix::from_vector(device.zeros::<f32>(0).unwrap(), 0, size).unwrap();
            too_large("a product", device.matmul(&tall, &wide));
            too_large("row sums", device.row_sums(&tall));
            too_large("column sums", device.column_sums(&wide));
            let turned = device.transpose(&tall).unwrap();
            assert_eq!((turned.height(), turned.width()), (0, size));
            let product = device.gemm(&wide, &tall).variant("tiled").run().unwrap();
            assert!(product.to_vec().unwrap().is_empty());
            assert!(
                device
                    .convolve_rows(&tall, &[1.0])
                    .unwrap()
                    .to_vec()
                    .unwrap()
                    .is_empty()
            );
        }
        // The device is as good as before.
        assert_eq!(device.sum(&device.upload(&[1_u8, 2]).unwrap()).unwrap(), 3);
    }
}

/// The largest numbers that the types have, where a number is asked for: an error, or the right answer, and no panic.
#[test]
fn the_largest_numbers_are_refused_or_right() {
    const MOST: usize = usize::MAX;
    let most = [u32::MAX; 3];
    for (grid, block) in [(most, most), (most, [1; 3]), ([0; 3], most), ([1; 3], most)] {
        let config = LaunchConfig {
            grid,
            block,
            shared_bytes: u32::MAX,
        };
        let product = |dims: [u32; 3]| dims.into_iter().map(u128::from).product::<u128>();
        let saturated = |dims| u64::try_from(product(dims)).unwrap_or(u64::MAX);
        assert_eq!(config.blocks(), saturated(grid));
        assert_eq!(config.threads(), saturated(block));
    }
    let name = "transpose_best__b1";
    assert!(warpwright::kernel_ptx(name, (8, 0)).is_some());
    for capability in [(u32::MAX, 0), (u32::MAX, u32::MAX)] {
        let text = warpwright::kernel_ptx(name, capability);
        assert_eq!(text, warpwright::kernel_ptx(name, (8, 0)), "{capability:?}");
        assert_eq!(warpwright::kernel_ptx("none", capability), None);
    }
    for device in devices::all() {
        let vector = device.upload(&[1.0_f32, 2.0, 3.0]).unwrap();
        let words = device.upload(&[1_u32, 2, 3]).unwrap();
        too_large("from", vector.slice(MOST..));
        too_large("to", vector.slice(..MOST));
        too_large("to and with", vector.slice(..=MOST));
        too_large("behind", vector.slice((Excluded(MOST), Unbounded)));
        let shape = |blocks, threads| {
            device
                .map_request(&vector, Scale::add(1.0))
                .shape(blocks, threads)
                .run()
        };
        for (blocks, threads) in [(u32::MAX, u32::MAX), (u32::MAX, 1), (1, u32::MAX), (0, 0)] {
            too_large("a shape", shape(blocks, threads));
        }
        assert_eq!(shape(i32::MAX as u32 / (1 << 20), 1).unwrap().len(), 3);
        too_large("bins", device.histogram(&words, MOST));
        too_large(
            "bins",
            device.histogram_range(&vector, MOST, f32::MIN, f32::MAX),
        );
        too_large("a shape", device.upload_matrix(&[1_u8], MOST, MOST));
        too_large("a shape", device.upload_matrix(&[1_u8], MOST, 2));
        too_large(
            "a shape",
            MatrixView::from_vector(vector.view(), MOST, MOST),
        );
        // Without elements a matrix may have any number of rows, or of columns.
        let none = || device.zeros::<f32>(0).unwrap();
        let mut tall = Matrix::from_vector(none(), MOST, 0).unwrap();
        let mut wide = Matrix::from_vector(none(), 0, MOST).unwrap();
        too_large("rows", tall.rows(..=MOST));
        too_large("rows", wide.rows(MOST..));
        assert_eq!(tall.rows(MOST - 1..).unwrap().height(), 1);
        for (matrix, height, width) in [(&tall, 1, 0), (&wide, 0, 1)] {
            let (top, left) = (MOST * height, MOST * width);
            let part = matrix.rect(top - height..top, left - width..left).unwrap();
            assert_eq!((part.height(), part.width()), (height, width));
            assert!(part.to_vec().unwrap().is_empty());
            assert!(matrix.to_vec().unwrap().is_empty());
            too_large("a rectangle", matrix.rect(..=MOST, ..));
            too_large("a rectangle", matrix.rect(.., ..=MOST));
            too_large("a square", device.gemm(matrix, matrix).transpose_b().run());
            too_large("a square", device.gemm(matrix, matrix).transpose_a().run());
            assert!(
                device
                    .convolve_rows(matrix, &[1.0, 2.0])
                    .unwrap()
                    .to_vec()
                    .unwrap()
                    .is_empty()
            );
        }
        assert!(tall.rect_mut(MOST - 1.., ..).is_ok());
        assert!(wide.rect_mut(.., MOST - 1..).is_ok());
        too_large("means of nothing", device.column_means(&wide));
        too_large("means of nothing", device.row_means(&tall));
    }
}

/// Checks a family's problems without elements, among them empty parts of arrays, by every variant on every device.
fn without_elements(family: &Family) {
    let mut problems = (family.checks)(warpwright_workloads::Scale::Small);
    problems.retain(|problem| problem.bytes() == 0);
    // A product without elements has operands with some.
    assert!(
        !problems.is_empty() || family.name == "gemm",
        "{}",
        family.name
    );
    for device in devices::all() {
        for problem in &problems {
            for variant in cases::variants(family.name).iter().map(|it| it.name) {
                match problem.check(device, variant) {
                    Err(Error::NotEligible { .. }) if variant != "best" => {}
                    verdict => assert_eq!(verdict.unwrap(), Ok(()), "{variant} {}", problem.name()),
                }
            }
        }
    }
}

#[test]
fn problems_without_elements_have_their_answers() {
    FAMILIES.par_iter().for_each(without_elements);
}

#[test]
fn empty_views_have_empty_results() {
    for device in devices::all() {
        let vector = device.upload(&[1.0_f32; 7]).unwrap();
        for at in [0, 3, 7] {
            let none = vector.slice(at..at).unwrap();
            assert!(device.convolve(none, &[1.0, 2.0, 1.0]).unwrap().is_empty());
            assert!(none.to_vec().unwrap().is_empty());
        }
        let matrix = device.upload_matrix(&[1.0_f32; 12], 3, 4).unwrap();
        let none = matrix.rect(1..1, 2..4).unwrap();
        assert_eq!((none.height(), none.width()), (0, 2));
        assert!(none.to_vec().unwrap().is_empty());
        let narrow = matrix.rect(.., 2..2).unwrap();
        let product = device.matmul(narrow, none).unwrap();
        assert_eq!((product.height(), product.width()), (3, 2));
        assert_eq!(product.to_vec().unwrap(), [0.0; 6]);
        let zeros = device
            .matmul(narrow, matrix.rect(0..0, ..).unwrap())
            .unwrap();
        assert_eq!(zeros.to_vec().unwrap(), [0.0; 12]);
        let mut random = device.generator(Generator::Xorwow, 1).unwrap();
        assert!(random.normal(0, 0.0_f64, 1.0).unwrap().is_empty());
    }
}

#[test]
fn views_may_overlap_where_they_are_read() {
    for device in devices::all() {
        let vector = device
            .upload(&(0..100_u32).map(|i| i as f32).collect::<Vec<_>>())
            .unwrap();
        let (front, back) = (vector.slice(..60).unwrap(), vector.slice(40..).unwrap());
        assert_eq!(
            device.sum(front).unwrap() + device.sum(back).unwrap(),
            4950.0 + 990.0
        );
        let matrix = device
            .upload_matrix(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2)
            .unwrap();
        let (upper, lower) = (matrix.rows(..2).unwrap(), matrix.rows(1..).unwrap());
        let product = device.matmul(upper, lower).unwrap();
        assert_eq!(product.to_vec().unwrap(), [13.0, 16.0, 29.0, 36.0]);
        let pairs = device.map_pairs(
            front,
            vector.slice(20..80).unwrap(),
            ScaleAdd { factor: 1.0 },
        );
        assert_eq!(pairs.unwrap().to_vec().unwrap()[59], 59.0 + 79.0);
    }
}

/// Lengths on either side of where 31 and 32 bits end.
const EDGES: [usize; 6] = [
    (1 << 31) - 1,
    1 << 31,
    (1 << 31) + 1,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 1,
];

/// The last element is seen, by everything that reads an array, and the one before it.
fn the_last_element_counts(device: &Device, len: usize) {
    let mut bytes = device.zeros::<u8>(len).unwrap();
    bytes.slice_mut(len - 2..).unwrap().upload(&[2, 3]).unwrap();
    for variant in cases::variants("reduce") {
        // The others have a block per few hundred elements and are as right as these, later.
        if !["best", "cascaded", "coarsened", "add_on_load"].contains(&variant.name) {
            continue;
        }
        let request = || device.reduce(&bytes).variant(variant.name);
        assert_eq!(request().sum().unwrap(), 5, "{} {len}", variant.name);
        assert_eq!(
            request().argmax().unwrap(),
            Some(len as u64 - 1),
            "{} {len}",
            variant.name
        );
    }
    for variant in cases::variants("histogram") {
        if variant.name == "serial" {
            continue;
        }
        let histogram = device.histogram_request(&bytes, 256).variant(variant.name);
        let counts = histogram.run().unwrap().counts;
        assert_eq!((counts[2], counts[3]), (1, 1), "{} {len}", variant.name);
        assert_eq!(counts[0], len as u64 - 2, "{} {len}", variant.name);
    }
    for variant in cases::variants("convolution") {
        let shifted = device
            .convolve_request(&bytes, &[1.0, 0.0, 0.0])
            .variant(variant.name);
        let shifted = shifted.run().unwrap();
        let last = shifted.slice(len - 2..).unwrap().to_vec().unwrap();
        assert_eq!(last, [0, 2], "{} {len}", variant.name);
    }
    let column = Matrix::from_vector(bytes, len, 1).unwrap();
    assert_eq!(device.column_sums(&column).unwrap().to_vec().unwrap(), [5]);
    let row = Matrix::from_vector(column.into_vector(), 1, len).unwrap();
    assert_eq!(device.row_sums(&row).unwrap().to_vec().unwrap(), [5]);
    let bytes = row.into_vector();
    // As a matrix of about as many elements, both of whose sides are odd.
    let (height, width) = (65_537, len / 65_537);
    let matrix = Matrix::from_vector(bytes, len, 1).unwrap().into_vector();
    let part = matrix.slice(len - height * width..).unwrap();
    let matrix = warpwright::MatrixView::from_vector(part, height, width).unwrap();
    for variant in cases::variants("transpose") {
        let turned = device
            .transpose_request(matrix)
            .variant(variant.name)
            .run()
            .unwrap();
        let turned = turned.as_vector();
        let at = |row: usize, column: usize| {
            let place = column * height + row;
            turned.slice(place..=place).unwrap().to_vec().unwrap()[0]
        };
        assert_eq!(
            (at(height - 1, width - 2), at(height - 1, width - 1)),
            (2, 3)
        );
        assert_eq!(device.sum(turned).unwrap(), 5, "{} {len}", variant.name);
    }
    let sums = device.column_sums(matrix).unwrap();
    assert_eq!(sums.slice(width - 2..).unwrap().to_vec().unwrap(), [2, 3]);
    assert_eq!(
        device
            .row_sums(matrix)
            .unwrap()
            .slice(height - 1..)
            .unwrap()
            .to_vec()
            .unwrap(),
        [5]
    );
}

/// What writes an array writes its last element.
fn the_last_element_is_written(device: &Device, len: usize) {
    let mut random = device.generator(Generator::Philox, 9).unwrap();
    let words = random.bits(len).unwrap();
    let last = words.slice(len - 3..).unwrap().to_vec().unwrap();
    drop(words);
    let mut random = device
        .generator(Generator::Philox, 9)
        .unwrap()
        .offset(len as u64 - 3);
    assert_eq!(random.bits(3).unwrap().to_vec().unwrap(), last);
    for variant in cases::variants("map") {
        // `direct` has a thread per element.
        let values = device.zeros::<f32>(len).unwrap();
        let mapped = device
            .map_request(&values, Scale::add(1.5))
            .variant(variant.name)
            .run()
            .unwrap();
        drop(values);
        for place in [0, len / 2, len - 1] {
            let at = mapped.slice(place..=place).unwrap().to_vec().unwrap();
            assert_eq!(at, [1.5], "{} {len} {place}", variant.name);
        }
        assert_eq!(
            device.min(&mapped).unwrap(),
            Some(1.5),
            "{} {len}",
            variant.name
        );
    }
}

#[test]
fn lengths_around_two_to_the_31_and_32_on_a_cuda_device() {
    let cuda = Executor::Cuda.devices();
    if cuda.is_empty() {
        devices::leave_out(EDGES.len());
    }
    for device in cuda {
        for len in EDGES {
            if device.free_memory().unwrap() < 10 * len as u64 {
                println!("{} has not the memory for {len} elements", device.kind());
                continue;
            }
            the_last_element_counts(device, len);
            the_last_element_is_written(device, len);
        }
    }
}

#[test]
#[ignore = "an hour and 12 GB of memory on the CPU: run it with `-- --ignored`"]
fn lengths_around_two_to_the_31_and_32_on_the_cpu() {
    for len in [EDGES[2], EDGES[5]] {
        the_last_element_counts(&Device::cpu(), len);
    }
}
