//! The device functions as instructions.
//!
//! Instructions that several lanes execute together are LLVM intrinsics, not `asm!`: the optimizer knows that these are
//! convergent and must not be moved across branches.

use core::{
    arch::{asm, global_asm, nvptx},
    ffi::c_void,
};

use crate::view::Hint;

pub mod async_copy;
pub mod atomic;
#[cfg(target_feature = "sm_90")]
pub mod bulk;
#[cfg(target_feature = "sm_90")]
pub mod cluster;
pub mod float;
pub mod heap;
#[cfg(target_feature = "sm_90")]
pub mod mbarrier;
pub mod misc;
pub mod mma;
mod panic;
pub mod ptr;
#[cfg(target_feature = "sm_90")]
pub mod tensor_map;
pub mod warp;
#[cfg(target_feature = "sm_90a")]
pub mod wgmma;

/// A source location. It is empty on the GPU: only the CPU executor's errors need it.
#[derive(Debug, Clone, Copy)]
pub struct Place;

impl Place {
    #[inline(always)]
    pub fn here() -> Self {
        Self
    }
}

macro_rules! axes {
    ($($name:ident: $x:ident, $y:ident, $z:ident;)*) => { $(
        #[inline(always)]
        pub fn $name<const AXIS: usize>() -> u32 {
            // SAFETY: the instruction reads a special register.
            unsafe {
                (match AXIS {
                    0 => nvptx::$x(),
                    1 => nvptx::$y(),
                    _ => nvptx::$z(),
                }) as u32
            }
        }
    )* };
}

axes! {
    thread_idx: _thread_idx_x, _thread_idx_y, _thread_idx_z;
    block_idx: _block_idx_x, _block_idx_y, _block_idx_z;
    block_dim: _block_dim_x, _block_dim_y, _block_dim_z;
    grid_dim: _grid_dim_x, _grid_dim_y, _grid_dim_z;
}

#[inline(always)]
pub fn thread_idx_x_again() -> u32 {
    let thread;
    // SAFETY: the instruction reads a special register. It is not `pure`, so that its result is not that of an earlier one.
    unsafe {
        asm!("mov.u32 {}, %tid.x;", out(reg32) thread, options(nomem, nostack, preserves_flags));
    }
    thread
}

#[cfg(target_feature = "sm_90a")]
#[inline(always)]
pub fn decrease_registers<const COUNT: u32>() {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.setmaxnreg.dec.sync.aligned.u32"]
        fn decrease(count: u32);
    }
    // SAFETY: the kernel promises that all warps of the warpgroup execute this.
    unsafe { decrease(COUNT) }
}

#[cfg(target_feature = "sm_90a")]
#[inline(always)]
pub fn increase_registers<const COUNT: u32>() {
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.setmaxnreg.inc.sync.aligned.u32"]
        fn increase(count: u32);
    }
    // SAFETY: as for `decrease_registers`.
    unsafe { increase(COUNT) }
}

unsafe extern "C" {
    #[link_name = "llvm.nvvm.barrier0.popc"]
    fn barrier_popc(predicate: i32) -> i32;
    #[link_name = "llvm.nvvm.barrier0.and"]
    fn barrier_and(predicate: i32) -> i32;
    #[link_name = "llvm.nvvm.barrier0.or"]
    fn barrier_or(predicate: i32) -> i32;
    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.count"]
    fn barrier_named(barrier: u32, threads: u32);
    #[link_name = "llvm.nvvm.membar.cta"]
    fn membar_cta();
    #[link_name = "llvm.nvvm.membar.gl"]
    fn membar_gl();
    #[link_name = "llvm.nvvm.membar.sys"]
    fn membar_sys();
    #[link_name = "llvm.nvvm.isspacep.shared"]
    fn isspacep_shared(ptr: *const u8) -> bool;
}

#[inline(always)]
pub fn sync_threads() {
    // SAFETY: the kernel promises that every lane reaches the barrier.
    unsafe { nvptx::_syncthreads() }
}

#[inline(always)]
pub fn sync_threads_named(barrier: u32, threads: u32) {
    // SAFETY: the kernel promises that this many lanes, in whole warps, reach the barrier.
    unsafe { barrier_named(barrier, threads) }
}

#[inline(always)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    // SAFETY: as for `sync_threads`.
    unsafe { barrier_popc(predicate as i32) as u32 }
}

#[inline(always)]
pub fn sync_threads_and(predicate: u32) -> u32 {
    // SAFETY: as for `sync_threads`.
    u32::from(unsafe { barrier_and(predicate as i32) } != 0)
}

#[inline(always)]
pub fn sync_threads_or(predicate: u32) -> u32 {
    // SAFETY: as for `sync_threads`.
    u32::from(unsafe { barrier_or(predicate as i32) } != 0)
}

#[inline(always)]
pub fn fence_block() {
    // SAFETY: a fence has no conditions.
    unsafe { membar_cta() }
}

#[inline(always)]
pub fn fence_device() {
    // SAFETY: a fence has no conditions.
    unsafe { membar_gl() }
}

#[inline(always)]
pub fn fence_system() {
    // SAFETY: a fence has no conditions.
    unsafe { membar_sys() }
}

#[inline(always)]
pub fn nanosleep(nanos: u32) {
    // SAFETY: the instruction only waits.
    unsafe { asm!("nanosleep.u32 {0};", in(reg32) nanos, options(nomem, nostack)) }
}

#[inline(always)]
pub fn static_shared<A>(_site: *const u8) -> *mut u8 {
    let ptr: *mut u8;
    // SAFETY: the instructions declare a variable in a scope of its own and take its generic address.
    unsafe {
        asm!(
            "{{ .shared .align 16 .b8 array[{bytes}]; .reg .u64 address; mov.u64 address, array; \
             cvta.shared.u64 {ptr}, address; }}",
            bytes = const size_of::<A>(),
            ptr = out(reg64) ptr,
            options(nomem, nostack, preserves_flags),
        );
    }
    ptr
}

global_asm!(".extern .shared .align 16 .b8 __cuda_std_dynamic_shared[];");

#[inline(always)]
pub fn dynamic_shared() -> *mut u8 {
    let ptr: *mut u8;
    // SAFETY: the instructions take the generic address of the module's dynamic shared memory.
    unsafe {
        asm!(
            "{{ .reg .u64 address; mov.u64 address, __cuda_std_dynamic_shared; \
             cvta.shared.u64 {ptr}, address; }}",
            ptr = out(reg64) ptr,
            options(pure, nomem, nostack, preserves_flags),
        );
        assume_shared(ptr, 0);
    }
    ptr
}

macro_rules! special_register_asm {
    ($($name:ident: $register:literal;)*) => { $(
        #[inline(always)]
        pub fn $name() -> u32 {
            let value: u32;
            // SAFETY: the instruction reads a special register.
            unsafe {
                asm!(
                    concat!("mov.u32 {0}, %", $register, ";"),
                    out(reg32) value,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            value
        }
    )* };
}

special_register_asm! {
    dynamic_shared_bytes: "dynamic_smem_size";
    total_shared_bytes: "total_smem_size";
}

/// Does nothing: on the GPU the launch guarantees the size.
#[inline(always)]
pub fn check_dynamic_shared(_required: usize) {}

/// # Safety
/// This must never be reached: the kernel guarantees the alignment.
#[inline(always)]
pub unsafe fn misaligned_shared(_offset: usize, _align: usize) -> ! {
    // SAFETY: the caller upholds the contract.
    unsafe { core::hint::unreachable_unchecked() }
}

/// Tells the optimizer that `ptr` is in shared memory, so that accesses become `ld.shared` and `st.shared`.
///
/// # Safety
/// `ptr` must be in shared memory.
#[inline(always)]
pub unsafe fn assume_shared(ptr: *const u8, _bytes: usize) {
    // SAFETY: the caller upholds the contract.
    unsafe { core::hint::assert_unchecked(isspacep_shared(ptr)) }
}

/// Returns the pointer, as the sum of itself and a zero that the optimizer does not know.
///
/// LLVM's `infer-address-spaces` looks up assumptions for the operands of address computations only. An access at the
/// pointer itself, element 0 at a constant index, would have no such computation and stay generic. `ptxas` knows the zero.
#[inline(always)]
pub fn with_known_space<T>(ptr: *mut T) -> *mut T {
    let zero: usize;
    // SAFETY: the instruction sets a register.
    unsafe {
        asm!(
            "mov.u64 {0}, 0;",
            out(reg64) zero,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    ptr.wrapping_byte_add(zero)
}

/// Keeps the loads before it in their branch. Where two branches end with loads, LLVM makes one of them, from an address whose
/// space is then unknown, and in parts if one branch has parts.
#[inline(always)]
pub fn end_of_loads() {
    // SAFETY: there is no instruction.
    unsafe { asm!("", options(nostack, preserves_flags)) }
}

/// Tells the optimizer that `ptr` is in constant memory, so that loads become `ld.const`.
///
/// # Safety
/// `ptr` must be in constant memory.
#[inline(always)]
pub unsafe fn assume_constant(ptr: *const u8) {
    // SAFETY: the caller upholds the contract.
    unsafe { core::hint::assert_unchecked(ptr::is_in(ptr, crate::ptr::AddressSpace::Constant)) }
}

#[inline(always)]
pub fn trap() -> ! {
    // SAFETY: the instruction ends the grid with an error.
    unsafe { nvptx::trap() }
}

unsafe extern "C" {
    // Every CUDA driver provides this function; see the CUDA C++ programming guide, formatted output.
    fn vprintf(format: *const u8, arguments: *const c_void) -> i32;
}

/// Prints a zero-terminated text.
pub fn print(text: *const u8) {
    let arguments = [text];
    // SAFETY: the format takes one pointer to a zero-terminated text.
    unsafe { vprintf(c"%s".as_ptr().cast(), arguments.as_ptr().cast()) };
}

/// Does nothing: views are not checked on the GPU.
#[inline(always)]
pub fn check_bounds<T>(_ptr: *const T, _len: usize, _index: usize, _count: usize, _write: bool) {}

/// The visit of a shared array's call site, which is empty on the GPU.
pub type Visit = ();

/// Does nothing, like [`check_bounds`].
#[inline(always)]
pub fn check_current(_visit: Visit) {}

/// Does nothing, like [`check_bounds`].
#[inline(always)]
pub fn check_access<T>(
    _space: crate::space::Space,
    _ptr: *const T,
    _len: usize,
    _index: usize,
    _count: usize,
    _write: bool,
) {
}

/// 16 bytes that one instruction moves.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Words4(u32, u32, u32, u32);

/// 16 bytes that one instruction moves, in two parts.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Pair(u64, u64);

/// 8 bytes that one instruction moves.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Words2(u32, u32);

/// # Safety
/// `ptr` must be valid for reads of `N` elements, and aligned to the chunk's size if that is 2, 4, 8 or 16 bytes.
#[inline(always)]
pub unsafe fn load<T: Copy, const N: usize>(ptr: *const T) -> [T; N] {
    // SAFETY: the caller upholds the contract; the integer types have the chunk's size. A branch that does not match is
    // never taken, so its sizes need not agree.
    unsafe {
        match (N, size_of::<[T; N]>()) {
            (1, _) => ptr.cast::<[T; N]>().read(),
            // The parts have the size of the elements, so that no element is assembled from parts.
            (2, 16) => core::mem::transmute_copy(&ptr.cast::<Pair>().read()),
            (_, 16) => core::mem::transmute_copy(&ptr.cast::<Words4>().read()),
            (_, 8) => core::mem::transmute_copy(&ptr.cast::<Words2>().read()),
            (_, 4) => core::mem::transmute_copy(&ptr.cast::<u32>().read()),
            (_, 2) => core::mem::transmute_copy(&ptr.cast::<u16>().read()),
            _ => ptr.cast::<[T; N]>().read(),
        }
    }
}

/// # Safety
/// `ptr` must be valid for writes of `N` elements, and aligned to the chunk's size if that is 2, 4, 8 or 16 bytes.
#[inline(always)]
pub unsafe fn store<T: Copy, const N: usize>(ptr: *mut T, values: [T; N]) {
    // SAFETY: as for `load`.
    unsafe {
        match (N, size_of::<[T; N]>()) {
            (1, _) => ptr.cast::<[T; N]>().write(values),
            (_, 16) => ptr
                .cast::<Words4>()
                .write(core::mem::transmute_copy(&values)),
            (_, 8) => ptr
                .cast::<Words2>()
                .write(core::mem::transmute_copy(&values)),
            (_, 4) => ptr.cast::<u32>().write(core::mem::transmute_copy(&values)),
            (_, 2) => ptr.cast::<u16>().write(core::mem::transmute_copy(&values)),
            _ => ptr.cast::<[T; N]>().write(values),
        }
    }
}

macro_rules! hinted_load {
    ($ptr:ident, $instruction:literal $(, $option:ident)*) => {
        match size_of::<[T; N]>() {
            16 => {
                let (a, b, c, d): (u32, u32, u32, u32);
                asm!(
                    concat!($instruction, ".v4.u32 {{{0}, {1}, {2}, {3}}}, [{4}];"),
                    out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg64) $ptr,
                    options(pure, nostack, preserves_flags, readonly $(, $option)*),
                );
                core::mem::transmute_copy(&Words4(a, b, c, d))
            }
            8 => {
                let (a, b): (u32, u32);
                asm!(
                    concat!($instruction, ".v2.u32 {{{0}, {1}}}, [{2}];"),
                    out(reg32) a, out(reg32) b, in(reg64) $ptr,
                    options(pure, nostack, preserves_flags, readonly $(, $option)*),
                );
                core::mem::transmute_copy(&Words2(a, b))
            }
            4 => {
                let a: u32;
                asm!(
                    concat!($instruction, ".u32 {0}, [{1}];"),
                    out(reg32) a, in(reg64) $ptr,
                    options(pure, nostack, preserves_flags, readonly $(, $option)*),
                );
                core::mem::transmute_copy(&a)
            }
            2 => {
                let a: u16;
                asm!(
                    concat!($instruction, ".u16 {0}, [{1}];"),
                    out(reg16) a, in(reg64) $ptr,
                    options(pure, nostack, preserves_flags, readonly $(, $option)*),
                );
                core::mem::transmute_copy(&a)
            }
            1 => {
                let a: u32;
                asm!(
                    concat!($instruction, ".u8 {0}, [{1}];"),
                    out(reg32) a, in(reg64) $ptr,
                    options(pure, nostack, preserves_flags, readonly $(, $option)*),
                );
                core::mem::transmute_copy(&(a as u8))
            }
            _ => load($ptr),
        }
    };
}

/// # Safety
/// The conditions of [`load`] must hold, in global memory. For [`Hint::ReadOnly`] nothing may write there while the kernel
/// runs.
#[inline(always)]
pub unsafe fn load_hinted<T: Copy, const N: usize>(ptr: *const T, hint: Hint) -> [T; N] {
    // SAFETY: the caller upholds the contract; the registers have the chunk's size.
    unsafe {
        match hint {
            Hint::Plain => load(ptr),
            Hint::ReadOnly => hinted_load!(ptr, "ld.global.nc"),
            Hint::Streaming => hinted_load!(ptr, "ld.global.cs"),
        }
    }
}

/// # Safety
/// The conditions of [`store`] must hold, in global memory.
#[inline(always)]
pub unsafe fn store_hinted<T: Copy, const N: usize>(ptr: *mut T, values: [T; N], hint: Hint) {
    // SAFETY: the caller upholds the contract; the registers have the chunk's size.
    unsafe {
        match (hint, size_of::<[T; N]>()) {
            (Hint::Streaming, 16) => {
                let Words4(a, b, c, d) = core::mem::transmute_copy(&values);
                asm!(
                    "st.global.cs.v4.u32 [{4}], {{{0}, {1}, {2}, {3}}};",
                    in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d, in(reg64) ptr,
                    options(nostack, preserves_flags),
                );
            }
            (Hint::Streaming, 8) => {
                let Words2(a, b) = core::mem::transmute_copy(&values);
                asm!(
                    "st.global.cs.v2.u32 [{2}], {{{0}, {1}}};",
                    in(reg32) a, in(reg32) b, in(reg64) ptr,
                    options(nostack, preserves_flags),
                );
            }
            (Hint::Streaming, 4) => {
                let a: u32 = core::mem::transmute_copy(&values);
                asm!(
                    "st.global.cs.u32 [{1}], {0};",
                    in(reg32) a, in(reg64) ptr,
                    options(nostack, preserves_flags),
                );
            }
            _ => store(ptr, values),
        }
    }
}

#[inline(always)]
pub fn f16_to_f32(bits: u16) -> f32 {
    let value: f32;
    // SAFETY: the instruction converts between registers.
    unsafe {
        asm!(
            "cvt.f32.f16 {0}, {1};",
            out(reg32) value,
            in(reg16) bits,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    value
}

#[inline(always)]
pub fn f32_to_f16(value: f32) -> u16 {
    let bits: u16;
    // SAFETY: the instruction converts between registers.
    unsafe {
        asm!(
            "cvt.rn.f16.f32 {0}, {1};",
            out(reg16) bits,
            in(reg32) value,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    bits
}
