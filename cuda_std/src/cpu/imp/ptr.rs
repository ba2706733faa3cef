//! Address spaces on the CPU executor.

use super::super::lane::Lane;
use crate::ptr::AddressSpace;

pub fn is_in(ptr: *const u8, space: AddressSpace) -> bool {
    let lane = Lane::current();
    let shared = lane.block().is_shared(ptr);
    let (lowest, end) = lane.stack.get();
    let local = (lowest..end).contains(&ptr.addr());
    match space {
        AddressSpace::Global => !shared && !local,
        AddressSpace::Shared => shared,
        AddressSpace::Constant => false,
        AddressSpace::Local => local,
    }
}

pub fn to_specific(ptr: *const u8, _: AddressSpace) -> *const u8 {
    ptr
}

pub fn to_generic(ptr: *const u8, _: AddressSpace) -> *const u8 {
    ptr
}
