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

/// Answers a command line that clap did not take, or a request for help.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // Help that nobody reads any more is no failure.
        let _ = error.print();
        return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
    }
    // One line, as for every other error: the usage and the pointer to --help are left out of it.
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
    // Where standard error is closed there is nobody to tell; the exit status still says it.
    let _ = writeln!(std::io::stderr(), "error: {}", one_line(text));
}
