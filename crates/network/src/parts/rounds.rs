//! The barrier between rounds.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Number of times that a thread checks the barrier before it sleeps.
const SPINS: u32 = 2000;

/// A barrier that all threads pass after each round, or at which they learn that the run ends.
#[derive(Debug)]
pub(super) struct Rounds {
    threads: usize,
    /// Number of threads that have completed the present round.
    waiting: AtomicUsize,
    /// Number of rounds that all threads have completed.
    completed: AtomicU64,
    /// The last round, after which all threads stop.
    last: AtomicU64,
    /// Whether a thread ended without completing its round.
    given_up: AtomicBool,
    /// Held by a thread while it decides to sleep.
    sleep: Mutex<()>,
    /// Wakes the threads that sleep.
    wake: Condvar,
}

impl Rounds {
    pub fn new(threads: usize) -> Rounds {
        Rounds {
            threads,
            waiting: AtomicUsize::new(0),
            completed: AtomicU64::new(0),
            last: AtomicU64::new(u64::MAX),
            given_up: AtomicBool::new(false),
            sleep: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Ends the run after a round that the calling thread has not completed.
    pub fn end_with(&self, round: u64) {
        self.last.store(round, Ordering::Release);
    }

    /// Ends the run at once; the calling thread completes no further round.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Release);
        self.wake_all();
    }

    fn wake_all(&self) {
        drop(self.sleep.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_all();
    }

    /// Returns whether a round, or the run, is over.
    fn is_over(&self, round: u64) -> bool {
        self.completed.load(Ordering::Acquire) > round || self.given_up.load(Ordering::Acquire)
    }

    /// Waits until all threads have completed a round. Returns whether the run continues.
    pub fn wait(&self, round: u64) -> bool {
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Release);
            self.completed.store(round + 1, Ordering::Release);
            self.wake_all();
        }
        let spun = (0..SPINS).any(|_| {
            std::hint::spin_loop();
            self.is_over(round)
        });
        if !spun {
            let mut sleep = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
            while !self.is_over(round) {
                sleep = self.wake.wait(sleep).unwrap_or_else(PoisonError::into_inner);
            }
        }
        if self.completed.load(Ordering::Acquire) <= round {
            return false;
        }
        self.last.load(Ordering::Acquire) > round
    }
}
