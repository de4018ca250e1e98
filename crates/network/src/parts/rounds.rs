//! The barrier between turns, in each of which all threads simulate one round of windows.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Number of times that a thread checks the barrier before it sleeps.
const SPINS: u32 = 2000;

/// A barrier that all threads pass after each turn, or at which they learn that the run ends.
#[derive(Debug)]
pub(super) struct Rounds {
    threads: usize,
    /// Number of threads that have completed the present turn.
    waiting: AtomicUsize,
    /// Least round that a thread has requested in the present turn.
    least: AtomicU64,
    /// Round of the next turn.
    next: AtomicU64,
    /// Number of turns that all threads have completed.
    completed: AtomicU64,
    /// The last turn, after which all threads stop.
    last: AtomicU64,
    /// Whether a thread ended without completing its turn.
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
            least: AtomicU64::new(u64::MAX),
            next: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            last: AtomicU64::new(u64::MAX),
            given_up: AtomicBool::new(false),
            sleep: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Ends the run after a turn that the calling thread has not completed.
    pub fn end_with(&self, turn: u64) {
        self.last.store(turn, Ordering::Release);
    }

    /// Ends the run at once; the calling thread completes no further turn.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Release);
        self.wake_all();
    }

    fn wake_all(&self) {
        drop(self.sleep.lock().unwrap_or_else(PoisonError::into_inner));
        self.wake.notify_all();
    }

    /// Returns whether a turn, or the run, is over.
    fn is_over(&self, turn: u64) -> bool {
        self.completed.load(Ordering::Acquire) > turn || self.given_up.load(Ordering::Acquire)
    }

    /// Waits until all threads have completed a turn. Returns the least round that any of them requests as `next`; None if
    /// the run ends.
    pub fn wait(&self, turn: u64, next: u64) -> Option<u64> {
        self.least.fetch_min(next, Ordering::AcqRel);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Release);
            self.next
                .store(self.least.swap(u64::MAX, Ordering::AcqRel), Ordering::Release);
            self.completed.store(turn + 1, Ordering::Release);
            self.wake_all();
        }
        let spun = (0..SPINS).any(|_| {
            std::hint::spin_loop();
            self.is_over(turn)
        });
        if !spun {
            let mut sleep = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
            while !self.is_over(turn) {
                sleep = self.wake.wait(sleep).unwrap_or_else(PoisonError::into_inner);
            }
        }
        let continues = self.completed.load(Ordering::Acquire) > turn && self.last.load(Ordering::Acquire) > turn;
        continues.then(|| self.next.load(Ordering::Acquire))
    }
}
