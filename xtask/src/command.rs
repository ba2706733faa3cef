//! Child processes of the commands.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::{env, io};

use crate::{Result, project};

/// Returns a cargo command in the root of the workspace.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(project::root());
    command
}

/// Returns a command that runs a program of the workspace, by the options of `cargo run`. The program's own arguments may be
/// added.
pub fn program(options: &[&str]) -> Command {
    let mut command = cargo();
    command.args(["run", "--quiet"]).args(options).arg("--");
    command
}

/// Runs a command to its end with inherited output. A status other than 0 is an error of the operation.
pub fn finish(operation: &str, command: &mut Command) -> Result<()> {
    let status = command.status();
    succeeded(operation, command, status)
}

/// As [`finish`], but returns the text that the command writes to its standard output.
pub fn output(operation: &str, command: &mut Command) -> Result<String> {
    Ok(String::from_utf8(bytes(operation, command)?)?)
}

/// As [`output`], for output that need not be text.
pub fn bytes(operation: &str, command: &mut Command) -> Result<Vec<u8>> {
    let (status, bytes) = match command.stderr(Stdio::inherit()).output() {
        Ok(output) => (Ok(output.status), output.stdout),
        Err(error) => (Err(error), Vec::new()),
    };
    succeeded(operation, command, status)?;
    Ok(bytes)
}

fn succeeded(operation: &str, command: &Command, status: io::Result<ExitStatus>) -> Result<()> {
    let what = match status {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => format!("ended with {status}: see above"),
        Err(error) => format!("could not be started: {error}"),
    };
    Err(format!("{operation}: {} {what}", name(command)).into())
}

/// Returns the program, without its folder, and its arguments.
fn name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or_default().to_string_lossy()];
    words.extend(command.get_args().map(|word| word.to_string_lossy()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_named_with_its_status() {
        let mut command = cargo();
        command.arg("no-such-command").stderr(Stdio::null());
        let error = finish("test", &mut command).unwrap_err().to_string();
        assert!(
            error.starts_with("test: cargo no-such-command ended with "),
            "{error}"
        );
        let error = output("test", &mut command).unwrap_err().to_string();
        assert!(
            error.starts_with("test: cargo no-such-command ended with "),
            "{error}"
        );
        let version = output("test", cargo().arg("--version")).unwrap();
        assert!(version.starts_with("cargo "), "{version}");
        let error = finish("test", &mut Command::new("/none/program")).unwrap_err();
        assert!(
            error.to_string().contains("program could not be started"),
            "{error}"
        );
    }
}
