//! The blocks of a component, and the codes of a scan.

use super::codes::{Bits, Codes};
use super::{Result, early_end};

/// The number of coefficients of a block.
const COEFFICIENTS: usize = 64;

/// A component of the picture.
pub(super) struct Component {
    id: u8,
    /// The blocks of an MCU, across and down.
    sampling: (usize, usize),
    /// The MCUs of a scan of several components, across and down.
    mcus: (usize, usize),
    /// The blocks that the picture covers, across and down: a scan of one component has only these.
    touched: (usize, usize),
    /// The blocks of 8 x 8 pixels of the whole picture, across and down.
    whole: (usize, usize),
    /// For each coefficient, the lowest bit that a scan has given; `None` before the first.
    known: [Option<u8>; COEFFICIENTS],
    /// For each block, a bit for each coefficient that is known not to be zero. Only refinements of a progressive picture
    /// depend on it.
    nonzero: Vec<u64>,
}

impl Component {
    pub(super) fn new(id: u8, sampling: (u8, u8), most: (u8, u8), pixels: (usize, usize)) -> Self {
        let across = (usize::from(sampling.0), usize::from(most.0), pixels.0);
        let down = (usize::from(sampling.1), usize::from(most.1), pixels.1);
        let touched =
            |(own, most, pixels): (usize, usize, usize)| (pixels * own).div_ceil(most).div_ceil(8);
        let mcus = |(_, most, pixels): (usize, usize, usize)| pixels.div_ceil(8 * most);
        Component {
            id,
            sampling: (across.0, down.0),
            mcus: (mcus(across), mcus(down)),
            touched: (touched(across), touched(down)),
            whole: (pixels.0.div_ceil(8), pixels.1.div_ceil(8)),
            known: [None; COEFFICIENTS],
            nonzero: Vec::new(),
        }
    }

    /// Returns the number of blocks that every file must hold.
    pub(super) fn blocks(&self) -> usize {
        self.touched.0 * self.touched.1
    }

    /// Returns the blocks of all MCUs, across and down.
    fn padded(&self) -> (usize, usize) {
        (self.mcus.0 * self.sampling.0, self.mcus.1 * self.sampling.1)
    }

    /// Returns whether the decoder gives a scan of this component alone the right number of blocks: it counts those of the
    /// whole picture, up to the padding, and their pixels in 16 bits.
    fn can_be_alone(&self) -> bool {
        let (padded, whole) = (self.padded(), self.whole);
        let counted = (padded.0.min(whole.0), padded.1.min(whole.1));
        counted == self.touched && padded.0.max(padded.1) <= 1 << 13
    }

    /// Returns whether scans have given all coefficients down to their last bit.
    pub(super) fn complete(&self) -> bool {
        self.known.iter().all(|&bit| bit == Some(0))
    }
}

/// A component of a scan, and the numbers of its code tables.
struct Part<'a> {
    component: &'a mut Component,
    dc: usize,
    ac: usize,
}

/// The contents of a scan's header.
pub(super) struct Scan<'a> {
    parts: Vec<Part<'a>>,
    coding: Coding,
}

/// The coding of a block.
#[derive(Clone, Copy)]
enum Coding {
    Sequential,
    DcFirst,
    DcRefinement,
    /// The first and the last coefficient of the band.
    AcFirst(u8, u8),
    AcRefinement(u8, u8),
}

impl<'a> Scan<'a> {
    pub(super) fn new(
        header: &[u8],
        progressive: bool,
        components: &'a mut [Component],
    ) -> Result<Self> {
        let damaged = || "the header of a scan is damaged".to_owned();
        let (&count, rest) = header.split_first().ok_or_else(damaged)?;
        let (selectors, rest) = rest
            .split_at_checked(2 * usize::from(count))
            .ok_or_else(damaged)?;
        let &[first, last, bits] = rest else {
            return Err(damaged());
        };
        let mut parts = Vec::new();
        // The components are in the order of the frame, which is that of the scan in a valid file.
        for component in components {
            if let Some(selector) = selectors.chunks_exact(2).find(|s| s[0] == component.id) {
                let (dc, ac) = (usize::from(selector[1] >> 4), usize::from(selector[1] & 15));
                parts.push(Part { component, dc, ac });
            }
        }
        let ids = parts.iter().map(|part| part.component.id);
        if parts.is_empty() || !ids.eq(selectors.chunks_exact(2).map(|selector| selector[0])) {
            return Err(damaged());
        }
        let (before, low) = (bits >> 4, bits & 15);
        let coding = match (progressive, first, before) {
            (false, ..) => Coding::Sequential,
            (true, 0, 0) => Coding::DcFirst,
            (true, 0, _) => Coding::DcRefinement,
            (true, _, 0) => Coding::AcFirst(first, last),
            (true, _, _) => Coding::AcRefinement(first, last),
        };
        let (first, last, before, low) = match progressive {
            true => (first, last, before, low),
            // Other values have no meaning here.
            false => (0, 63, 0, 0),
        };
        let alone = parts.len() == 1;
        let band = match first {
            0 => last == if progressive { 0 } else { 63 },
            _ => first <= last && last <= 63 && alone,
        };
        if !band || low > 13 || (before != 0 && low + 1 != before) {
            return Err(damaged());
        }
        for part in &mut parts {
            let component = &mut *part.component;
            if first > 0 && component.known[0].is_none() {
                return Err("a scan is missing before another".into());
            }
            for known in &mut component.known[usize::from(first)..=usize::from(last)] {
                if *known != (before != 0).then_some(before) {
                    return Err("a scan is missing, or is there twice".into());
                }
                *known = Some(low);
            }
            if alone && !component.can_be_alone() {
                return Err("its subsampling is not supported in a scan of one component".into());
            }
            if progressive && component.nonzero.is_empty() {
                let (across, down) = component.padded();
                component.nonzero = vec![0; across * down];
            }
        }
        Ok(Scan { parts, coding })
    }

    /// Reads the data of this scan and returns the position after it.
    pub(super) fn read(
        mut self,
        data: &[u8],
        codes: &[[Option<Codes>; 4]; 2],
        restart: usize,
    ) -> Result<usize> {
        let alone = self.parts.len() == 1;
        let (across, down) = match &self.parts[0].component {
            component if alone => component.touched,
            component => component.mcus,
        };
        let mut reader = Reader::new(data, self.coding);
        let (mut at, mut interval, mut left) = (0, 0_u8, restart);
        for row in 0..down {
            for column in 0..across {
                if restart != 0 && left == 0 {
                    at += reader.end()?;
                    at = restart_marker(data, at, interval)?;
                    reader = Reader::new(&data[at..], self.coding);
                    (interval, left) = (interval.wrapping_add(1), restart);
                }
                left = left.wrapping_sub(1);
                for part in &mut self.parts {
                    let dc = codes[0].get(part.dc).and_then(Option::as_ref);
                    let ac = codes[1].get(part.ac).and_then(Option::as_ref);
                    let component = &mut *part.component;
                    let (wide, high) = if alone { (1, 1) } else { component.sampling };
                    let stride = component.padded().0;
                    for block in 0..wide * high {
                        let (x, y) = (column * wide + block % wide, row * high + block / wide);
                        let mut none = 0;
                        let nonzero = component.nonzero.get_mut(y * stride + x);
                        reader.block(dc, ac, nonzero.unwrap_or(&mut none))?;
                    }
                }
            }
        }
        Ok(at + reader.end()?)
    }
}

/// Returns the position after the restart marker of this interval.
fn restart_marker(data: &[u8], mut at: usize, interval: u8) -> Result<usize> {
    while *data.get(at).ok_or_else(early_end)? == 0xff {
        at += 1;
    }
    match *data.get(at).ok_or_else(early_end)? == 0xd0 + interval % 8 {
        true => Ok(at + 1),
        false => Err("a scan ends early, or a restart marker is missing".into()),
    }
}

/// A reader of the codes between two markers.
struct Reader<'a> {
    bits: Bits<'a>,
    coding: Coding,
    /// The number of following blocks that get no new coefficients.
    end_run: u32,
}

impl<'a> Reader<'a> {
    fn new(data: &'a [u8], coding: Coding) -> Self {
        Reader {
            bits: Bits::new(data),
            coding,
            end_run: 0,
        }
    }

    /// Reads a block. `nonzero` has the known coefficients.
    fn block(&mut self, dc: Option<&Codes>, ac: Option<&Codes>, nonzero: &mut u64) -> Result<()> {
        let missing = "a Huffman table is missing";
        match self.coding {
            Coding::Sequential => {
                self.dc(dc.ok_or(missing)?)?;
                self.ac_first(ac.ok_or(missing)?, 1, 63, nonzero)
            }
            Coding::DcFirst => self.dc(dc.ok_or(missing)?),
            Coding::DcRefinement => self.bits.take(1).map(drop),
            Coding::AcFirst(..) if self.end_run > 0 => {
                self.end_run -= 1;
                Ok(())
            }
            Coding::AcFirst(first, last) => self.ac_first(ac.ok_or(missing)?, first, last, nonzero),
            Coding::AcRefinement(first, last) => {
                self.ac_refinement(ac.ok_or(missing)?, first, last, nonzero)
            }
        }
    }

    /// Reads the difference of a DC coefficient: its size, and its bits.
    fn dc(&mut self, codes: &Codes) -> Result<()> {
        let size = self.bits.symbol(codes)?;
        match size {
            0..=16 => self.bits.take(size.into()).map(drop),
            _ => Err("a coefficient is too large".into()),
        }
    }

    /// Reads AC coefficients: a run of zeros and the bits of the next one, or the length of a run of ended blocks.
    fn ac_first(&mut self, codes: &Codes, first: u8, last: u8, nonzero: &mut u64) -> Result<()> {
        let mut place = first;
        while place <= last {
            let symbol = self.bits.symbol(codes)?;
            match (symbol >> 4, symbol & 15) {
                (15, 0) => place += 16,
                (0, 0) => break,
                (run, 0) => {
                    self.run_of_ends(run)?;
                    self.end_run -= 1;
                    break;
                }
                (zeros, size) => {
                    place += zeros;
                    if place > last {
                        return Err("a block has too many coefficients".into());
                    }
                    self.bits.take(size.into())?;
                    *nonzero |= 1 << place;
                    place += 1;
                }
            }
        }
        Ok(())
    }

    /// Reads the length of a run of blocks without new coefficients, starting with this one.
    fn run_of_ends(&mut self, run: u8) -> Result<()> {
        if matches!(self.coding, Coding::Sequential) {
            return Err("the data of a scan has a code that means nothing".into());
        }
        self.end_run = (1 << run) + self.bits.take(run.into())?;
        Ok(())
    }

    /// Reads a further bit of each coefficient that is not zero, and new coefficients.
    fn ac_refinement(
        &mut self,
        codes: &Codes,
        first: u8,
        last: u8,
        nonzero: &mut u64,
    ) -> Result<()> {
        let mut place = first;
        while place <= last && self.end_run == 0 {
            let symbol = self.bits.symbol(codes)?;
            let (mut zeros, size) = (symbol >> 4, symbol & 15);
            match size {
                0 if zeros < 15 => {
                    self.run_of_ends(zeros)?;
                    break;
                }
                0 => {}
                1 => drop(self.bits.take(1)?),
                _ => return Err("the data of a scan has a code that means nothing".into()),
            }
            while place <= last {
                if *nonzero >> place & 1 == 1 {
                    self.bits.take(1)?;
                } else if zeros == 0 {
                    break;
                } else {
                    zeros -= 1;
                }
                place += 1;
            }
            if size == 1 {
                if place > last {
                    return Err("a block has too many coefficients".into());
                }
                *nonzero |= 1 << place;
            }
            place += 1;
        }
        if self.end_run > 0 {
            for place in place..=last {
                self.bits.take((*nonzero >> place & 1) as u32)?;
            }
            self.end_run -= 1;
        }
        Ok(())
    }

    /// Returns the number of bytes read, up to the next marker.
    fn end(self) -> Result<usize> {
        match self.end_run {
            0 => self.bits.end(),
            _ => Err("a scan has data for more blocks than there are".into()),
        }
    }
}
