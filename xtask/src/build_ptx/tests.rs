use super::*;
use crate::manifest::Code;

const SOURCES: &str = "hash of the sources";
const PTX: &str = ".visible .entry sum_a__f32()\n";

fn selection(complete: bool) -> Selection {
    Selection {
        modules: [NvvmArch::Compute75, NvvmArch::Compute80]
            .map(|arch| (arch, vec!["sum".to_owned()]))
            .to_vec(),
        complete,
    }
}

fn record(arch: &str, family: &str) -> Record {
    Record {
        sha256: sources::text_hash(PTX.as_bytes()),
        sources: SOURCES.to_owned(),
        entries: vec!["sum_a__f32".to_owned()],
        ..crate::manifest::tests::record(arch, family)
    }
}

/// Makes a folder with both modules in their correct state.
fn committed() -> (tempfile::TempDir, Manifest) {
    let folder = tempfile::tempdir().unwrap();
    let manifest = Manifest::new(vec![record("sm_75", "sum"), record("sm_80", "sum")]);
    for record in &manifest.modules {
        project::write(&folder.path().join(record.file()), PTX.as_bytes()).unwrap();
    }
    (folder, manifest)
}

fn problems(folder: &Path, manifest: &Manifest, sources: &str) -> Vec<String> {
    committed_problems(&selection(true), manifest, folder, sources).unwrap()
}

#[test]
fn of_an_architecture_what_is_shipped_for_it_is_selected() {
    let names = |arch, family: &str| -> Vec<String> {
        let selection = Selection::new(&[arch], &[family.to_owned()]).unwrap();
        selection.pairs().map(|(_, name)| name.to_owned()).collect()
    };
    assert_eq!(names(NvvmArch::Compute75, "gemm"), ["gemm", "gemm_ladder"]);
    assert_eq!(names(NvvmArch::Compute80, "gemm"), ["gemm", "gemm_ladder"]);
    assert_eq!(names(NvvmArch::Compute90, "gemm"), ["gemm"]);
    assert_eq!(names(NvvmArch::Compute90a, "gemm"), ["gemm", "gemm_ladder"]);
    assert!(names(NvvmArch::Compute90a, "map").is_empty());
    // Nothing of these is shipped.
    assert_eq!(names(NvvmArch::Compute80, "map"), ["map", "map_ladder"]);
    assert_eq!(names(NvvmArch::Compute86, "gemm"), ["gemm", "gemm_ladder"]);
}

#[test]
fn files_as_the_manifest_says_are_no_problem() {
    let (folder, manifest) = committed();
    assert!(problems(folder.path(), &manifest, SOURCES).is_empty());
    // A checkout may have other line endings.
    fs::write(
        folder.path().join("sm_75/sum.ptx"),
        PTX.replace('\n', "\r\n"),
    )
    .unwrap();
    assert!(problems(folder.path(), &manifest, SOURCES).is_empty());
}

#[test]
fn changed_sources_are_a_problem_of_every_module() {
    let (folder, manifest) = committed();
    assert_eq!(
        problems(folder.path(), &manifest, "other"),
        [
            "sm_75/sum.ptx: the sources have changed since",
            "sm_80/sum.ptx: the sources have changed since"
        ]
    );
}

#[test]
fn changed_missing_and_additional_files_are_named() {
    let (folder, mut manifest) = committed();
    fs::write(folder.path().join("sm_75/sum.ptx"), "other").unwrap();
    fs::remove_file(folder.path().join("sm_80/sum.ptx")).unwrap();
    fs::write(folder.path().join("sm_80/old.ptx"), PTX).unwrap();
    let found = problems(folder.path(), &manifest, SOURCES);
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0], "sm_75/sum.ptx: the file is not the manifest's");
    assert!(found[1].starts_with("sm_80/sum.ptx: "), "{found:?}");
    assert!(
        found[2].ends_with("old.ptx: the manifest does not have it"),
        "{found:?}"
    );

    manifest.modules.remove(0);
    let found = problems(folder.path(), &manifest, SOURCES);
    assert_eq!(found[0], "sm_75/sum.ptx: the manifest does not have it");
    manifest.replace(vec![record("sm_90", "sum")]);
    let found = problems(folder.path(), &manifest, SOURCES);
    assert!(
        found.contains(&"sm_90/sum.ptx: it is shipped no longer".to_owned()),
        "{found:?}"
    );
}

#[test]
fn a_part_of_the_modules_is_judged_alone() {
    let (folder, manifest) = committed();
    fs::write(folder.path().join("sm_80/old.ptx"), PTX).unwrap();
    let part = committed_problems(&selection(false), &manifest, folder.path(), SOURCES).unwrap();
    assert!(part.is_empty(), "{part:?}");
}

#[test]
fn problems_end_with_what_to_type() {
    assert!(conclude(&[], REBUILD).is_ok());
    let error = conclude(&["a.ptx: bad".to_owned()], REBUILD)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("cargo xtask build-ptx") && error.ends_with("\n  a.ptx: bad"),
        "{error}"
    );
}

#[test]
fn unknown_families_are_refused() {
    let error = Selection::new(&[], &["absent".to_owned()])
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("given `absent`"), "{error}");
}

#[test]
fn machine_code_of_the_same_ptx_is_kept_and_no_other() {
    let code = |arch: &str, ptx: &str| Code {
        family: "sum".to_owned(),
        arch: arch.to_owned(),
        ptx: ptx.to_owned(),
        ptxas: "13".to_owned(),
        kernels: [].into(),
    };
    let same = || record("sm_75", "sum");
    let shipped = project::ASSEMBLED[0];
    let mut old = Manifest::new(vec![same(), record("sm_75", "gone")]);
    old.code = vec![
        code(shipped.sm(), &same().sha256),
        code("sm_10", &same().sha256),
    ];
    let after = |new: Record, complete| {
        let mut manifest = merged(Some(old.clone()), vec![new], complete);
        manifest.set_code(Vec::new());
        let archs: Vec<String> = manifest.code.into_iter().map(|code| code.arch).collect();
        (manifest.modules.len(), archs)
    };
    assert_eq!(after(same(), true), (1, vec![shipped.sm().to_owned()]));
    assert_eq!(after(same(), false), (2, vec![shipped.sm().to_owned()]));
    let mut other = same();
    other.sha256 = "other".to_owned();
    assert_eq!(after(other, true), (1, vec![]));
    assert_eq!(merged(None, vec![same()], true).modules.len(), 1);
}
