//! The error type of the program: what went wrong, and the exit status.

/// The reason why a command ended without a result.
///
/// The text is one line that names the operation or the file, the requirement, the given value, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A usage error: the command line asks for something that does not exist or makes no sense. Exit status 2.
    #[error("{0}")]
    Usage(String),
    /// A failure: the command was understood and could not be carried out. Exit status 1.
    #[error("{0}")]
    Failed(String),
    /// The reader of standard output has closed it. The program ends quietly with exit status 0.
    #[error("standard output was closed")]
    OutputClosed,
}

/// The result of a step of a command.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Makes a failure (exit status 1) with this text.
    pub fn failed(text: impl Into<String>) -> Self {
        Error::Failed(text.into())
    }

    /// Makes a usage error (exit status 2) with this text.
    pub fn usage(text: impl Into<String>) -> Self {
        Error::Usage(text.into())
    }

    /// Returns the exit status of a program that ends with this error.
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::Usage(_) => 2,
            Error::Failed(_) => 1,
            Error::OutputClosed => 0,
        }
    }

    /// Returns the same error with `name: ` (a file, an operation) before its text.
    pub fn within(self, name: impl std::fmt::Display) -> Self {
        match self {
            Error::Usage(text) => Error::Usage(format!("{name}: {text}")),
            Error::Failed(text) => Error::Failed(format!("{name}: {text}")),
            Error::OutputClosed => Error::OutputClosed,
        }
    }
}

/// Joins the lines of a text into one: lines are trimmed, empty ones dropped, the rest joined by spaces, and other control
/// characters are escaped.
pub fn one_line(text: &str) -> String {
    let joined = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>();
    let mut line = String::with_capacity(text.len());
    for character in joined.join(" ").chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_several_lines_becomes_one() {
        assert_eq!(one_line("a\n   b\n\n c\r\n"), "a b c");
        assert_eq!(one_line("bell \u{7} tab\there"), "bell \\u{7} tab\\there");
    }

    #[test]
    fn the_name_goes_in_front_and_the_status_stays() {
        let error = Error::usage("no").within("file.npy");
        assert_eq!(error.to_string(), "file.npy: no");
        assert_eq!(error.exit_status(), 2);
        assert_eq!(Error::failed("no").within("x").exit_status(), 1);
        assert_eq!(Error::OutputClosed.within("x").exit_status(), 0);
    }
}
