//! A user's own kernels in a graph, between operations of the library, and the constant table that one of them reads.

use cuda_std::prelude::*;
use warpwright::{
    Device, LaunchConfig, Module, Result, Vector, VectorView, VectorViewMut, ops::scan::Operator,
};
use warpwright_tests::devices;

cuda_std::constant! {
    /// What [`shifted`] adds.
    pub static GRAPH_SHIFT: [u32; 1];
}

/// `output[i] = input[i] * factor`, for every element of `output`.
///
/// # Safety
/// `input` is no shorter than `output`; the grid has a thread per element.
#[kernel(launch_bounds(128))]
pub unsafe fn scaled(input: Global<u32>, output: GlobalMut<u32>, factor: u32) {
    let i = thread::index_1d_wide();
    if i < output.len() {
        output.set(i, input.get(i).wrapping_mul(factor));
    }
}

/// `output[i] = input[i] + GRAPH_SHIFT[0]`, for every element of `output`.
///
/// # Safety
/// `input` is no shorter than `output`; the grid has a thread per element.
#[kernel(launch_bounds(128))]
pub unsafe fn shifted(input: Global<u32>, output: GlobalMut<u32>) {
    let i = thread::index_1d_wide();
    if i < output.len() {
        output.set(i, input.get(i).wrapping_add(GRAPH_SHIFT.get(0)));
    }
}

/// What a builder writes for these kernels.
pub const PTX: &str = "\
.version 6.3
.target sm_75
.address_size 64

.visible .const .align 16 .b8 GRAPH_SHIFT[4];

.visible .entry scaled(
	.param .u64 input,
	.param .u64 input_len,
	.param .u64 output,
	.param .u64 output_len,
	.param .u32 factor
)
.maxntid 128, 1, 1
{
	.reg .pred %p;
	.reg .b32 %r<6>;
	.reg .b64 %d<8>;
	mov.u32 %r0, %ctaid.x;
	mov.u32 %r1, %ntid.x;
	mov.u32 %r2, %tid.x;
	mad.lo.u32 %r3, %r0, %r1, %r2;
	cvt.u64.u32 %d0, %r3;
	ld.param.u64 %d1, [output_len];
	setp.ge.u64 %p, %d0, %d1;
	@%p ret;
	ld.param.u64 %d2, [input];
	ld.param.u64 %d3, [output];
	cvta.to.global.u64 %d2, %d2;
	cvta.to.global.u64 %d3, %d3;
	shl.b64 %d4, %d0, 2;
	add.u64 %d5, %d2, %d4;
	add.u64 %d6, %d3, %d4;
	ld.param.u32 %r4, [factor];
	ld.global.u32 %r5, [%d5];
	mul.lo.u32 %r5, %r5, %r4;
	st.global.u32 [%d6], %r5;
	ret;
}

.visible .entry shifted(
	.param .u64 input,
	.param .u64 input_len,
	.param .u64 output,
	.param .u64 output_len
)
.maxntid 128, 1, 1
{
	.reg .pred %p;
	.reg .b32 %r<6>;
	.reg .b64 %d<8>;
	mov.u32 %r0, %ctaid.x;
	mov.u32 %r1, %ntid.x;
	mov.u32 %r2, %tid.x;
	mad.lo.u32 %r3, %r0, %r1, %r2;
	cvt.u64.u32 %d0, %r3;
	ld.param.u64 %d1, [output_len];
	setp.ge.u64 %p, %d0, %d1;
	@%p ret;
	ld.param.u64 %d2, [input];
	ld.param.u64 %d3, [output];
	cvta.to.global.u64 %d2, %d2;
	cvta.to.global.u64 %d3, %d3;
	shl.b64 %d4, %d0, 2;
	add.u64 %d5, %d2, %d4;
	add.u64 %d6, %d3, %d4;
	ld.const.u32 %r4, [GRAPH_SHIFT];
	ld.global.u32 %r5, [%d5];
	add.u32 %r5, %r5, %r4;
	st.global.u32 [%d6], %r5;
	ret;
}
";

/// The number of elements, and a launch with a thread for each.
const LEN: usize = 5000;

fn config() -> LaunchConfig {
    LaunchConfig::linear(LEN.div_ceil(128) as u32, 128)
}

/// Views of an array that another request or launch writes.
///
/// # Safety
/// The array lives, and what uses the views is in order.
unsafe fn both<'a>(
    device: &'a Device,
    vector: &mut Vector<u32>,
) -> Result<(VectorView<'a, u32>, VectorViewMut<'a, u32>)> {
    let (address, len) = (vector.view_mut().device_pointer(), vector.len());
    // SAFETY: by the contract.
    unsafe {
        Ok((
            device.foreign_view(address, len)?,
            device.foreign_view_mut(address, len)?,
        ))
    }
}

#[test]
fn a_launch_between_operations_is_part_of_the_graph() -> Result<()> {
    let module = Module::from_ptx(PTX)?;
    for device in devices::all() {
        let values: Vec<u32> = (0..LEN as u32).map(|i| i * 7919 % 1013).collect();
        let mut input = device.upload(&values)?;
        let [mut first, mut second] = [device.zeros::<u32>(LEN)?, device.zeros::<u32>(LEN)?];
        // SAFETY: the arrays live until the end, and all that uses them is queued on one handle.
        let (read, _) = unsafe { both(device, &mut input)? };
        // SAFETY: as above.
        let (sums, _) = unsafe { both(device, &mut first)? };
        // SAFETY: as above.
        let (products, _) = unsafe { both(device, &mut second)? };
        let mut scan = device
            .scan_request(read, Operator::Sum)
            .output_to(&mut first)
            .prepare()?;
        let mut sort = device.sort_request(products).prepare()?;
        let mut work = |factor: u32| {
            scan.enqueue()?;
            let args = (sums, &mut second, factor);
            // SAFETY: the arrays have a thread per element.
            unsafe { device.launch::<Scaled>(&module, config(), args)? };
            sort.enqueue()
        };
        let mut graph = device.capture(|| work(3))?;
        let mut found = Vec::new();
        for factor in [3, 3, 0x9e37_79b9, 5] {
            if factor != 3 {
                graph.update(|| work(factor))?;
            }
            for added in 0..2 {
                let changed: Vec<u32> = values.iter().map(|value| value + added).collect();
                input.upload(&changed)?;
                // SAFETY: the arrays and the requests still exist.
                unsafe { graph.launch()? };
                found.push((factor, changed, products.to_vec()?));
            }
        }
        // The same, queued directly.
        for (factor, changed, by_graph) in found {
            input.upload(&changed)?;
            work(factor)?;
            assert_eq!(products.to_vec()?, by_graph, "{factor}");
            let mut sum = 0_u32;
            let expected = changed.iter().map(|value| {
                sum = sum.wrapping_add(*value);
                sum.wrapping_mul(factor)
            });
            let expected: Vec<u32> = expected.collect();
            assert_eq!(by_graph, expected, "{factor}");
        }
        // SAFETY: the arrays and the requests still exist.
        unsafe { graph.launch()? };
        let mut expected = products.to_vec()?;
        expected.sort_unstable();
        assert_eq!(sort.output()?.to_vec()?, expected);
    }
    Ok(())
}

#[test]
fn a_graph_reads_what_a_constant_table_holds_at_the_launch() -> Result<()> {
    let module = Module::from_ptx(PTX)?;
    for device in devices::all() {
        let input = device.upload(&vec![10_u32; LEN])?;
        let mut output = device.zeros::<u32>(LEN)?;
        device.set_constant(&module, GRAPH_SHIFT.with(&[1]))?;
        let mut work = || {
            let args = (&input, &mut output);
            // SAFETY: the arrays have a thread per element.
            unsafe { device.launch::<Shifted>(&module, config(), args) }
        };
        let mut graph = device.capture(&mut work)?;
        graph.update(&mut work)?;
        for shift in [1, 2, 3, 2] {
            device.set_constant(&module, GRAPH_SHIFT.with(&[shift]))?;
            // SAFETY: the arrays still exist.
            unsafe { graph.launch()? };
            // Work behind the launch is behind what the launch reads, too.
            device.set_constant(&module, GRAPH_SHIFT.with(&[99]))?;
            assert_eq!(output.to_vec()?, vec![10 + shift; LEN]);
        }
        let set = || device.set_constant(&module, GRAPH_SHIFT.with(&[1]));
        super::not_captured(device.capture(set), "`set_constant`");
    }
    Ok(())
}
