//! The reasons why some mutants have no visible effect, or change a result without a report.

use cuda_std::cpu::mutate::Change;

use super::Mutant;

/// A reason, and the mutants that it applies to. They are identified by the text of a line, which stays when lines move.
#[derive(Debug)]
pub struct Reason {
    /// Source files or folders, each with a text that the line contains.
    pub lines: &'static [(&'static str, &'static str)],
    /// The start of the operation's name.
    pub operation: &'static str,
    /// The changes that it applies to.
    pub changes: &'static [Change],
    /// The explanation.
    pub why: &'static str,
}

/// A barrier that is dropped, or replaced by one of the warp only.
const WEAKER: &[Change] = &[Change::Dropped, Change::ToWarp];

/// The reasons.
pub const REASONS: &[Reason] = &[
    Reason {
        lines: &[("gpu/src/block/reduce.rs", "warp::sync_warp(FULL_MASK)")],
        operation: "sync_warp",
        changes: &[Change::Dropped],
        why: "the first step reads the upper half, which the warp does not write, and behind the last one lane 0 reads \
              what it wrote itself",
    },
    Reason {
        lines: &[
            ("gpu/src/reduce/ladder/add_on_load.rs", "block::tree"),
            ("gpu/src/reduce/ladder/coarsened.rs", "block::tree"),
            ("gpu/src/reduce/ladder/folding_shared.rs", "FOLD_SPAN.min"),
            (
                "gpu/src/reduce/ladder/interleaved_strided.rs",
                "sync_threads",
            ),
            ("gpu/src/reduce/ladder/sequential.rs", "block::tree"),
            ("gpu/src/reduce/ladder/warp_shuffle.rs", "block::tree"),
            ("gpu/src/rows/ladder/block_per_row.rs", "block::tree"),
        ],
        operation: "barrier",
        changes: WEAKER,
        why: "the later steps are of one warp, and behind the last one each thread reads what it wrote itself",
    },
    Reason {
        lines: &[("gpu/src/reduce/ladder/folding_shared.rs", "tile, len")],
        operation: "barrier",
        changes: WEAKER,
        why: "few elements are left for a later fold: its steps are of one warp, and what the last ones read is ordered \
              by an earlier barrier",
    },
    Reason {
        lines: &[(
            "gpu/src/reduce/ladder/interleaved_divergent.rs",
            "sync_threads",
        )],
        operation: "barrier",
        changes: WEAKER,
        why: "below a stride of 32 both elements are of one warp, and behind the last step thread 0 reads what it wrote \
              itself",
    },
    Reason {
        lines: &[("gpu/src/reduce/ladder/finish.rs", "block::reduce_shuffle")],
        operation: "barrier",
        changes: WEAKER,
        why: "the barrier at the end of `reduce_shuffle` is for a caller that calls it again, which this one does not",
    },
    Reason {
        lines: &[
            ("gpu/src/columns/best.rs", "by_tiles"),
            ("gpu/src/reduce/best.rs", "in_one_launch"),
            ("gpu/src/rows/best.rs", "long"),
        ],
        operation: "barrier",
        changes: WEAKER,
        why: "helpers that begin and end with a barrier follow each other: one of the two that meet is enough here, and \
              nothing is behind the last",
    },
    Reason {
        lines: &[
            ("gpu/src/gemm/best.rs", "product"),
            ("gpu/src/gemm/ladder/tiled.rs", "sync_threads"),
        ],
        operation: "barrier",
        changes: WEAKER,
        why: "nothing writes to the tiles behind the last step",
    },
    Reason {
        lines: &[("gpu/src/rows/ladder/block_per_row.rs", "sync_threads")],
        operation: "barrier",
        changes: WEAKER,
        why: "thread 0 alone writes the element that it reads, and the other elements' readers have met in the tree: \
              the barrier is not needed",
    },
    Reason {
        lines: &[("gpu/src/", "")],
        operation: "atomic",
        changes: &[Change::ToBlock],
        why: "nothing is released or acquired, and that an operation of the block's scope is on an element of other \
              blocks too is not looked for",
    },
];

impl Reason {
    /// Returns whether it applies to a mutant at a line with this text.
    fn is_of(&self, mutant: &Mutant, text: &str) -> bool {
        let site = &mutant.mutation.site;
        let path = site.at.file().replace('\\', "/");
        self.lines
            .iter()
            .any(|(file, line)| path.contains(file) && text.contains(line))
            && site.operation.to_string().starts_with(self.operation)
            && self.changes.contains(&mutant.mutation.change)
    }
}

/// Returns the reason for a mutant, if there is one.
pub fn find(mutant: &Mutant, text: &str) -> Option<&'static str> {
    let found = REASONS.iter().find(|reason| reason.is_of(mutant, text));
    found.map(|reason| reason.why)
}
