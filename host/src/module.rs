//! PTX modules: the library's own and the user's.

use std::{
    env, fs,
    path::Path,
    sync::{Arc, OnceLock},
};

use cuda_std::{constant::ConstantValues, kernel::KernelDescriptor};

#[cfg(feature = "cuda")]
use crate::cuda::LoadedModules;
use crate::{
    architecture,
    device::Device,
    error::{Error, InvalidKind, Result},
    ptx,
};

/// Some kernels of one of the library's PTX modules, as `build.rs` packs them.
struct Packed {
    arch: &'static str,
    /// The kernels' names.
    kernels: &'static [&'static str],
    /// PTX with these kernels and all that they need, deflated.
    text: &'static [u8],
}

/// The library's PTX.
static OWN: &[Packed] = include!(concat!(env!("OUT_DIR"), "/modules.rs"));

/// A PTX module of a user's own kernels, for [`Device::launch`](crate::Device::launch).
///
/// A module can be used on every device. On a CUDA device the driver compiles it at its first launch there. On the CPU
/// executor a launch runs the kernel's Rust function, and the module is only checked to contain the kernel.
#[derive(Debug, Clone)]
pub struct Module {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    ptx: String,
    entries: Vec<ptx::Entry>,
    #[cfg(feature = "cuda")]
    loaded: LoadedModules,
}

impl Module {
    /// Makes a module from PTX text, as `cuda_builder` writes it.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the text is not PTX, that is, if it has no `.version` line or no kernel.
    pub fn from_ptx(ptx: impl Into<String>) -> Result<Self> {
        let ptx = ptx.into();
        if !ptx
            .lines()
            .any(|line| line.trim_start().starts_with(".version"))
        {
            return Err(Error::invalid(
                InvalidKind::Module,
                "Module::from_ptx",
                "PTX text with a `.version` line",
                format!("{} bytes without one", ptx.len()),
            ));
        }
        let entries = ptx::entries(&ptx);
        if entries.is_empty() {
            return Err(Error::invalid(
                InvalidKind::Module,
                "Module::from_ptx",
                "a kernel (`.entry`)",
                "none",
            ));
        }
        Ok(Self {
            inner: Arc::new(Inner {
                ptx,
                entries,
                #[cfg(feature = "cuda")]
                loaded: LoadedModules::default(),
            }),
        })
    }

    /// Returns the PTX text.
    pub fn ptx(&self) -> &str {
        &self.inner.ptx
    }

    /// Returns the names of the module's kernels, in the text's order.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.inner.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Checks that the module contains `kernel`, with the parameters that this program passes to it.
    pub(crate) fn require(&self, kernel: &KernelDescriptor, operation: &'static str) -> Result<()> {
        let mut entries = self.inner.entries.iter();
        match entries.find(|entry| entry.name == kernel.name) {
            Some(entry) => check_params(entry, kernel, operation),
            None => Err(Error::UnknownKernel {
                operation,
                kernel: kernel.name.to_owned(),
                hint: "; is the PTX built from the crate that this program was compiled with?",
            }),
        }
    }

    /// Returns the module as drivers have loaded it.
    #[cfg(feature = "cuda")]
    pub(crate) fn loaded(&self) -> &LoadedModules {
        &self.inner.loaded
    }
}

impl Device {
    /// Sets a constant-memory table that `module` declares, for later launches of its kernels:
    /// `device.set_constant(&module, WEIGHTS.with(&weights))`. If there are fewer values than the table has elements, they
    /// overwrite its start.
    ///
    /// Work that this handle queued before sees the old values, and work that it queues later sees the new ones. Other
    /// handles on the same device must be [synchronized](Device::synchronize) with it. On the CPU executor a process has
    /// one table, which all handles share. A [graph](Device::capture) reads what the table holds when the graph is launched,
    /// not what it held when the launch was captured. Queues the update and does not wait.
    /// This call cannot be captured itself.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are more values than the table has elements, and while this thread captures;
    /// [`Error::Driver`] if the module has no such table.
    pub fn set_constant(&self, module: &Module, values: ConstantValues<'_>) -> Result<()> {
        if values.len() > values.capacity() {
            return Err(Error::invalid(
                InvalidKind::TooLarge,
                "set_constant",
                format!(
                    "at most {} elements for `{}`",
                    values.capacity(),
                    values.name()
                ),
                format!("{}", values.len()),
            ));
        }
        self.executor.set_constant(module, &values)
    }

    /// Compiles `module` for this device now, rather than at its first launch. Waits for the compiler, and queues no work.
    ///
    /// # Errors
    /// [`Error::Driver`] with the compiler's message if it does not compile.
    pub fn load(&self, module: &Module) -> Result<()> {
        self.executor.load(module)
    }
}

/// Checks that the kernel's parameters in the PTX have the sizes of those that this program passes. PTX from another
/// version of the source could read past them.
pub(crate) fn check_params(
    entry: &ptx::Entry,
    kernel: &KernelDescriptor,
    operation: &'static str,
) -> Result<()> {
    // A parameter of less than 32 bits may have been widened to 32. Each passed value takes at least 8 bytes.
    let fits = |(wanted, given): (usize, usize)| wanted == given || (wanted < 4 && given == 4);
    let wanted: Vec<usize> = kernel
        .params
        .iter()
        .flat_map(|raw| raw.iter())
        .map(|raw| raw.size)
        .collect();
    let given = entry.params.as_deref();
    if given.is_some_and(|given| {
        given.len() == wanted.len() && wanted.iter().copied().zip(given.iter().copied()).all(fits)
    }) {
        return Ok(());
    }
    Err(Error::invalid(
        InvalidKind::Module,
        operation,
        format!(
            "a kernel `{}` with parameters of {wanted:?} bytes",
            kernel.name
        ),
        match given {
            Some(given) => {
                format!("one with {given:?} in the PTX: it is built from another source")
            }
            None => "one in the PTX whose parameters cannot be told".to_owned(),
        },
    ))
}

/// Returns the PTX of one of the library's kernels for a device of this compute capability: the kernel, and what it shares
/// with the other kernels of its module. The driver then compiles one kernel, not a family.
///
/// If `WARPWRIGHT_PTX_DIR` names a folder, PTX is taken from its files `<architecture>/<family>.ptx` and
/// `<architecture>/<family>_ladder.ptx` instead of what is compiled in, machine code included. This serves profilers and
/// sanitizers, which need source lines in the PTX, and experiments with kernels without a new build. The variable is read
/// once, at the first launch. A kernel that is missing in the folder is not looked for elsewhere. With raised privileges the
/// variable is ignored.
pub(crate) fn own_kernel(name: &str, capability: (u32, u32)) -> Option<String> {
    match given() {
        None => packed_kernel(name, capability),
        Some(given) => given_kernel(given, name, capability),
    }
}

/// The architecture of a module of each family, and whether it is specific.
pub(crate) type Architectures = Vec<(&'static str, (u32, bool))>;

/// Returns the architecture of the newest module from which [`own_kernel`] takes kernels, and whether it is specific, for each
/// family that has one that runs on a device of this compute capability.
#[cfg_attr(not(feature = "cuda"), allow(dead_code))]
pub(crate) fn own_architectures(capability: (u32, u32)) -> Architectures {
    let modules: Vec<(&str, &str)> = match given() {
        // A kernel's name begins with its family's name, and the kernels of a group belong to one family.
        None => OWN
            .iter()
            .filter_map(|packed| Some((packed.arch, *packed.kernels.first()?)))
            .collect(),
        Some(given) => given
            .iter()
            .map(|(arch, family, _)| (&**arch, &**family))
            .collect(),
    };
    let families = warpwright_gpu::FAMILIES.iter();
    families
        .filter_map(|family| {
            let of_family = modules.iter().filter(|(_, name)| {
                name.strip_prefix(family.name)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
            });
            let newest = of_family
                .filter_map(|(arch, _)| runs_on(arch, capability))
                .max()?;
            Some((family.name, newest))
        })
        .collect()
}

/// Returns the machine code of one of the library's kernels for a device of this compute capability, if there is any.
/// Returns `None` if `WARPWRIGHT_PTX_DIR` names a folder of PTX.
#[cfg(feature = "cuda")]
pub(crate) fn own_code(name: &str, capability: (u32, u32)) -> Option<crate::code::Code> {
    match given() {
        None => crate::code::Code::of(name, capability),
        Some(_) => None,
    }
}

/// Returns the modules in the folder that `WARPWRIGHT_PTX_DIR` names, or `None` if it is not set.
fn given() -> Option<&'static [Given]> {
    static GIVEN: OnceLock<Option<Vec<Given>>> = OnceLock::new();
    let given = GIVEN.get_or_init(|| {
        let folder = system::environment::variable("WARPWRIGHT_PTX_DIR")?;
        Some(modules_in(Path::new(&folder)))
    });
    given.as_deref()
}

/// A module's architecture, family and text.
type Given = (String, String, String);

/// Returns one of the compiled-in kernels, of the newest architecture that the device runs.
pub(crate) fn packed_kernel(name: &str, capability: (u32, u32)) -> Option<String> {
    let (_, packed) = OWN
        .iter()
        .filter(|packed| packed.kernels.contains(&name))
        .filter_map(|packed| Some((runs_on(packed.arch, capability)?, packed)))
        .max_by_key(|(arch, _)| *arch)?;
    let text = miniz_oxide::inflate::decompress_to_vec(packed.text).ok()?;
    ptx::slice(std::str::from_utf8(&text).ok()?, name)
}

/// Returns the names of the compiled-in kernels.
#[cfg(all(test, feature = "cuda"))]
pub(crate) fn packed_names() -> impl Iterator<Item = &'static str> {
    OWN.iter().flat_map(|packed| packed.kernels.iter().copied())
}

/// Returns one kernel, from the newest of the modules with it that the device runs. A family has one module for `best`, and
/// one for its ladder, `<family>_ladder`.
fn given_kernel(modules: &[Given], name: &str, capability: (u32, u32)) -> Option<String> {
    let (_, kernel) = modules
        .iter()
        .filter(|(_, module, _)| {
            let family = module.strip_suffix("_ladder").unwrap_or(module);
            name.strip_prefix(family)
                .is_some_and(|rest| rest.starts_with('_'))
        })
        .filter_map(|(arch, _, text)| Some((runs_on(arch, capability)?, ptx::slice(text, name)?)))
        .max_by_key(|(arch, _)| *arch)?;
    Some(kernel)
}

/// Returns the modules in a folder, `<architecture>/<family>.ptx`, or none if it cannot be read.
fn modules_in(folder: &Path) -> Vec<Given> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let stem = |path: &Path| Some(path.file_stem()?.to_str()?.to_owned());
    entries(folder)
        .flat_map(|arch| entries(&arch.path()).map(move |file| (arch.path(), file.path())))
        .filter(|(_, file)| file.extension().is_some_and(|extension| extension == "ptx"))
        .filter_map(|(arch, file)| {
            Some((stem(&arch)?, stem(&file)?, fs::read_to_string(&file).ok()?))
        })
        .collect()
}

/// Returns the architecture's number if a device of this compute capability runs its PTX: `sm_80` runs on all devices that
/// are not older, `sm_90a` on 9.0 only.
fn runs_on(arch: &str, (major, minor): (u32, u32)) -> Option<(u32, bool)> {
    let (number, exact) = architecture::parse(arch)?;
    let device = major.saturating_mul(10).saturating_add(minor);
    (if exact {
        device == number
    } else {
        device >= number
    })
    .then_some((number, exact))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
.version 7.0
.target sm_80
.address_size 64

.extern .shared .align 16 .b8 dynamic[];
	// .globl	family_a__f32 // -- Begin function family_a__f32
                                        // @family_a__f32
.visible .entry family_a__f32(
	.param .u64 family_a__f32_param_0
)
.maxntid 256, 1, 1
{
	{ .shared .align 16 .b8 array[4]; }
	ret;
}
.visible .entry family_a(
	.param .u64 family_a_param_0
)
{
	ret;
}
";

    #[test]
    fn a_slice_is_the_shared_items_and_one_kernel() {
        let text = ptx::slice(TEXT, "family_a__f32").unwrap();
        assert!(text.contains(".extern .shared"));
        assert!(text.contains("array[4]"));
        assert!(!text.contains("family_a("));
        // Comments about other kernels are left out too.
        let other = ptx::slice(TEXT, "family_a").unwrap();
        assert!(!other.contains("family_a__f32") && !other.contains("//"));
        let text = ptx::slice(TEXT, "family_a").unwrap();
        assert!(text.contains(".version 7.0"));
        assert!(!text.contains("family_a__f32"));
        assert_eq!(ptx::slice(TEXT, "family_b"), None);
    }

    #[test]
    fn every_family_has_a_module_whose_architecture_the_tables_are_read_for() {
        for capability in [(7, 5), (9, 0), (12, 0)] {
            let found = own_architectures(capability);
            let families = warpwright_gpu::FAMILIES.iter();
            // These have kernels with instructions of 8.0 or of 9.0, and one of 9.0 alone.
            let newest = |name| match name {
                "scan" | "select" | "sort" if capability >= (8, 0) => (80, false),
                "gemm" if capability >= (9, 0) => (90, capability == (9, 0)),
                _ => (75, false),
            };
            let expected: Vec<_> = families
                .map(|family| (family.name, newest(family.name)))
                .collect();
            assert_eq!(found, expected, "{capability:?}");
        }
        assert!(own_architectures((7, 0)).is_empty());
    }

    #[test]
    fn an_architecture_runs_on_later_devices_and_a_specific_one_on_its_own() {
        assert!(runs_on("sm_80", (9, 0)) > runs_on("sm_75", (9, 0)));
        assert!(runs_on("sm_90a", (9, 0)) > runs_on("sm_80", (9, 0)));
        assert_eq!(runs_on("sm_90a", (10, 0)), None);
        assert_eq!(runs_on("sm_80", (7, 5)), None);
        assert!(runs_on("sm_75", (12, 0)).is_some());
        assert!(runs_on("sm_75", (u32::MAX, u32::MAX)).is_some());
        assert_eq!(runs_on("sm_90a", (u32::MAX, 0)), None);
    }

    /// Returns the committed modules that this build has: their text, and the compute capability that they are for.
    fn committed() -> Vec<(String, (u32, u32))> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx");
        let has = |name: &str| cfg!(feature = "ladder") || !name.ends_with("_ladder");
        let modules = modules_in(&folder).into_iter();
        modules
            .filter(|(_, name, _)| has(name))
            .map(|(arch, _, text)| {
                let (number, _) = architecture::parse(&arch).unwrap();
                (text, (number / 10, number % 10))
            })
            .collect()
    }

    #[test]
    fn every_committed_kernel_is_unpacked_as_it_is() {
        let mut kernels = 0;
        let committed = committed();
        if committed.is_empty() {
            // This is a package, which has an archive in place of the folder. `cargo xtask package` compares the two.
            assert!(
                Path::new(env!("CARGO_MANIFEST_DIR"))
                    .join("ptx.tar.zst")
                    .exists()
            );
            return;
        }
        for (text, capability) in &committed {
            let (shared, list) = ptx::split(text);
            for (name, kernel) in list {
                let expected = format!("{shared}{kernel}");
                assert_eq!(packed_kernel(name, *capability), Some(expected), "{name}");
                assert_eq!(packed_kernel(name, (7, 0)), None, "{name}");
                kernels += 1;
            }
        }
        let packed: usize = OWN.iter().map(|packed| packed.kernels.len()).sum();
        assert_eq!(kernels, packed);
        // Groups of several kernels compress to a fifth of the text, because the kernels are alike.
        let bytes: usize = OWN.iter().map(|packed| packed.text.len()).sum();
        let text: usize = committed.iter().map(|(text, _)| text.len()).sum();
        assert!(5 * bytes < text, "{bytes} bytes packed, of {text}");
        assert_eq!(packed_kernel("family_a", (9, 0)), None);
    }

    #[test]
    fn modules_are_found_in_a_folder() {
        let folder = env::temp_dir().join(format!("warpwright-modules-{}", std::process::id()));
        let write = |path: &str| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, TEXT).unwrap();
        };
        write("sm_75/family.ptx");
        write("sm_90a/family.ptx");
        write("sm_75/family.ll");
        write("family.ptx");
        let mut modules = modules_in(&folder);
        fs::remove_dir_all(&folder).unwrap();
        modules.sort();
        let module = |arch: &str| (arch.to_owned(), "family".to_owned(), TEXT.to_owned());
        assert_eq!(modules, [module("sm_75"), module("sm_90a")]);
        assert_eq!(modules_in(&folder), []);

        let kernel = |name, capability| given_kernel(&modules, name, capability);
        assert!(kernel("family_a", (7, 5)).is_some());
        assert_eq!(kernel("family_b", (7, 5)), None);
        assert_eq!(kernel("family_a", (7, 0)), None);
    }

    #[test]
    fn parameters_are_read() {
        let params = |list: &str| {
            let text = format!(".visible .entry k({list})\n{{\n\tret;\n}}\n");
            let entries = ptx::entries(&text);
            assert_eq!((entries.len(), entries[0].name.as_str()), (1, "k"));
            entries[0].params.clone()
        };
        assert_eq!(params(""), Some(vec![]));
        assert_eq!(
            params("\n\t.param .u64 .ptr .align 1 a,\n\t.param .u8 b\n"),
            Some(vec![8, 1])
        );
        assert_eq!(
            params(
                ".param .u64 .ptr .global .align 16 a, .param .align 4 .b8 k_param_1[12], .param .f32 c"
            ),
            Some(vec![8, 12, 4])
        );
        for bad in [
            ".param a",
            ".param .u64 a,",
            ".reg .u64 a",
            ".param .b8 a[x]",
        ] {
            assert_eq!(params(bad), None, "{bad}");
        }
        assert_eq!(ptx::entries(".entry k\n{ ret; }\n")[0].params, Some(vec![]));
        assert_eq!(ptx::entries(".entry k(.param .u64 a\n")[0].params, None);
    }

    #[test]
    fn every_kernel_of_the_library_has_parameters_that_can_be_told() {
        for packed in OWN {
            let text = miniz_oxide::inflate::decompress_to_vec(packed.text).unwrap();
            let entries = ptx::entries(std::str::from_utf8(&text).unwrap());
            assert_eq!(entries.len(), packed.kernels.len());
            for entry in entries {
                let params = entry.params.expect(&entry.name);
                assert!(
                    params.iter().all(|bytes| (1..=4096).contains(bytes)),
                    "{}",
                    entry.name
                );
            }
        }
    }

    #[test]
    fn text_that_is_no_ptx_is_refused() {
        assert!(
            Module::from_ptx("")
                .unwrap_err()
                .to_string()
                .contains(".version")
        );
        assert!(
            Module::from_ptx(".version 7.0\n")
                .unwrap_err()
                .to_string()
                .contains(".entry")
        );
        let module = Module::from_ptx(TEXT).unwrap();
        assert_eq!(
            module.kernels().collect::<Vec<_>>(),
            ["family_a__f32", "family_a"]
        );
    }
}
