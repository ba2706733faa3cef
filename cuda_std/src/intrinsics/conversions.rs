//! Conversions, and the bits of floats.

use crate::{GpuFloat, f16};

functions! {
    /// Returns the high word of `d`.
    double2hiint(d: f64) -> i32 = (d.to_bits() >> 32) as i32;
    /// Returns the low word of `d`.
    double2loint(d: f64) -> i32 = d.to_bits() as i32;
    /// Returns the float with the high word `x` and the low word `y`.
    hiloint2double(x: i32, y: i32) -> f64 = f64::from_bits(u64::from(x as u32) << 32 | u64::from(y as u32));
    /// Returns the bits of `x`.
    double_as_longlong(x: f64) -> i64 = x.to_bits() as i64;
    /// Returns the float with the bits `x`.
    longlong_as_double(x: i64) -> f64 = f64::from_bits(x as u64);
    /// Returns the bits of `x`.
    float_as_int(x: f32) -> i32 = x.to_bits() as i32;
    /// Returns the float with the bits `x`.
    int_as_float(x: i32) -> f32 = f32::from_bits(x as u32);
    /// Converts to the nearest 16-bit float and returns its bits.
    float2half_rn(f: f32) -> i16 = f16::from_f32(f).to_bits() as i16;
    /// Converts the bits of a 16-bit float to `f32`.
    half2float(h: i16) -> f32 = f16::from_bits(h as u16).to_f32();
    /// Converts to the nearest float.
    double2float_rn(d: f64) -> f32 = d as f32;
    /// Converts to an integer, rounding down.
    double2int_rd(x: f64) -> i32 = GpuFloat::floor(x) as i32;
    /// Converts to an integer, rounding to the nearest.
    double2int_rn(x: f64) -> i32 = libm::rint(x) as i32;
    /// Converts to an integer, rounding up.
    double2int_ru(x: f64) -> i32 = GpuFloat::ceil(x) as i32;
    /// Converts to an integer, rounding toward zero.
    double2int_rz(x: f64) -> i32 = GpuFloat::trunc(x) as i32;
    /// Converts to an integer, rounding down.
    double2ll_rd(x: f64) -> i64 = GpuFloat::floor(x) as i64;
    /// Converts to an integer, rounding to the nearest.
    double2ll_rn(x: f64) -> i64 = libm::rint(x) as i64;
    /// Converts to an integer, rounding up.
    double2ll_ru(x: f64) -> i64 = GpuFloat::ceil(x) as i64;
    /// Converts to an integer, rounding toward zero.
    double2ll_rz(x: f64) -> i64 = GpuFloat::trunc(x) as i64;
    /// Converts to an unsigned integer, rounding down.
    double2uint_rd(x: f64) -> i32 = GpuFloat::floor(x) as u32 as i32;
    /// Converts to an unsigned integer, rounding to the nearest.
    double2uint_rn(x: f64) -> i32 = libm::rint(x) as u32 as i32;
    /// Converts to an unsigned integer, rounding up.
    double2uint_ru(x: f64) -> i32 = GpuFloat::ceil(x) as u32 as i32;
    /// Converts to an unsigned integer, rounding toward zero.
    double2uint_rz(x: f64) -> i32 = GpuFloat::trunc(x) as u32 as i32;
    /// Converts to an unsigned integer, rounding down.
    double2ull_rd(x: f64) -> i64 = GpuFloat::floor(x) as u64 as i64;
    /// Converts to an unsigned integer, rounding to the nearest.
    double2ull_rn(x: f64) -> i64 = libm::rint(x) as u64 as i64;
    /// Converts to an unsigned integer, rounding up.
    double2ull_ru(x: f64) -> i64 = GpuFloat::ceil(x) as u64 as i64;
    /// Converts to an unsigned integer, rounding toward zero.
    double2ull_rz(x: f64) -> i64 = GpuFloat::trunc(x) as u64 as i64;
    /// Converts to an integer, rounding down.
    float2int_rd(x: f32) -> i32 = GpuFloat::floor(x) as i32;
    /// Converts to an integer, rounding to the nearest.
    float2int_rn(x: f32) -> i32 = libm::rintf(x) as i32;
    /// Converts to an integer, rounding up.
    float2int_ru(x: f32) -> i32 = GpuFloat::ceil(x) as i32;
    /// Converts to an integer, rounding toward zero.
    float2int_rz(x: f32) -> i32 = GpuFloat::trunc(x) as i32;
    /// Converts to an integer, rounding down.
    float2ll_rd(x: f32) -> i64 = GpuFloat::floor(x) as i64;
    /// Converts to an integer, rounding to the nearest.
    float2ll_rn(x: f32) -> i64 = libm::rintf(x) as i64;
    /// Converts to an integer, rounding up.
    float2ll_ru(x: f32) -> i64 = GpuFloat::ceil(x) as i64;
    /// Converts to an integer, rounding toward zero.
    float2ll_rz(x: f32) -> i64 = GpuFloat::trunc(x) as i64;
    /// Converts to an unsigned integer, rounding down.
    float2uint_rd(x: f32) -> i32 = GpuFloat::floor(x) as u32 as i32;
    /// Converts to an unsigned integer, rounding to the nearest.
    float2uint_rn(x: f32) -> i32 = libm::rintf(x) as u32 as i32;
    /// Converts to an unsigned integer, rounding up.
    float2uint_ru(x: f32) -> i32 = GpuFloat::ceil(x) as u32 as i32;
    /// Converts to an unsigned integer, rounding toward zero.
    float2uint_rz(x: f32) -> i32 = GpuFloat::trunc(x) as u32 as i32;
    /// Converts to an unsigned integer, rounding down.
    float2ull_rd(x: f32) -> i64 = GpuFloat::floor(x) as u64 as i64;
    /// Converts to an unsigned integer, rounding to the nearest.
    float2ull_rn(x: f32) -> i64 = libm::rintf(x) as u64 as i64;
    /// Converts to an unsigned integer, rounding up.
    float2ull_ru(x: f32) -> i64 = GpuFloat::ceil(x) as u64 as i64;
    /// Converts to an unsigned integer, rounding toward zero.
    float2ull_rz(x: f32) -> i64 = GpuFloat::trunc(x) as u64 as i64;
    /// Converts to the nearest float.
    int2double_rn(x: i32) -> f64 = f64::from(x);
    /// Converts to the nearest float.
    int2float_rn(x: i32) -> f32 = x as f32;
    /// Converts to the nearest float.
    uint2double_rn(x: i32) -> f64 = f64::from(x as u32);
    /// Converts to the nearest float.
    uint2float_rn(x: i32) -> f32 = (x as u32) as f32;
    /// Converts to the nearest float.
    ll2double_rn(x: i64) -> f64 = x as f64;
    /// Converts to the nearest float.
    ll2float_rn(x: i64) -> f32 = x as f32;
    /// Converts to the nearest float.
    ull2double_rn(x: i64) -> f64 = (x as u64) as f64;
    /// Converts to the nearest float.
    ull2float_rn(x: i64) -> f32 = (x as u64) as f32;
}
