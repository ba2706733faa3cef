//! Runs the kernels on the GPU if there is one, else on the CPU, and checks the results.

use kernels::{AddBlockSums, BLOCK, Logistic, Saxpy, ScanBlocks};
use warpwright::cuda_std::map::MapFn;
use warpwright::{Device, LaunchConfig, Module, Result, Vector};

/// The kernels as `build.rs` built them.
const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

fn main() -> Result<()> {
    let device = Device::auto()?;
    println!("device: {} ({})", device.kind(), device.info().name);
    let module = Module::from_ptx(PTX)?;
    println!(
        "kernels: {}",
        module.kernels().collect::<Vec<_>>().join(", ")
    );

    let n = 100_003;
    let x: Vec<f32> = (0..n).map(|i| (i % 1000) as f32 / 7.0).collect();
    let y: Vec<f32> = (0..n).map(|i| (i % 13) as f32).collect();
    let result = saxpy(&device, &module, 2.5, &x, &y)?;
    let plain: Vec<f32> = x
        .iter()
        .zip(&y)
        .map(|(x, y)| 2.5_f32.mul_add(*x, *y))
        .collect();
    // Both round once per element, so they agree to the bit.
    assert_eq!(result, plain, "saxpy differs from plain Rust");
    println!(
        "saxpy: {n} elements as in plain Rust, the last is {}",
        result[n - 1]
    );

    let values: Vec<u32> = (0..n as u32)
        .map(|i| i.wrapping_mul(2_654_435_761) >> 20)
        .collect();
    let scanned = inclusive_scan(&device, &module, &device.upload(&values)?)?.to_vec()?;
    assert_eq!(
        scanned,
        plain_scan(&values),
        "the scan differs from plain Rust"
    );
    println!(
        "inclusive scan: {n} elements as in plain Rust, the last is {}",
        scanned[n - 1]
    );

    let curve = Logistic { steepness: 0.05 };
    // SAFETY: `build.rs` builds the module from the crate that contains the curve.
    let function = unsafe { module.map_function(curve) };
    let mapped = device.map(&device.upload(&x)?, function)?.to_vec()?;
    // The function is the same code on every device.
    let plain: Vec<f32> = x.iter().map(|x| curve.call(0, *x)).collect();
    assert_eq!(mapped, plain, "the map differs from plain Rust");
    println!(
        "logistic curve: {n} elements as in plain Rust, the last is {}",
        mapped[n - 1]
    );
    Ok(())
}

/// Returns a launch with one thread per element.
fn one_thread_per_element(len: usize) -> LaunchConfig {
    LaunchConfig::linear(len.div_ceil(BLOCK) as u32, BLOCK as u32)
}

/// Computes `a * x + y`.
fn saxpy(device: &Device, module: &Module, a: f32, x: &[f32], y: &[f32]) -> Result<Vec<f32>> {
    assert_eq!(x.len(), y.len(), "saxpy: as many x as y required");
    if y.is_empty() {
        return Ok(Vec::new());
    }
    let x = device.upload(x)?;
    let mut y = device.upload(y)?;
    let config = one_thread_per_element(y.len());
    // SAFETY: both arrays have the same length.
    unsafe { device.launch::<Saxpy<f32>>(module, config, (a, &x, &mut y))? };
    y.to_vec()
}

/// Computes the inclusive scan: each element of the result is the sum of the elements up to and including its own.
fn inclusive_scan(device: &Device, module: &Module, input: &Vector<u32>) -> Result<Vector<u32>> {
    let mut output = device.zeros(input.len())?;
    if input.is_empty() {
        return Ok(output);
    }
    let config = one_thread_per_element(input.len());
    let blocks = config.grid[0] as usize;
    let mut totals = device.zeros(blocks)?;
    // SAFETY: `output` is as long as `input`, and `totals` has an element per block.
    unsafe { device.launch::<ScanBlocks>(module, config, (input, &mut output, &mut totals))? };
    if blocks > 1 {
        let sums = inclusive_scan(device, module, &totals)?;
        // SAFETY: `sums` is the scan of the totals, one per block.
        unsafe { device.launch::<AddBlockSums>(module, config, (&sums, &mut output))? };
    }
    Ok(output)
}

fn plain_scan(values: &[u32]) -> Vec<u32> {
    let mut sum = 0_u32;
    let add = |value: &u32| {
        sum = sum.wrapping_add(*value);
        sum
    };
    values.iter().map(add).collect()
}

#[cfg(test)]
mod tests {
    use warpwright::{CpuOptions, cuda_std::cpu::Order};

    use super::*;

    fn module() -> Module {
        Module::from_ptx(PTX).unwrap()
    }

    #[test]
    fn saxpy_is_exact_for_both_types() {
        let device = Device::cpu();
        for n in [0, 1, 255, 256, 257, 1000] {
            let x: Vec<f32> = (0..n).map(|i| i as f32 / 3.0).collect();
            let y: Vec<f32> = (0..n).map(|i| -(i as f32)).collect();
            let plain: Vec<f32> = x
                .iter()
                .zip(&y)
                .map(|(x, y)| 0.1_f32.mul_add(*x, *y))
                .collect();
            assert_eq!(saxpy(&device, &module(), 0.1, &x, &y).unwrap(), plain);
        }
        let x = device.upload(&[1.0, 2.0]).unwrap();
        let mut y = device.upload(&[10.0, 20.0]).unwrap();
        let config = one_thread_per_element(2);
        // SAFETY: both arrays have two elements.
        unsafe {
            device
                .launch::<Saxpy<f64>>(&module(), config, (0.5, &x, &mut y))
                .unwrap()
        };
        assert_eq!(y.to_vec().unwrap(), [10.5, 21.0]);
    }

    /// Runs lanes in different orders: a race would change the result.
    #[test]
    fn the_scan_does_not_depend_on_the_order_of_lanes() {
        for order in [
            Order::Forward,
            Order::Backward,
            Order::Seeded(1),
            Order::Seeded(2),
        ] {
            let device = Device::cpu_with(CpuOptions::default().order(order));
            for n in [0, 1, 31, 256, 257, 70_000] {
                let values: Vec<u32> = (0..n).map(|i: u32| i.wrapping_mul(i) ^ 0x9e37).collect();
                let input = device.upload(&values).unwrap();
                let scanned = inclusive_scan(&device, &module(), &input).unwrap();
                assert_eq!(
                    scanned.to_vec().unwrap(),
                    plain_scan(&values),
                    "{n} {order:?}"
                );
            }
        }
    }

    #[test]
    fn the_curve_rises_through_a_half() {
        let device = Device::cpu();
        let x = device.upload(&[-1e9_f32, -1.0, 0.0, 1.0, 1e9]).unwrap();
        // SAFETY: `build.rs` builds the module from the crate that contains the curve.
        let curve = unsafe { module().map_function(Logistic { steepness: 2.0 }) };
        let y = device.map(&x, curve).unwrap().to_vec().unwrap();
        assert_eq!((y[0], y[2], y[4]), (0.0, 0.5, 1.0));
        assert!((y[1] - 0.119_202_92).abs() < 1e-7 && (y[3] - 0.880_797_1).abs() < 1e-7);
    }

    /// An out-of-bounds write, which would silently overwrite memory on a GPU, is an error with its source line on the CPU
    /// executor.
    #[test]
    fn a_write_out_of_bounds_is_found() {
        let device = Device::cpu();
        let input = device.upload(&[1_u32; 512]).unwrap();
        let (mut output, mut totals) = (device.zeros(512).unwrap(), device.zeros(1).unwrap());
        let config = one_thread_per_element(512);
        // SAFETY: `totals` is one element short, which is the planted error; the CPU executor stops before the access.
        let result = unsafe {
            device.launch::<ScanBlocks>(&module(), config, (&input, &mut output, &mut totals))
        };
        let message = result.unwrap_err().to_string();
        assert!(
            message.contains("scan_blocks") && message.contains("lib.rs"),
            "{message}"
        );
    }
}
