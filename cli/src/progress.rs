//! Progress bars on standard error, shown only on a terminal and for long work.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work on fewer bytes than this ends before a bar could be read.
const LEAST_BYTES: u64 = 64 << 20;

/// Returns a bar over `total` bytes. It is invisible for little work, or if standard error is not a terminal.
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

/// Returns a bar over `total` steps. It is invisible if standard error is not a terminal.
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
