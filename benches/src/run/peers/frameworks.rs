//! PyTorch and CuPy: `peers/frameworks.py`, a separate process that gets requests in turn.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

use serde_json::{Value, json};
use warpwright::Device;

use super::super::{Contender, Result};
use super::{Absent, toolkit};

/// The program.
const SOURCE: &str = include_str!("../../../peers/frameworks.py");

/// The libraries of the program.
pub const NAMES: [&str; 2] = ["PyTorch", "CuPy"];

/// The process, and the libraries that it found.
pub struct Frameworks {
    process: Rc<RefCell<Process>>,
    hello: Value,
}

struct Process {
    child: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

/// Finds Python.
///
/// # Errors
/// Returns an error if there is none.
pub fn interpreter() -> Result<std::path::PathBuf, String> {
    toolkit("bin", "python3").ok_or_else(|| "python3 required on PATH, found none".to_owned())
}

impl Frameworks {
    /// Starts the process.
    ///
    /// # Errors
    /// Returns the reason why it could not be started.
    pub fn start() -> Result<Self, String> {
        let python = interpreter()?;
        let mut child = Command::new(&python)
            .args(["-c", SOURCE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", python.display()))?;
        let requests = child.stdin.take();
        let replies = child.stdout.take().ok_or("no pipe from python3")?;
        let mut process = Process {
            child,
            requests,
            replies: BufReader::new(replies),
        };
        let hello = process
            .reply()
            .map_err(|error| format!("python3: {error}"))?;
        Ok(Self {
            process: Rc::new(RefCell::new(process)),
            hello,
        })
    }

    /// Returns the version of a library.
    ///
    /// # Errors
    /// Returns the reason why it is missing.
    pub fn version(&self, name: &str) -> Result<String, String> {
        let said = &self.hello[name];
        match (said["found"].as_str(), said["missing"].as_str()) {
            (Some(version), _) => Ok(version.to_owned()),
            (None, reason) => Err(reason.unwrap_or("python3 did not tell of it").to_owned()),
        }
    }

    /// Prepares a library for a case, which `request` describes.
    ///
    /// # Errors
    /// Returns an error if it is missing or could not be prepared.
    pub fn case(&self, library: &str, mut request: Value) -> Result<Box<dyn Contender>, Absent> {
        self.version(library).map_err(Absent::Missing)?;
        request["do"] = "prepare".into();
        request["library"] = library.into();
        let reply = self
            .process
            .borrow_mut()
            .ask(&request)
            .map_err(|error| Absent::Failed(error.to_string()))?;
        let number = reply["case"]
            .as_u64()
            .ok_or_else(|| Absent::Failed(format!("python3 said {reply}")))?;
        Ok(Box::new(Remote {
            process: self.process.clone(),
            number,
        }))
    }
}

impl Process {
    fn reply(&mut self) -> Result<Value> {
        let mut line = String::new();
        if self.replies.read_line(&mut line)? == 0 {
            return Err(format!("it ended: {:?}", self.child.wait()?).into());
        }
        Ok(serde_json::from_str(&line)?)
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        let requests = self.requests.as_mut().ok_or("it has no input")?;
        writeln!(requests, "{request}")?;
        requests.flush()?;
        let reply = self.reply()?;
        match reply["error"].as_str() {
            Some(error) => Err(error.lines().next().unwrap_or_default().to_owned().into()),
            None => Ok(reply),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process ends when its input ends.
        drop(self.requests.take());
        let _ = self.child.wait();
    }
}

/// A case in the other process.
struct Remote {
    process: Rc<RefCell<Process>>,
    number: u64,
}

impl Contender for Remote {
    /// Does nothing: the other process queues its own work when it checks and when it times.
    fn enqueue(&mut self, _: usize) -> Result<()> {
        Ok(())
    }

    fn check(&mut self, set: usize) -> Result<Result<(), String>> {
        let reply = self
            .process
            .borrow_mut()
            .ask(&json!({"do": "check", "case": self.number, "set": set}))?;
        Ok(reply["wrong"]
            .as_str()
            .map_or(Ok(()), |text| Err(text.to_owned())))
    }

    fn sample(&mut self, device: &Device, _: usize, repeats: u32) -> Result<f64> {
        device.synchronize()?;
        let reply = self
            .process
            .borrow_mut()
            .ask(&json!({"do": "sample", "case": self.number, "repeats": repeats}))?;
        Ok(reply["seconds"].as_f64().ok_or("python3 gave no time")?)
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // A process that has ended has freed its memory.
        let _ = self
            .process
            .borrow_mut()
            .ask(&json!({"do": "drop", "case": self.number}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_without_a_gpu_is_missing_with_a_reason() {
        // Without Python, or without a GPU that its libraries find, both are missing and give the reason.
        match Frameworks::start() {
            Err(reason) => assert!(reason.contains("python3"), "{reason}"),
            Ok(frameworks) => {
                for name in NAMES {
                    let case = frameworks.case(
                        name,
                        json!({"work": "sin", "shape": [8], "element": "f4", "sets": 1}),
                    );
                    match (frameworks.version(name), case) {
                        (Err(reason), Err(Absent::Missing(said))) => {
                            assert!(!reason.is_empty() && reason == said)
                        }
                        (Ok(_), Ok(mut case)) => assert_eq!(case.check(0).unwrap(), Ok(())),
                        (version, case) => panic!("{name}: {version:?}, {:?}", case.err()),
                    }
                }
            }
        }
    }
}
