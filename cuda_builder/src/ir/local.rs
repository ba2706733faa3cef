//! Lowers compare-and-exchange on a lane's own variables.
//!
//! The hardware has no atomic operations on local memory. LLVM 22 turns the other atomic operations there into plain ones,
//! but leaves this one as `atom`, which `ptxas` refuses. No other lane accesses a lane's variables, so a load and a store
//! are equivalent.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The address space of local memory.
const LOCAL: &str = "ptr addrspace(5) ";
/// A generic pointer, which may be to a variable of the lane.
const GENERIC: &str = "ptr %";

/// Returns the optimized text with these operations replaced, or `None` if there are none.
pub(crate) fn lower(ir: &str) -> Option<String> {
    let mut text = String::with_capacity(ir.len());
    let mut variables = BTreeSet::new();
    let mut changed = false;
    for line in ir.lines() {
        if line.starts_with("define ") {
            variables.clear();
        }
        let assignment = line
            .strip_prefix("  %")
            .and_then(|rest| rest.split_once(" = "));
        if let Some((name, value)) = assignment
            && value.starts_with("alloca ")
        {
            variables.insert(name);
        }
        match assignment.and_then(|(name, value)| plain(name, value, &variables)) {
            Some(plain) => {
                text += &plain;
                changed = true;
            }
            None => {
                text += line;
                text.push('\n');
            }
        }
    }
    changed.then_some(text)
}

/// Returns a load and a store that are equivalent to `%name = cmpxchg [weak] [volatile] ptr %p, T old, T new <orderings>[,
/// align N]`, if the pointer is to local memory.
fn plain(name: &str, value: &str, variables: &BTreeSet<&str>) -> Option<String> {
    let rest = value.strip_prefix("cmpxchg ")?;
    let mut operands = rest.splitn(3, ", ");
    let place = operands.next()?;
    let place = match (place.find(LOCAL), place.find(GENERIC)) {
        (Some(at), _) => &place[at..],
        (None, Some(at)) if variables.contains(&place[at + GENERIC.len()..]) => &place[at..],
        _ => return None,
    };
    let (ty, old) = operands.next()?.split_once(' ')?;
    let new = operands.next()?.strip_prefix(ty)?.trim_start();
    let new = new.split([' ', ',']).next()?;
    let temporary = format!("%\"cmpxchg.{}", name.trim_matches('"'));
    let mut text = String::new();
    let _ = write!(
        text,
        "  {temporary}.old\" = load {ty}, {place}\n  \
         {temporary}.same\" = icmp eq {ty} {temporary}.old\", {old}\n  \
         {temporary}.new\" = select i1 {temporary}.same\", {ty} {new}, {ty} {temporary}.old\"\n  \
         store {ty} {temporary}.new\", {place}\n  \
         {temporary}.half\" = insertvalue {{ {ty}, i1 }} poison, {ty} {temporary}.old\", 0\n  \
         %{name} = insertvalue {{ {ty}, i1 }} {temporary}.half\", i1 {temporary}.same\", 1\n"
    );
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compare_and_exchange_of_a_lanes_own_variable_is_a_load_and_a_store() {
        let text = "define void @f(ptr %g) {\n  %own = alloca [8 x i8], align 8\n  \
            %0 = cmpxchg ptr %own, i64 0, i64 1 monotonic monotonic, align 8\n  \
            %1 = cmpxchg weak ptr addrspace(5) %a, i64 0, i64 %x monotonic monotonic, align 8\n  \
            %2 = cmpxchg ptr %g, i64 0, i64 1 monotonic monotonic, align 8\n}\n";
        let lowered = lower(text).unwrap();
        let expected = "  %\"cmpxchg.1.old\" = load i64, ptr addrspace(5) %a\n  \
            %\"cmpxchg.1.same\" = icmp eq i64 %\"cmpxchg.1.old\", 0\n  \
            %\"cmpxchg.1.new\" = select i1 %\"cmpxchg.1.same\", i64 %x, i64 %\"cmpxchg.1.old\"\n  \
            store i64 %\"cmpxchg.1.new\", ptr addrspace(5) %a\n  \
            %\"cmpxchg.1.half\" = insertvalue { i64, i1 } poison, i64 %\"cmpxchg.1.old\", 0\n  \
            %1 = insertvalue { i64, i1 } %\"cmpxchg.1.half\", i1 %\"cmpxchg.1.same\", 1\n";
        assert!(lowered.contains(expected), "{lowered}");
        assert!(lowered.contains("load i64, ptr %own\n"), "{lowered}");
        // The pointer of the other operation may be to any memory.
        assert_eq!(lowered.matches(" = cmpxchg ").count(), 1);
        assert_eq!(lower(&lowered), None);
    }
}
