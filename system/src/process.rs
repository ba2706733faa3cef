//! Runs other programs to their end, or until a time limit.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::environment;

/// The polling interval for the end of a program.
const INTERVAL: Duration = Duration::from_millis(10);

/// The time that a program's pipes may stay open after its process group was killed.
const GRACE: Duration = Duration::from_millis(200);

/// The output of a finished program.
pub struct Output {
    /// The exit status.
    pub status: ExitStatus,
    /// The standard output.
    pub stdout: Vec<u8>,
    /// The standard error.
    pub stderr: String,
}

/// The error of a program that returned no [`Output`].
#[derive(Debug)]
pub enum RunError {
    /// The program could not be started.
    Start(std::io::Error),
    /// The program exceeded its time limit and was killed, with the processes that it had started.
    TimedOut(Duration),
    /// This process has raised privileges and must not run programs that its environment names.
    Raised(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Start(error) => write!(f, "could not be started: {error}"),
            Self::TimedOut(limit) => write!(f, "was ended after {} s", limit.as_secs_f64()),
            Self::Raised(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs `command` to its end, or kills it after `limit`. With `echo`, also prints its standard error to this process's,
/// line by line as it arrives.
///
/// The limit applies to the program's child processes too. On Unix they form a process group, which is killed as a whole; a
/// process that left the group and keeps a pipe open is no longer waited for. If the program ended in time but such a
/// process keeps a pipe open, the output is that until the limit.
///
/// # Errors
/// Returns an error if the program could not be started, if it was killed, or if this process has raised privileges.
pub fn run(command: &mut Command, limit: Option<Duration>, echo: bool) -> Result<Output, RunError> {
    environment::require_own_privileges("starting it").map_err(RunError::Raised)?;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if limit.is_some() {
        group::lead(command);
    }
    let deadline = limit.map(|limit| Instant::now() + limit);
    let mut child = command.spawn().map_err(RunError::Start)?;
    let (sender, ended) = channel();
    let stdout = child
        .stdout
        .take()
        .map(|pipe| collect(pipe, false, sender.clone()));
    let stderr = child.stderr.take().map(|pipe| collect(pipe, echo, sender));

    let in_time = match deadline {
        None => true,
        Some(deadline) => ends_before(deadline, &mut child)?,
    };
    if !(in_time && closed_before(deadline, &ended)) {
        // The program itself is not reaped yet, so that its process ID, which is the group's, is not reused.
        group::end(&mut child);
        closed_before(Some(Instant::now() + GRACE), &ended);
    }
    let status = child.wait().map_err(RunError::Start)?;
    if let (false, Some(limit)) = (in_time, limit) {
        return Err(RunError::TimedOut(limit));
    }
    Ok(Output {
        status,
        stdout: taken(stdout),
        stderr: String::from_utf8_lossy(&taken(stderr)).into_owned(),
    })
}

/// A buffer that a reader thread appends to.
type Shared = Arc<Mutex<Vec<u8>>>;

/// Starts a thread that reads the pipe, and drops the sender at the pipe's end.
fn collect(pipe: impl Read + Send + 'static, echo: bool, sender: Sender<()>) -> Shared {
    let bytes = Shared::default();
    let shared = bytes.clone();
    thread::spawn(move || {
        let _sender = sender;
        let mut pipe = BufReader::new(pipe);
        let mut part = Vec::new();
        // A broken pipe truncates the text. The exit status reports the failure.
        while matches!(read(&mut pipe, echo, &mut part), Ok(count) if count > 0) {
            if echo {
                // An error of a closed standard error is ignored.
                let _ = std::io::stderr().write_all(&part);
            }
            let mut bytes = shared.lock().unwrap_or_else(PoisonError::into_inner);
            bytes.append(&mut part);
        }
    });
    bytes
}

/// Reads a line, or without `lines` the available bytes.
fn read(pipe: &mut impl BufRead, lines: bool, part: &mut Vec<u8>) -> std::io::Result<usize> {
    if lines {
        return pipe.read_until(b'\n', part);
    }
    part.extend_from_slice(pipe.fill_buf()?);
    pipe.consume(part.len());
    Ok(part.len())
}

fn taken(shared: Option<Shared>) -> Vec<u8> {
    shared.map_or_else(Vec::new, |shared| {
        std::mem::take(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
    })
}

fn ends_before(deadline: Instant, child: &mut Child) -> Result<bool, RunError> {
    loop {
        if group::has_ended(child).map_err(RunError::Start)? {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        thread::sleep(INTERVAL);
    }
}

/// Waits until both pipes are closed, which is when both senders are dropped. Returns whether that was before the deadline.
fn closed_before(deadline: Option<Instant>, ended: &Receiver<()>) -> bool {
    let Some(deadline) = deadline else {
        return ended.recv().is_err();
    };
    let left = deadline.saturating_duration_since(Instant::now());
    ended.recv_timeout(left) == Err(RecvTimeoutError::Disconnected)
}

/// A program and its child processes.
#[cfg(unix)]
mod group {
    use std::io;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    /// Makes the program the leader of a process group. A terminal's interrupt does not reach the group. On Linux the
    /// program gets a signal when its parent ends.
    pub(super) fn lead(command: &mut Command) {
        command.process_group(0);
        #[cfg(target_os = "linux")]
        // SAFETY: between fork and exec the closure makes one system call, and allocates nothing.
        unsafe {
            command.pre_exec(|| {
                // The call cannot fail with a valid signal, and the program would run without it.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM as libc::c_ulong);
                Ok(())
            });
        }
    }

    /// Returns whether the program has ended, without reaping it.
    pub(super) fn has_ended(child: &mut Child) -> io::Result<bool> {
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        loop {
            // SAFETY: zeros are a valid structure, and the call fills it in.
            let (result, info) = unsafe {
                let mut info: libc::siginfo_t = std::mem::zeroed();
                (
                    libc::waitid(libc::P_PID, child.id() as libc::id_t, &mut info, options),
                    info,
                )
            };
            if result == 0 {
                // SAFETY: `waitid` fills in this field, or leaves it zero if the program still runs.
                return Ok(unsafe { info.si_pid() } != 0);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    pub(super) fn end(child: &mut Child) {
        // The call only fails if the group has no process left.
        // SAFETY: the child was not reaped, so its process group ID is not reused.
        unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL) };
    }
}

/// A program and its child processes.
#[cfg(not(unix))]
mod group {
    use std::io;
    use std::process::{Child, Command, Stdio};

    pub(super) fn lead(_: &mut Command) {}

    pub(super) fn has_ended(child: &mut Child) -> io::Result<bool> {
        Ok(child.try_wait()?.is_some())
    }

    pub(super) fn end(child: &mut Child) {
        // Windows only knows the child processes of a running program.
        if cfg!(windows) {
            let _ = Command::new("taskkill")
                .args(["/T", "/F", "/PID", &child.id().to_string()])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
        // The call only fails if the program has ended.
        let _ = child.kill();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Runs a script with a limit in milliseconds, and also returns the time that it took.
    fn run_script(script: &str, limit: u64) -> (Result<Output, RunError>, Duration) {
        let start = Instant::now();
        let result = run(
            Command::new("sh").args(["-c", script]),
            Some(Duration::from_millis(limit)),
            false,
        );
        (result, start.elapsed())
    }

    fn is_alive(process: &str) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", process.trim()));
        // An ended process that is not reaped is a zombie.
        status.is_ok_and(|text| !text.contains("State:\tZ"))
    }

    /// Returns whether the process disappears soon. A killed process takes a moment.
    fn is_gone(process: &str) -> bool {
        (0..100).any(|_| {
            thread::sleep(Duration::from_millis(20));
            !is_alive(process)
        })
    }

    /// A time that is much longer than any test waits.
    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn a_program_that_hangs_is_ended() {
        let (result, time) = run_script("exec sleep 60", 100);
        let Err(error @ RunError::TimedOut(_)) = result else {
            panic!("it was not ended")
        };
        assert_eq!(error.to_string(), "was ended after 0.1 s");
        assert!(time < SOON);
    }

    #[test]
    fn a_grandchild_that_keeps_the_pipe_open_is_ended_with_the_child() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("sleep 60 & echo $! > '{}'; wait", file.display());
        let (result, time) = run_script(&script, 1000);
        assert!(matches!(result, Err(RunError::TimedOut(_))));
        assert!(time < SOON);
        assert!(is_gone(&std::fs::read_to_string(&file).unwrap()));
    }

    #[test]
    fn a_grandchild_that_outlives_the_child_does_not_outlive_the_limit() {
        let (result, time) = run_script("sleep 60 & echo $!", 1000);
        let output = result.unwrap();
        assert!(output.status.success() && time < SOON);
        assert!(is_gone(&String::from_utf8(output.stdout).unwrap()));
    }

    #[test]
    fn a_grandchild_that_has_left_the_group_is_not_waited_for() {
        for (script, ends) in [
            ("setsid sleep 25 & sleep 0.2; echo $!", true),
            ("setsid sleep 25 & sleep 25", false),
        ] {
            let (result, time) = run_script(script, 1000);
            assert!(time < SOON, "{script}: {time:?}");
            match result {
                Ok(output) => {
                    assert!(ends && output.status.success(), "{script}");
                    assert!(is_alive(&String::from_utf8(output.stdout).unwrap()));
                }
                Err(error) => assert!(
                    !ends && matches!(error, RunError::TimedOut(_)),
                    "{script}: {error}"
                ),
            }
        }
    }

    #[test]
    fn a_program_that_ends_in_time_is_not_waited_for_any_longer() {
        let (result, time) = run_script("echo out", 60_000);
        assert_eq!(result.unwrap().stdout, b"out\n");
        assert!(time < SOON);
    }

    #[test]
    fn both_streams_are_read() {
        for limit in [None, Some(Duration::from_secs(30))] {
            for echo in [false, true] {
                let mut command = Command::new("sh");
                command.args(["-c", "echo out; echo err >&2; exit 3"]);
                let output = run(&mut command, limit, echo).unwrap();
                assert_eq!(output.status.code(), Some(3));
                assert_eq!(output.stdout, b"out\n");
                assert_eq!(output.stderr, "err\n");
            }
        }
    }

    #[test]
    fn long_output_is_whole() {
        let (result, _) = run_script("yes 0123456789 | head -n 100000", 60_000);
        assert_eq!(result.unwrap().stdout.len(), 1_100_000);
    }
}
