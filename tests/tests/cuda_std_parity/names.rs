//! Rust-CUDA's atomic functions of pointers, and libdevice's names.

use core::sync::atomic::Ordering;

both! {
    // Of each family of names one of each type, ordering and scope.
    same! { RAW_ATOMICS:
        c::atomic::intrinsics::atomic_load_acquire_32_block => unsafe fn(*const u32) -> u32;
        c::atomic::intrinsics::atomic_store_release_32_block => unsafe fn(*mut u32, u32);
        c::atomic::mid::atomic_load_32_block => unsafe fn(*mut u32, Ordering) -> u32;
        c::atomic::mid::atomic_store_32_block => unsafe fn(*mut u32, Ordering, u32);
        c::atomic::intrinsics::atomic_load_acquire_64_block => unsafe fn(*const u64) -> u64;
        c::atomic::intrinsics::atomic_store_release_64_block => unsafe fn(*mut u64, u64);
        c::atomic::mid::atomic_load_64_block => unsafe fn(*mut u64, Ordering) -> u64;
        c::atomic::mid::atomic_store_64_block => unsafe fn(*mut u64, Ordering, u64);
        c::atomic::intrinsics::atomic_load_acquire_32_device => unsafe fn(*const u32) -> u32;
        c::atomic::intrinsics::atomic_store_release_32_device => unsafe fn(*mut u32, u32);
        c::atomic::mid::atomic_load_32_device => unsafe fn(*mut u32, Ordering) -> u32;
        c::atomic::mid::atomic_store_32_device => unsafe fn(*mut u32, Ordering, u32);
        c::atomic::intrinsics::atomic_load_acquire_64_device => unsafe fn(*const u64) -> u64;
        c::atomic::intrinsics::atomic_store_release_64_device => unsafe fn(*mut u64, u64);
        c::atomic::mid::atomic_load_64_device => unsafe fn(*mut u64, Ordering) -> u64;
        c::atomic::mid::atomic_store_64_device => unsafe fn(*mut u64, Ordering, u64);
        c::atomic::intrinsics::atomic_load_acquire_32_system => unsafe fn(*const u32) -> u32;
        c::atomic::intrinsics::atomic_store_release_32_system => unsafe fn(*mut u32, u32);
        c::atomic::mid::atomic_load_32_system => unsafe fn(*mut u32, Ordering) -> u32;
        c::atomic::mid::atomic_store_32_system => unsafe fn(*mut u32, Ordering, u32);
        c::atomic::intrinsics::atomic_load_acquire_64_system => unsafe fn(*const u64) -> u64;
        c::atomic::intrinsics::atomic_store_release_64_system => unsafe fn(*mut u64, u64);
        c::atomic::mid::atomic_load_64_system => unsafe fn(*mut u64, Ordering) -> u64;
        c::atomic::mid::atomic_store_64_system => unsafe fn(*mut u64, Ordering, u64);
        c::atomic::intrinsics::atomic_fetch_and_relaxed_u32_block => unsafe fn(*mut u32, u32) -> u32;
        c::atomic::mid::atomic_fetch_and_u32_block => unsafe fn(*mut u32, Ordering, u32) -> u32;
        c::atomic::intrinsics::atomic_fetch_or_acquire_u32_block => unsafe fn(*mut u32, u32) -> u32;
        c::atomic::mid::atomic_fetch_or_u32_block => unsafe fn(*mut u32, Ordering, u32) -> u32;
        c::atomic::intrinsics::atomic_fetch_xor_release_u32_block => unsafe fn(*mut u32, u32) -> u32;
        c::atomic::mid::atomic_fetch_xor_u32_block => unsafe fn(*mut u32, Ordering, u32) -> u32;
        c::atomic::intrinsics::atomic_fetch_exch_acqrel_u32_block => unsafe fn(*mut u32, u32) -> u32;
        c::atomic::mid::atomic_fetch_exch_u32_block => unsafe fn(*mut u32, Ordering, u32) -> u32;
        c::atomic::intrinsics::atomic_fetch_add_volatile_u32_block => unsafe fn(*mut u32, u32) -> u32;
        c::atomic::mid::atomic_fetch_add_u32_block => unsafe fn(*mut u32, Ordering, u32) -> u32;
        c::atomic::intrinsics::atomic_fetch_sub_relaxed_u32_block => unsafe fn(*mut u32, u32) -> u32;
        c::atomic::mid::atomic_fetch_sub_u32_block => unsafe fn(*mut u32, Ordering, u32) -> u32;
        c::atomic::intrinsics::atomic_fetch_min_acquire_u32_block => unsafe fn(*mut u32, u32) -> u32;
        c::atomic::mid::atomic_fetch_min_u32_block => unsafe fn(*mut u32, Ordering, u32) -> u32;
        c::atomic::intrinsics::atomic_fetch_max_release_u32_block => unsafe fn(*mut u32, u32) -> u32;
        c::atomic::mid::atomic_fetch_max_u32_block => unsafe fn(*mut u32, Ordering, u32) -> u32;
        c::atomic::intrinsics::atomic_fetch_cas_acqrel_u32_block => unsafe fn(*mut u32, u32, u32) -> u32;
        c::atomic::intrinsics::atomic_fetch_inc_release_u32_block => unsafe fn(*mut u32) -> u32;
        c::atomic::intrinsics::atomic_fetch_dec_volatile_u32_block => unsafe fn(*mut u32) -> u32;
        c::atomic::intrinsics::atomic_fetch_and_acquire_u64_device => unsafe fn(*mut u64, u64) -> u64;
        c::atomic::mid::atomic_fetch_and_u64_device => unsafe fn(*mut u64, Ordering, u64) -> u64;
        c::atomic::intrinsics::atomic_fetch_or_release_u64_device => unsafe fn(*mut u64, u64) -> u64;
        c::atomic::mid::atomic_fetch_or_u64_device => unsafe fn(*mut u64, Ordering, u64) -> u64;
        c::atomic::intrinsics::atomic_fetch_xor_acqrel_u64_device => unsafe fn(*mut u64, u64) -> u64;
        c::atomic::mid::atomic_fetch_xor_u64_device => unsafe fn(*mut u64, Ordering, u64) -> u64;
        c::atomic::intrinsics::atomic_fetch_exch_volatile_u64_device => unsafe fn(*mut u64, u64) -> u64;
        c::atomic::mid::atomic_fetch_exch_u64_device => unsafe fn(*mut u64, Ordering, u64) -> u64;
        c::atomic::intrinsics::atomic_fetch_add_relaxed_u64_device => unsafe fn(*mut u64, u64) -> u64;
        c::atomic::mid::atomic_fetch_add_u64_device => unsafe fn(*mut u64, Ordering, u64) -> u64;
        c::atomic::intrinsics::atomic_fetch_sub_acquire_u64_device => unsafe fn(*mut u64, u64) -> u64;
        c::atomic::mid::atomic_fetch_sub_u64_device => unsafe fn(*mut u64, Ordering, u64) -> u64;
        c::atomic::intrinsics::atomic_fetch_min_release_u64_device => unsafe fn(*mut u64, u64) -> u64;
        c::atomic::mid::atomic_fetch_min_u64_device => unsafe fn(*mut u64, Ordering, u64) -> u64;
        c::atomic::intrinsics::atomic_fetch_max_acqrel_u64_device => unsafe fn(*mut u64, u64) -> u64;
        c::atomic::mid::atomic_fetch_max_u64_device => unsafe fn(*mut u64, Ordering, u64) -> u64;
        c::atomic::intrinsics::atomic_fetch_cas_acqrel_u64_device => unsafe fn(*mut u64, u64, u64) -> u64;
        c::atomic::intrinsics::atomic_fetch_inc_release_u64_device => unsafe fn(*mut u64) -> u64;
        c::atomic::intrinsics::atomic_fetch_dec_volatile_u64_device => unsafe fn(*mut u64) -> u64;
        c::atomic::intrinsics::atomic_fetch_and_release_i32_system => unsafe fn(*mut i32, i32) -> i32;
        c::atomic::mid::atomic_fetch_and_i32_system => unsafe fn(*mut i32, Ordering, i32) -> i32;
        c::atomic::intrinsics::atomic_fetch_or_acqrel_i32_system => unsafe fn(*mut i32, i32) -> i32;
        c::atomic::mid::atomic_fetch_or_i32_system => unsafe fn(*mut i32, Ordering, i32) -> i32;
        c::atomic::intrinsics::atomic_fetch_xor_volatile_i32_system => unsafe fn(*mut i32, i32) -> i32;
        c::atomic::mid::atomic_fetch_xor_i32_system => unsafe fn(*mut i32, Ordering, i32) -> i32;
        c::atomic::intrinsics::atomic_fetch_exch_relaxed_i32_system => unsafe fn(*mut i32, i32) -> i32;
        c::atomic::mid::atomic_fetch_exch_i32_system => unsafe fn(*mut i32, Ordering, i32) -> i32;
        c::atomic::intrinsics::atomic_fetch_add_acquire_i32_system => unsafe fn(*mut i32, i32) -> i32;
        c::atomic::mid::atomic_fetch_add_i32_system => unsafe fn(*mut i32, Ordering, i32) -> i32;
        c::atomic::intrinsics::atomic_fetch_sub_release_i32_system => unsafe fn(*mut i32, i32) -> i32;
        c::atomic::mid::atomic_fetch_sub_i32_system => unsafe fn(*mut i32, Ordering, i32) -> i32;
        c::atomic::intrinsics::atomic_fetch_min_acqrel_i32_system => unsafe fn(*mut i32, i32) -> i32;
        c::atomic::mid::atomic_fetch_min_i32_system => unsafe fn(*mut i32, Ordering, i32) -> i32;
        c::atomic::intrinsics::atomic_fetch_max_volatile_i32_system => unsafe fn(*mut i32, i32) -> i32;
        c::atomic::mid::atomic_fetch_max_i32_system => unsafe fn(*mut i32, Ordering, i32) -> i32;
        c::atomic::intrinsics::atomic_fetch_cas_acqrel_i32_system => unsafe fn(*mut i32, i32, i32) -> i32;
        c::atomic::intrinsics::atomic_fetch_inc_release_i32_system => unsafe fn(*mut i32) -> i32;
        c::atomic::intrinsics::atomic_fetch_dec_volatile_i32_system => unsafe fn(*mut i32) -> i32;
        c::atomic::intrinsics::atomic_fetch_and_acqrel_i64_block => unsafe fn(*mut i64, i64) -> i64;
        c::atomic::mid::atomic_fetch_and_i64_block => unsafe fn(*mut i64, Ordering, i64) -> i64;
        c::atomic::intrinsics::atomic_fetch_or_volatile_i64_block => unsafe fn(*mut i64, i64) -> i64;
        c::atomic::mid::atomic_fetch_or_i64_block => unsafe fn(*mut i64, Ordering, i64) -> i64;
        c::atomic::intrinsics::atomic_fetch_xor_relaxed_i64_block => unsafe fn(*mut i64, i64) -> i64;
        c::atomic::mid::atomic_fetch_xor_i64_block => unsafe fn(*mut i64, Ordering, i64) -> i64;
        c::atomic::intrinsics::atomic_fetch_exch_acquire_i64_block => unsafe fn(*mut i64, i64) -> i64;
        c::atomic::mid::atomic_fetch_exch_i64_block => unsafe fn(*mut i64, Ordering, i64) -> i64;
        c::atomic::intrinsics::atomic_fetch_add_release_i64_block => unsafe fn(*mut i64, i64) -> i64;
        c::atomic::mid::atomic_fetch_add_i64_block => unsafe fn(*mut i64, Ordering, i64) -> i64;
        c::atomic::intrinsics::atomic_fetch_sub_acqrel_i64_block => unsafe fn(*mut i64, i64) -> i64;
        c::atomic::mid::atomic_fetch_sub_i64_block => unsafe fn(*mut i64, Ordering, i64) -> i64;
        c::atomic::intrinsics::atomic_fetch_min_volatile_i64_block => unsafe fn(*mut i64, i64) -> i64;
        c::atomic::mid::atomic_fetch_min_i64_block => unsafe fn(*mut i64, Ordering, i64) -> i64;
        c::atomic::intrinsics::atomic_fetch_max_relaxed_i64_block => unsafe fn(*mut i64, i64) -> i64;
        c::atomic::mid::atomic_fetch_max_i64_block => unsafe fn(*mut i64, Ordering, i64) -> i64;
        c::atomic::intrinsics::atomic_fetch_cas_acqrel_i64_block => unsafe fn(*mut i64, i64, i64) -> i64;
        c::atomic::intrinsics::atomic_fetch_inc_release_i64_block => unsafe fn(*mut i64) -> i64;
        c::atomic::intrinsics::atomic_fetch_dec_volatile_i64_block => unsafe fn(*mut i64) -> i64;
        c::atomic::intrinsics::atomic_fetch_and_volatile_f32_device => unsafe fn(*mut f32, f32) -> f32;
        c::atomic::mid::atomic_fetch_and_f32_device => unsafe fn(*mut f32, Ordering, f32) -> f32;
        c::atomic::intrinsics::atomic_fetch_or_relaxed_f32_device => unsafe fn(*mut f32, f32) -> f32;
        c::atomic::mid::atomic_fetch_or_f32_device => unsafe fn(*mut f32, Ordering, f32) -> f32;
        c::atomic::intrinsics::atomic_fetch_xor_acquire_f32_device => unsafe fn(*mut f32, f32) -> f32;
        c::atomic::mid::atomic_fetch_xor_f32_device => unsafe fn(*mut f32, Ordering, f32) -> f32;
        c::atomic::intrinsics::atomic_fetch_exch_release_f32_device => unsafe fn(*mut f32, f32) -> f32;
        c::atomic::mid::atomic_fetch_exch_f32_device => unsafe fn(*mut f32, Ordering, f32) -> f32;
        c::atomic::intrinsics::atomic_fetch_add_acqrel_f32_device => unsafe fn(*mut f32, f32) -> f32;
        c::atomic::mid::atomic_fetch_add_f32_device => unsafe fn(*mut f32, Ordering, f32) -> f32;
        c::atomic::intrinsics::atomic_fetch_sub_volatile_f32_device => unsafe fn(*mut f32, f32) -> f32;
        c::atomic::mid::atomic_fetch_sub_f32_device => unsafe fn(*mut f32, Ordering, f32) -> f32;
        c::atomic::intrinsics::atomic_fetch_cas_acqrel_f32_device => unsafe fn(*mut f32, f32, f32) -> f32;
        c::atomic::intrinsics::atomic_fetch_and_relaxed_f64_system => unsafe fn(*mut f64, f64) -> f64;
        c::atomic::mid::atomic_fetch_and_f64_system => unsafe fn(*mut f64, Ordering, f64) -> f64;
        c::atomic::intrinsics::atomic_fetch_or_acquire_f64_system => unsafe fn(*mut f64, f64) -> f64;
        c::atomic::mid::atomic_fetch_or_f64_system => unsafe fn(*mut f64, Ordering, f64) -> f64;
        c::atomic::intrinsics::atomic_fetch_xor_release_f64_system => unsafe fn(*mut f64, f64) -> f64;
        c::atomic::mid::atomic_fetch_xor_f64_system => unsafe fn(*mut f64, Ordering, f64) -> f64;
        c::atomic::intrinsics::atomic_fetch_exch_acqrel_f64_system => unsafe fn(*mut f64, f64) -> f64;
        c::atomic::mid::atomic_fetch_exch_f64_system => unsafe fn(*mut f64, Ordering, f64) -> f64;
        c::atomic::intrinsics::atomic_fetch_add_volatile_f64_system => unsafe fn(*mut f64, f64) -> f64;
        c::atomic::mid::atomic_fetch_add_f64_system => unsafe fn(*mut f64, Ordering, f64) -> f64;
        c::atomic::intrinsics::atomic_fetch_sub_relaxed_f64_system => unsafe fn(*mut f64, f64) -> f64;
        c::atomic::mid::atomic_fetch_sub_f64_system => unsafe fn(*mut f64, Ordering, f64) -> f64;
        c::atomic::intrinsics::atomic_fetch_cas_acqrel_f64_system => unsafe fn(*mut f64, f64, f64) -> f64;
        c::atomic::intrinsics::membar_block => unsafe fn();
        c::atomic::intrinsics::membar_device => unsafe fn();
        c::atomic::intrinsics::membar_system => unsafe fn();
        c::atomic::intrinsics::fence_sc_block => unsafe fn();
        c::atomic::intrinsics::fence_sc_device => unsafe fn();
        c::atomic::intrinsics::fence_sc_system => unsafe fn();
        c::atomic::intrinsics::fence_acqrel_block => unsafe fn();
        c::atomic::intrinsics::fence_acqrel_device => unsafe fn();
        c::atomic::intrinsics::fence_acqrel_system => unsafe fn();
    }

    same! { LIBDEVICE:
        c::intrinsics::abs => unsafe extern "C" fn(i32) -> i32;
        c::intrinsics::acos => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::acosf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::acosh => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::acoshf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::asin => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::asinf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::asinh => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::asinhf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::atan => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::atan2 => unsafe extern "C" fn(f64, f64) -> f64;
        c::intrinsics::atan2f => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::atanf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::atanh => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::atanhf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::brev => unsafe extern "C" fn(i32) -> i32;
        c::intrinsics::brevll => unsafe extern "C" fn(i64) -> i64;
        c::intrinsics::byte_perm => unsafe extern "C" fn(i32, i32, i32) -> i32;
        c::intrinsics::cbrt => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::cbrtf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::ceil => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::ceilf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::clz => unsafe extern "C" fn(i32) -> i32;
        c::intrinsics::clzll => unsafe extern "C" fn(i64) -> i32;
        c::intrinsics::copysign => unsafe extern "C" fn(f64, f64) -> f64;
        c::intrinsics::copysignf => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::cos => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::cosf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::cosh => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::coshf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::cospi => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::cospif => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::dadd_rn => unsafe extern "C" fn(f64, f64) -> f64;
        c::intrinsics::ddiv_rn => unsafe extern "C" fn(f64, f64) -> f64;
        c::intrinsics::dmul_rn => unsafe extern "C" fn(f64, f64) -> f64;
        c::intrinsics::double2float_rn => unsafe extern "C" fn(f64) -> f32;
        c::intrinsics::double2hiint => unsafe extern "C" fn(f64) -> i32;
        c::intrinsics::double2int_rd => unsafe extern "C" fn(f64) -> i32;
        c::intrinsics::double2int_rn => unsafe extern "C" fn(f64) -> i32;
        c::intrinsics::double2int_ru => unsafe extern "C" fn(f64) -> i32;
        c::intrinsics::double2int_rz => unsafe extern "C" fn(f64) -> i32;
        c::intrinsics::double2ll_rd => unsafe extern "C" fn(f64) -> i64;
        c::intrinsics::double2ll_rn => unsafe extern "C" fn(f64) -> i64;
        c::intrinsics::double2ll_ru => unsafe extern "C" fn(f64) -> i64;
        c::intrinsics::double2ll_rz => unsafe extern "C" fn(f64) -> i64;
        c::intrinsics::double2loint => unsafe extern "C" fn(f64) -> i32;
        c::intrinsics::double2uint_rd => unsafe extern "C" fn(f64) -> i32;
        c::intrinsics::double2uint_rn => unsafe extern "C" fn(f64) -> i32;
        c::intrinsics::double2uint_ru => unsafe extern "C" fn(f64) -> i32;
        c::intrinsics::double2uint_rz => unsafe extern "C" fn(f64) -> i32;
        c::intrinsics::double2ull_rd => unsafe extern "C" fn(f64) -> i64;
        c::intrinsics::double2ull_rn => unsafe extern "C" fn(f64) -> i64;
        c::intrinsics::double2ull_ru => unsafe extern "C" fn(f64) -> i64;
        c::intrinsics::double2ull_rz => unsafe extern "C" fn(f64) -> i64;
        c::intrinsics::double_as_longlong => unsafe extern "C" fn(f64) -> i64;
        c::intrinsics::drcp_rn => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::dsqrt_rn => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::erf => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::erfc => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::erfcf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::erfcinv => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::erfcinvf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::erfcx => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::erfcxf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::erff => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::exp => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::exp10 => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::exp10f => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::exp2 => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::exp2f => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::expf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::expm1 => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::expm1f => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::fabs => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::fabsf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::fadd_rn => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::fast_cosf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::fast_exp10f => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::fast_expf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::fast_fdividef => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::fast_log10f => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::fast_log2f => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::fast_logf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::fast_powf => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::fast_sincosf => unsafe extern "C" fn(f32, *mut f32, *mut f32);
        c::intrinsics::fast_sinf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::fast_tanf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::fdim => unsafe extern "C" fn(f64, f64) -> f64;
        c::intrinsics::fdimf => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::fdiv_rn => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::ffs => unsafe extern "C" fn(i32) -> i32;
        c::intrinsics::ffsll => unsafe extern "C" fn(i64) -> i32;
        c::intrinsics::finitef => unsafe extern "C" fn(f32) -> i32;
        c::intrinsics::float2half_rn => unsafe extern "C" fn(f32) -> i16;
        c::intrinsics::float2int_rd => unsafe extern "C" fn(f32) -> i32;
        c::intrinsics::float2int_rn => unsafe extern "C" fn(f32) -> i32;
        c::intrinsics::float2int_ru => unsafe extern "C" fn(f32) -> i32;
        c::intrinsics::float2int_rz => unsafe extern "C" fn(f32) -> i32;
        c::intrinsics::float2ll_rd => unsafe extern "C" fn(f32) -> i64;
        c::intrinsics::float2ll_rn => unsafe extern "C" fn(f32) -> i64;
        c::intrinsics::float2ll_ru => unsafe extern "C" fn(f32) -> i64;
        c::intrinsics::float2ll_rz => unsafe extern "C" fn(f32) -> i64;
        c::intrinsics::float2uint_rd => unsafe extern "C" fn(f32) -> i32;
        c::intrinsics::float2uint_rn => unsafe extern "C" fn(f32) -> i32;
        c::intrinsics::float2uint_ru => unsafe extern "C" fn(f32) -> i32;
        c::intrinsics::float2uint_rz => unsafe extern "C" fn(f32) -> i32;
        c::intrinsics::float2ull_rd => unsafe extern "C" fn(f32) -> i64;
        c::intrinsics::float2ull_rn => unsafe extern "C" fn(f32) -> i64;
        c::intrinsics::float2ull_ru => unsafe extern "C" fn(f32) -> i64;
        c::intrinsics::float2ull_rz => unsafe extern "C" fn(f32) -> i64;
        c::intrinsics::float_as_int => unsafe extern "C" fn(f32) -> i32;
        c::intrinsics::floor => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::floorf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::fma => unsafe extern "C" fn(f64, f64, f64) -> f64;
        c::intrinsics::fma_rn => unsafe extern "C" fn(f64, f64, f64) -> f64;
        c::intrinsics::fmaf => unsafe extern "C" fn(f32, f32, f32) -> f32;
        c::intrinsics::fmaf_rn => unsafe extern "C" fn(f32, f32, f32) -> f32;
        c::intrinsics::fmax => unsafe extern "C" fn(f64, f64) -> f64;
        c::intrinsics::fmaxf => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::fmin => unsafe extern "C" fn(f64, f64) -> f64;
        c::intrinsics::fminf => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::fmod => unsafe extern "C" fn(f64, f64) -> f64;
        c::intrinsics::fmodf => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::fmul_rn => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::frcp_rn => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::frexp => unsafe extern "C" fn(f64, *mut i32) -> f64;
        c::intrinsics::frexpf => unsafe extern "C" fn(f32, *mut i32) -> f32;
        c::intrinsics::fsqrt_rn => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::fsub_rn => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::hadd => unsafe extern "C" fn(i32, i32) -> i32;
        c::intrinsics::half2float => unsafe extern "C" fn(i16) -> f32;
        c::intrinsics::hiloint2double => unsafe extern "C" fn(i32, i32) -> f64;
        c::intrinsics::hypot => unsafe extern "C" fn(f64, f64) -> f64;
        c::intrinsics::hypotf => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::ilogb => unsafe extern "C" fn(f64) -> i32;
        c::intrinsics::ilogbf => unsafe extern "C" fn(f32) -> i32;
        c::intrinsics::int2double_rn => unsafe extern "C" fn(i32) -> f64;
        c::intrinsics::int2float_rn => unsafe extern "C" fn(i32) -> f32;
        c::intrinsics::int_as_float => unsafe extern "C" fn(i32) -> f32;
        c::intrinsics::isfinited => unsafe extern "C" fn(f64) -> i32;
        c::intrinsics::isinfd => unsafe extern "C" fn(f64) -> i32;
        c::intrinsics::isinff => unsafe extern "C" fn(f32) -> i32;
        c::intrinsics::isnand => unsafe extern "C" fn(f64) -> i32;
        c::intrinsics::isnanf => unsafe extern "C" fn(f32) -> i32;
        c::intrinsics::j0 => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::j0f => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::j1 => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::j1f => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::jn => unsafe extern "C" fn(i32, f64) -> f64;
        c::intrinsics::jnf => unsafe extern "C" fn(i32, f32) -> f32;
        c::intrinsics::ldexp => unsafe extern "C" fn(f64, i32) -> f64;
        c::intrinsics::ldexpf => unsafe extern "C" fn(f32, i32) -> f32;
        c::intrinsics::lgamma => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::lgammaf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::ll2double_rn => unsafe extern "C" fn(i64) -> f64;
        c::intrinsics::ll2float_rn => unsafe extern "C" fn(i64) -> f32;
        c::intrinsics::llabs => unsafe extern "C" fn(i64) -> i64;
        c::intrinsics::llmax => unsafe extern "C" fn(i64, i64) -> i64;
        c::intrinsics::llmin => unsafe extern "C" fn(i64, i64) -> i64;
        c::intrinsics::llrint => unsafe extern "C" fn(f64) -> i64;
        c::intrinsics::llrintf => unsafe extern "C" fn(f32) -> i64;
        c::intrinsics::llround => unsafe extern "C" fn(f64) -> i64;
        c::intrinsics::llroundf => unsafe extern "C" fn(f32) -> i64;
        c::intrinsics::log => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::log10 => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::log10f => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::log1p => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::log1pf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::log2 => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::log2f => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::logb => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::logbf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::logf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::longlong_as_double => unsafe extern "C" fn(i64) -> f64;
        c::intrinsics::max => unsafe extern "C" fn(i32, i32) -> i32;
        c::intrinsics::min => unsafe extern "C" fn(i32, i32) -> i32;
        c::intrinsics::modf => unsafe extern "C" fn(f64, *mut f64) -> f64;
        c::intrinsics::modff => unsafe extern "C" fn(f32, *mut f32) -> f32;
        c::intrinsics::mul24 => unsafe extern "C" fn(i32, i32) -> i32;
        c::intrinsics::mul64hi => unsafe extern "C" fn(i64, i64) -> i64;
        c::intrinsics::mulhi => unsafe extern "C" fn(i32, i32) -> i32;
        c::intrinsics::nan => unsafe extern "C" fn(*mut i8) -> f64;
        c::intrinsics::nanf => unsafe extern "C" fn(*mut i8) -> f32;
        c::intrinsics::nearbyint => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::nearbyintf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::nextafter => unsafe extern "C" fn(f64, f64) -> f64;
        c::intrinsics::nextafterf => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::normcdf => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::normcdff => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::normcdfinv => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::normcdfinvf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::popc => unsafe extern "C" fn(i32) -> i32;
        c::intrinsics::popcll => unsafe extern "C" fn(i64) -> i32;
        c::intrinsics::pow => unsafe extern "C" fn(f64, f64) -> f64;
        c::intrinsics::powf => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::powi => unsafe extern "C" fn(f64, i32) -> f64;
        c::intrinsics::powif => unsafe extern "C" fn(f32, i32) -> f32;
        c::intrinsics::rcbrt => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::rcbrtf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::remainder => unsafe extern "C" fn(f64, f64) -> f64;
        c::intrinsics::remainderf => unsafe extern "C" fn(f32, f32) -> f32;
        c::intrinsics::remquo => unsafe extern "C" fn(f64, f64, *mut i32) -> f64;
        c::intrinsics::remquof => unsafe extern "C" fn(f32, f32, *mut i32) -> f32;
        c::intrinsics::rhadd => unsafe extern "C" fn(i32, i32) -> i32;
        c::intrinsics::rint => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::rintf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::round => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::roundf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::rsqrt => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::rsqrtf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::sad => unsafe extern "C" fn(i32, i32, i32) -> i32;
        c::intrinsics::saturatef => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::scalbn => unsafe extern "C" fn(f64, i32) -> f64;
        c::intrinsics::scalbnf => unsafe extern "C" fn(f32, i32) -> f32;
        c::intrinsics::signbitd => unsafe extern "C" fn(f64) -> i32;
        c::intrinsics::signbitf => unsafe extern "C" fn(f32) -> i32;
        c::intrinsics::sin => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::sincos => unsafe extern "C" fn(f64, *mut f64, *mut f64);
        c::intrinsics::sincosf => unsafe extern "C" fn(f32, *mut f32, *mut f32);
        c::intrinsics::sincospi => unsafe extern "C" fn(f64, *mut f64, *mut f64);
        c::intrinsics::sincospif => unsafe extern "C" fn(f32, *mut f32, *mut f32);
        c::intrinsics::sinf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::sinh => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::sinhf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::sinpi => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::sinpif => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::sqrt => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::sqrtf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::tan => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::tanf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::tanh => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::tanhf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::tgamma => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::tgammaf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::trunc => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::truncf => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::uhadd => unsafe extern "C" fn(i32, i32) -> i32;
        c::intrinsics::uint2double_rn => unsafe extern "C" fn(i32) -> f64;
        c::intrinsics::uint2float_rn => unsafe extern "C" fn(i32) -> f32;
        c::intrinsics::ull2double_rn => unsafe extern "C" fn(i64) -> f64;
        c::intrinsics::ull2float_rn => unsafe extern "C" fn(i64) -> f32;
        c::intrinsics::ullmax => unsafe extern "C" fn(i64, i64) -> i64;
        c::intrinsics::ullmin => unsafe extern "C" fn(i64, i64) -> i64;
        c::intrinsics::umax => unsafe extern "C" fn(i32, i32) -> i32;
        c::intrinsics::umin => unsafe extern "C" fn(i32, i32) -> i32;
        c::intrinsics::umul24 => unsafe extern "C" fn(i32, i32) -> i32;
        c::intrinsics::umul64hi => unsafe extern "C" fn(i64, i64) -> i64;
        c::intrinsics::umulhi => unsafe extern "C" fn(i32, i32) -> i32;
        c::intrinsics::urhadd => unsafe extern "C" fn(i32, i32) -> i32;
        c::intrinsics::usad => unsafe extern "C" fn(i32, i32, i32) -> i32;
        c::intrinsics::y0 => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::y0f => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::y1 => unsafe extern "C" fn(f64) -> f64;
        c::intrinsics::y1f => unsafe extern "C" fn(f32) -> f32;
        c::intrinsics::yn => unsafe extern "C" fn(i32, f64) -> f64;
        c::intrinsics::ynf => unsafe extern "C" fn(i32, f32) -> f32;
    }
}

/// Names of Rust-CUDA's main branch that the published crate does not have yet.
mod of_the_main_branch {
    use super::*;
    use cuda_std as c;

    same! { EXCHANGES:
        c::atomic::mid::atomic_compare_and_swap_u32_block => unsafe fn(*mut u32, u32, u32, Ordering) -> u32;
        c::atomic::mid::atomic_compare_and_swap_u64_device => unsafe fn(*mut u64, u64, u64, Ordering) -> u64;
        c::atomic::mid::atomic_compare_and_swap_i32_system => unsafe fn(*mut i32, i32, i32, Ordering) -> i32;
        c::atomic::mid::atomic_compare_and_swap_i64_block => unsafe fn(*mut i64, i64, i64, Ordering) -> i64;
        c::atomic::mid::atomic_compare_and_swap_f32_device => unsafe fn(*mut f32, f32, f32, Ordering) -> f32;
        c::atomic::mid::atomic_compare_and_swap_f64_system => unsafe fn(*mut f64, f64, f64, Ordering) -> f64;
    }
}

#[test]
fn functions_have_the_signatures_of_the_published_crate() {
    let ours = (
        ours::RAW_ATOMICS,
        ours::LIBDEVICE,
        of_the_main_branch::EXCHANGES,
    );
    assert_eq!(ours, (135, 256, 6));
    assert_eq!(
        (upstream::RAW_ATOMICS, upstream::LIBDEVICE),
        (ours.0, ours.1)
    );
}

/// What the documents say of `intrinsics` that is not here is not here, and of its kind nothing else is missing: the
/// published crate has 319 names.
#[test]
fn the_documents_count_the_functions_that_are_missing() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let mut sources = String::new();
    for file in ["conversions", "floats", "integers"] {
        sources += &read(&format!("cuda_std/src/intrinsics/{file}.rs"));
    }
    let here = |name: &str| sources.contains(&format!(" {name}("));
    let page = read("docs/FROM-RUST-CUDA.md");
    for name in ["erfinv", "erfinvf", "frsqrt_rn"] {
        assert!(!here(name), "{name}");
    }
    let rounded = ["d", "f"].map(|kind| {
        let names = ["add", "div", "mul", "rcp", "sqrt"].map(|name| format!("{kind}{name}"));
        names.to_vec()
    });
    let mut rounded = rounded.concat();
    rounded.extend(["fsub", "fma", "fmaf", "double2float"].map(str::to_owned));
    for from in ["int", "uint", "ll", "ull"] {
        rounded.push(format!("{from}2float"));
        if from.ends_with("ll") {
            rounded.push(format!("{from}2double"));
        }
    }
    let directed = rounded
        .iter()
        .flat_map(|name| ["rd", "ru", "rz"].map(|to| format!("{name}_{to}")));
    let directed: Vec<String> = directed.collect();
    assert!(directed.iter().all(|name| !here(name)));
    assert_eq!(directed.len() + 3 + ours::LIBDEVICE, 319);
    assert!(page.contains(&format!("but for the {} below", directed.len() + 3)));
}
