//! Running other programs to their end, or until a time limit.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::environment;

/// How often it is asked whether a program has ended.
const INTERVAL: Duration = Duration::from_millis(10);

/// How long the pipes of a program may stay open after it and all that it started were ended.
const GRACE: Duration = Duration::from_millis(200);

/// What a finished program wrote.
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: String,
}

/// Why a program gave no [`Output`].
#[derive(Debug)]
pub enum RunError {
    /// It could not be started.
    Start(std::io::Error),
    /// It ran past its time limit and was ended, with what it had started.
    TimedOut(Duration),
    /// This process has raised privileges, and programs that its environment names are not for it.
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

/// Runs `command` to its end, or ends it after `limit`. With `echo`, its standard error is also
/// printed to ours, line by line as it comes.
///
/// The limit holds for what the program starts too: on Unix all of it is a process group, which is ended as a whole, and
/// nobody waits any longer for a process that left the group and keeps a pipe open. A program that ended in
/// time while such a process keeps a pipe open gives what it wrote until the limit.
///
/// # Errors
/// That it could not be started, that it was ended, or that this process has raised privileges.
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
        // The program itself is not waited for yet, so that its number, the group's, is no other's.
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

/// Bytes that a thread adds to.
type Shared = Arc<Mutex<Vec<u8>>>;

/// Starts a thread that reads the pipe and drops the sender at its end.
fn collect(pipe: impl Read + Send + 'static, echo: bool, sender: Sender<()>) -> Shared {
    let bytes = Shared::default();
    let shared = bytes.clone();
    thread::spawn(move || {
        let _sender = sender;
        let mut pipe = BufReader::new(pipe);
        let mut part = Vec::new();
        // A pipe that breaks ends the text early; the exit status tells the rest.
        while matches!(read(&mut pipe, echo, &mut part), Ok(count) if count > 0) {
            if echo {
                // There is nobody to tell that standard error is closed.
                let _ = std::io::stderr().write_all(&part);
            }
            let mut bytes = shared.lock().unwrap_or_else(PoisonError::into_inner);
            bytes.append(&mut part);
        }
    });
    bytes
}

/// Reads a line, or without `lines` what is there.
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

/// Waits until both pipes are closed, which is when both senders are gone.
fn closed_before(deadline: Option<Instant>, ended: &Receiver<()>) -> bool {
    let Some(deadline) = deadline else {
        return ended.recv().is_err();
    };
    let left = deadline.saturating_duration_since(Instant::now());
    ended.recv_timeout(left) == Err(RecvTimeoutError::Disconnected)
}

/// A program and what it starts.
#[cfg(unix)]
mod group {
    use std::io;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    /// Makes the program the first of a process group. A terminal's interrupt does not reach that: on Linux the
    /// program gets a signal when its parent ends.
    pub(super) fn lead(command: &mut Command) {
        command.process_group(0);
        #[cfg(target_os = "linux")]
        // SAFETY: between fork and exec the closure makes one system call, and allocates nothing.
        unsafe {
            command.pre_exec(|| {
                // It cannot fail with a signal that there is; the program would do its work without.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM as libc::c_ulong);
                Ok(())
            });
        }
    }

    /// Whether the program has ended; it can be waited for afterwards.
    pub(super) fn has_ended(child: &mut Child) -> io::Result<bool> {
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        loop {
            // SAFETY: all bits of the structure may be zero, and the call fills it in.
            let (result, info) = unsafe {
                let mut info: libc::siginfo_t = std::mem::zeroed();
                (
                    libc::waitid(libc::P_PID, child.id() as libc::id_t, &mut info, options),
                    info,
                )
            };
            if result == 0 {
                // SAFETY: `waitid` fills this field in, or leaves it zero where the program runs.
                return Ok(unsafe { info.si_pid() } != 0);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    pub(super) fn end(child: &mut Child) {
        // It fails only if nothing of the group is left.
        // SAFETY: the group is the child's, which was not waited for: no other has its number.
        unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL) };
    }
}

/// A program and what it starts.
#[cfg(not(unix))]
mod group {
    use std::io;
    use std::process::{Child, Command, Stdio};

    pub(super) fn lead(_: &mut Command) {}

    pub(super) fn has_ended(child: &mut Child) -> io::Result<bool> {
        Ok(child.try_wait()?.is_some())
    }

    pub(super) fn end(child: &mut Child) {
        // Windows knows whom a running program has started. Where the program has ended, that is forgotten.
        if cfg!(windows) {
            let _ = Command::new("taskkill")
                .args(["/T", "/F", "/PID", &child.id().to_string()])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
        // It fails only if the program has ended.
        let _ = child.kill();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Runs a script with this limit in milliseconds, and gives how long that took too.
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
        // An ended process that nobody has waited for is a zombie.
        status.is_ok_and(|text| !text.contains("State:\tZ"))
    }

    /// Whether the process is gone soon: a killed process takes a moment.
    fn is_gone(process: &str) -> bool {
        (0..100).any(|_| {
            thread::sleep(Duration::from_millis(20));
            !is_alive(process)
        })
    }

    /// Much longer than any test waits.
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
