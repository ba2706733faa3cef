//! Images of modules, checked for truncation before the driver reads them.
//!
//! The driver gets only a pointer and takes the length from the image itself. It would read a truncated image beyond its
//! end.

use crate::error::{CudaError, CudaResult};

/// The first bytes of machine code.
const ELF: &[u8] = b"\x7fELF";
/// The first bytes of a fat binary, a list of images.
const FAT_BINARY: &[u8] = &[0x50, 0xed, 0x55, 0xba];
/// The first bytes of the wrapper that a compiler puts into a program: a pointer to a fat binary, which the driver would
/// follow.
const WRAPPER: &[u8] = &[0xb1, 0x43, 0x62, 0x46];
/// The type of an ELF section without bytes in the file (`SHT_NOBITS`).
const NO_BITS: u64 = 8;
/// The first processor-specific section type (`SHT_LOPROC`). Some of NVIDIA's own types may have no bytes in the file
/// either.
const FIRST_OF_THE_PROCESSOR: u64 = 0x7000_0000;

/// An image that is safe to give to the driver: complete, followed by a NUL, at an address that is a multiple of 8.
pub(crate) struct Image {
    words: Vec<u64>,
}

impl Image {
    /// Creates an image of any kind: machine code, a fat binary, or otherwise text.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidImage`] if the image claims to be longer than it is, or is only a pointer.
    pub(crate) fn new(bytes: &[u8]) -> CudaResult<Self> {
        let whole = if bytes.starts_with(ELF) {
            elf_is_whole(bytes).unwrap_or(false)
        } else if bytes.starts_with(FAT_BINARY) {
            fat_binary_is_whole(bytes).unwrap_or(false)
        } else {
            !bytes.starts_with(WRAPPER)
        };
        if !whole {
            return Err(CudaError::InvalidImage);
        }
        // At least one more byte, for the NUL.
        let mut words = vec![0_u64; bytes.len() / 8 + 1];
        for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
            let mut part = [0; 8];
            part[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_ne_bytes(part);
        }
        Ok(Self { words })
    }

    /// Creates an image of machine code.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidImage`] if the bytes are no machine code, or are truncated.
    pub(crate) fn cubin(bytes: &[u8]) -> CudaResult<Self> {
        if bytes.starts_with(ELF) {
            Self::new(bytes)
        } else {
            Err(CudaError::InvalidImage)
        }
    }

    /// Creates an image of text.
    ///
    /// # Errors
    /// Returns [`CudaError::InvalidValue`] if the text contains a NUL.
    pub(crate) fn text(text: &str) -> CudaResult<Self> {
        if text.as_bytes().contains(&0) {
            Err(CudaError::InvalidValue)
        } else {
            Self::new(text.as_bytes())
        }
    }

    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.words.as_ptr().cast()
    }
}

/// Reads a little-endian number of `size` bytes at `offset`.
fn number(bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
    let part = bytes.get(offset..offset.checked_add(size)?)?;
    Some(
        part.iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)),
    )
}

fn fits(bytes: &[u8], offset: u64, size: u64) -> bool {
    offset
        .checked_add(size)
        .is_some_and(|end| end <= bytes.len() as u64)
}

/// Returns whether the tables and the sections of a 64-bit ELF file lie inside the bytes, or `None` if a header does not.
fn elf_is_whole(bytes: &[u8]) -> Option<bool> {
    let table = |offset: usize, size: usize, count: usize| {
        Some((
            number(bytes, offset, 8)?,
            number(bytes, size, 2)?,
            number(bytes, count, 2)?,
        ))
    };
    let (programs, program_size, program_count) = table(0x20, 0x36, 0x38)?;
    let (sections, section_size, section_count) = table(0x28, 0x3a, 0x3c)?;
    let mut whole = fits(bytes, programs, program_size * program_count)
        && fits(bytes, sections, section_size * section_count);
    for index in 0..section_count {
        let start = usize::try_from(sections.checked_add(index * section_size)?).ok()?;
        let field = |offset: usize, size| number(bytes, start.checked_add(offset)?, size);
        let (kind, offset, size) = (field(4, 4)?, field(0x18, 8)?, field(0x20, 8)?);
        whole &= match kind {
            NO_BITS => true,
            FIRST_OF_THE_PROCESSOR.. => fits(bytes, offset, 0),
            _ => fits(bytes, offset, size),
        };
    }
    Some(whole)
}

/// Returns whether a fat binary's header and the contents that it announces lie inside the bytes, or `None` if the header
/// does not.
fn fat_binary_is_whole(bytes: &[u8]) -> Option<bool> {
    let (header, rest) = (number(bytes, 6, 2)?, number(bytes, 8, 8)?);
    Some(header >= 16 && fits(bytes, header, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF header with one section of `size` bytes at its end.
    fn elf(size: u64) -> Vec<u8> {
        let mut bytes = vec![0_u8; 0x40 + 0x40];
        bytes[..4].copy_from_slice(ELF);
        bytes[0x28..0x30].copy_from_slice(&0x40_u64.to_le_bytes());
        bytes[0x3a..0x3c].copy_from_slice(&0x40_u16.to_le_bytes());
        bytes[0x3c..0x3e].copy_from_slice(&1_u16.to_le_bytes());
        bytes[0x58..0x60].copy_from_slice(&0x80_u64.to_le_bytes());
        bytes[0x60..0x68].copy_from_slice(&size.to_le_bytes());
        bytes.resize(0x80 + 8, 7);
        bytes
    }

    fn refused(bytes: &[u8]) -> bool {
        matches!(Image::new(bytes), Err(CudaError::InvalidImage))
    }

    #[test]
    fn machine_code_that_was_cut_off_is_refused() {
        let whole = elf(8);
        assert!(!refused(&whole));
        for length in 4..whole.len() {
            assert!(refused(&whole[..length]), "{length} bytes");
        }
        assert!(refused(&elf(9)));
        assert!(refused(&elf(u64::MAX)));
        let mut far = elf(8);
        far[0x28..0x30].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(refused(&far));
    }

    #[test]
    fn the_projects_machine_code_is_whole_and_is_not_when_cut_off() {
        let archive = include_bytes!("../../host/ptx/sm_90/kernels.tar");
        let mut archive = tar::Archive::new(&archive[..]);
        let mut count = 0;
        for entry in archive.entries().expect("an archive") {
            let mut entry = entry.expect("an image");
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut bytes).expect("its bytes");
            assert!(!refused(&bytes), "{:?}", entry.path());
            assert!(
                refused(&bytes[..bytes.len() / 2]),
                "half of {:?}",
                entry.path()
            );
            count += 1;
        }
        assert!(count > 0);
    }

    #[test]
    fn a_pointer_to_a_fat_binary_is_refused() {
        assert!(refused(&[WRAPPER, &[1, 0, 0, 0], &[0xff; 8]].concat()));
    }

    #[test]
    fn a_section_without_bytes_may_be_of_any_size() {
        let mut bytes = elf(u64::MAX);
        bytes[0x44] = NO_BITS as u8;
        assert!(!refused(&bytes));
    }

    #[test]
    fn a_fat_binary_that_was_cut_off_is_refused() {
        let mut whole = [FAT_BINARY, &[1, 0, 16, 0]].concat();
        whole.extend(4_u64.to_le_bytes());
        whole.extend([1, 2, 3, 4]);
        assert!(!refused(&whole));
        for length in 4..whole.len() {
            assert!(refused(&whole[..length]), "{length} bytes");
        }
    }

    #[test]
    fn an_image_ends_with_a_nul() {
        for length in 0..20 {
            let text = "x".repeat(length);
            let image = Image::text(&text).expect("a text");
            let bytes: Vec<u8> = image
                .words
                .iter()
                .flat_map(|word| word.to_ne_bytes())
                .collect();
            assert_eq!(&bytes[..length], text.as_bytes());
            assert!(bytes[length..].iter().all(|byte| *byte == 0) && bytes.len() > length);
        }
        assert!(matches!(Image::text("a\0b"), Err(CudaError::InvalidValue)));
        assert!(matches!(
            Image::cubin(b".version 8.0"),
            Err(CudaError::InvalidImage)
        ));
    }
}
