//! Poisson numbers from a table, with one word and one look-up per number.

/// The columns of a [`PoissonTable`]: the map from a word to its entry, and from both to a number.
///
/// The table is that of the alias method (Walker, "An efficient method for generating discrete random variables with
/// general distributions", 1977), in integers. There are `2^bits` columns of `2^(32 - bits)` words each. The high bits of a
/// word select its column. An entry has a limit in its low bits and another column in its high bits. If the low bits of the
/// word are below the limit, the number is the word's own column, else the entry's other column.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoissonColumns {
    bits: u32,
    least: u32,
}

#[cfg(not(target_arch = "nvptx64"))]
// SAFETY: the struct is two plain words.
unsafe impl crate::kernel::ByValue for PoissonColumns {}

impl PoissonColumns {
    /// Returns the logarithm to base 2 of the number of columns, 1 to 14.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// Returns the column of `word`.
    #[inline(always)]
    pub fn column(self, word: u32) -> usize {
        (word >> (32 - self.bits)) as usize
    }

    /// Returns the number for `word` and the `entry` of its column.
    #[inline(always)]
    pub fn number(self, word: u32, entry: u32) -> u32 {
        let shift = 32 - self.bits;
        let low = (1 << shift) - 1;
        let source = if word & low < entry & low {
            word
        } else {
            entry
        };
        (source >> shift) + self.least
    }
}

/// The Poisson distribution with a mean from 0 to 10^6 as a table, computed on the host.
///
/// Each number `k` gets `round(2^32 F(k)) - round(2^32 F(k - 1))` of the 2^32 words, where `F` is the distribution
/// function. The probabilities are exact to 2^-32, and numbers further than about 6.3 standard deviations from the mean do
/// not occur. The table is computed by additions, multiplications and divisions in a fixed order, so it is the same on
/// every machine.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Debug, Clone, PartialEq)]
pub struct PoissonTable {
    mean: f64,
    columns: PoissonColumns,
    entries: Vec<u32>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl PoissonTable {
    /// Creates the table. Returns `None` if the mean is not from 0 to
    /// [`Poisson::LARGEST_MEAN`](super::Poisson::LARGEST_MEAN).
    pub fn new(mean: f64) -> Option<Self> {
        // A NaN is in no range.
        if !(0.0..=super::Poisson::LARGEST_MEAN).contains(&mean) {
            return None;
        }
        let (least, words) = words_per_number(mean);
        let bits = (words.len().next_power_of_two().ilog2()).max(1);
        Some(Self {
            mean,
            columns: PoissonColumns { bits, least },
            entries: alias_entries(bits, words),
        })
    }

    /// Returns the mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the columns.
    pub fn columns(&self) -> PoissonColumns {
        self.columns
    }

    /// Returns the entries of the columns.
    pub fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// Returns a Poisson number from a random word.
    pub fn sample(&self, word: u32) -> u32 {
        let entry = self.entries[self.columns.column(word)];
        self.columns.number(word, entry)
    }
}

/// Returns the least number that occurs, and the count of words for each number from there on. The counts add up to 2^32.
#[cfg(not(target_arch = "nvptx64"))]
fn words_per_number(mean: f64) -> (u32, Vec<u64>) {
    /// The relative frequency below which numbers are ignored: together they do not amount to one word.
    const NEGLIGIBLE: f64 = 1.0 / (1u64 << 60) as f64;
    // The probabilities are multiples of that of the most frequent number. Those of neighboring numbers follow from each
    // other.
    let mode = mean.floor();
    let mut below = Vec::new();
    let (mut number, mut probability) = (mode, 1.0);
    while number > 0.0 {
        probability *= number / mean;
        if probability < NEGLIGIBLE {
            break;
        }
        number -= 1.0;
        below.push(probability);
    }
    let mut least = number as u32;
    let mut probabilities: Vec<f64> = below.into_iter().rev().collect();
    (number, probability) = (mode, 1.0);
    while probability >= NEGLIGIBLE {
        probabilities.push(probability);
        number += 1.0;
        probability *= mean / number;
    }
    let total: f64 = probabilities.iter().sum();
    let (mut sum, mut before) = (0.0, 0);
    let last = probabilities.len() - 1;
    let mut words: Vec<u64> = Vec::with_capacity(probabilities.len());
    for (i, probability) in probabilities.iter().enumerate() {
        sum += probability;
        let up_to = if i == last {
            1 << 32
        } else {
            ((sum / total * 4_294_967_296.0 + 0.5) as u64).min(1 << 32)
        };
        words.push(up_to - before);
        before = up_to;
    }
    let unused = words.iter().take_while(|count| **count == 0).count();
    words.drain(..unused);
    least += unused as u32;
    while words.last() == Some(&0) {
        words.pop();
    }
    (least, words)
}

/// Returns the entries of `2^bits` columns for numbers with the given counts of words.
#[cfg(not(target_arch = "nvptx64"))]
fn alias_entries(bits: u32, mut words: Vec<u64>) -> Vec<u32> {
    let (columns, shift) = (1_usize << bits, 32 - bits);
    let room = 1_u64 << shift;
    words.resize(columns, 0);
    // The entry of a column with only one number: a limit of 0, and the column itself as the other column.
    let mut entries: Vec<u32> = (0..columns)
        .map(|column| (column as u32) << shift)
        .collect();
    let (mut short, mut long): (Vec<usize>, Vec<usize>) =
        (0..columns).partition(|&column| words[column] < room);
    while let Some(column) = short.pop() {
        // The total shortage equals the total excess.
        let Some(&other) = long.last() else { break };
        entries[column] = (other as u32) << shift | words[column] as u32;
        words[other] -= room - words[column];
        if words[other] < room {
            long.pop();
            short.push(other);
        }
    }
    entries
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_as_many_words_of_every_number_as_it_should() {
        for mean in [
            0.0, 1e-300, 0.01, 0.5, 1.0, 9.99, 64.0, 1000.3, 99_999.5, 1e6,
        ] {
            let (least, words) = words_per_number(mean);
            assert_eq!(words.iter().sum::<u64>(), 1 << 32, "{mean}");
            let table = PoissonTable::new(mean).unwrap();
            let bits = table.columns.bits;
            assert!((1..=14).contains(&bits), "{mean}: {bits} bits");
            assert_eq!(table.entries.len(), 1 << bits);
            let (shift, mut found) = (32 - bits, vec![0_u64; words.len()]);
            for (column, entry) in table.entries.iter().enumerate() {
                let (limit, other) = (u64::from(entry & ((1 << shift) - 1)), entry >> shift);
                if limit > 0 {
                    found[column] += limit;
                }
                found[other as usize] += (1 << shift) - limit;
            }
            assert_eq!(found, words, "{mean}");
            let mean_of_table: f64 = words
                .iter()
                .enumerate()
                .map(|(i, count)| *count as f64 * (i as f64 + f64::from(least)))
                .sum::<f64>()
                / 4_294_967_296.0;
            let bound = 1e-8 * (1.0 + mean.sqrt());
            assert!(
                (mean_of_table - mean).abs() <= bound,
                "{mean}: {mean_of_table}"
            );
        }
    }

    #[test]
    fn small_probabilities_are_right() {
        // e^-1 / k!
        let (least, words) = words_per_number(1.0);
        assert_eq!(least, 0);
        let mut factorial = 1.0;
        for (k, count) in words.iter().enumerate() {
            factorial *= (k as f64).max(1.0);
            let expected = 4_294_967_296.0 * (-1.0_f64).exp() / factorial;
            assert!((*count as f64 - expected).abs() <= 1.0, "{k}: {count}");
        }
    }

    #[test]
    fn a_mean_out_of_range_has_no_table() {
        for mean in [-1.0, 1.000_001e6, f64::NAN, f64::INFINITY] {
            assert!(PoissonTable::new(mean).is_none());
        }
        assert_eq!(PoissonTable::new(0.0).unwrap().sample(u32::MAX), 0);
    }
}
