//! Running the program and looking at what it leaves behind.
#![allow(dead_code, missing_docs)] // Each test file is a crate of its own and uses a part of this.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use warpwright_cli::array::{Array, Data, Element, Shape};
use warpwright_cli::npy;

/// A folder of its own for one test, removed at its end.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn vector<T: Element>(&self, name: &str, values: &[T]) -> PathBuf {
        self.array(name, &T::into_array(Data::vector(values.to_vec())))
    }

    pub fn matrix<T: Element>(
        &self,
        name: &str,
        height: usize,
        width: usize,
        values: &[T],
    ) -> PathBuf {
        let data = Data::new(Shape::Matrix { height, width }, values.to_vec()).unwrap();
        self.array(name, &T::into_array(data))
    }

    pub fn array(&self, name: &str, array: &Array) -> PathBuf {
        let mut bytes = Vec::new();
        npy::write(&mut bytes, array).unwrap();
        self.write(name, &bytes)
    }

    /// The names of all files, hidden ones too.
    pub fn names(&self) -> Vec<OsString> {
        let mut names: Vec<_> = std::fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    }

    /// The program in this folder, computing on the CPU, with these arguments split at spaces.
    pub fn command(&self, arguments: &str) -> Command {
        // The environment names the program where the tests run elsewhere than they were built.
        let program = std::env::var_os("CARGO_BIN_EXE_warpwright")
            .unwrap_or_else(|| env!("CARGO_BIN_EXE_warpwright").into());
        let mut command = Command::new(program);
        command
            .current_dir(self.0.path())
            .args(arguments.split_whitespace());
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &str) -> Output {
        let device = if arguments.contains("--device") {
            ""
        } else {
            "--device cpu "
        };
        self.command(&format!("{device}{arguments}"))
            .output()
            .unwrap()
    }

    /// Runs the program, which must succeed, and gives what it wrote to standard output.
    #[track_caller]
    pub fn succeeds(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{arguments}: {:?}: {errors}",
            output.status
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the program with `--json` and gives the one object that it wrote.
    #[track_caller]
    pub fn json(&self, arguments: &str) -> serde_json::Value {
        let text = self.succeeds(&format!("{arguments} --json"));
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(value.is_object(), "{text}");
        value
    }

    /// Runs the program, which must end with this status and one line that holds these parts, and must
    /// neither print a result nor leave a file or change one. Gives the line.
    #[track_caller]
    pub fn fails(&self, arguments: &str, status: i32, parts: &[&str]) -> String {
        let before = self.contents();
        let output = self.run(arguments);
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments}: {line}");
        assert_eq!(line.matches('\n').count(), 1, "{arguments}: {line:?}");
        assert!(line.starts_with("error: "), "{arguments}: {line:?}");
        for part in parts {
            assert!(
                line.contains(part),
                "{arguments}: {part:?} is not in {line:?}"
            );
        }
        assert!(output.stdout.is_empty(), "{arguments}");
        assert!(before == self.contents(), "{arguments}: the folder changed");
        line
    }

    fn contents(&self) -> Vec<(OsString, Option<Vec<u8>>)> {
        let read = |name: OsString| {
            let bytes = std::fs::read(self.0.path().join(&name)).ok();
            (name, bytes)
        };
        self.names().into_iter().map(read).collect()
    }

    pub fn read(&self, name: &str) -> Array {
        read(&self.path(name))
    }

    /// Runs the program with these bytes as standard input.
    pub fn pipe(&self, arguments: &str, input: &[u8]) -> Output {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    }
}

/// An array in a file of any supported format.
pub fn read(path: &Path) -> Array {
    warpwright_cli::input::read(path).unwrap().array
}

/// A `.npy` file put together by hand.
pub fn npy_bytes(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut bytes = npy::MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}
