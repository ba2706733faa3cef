//! Conversions that the device has an instruction for and `core` has none.

/// The value of an IEEE binary16 number, given by its bits; exact (`cvt.f32.f16`).
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
