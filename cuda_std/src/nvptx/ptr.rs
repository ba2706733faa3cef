//! Address spaces as instructions.

use core::arch::asm;

use crate::ptr::AddressSpace;

unsafe extern "C" {
    #[link_name = "llvm.nvvm.isspacep.global"]
    fn isspacep_global(ptr: *const u8) -> bool;
    #[link_name = "llvm.nvvm.isspacep.shared"]
    fn isspacep_shared(ptr: *const u8) -> bool;
    #[link_name = "llvm.nvvm.isspacep.const"]
    fn isspacep_const(ptr: *const u8) -> bool;
    #[link_name = "llvm.nvvm.isspacep.local"]
    fn isspacep_local(ptr: *const u8) -> bool;
}

#[inline(always)]
pub fn is_in(ptr: *const u8, space: AddressSpace) -> bool {
    // SAFETY: the instruction only compares addresses.
    unsafe {
        match space {
            AddressSpace::Global => isspacep_global(ptr),
            AddressSpace::Shared => isspacep_shared(ptr),
            AddressSpace::Constant => isspacep_const(ptr),
            AddressSpace::Local => isspacep_local(ptr),
        }
    }
}

macro_rules! convert {
    ($instruction:literal, $ptr:ident) => {{
        let converted: *const u8;
        // SAFETY: the instruction only converts an address.
        unsafe {
            asm!(
                concat!($instruction, ".u64 {0}, {1};"),
                out(reg64) converted,
                in(reg64) $ptr,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        converted
    }};
}

#[inline(always)]
pub fn to_specific(ptr: *const u8, space: AddressSpace) -> *const u8 {
    match space {
        AddressSpace::Global => convert!("cvta.to.global", ptr),
        AddressSpace::Shared => convert!("cvta.to.shared", ptr),
        AddressSpace::Constant => convert!("cvta.to.const", ptr),
        AddressSpace::Local => convert!("cvta.to.local", ptr),
    }
}

#[inline(always)]
pub fn to_generic(ptr: *const u8, space: AddressSpace) -> *const u8 {
    match space {
        AddressSpace::Global => convert!("cvta.global", ptr),
        AddressSpace::Shared => convert!("cvta.shared", ptr),
        AddressSpace::Constant => convert!("cvta.const", ptr),
        AddressSpace::Local => convert!("cvta.local", ptr),
    }
}
