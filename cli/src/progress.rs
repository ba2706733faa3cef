//! Progress bars on standard error, shown only where that is a terminal and the work is long.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work on fewer bytes than this is done before a bar could be read.
const LEAST_BYTES: u64 = 64 << 20;

/// A bar over `total` bytes; invisible for little work and where standard error is no terminal.
pub fn bytes(what: &'static str, total: u64) -> ProgressBar {
    if total < LEAST_BYTES {
        return ProgressBar::hidden();
    }
    bar(
        what,
        total,
        "{msg} {bar:30} {bytes} of {total_bytes}, {eta} left",
    )
}

/// A bar over `total` steps; invisible where standard error is no terminal.
pub fn steps(what: &'static str, total: u64) -> ProgressBar {
    bar(what, total, "{msg} {bar:30} {pos} of {len}")
}

fn bar(what: &'static str, total: u64, template: &str) -> ProgressBar {
    // `stderr()` draws nothing where standard error is not a terminal.
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.with_message(what)
}
