//! Why some mutants change nothing that is seen, or change a result and are not reported.

use cuda_std::cpu::mutate::Change;

use super::Mutant;

/// A reason, and the mutants that it is of: by the text of a line, which stays when lines move.
#[derive(Debug)]
pub struct Reason {
    /// Source files, each with what the line has in it.
    pub lines: &'static [(&'static str, &'static str)],
    /// How the operation's name begins.
    pub operation: &'static str,
    /// The changes.
    pub changes: &'static [Change],
    /// Why it is so.
    pub why: &'static str,
}

/// The reasons.
pub const REASONS: &[Reason] = &[];

impl Reason {
    /// Whether a mutant at a line with this text is meant.
    fn is_of(&self, mutant: &Mutant, text: &str) -> bool {
        let site = &mutant.mutation.site;
        let path = site.at.file().replace('\\', "/");
        self.lines
            .iter()
            .any(|(file, line)| path.ends_with(file) && text.contains(line))
            && site.operation.to_string().starts_with(self.operation)
            && self.changes.contains(&mutant.mutation.change)
    }
}

/// The reason for a mutant, if there is one.
pub fn find(mutant: &Mutant, text: &str) -> Option<&'static str> {
    let found = REASONS.iter().find(|reason| reason.is_of(mutant, text));
    found.map(|reason| reason.why)
}
