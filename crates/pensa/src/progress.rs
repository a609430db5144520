//! A bar on the terminal for whatever takes longer than a second.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pensa_engine::meter;

use crate::output::Output;

/// What is over sooner needs no bar.
const SOON: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(100);

/// Does something that may take long, with a bar for a person at a terminal.
pub(crate) fn watched<T>(output: Output, work: impl FnOnce() -> T) -> T {
    let _progress = (output.is_for_people() && std::io::stderr().is_terminal()).then(Progress::watch);
    work()
}

/// Shows how far the work has come, until it is dropped.
#[derive(Debug)]
struct Progress {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    fn watch() -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&done);
        let thread = thread::spawn(move || {
            thread::park_timeout(SOON);
            if !ended.load(Ordering::Relaxed) {
                show(&ended);
            }
        });
        Self { done, thread: Some(thread) }
    }
}

fn show(ended: &AtomicBool) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent:>3}% {elapsed}") {
        bar.set_style(style);
    }
    while !ended.load(Ordering::Relaxed) {
        if let Some((done, total)) = meter().read() {
            bar.set_length(total);
            bar.set_position(done);
        }
        thread::park_timeout(STEP);
    }
    bar.finish_and_clear();
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}
