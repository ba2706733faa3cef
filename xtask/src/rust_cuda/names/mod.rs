//! Reads the public names of a crate with their signatures from its sources. The names of Rust-CUDA's crates are written to a
//! file of the workspace, and this workspace's are compared with them.
//!
//! Names are followed through `pub use` inside a crate. A signature is written without lifetimes, parameter names and the
//! modules before a type, and with its bounds in order. Items made by macros have no signature here: a name counts as present
//! if the macro's text contains it.

mod follow;
mod reader;
mod signature;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::Result;

/// The signatures of each public name. There are several if the crate has one for each of several targets.
pub type Names = BTreeMap<String, BTreeSet<String>>;

/// The text in place of a signature for a name from another crate.
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

/// The names of the members of a type or trait, and their signatures.
type Members = Vec<(String, String)>;

/// A name in a module: its item, and the item's members.
#[derive(Clone)]
struct Named {
    signature: String,
    members: Members,
}

struct Use {
    public: bool,
    path: Vec<String>,
    /// The new name; `None` for `*`.
    name: Option<String>,
}

#[derive(Default)]
struct Module {
    path: Vec<String>,
    items: Vec<(String, bool, Named)>,
    modules: Vec<(String, bool, usize)>,
    uses: Vec<Use>,
    /// The type's path, and the members that the block adds.
    impls: Vec<(Vec<String>, Members)>,
}

#[derive(Default)]
struct Reader {
    modules: Vec<Module>,
    /// Macros that are at the root, wherever they are defined.
    exported: Vec<String>,
    in_macros: BTreeSet<String>,
}

#[cfg(test)]
mod tests;
