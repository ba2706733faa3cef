//! Locks between processes.

use std::fs::{self, File};
use std::path::Path;

use crate::CudaBuilderError;

/// Holds `path` locked until it is dropped; waits while another process or thread holds it.
pub(crate) struct FileLock {
    _file: File,
}

impl FileLock {
    pub(crate) fn acquire(path: &Path) -> Result<Self, CudaBuilderError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(CudaBuilderError::io("creating", folder))?;
        }
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
