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
