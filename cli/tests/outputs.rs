//! Where results go: files, links, FIFOs and devices; and what a signal leaves behind.
#![cfg(unix)]
#![allow(missing_docs)]

mod common;

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use common::Folder;
use warpwright_cli::array::Array;
use warpwright_cli::npy;

/// A folder with `in.npy`, a matrix of one row.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.matrix("in.npy", 1, 2, &[1u8, 2]);
    folder
}

const TRANSPOSE: &str = "transpose in.npy -o out.npy";

fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// What was transposed, as a file of the format.
fn is_transposed(bytes: &[u8]) {
    let array = npy::read(bytes, bytes.len() as u64).unwrap();
    let Array::U8(data) = array else {
        panic!("not u8")
    };
    assert_eq!(
        (data.shape().to_string().as_str(), data.values()),
        ("2 x 1", &[1, 2][..])
    );
}

fn start(folder: &Folder, arguments: &str) -> Child {
    folder
        .command(&format!("--device cpu {arguments}"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_fifo_is_written_into_and_stays() {
    let folder = folder();
    fifo(&folder.path("out.npy"));
    symlink("out.npy", folder.path("link.npy")).unwrap();
    for output in ["out.npy", "link.npy"] {
        let path = folder.path("out.npy");
        let reader = thread::spawn(move || fs::read(path).unwrap());
        folder.succeeds(&format!("transpose in.npy -o {output}"));
        is_transposed(&reader.join().unwrap());
        let kind = fs::symlink_metadata(folder.path("out.npy"))
            .unwrap()
            .file_type();
        assert!(kind.is_fifo());
    }
    assert_eq!(folder.names(), ["in.npy", "link.npy", "out.npy"]);
}

#[test]
fn a_fifo_takes_a_plot() {
    let folder = folder();
    fifo(&folder.path("plot.svg"));
    let path = folder.path("plot.svg");
    let reader = thread::spawn(move || fs::read_to_string(path).unwrap());
    folder.succeeds("histogram in.npy -o out.npy --plot plot.svg");
    assert!(reader.join().unwrap().ends_with("</svg>\n"));
    assert_eq!(folder.names(), ["in.npy", "out.npy", "plot.svg"]);
}

#[test]
fn a_device_is_written_into_and_stays() {
    let folder = folder();
    symlink("/dev/null", folder.path("out.npy")).unwrap();
    for output in ["out.npy", "/dev/null"] {
        folder.succeeds(&format!("transpose in.npy -o {output}"));
        let null = fs::metadata("/dev/null").unwrap();
        assert!(null.file_type().is_char_device());
    }
    assert!(
        fs::symlink_metadata(folder.path("out.npy"))
            .unwrap()
            .is_symlink()
    );
    let line = folder.fails(
        "transpose in.npy -o /dev/full",
        1,
        &["/dev/full: ", "written"],
    );
    assert!(line.contains("space"), "{line}");
}

#[test]
fn an_open_file_is_written_into() {
    let folder = folder();
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        // A pipe, and a file with something in it.
        let output = start(&folder, &format!("transpose in.npy -o {name}"));
        let output = output.wait_with_output().unwrap();
        assert!(output.status.success(), "{name}");
        is_transposed(&output.stdout);
        let file = folder.write("file", b"older");
        let append = fs::OpenOptions::new().append(true).open(&file).unwrap();
        let inode = fs::metadata(&file).unwrap().ino();
        let arguments = format!("--device cpu transpose in.npy -o {name}");
        let status = folder.command(&arguments).stdout(append).status().unwrap();
        assert!(status.success(), "{name}");
        let bytes = fs::read(&file).unwrap();
        assert_eq!(&bytes[..5], b"older");
        is_transposed(&bytes[5..]);
        assert_eq!(fs::metadata(&file).unwrap().ino(), inode);
    }
    assert_eq!(folder.names(), ["file", "in.npy"]);
}

#[test]
fn a_reader_that_has_had_enough_ends_the_program_quietly() {
    let folder = Folder::new();
    folder.vector("in.npy", &vec![1.5f32; 1 << 20]);
    folder.vector("bytes.npy", &[1u8]);
    for arguments in [
        "map in.npy --op sin -o /dev/stdout",
        // Results in lines.
        "histogram bytes.npy --bins 1000000",
        "histogram bytes.npy --bins 1000000 --json",
    ] {
        let mut child = start(&folder, arguments);
        // Some of it is read, so that it is closed on the way.
        let mut pipe = child.stdout.take().unwrap();
        pipe.read_exact(&mut [0; 100]).unwrap();
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {errors}");
        assert!(errors.is_empty(), "{arguments}: {errors}");
    }
}

#[test]
fn a_stream_that_is_closed_keeps_no_other_result_back() {
    let folder = folder();
    fifo(&folder.path("out.npy"));
    // Eight million bytes, of which a FIFO takes up few: it is closed while it is written.
    let mut reader = in_shell(&folder, "head -c 1 out.npy");
    let reader = reader.stdout(Stdio::piped()).spawn().unwrap();
    let child = start(
        &folder,
        "histogram in.npy --bins 1000000 -o out.npy --plot plot.svg",
    );
    assert!(reader.wait_with_output().unwrap().status.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    assert_eq!(folder.names(), ["in.npy", "out.npy", "plot.svg"]);
    let plot = fs::read_to_string(folder.path("plot.svg")).unwrap();
    assert!(plot.ends_with("</svg>\n"));
}

#[test]
fn a_dangling_link_makes_its_target() {
    let folder = folder();
    fs::create_dir(folder.path("inner")).unwrap();
    symlink("inner/target.npy", folder.path("second.npy")).unwrap();
    symlink("second.npy", folder.path("out.npy")).unwrap();
    folder.succeeds(TRANSPOSE);
    is_transposed(&fs::read(folder.path("inner/target.npy")).unwrap());
    for link in ["out.npy", "second.npy"] {
        assert!(
            fs::symlink_metadata(folder.path(link))
                .unwrap()
                .is_symlink(),
            "{link}"
        );
    }
    // And once more, now that it is there.
    folder.write("inner/target.npy", b"older");
    folder.succeeds(TRANSPOSE);
    is_transposed(&fs::read(folder.path("inner/target.npy")).unwrap());
    assert_eq!(fs::read_dir(folder.path("inner")).unwrap().count(), 1);
    assert_eq!(folder.names(), ["in.npy", "inner", "out.npy", "second.npy"]);
}

#[test]
fn links_that_lead_nowhere_are_refused() {
    let folder = folder();
    symlink("none/target.npy", folder.path("out.npy")).unwrap();
    folder.fails(TRANSPOSE, 1, &["out.npy: ", "none", "does not exist"]);
    symlink("loop.npy", folder.path("loop.npy")).unwrap();
    folder.fails("transpose in.npy -o loop.npy", 1, &["loop.npy: ", "links"]);
    symlink(".", folder.path("folder.npy")).unwrap();
    folder.fails(
        "transpose in.npy -o folder.npy",
        1,
        &["folder.npy: ", "is a folder"],
    );
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode() {
    let folder = folder();
    for kept in [0o600, 0o640, 0o666, 0o755] {
        set_mode(&folder.write("out.npy", b"older"), kept);
        folder.succeeds(TRANSPOSE);
        assert_eq!(mode(&folder.path("out.npy")), kept);
        is_transposed(&fs::read(folder.path("out.npy")).unwrap());
    }
}

#[test]
fn a_file_that_is_replaced_keeps_its_owner_where_that_is_allowed() {
    let folder = folder();
    let path = folder.write("out.npy", b"older");
    set_mode(&path, 0o664);
    let asked = std::os::unix::fs::chown(&path, Some(12_345), Some(23_456));
    let before = fs::metadata(&path).unwrap();
    folder.succeeds(TRANSPOSE);
    let after = fs::metadata(&path).unwrap();
    // Others than the superuser can give nothing away: then it was and is theirs.
    assert_eq!(asked.is_ok(), before.uid() == 12_345);
    assert_eq!(
        (after.uid(), after.gid(), after.mode()),
        (before.uid(), before.gid(), before.mode())
    );
}

#[test]
fn a_read_only_file_is_refused() {
    let folder = folder();
    symlink("out.npy", folder.path("link.npy")).unwrap();
    for protected in [0o444, 0o400, 0o464, 0] {
        let path = folder.path("out.npy");
        let _ = fs::remove_file(&path);
        set_mode(&folder.write("out.npy", b"older"), protected);
        for output in ["out.npy", "link.npy"] {
            folder.fails(
                &format!("transpose in.npy -o {output}"),
                1,
                &[output, "read-only", "name another"],
            );
        }
        assert_eq!(mode(&path), protected);
    }
}

/// Starts a command that waits for the reader of its plot, and waits until its other result is on the way.
fn waiting(folder: &Folder, command: &mut Command) -> Child {
    fifo(&folder.path("plot.svg"));
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    loop {
        let names = folder.names();
        if names
            .iter()
            .any(|name| name.to_string_lossy().starts_with(".warpwright-"))
        {
            return child;
        }
        assert_eq!(child.try_wait().unwrap(), None, "it ended before");
        thread::sleep(Duration::from_millis(5));
    }
}

fn send(signal: &str, child: &Child) {
    let kill = format!("kill -{signal} {}", child.id());
    assert!(
        Command::new("sh")
            .args(["-c", &kill])
            .status()
            .unwrap()
            .success()
    );
}

/// A shell in this folder that runs a line, in which `$0` is the program.
fn in_shell(folder: &Folder, line: &str) -> Command {
    let mut command = Command::new("sh");
    command.current_dir(folder.path("")).args(["-c", line]);
    command
        .arg(folder.command("").get_program())
        .stdin(Stdio::null());
    command
}

/// Sets a signal to what it does by default: the tests may have been started where it is ignored, as by `nohup`.
fn heed(signal: i32) -> std::io::Result<()> {
    // SAFETY: the default action needs no handler of ours.
    match unsafe { libc::signal(signal, libc::SIG_DFL) } {
        libc::SIG_ERR => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}

const WAITS: &str = "--device cpu histogram in.npy -o out.npy --plot plot.svg";

#[test]
fn a_signal_leaves_nothing_behind() {
    for (signal, number) in [("HUP", 1), ("INT", 2), ("TERM", 15), ("XCPU", 24)] {
        let folder = folder();
        folder.write("out.npy", b"older");
        let mut command = folder.command(WAITS);
        // SAFETY: the function only makes calls that are allowed between fork and exec.
        unsafe { command.pre_exec(move || heed(number)) };
        let child = waiting(&folder, &mut command);
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(128 + number), "{signal}");
        assert_eq!(
            folder.names(),
            ["in.npy", "out.npy", "plot.svg"],
            "{signal}"
        );
        assert_eq!(fs::read(folder.path("out.npy")).unwrap(), b"older");
    }
}

#[test]
fn a_signal_that_is_ignored_from_the_start_stays_so() {
    let folder = folder();
    let mut shell = in_shell(&folder, &format!("trap '' HUP INT; exec \"$0\" {WAITS}"));
    let child = waiting(&folder, &mut shell);
    send("HUP", &child);
    send("INT", &child);
    let plot = fs::read_to_string(folder.path("plot.svg")).unwrap();
    assert!(plot.ends_with("</svg>\n"));
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(folder.names(), ["in.npy", "out.npy", "plot.svg"]);
}

#[test]
fn a_file_beyond_the_limit_is_an_error_that_leaves_nothing_behind() {
    let folder = Folder::new();
    folder.vector("in.npy", &vec![1.5f32; 1 << 18]);
    // In blocks of 512 bytes, or of 1024.
    let line = "ulimit -f 64; exec \"$0\" --device cpu map in.npy --op sin -o out.npy";
    let output = in_shell(&folder, line).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(
        errors.starts_with("error: out.npy: cannot be written"),
        "{errors}"
    );
    assert_eq!(errors.matches('\n').count(), 1, "{errors}");
    assert_eq!(folder.names(), ["in.npy"]);
}
