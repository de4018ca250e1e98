//! Packets that are due, on their way to the device of their host: those that can be handed over together are.

use crate::clock::{nanoseconds, Clock};
use crate::joined::Joined;
use crate::lead::Lead;
use crate::live::{Host, Said};
use crate::path::Path;
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
    lead: Lead,
    /// Since when what is due is looked for.
    from: Time,
}

impl Leaving {
    /// Nothing yet.
    pub fn new(limit_ns: u64) -> Leaving {
        Leaving {
            joined: Joined::default(),
            to: 0,
            due: Vec::new(),
            limit_ns,
            lead: Lead::default(),
            from: Time::ZERO,
        }
    }

    /// By how much earlier than due packets begin to leave now [ns].
    pub fn lead(&self, now: Time) -> u64 {
        self.lead.ns(now)
    }

    /// Up to when what is due leaves now.
    pub fn begin(&mut self, now: Time, path: &mut Path) -> Time {
        self.from = now;
        if self.lead.ns(now) == 0 {
            return now;
        }
        self.lead.reach(now, path.horizon().max(path.next_due()))
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
        self.lead.took(self.from, now);
        self.from = now;
        for due in self.due.drain(..) {
            let late = nanoseconds(due, now);
            said.late += u64::from(late > self.limit_ns);
            said.lateness.add(late);
            said.earliest_ns = said.earliest_ns.max(nanoseconds(now, due));
        }
    }
}
