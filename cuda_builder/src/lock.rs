//! Locks between processes.

use std::fs::File;
use std::path::Path;

use crate::CudaBuilderError;

/// A lock on the file `path`, in an existing folder, held until it is dropped. Acquiring it waits while another process or
/// thread holds it.
pub(crate) struct FileLock {
    _file: File,
}

impl FileLock {
    pub(crate) fn acquire(path: &Path) -> Result<Self, CudaBuilderError> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(CudaBuilderError::io("opening the lock", path))?;
        file.lock().map_err(CudaBuilderError::io("locking", path))?;
        Ok(Self { _file: file })
    }
}
