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

/// Replaced values of one kind: the first of them, and their number.
#[derive(Clone, Copy, Debug)]
struct Replaced {
    value: f64,
    /// The value that was used instead.
    replacement: f64,
    at: Time,
    count: u64,
}

/// Values replaced so far.
#[derive(Debug, Default)]
pub struct Complaints(Mutex<BTreeMap<Kind, Replaced>>);

impl Complaints {
    /// Records a value that was replaced.
    #[cold]
    pub fn add(&self, kind: Kind, value: f64, replacement: f64, at: Time) {
        let mut replaced_by_kind = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let replaced = replaced_by_kind.entry(kind).or_insert(Replaced {
            value,
            replacement,
            at,
            count: 0,
        });
        replaced.count += 1;
    }

    /// Returns one line for each kind of value that was replaced.
    pub fn lines(&self) -> Vec<String> {
        let replaced_by_kind = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |(kind, replaced): (&Kind, &Replaced)| {
            let (name, unit) = match kind {
                Kind::Window => ("a window", " bytes"),
                Kind::Threshold => ("a slow-start threshold", " bytes"),
                Kind::Rate => ("a pacing rate", " bit/s"),
                Kind::Factor => ("a factor", ""),
            };
            let times = match replaced.count {
                1 => String::new(),
                count => format!(", and {} more times", count - 1),
            };
            format!(
                "sets {name} of {}{unit} at {:.6} s{times}; replaced by {}{unit}",
                replaced.value,
                replaced.at.0 as f64 / 1e12,
                replaced.replacement
            )
        };
        replaced_by_kind.iter().map(line).collect()
    }
}
