//! The output of commands: results on standard output, remarks on standard error.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use half::{bf16, f16};
use serde::{Serialize, Serializer};
use warpwright_cli::error::{Error, Result};

/// The result of a command as JSON: one object with the entries that exist.
#[derive(Debug, Serialize)]
pub struct Answer<V> {
    /// The result, unless it is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<V>,
    /// The file that holds the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The file that holds the elements' positions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions: Option<String>,
    /// The file that holds the lengths of the runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lengths: Option<String>,
    /// The file that shows the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plot: Option<String>,
    /// The number of values that belong to no bin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<u64>,
    /// The variant that did the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<&'static str>,
    /// What chose the variant: `policy` or `caller`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen_by: Option<&'static str>,
    /// The device that did the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The time that the device took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl<V> Default for Answer<V> {
    fn default() -> Self {
        Answer {
            value: None,
            output: None,
            positions: None,
            lengths: None,
            plot: None,
            outside: None,
            variant: None,
            chosen_by: None,
            device: None,
            seconds: None,
        }
    }
}

/// A single number of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An unsigned integer.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// A 32-bit float.
    Single(f32),
    /// A 64-bit float.
    Double(f64),
}

impl std::fmt::Display for Number {
    /// Writes the shortest text that reads back as the same number.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Unsigned(value) => write!(f, "{value}"),
            Number::Signed(value) => write!(f, "{value}"),
            Number::Single(value) => write!(f, "{value:?}"),
            Number::Double(value) => write!(f, "{value:?}"),
        }
    }
}

impl Serialize for Number {
    /// Writes a JSON number, or a string for the values that JSON has no numbers for: `"NaN"`, `"inf"` and `"-inf"`.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match *self {
            Number::Unsigned(value) => serializer.serialize_u64(value),
            Number::Signed(value) => serializer.serialize_i64(value),
            Number::Single(value) if value.is_finite() => serializer.serialize_f32(value),
            Number::Double(value) if value.is_finite() => serializer.serialize_f64(value),
            other => serializer.collect_str(&other),
        }
    }
}

macro_rules! number {
    ($($type:ty => $variant:ident as $wide:ty),* $(,)?) => {
        $(impl From<$type> for Number {
            fn from(value: $type) -> Self {
                Number::$variant(<$wide>::from(value))
            }
        })*
    };
}

number! {
    u8 => Unsigned as u64,
    u16 => Unsigned as u64,
    u32 => Unsigned as u64,
    u64 => Unsigned as u64,
    i32 => Signed as i64,
    i64 => Signed as i64,
    f16 => Single as f32,
    bf16 => Single as f32,
    f32 => Single as f32,
    f64 => Double as f64,
}

/// Writes to standard output. Returns [`Error::OutputClosed`] if the reader closed it.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let result = write(&mut out).and_then(|()| out.flush());
    // Dropping the buffer must not try again to write what could not be written.
    let _ = out.into_parts();
    result.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Error::OutputClosed,
        _ => Error::failed(format!("standard output cannot be written: {error}")),
    })
}

/// Prints one JSON object on one line.
pub fn json(answer: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(answer)
        .map_err(|error| Error::failed(format!("the result cannot be written as JSON: {error}")))?;
    print(|out| writeln!(out, "{text}"))
}

/// Prints a remark on standard error.
pub fn note(text: &str) {
    // If standard error is closed, the remark is lost.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Returns a time with three significant digits and a unit: `1.23 ms`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (scaled, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    format!("{} {unit}", significant(scaled))
}

/// Returns a non-negative number with three significant digits, or with all digits before the point.
pub fn significant(value: f64) -> String {
    let digits = match value {
        v if v >= 100.0 || v == 0.0 => 0,
        v => (2.0 - v.log10().floor()).min(12.0) as usize,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(number: impl Into<Number>) -> (String, String) {
        let number = number.into();
        (number.to_string(), serde_json::to_string(&number).unwrap())
    }

    #[test]
    fn numbers_are_short_and_valid_json() {
        for (number, plain, json) in [
            (Number::from(7u8), "7", "7"),
            (
                Number::from(u64::MAX),
                "18446744073709551615",
                "18446744073709551615",
            ),
            (
                Number::from(i64::MIN),
                "-9223372036854775808",
                "-9223372036854775808",
            ),
            (Number::from(0.1f32), "0.1", "0.1"),
            (Number::from(-0.0f64), "-0.0", "-0.0"),
            (Number::from(f32::NAN), "NaN", "\"NaN\""),
            (Number::from(f64::INFINITY), "inf", "\"inf\""),
            (Number::from(f64::NEG_INFINITY), "-inf", "\"-inf\""),
        ] {
            assert_eq!(text(number), (plain.to_owned(), json.to_owned()));
        }
    }

    #[test]
    fn absent_entries_are_left_out() {
        let answer = Answer {
            value: Some(Number::from(1u8)),
            seconds: Some(0.5),
            ..Answer::default()
        };
        assert_eq!(
            serde_json::to_string(&answer).unwrap(),
            r#"{"value":1,"seconds":0.5}"#
        );
    }

    #[test]
    fn times_have_three_digits() {
        assert_eq!(duration(Duration::from_nanos(1_500)), "1.50 us");
        assert_eq!(duration(Duration::from_micros(12_340)), "12.3 ms");
        assert_eq!(duration(Duration::from_secs(123)), "123 s");
        assert_eq!(duration(Duration::ZERO), "0 us");
        assert_eq!(significant(2931.4), "2931");
        assert_eq!(significant(0.012345), "0.0123");
        assert_eq!(significant(99.94), "99.9");
    }
}
