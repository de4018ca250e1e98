//! Packets that outages lose on the wire of a time-varying link, and the part of a port's report that covers the link.

use crate::report::packets::{PacketReport, TimeVaryingReport};
use crate::time_varying::TimeVaryingLink;
use longpipe_events::{Ring, Time};

/// Packets that outages will lose on the wire: the time of the loss and the length [byte] of each, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct WireLosses(Ring<(Time, u64)>);

impl WireLosses {
    /// Adds a packet of `bytes` bytes that will be lost at `at`.
    pub fn push(&mut self, at: Time, bytes: u64) {
        self.0.push((at, bytes));
    }

    /// Counts the packets lost by `now`.
    #[inline]
    pub fn settle(&mut self, now: Time, counted: &mut TimeVaryingReport) {
        while let Some((_, bytes)) = self.0.first().copied().filter(|lost| lost.0 <= now) {
            self.0.pop();
            counted.lost_on_wire += 1;
            counted.bytes_lost_on_wire += bytes;
        }
    }

    /// Returns the numbers of packets and bytes that have not been lost yet.
    pub fn later(&self) -> (u64, u64) {
        let add = |(packets, sum), &(_, bytes): &(Time, u64)| (packets + 1, sum + bytes);
        self.0.iter().fold((0, 0), add)
    }
}

/// Completes the report of a port at `now`, the end of the run: packets lost on the wire do not count as sent. Returns the
/// counters of the link.
pub(crate) fn complete(
    report: &mut PacketReport,
    counted: TimeVaryingReport,
    link: &mut TimeVaryingLink,
    now: Time,
) -> TimeVaryingReport {
    let used = (report.packets_out, report.bytes_out);
    report.packets_out -= counted.lost_on_wire;
    report.bytes_out -= counted.bytes_lost_on_wire;
    report.bytes_lost += counted.bytes_lost_on_wire;
    report.utilization = link.share_used(used, now);
    TimeVaryingReport {
        overtakings: link.overtakings(now),
        within_capacity: link.can_have_sent(used, now),
        ..counted
    }
}
