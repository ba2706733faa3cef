//! Conversions that are one instruction on the device and missing in `core`.

/// Converts the bits of an IEEE binary16 number to `f32`, exactly (`cvt.f32.f16`).
#[inline(always)]
pub fn f16_to_f32(bits: u16) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        crate::imp::f16_to_f32(bits)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        half::f16::from_bits(bits).to_f32()
    }
}

/// Converts to the nearest IEEE binary16 number, ties to even, and returns its bits (`cvt.rn.f16.f32`). The payload of a NaN
/// is not specified.
#[inline(always)]
pub fn f32_to_f16(value: f32) -> u16 {
    #[cfg(target_arch = "nvptx64")]
    {
        crate::imp::f32_to_f16(value)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        half::f16::from_f32(value).to_bits()
    }
}
