//! A parser of the dictionary in a `.npy` header of a plain array.
//!
//! The header is a Python literal. Crates that parse any such literal take exponential time on nested brackets, which an
//! untrusted file may contain. An array of numbers nests nothing but its shape, so this parser goes through the text once and
//! refuses everything else.

use crate::array::Dtype;
use crate::error::{Error, Result, one_line};

/// The three entries of the dictionary.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fields {
    /// NumPy's code of the element type, such as `<f4`.
    pub descriptor: String,
    pub fortran_order: bool,
    /// The lengths of the axes, outermost first.
    pub shape: Vec<usize>,
}

impl Fields {
    /// Parses `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut rest = Rest(text);
        let (mut descriptor, mut fortran_order, mut shape) = (None, None, None);
        rest.required('{')?;
        while !rest.optional('}') {
            let key = rest.string()?;
            rest.required(':')?;
            match key {
                "descr" => {
                    if rest.starts_with(['[', '{', '(']) {
                        return Err(structured());
                    }
                    descriptor = Some(rest.string()?.to_owned());
                }
                "fortran_order" => fortran_order = Some(rest.boolean()?),
                "shape" => shape = Some(rest.sizes()?),
                _ => return Err(unusable(&format!("unknown key '{}'", clip(key)))),
            }
            if !rest.optional(',') {
                rest.required('}')?;
                break;
            }
        }
        if !rest.0.trim().is_empty() {
            return Err(rest.unexpected("nothing more"));
        }
        match (descriptor, fortran_order, shape) {
            (Some(descriptor), Some(fortran_order), Some(shape)) => Ok(Fields {
                descriptor,
                fortran_order,
                shape,
            }),
            _ => Err(unusable(
                "'descr', 'fortran_order' and 'shape' must all be there",
            )),
        }
    }
}

/// The text that remains to be parsed.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn skip_space(&mut self) {
        self.0 = self.0.trim_start();
    }

    fn starts_with(&mut self, any: [char; 3]) -> bool {
        self.skip_space();
        self.0.starts_with(any)
    }

    /// Consumes this character if it comes next, and returns whether it did.
    fn optional(&mut self, character: char) -> bool {
        self.skip_space();
        match self.0.strip_prefix(character) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn required(&mut self, character: char) -> Result<()> {
        if self.optional(character) {
            return Ok(());
        }
        Err(self.unexpected(&format!("'{character}'")))
    }

    /// Parses a string in single or double quotes. No name or type of a plain array needs an escape.
    fn string(&mut self) -> Result<&'a str> {
        self.skip_space();
        let quote = if self.0.starts_with('"') { '"' } else { '\'' };
        let text = self
            .0
            .strip_prefix(quote)
            .and_then(|rest| rest.split_once(quote));
        match text {
            Some((text, rest)) if !text.contains('\\') => {
                self.0 = rest;
                Ok(text)
            }
            _ => Err(self.unexpected("a string in quotes")),
        }
    }

    fn boolean(&mut self) -> Result<bool> {
        self.skip_space();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.0.strip_prefix(word) {
                self.0 = rest;
                return Ok(value);
            }
        }
        Err(self.unexpected("True or False for 'fortran_order'"))
    }

    /// Parses a tuple (or list) of sizes: `()`, `(3,)`, `(3, 4)`. Python 2 wrote `(3L,)`.
    fn sizes(&mut self) -> Result<Vec<usize>> {
        let close = if self.optional('[') {
            ']'
        } else if self.optional('(') {
            ')'
        } else {
            return Err(self.unexpected("a tuple of sizes for 'shape'"));
        };
        let mut sizes = Vec::new();
        while !self.optional(close) {
            self.skip_space();
            let end = self
                .0
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(self.0.len());
            let (digits, rest) = self.0.split_at(end);
            let size = digits
                .parse()
                .map_err(|_| self.unexpected("a size in 'shape'"))?;
            self.0 = rest.strip_prefix('L').unwrap_or(rest);
            sizes.push(size);
            if !self.optional(',') {
                self.required(close)?;
                break;
            }
        }
        Ok(sizes)
    }

    fn unexpected(&self, wanted: &str) -> Error {
        match clip(self.0.trim_start()) {
            found if found.is_empty() => unusable(&format!("it ends where {wanted} is needed")),
            found => unusable(&format!("{wanted} is needed where it says {found}")),
        }
    }
}

/// Returns the error for a header that violates the format.
fn unusable(what: &str) -> Error {
    Error::failed(format!(
        "the .npy header cannot be used: {what}; save the array again"
    ))
}

/// Returns the error for an array of records.
fn structured() -> Error {
    Error::failed(format!(
        "a structured array; one of {} is needed: save one field of it, such as array['name']",
        Dtype::list()
    ))
}

/// Returns the first characters of a text from a file, on one line.
pub(super) fn clip(text: &str) -> String {
    const LONGEST: usize = 60;
    let line = one_line(text);
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(descriptor: &str, fortran_order: bool, shape: &[usize]) -> Fields {
        Fields {
            descriptor: descriptor.to_owned(),
            fortran_order,
            shape: shape.to_vec(),
        }
    }

    #[test]
    fn spellings_of_the_same_header_agree() {
        let expected = fields("<f4", false, &[3, 4]);
        for text in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }          \n",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}",
            "{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(3,4)}",
            " { 'shape' : [ 3 , 4 , ] , 'fortran_order' : False , 'descr' : '<f4' , } ",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 4L)}",
        ] {
            assert_eq!(Fields::parse(text).unwrap(), expected, "{text}");
        }
        let text = "{'descr': '|u1', 'fortran_order': True, 'shape': ()}";
        assert_eq!(Fields::parse(text).unwrap(), fields("|u1", true, &[]));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "{",
            "{}",
            "{} x",
            "{'descr'",
            "{'descr': ",
            "{'descr': '<f4",
            "{'descr': '<f4' 'shape': (1,)}",
            "{'descr': '<\\x66', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1.5,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1]}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} {}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 2}",
        ] {
            assert!(Fields::parse(text).is_err(), "{text}");
        }
    }
}
