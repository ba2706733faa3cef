use std::collections::BTreeSet;

use super::*;

fn test(package: &str, target: &str, unit: bool) -> Executable {
    let path = PathBuf::from("/none");
    Executable {
        package: package.to_owned(),
        target: target.to_owned(),
        unit,
        path,
    }
}

/// Returns all tests that [`LEFT_OUT`] names, and two more.
fn all() -> Vec<Executable> {
    let named = LEFT_OUT
        .iter()
        .filter_map(|(package, name, _)| Some(test(package, (*name)?, false)));
    named
        .chain([
            test("warpwright-tests", "reduce", false),
            test("warpwright", "warpwright", true),
        ])
        .collect()
}

#[test]
fn what_needs_a_compiler_is_left_out() {
    let tests = all();
    let names: Vec<String> = chosen(&tests)
        .unwrap()
        .iter()
        .map(|test| test.name())
        .collect();
    assert_eq!(
        names,
        ["warpwright-tests-reduce", "warpwright-unit-warpwright"]
    );
    assert!(chosen(&tests[..tests.len() - 2]).is_err());
}

#[test]
fn every_row_has_a_reason_and_is_there_once() {
    let rows: BTreeSet<_> = LEFT_OUT
        .iter()
        .map(|(package, test, _)| (package, test))
        .collect();
    assert_eq!(rows.len(), LEFT_OUT.len());
    assert!(LEFT_OUT.iter().all(|(.., reason)| !reason.is_empty()));
}

#[test]
fn a_folder_with_other_things_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("a/b");
    clear(&new).unwrap();
    assert!(new.is_dir());
    fs::write(new.join("letter.txt"), "dear").unwrap();
    let error = clear(&new).unwrap_err().to_string();
    assert!(error.contains("a new or empty folder"), "{error}");
    assert!(new.join("letter.txt").is_file());
    fs::write(new.join("run.sh"), "").unwrap();
    fs::create_dir_all(new.join("tests")).unwrap();
    clear(&new).unwrap();
    assert!(list(&new).unwrap().is_empty());
}

#[cfg(unix)]
mod scripts {
    use std::process::{Command, Output};

    use super::*;

    /// Makes a bundle whose test programs are shell scripts.
    fn bundle(tests: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in SCRIPTS {
            let text = text.replace("/usr/local/cuda", "/nonexistent");
            fs::write(folder.path().join(name), text).unwrap();
        }
        let programs = folder.path().join("programs");
        fs::create_dir_all(&programs).unwrap();
        for program in PROGRAMS.split(' ') {
            let place = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(program));
            let place = place.iter().find(|path| path.exists()).expect(program);
            std::os::unix::fs::symlink(place, programs.join(program)).unwrap();
        }
        let plain = folder.path().join("plain");
        fs::create_dir_all(&plain).unwrap();
        for (name, text) in tests {
            fs::write(plain.join(name), format!("#!/bin/sh\n{text}\n")).unwrap();
            make_executable(&plain.join(name)).unwrap();
        }
        let paths: Vec<_> = tests.iter().map(|(name, _)| plain.join(name)).collect();
        let names = tests.iter().map(|(name, _)| (*name).to_owned());
        let programs = names.zip(paths.iter().map(PathBuf::as_path));
        pack(programs, &folder.path().join(TESTS)).unwrap();
        folder
    }

    /// The programs that the scripts call, and no others: the machine may have a CUDA toolkit.
    const PROGRAMS: &str = "basename cat chmod dirname grep head ls mkdir mktemp rm sed sort tail tar tee touch \
                            tr xz";

    fn script(folder: &Path, name: &str, arguments: &[&str]) -> Output {
        Command::new("/bin/sh")
            .arg(folder.join(name))
            .args(arguments)
            .env("PATH", folder.join("programs"))
            .env_remove("CUDA_HOME")
            .env_remove("CUDA_PATH")
            .output()
            .unwrap()
    }

    fn result(passed: u32, failed: u32) -> String {
        let state = if failed == 0 { "ok" } else { "FAILED" };
        format!(
            "echo 'test result: {state}. {passed} passed; {failed} failed; 0 ignored; 0 measured'; \
             exit {}",
            if failed == 0 { 0 } else { 101 }
        )
    }

    fn run(tests: &[(&str, &str)], words: &[&str]) -> (i32, String) {
        let output = script(bundle(tests).path(), "run.sh", words);
        let text = String::from_utf8(output.stdout).unwrap();
        (
            output.status.code().unwrap(),
            text.lines().last().unwrap_or_default().to_owned(),
        )
    }

    #[test]
    fn results_are_added_up() {
        let (three, two, bad) = (result(3, 0), result(2, 0), result(4, 1));
        let tests = [("a", &*three), ("b-reduce", &*two), ("c", &*bad)];
        assert_eq!(run(&tests[..2], &[]), (0, "5 passed, 0 failed".to_owned()));
        assert_eq!(run(&tests, &[]), (1, "9 passed, 1 failed".to_owned()));
        assert_eq!(
            run(&tests, &["reduce", "x"]),
            (0, "2 passed, 0 failed".to_owned())
        );
        assert_eq!(run(&tests, &["y"]).0, 2);
    }

    #[test]
    fn a_crash_is_a_failure() {
        let three = result(3, 0);
        let tests = [("a", &*three), ("b", "echo running 7 tests; kill -9 $$")];
        assert_eq!(run(&tests, &[]), (1, "3 passed, 1 failed".to_owned()));
        // A run without any passed test is not a success.
        assert_eq!(run(&[("a", "exit 0")], &[]).0, 1);
    }

    #[test]
    fn tests_find_what_they_need_and_work_in_a_folder_of_their_own() {
        let text = "test -z \"$(ls)\" && touch left && \
                    test \"$(basename \"$WARPWRIGHT_FAULT_DRIVER\")\" = libcuda.so.1 && \
                    test \"$WARPWRIGHT_REQUIRE_CUDA\" = 1 && ";
        let text = text.to_owned() + &result(1, 0);
        let folder = bundle(&[("a", &text), ("b", &text)]);
        let output = Command::new("sh")
            .arg(folder.path().join("run.sh"))
            .env("WARPWRIGHT_REQUIRE_CUDA", "1")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.ends_with("2 passed, 0 failed\n"), "{text}");
    }

    #[test]
    fn a_missing_tool_is_named() {
        let folder = bundle(&[]);
        fs::create_dir_all(folder.path().join("ptx/sm_75")).unwrap();
        fs::write(
            folder.path().join("ptx/sm_75/sum.ptx"),
            ".visible .entry sum_best__f32(\n",
        )
        .unwrap();
        // The first script that needs the archive unpacks it.
        pack_away(
            folder.path(),
            &["ptx"],
            &folder.path().join(KERNELS_ARCHIVE),
        )
        .unwrap();
        assert!(!folder.path().join("ptx").exists());
        for (name, arguments, status, part) in [
            (
                "sanitize.sh",
                &["memcheck"][..],
                1,
                "compute-sanitizer required, found none",
            ),
            ("sanitize.sh", &["speed"], 2, "given speed"),
            (
                "profile.sh",
                &["sum_best"],
                1,
                "ncu (Nsight Compute) required, found none",
            ),
            ("profile.sh", &["sum"], 2, "there are:\nsum_best"),
            ("profile.sh", &[], 2, "one kernel required"),
        ] {
            let output = script(folder.path(), name, arguments);
            let text = String::from_utf8(output.stderr).unwrap();
            assert_eq!(
                output.status.code(),
                Some(status),
                "{name} {arguments:?}: {text}"
            );
            assert!(text.contains(part), "{name} {arguments:?}: {text}");
        }
    }
}
