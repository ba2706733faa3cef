//! Compare-and-exchange on a lane's own variables.
//!
//! LLVM 22 turns the other atomic operations on local memory into plain ones, as the hardware has none there, but leaves
//! this one as `atom`, which `ptxas` refuses. No other lane reaches a lane's variables, so a load and a store do the same.

use std::fmt::Write as _;

/// The address space of local memory.
const LOCAL: &str = "ptr addrspace(5) ";

/// The optimised text with those replaced; none where there are none.
pub(crate) fn lower(ir: &str) -> Option<String> {
    let mut text = String::with_capacity(ir.len());
    let mut changed = false;
    for line in ir.lines() {
        match plain(line) {
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

/// What `  %name = cmpxchg [weak] [volatile] ptr addrspace(5) %p, T old, T new <orderings>[, align N]` does, by a load and
/// a store.
fn plain(line: &str) -> Option<String> {
    let (name, rest) = line.strip_prefix("  %")?.split_once(" = cmpxchg ")?;
    let mut operands = rest.splitn(3, ", ");
    let place = operands.next()?;
    let place = &place[place.find(LOCAL)?..];
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
        let text = "define void @f(ptr %g) {\n  \
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
        // The other may be of any memory.
        assert_eq!(lowered.matches(" = cmpxchg ").count(), 1);
        assert_eq!(lower(&lowered), None);
    }
}
