//! Compare-and-exchange on a lane's own variables.
//!
//! LLVM 22 turns the other atomic operations on local memory into plain ones, as the hardware has none there, but leaves
//! this one as `atom`, which `ptxas` refuses. No other lane reaches a lane's variables, so loads and stores do the same.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The text with those replaced; none where there are none.
pub(crate) fn lower(ir: &str) -> Option<String> {
    if !ir.contains(" = cmpxchg ") || !ir.contains(" = alloca ") {
        return None;
    }
    let mut text = String::with_capacity(ir.len());
    let mut local: BTreeSet<&str> = BTreeSet::new();
    let mut changed = false;
    for line in ir.lines() {
        if line.starts_with("define ") {
            local.clear();
        }
        let replaced = assignment(line).and_then(|(name, value)| {
            let derived = value.starts_with("alloca ")
                || (value.starts_with("getelementptr ")
                    && pointer(value).is_some_and(|from| local.contains(from)));
            if derived {
                local.insert(name);
            }
            plain(name, value, &local)
        });
        match replaced {
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

/// The name and the instruction of `  %name = instruction`.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix("  %")?.split_once(" = ")?;
    Some((name, value))
}

/// The name of the first pointer that an instruction takes.
fn pointer(value: &str) -> Option<&str> {
    let rest = value.split_once("ptr %")?.1;
    rest.split([',', ' ', ')']).next()
}

/// What `%name = cmpxchg …` on one of the `local` variables does, by loads and stores.
fn plain(name: &str, value: &str, local: &BTreeSet<&str>) -> Option<String> {
    let rest = value.strip_prefix("cmpxchg ")?;
    if !local.contains(pointer(rest)?) {
        return None;
    }
    // `[weak] [volatile] ptr %p, T old, T new <orderings>[, align N]`
    let mut operands = rest.splitn(3, ", ");
    let place = operands.next()?;
    let place = &place[place.find("ptr %")?..];
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
        let text = "define void @f(ptr %g) {\n  %a = alloca [8 x i8], align 8\n  \
            %1 = cmpxchg ptr %a, i64 0, i64 %x monotonic monotonic, align 8\n  \
            %2 = cmpxchg ptr %g, i64 0, i64 1 monotonic monotonic, align 8\n}\n\
            define void @g(ptr %a) {\n  %1 = cmpxchg weak ptr %a, i32 0, i32 1 acquire monotonic\n}\n";
        let lowered = lower(text).unwrap();
        let expected = "  %\"cmpxchg.1.old\" = load i64, ptr %a\n  \
            %\"cmpxchg.1.same\" = icmp eq i64 %\"cmpxchg.1.old\", 0\n  \
            %\"cmpxchg.1.new\" = select i1 %\"cmpxchg.1.same\", i64 %x, i64 %\"cmpxchg.1.old\"\n  \
            store i64 %\"cmpxchg.1.new\", ptr %a\n  \
            %\"cmpxchg.1.half\" = insertvalue { i64, i1 } poison, i64 %\"cmpxchg.1.old\", 0\n  \
            %1 = insertvalue { i64, i1 } %\"cmpxchg.1.half\", i1 %\"cmpxchg.1.same\", 1\n";
        assert!(lowered.contains(expected), "{lowered}");
        // The others may be of any memory.
        assert_eq!(lowered.matches(" = cmpxchg ").count(), 2);
        assert_eq!(
            lower(&text.replace("cmpxchg ptr %a", "cmpxchg ptr %g")),
            None
        );
    }
}
