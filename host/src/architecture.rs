//! The names of architectures.

/// Returns an architecture's number, and whether it is specific: `sm_90a` is 90 and specific.
pub(crate) fn parse(arch: &str) -> Option<(u32, bool)> {
    let digits = arch.strip_prefix("sm_")?;
    let number = digits.trim_end_matches('a').parse().ok()?;
    Some((number, digits.ends_with('a')))
}
