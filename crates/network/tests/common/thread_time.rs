//! CPU time of a thread, read by another thread.

use std::fs::{read_link, read_to_string};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Measures the CPU time of the thread that created it; where Linux's `/proc` is missing, the real time.
#[derive(Clone, Debug)]
pub struct ThreadTime {
    /// Linux's counters of the thread, the first of which is its CPU time [ns].
    counters: PathBuf,
    cpu_before: Option<Duration>,
    since: Instant,
}

impl ThreadTime {
    /// Begins to measure the time of the calling thread.
    pub fn start() -> ThreadTime {
        let thread = read_link("/proc/thread-self").unwrap_or_default();
        let counters = Path::new("/proc").join(thread).join("schedstat");
        ThreadTime {
            cpu_before: cpu_time(&counters),
            counters,
            since: Instant::now(),
        }
    }

    /// Returns the time that the thread has taken since the start.
    pub fn elapsed(&self) -> Duration {
        match (self.cpu_before, cpu_time(&self.counters)) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.since.elapsed(),
        }
    }
}

fn cpu_time(counters: &Path) -> Option<Duration> {
    let text = read_to_string(counters).ok()?;
    let ns = text.split_whitespace().next()?;
    Some(Duration::from_nanos(ns.parse().ok()?))
}
