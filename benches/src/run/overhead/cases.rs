//! One operation of each family on one element: by the library, and by the driver calls that it needs.

use warpwright::cuda_std::random::Philox4x32;
use warpwright::cuda_std::select as tiles;
use warpwright::ops::{histogram::HistogramRequest, map::Sqrt, reduce::Operator};
use warpwright::{Device, Generator, kernel_ptx};
use warpwright_gpu::tuning::shipped;
use warpwright_gpu::{
    columns, convolution, gemm, histogram, map, random, reduce, rows, scan, segments, select, sort,
    top_k,
};

use super::super::driver::{Driver, Handle, Module};
use super::super::{Result, pointer};
use super::bare::{Arguments, Bare, Needs, Work};

/// An operation on one element.
pub struct Case<'a> {
    /// The family.
    pub family: &'static str,
    /// The operation.
    pub work: &'static str,
    /// Runs it again by a prepared request, and waits.
    pub again: Box<dyn FnMut() -> Result<()> + 'a>,
    /// Runs it from the request to the result on the host, and returns the result.
    pub once: Box<dyn FnMut() -> Result<f64> + 'a>,
    /// The same by the driver's functions alone.
    pub bare: Bare<'a>,
    /// Returns the number that the result's bytes represent.
    pub read: fn(&[u8]) -> f64,
    /// The expected result.
    pub expected: f64,
    /// Whether our result differs each time. The expected one is then the second.
    pub goes_on: bool,
}

impl<'a> Case<'a> {
    /// Makes a family's case whose result is one `f32`, the same each time.
    fn of(
        device: &'a Device,
        [family, work]: [&'static str; 2],
        mut again: impl FnMut() -> warpwright::Result<()> + 'a,
        once: impl FnMut() -> Result<f64> + 'a,
        bare: Bare<'a>,
        expected: f32,
    ) -> Self {
        Self {
            family,
            work,
            again: Box::new(move || Ok(again().and_then(|()| device.synchronize())?)),
            once: Box::new(once),
            bare,
            read: |bytes| f64::from(read::<f32>(bytes)),
            expected: expected.into(),
            goes_on: false,
        }
    }
}

/// The element, and the other numbers of the problems.
const VALUE: f32 = 9.0;
const BINS: usize = 1;
const SEED: u64 = 7;
/// The number of a bin.
const BIN: u32 = 0;

/// Prepares each family's case, and passes it to `each`.
///
/// # Errors
/// Returns the errors of the library, the driver, and `each`.
pub fn cases(
    device: &Device,
    driver: &Driver,
    mut each: impl FnMut(Case<'_>) -> Result<()>,
) -> Result<()> {
    let kernels = Kernels { device, driver };
    let value = device.upload(&[VALUE])?;
    let matrix = device.upload_matrix(&[VALUE], 1, 1)?;
    let input = value.view().device_pointer();
    let element = matrix.as_vector().view().device_pointer();

    let mut sum = device.reduce(&value).prepare(Operator::Sum)?;
    let best = shipped::<reduce::policy::Policy, f32>();
    let bytes = size_of::<f32>();
    each(Case::of(
        device,
        ["reduce", "sum f32"],
        || sum.enqueue(),
        || Ok(f64::from(device.sum(&value)?)),
        // A partial result, the result and the ticket, 16 bytes apart.
        kernels.bare(Needs {
            room: 48,
            clear: Some(32..48),
            clear_again: false,
            work: Work::launch(
                kernels.get("reduce_best__sum_f32")?,
                [best.threads_for(bytes) as u32, 1],
                Arguments::default()
                    .view(input, 1)
                    .word((best.least_bytes(bytes) / bytes) as u64)
                    .room(0, 1)
                    .room(32, 1)
                    .room(16, 1),
            ),
            result: 16..20,
        })?,
        VALUE,
    ))?;

    let mut sums = device.reduce_columns(&matrix).prepare_sum()?;
    each(Case::of(
        device,
        ["columns", "sums of columns f32"],
        || sums.enqueue(),
        || first(device.column_sums(&matrix)?.to_vec()?),
        // The last pass alone handles a matrix this small: there are no other totals to fold.
        kernels.bare(Needs::element(Work::Launch {
            kernel: kernels.get("columns_fold__sum_f32")?,
            block: [columns::policy::FOLD_COLUMNS, columns::policy::FOLD_ROWS]
                .map(|threads| threads as u32),
            shared_bytes: (columns::policy::FOLD_COLUMNS
                * columns::policy::FOLD_ROWS
                * size_of::<f64>()) as u32,
            arguments: Arguments::default()
                .view(element, 1)
                .word(0)
                .word(0)
                .room(0, 0)
                .room(0, 1)
                .word(1)
                .word(1),
        }))?,
        VALUE,
    ))?;

    let best = shipped::<rows::policy::Policy, f32>();
    let mut sums = device.reduce_rows(&matrix).prepare_sum()?;
    each(Case::of(
        device,
        ["rows", "sums of rows f32"],
        || sums.enqueue(),
        || first(device.row_sums(&matrix)?.to_vec()?),
        kernels.bare(Needs::element(Work::launch(
            kernels.get("rows_best__sum_f32")?,
            [best.block as u32, 1],
            Arguments::default()
                .view(element, 1)
                .room(0, 1)
                .word(1)
                .word(best.lanes_log2(size_of::<f32>()).into()),
        )))?,
        VALUE,
    ))?;

    let mut transpose = device.transpose_request(&matrix).prepare()?;
    each(Case::of(
        device,
        ["transpose", "transpose f32"],
        || transpose.enqueue(),
        || first(device.transpose(&matrix)?.to_vec()?),
        // The transpose of a single row is a copy.
        kernels.bare(Needs::element(Work::Copy {
            from: element,
            bytes: 4,
        }))?,
        VALUE,
    ))?;

    let numbers = device.upload(&[BIN])?;
    let request = || -> HistogramRequest<'_, _> { device.histogram_request(&numbers, BINS) };
    let mut counts = request().prepare()?;
    let best = shipped::<histogram::policy::Policy, u32>();
    let copies = best.copies_for(BINS);
    each(Case {
        read: |bytes| read::<u64>(bytes) as f64,
        ..Case::of(
            device,
            ["histogram", "1 bin u32"],
            || counts.enqueue(),
            || Ok(request().run()?.total() as f64),
            kernels.bare(Needs {
                room: 8,
                clear: Some(0..8),
                clear_again: true,
                work: Work::Launch {
                    kernel: kernels.get("histogram_best__u32")?,
                    block: [best.block_for(BINS) as u32, 1],
                    shared_bytes: histogram::policy::best_shared_bytes(BINS, copies) as u32,
                    arguments: Arguments::default()
                        .view(numbers.view().device_pointer(), 1)
                        .room(0, BINS as u64)
                        .word(0)
                        .word(copies.ilog2().into())
                        .word(BINS as u64),
                },
                result: 0..8,
            })?,
            1.0,
        )
    })?;

    let mut product = device.gemm(&matrix, &matrix).prepare()?;
    each(Case::of(
        device,
        ["gemm", "product f32"],
        || product.enqueue(),
        || first(device.matmul(&matrix, &matrix)?.to_vec()?),
        // The arguments are three sizes and five strides, alpha, and beta.
        kernels.bare(Needs::element(Work::launch(
            kernels.get("gemm_best_small__f32_nn")?,
            gemm::policy::best_cut(gemm::policy::SMALL).block,
            Arguments::default()
                .view(element, 1)
                .view(element, 1)
                .room(0, 1)
                .words(&[1; 8])
                .word(1.0_f32.to_bits().into())
                .word(0),
        )))?,
        VALUE * VALUE,
    ))?;

    let chunk = 4;
    let threads = convolution::policy::BEST_BLOCK;
    let mut convolve = device.convolve_request(&value, &[1.0]).prepare()?;
    let kernel = kernels.with_table(
        "convolution_best__f32",
        "CONVOLUTION_MASK_F32",
        &[1.0, 0.0, 0.0, 0.0],
    )?;
    each(Case::of(
        device,
        ["convolution", "mask of 1 f32"],
        || convolve.enqueue(),
        || first(device.convolve(&value, &[1.0])?.to_vec()?),
        // The mask is in its table, as the library's stays there from one call to the next.
        kernels.bare(Needs::element(Work::Launch {
            kernel,
            block: [threads as u32, 1],
            shared_bytes: convolution::policy::best_shared_bytes(1, chunk, false) as u32,
            arguments: Arguments::default()
                .view(input, 1)
                .room(0, 1)
                .word(1)
                .word(1)
                .word(0)
                .word(1)
                .word(0),
        }))?,
        VALUE,
    ))?;

    let best = shipped::<map::policy::Policy, f32>();
    let mut roots = device.map_request(&value, Sqrt).prepare()?;
    each(Case::of(
        device,
        ["map", "sqrt f32"],
        || roots.enqueue(),
        || first(device.map(&value, Sqrt)?.to_vec()?),
        // The arguments are the function, which has no bytes; an input; an empty input; the output.
        kernels.bare(Needs::element(Work::launch(
            kernels.get("map_best__sqrt")?,
            [best.block as u32, 1],
            Arguments::default()
                .word(0)
                .view(input, 1)
                .view(0, 0)
                .room(0, 1),
        )))?,
        VALUE.sqrt(),
    ))?;

    let best = shipped::<scan::policy::Policy, f32>();
    let mut sums = device
        .scan_request(&value, warpwright::ops::scan::Operator::Sum)
        .prepare()?;
    each(Case::of(
        device,
        ["scan", "cumulative sum f32"],
        || sums.enqueue(),
        || first(device.cumulative_sum(&value)?.to_vec()?),
        // The arguments are the input, the output, three empty views of what tiles share, and what precedes the first element.
        kernels.bare(Needs::element(Work::launch(
            kernels.get("scan_best__sum_f32")?,
            [best.threads as u32, 1],
            Arguments::default()
                .view(input, 1)
                .room(0, 1)
                .view(0, 0)
                .view(0, 0)
                .view(0, 0)
                .words(&[0, 0, 0]),
        )))?,
        VALUE,
    ))?;

    let mut kept = [device.zeros::<f32>(1)?, device.zeros::<f32>(1)?];
    let to = kept[1].view().device_pointer();
    let [prepared, once] = &mut kept;
    let best = shipped::<select::policy::Policy, f32>();
    let mut unique = (device.unique_request(&value).output_to(prepared)).prepare()?;
    each(Case {
        read: |bytes| read::<u64>(bytes) as f64,
        ..Case::of(
            device,
            ["select", "unique f32"],
            || unique.enqueue(),
            || {
                let request = device.unique_request(&value).output_to(&mut *once);
                let mut prepared = request.prepare()?;
                prepared.enqueue()?;
                Ok(prepared.count()? as f64)
            },
            // The count, and the words that tiles share, 16 bytes behind it.
            kernels.bare(Needs {
                room: 32,
                clear: Some(16..32),
                clear_again: false,
                work: Work::Launch {
                    kernel: kernels.get("select_best__changed_f32")?,
                    block: [best.block as u32, 1],
                    shared_bytes: tiles::shared_bytes(best.block, best.rounds) as u32,
                    arguments: Arguments::default()
                        .word(0)
                        .view(input, 1)
                        .view(0, 0)
                        .word(tiles::SELECT.into())
                        .room(16, tiles::control_len(1) as u64)
                        .view(to, 1)
                        .room(0, 1),
                },
                result: 0..8,
            })?,
            1.0,
        )
    })?;

    let keys = device.upload(&[VALUE as u32])?;
    let mut sorted = device.sort_request(&keys).prepare()?;
    each(Case {
        read: |bytes| read::<u32>(bytes).into(),
        ..Case::of(
            device,
            ["sort", "u32"],
            || sorted.enqueue(),
            || {
                let sorted = device.sort(&keys)?.to_vec()?;
                Ok(f64::from(*sorted.first().ok_or("one key required")?))
            },
            // The arguments are the keys; no values; 32 bits from bit 0; keys that are compared as they are; no positions.
            kernels.bare(Needs::element(Work::Launch {
                kernel: kernels.get("sort_best_small__b4")?,
                block: [sort::policy::small_threads(1) as u32, 1],
                shared_bytes: sort::policy::small_shared_bytes(1, size_of::<u32>()) as u32,
                arguments: Arguments::default()
                    .view(keys.view().device_pointer(), 1)
                    .room(0, 1)
                    .view(0, 0)
                    .view(0, 0)
                    .word(32 << 32)
                    .words(&[0, 0])
                    .words(&[0, 0]),
            }))?,
            VALUE,
        )
    })?;

    let mut kept = [device.zeros::<f32>(1)?, device.zeros::<f32>(1)?];
    let to = kept[1].view().device_pointer();
    let [prepared, once] = &mut kept;
    let mut greatest = (device.top_k_request(&value, 1).output_to(prepared)).prepare()?;
    let most =
        top_k::policy::most_entries(1, size_of::<f32>(), device.info().shared_bytes_per_block);
    each(Case {
        read: |bytes| read::<u64>(bytes) as f64,
        ..Case::of(
            device,
            ["top_k", "f32"],
            || greatest.enqueue(),
            || {
                let request = device.top_k_request(&value, 1).output_to(&mut *once);
                let (_, positions) = request.run()?;
                let positions = positions.to_vec()?;
                Ok(*positions.first().ok_or("one position required")? as f64)
            },
            // The room is the position's. The order is that of `f32`; a row has one element, and is one element apart.
            kernels.bare(Needs {
                room: 8,
                clear: None,
                clear_again: false,
                work: Work::Launch {
                    kernel: kernels.get("top_k_rows__b4")?,
                    block: [top_k::policy::BLOCK as u32, 1],
                    shared_bytes: top_k::policy::shared_bytes(most, size_of::<f32>()) as u32,
                    arguments: Arguments::default()
                        .view(input, 1)
                        .words(&[0x8000_0000_7fff_ffff, 0x7f80_0000])
                        .word(1)
                        .word(1)
                        .word(1)
                        .word(most as u64)
                        .view(to, 1)
                        .room(0, 1),
                },
                result: 0..8,
            })?,
            0.0,
        )
    })?;

    let offsets = device.segments(device.upload(&[0_u32, 1])?)?;
    let zero = || device.zeros::<f32>(1);
    let (mut kept, mut once, mut result) = (zero()?, zero()?, zero()?);
    let to = pointer(&mut result);
    let request = || device.reduce_segments(&value, &offsets);
    let mut sums = request().output_to(&mut kept).prepare_sum()?;
    each(Case::of(
        device,
        ["segments", "sum of 1 segment of f32"],
        || sums.enqueue(),
        || {
            let mut prepared = request().output_to(&mut once).prepare_sum()?;
            prepared.enqueue()?;
            first(prepared.output()?.to_vec()?)
        },
        // What is known of the only tile, and its ticket, 16 bytes apart. There are no starts of tiles, and the offsets say
        // how many segments there are.
        kernels
            .bare(Needs {
                room: 64,
                clear: Some(48..64),
                clear_again: false,
                work: Work::Launch {
                    kernel: kernels.get("segments_best__sum_f32")?,
                    block: [segments::policy::BLOCK as u32, 1],
                    shared_bytes: segments::policy::shared_bytes(size_of::<f32>()) as u32,
                    arguments: Arguments::default()
                        .view(input, 1)
                        .view(offsets.device_pointer(), 2)
                        .word(1)
                        .view(0, 0)
                        .view(0, 0)
                        .room(0, 1)
                        .room(16, 1)
                        .room(32, 1)
                        .room(48, 1)
                        .view(to, 1),
                },
                result: 0..4,
            })?
            .with_result_at(to),
        VALUE,
    ))?;

    let mut output = device.zeros::<f32>(1)?;
    let generator = || device.generator(Generator::Philox, SEED);
    let (mut fill, mut make) = (generator()?, generator()?);
    let second = generator()?.offset(1).uniform::<f32>(1)?.to_vec()?;
    let best = shipped::<random::policy::Policy, f32>();
    let keys = Philox4x32::run_keys(Philox4x32::key(SEED), [0; 3])
        .map(|[low, high]| u64::from(low) | u64::from(high) << 32);
    let case = Case::of(
        device,
        ["random", "uniform f32, Philox"],
        || fill.fill_uniform(output.view_mut()),
        || first(make.uniform::<f32>(1)?.to_vec()?),
        // The arguments are the distribution, which has no bytes; the run's keys; and the first word, that of the second call.
        kernels.bare(Needs::element(Work::launch(
            kernels.get("random_best_philox__uniform_f32")?,
            [best.block as u32, 1],
            Arguments::default().room(0, 1).word(0).words(&keys).word(1),
        )))?,
        *second.first().ok_or("one value required, given none")?,
    );
    each(Case {
        goes_on: true,
        ..case
    })
}

/// The library's kernels in separate modules, loaded by the driver's functions.
struct Kernels<'a> {
    device: &'a Device,
    driver: &'a Driver,
}

impl<'a> Kernels<'a> {
    fn bare(&self, needs: Needs) -> Result<Bare<'a>> {
        Bare::new(self.driver, self.device, needs)
    }

    fn get(&self, name: &str) -> Result<Handle> {
        self.driver.kernel(&self.module(name)?, name)
    }

    /// Returns a kernel whose module's table starts with these values.
    fn with_table(&self, name: &str, table: &str, values: &[f32]) -> Result<Handle> {
        let module = self.module(name)?;
        let stream = self.device.cuda_stream().ok_or("a CUDA device required")?;
        let (address, bytes) = self.driver.table(&module, table)?;
        let size = size_of_val(values);
        if size > bytes {
            return Err(format!("room for {size} bytes required, given {bytes}").into());
        }
        // SAFETY: the table has room for the values, and the driver reads pageable memory before the copy returns.
        unsafe { (self.driver).copy_in(address, values.as_ptr().cast(), size, stream)? };
        self.driver.kernel(&module, name)
    }

    fn module(&self, name: &str) -> Result<Module> {
        let capability = self.device.info().compute_capability.unwrap_or_default();
        let ptx = kernel_ptx(name, capability)
            .ok_or_else(|| format!("a kernel `{name}` required in the library, found none"))?;
        self.driver.module(&ptx)
    }
}

fn first(values: Vec<f32>) -> Result<f64> {
    let first = values.first().ok_or("one value required, given none")?;
    Ok(f64::from(*first))
}

fn read<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> T {
    bytemuck::pod_read_unaligned(bytes)
}
