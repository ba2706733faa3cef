//! A crate outside of the workspace that depends on `warpwright` by its path, with nothing set and no CUDA toolkit, builds on a
//! stable Rust and runs; also beside a `cudarc` that links the driver.

use warpwright::Device;
use warpwright_tests::outside::Package;

/// The tests' folder for temporary files.
const TEMPORARY: &str = env!("CARGO_TARGET_TMPDIR");

const MAIN: &str = r#"
use warpwright::{Device, ops::map::Sqrt};

fn main() -> warpwright::Result<()> {
    let device = Device::auto()?;
    let values: Vec<u32> = (0..10_000).collect();
    let vector = device.upload(&values)?;
    assert_eq!(device.sum(&vector)?, 49_995_000);
    assert_eq!(device.argmax(vector.slice(..5000)?)?, Some(4999));
    let squares = device.upload(&[4.0_f32, 9.0, 625.0])?;
    assert_eq!(device.map(&squares, Sqrt)?.to_vec()?, [2.0, 3.0, 25.0]);
    let image = device.upload_matrix(&[1_u8, 2, 3, 4, 5, 6], 2, 3)?;
    assert_eq!(device.transpose(&image)?.to_vec()?, [1, 4, 2, 5, 3, 6]);
    let histogram = device.histogram(image.as_vector(), 4)?;
    assert_eq!((histogram.counts, histogram.outside), (vec![0, 1, 1, 1], 3));
    // Without the feature `ladder` there is one variant of each family, and only its kernels.
    for family in warpwright::families() {
        let names: Vec<_> = family.variants.iter().map(|variant| variant.name).collect();
        assert_eq!(names, ["best"], "{}", family.name);
    }
    let error = device.reduce(&vector).variant("sequential").sum().unwrap_err().to_string();
    assert!(error.contains("the feature `ladder`"), "{error}");
    assert!(warpwright::kernel_ptx("reduce_best__sum_f32", (9, 0)).is_some());
    assert!(warpwright::kernel_ptx("reduce_sequential__sum_f32", (9, 0)).is_none());
    println!("right on {}", device.kind());
    Ok(())
}
"#;

// One test, since both builds want the same lock.
#[test]
fn a_crate_outside_builds_and_runs() {
    let package = Package::new(TEMPORARY, "outside", "", "", MAIN);
    // Where there is no driver; and what the machine has.
    let nowhere = "/nonexistent/libcuda.so.1";
    let printed = package.run(|cargo| cargo.env("WARPWRIGHT_LIBCUDA", nowhere));
    assert_eq!(printed, "right on cpu\n");
    let wanted = format!("right on {}\n", Device::auto().unwrap().kind());
    assert_eq!(package.run(|cargo| cargo), wanted);

    let options = ", default-features = false";
    let package = Package::new(TEMPORARY, "outside-cpu", options, "", MAIN);
    assert_eq!(package.run(|cargo| cargo), "right on cpu\n");
}

/// The linker finds the driver as `libcuda.so`, the dynamic linker once more; `warpwright` opens `libcuda.so.1`, the same file.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn a_driver_that_cudarc_links_is_shared() {
    let text = format!(
        "{}{}",
        include_str!("cudarc/share.rs"),
        r#"
unsafe extern "C" {
    /// Of the driver that is linked: so many devices with so much memory each.
    fn fault_devices(count: u32, memory: u64);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // SAFETY: the driver's own function, of this type.
    unsafe { fault_devices(1, 1 << 30) };
    share(false)
}
"#
    );
    let features = "features = [\"cuda-12080\", \"driver\", \"dynamic-linking\", \"std\"]";
    let dependency =
        format!("cudarc = {{ version = \"0.19.10\", default-features = false, {features} }}\n");
    let package = Package::new(TEMPORARY, "outside-cudarc", "", &dependency, &text);
    let folder = warpwright_tests::faults::stand_in().expect("a folder");
    let printed = package.run(|cargo| {
        cargo
            .env_remove("WARPWRIGHT_LIBCUDA")
            .env("LIBRARY_PATH", folder.path())
            .env("LD_LIBRARY_PATH", folder.path())
    });
    assert_eq!(printed, "warpwright and cudarc share the context\n");
}
