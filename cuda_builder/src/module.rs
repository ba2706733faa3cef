//! Modules: the division of entries into PTX files.

use std::path::PathBuf;

use crate::{CudaBuilderError, NvvmArch, PtxVersion};

/// A PTX module to build: a name, which becomes the file's stem, and its entries.
///
/// An entry belongs to the module that names it exactly, else to the module with the longest matching prefix. The name of an
/// entry is a prefix too, of those whose names continue with `__`: a kernel's instances, such as `fill__f32`, and further
/// kernels that a macro makes, such as `name__persistent` of `cuda_std::select_kernel!`.
///
/// ```
/// use cuda_builder::Module;
///
/// let reduce = Module::family("reduce"); // every entry that starts with `reduce_`
/// let extras = Module::new("extras").prefix("debug_").entry("fill__f32");
/// assert_eq!((reduce.name(), extras.name()), ("reduce", "extras"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    name: String,
    prefixes: Vec<String>,
    entries: Vec<String>,
}

impl Module {
    /// Creates a module without entries.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            prefixes: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Creates the module of the kernel family `name`, whose entries start with `<name>_`.
    pub fn family(name: impl Into<String>) -> Self {
        let name = name.into();
        let prefix = format!("{name}_");
        Self::new(name).prefix(prefix)
    }

    /// Adds all entries whose names start with `prefix`.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefixes.push(prefix.into());
        self
    }

    /// Adds the entry of this name, and those of its name and `__`.
    #[must_use]
    pub fn entry(mut self, name: impl Into<String>) -> Self {
        self.entries.push(name.into());
        self
    }

    /// Returns the name of the module.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns how well `entry` matches: the length of the match, where an exact name ranks above all prefixes.
    fn fit(&self, entry: &str) -> Option<usize> {
        if self.entries.iter().any(|name| name == entry) {
            return Some(usize::MAX);
        }
        let names = self.entries.iter().map(|name| format!("{name}__"));
        let prefixes = self.prefixes.iter().cloned().chain(names);
        prefixes
            .filter(|prefix| entry.starts_with(prefix))
            .map(|prefix| prefix.len())
            .max()
    }
}

/// A kernel of a module and its launch bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPoint {
    /// The name of the entry in the module.
    pub name: String,
    /// The maximum number of threads of a block; 0 if the kernel does not specify it.
    pub max_threads: u32,
    /// The minimum number of resident blocks per multiprocessor; 0 if the kernel does not specify it.
    pub min_blocks: u32,
    /// The blocks of a cluster along x, y and z; 1 each if the kernel does not specify it.
    pub cluster: [u32; 3],
}

/// A PTX module that has been built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltModule {
    /// The name of the module.
    pub name: String,
    /// The path of the PTX file.
    pub path: PathBuf,
    /// The architecture of the PTX.
    pub arch: NvvmArch,
    /// The version of the PTX.
    pub ptx_version: PtxVersion,
    /// The entries, ordered by name.
    pub entries: Vec<EntryPoint>,
}

/// Assigns every entry to its module. The result has the order of `modules`.
pub(crate) fn split(
    modules: &[Module],
    entries: &[EntryPoint],
) -> Result<Vec<Vec<EntryPoint>>, CudaBuilderError> {
    for (index, module) in modules.iter().enumerate() {
        if let Some(problem) = name_problem(&module.name) {
            return Err(CudaBuilderError::Modules(format!(
                "module `{}`: a file name without folders required, given {problem}",
                module.name
            )));
        }
        if modules[..index]
            .iter()
            .any(|other| other.name == module.name)
        {
            return Err(CudaBuilderError::Modules(format!(
                "module `{}`: different names required, given the same twice",
                module.name
            )));
        }
    }
    let mut parts = vec![Vec::new(); modules.len()];
    for entry in entries {
        let fits = modules.iter().map(|module| module.fit(&entry.name));
        let best = fits.clone().flatten().max();
        let mut fitting = fits
            .enumerate()
            .filter(|(_, fit)| fit.is_some() && *fit == best);
        match (fitting.next(), fitting.next()) {
            (Some((index, _)), None) => parts[index].push(entry.clone()),
            (None, _) => {
                return Err(CudaBuilderError::Modules(format!(
                    "entry `{}`: a module that it belongs to required, given none of {}",
                    entry.name,
                    list(modules.iter().map(Module::name))
                )));
            }
            (Some((first, _)), Some((second, _))) => {
                return Err(CudaBuilderError::Modules(format!(
                    "entry `{}`: one module required, given both `{}` and `{}`",
                    entry.name, modules[first].name, modules[second].name
                )));
            }
        }
    }
    for module in modules {
        check_all_used(module, entries)?;
    }
    Ok(parts)
}

fn name_problem(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("nothing")
    } else if name.contains(['/', '\\']) || name.starts_with('.') {
        Some("a path")
    } else {
        None
    }
}

fn check_all_used(module: &Module, entries: &[EntryPoint]) -> Result<(), CudaBuilderError> {
    let known = || list(entries.iter().map(|entry| entry.name.as_str()));
    let unused = |what: &str, text: &str| {
        CudaBuilderError::Modules(format!(
            "module `{}`: an entry that {what} `{text}` required, given {}",
            module.name,
            known()
        ))
    };
    for prefix in &module.prefixes {
        if !entries
            .iter()
            .any(|entry| entry.name.starts_with(prefix.as_str()))
        {
            return Err(unused("starts with", prefix));
        }
    }
    for name in &module.entries {
        let is_there = |entry: &EntryPoint| {
            let rest = entry.name.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
        };
        if !entries.iter().any(is_there) {
            return Err(unused("is named", name));
        }
    }
    if module.prefixes.is_empty() && module.entries.is_empty() {
        return Err(CudaBuilderError::Modules(format!(
            "module `{}`: a prefix or an entry required, given none",
            module.name
        )));
    }
    Ok(())
}

/// Lists at most eight names, in back quotes.
fn list<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = names.len();
    if count == 0 {
        return "no entry".to_owned();
    }
    let shown: Vec<String> = names.take(8).map(|name| format!("`{name}`")).collect();
    let more = if count > shown.len() {
        format!(" and {} more", count - shown.len())
    } else {
        String::new()
    };
    shown.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(names: &[&str]) -> Vec<EntryPoint> {
        names
            .iter()
            .map(|name| EntryPoint {
                name: (*name).to_owned(),
                max_threads: 0,
                min_blocks: 0,
                cluster: [1; 3],
            })
            .collect()
    }

    fn names(parts: &[Vec<EntryPoint>]) -> Vec<Vec<&str>> {
        parts
            .iter()
            .map(|part| part.iter().map(|entry| entry.name.as_str()).collect())
            .collect()
    }

    fn failure(modules: &[Module], given: &[&str]) -> String {
        split(modules, &entries(given)).unwrap_err().to_string()
    }

    #[test]
    fn families_take_their_entries() {
        let modules = [Module::family("sum"), Module::family("fill")];
        let parts = split(
            &modules,
            &entries(&["fill_a__f32", "sum_b__u8", "sum_c__f64"]),
        )
        .unwrap();
        assert_eq!(
            names(&parts),
            [vec!["sum_b__u8", "sum_c__f64"], vec!["fill_a__f32"]]
        );
    }

    #[test]
    fn exact_names_win_over_prefixes_and_long_prefixes_over_short() {
        let modules = [
            Module::family("reduce"),
            Module::family("reduce_by_key"),
            Module::new("other").entry("reduce_odd"),
        ];
        let given = ["reduce_by_key_x", "reduce_odd", "reduce_x"];
        let parts = split(&modules, &entries(&given)).unwrap();
        assert_eq!(
            names(&parts),
            [
                vec!["reduce_x"],
                vec!["reduce_by_key_x"],
                vec!["reduce_odd"]
            ]
        );
    }

    #[test]
    fn a_name_takes_what_continues_it() {
        let modules = [
            Module::new("far").entry("far").entry("near__tile"),
            Module::new("near").entry("near"),
            Module::new("other").prefix(""),
        ];
        let given = [
            "far",
            "far__persistent",
            "farther",
            "near__merge",
            "near__tile",
        ];
        let parts = split(&modules, &entries(&given)).unwrap();
        assert_eq!(
            names(&parts),
            [
                vec!["far", "far__persistent", "near__tile"],
                vec!["near__merge"],
                vec!["farther"]
            ]
        );
        assert!(failure(&modules[1..], &["far", "nearer"]).contains("is named `near`"));
    }

    #[test]
    fn an_entry_that_belongs_nowhere_is_named() {
        assert_eq!(
            failure(&[Module::family("sum")], &["sum_a", "scan_b"]),
            "entry `scan_b`: a module that it belongs to required, given none of `sum`"
        );
    }

    #[test]
    fn an_entry_that_belongs_twice_is_named() {
        let modules = [
            Module::new("a").prefix("sum_"),
            Module::new("b").prefix("sum_"),
        ];
        assert_eq!(
            failure(&modules, &["sum_x"]),
            "entry `sum_x`: one module required, given both `a` and `b`"
        );
    }

    #[test]
    fn a_prefix_or_a_name_that_fits_nothing_is_named() {
        assert_eq!(
            failure(&[Module::family("sum"), Module::family("scan")], &["sum_a"]),
            "module `scan`: an entry that starts with `scan_` required, given `sum_a`"
        );
        assert_eq!(
            failure(&[Module::family("sum").entry("gone")], &["sum_a"]),
            "module `sum`: an entry that is named `gone` required, given `sum_a`"
        );
        assert!(failure(&[Module::new("empty")], &[]).contains("a prefix or an entry required"));
    }

    #[test]
    fn names_that_are_no_file_stems_are_refused() {
        assert!(failure(&[Module::family("../x")], &[]).contains("given a path"));
        assert!(failure(&[Module::family("")], &[]).contains("given nothing"));
        let twice = [Module::family("a"), Module::family("a")];
        assert!(failure(&twice, &["a_x"]).contains("the same twice"));
    }

    #[test]
    fn long_lists_are_cut() {
        let many: Vec<String> = (0..10).map(|i| format!("e{i}")).collect();
        let text = list(many.iter().map(String::as_str));
        assert!(text.ends_with("`e7` and 2 more"), "{text}");
    }
}
