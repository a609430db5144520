//! Shows a progress bar on the terminal for work that takes longer than a second.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pensa_engine::progress;

use crate::output::Output;

/// Work that ends sooner gets no bar.
const BAR_DELAY: Duration = Duration::from_secs(1);
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

/// Runs `work`, with a progress bar if a person is at the terminal.
pub(crate) fn with_progress<T>(output: Output, work: impl FnOnce() -> T) -> T {
    let _progress = (output.is_human() && std::io::stderr().is_terminal()).then(ProgressDisplay::start);
    work()
}

/// A thread that draws the bar until this is dropped.
#[derive(Debug)]
struct ProgressDisplay {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressDisplay {
    fn start() -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&done);
        let thread = thread::spawn(move || {
            thread::park_timeout(BAR_DELAY);
            if !ended.load(Ordering::Relaxed) {
                draw_until_done(&ended);
            }
        });
        Self { done, thread: Some(thread) }
    }
}

fn draw_until_done(ended: &AtomicBool) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent:>3}% {elapsed}") {
        bar.set_style(style);
    }
    while !ended.load(Ordering::Relaxed) {
        if let Some((done, total)) = progress().read() {
            bar.set_length(total);
            bar.set_position(done);
        }
        thread::park_timeout(REDRAW_INTERVAL);
    }
    bar.finish_and_clear();
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
