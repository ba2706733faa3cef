//! The planted defects compile for nvptx64 too, so that compute-sanitizer can look at them. A machine
//! without the device tools gets them: nothing here is skipped.

use defects::DEFECTS;
use defects::harness::build;

#[test]
fn every_defect_compiles_for_the_gpu() {
    let path = build().unwrap_or_else(|error| panic!("{error}"));
    let text = std::fs::read_to_string(&path).unwrap();
    for defect in DEFECTS {
        for kernel in defect.kernels {
            let entry = format!(".visible .entry {}(", kernel.name);
            assert!(text.contains(&entry), "no `{entry}` in {}", path.display());
        }
    }
    // What the change is about is still there: the kernel with the barrier has one more.
    let body = |entry: &str| {
        let (_, rest) = text.split_once(&format!(".entry {entry}(")).unwrap();
        rest.split(".visible .entry ").next().unwrap().to_owned()
    };
    for (instance, barriers) in [("NOTHING", 1), ("NO_BARRIER", 0)] {
        let body = body(&format!("transpose_tiled__{instance}"));
        let found = ["bar.sync", "barrier.sync"].map(|text| body.matches(text).count());
        assert_eq!(found.iter().sum::<usize>(), barriers, "{instance}: {body}");
    }
}
