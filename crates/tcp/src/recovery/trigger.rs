//! What brings a fast retransmit: enough duplicate ACKs, and enough time since the latest one.

use crate::flight::Flight;
use longpipe_events::{MaybeTime, Span, Time};

/// What brings the fast retransmits of one sender.
#[derive(Clone, Debug)]
pub struct Triggers {
    threshold: u32,
    interval: Span,
    latest: MaybeTime,
}

impl Triggers {
    /// No fast retransmit so far; it takes `threshold` duplicates, and `interval` since the one before.
    pub fn new(threshold: u32, interval: Span) -> Triggers {
        Triggers {
            threshold,
            interval,
            latest: MaybeTime::NONE,
        }
    }

    /// That of a duplicate that comes now.
    pub fn at(&self, now: Time) -> Trigger {
        Trigger {
            threshold: self.threshold,
            ready: self
                .latest
                .get()
                .is_none_or(|latest| now.since(latest) >= self.interval),
        }
    }

    /// A fast retransmit came now.
    pub fn on_fast_retransmit(&mut self, now: Time) {
        self.latest = now.into();
    }
}

/// What it takes for one duplicate to bring a fast retransmit.
#[derive(Clone, Copy, Debug)]
pub struct Trigger {
    /// So many duplicates mean a loss.
    pub threshold: u32,
    ready: bool,
}

impl Trigger {
    /// So many duplicates that tell of new data bring it, or fewer with other `evidence` (RFC 6675 section 5).
    pub fn tells(self, duplicates: u32, evidence: bool) -> bool {
        (duplicates >= self.threshold || evidence) && self.ready
    }

    /// The duplicate that `flight` counted last brings it.
    pub fn fires(self, flight: &Flight) -> bool {
        flight.duplicates == self.threshold && self.ready
    }
}
