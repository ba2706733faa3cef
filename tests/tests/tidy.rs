//! The invariants of the architecture hold: `cargo xtask tidy` passes on this very tree.

use std::path::Path;
use std::process::Command;

#[test]
fn the_tree_is_tidy() {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--bin", "xtask", "--", "tidy"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .expect("cargo starts");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "{}\n{stdout}{stderr}",
        output.status
    );
    assert!(stdout.starts_with("tidy: ok ("), "{stdout}{stderr}");
}
