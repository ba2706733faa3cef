//! A crate outside of the workspace that depends on `warpwright` by its path builds and runs on a stable
//! Rust: without the CUDA side, and with it.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use system::folder::{private, temporary};
use warpwright::Device;
use warpwright_tests::outside;

const MAIN: &str = r#"
use warpwright::Device;

fn main() -> warpwright::Result<()> {
    let device = Device::auto()?;
    let values: Vec<u32> = (0..10_000).collect();
    let vector = device.upload(&values)?;
    assert_eq!(device.sum(&vector)?, 49_995_000);
    assert_eq!(device.argmax(vector.slice(..5000)?)?, Some(4999));
    let image = device.upload_matrix(&[1_u8, 2, 3, 4, 5, 6], 2, 3)?;
    assert_eq!(device.transpose(&image)?.to_vec()?, [1, 4, 2, 5, 3, 6]);
    let histogram = device.histogram(image.as_vector(), 4)?;
    assert_eq!((histogram.counts, histogram.outside), (vec![0, 1, 1, 1], 3));
    println!("right on {}", device.kind());
    Ok(())
}
"#;

/// A crate that is removed with the value.
struct Package {
    folder: PathBuf,
}

impl Package {
    fn new(name: &str) -> Self {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        let workspace = tests.parent().unwrap();
        // The same folder in every run of this workspace, so that what was built is not built again.
        let mut hasher = DefaultHasher::new();
        workspace.hash(&mut hasher);
        let folder = temporary(&format!("{name}-{:016x}", hasher.finish()));
        assert!(
            !folder.starts_with(workspace),
            "{} is in the workspace",
            folder.display()
        );
        let _ = fs::remove_dir_all(&folder);
        // Nobody else can put anything there: it is built and run.
        let folder = private(&folder).unwrap();
        fs::create_dir(folder.join("src")).unwrap();
        let library = workspace.join("host");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\nwarpwright = {{ path = {library:?}, default-features = false }}\n\
             # With the features that it has in the examples, so that what uses it is not built again.\n\
             libm = \"0.2\"\n\n\
             [features]\ncuda = [\"warpwright/cuda\"]\n\n\
             [profile.dev]\nopt-level = 1\n\n[workspace]\n"
        );
        fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        fs::write(folder.join("src/main.rs"), MAIN).unwrap();
        // The versions that the workspace has, so that nothing has to be looked up.
        fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        Self { folder }
    }

    /// Builds it and gives what it prints.
    fn run(&self, arguments: &[&str], toolkit: Option<&Path>) -> String {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
        let mut command = outside::cargo(cargo);
        command
            .args(["run", "--quiet", "--offline"])
            .args(arguments)
            .current_dir(&self.folder)
            .env(
                "CARGO_TARGET_DIR",
                // The examples' too, whose profile and versions are the same: see `examples.rs`.
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside"),
            )
            .env_remove("CUDA_LIBRARY_PATH")
            .env_remove("RUSTC_BOOTSTRAP");
        if let Some(toolkit) = toolkit {
            command.env("CUDA_LIBRARY_PATH", toolkit);
        }
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{} {arguments:?}:\n{errors}",
            output.status
        );
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        // What is left in the folder for temporary files does no harm.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

// One test, since both builds want the same lock.
#[test]
fn a_crate_outside_builds_and_runs() {
    let package = Package::new("outside");
    assert_eq!(package.run(&[], None), "right on cpu\n");
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        // As the example's `.cargo/config.toml` has it: another folder builds what asks for it again.
        let toolkit = Path::new("/usr");
        let wanted = format!("right on {}\n", Device::auto().unwrap().kind());
        assert_eq!(package.run(&["--features", "cuda"], Some(toolkit)), wanted);
    }
}
