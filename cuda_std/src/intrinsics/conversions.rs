//! Conversions, and the bits of floats.

use crate::{GpuFloat, f16};

functions! {
    /// The high word.
    double2hiint(d: f64) -> i32 = (d.to_bits() >> 32) as i32;
    /// The low word.
    double2loint(d: f64) -> i32 = d.to_bits() as i32;
    /// The float of the high word `x` and the low word `y`.
    hiloint2double(x: i32, y: i32) -> f64 = f64::from_bits(u64::from(x as u32) << 32 | u64::from(y as u32));
    /// The bits.
    double_as_longlong(x: f64) -> i64 = x.to_bits() as i64;
    /// The float of these bits.
    longlong_as_double(x: i64) -> f64 = f64::from_bits(x as u64);
    /// The bits.
    float_as_int(x: f32) -> i32 = x.to_bits() as i32;
    /// The float of these bits.
    int_as_float(x: i32) -> f32 = f32::from_bits(x as u32);
    /// The bits of the nearest float of 16 bits.
    float2half_rn(f: f32) -> i16 = f16::from_f32(f).to_bits() as i16;
    /// The float of 16 bits that has these.
    half2float(h: i16) -> f32 = f16::from_bits(h as u16).to_f32();
    /// The nearest float.
    double2float_rn(d: f64) -> f32 = d as f32;
    /// As an integer, rounded down.
    double2int_rd(x: f64) -> i32 = GpuFloat::floor(x) as i32;
    /// As an integer, rounded to the nearest.
    double2int_rn(x: f64) -> i32 = libm::rint(x) as i32;
    /// As an integer, rounded up.
    double2int_ru(x: f64) -> i32 = GpuFloat::ceil(x) as i32;
    /// As an integer, rounded to zero.
    double2int_rz(x: f64) -> i32 = GpuFloat::trunc(x) as i32;
    /// As an integer, rounded down.
    double2ll_rd(x: f64) -> i64 = GpuFloat::floor(x) as i64;
    /// As an integer, rounded to the nearest.
    double2ll_rn(x: f64) -> i64 = libm::rint(x) as i64;
    /// As an integer, rounded up.
    double2ll_ru(x: f64) -> i64 = GpuFloat::ceil(x) as i64;
    /// As an integer, rounded to zero.
    double2ll_rz(x: f64) -> i64 = GpuFloat::trunc(x) as i64;
    /// As an unsigned integer, rounded down.
    double2uint_rd(x: f64) -> i32 = GpuFloat::floor(x) as u32 as i32;
    /// As an unsigned integer, rounded to the nearest.
    double2uint_rn(x: f64) -> i32 = libm::rint(x) as u32 as i32;
    /// As an unsigned integer, rounded up.
    double2uint_ru(x: f64) -> i32 = GpuFloat::ceil(x) as u32 as i32;
    /// As an unsigned integer, rounded to zero.
    double2uint_rz(x: f64) -> i32 = GpuFloat::trunc(x) as u32 as i32;
    /// As an unsigned integer, rounded down.
    double2ull_rd(x: f64) -> i64 = GpuFloat::floor(x) as u64 as i64;
    /// As an unsigned integer, rounded to the nearest.
    double2ull_rn(x: f64) -> i64 = libm::rint(x) as u64 as i64;
    /// As an unsigned integer, rounded up.
    double2ull_ru(x: f64) -> i64 = GpuFloat::ceil(x) as u64 as i64;
    /// As an unsigned integer, rounded to zero.
    double2ull_rz(x: f64) -> i64 = GpuFloat::trunc(x) as u64 as i64;
    /// As an integer, rounded down.
    float2int_rd(x: f32) -> i32 = GpuFloat::floor(x) as i32;
    /// As an integer, rounded to the nearest.
    float2int_rn(x: f32) -> i32 = libm::rintf(x) as i32;
    /// As an integer, rounded up.
    float2int_ru(x: f32) -> i32 = GpuFloat::ceil(x) as i32;
    /// As an integer, rounded to zero.
    float2int_rz(x: f32) -> i32 = GpuFloat::trunc(x) as i32;
    /// As an integer, rounded down.
    float2ll_rd(x: f32) -> i64 = GpuFloat::floor(x) as i64;
    /// As an integer, rounded to the nearest.
    float2ll_rn(x: f32) -> i64 = libm::rintf(x) as i64;
    /// As an integer, rounded up.
    float2ll_ru(x: f32) -> i64 = GpuFloat::ceil(x) as i64;
    /// As an integer, rounded to zero.
    float2ll_rz(x: f32) -> i64 = GpuFloat::trunc(x) as i64;
    /// As an unsigned integer, rounded down.
    float2uint_rd(x: f32) -> i32 = GpuFloat::floor(x) as u32 as i32;
    /// As an unsigned integer, rounded to the nearest.
    float2uint_rn(x: f32) -> i32 = libm::rintf(x) as u32 as i32;
    /// As an unsigned integer, rounded up.
    float2uint_ru(x: f32) -> i32 = GpuFloat::ceil(x) as u32 as i32;
    /// As an unsigned integer, rounded to zero.
    float2uint_rz(x: f32) -> i32 = GpuFloat::trunc(x) as u32 as i32;
    /// As an unsigned integer, rounded down.
    float2ull_rd(x: f32) -> i64 = GpuFloat::floor(x) as u64 as i64;
    /// As an unsigned integer, rounded to the nearest.
    float2ull_rn(x: f32) -> i64 = libm::rintf(x) as u64 as i64;
    /// As an unsigned integer, rounded up.
    float2ull_ru(x: f32) -> i64 = GpuFloat::ceil(x) as u64 as i64;
    /// As an unsigned integer, rounded to zero.
    float2ull_rz(x: f32) -> i64 = GpuFloat::trunc(x) as u64 as i64;
    /// The nearest float.
    int2double_rn(x: i32) -> f64 = f64::from(x);
    /// The nearest float.
    int2float_rn(x: i32) -> f32 = x as f32;
    /// The nearest float.
    uint2double_rn(x: i32) -> f64 = f64::from(x as u32);
    /// The nearest float.
    uint2float_rn(x: i32) -> f32 = (x as u32) as f32;
    /// The nearest float.
    ll2double_rn(x: i64) -> f64 = x as f64;
    /// The nearest float.
    ll2float_rn(x: i64) -> f32 = x as f32;
    /// The nearest float.
    ull2double_rn(x: i64) -> f64 = (x as u64) as f64;
    /// The nearest float.
    ull2float_rn(x: i64) -> f32 = (x as u64) as f32;
}
