//! Machine code of the library's kernels: those that `auto` launches, for some architectures. A driver loads it without
//! compiling, which PTX needs.

use crate::architecture;

/// The machine code of some kernels, as `build.rs` packs it.
struct Packed {
    arch: &'static str,
    /// The kernels' names, and the size of each image in bytes.
    kernels: &'static [(&'static str, usize)],
    /// The images, concatenated and deflated.
    images: &'static [u8],
}

/// The library's machine code.
static OWN: &[Packed] = include!(concat!(env!("OUT_DIR"), "/code.rs"));

/// The first bytes of an image, which is an ELF file.
const MAGIC: &[u8] = b"\x7fELF";

/// The machine code of one kernel: a whole image as `ptxas` wrote it.
#[derive(Debug)]
pub(crate) struct Code {
    /// Words, so that the image is aligned for the driver.
    words: Vec<u64>,
}

impl Code {
    /// Returns the library's code of the kernel `name` for a device of this compute capability, if there is any.
    pub fn of(name: &str, capability: (u32, u32)) -> Option<Self> {
        let (_, packed) = OWN
            .iter()
            .filter(|packed| packed.kernels.iter().any(|(kernel, _)| *kernel == name))
            .filter_map(|packed| Some((runs_on(packed.arch, capability)?, packed)))
            .max_by_key(|(arch, _)| *arch)?;
        let images = miniz_oxide::inflate::decompress_to_vec(packed.images).ok()?;
        let mut rest = &*images;
        for (kernel, bytes) in packed.kernels {
            let (image, behind) = rest.split_at_checked(*bytes)?;
            if *kernel == name {
                return Self::new(image);
            }
            rest = behind;
        }
        None
    }

    fn new(image: &[u8]) -> Option<Self> {
        if !image.starts_with(MAGIC) {
            return None;
        }
        let mut words = vec![0; image.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..image.len()].copy_from_slice(image);
        Some(Self { words })
    }

    /// Returns the image. It may be a few bytes longer than the assembler wrote.
    pub fn image(&self) -> &[u8] {
        bytemuck::cast_slice(&self.words)
    }
}

/// Returns the architecture's number if a device of this compute capability runs its machine code: `sm_80` runs on 8.x,
/// `sm_86` on 8.6 and 8.9, `sm_90a` on 9.0 only.
fn runs_on(arch: &str, (major, minor): (u32, u32)) -> Option<(u32, bool)> {
    let (number, exact) = architecture::parse(arch)?;
    let fits = if exact {
        number % 10 == minor
    } else {
        number % 10 <= minor
    };
    (number / 10 == major && fits).then_some((number, exact))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, hash_map::DefaultHasher};
    use std::hash::{Hash as _, Hasher as _};

    use super::*;

    /// Returns the architecture of an image: the second byte of its flags, as `ptxas` 13 writes them.
    fn elf_architecture(image: &[u8]) -> u8 {
        image[49]
    }

    /// The committed files: architecture, kernel, bytes and hash.
    static COMMITTED: &[(&str, &str, usize, u64)] =
        include!(concat!(env!("OUT_DIR"), "/code_hashes.rs"));

    fn hash(image: &[u8]) -> u64 {
        let mut hasher = DefaultHasher::new();
        image.hash(&mut hasher);
        hasher.finish()
    }

    fn archs() -> BTreeSet<&'static str> {
        OWN.iter().map(|packed| packed.arch).collect()
    }

    #[test]
    fn code_runs_on_its_generation_from_its_own_card_on() {
        assert!(runs_on("sm_80", (8, 0)).is_some());
        assert!(runs_on("sm_86", (8, 9)) > runs_on("sm_80", (8, 9)));
        assert_eq!(runs_on("sm_86", (8, 0)), None);
        assert_eq!(runs_on("sm_80", (9, 0)), None);
        assert_eq!(runs_on("sm_90", (10, 0)), None);
        assert_eq!(runs_on("sm_90", (12, 0)), None);
        assert!(runs_on("sm_90a", (9, 0)) > runs_on("sm_90", (9, 0)));
        assert_eq!(runs_on("sm_100a", (10, 3)), None);
        assert!(runs_on("sm_100", (10, 3)).is_some());
        assert_eq!(runs_on("compute_90", (9, 0)), None);
    }

    #[test]
    fn every_committed_image_is_unpacked_as_it_is() {
        let mut bytes = 0;
        for arch in archs() {
            let (number, _) = architecture::parse(arch).unwrap();
            let capability = (number / 10, number % 10);
            let images = COMMITTED.iter().filter(|(of, ..)| *of == arch);
            assert!(images.clone().count() > 0, "{arch}");
            for (_, name, len, expected) in images.clone() {
                let code = Code::of(name, capability).expect(name);
                let image = &code.image()[..*len];
                assert_eq!(hash(image), *expected, "{arch} {name}");
                assert!(image.starts_with(MAGIC), "{arch} {name}");
                assert_eq!(u32::from(elf_architecture(image)), number, "{arch} {name}");
                assert!(code.image().len() < len + 8, "{arch} {name}");
                assert!(Code::of(name, (number / 10 - 1, 9)).is_none(), "{name}");
                bytes += len;
            }
            let packed = OWN.iter().filter(|packed| packed.arch == arch);
            let kernels: usize = packed.map(|packed| packed.kernels.len()).sum();
            assert_eq!(kernels, images.count(), "{arch}");
        }
        let packed: usize = OWN.iter().map(|packed| packed.images.len()).sum();
        assert!(4 * packed < bytes, "{packed} bytes packed, of {bytes}");
        // Every program contains all of it.
        assert!(packed < 9_000_000, "{packed} bytes packed");
    }

    #[test]
    fn every_kernel_that_auto_launches_has_its_code_and_no_other() {
        assert!(!archs().is_empty());
        let ptx: BTreeSet<&str> = crate::module::packed_names().collect();
        let best: Vec<&str> = crate::families()
            .iter()
            .flat_map(|family| family.variants.last().unwrap().kernels)
            .copied()
            .collect();
        let wanted: BTreeSet<&str> = ptx
            .into_iter()
            .filter(|name| best.contains(&name.split("__").next().unwrap()))
            .collect();
        // Those that need an architecture with a letter have theirs there alone, as in the PTX.
        let names = OWN.iter().flat_map(|packed| packed.kernels);
        let names: Vec<&str> = names.map(|(name, _)| *name).collect();
        assert_eq!(names.iter().copied().collect::<BTreeSet<_>>(), wanted);
        assert_eq!(names.len(), wanted.len());
    }

    #[test]
    fn what_is_no_image_is_not_taken() {
        assert!(Code::new(b"").is_none());
        assert!(Code::new(b".version 7.0").is_none());
        let code = Code::new(b"\x7fELF and").unwrap();
        assert_eq!(code.image(), b"\x7fELF and");
        assert!(Code::of("family_a", (9, 0)).is_none());
    }
}
