//! Shared libraries that are opened at run time.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use libloading::Library;

use super::{frameworks, homes};

/// Opens the first of these libraries that is found: by the dynamic linker's rules, then in a CUDA toolkit, then among Python's
/// packages.
///
/// # Errors
/// Returns an error if none could be opened.
pub fn open(names: &[&str]) -> Result<(Library, String), String> {
    let mut reason = None;
    for name in names {
        let paths = std::iter::once(PathBuf::from(name)).chain(places(name));
        for path in paths {
            // SAFETY: these are NVIDIA's libraries, whose constructors initialize only their own state.
            match unsafe { Library::new(&path) } {
                Ok(library) => return Ok((library, path.display().to_string())),
                Err(error) => reason = reason.or(Some(error.to_string())),
            }
        }
    }
    Err(reason.unwrap_or_else(|| "no library named".to_owned()))
}

/// Makes a struct of a library's functions. `open` looks all of them up once, in a library that is never closed: its parts may
/// keep what they loaded until the process ends. A function returns the given status unless its own result is given.
macro_rules! functions {
    (@result $status:ty) => { $status };
    (@result $status:ty, $result:ty) => { $result };
    (
        $(#[$of:meta])* $functions:ident -> $status:ty:
        $($field:ident = $symbol:literal ($($argument:ty),*) $(-> $result:ty)?;)*
    ) => {
        $(#[$of])*
        struct $functions {
            $($field: unsafe extern "C" fn($($argument),*) -> functions!(@result $status $(, $result)?),)*
        }

        impl $functions {
            /// Opens the first library that is found by these names, and returns its functions and its path.
            fn open(names: &[&str]) -> super::super::Result<(Self, String)> {
                let (library, path) = super::library::open(names)?;
                let library = std::mem::ManuallyDrop::new(library);
                // SAFETY: the signatures are those of the library's headers; the library is never closed.
                let functions = unsafe {
                    Self {
                        $($field: *library.get(concat!($symbol, "\0").as_bytes())?,)*
                    }
                };
                Ok((functions, path))
            }
        }
    };
}
pub(super) use functions;

/// Returns the path of the first of these libraries that can be opened.
///
/// # Errors
/// Returns an error if none can.
pub fn find(names: &[&str]) -> Result<String, String> {
    open(names).map(|(_, path)| path)
}

/// Returns the files with that name in the folders of a toolkit and of Python's packages.
fn places(name: &str) -> Vec<PathBuf> {
    let toolkits = homes().flat_map(|home| {
        [
            home.join("lib64").join(name),
            home.join("targets/x86_64-linux/lib").join(name),
        ]
    });
    let packages = packages()
        .into_iter()
        .map(|folder| folder.join("lib").join(name));
    toolkits
        .chain(packages)
        .filter(|path| path.is_file())
        .collect()
}

/// Returns the folders `nvidia/*` of Python's packages.
fn packages() -> Vec<PathBuf> {
    let Ok(python) = frameworks::interpreter() else {
        return Vec::new();
    };
    let said = Command::new(python)
        .args([
            "-c",
            "import sysconfig; print(sysconfig.get_paths()['purelib'])",
        ])
        .output();
    let Ok(said) = said else { return Vec::new() };
    let folder =
        PathBuf::from(OsString::from(String::from_utf8_lossy(&said.stdout).trim())).join("nvidia");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
