//! Huffman codes, and the bits of a scan.

use super::Result;

/// A Huffman table.
pub(super) struct Codes {
    /// For each value of 16 bits, the length of the code that it begins with, and its symbol. No code has length 0.
    symbols: Vec<(u8, u8)>,
}

impl Codes {
    /// Reads a table from the front of these bytes: 16 counts, and the symbols. Returns the table and the remaining bytes.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let damaged = || "a Huffman table is damaged".to_owned();
        let (counts, rest) = bytes.split_first_chunk::<16>().ok_or_else(damaged)?;
        let total = counts.iter().map(|&count| usize::from(count)).sum();
        let (values, rest) = rest.split_at_checked(total).ok_or_else(damaged)?;
        let mut values = values.iter();
        let mut symbols = vec![(0, 0); 1 << 16];
        let mut from = 0;
        for (length, &count) in (1..).zip(counts) {
            for &value in values.by_ref().take(count.into()) {
                let to = from + (1 << (16 - length));
                symbols
                    .get_mut(from..to)
                    .ok_or_else(damaged)?
                    .fill((length, value));
                from = to;
            }
        }
        Ok((Codes { symbols }, rest))
    }
}

/// The bits of a scan's data, up to the next marker.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The next bits, in the lowest `left` bits, the first one highest.
    buffer: u64,
    left: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Bits {
            bytes,
            at: 0,
            buffer: 0,
            left: 0,
        }
    }

    /// Reads bytes while there are any and the buffer has room.
    fn fill(&mut self) {
        while self.left <= 48 {
            let byte = match self.bytes[self.at..] {
                // A zero byte after FF marks the FF as data.
                [0xff, 0, ..] => {
                    self.at += 1;
                    0xff
                }
                [] | [0xff, ..] => return,
                [byte, ..] => byte,
            };
            self.at += 1;
            self.buffer = self.buffer << 8 | u64::from(byte);
            self.left += 8;
        }
    }

    /// Returns the next 16 bits; those after the end are 0.
    fn peek(&mut self) -> u16 {
        if self.left < 16 {
            self.fill();
        }
        match self.left {
            16.. => (self.buffer >> (self.left - 16)) as u16,
            left => (self.buffer << (16 - left)) as u16,
        }
    }

    /// Reads up to 16 bits as a number.
    pub(super) fn take(&mut self, count: u32) -> Result<u32> {
        debug_assert!(count <= 16, "a coefficient has at most 16 bits");
        let bits = u32::from(self.peek());
        self.left = self
            .left
            .checked_sub(count)
            .ok_or("the data of a scan ends early")?;
        Ok(bits >> (16 - count))
    }

    /// Reads a code and returns its symbol.
    pub(super) fn symbol(&mut self, codes: &Codes) -> Result<u8> {
        let bits = self.peek();
        let (length, symbol) = codes.symbols[usize::from(bits)];
        if length == 0 {
            return Err("the data of a scan has a code that there is not".into());
        }
        self.take(length.into())?;
        Ok(symbol)
    }

    /// Returns the position of the marker that must follow. Less than a byte of padding may precede it.
    pub(super) fn end(mut self) -> Result<usize> {
        self.fill();
        if self.left >= 8 {
            return Err("a scan has more data than blocks".into());
        }
        Ok(self.at)
    }
}
