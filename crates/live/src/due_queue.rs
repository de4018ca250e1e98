//! Packets that are due and are being passed to the devices of their hosts; packets that can be joined are passed to
//! the kernel together.

use crate::clock::{nanoseconds, Clock};
use crate::device::Host;
use crate::joined::Joined;
use crate::lead::Lead;
use crate::path::Path;
use crate::status::LiveStatus;
use longpipe_events::Time;

/// When a packet is due, and the time [ns] by which it may have entered the path late.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    pub at: Time,
    pub entered_late_ns: u64,
}

/// Packets that are due next, in order.
#[derive(Debug)]
pub struct DueQueue {
    joined: Joined,
    /// Destination host.
    to: usize,
    due: Vec<Due>,
    /// Lateness above which packets count as late [ns].
    limit_ns: u64,
    lead: Lead,
    /// Time at which the current round of passing due packets started.
    from: Time,
}

impl DueQueue {
    /// Creates an empty queue.
    pub fn new(limit_ns: u64) -> DueQueue {
        DueQueue {
            joined: Joined::default(),
            to: 0,
            due: Vec::new(),
            limit_ns,
            lead: Lead::default(),
            from: Time::ZERO,
        }
    }

    /// Returns the current lead time of packets [ns].
    pub fn lead_ns(&self, now: Time) -> u64 {
        self.lead.lead_ns(now)
    }

    /// Starts a round of passing packets. Returns the latest due time of the packets that are passed in this round.
    pub fn begin(&mut self, now: Time, path: &mut Path) -> Time {
        self.from = now;
        if self.lead.lead_ns(now) == 0 {
            return now;
        }
        self.lead.pass_until(now, path.horizon().max(path.next_due()))
    }

    /// Adds a packet for a host, after passing the packets with which it cannot be joined.
    pub fn put(
        &mut self,
        due: Due,
        to: usize,
        packet: &[u8],
        hosts: &mut [Host],
        status: &mut LiveStatus,
        clock: &Clock,
    ) {
        let joins = to == self.to && hosts[to].device.joins() && self.joined.take(packet);
        if !joins {
            self.flush(hosts, status, clock);
            self.joined.take(packet);
            self.to = to;
        }
        self.due.push(due);
    }

    /// Passes all packets, and records how late each one was.
    pub fn flush(&mut self, hosts: &mut [Host], status: &mut LiveStatus, clock: &Clock) {
        if self.due.is_empty() {
            return;
        }
        status.refused += hosts[self.to].device.deliver(&mut self.joined) as u64;
        let now = clock.now();
        self.lead.record(self.from, now);
        self.from = now;
        for due in self.due.drain(..) {
            let late = nanoseconds(due.at, now) + due.entered_late_ns;
            // A packet that entered too late has been counted.
            status.late += u64::from(late > self.limit_ns && due.entered_late_ns <= self.limit_ns);
            status.lateness.add(late);
            status.earliest_ns = status.earliest_ns.max(nanoseconds(now, due.at));
        }
    }
}
