//! Packets that are due, on their way to the device of their host: those that can be handed over together are.

use crate::clock::{nanoseconds, Clock};
use crate::joined::Joined;
use crate::live::{Host, Said};
use longpipe_events::Time;

/// What is handed over next.
#[derive(Debug)]
pub struct Leaving {
    joined: Joined,
    /// The host that it is for.
    to: usize,
    /// When each packet was due.
    due: Vec<Time>,
    /// What is later than this is counted [ns].
    limit_ns: u64,
}

impl Leaving {
    /// Nothing yet.
    pub fn new(limit_ns: u64) -> Leaving {
        Leaving {
            joined: Joined::default(),
            to: 0,
            due: Vec::new(),
            limit_ns,
        }
    }

    /// A packet leaves for a host, after those that can't go with it.
    pub fn put(&mut self, due: Time, to: usize, packet: &[u8], hosts: &mut [Host], said: &mut Said, clock: &Clock) {
        let goes_along = to == self.to && hosts[to].device.joins() && self.joined.take(packet);
        if !goes_along {
            self.flush(hosts, said, clock);
            self.joined.take(packet);
            self.to = to;
        }
        self.due.push(due);
    }

    /// All that is here is handed over; how late each was by then is counted.
    pub fn flush(&mut self, hosts: &mut [Host], said: &mut Said, clock: &Clock) {
        if self.due.is_empty() {
            return;
        }
        said.refused += hosts[self.to].device.deliver(&mut self.joined) as u64;
        let now = clock.now();
        for due in self.due.drain(..) {
            let late = nanoseconds(due, now);
            said.late += u64::from(late > self.limit_ns);
            said.lateness.add(late);
        }
    }
}
