//! The peers: opened at run time where they are installed, and listed as missing where they are not.

pub mod cub;

use std::cell::OnceCell;
use std::path::PathBuf;

use warpwright::{Device, Element, Vector};

use super::{Absent, Contender, Result, Rival, pointer};
use crate::record::Peer;
use cub::Cub;

/// Which peers a run has.
pub struct Peers {
    device: Device,
    wanted: bool,
    cub: OnceCell<Result<Cub, String>>,
}

impl Peers {
    /// All peers, or none.
    pub fn new(device: Device, wanted: bool) -> Self {
        Self {
            device,
            wanted,
            cub: OnceCell::new(),
        }
    }

    /// Whether there are to be peers.
    pub fn wanted(&self) -> bool {
        self.wanted
    }

    /// CUB, compiled.
    pub fn cub(&self) -> Result<&Cub, Absent> {
        self.cub
            .get_or_init(|| Cub::compile(&self.device))
            .as_ref()
            .map_err(|reason| Absent::Missing(reason.clone()))
    }

    /// The peers that were asked for, and what came of it.
    pub fn list(&self) -> Vec<Peer> {
        if !self.wanted {
            return Vec::new();
        }
        vec![told(
            "CUB",
            self.cub
                .get_or_init(|| Cub::compile(&self.device))
                .as_ref()
                .map(Cub::version),
        )]
    }

    /// The peers and where they would be taken from; opens nothing and compiles nothing.
    pub fn survey() -> Vec<Peer> {
        vec![told(
            "CUB",
            cub::compiler()
                .as_ref()
                .map(|path| format!("to be compiled by {}", path.display())),
        )]
    }
}

fn told(name: &str, found: Result<String, &String>) -> Peer {
    let (found, missing) = match found {
        Ok(text) => (Some(text), None),
        Err(reason) => (None, Some(reason.clone())),
    };
    Peer {
        name: name.to_owned(),
        found,
        missing,
    }
}

/// A peer in a case, from what makes it ready.
pub fn rival<'a>(
    name: &'static str,
    contender: Result<Box<dyn Contender + 'a>, Absent>,
) -> Rival<'a> {
    Rival {
        name,
        ratio_aim: None,
        contender,
    }
}

impl From<Box<dyn std::error::Error>> for Absent {
    fn from(error: Box<dyn std::error::Error>) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<warpwright::Error> for Absent {
    fn from(error: warpwright::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Device memory that a peer works in.
pub struct Room {
    /// The memory.
    pub memory: Vector<u8>,
    /// Its size in bytes, which may be nought.
    pub bytes: usize,
}

impl Room {
    /// Memory of so many bytes.
    ///
    /// # Errors
    /// What the device reports.
    pub fn new(device: &Device, bytes: usize) -> Result<Self> {
        Ok(Self {
            memory: device.zeros(bytes.max(1))?,
            bytes,
        })
    }

    /// Its address, which is never null.
    pub fn pointer(&mut self) -> u64 {
        pointer(&mut self.memory)
    }
}

/// A vector's bytes as elements of another type.
///
/// # Errors
/// If there are not whole elements.
pub fn read<T: Element>(bytes: &[u8]) -> Result<Vec<T>> {
    if bytes.len() % size_of::<T>() != 0 {
        return Err(format!(
            "whole elements of {} bytes required, given {} bytes",
            size_of::<T>(),
            bytes.len()
        )
        .into());
    }
    Ok(bytes
        .chunks_exact(size_of::<T>())
        .map(bytemuck::pod_read_unaligned)
        .collect())
}

/// The first file of that name in the folders of `PATH` and of a CUDA toolkit.
fn toolkit(folder: &str, name: &str) -> Option<PathBuf> {
    let homes = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from);
    let homes = homes
        .chain(["/usr/local/cuda".into()])
        .map(|home| home.join(folder));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    path.into_iter()
        .chain(homes)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}
