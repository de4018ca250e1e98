//! An egress queue in front of a transmitter of constant rate. A packet's departure time is known when its transmission
//! starts, so that it is forwarded then.
//!
//! Only a backlog needs an event, for the start of the next transmission. Without a backlog, departures are settled at the
//! next arrival. Arrivals must be passed in order, and may be passed ahead of time.

use super::egress_queue::{EgressQueue, QueuedPacket};
use super::line::Line;
use crate::ip::report::PacketReport;
use crate::packets::{Options, Packet};
use longpipe_events::Time;

/// A packet whose transmission starts.
pub(crate) struct Begun {
    pub queued: QueuedPacket,
    /// Departure time of its last bit.
    pub departure: Time,
    /// Arrival time at the end of the wire; None if an outage loses it there.
    pub arrival: Option<Time>,
}

/// The port.
#[derive(Clone, Debug)]
pub(crate) struct ConstantRatePort {
    queue: EgressQueue,
    /// End of the current transmission, not counting packets that the line has since transmitted by `repeat`.
    ends: Time,
}

impl ConstantRatePort {
    /// Creates an idle port.
    pub fn new(queue: EgressQueue) -> ConstantRatePort {
        ConstantRatePort {
            queue,
            ends: Time::ZERO,
        }
    }

    /// Returns the queue.
    pub fn queue(&self) -> &EgressQueue {
        &self.queue
    }

    /// Returns the queue, to collect its drops and marks.
    pub fn queue_mut(&mut self) -> &mut EgressQueue {
        &mut self.queue
    }

    /// Returns the time at which the transmitter becomes free if it is at most `now`. Departures precede simultaneous
    /// arrivals.
    pub fn due(&mut self, line: &mut Line, now: Time) -> Option<Time> {
        self.count_repeated(line);
        let free = line.free();
        (self.queue.is_busy() && free <= now).then_some(free)
    }

    /// Completes the transmission that ended at `now`. Returns the packet whose transmission starts.
    pub fn act(&mut self, line: &mut Line, now: Time) -> Option<Begun> {
        let queued = self.queue.depart(now)?;
        Some(self.begin(line, now, queued))
    }

    /// Processes an arrival at `now`, after all earlier departures. Returns the packet if its transmission starts at once.
    pub fn arrive(&mut self, line: &mut Line, now: Time, packet: Packet, options: &Options) -> Option<Begun> {
        match self.queue.arrive(now, packet, options) {
            Some(queued) => {
                line.restart(now);
                Some(self.begin(line, now, queued))
            }
            None => {
                line.allow_repeat(false);
                None
            }
        }
    }

    fn begin(&mut self, line: &mut Line, at: Time, queued: QueuedPacket) -> Begun {
        self.ends = line.send(at, queued.packet.bytes(), self.queue.rate());
        line.allow_repeat(self.queue.passes_through_statelessly() && self.queue.backlog().0 == 0);
        Begun {
            queued,
            departure: self.ends,
            arrival: Some(self.ends + line.delay()),
        }
    }

    /// Counts the packets that the line repeated; each found the port empty.
    fn count_repeated(&mut self, line: &mut Line) {
        if line.has_repeated() {
            // The queue was empty.
            self.queue.depart(self.ends);
            let (packets, bytes, lasted) = line.take_repeated();
            self.ends = line.free();
            self.queue
                .count_passed(packets, bytes, lasted, Time(self.ends.0 - lasted));
        }
    }

    /// Returns the time of the next event: the start of a waiting packet's transmission.
    pub fn next_event(&self, line: &Line) -> Option<Time> {
        (self.queue.backlog().0 > 0).then(|| line.free())
    }

    /// Returns the counters at `now`, the end of the run.
    pub fn report(&mut self, line: &mut Line, now: Time) -> PacketReport {
        if let Some(at) = self.due(line, now) {
            let begun = self.act(line, at);
            debug_assert!(begun.is_none(), "an event was due");
        }
        self.queue.report(now)
    }
}
