//! The error type.

use std::fmt;
use std::path::PathBuf;

/// An error of a build, a search for tools, or an assembly. `Display` and `Debug` print the same text, so that `unwrap()`
/// in a build script shows the compiler's message unchanged.
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The folder given to [`CudaBuilder::new`](crate::CudaBuilder::new) does not exist or contains no `Cargo.toml`.
    CratePathDoesntExist(PathBuf),
    /// The finished module could not be copied to the path given with
    /// [`copy_to`](crate::CudaBuilder::copy_to).
    FailedToCopyPtxFile(std::io::Error),
    /// A step of the build failed.
    BuildFailed {
        /// The step, such as ``compiling `kernels` for sm_80``.
        step: String,
        /// The output of the tool that failed.
        message: String,
    },
    /// The tools for device code are missing or do not match each other. The text lists what was searched and the command
    /// to type.
    Tools(String),
    /// The crate's entries do not match the requested modules, or the launch bounds do not match the entries.
    Modules(String),
    /// A file could not be read or written.
    Io {
        /// The operation.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl CudaBuilderError {
    pub(crate) fn io(
        operation: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            operation,
            path,
            source,
        }
    }
}

impl fmt::Display for CudaBuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CratePathDoesntExist(path) => {
                write!(
                    f,
                    "crate path: a folder with a Cargo.toml required, given {}",
                    path.display()
                )
            }
            Self::FailedToCopyPtxFile(error) => write!(f, "copying the PTX file failed: {error}"),
            Self::BuildFailed { step, message } => write!(f, "{step} failed:\n{message}"),
            Self::Tools(message) => f.write_str(message),
            Self::Modules(message) => f.write_str(message),
            Self::Io {
                operation,
                path,
                source,
            } => {
                write!(f, "{operation} {} failed: {source}", path.display())
            }
        }
    }
}

impl fmt::Debug for CudaBuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for CudaBuilderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::FailedToCopyPtxFile(error) | Self::Io { source: error, .. } => Some(error),
            _ => None,
        }
    }
}
