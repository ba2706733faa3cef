//! Removes the arguments of panic messages, for builds that do not print them.
//!
//! `core::fmt` calls the function that formats an argument through a pointer beside the argument, and `ptxas` gives a
//! kernel the registers of every function whose address it contains: 80, and 255 with floats. This pass replaces the
//! message of a call of `core::panicking::panic_fmt` by one without arguments, in which `{}` stands for each argument. The
//! functions then disappear with their addresses.
//!
//! A message is the content of `core::fmt::Arguments`: a template and the arguments, or a text and its length, which is
//! shifted by one bit with the lowest bit set. If the template is only an argument, or has an unknown form, the handler
//! only sees that there is a message. A call of an unknown form stays unchanged, and its kernel takes more registers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{string_bytes, symbol};

const PANIC: &str = "9panicking9panic_fmt(";
/// The arguments of a message that is not read: any pointer that is not a shifted length.
const NOTHING: &str = "inttoptr (i64 16 to ptr)";
/// The call of `Option::expect`, whose only argument is the text.
const EXPECT: &str = "6option13expect_failed(";

/// Returns the IR with the arguments of messages removed.
pub(crate) fn without_arguments(ir: &str) -> String {
    let mut constants = BTreeMap::new();
    for line in ir.lines().filter(|line| line.starts_with('@')) {
        if let Some((name, bytes)) = bytes_of(line) {
            constants.insert(name, bytes);
        }
    }
    let mut text = String::with_capacity(ir.len());
    let mut messages = String::new();
    let (mut variables, mut expect) = (BTreeSet::new(), false);
    for line in ir.lines() {
        if line.starts_with("define ") {
            variables.clear();
            expect = line.contains(EXPECT);
        } else if let Some((name, value)) = line.trim_start().split_once(" = ")
            && value.starts_with("alloca ")
        {
            variables.insert(name);
        } else if let Some(call) = Call::read(line)
            && variables.contains(call.arguments)
        {
            let template = constants.get(call.template.trim_start_matches('@'));
            let call = if expect {
                text += "  %shifted = shl i64 %1, 1\n  %length = or i64 %shifted, 1\n";
                text += "  %text = inttoptr i64 %length to ptr\n";
                call.with("%0", "%text")
            } else if let Some(message) = template.and_then(|bytes| message(bytes)) {
                let name = format!("@cuda_builder.message.{}", messages.lines().count());
                let _ = writeln!(messages, "{}", definition(&name, &message));
                let length = format!("inttoptr (i64 {} to ptr)", message.len() << 1 | 1);
                call.with(&name, &length)
            } else {
                call.with(call.template, NOTHING)
            };
            text += &call;
            text.push('\n');
            continue;
        }
        text += line;
        text.push('\n');
    }
    text + &messages
}

/// A call of `panic_fmt`.
struct Call<'a> {
    before: &'a str,
    template: &'a str,
    arguments: &'a str,
    after: &'a str,
}

impl<'a> Call<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let at = line.find(PANIC).filter(|_| line.contains("call "))? + PANIC.len();
        let (before, operands) = line.split_at(at);
        let (first, rest) = operands.split_once(", ")?;
        let (second, after) = rest.split_once(", ")?;
        let last = |operand: &'a str| operand.rsplit_once(' ').map(|(_, value)| value);
        Some(Self {
            before,
            template: last(first)?,
            arguments: last(second)?,
            after,
        })
    }

    fn with(&self, template: &str, arguments: &str) -> String {
        let Self { before, after, .. } = self;
        format!("{before}ptr {template}, ptr {arguments}, {after}")
    }
}

/// Returns the name and the bytes of a constant string.
fn bytes_of(line: &str) -> Option<(&str, Vec<u8>)> {
    let (name, rest) = symbol(line.strip_prefix('@')?);
    let (_, value) = rest.split_once(" constant [")?;
    let (_, value) = value.split_once(" x i8] c\"")?;
    Some((name, string_bytes(value)?))
}

/// Returns the text of a template with `{}` for each argument. See the source of `core::fmt::Arguments`.
fn message(template: &[u8]) -> Option<String> {
    let mut message = Vec::new();
    let mut rest = template;
    loop {
        let (&first, after) = rest.split_first()?;
        let options = match first {
            0 => break,
            0xC0.. => {
                message.extend(b"{}");
                // The flags have 4 bytes; width, precision and number have 2 each.
                let option = |bit: u8, bytes| usize::from(first >> bit & 1) * bytes;
                option(0, 4) + option(1, 2) + option(2, 2) + option(3, 2)
            }
            _ => {
                let (length, text) = match first {
                    0x80 => {
                        let (length, text) = after.split_first_chunk()?;
                        (usize::from(u16::from_le_bytes(*length)), text)
                    }
                    1..0x80 => (usize::from(first), after),
                    _ => return None,
                };
                message.extend(text.get(..length)?);
                rest = &text[length..];
                continue;
            }
        };
        rest = after.get(options..)?;
    }
    // `{}` alone adds nothing to the location.
    String::from_utf8(message).ok().filter(|text| text != "{}")
}

fn definition(name: &str, message: &str) -> String {
    let mut bytes = String::new();
    for byte in message.bytes() {
        match byte {
            b' '..=b'~' if !matches!(byte, b'"' | b'\\') => bytes.push(char::from(byte)),
            _ => {
                let _ = write!(bytes, "\\{byte:02X}");
            }
        }
    }
    format!(
        "{name} = private unnamed_addr constant [{} x i8] c\"{bytes}\", align 1",
        message.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: &str = "@anon.5 = private unnamed_addr constant [14 x i8] c\"\\06index \\C0\\04 of \\C0\\00\", align 1
define internal void @check(i64 %0, ptr %2) {
  %4 = alloca [32 x i8], align 8
  store ptr @display, ptr %4, align 8
  call void @_RNvNtCs1_4core9panicking9panic_fmt(ptr noundef nonnull @anon.5, ptr noundef nonnull %4, ptr noalias %2) #9
  unreachable
}
";

    #[test]
    fn arguments_become_marks_in_the_text() {
        let text = without_arguments(BOUNDS);
        // 14 bytes of text.
        let call = "panic_fmt(ptr @cuda_builder.message.0, ptr inttoptr (i64 29 to ptr), ptr noalias %2) #9\n";
        assert!(text.contains(call), "{text}");
        let message = "@cuda_builder.message.0 = private unnamed_addr constant [14 x i8] c\"index {} of {}\", align 1\n";
        assert!(text.ends_with(message), "{text}");
    }

    #[test]
    fn what_is_no_such_call_stays() {
        let other = BOUNDS.replace("%4, ptr noalias", "%0, ptr noalias");
        assert_eq!(without_arguments(&other), other);
    }

    #[test]
    fn a_template_that_is_not_known_goes_without_its_arguments() {
        let text = without_arguments(&BOUNDS.replace("@anon.5, ptr", "@anon.6, ptr"));
        let call = "panic_fmt(ptr @anon.6, ptr inttoptr (i64 16 to ptr), ptr noalias %2) #9\n";
        assert!(text.contains(call) && !text.contains("message"), "{text}");
    }

    #[test]
    fn the_text_of_expect_is_its_argument() {
        let ir = BOUNDS.replace("@check(", "@_RNvNtCs1_4core6option13expect_failed(");
        let text = without_arguments(&ir);
        assert!(
            text.contains("panic_fmt(ptr %0, ptr %text, ptr noalias"),
            "{text}"
        );
    }

    #[test]
    fn templates_are_read() {
        let options = b"\xCF\0\0\0\x60\x08\0\x03\0\x01\0";
        let mut template = b"\x02a\"".to_vec();
        template.extend(options);
        template.extend(b"\x80\x03\0b\xC3\x89\0");
        assert_eq!(message(&template).as_deref(), Some("a\"{}bÉ"));
        assert_eq!(
            definition("@m", "\"É\n"),
            "@m = private unnamed_addr constant [4 x i8] c\"\\22\\C3\\89\\0A\", align 1"
        );
        for bad in [
            &b""[..],
            b"\x05abc\0",
            b"\x90\0",
            b"\x03\xFF\xFF\xFF\0",
            b"\xC0\0",
        ] {
            assert_eq!(message(bad), None, "{bad:?}");
        }
    }
}
