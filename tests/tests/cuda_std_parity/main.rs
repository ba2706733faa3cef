//! `cuda_std` against Rust-CUDA's crate of the same name, as published (0.2.2).
//!
//! The lines inside `both!` are compiled twice, with `c` as the one crate and as the other: every name
//! that both have must take the same types, with the same `unsafe`. The functions of the published crate
//! run on a GPU only, so this compares signatures; what ours do is tested elsewhere.
// A constant shows that the constructor is a `const fn`; nothing changes it.
#![allow(
    clippy::declare_interior_mutable_const,
    clippy::borrow_interior_mutable_const
)]

use core::sync::atomic::Ordering;

macro_rules! both {
    ($($body:tt)*) => {
        mod ours {
            use super::*;
            use cuda_std as c;
            $($body)*
        }
        mod upstream {
            use super::*;
            use cuda_std_upstream as c;
            $($body)*
        }
    };
}

/// Counts the names that were compared, so that an empty comparison cannot pass.
macro_rules! same {
    ($count:ident: $($path:expr => $ty:ty;)*) => {
        pub const $count: usize = {
            let mut count = 0;
            $(
                let _: $ty = $path;
                count += 1;
            )*
            count
        };
    };
}

mod names;

both! {
    same! { THREAD:
        c::thread::thread_idx_x => fn() -> u32;
        c::thread::thread_idx_y => fn() -> u32;
        c::thread::thread_idx_z => fn() -> u32;
        c::thread::block_idx_x => fn() -> u32;
        c::thread::block_idx_y => fn() -> u32;
        c::thread::block_idx_z => fn() -> u32;
        c::thread::block_dim_x => fn() -> u32;
        c::thread::block_dim_y => fn() -> u32;
        c::thread::block_dim_z => fn() -> u32;
        c::thread::grid_dim_x => fn() -> u32;
        c::thread::grid_dim_y => fn() -> u32;
        c::thread::grid_dim_z => fn() -> u32;
        c::thread::index => fn() -> u32;
        c::thread::index_1d => fn() -> u32;
        c::thread::first => fn() -> bool;
        c::thread::warp_size => fn() -> u32;
        c::thread::sync_threads => fn();
        c::thread::sync_threads_count => fn(u32) -> u32;
        c::thread::sync_threads_and => fn(u32) -> u32;
        c::thread::sync_threads_or => fn(u32) -> u32;
        c::thread::grid_fence => fn();
        c::thread::device_fence => fn();
        c::thread::system_fence => fn();
        c::thread::nanosleep => fn(u32);
        // The vectors are one type: the same version of the same crate.
        c::thread::thread_idx => fn() -> cuda_std_upstream::vek::Vec3<u32>;
        c::thread::block_idx => fn() -> cuda_std_upstream::vek::Vec3<u32>;
        c::thread::block_dim => fn() -> cuda_std::vek::Vec3<u32>;
        c::thread::grid_dim => fn() -> cuda_std::vek::Vec3<u32>;
        c::thread::index_2d => fn() -> cuda_std::vek::Vec2<u32>;
        c::thread::index_3d => fn() -> cuda_std::vek::Vec3<u32>;
    }

    same! { WARP:
        c::warp::lane_id => fn() -> u32;
        c::warp::sync_warp => unsafe fn(u32);
    }

    same! { MEMORY:
        c::mem::dynamic_smem_size => fn() -> u32;
        c::mem::total_smem_size => fn() -> u32;
        c::shared::dynamic_shared_mem::<f32> => fn() -> *mut f32;
        c::shared::dynamic_shared_mem::<u128> => fn() -> *mut u128;
        c::ptr::is_in_address_space::<f64> => unsafe fn(*const f64, c::ptr::AddressSpace) -> bool;
        c::ptr::convert_generic_to_specific_address_space::<u8>
            => unsafe fn(*const u8, c::ptr::AddressSpace) -> *const u8;
        c::ptr::convert_specific_address_space_to_generic::<u8>
            => unsafe fn(*const u8, c::ptr::AddressSpace) -> *const u8;
    }

    same! { MISC:
        c::misc::breakpoint => fn();
        c::misc::profiler_counter => fn(u32);
        c::misc::clock => fn() -> u64;
        c::cfg::ComputeCapability::from_cuda_arch_env => fn() -> c::cfg::ComputeCapability;
    }

    same! { FENCES:
        c::atomic::mid::device_thread_fence => fn(Ordering);
        c::atomic::mid::block_thread_fence => fn(Ordering);
        c::atomic::mid::system_thread_fence => fn(Ordering);
    }

    macro_rules! atomic_float {
        ($count:ident: $name:ident, $ty:ty $(, $unsafe:ident)?) => {
            same! { $count:
                c::atomic::$name::new => fn($ty) -> c::atomic::$name;
                c::atomic::$name::into_inner => fn(c::atomic::$name) -> $ty;
                c::atomic::$name::fetch_add => $($unsafe)? fn(&c::atomic::$name, $ty, Ordering) -> $ty;
                c::atomic::$name::fetch_sub => $($unsafe)? fn(&c::atomic::$name, $ty, Ordering) -> $ty;
                c::atomic::$name::fetch_and => $($unsafe)? fn(&c::atomic::$name, $ty, Ordering) -> $ty;
                c::atomic::$name::fetch_or => $($unsafe)? fn(&c::atomic::$name, $ty, Ordering) -> $ty;
                c::atomic::$name::fetch_xor => $($unsafe)? fn(&c::atomic::$name, $ty, Ordering) -> $ty;
                c::atomic::$name::load => $($unsafe)? fn(&c::atomic::$name, Ordering) -> $ty;
                c::atomic::$name::store => $($unsafe)? fn(&c::atomic::$name, $ty, Ordering);
            }
            const _: () = {
                const fn shared_by_threads<T: Sync>() {}
                shared_by_threads::<c::atomic::$name>();
                // `new` works in a constant, and the layout is the float's.
                const ZERO: c::atomic::$name = c::atomic::$name::new(0.0);
                assert!(size_of_val(&ZERO) == size_of::<$ty>());
                assert!(align_of_val(&ZERO) == size_of::<$ty>());
            };
        };
    }
    atomic_float!(ATOMIC_F32: AtomicF32, f32);
    atomic_float!(ATOMIC_F64: AtomicF64, f64);
    atomic_float!(BLOCK_ATOMIC_F32: BlockAtomicF32, f32, unsafe);
    atomic_float!(BLOCK_ATOMIC_F64: BlockAtomicF64, f64, unsafe);
    atomic_float!(SYSTEM_ATOMIC_F32: SystemAtomicF32, f32);
    atomic_float!(SYSTEM_ATOMIC_F64: SystemAtomicF64, f64);

    macro_rules! gpu_float {
        ($count:ident: $ty:ty) => {
            same! { $count:
                <$ty as c::GpuFloat>::floor => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::ceil => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::round => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::trunc => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::fract => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::abs => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::signum => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::copysign => fn($ty, $ty) -> $ty;
                <$ty as c::GpuFloat>::mul_add => fn($ty, $ty, $ty) -> $ty;
                <$ty as c::GpuFloat>::div_euclid => fn($ty, $ty) -> $ty;
                <$ty as c::GpuFloat>::rem_euclid => fn($ty, $ty) -> $ty;
                <$ty as c::GpuFloat>::powi => fn($ty, i32) -> $ty;
                <$ty as c::GpuFloat>::powf => fn($ty, $ty) -> $ty;
                <$ty as c::GpuFloat>::sqrt => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::exp => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::exp2 => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::ln => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::log => fn($ty, $ty) -> $ty;
                <$ty as c::GpuFloat>::log2 => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::log10 => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::cbrt => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::hypot => fn($ty, $ty) -> $ty;
                <$ty as c::GpuFloat>::sin => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::cos => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::tan => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::asin => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::acos => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::atan => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::atan2 => fn($ty, $ty) -> $ty;
                <$ty as c::GpuFloat>::sin_cos => fn($ty) -> ($ty, $ty);
                <$ty as c::GpuFloat>::exp_m1 => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::ln_1p => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::sinh => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::cosh => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::tanh => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::asinh => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::acosh => fn($ty) -> $ty;
                <$ty as c::GpuFloat>::atanh => fn($ty) -> $ty;
            }
        };
    }
    gpu_float!(GPU_FLOAT_F32: f32);
    gpu_float!(GPU_FLOAT_F64: f64);

    macro_rules! float_ext {
        ($count:ident: $ty:ty) => {
            same! { $count:
                <$ty as c::FloatExt>::cospi => fn($ty) -> $ty;
                <$ty as c::FloatExt>::error_function => fn($ty) -> $ty;
                <$ty as c::FloatExt>::complementary_error_function => fn($ty) -> $ty;
                <$ty as c::FloatExt>::inv_complementary_error_function => fn($ty) -> $ty;
                <$ty as c::FloatExt>::scaled_complementary_error_function => fn($ty) -> $ty;
                <$ty as c::FloatExt>::j0 => fn($ty) -> $ty;
                <$ty as c::FloatExt>::j1 => fn($ty) -> $ty;
                <$ty as c::FloatExt>::log_gamma => fn($ty) -> $ty;
                <$ty as c::FloatExt>::log1p => fn($ty) -> $ty;
                <$ty as c::FloatExt>::norm_cdf => fn($ty) -> $ty;
                <$ty as c::FloatExt>::inv_norm_cdf => fn($ty) -> $ty;
                <$ty as c::FloatExt>::rcbrt => fn($ty) -> $ty;
                <$ty as c::FloatExt>::saturate => fn($ty) -> $ty;
                <$ty as c::FloatExt>::sinpi => fn($ty) -> $ty;
                <$ty as c::FloatExt>::gamma => fn($ty) -> $ty;
                <$ty as c::FloatExt>::y0 => fn($ty) -> $ty;
                <$ty as c::FloatExt>::y1 => fn($ty) -> $ty;
                <$ty as c::FloatExt>::jn => fn($ty, i32) -> $ty;
                <$ty as c::FloatExt>::yn => fn($ty, i32) -> $ty;
                <$ty as c::FloatExt>::ldexp => fn($ty, i32) -> $ty;
                <$ty as c::FloatExt>::scale_by_n => fn($ty, i32) -> $ty;
                <$ty as c::FloatExt>::frexp => fn($ty) -> ($ty, i32);
                <$ty as c::FloatExt>::unbiased_exp => fn($ty) -> i32;
                <$ty as c::FloatExt>::sincospi => fn($ty) -> ($ty, $ty);
            }
        };
    }
    float_ext!(FLOAT_EXT_F32: f32);
    float_ext!(FLOAT_EXT_F64: f64);

    /// A safe function would pass as an unsafe one above; here its block would be one too many.
    #[allow(dead_code)]
    #[deny(unused_unsafe)]
    fn unsafe_in_both(ptr: *const u8, a: &c::atomic::BlockAtomicF32, b: &c::atomic::BlockAtomicF64) {
        use c::ptr::AddressSpace::Global;
        let order = Ordering::Relaxed;
        unsafe { c::warp::sync_warp(1) };
        unsafe { c::ptr::is_in_address_space(ptr, Global) };
        unsafe { c::ptr::convert_generic_to_specific_address_space(ptr, Global) };
        unsafe { c::ptr::convert_specific_address_space_to_generic(ptr, Global) };
        unsafe { (a.fetch_add(1.0, order), b.fetch_add(1.0, order)) };
        unsafe { (a.fetch_sub(1.0, order), b.fetch_sub(1.0, order)) };
        unsafe { (a.fetch_and(1.0, order), b.fetch_and(1.0, order)) };
        unsafe { (a.fetch_or(1.0, order), b.fetch_or(1.0, order)) };
        unsafe { (a.fetch_xor(1.0, order), b.fetch_xor(1.0, order)) };
        unsafe { (a.load(order), b.load(order)) };
        unsafe { a.store(1.0, order) };
        unsafe { b.store(1.0, order) };
    }

    /// Enumerations have the same variants, and the traits that programs count on.
    #[allow(dead_code)]
    fn enumerations() {
        fn plain<T: Copy + Eq + core::hash::Hash + core::fmt::Debug>(_: [T; 4]) {}
        use c::ptr::AddressSpace::{Constant, Global, Local, Shared};
        plain([Global, Shared, Constant, Local]);

        fn ordered<T: Copy + Ord + core::fmt::Debug>(_: [T; 12]) {}
        use c::cfg::ComputeCapability::*;
        ordered([
            Compute35, Compute37, Compute50, Compute52, Compute53, Compute60, Compute61, Compute62, Compute70,
            Compute72, Compute75, Compute80,
        ]);
    }

    /// Macros take the same syntax and give the same types, and the prelude has the same names.
    #[allow(dead_code, unused_imports, unexpected_cfgs)]
    fn macros_and_prelude() {
        use c::prelude::*;
        const LENGTH: usize = 3 * 16;
        let _: fn() -> *mut f32 = || c::shared_array![f32; 64];
        let _: fn() -> *mut [u8; 2] = || c::shared_array![[u8; 2]; LENGTH];
        let _: fn() -> u32 = thread::thread_idx_x;
        let _: fn(f32) -> f16 = f16::from_f32;
        let _: fn(f32) -> c::bf16 = c::bf16::from_f32;
        let _: fn(c::half::f16) -> f32 = c::f16::to_f32;
        use c::kernel as _;
    }
}

#[test]
fn signatures_are_those_of_the_published_crate() {
    // That it compiles is the test; the numbers say that something was compared.
    macro_rules! compared {
        ($($count:ident: $expected:literal;)*) => { $(
            assert_eq!((ours::$count, upstream::$count), ($expected, $expected), stringify!($count));
        )* };
    }
    compared! {
        THREAD: 30;
        WARP: 2;
        MEMORY: 7;
        MISC: 4;
        FENCES: 3;
        ATOMIC_F32: 9;
        ATOMIC_F64: 9;
        BLOCK_ATOMIC_F32: 9;
        BLOCK_ATOMIC_F64: 9;
        SYSTEM_ATOMIC_F32: 9;
        SYSTEM_ATOMIC_F64: 9;
        GPU_FLOAT_F32: 38;
        GPU_FLOAT_F64: 38;
        FLOAT_EXT_F32: 24;
        FLOAT_EXT_F64: 24;
    }
}
