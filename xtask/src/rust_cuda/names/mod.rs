//! The public names of a crate with their signatures, read from its sources: of Rust-CUDA's crates into a file of the
//! workspace, and of this workspace's to be held against it.
//!
//! Names are followed through `pub use` inside a crate. A signature is written without lifetimes, names of parameters and the
//! modules in front of a type; bounds are in order. What a macro makes has no signature here: its name is taken to be there
//! where the macro's text has it.

mod follow;
mod reader;
mod signature;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::Result;

/// The signatures of each public name; several where the crate has one for each of several targets.
pub type Names = BTreeMap<String, BTreeSet<String>>;

/// What a name that comes from another crate has in the place of a signature.
pub const FROM_ELSEWHERE: &str = "use";

/// A crate's names, and the words in its macros.
#[derive(Default)]
pub struct Crate {
    pub names: Names,
    pub in_macros: BTreeSet<String>,
}

/// Reads the crate whose root is this file.
pub fn read(root: &Path) -> Result<Crate> {
    let mut reader = Reader::default();
    let top = reader.file(root, &[], root.parent().unwrap_or(root))?;
    for name in std::mem::take(&mut reader.exported) {
        let named = Named {
            signature: "macro".to_owned(),
            members: Vec::new(),
        };
        reader.modules[top].items.push((name, true, named));
    }
    reader.attach();
    let mut found = Crate::default();
    let mut path = Vec::new();
    reader.list(top, &mut path, &mut found.names, &mut Vec::new());
    found.in_macros = reader.in_macros;
    Ok(found)
}

/// Names of what belongs to a type or trait, and their signatures.
type Members = Vec<(String, String)>;

/// A name in a module: what it is, and what belongs to it.
#[derive(Clone)]
struct Named {
    signature: String,
    members: Members,
}

struct Use {
    public: bool,
    path: Vec<String>,
    /// The name that it gets; none for `*`.
    name: Option<String>,
}

#[derive(Default)]
struct Module {
    path: Vec<String>,
    items: Vec<(String, bool, Named)>,
    modules: Vec<(String, bool, usize)>,
    uses: Vec<Use>,
    /// The type's name, and what the block adds.
    impls: Vec<(Vec<String>, Members)>,
}

#[derive(Default)]
struct Reader {
    modules: Vec<Module>,
    /// Macros that are at the root, wherever they stand.
    exported: Vec<String>,
    in_macros: BTreeSet<String>,
}

#[cfg(test)]
mod tests;
