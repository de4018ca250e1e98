//! Out-of-range values from a controller, which are replaced and reported.

use longpipe_events::Time;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Kinds of values, in the order in which they are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Congestion window.
    Window,
    /// Slow-start threshold.
    Threshold,
    /// Pacing rate.
    Rate,
    /// Factor by which a policy multiplies its rate or window.
    Factor,
}

/// The first value of a kind, with its time and its replacement, and the number of such values.
#[derive(Clone, Copy, Debug)]
struct First {
    value: f64,
    taken: f64,
    at: Time,
    count: u64,
}

/// Values replaced so far.
#[derive(Debug, Default)]
pub struct Complaints(Mutex<BTreeMap<Kind, First>>);

impl Complaints {
    /// Records a value that was replaced.
    #[cold]
    pub fn add(&self, kind: Kind, value: f64, taken: f64, at: Time) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = found.entry(kind).or_insert(First {
            value,
            taken,
            at,
            count: 0,
        });
        first.count += 1;
    }

    /// Returns one line for each kind of value that was replaced.
    pub fn lines(&self) -> Vec<String> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |(kind, first): (&Kind, &First)| {
            let (name, unit) = match kind {
                Kind::Window => ("a window", " bytes"),
                Kind::Threshold => ("a slow-start threshold", " bytes"),
                Kind::Rate => ("a pacing rate", " bit/s"),
                Kind::Factor => ("a factor", ""),
            };
            let times = match first.count {
                1 => String::new(),
                count => format!(", and {} more times", count - 1),
            };
            format!(
                "sets {name} of {}{unit} at {:.6} s{times}; replaced by {}{unit}",
                first.value,
                first.at.0 as f64 / 1e12,
                first.taken
            )
        };
        found.iter().map(line).collect()
    }
}
