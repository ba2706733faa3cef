//! The program `warpwright`: see `warpwright --help`.

mod args;
mod commands;
mod report;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use warpwright_cli::error::{Error, one_line};

fn main() -> ExitCode {
    #[cfg(unix)]
    if let Err(error) = warpwright_cli::output::remove_on_signals() {
        complain(&format!("signals cannot be taken: {error}"));
        return ExitCode::FAILURE;
    }
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    match commands::run(args) {
        Ok(()) | Err(Error::OutputClosed) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(error.exit_status())
        }
    }
}

/// Prints the error of a command line that clap refused, or the requested help.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // It is not a failure if nobody reads the help.
        let _ = error.print();
        return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
    }
    // One line, as for every other error, without the usage and the pointer to --help.
    let text = error.render().to_string();
    let lines = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .collect::<Vec<_>>()
        .join("\n");
    let text = one_line(&lines);
    complain(&format!(
        "{} (see --help)",
        text.strip_prefix("error: ").unwrap_or(&text)
    ));
    ExitCode::from(2)
}

fn complain(text: &str) {
    // If standard error is closed, only the exit status can report the error.
    let _ = writeln!(std::io::stderr(), "error: {}", one_line(text));
}
