//! The peers, opened at run time if they are installed, and listed as missing otherwise.

pub mod cub;
pub mod cublas;
pub mod cublaslt;
pub mod cudnn;
pub mod curand;
pub mod frameworks;
mod library;
pub mod npp;
pub mod ways;

use std::cell::OnceCell;
use std::ffi::c_uint;
use std::path::PathBuf;

use system::environment::variable;
use warpwright::{Device, Vector};

use super::{Absent, Contender, Result, Rival, pointer};
use crate::record::Peer;
use cub::Cub;
use cublas::Cublas;
use cublaslt::CublasLt;
use cudnn::Cudnn;
use curand::Curand;
use frameworks::Frameworks;
use npp::Npp;

/// Makes the peers that are libraries, each with a field and a method that opens it.
macro_rules! libraries {
    ($($(#[$doc:meta])* $field:ident: $library:ident, $name:literal;)*) => {
        /// The peers of a run.
        pub struct Peers {
            device: Device,
            wanted: bool,
            $($field: OnceCell<Result<$library, String>>,)*
            frameworks: OnceCell<Result<Frameworks, String>>,
        }

        impl Peers {
            /// Makes all peers, or none.
            pub fn new(device: Device, wanted: bool) -> Self {
                Self {
                    device,
                    wanted,
                    $($field: OnceCell::new(),)*
                    frameworks: OnceCell::new(),
                }
            }

            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// Returns an error if it is missing.
                pub fn $field(&self) -> Result<&$library, Absent> {
                    let open = || $library::open(&self.device).map_err(|error| error.to_string());
                    opened(self.$field.get_or_init(open))
                }
            )*

            /// Returns the libraries, and whether each could be opened.
            fn libraries(&self) -> Vec<Peer> {
                vec![$(told($name, self.$field().map(|it| it.version.clone())),)*]
            }
        }
    };
}

libraries! {
    /// Returns CUB, compiled.
    cub: Cub, "CUB";
    /// Returns cuBLAS, opened.
    cublas: Cublas, "cuBLAS";
    /// Returns cuBLASLt, opened.
    cublaslt: CublasLt, "cuBLASLt";
    /// Returns cuDNN, opened.
    cudnn: Cudnn, "cuDNN";
    /// Returns cuRAND, opened.
    curand: Curand, "cuRAND";
    /// Returns NPP, opened.
    npp: Npp, "NPP";
}

impl Peers {
    /// Returns whether the run has peers.
    pub fn wanted(&self) -> bool {
        self.wanted
    }

    /// Returns PyTorch and CuPy, started.
    ///
    /// # Errors
    /// Returns an error if they are missing.
    pub fn frameworks(&self) -> Result<&Frameworks, Absent> {
        opened(self.frameworks.get_or_init(Frameworks::start))
    }

    /// Returns the frameworks with these names as rivals in a case, or nothing if the run has no peers.
    pub fn framework_rivals<'a>(
        &self,
        names: &[(&'static str, Option<f64>)],
        request: &serde_json::Value,
    ) -> Vec<Rival<'a>> {
        let names = names.iter().filter(|_| self.wanted);
        names
            .map(|&(name, ratio_aim)| {
                let contender = self
                    .frameworks()
                    .and_then(|frameworks| frameworks.case(name, request.clone()));
                Rival {
                    name: name.into(),
                    ratio_aim,
                    way: None,
                    contender: contender.map(|it| it as Box<dyn Contender + 'a>),
                }
            })
            .collect()
    }

    /// Returns the peers that were used, and whether each could be opened.
    pub fn list(&self) -> Vec<Peer> {
        if !self.wanted {
            return Vec::new();
        }
        let mut peers = self.libraries();
        peers.extend(frameworks::NAMES.map(|name| {
            let version = self.frameworks().map_err(|absent| absent.to_string());
            told(
                name,
                version.and_then(|frameworks| frameworks.version(name)),
            )
        }));
        peers
    }
}

/// Returns the peers and where they would be found. The function compiles nothing and starts nothing.
pub fn survey() -> Vec<Peer> {
    let compiled = cub::compiler().map(|path| format!("to be compiled by {}", path.display()));
    let asked =
        || frameworks::interpreter().map(|path| format!("to be asked of {}", path.display()));
    let mut peers = vec![
        told("CUB", compiled),
        told("cuBLAS", library::find(&cublas::NAMES)),
        told("cuDNN", library::find(&cudnn::NAMES)),
        told("cuRAND", library::find(&curand::NAMES)),
        told("NPP", library::find(&npp::NAMES)),
    ];
    peers.extend(frameworks::NAMES.map(|name| told(name, asked())));
    peers
}

fn opened<T>(peer: &Result<T, String>) -> Result<&T, Absent> {
    peer.as_ref()
        .map_err(|reason| Absent::Missing(reason.clone()))
}

fn told(name: &str, found: Result<String, impl ToString>) -> Peer {
    let (found, missing) = match found {
        Ok(text) => (Some(text), None),
        Err(reason) => (None, Some(reason.to_string())),
    };
    Peer {
        name: name.to_owned(),
        found,
        missing,
    }
}

/// Returns an error for a code of a library other than 0.
fn check(library: &str, call: &str, code: c_uint) -> Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(format!("{call}: status {code} of {library}").into()),
    }
}

/// Makes a peer of a case from the function that prepares it.
pub fn rival<'a>(
    name: &'static str,
    contender: Result<Box<dyn Contender + 'a>, Absent>,
) -> Rival<'a> {
    Rival {
        name: name.into(),
        ratio_aim: None,
        way: None,
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

/// Device memory for a peer's workspace.
pub struct Room {
    /// The memory.
    pub memory: Vector<u8>,
    /// The size in bytes, which may be zero.
    pub bytes: usize,
}

impl Room {
    /// Allocates `bytes` bytes.
    ///
    /// # Errors
    /// Returns the device's error.
    pub fn new(device: &Device, bytes: usize) -> Result<Self> {
        Ok(Self {
            memory: device.zeros(bytes.max(1))?,
            bytes,
        })
    }

    /// Returns the address, which is never null.
    pub fn pointer(&mut self) -> u64 {
        pointer(&mut self.memory)
    }
}

/// Returns the folders of CUDA toolkits.
fn homes() -> impl Iterator<Item = PathBuf> {
    let variables = [variable("CUDA_HOME"), variable("CUDA_PATH")]
        .into_iter()
        .flatten()
        .map(PathBuf::from);
    variables.chain(["/usr/local/cuda".into()])
}

/// Returns the first file with that name in the folders of `PATH`, and in this folder of a CUDA toolkit.
pub(super) fn toolkit(folder: &str, name: &str) -> Option<PathBuf> {
    let path = variable("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path)
        .chain(homes().map(|home| home.join(folder)))
        .collect();
    folders
        .into_iter()
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_without_a_gpu_is_missing_with_a_reason() {
        let peers = Peers::new(Device::cpu(), true);
        let reasons = [
            peers.cublas().err(),
            peers.cudnn().err(),
            peers.curand().err(),
            peers.npp().err(),
        ];
        for reason in reasons {
            match reason {
                Some(Absent::Missing(reason)) => assert_eq!(reason, "a CUDA device required"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn the_survey_tells_of_every_peer_where_it_is_or_why_it_is_missing() {
        let peers = survey();
        let names: Vec<&str> = peers.iter().map(|peer| peer.name.as_str()).collect();
        let libraries = ["CUB", "cuBLAS", "cuDNN", "cuRAND", "NPP"];
        assert_eq!(names, [&libraries[..], &frameworks::NAMES].concat());
        for peer in peers {
            let said = peer.found.or(peer.missing);
            assert!(said.is_some_and(|text| !text.is_empty()), "{}", peer.name);
        }
    }
}
