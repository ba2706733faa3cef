//! Running other programs: with a time limit, and with the environment of a parent cargo left out.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What a finished program wrote.
pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// Why a program gave no [`Output`].
pub(crate) enum RunError {
    /// It could not be started.
    Start(std::io::Error),
    /// It ran past its time limit and was ended.
    TimedOut(Duration),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Start(error) => write!(f, "could not be started: {error}"),
            Self::TimedOut(limit) => write!(f, "was ended after {} s", limit.as_secs()),
        }
    }
}

/// Runs `command` to its end, or ends it after `limit`. With `echo`, its standard error is also
/// printed to ours, line by line as it comes.
pub(crate) fn run(
    command: &mut Command,
    limit: Option<Duration>,
    echo: bool,
) -> Result<Output, RunError> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(RunError::Start)?;
    let stdout = child.stdout.take().map(|mut pipe| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // A pipe that breaks ends the text early; the exit status tells the rest.
            let _ = pipe.read_to_end(&mut bytes);
            bytes
        })
    });
    let stderr = child.stderr.take().map(|pipe| {
        thread::spawn(move || {
            let mut text = String::new();
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while matches!(pipe.read_until(b'\n', &mut line), Ok(count) if count > 0) {
                let part = String::from_utf8_lossy(&line);
                if echo {
                    eprint!("{part}");
                }
                text.push_str(&part);
                line.clear();
            }
            text
        })
    });
    let status = match limit {
        None => child.wait().map_err(RunError::Start)?,
        Some(limit) => {
            let start = Instant::now();
            loop {
                if let Some(status) = child.try_wait().map_err(RunError::Start)? {
                    break status;
                }
                if start.elapsed() > limit {
                    // Both may fail only if it ended by itself in between.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(RunError::TimedOut(limit));
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
    };
    let join = "a thread that only reads a pipe does not panic";
    Ok(Output {
        status,
        stdout: stdout
            .map(|thread| thread.join().expect(join))
            .unwrap_or_default(),
        stderr: stderr
            .map(|thread| thread.join().expect(join))
            .unwrap_or_default(),
    })
}

/// Removes from `command`'s environment what a cargo that runs us (from a build script, `cargo run` or
/// `cargo test`) has set for its own build, and what would change the device build unseen.
pub(crate) fn clear_parent_cargo(command: &mut Command) {
    for (key, _) in std::env::vars_os() {
        if key.to_str().is_some_and(belongs_to_parent) {
            command.env_remove(&key);
        }
    }
}

fn belongs_to_parent(key: &str) -> bool {
    // Where cargo keeps and fetches crates stays as the user set it.
    const KEPT: [&str; 6] = [
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_NET_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
        "CARGO_TERM_",
    ];
    const NAMES: [&str; 17] = [
        "CARGO",
        "RUSTC",
        "RUSTDOC",
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_LINKER",
        "RUSTC_BOOTSTRAP",
        "RUSTUP_TOOLCHAIN",
        "OUT_DIR",
        "TARGET",
        "HOST",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
        "NUM_JOBS",
    ];
    if KEPT.iter().any(|kept| key.starts_with(kept)) {
        return false;
    }
    key.starts_with("CARGO_")
        || key.starts_with("DEP_")
        || key.starts_with("RUST_RECURSION")
        || key == "MAKEFLAGS"
        || NAMES.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parent_cargos_variables_are_known() {
        for key in [
            "CARGO",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_MANIFEST_DIR",
            "CARGO_TARGET_DIR",
            "CARGO_PROFILE_RELEASE_LTO",
            "RUSTC_WRAPPER",
            "RUSTUP_TOOLCHAIN",
            "OUT_DIR",
        ] {
            assert!(belongs_to_parent(key), "{key}");
        }
        for key in [
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "RUSTUP_HOME",
            "PATH",
            "HOME",
        ] {
            assert!(!belongs_to_parent(key), "{key}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_hangs_is_ended() {
        let start = Instant::now();
        let result = run(
            Command::new("sleep").arg("60"),
            Some(Duration::from_millis(100)),
            false,
        );
        assert!(matches!(result, Err(RunError::TimedOut(_))));
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[cfg(unix)]
    #[test]
    fn both_streams_are_read() {
        let result = run(
            Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]),
            Some(Duration::from_secs(30)),
            false,
        );
        let Ok(output) = result else {
            panic!("sh did not run")
        };
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(output.stdout, b"out\n");
        assert_eq!(output.stderr, "err\n");
    }
}
