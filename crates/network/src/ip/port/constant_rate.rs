//! An egress queue in front of a transmitter of constant rate. When a packet has left is certain when it begins to, so packets go on
//! then.
//!
//! Only a backlog needs an event, for the instant at which the next packet begins. Without one, departures are settled at the next
//! arrival. Arrivals are passed in order, and may be passed ahead of time.

use super::egress_queue::{EgressQueue, QueuedPacket};
use super::line::Line;
use crate::ip::report::PacketReport;
use crate::packets::{Options, Packet};
use longpipe_events::Time;

/// A packet that begins to leave.
pub(crate) struct Begun {
    pub queued: QueuedPacket,
    /// When it has left.
    pub departure: Time,
    /// When it arrives at the end of the wire, unless an outage loses it there.
    pub arrival: Option<Time>,
}

/// The port.
#[derive(Clone, Debug)]
pub(crate) struct ConstantRatePort {
    queue: EgressQueue,
    /// When the packet in transmission has left, except for packets that the line repeated since.
    ends: Time,
}

impl ConstantRatePort {
    /// An idle port.
    pub fn new(queue: EgressQueue) -> ConstantRatePort {
        ConstantRatePort {
            queue,
            ends: Time::ZERO,
        }
    }

    /// Its queue.
    pub fn queue(&self) -> &EgressQueue {
        &self.queue
    }

    /// Its queue, to take the reports of drops and marks.
    pub fn queue_mut(&mut self) -> &mut EgressQueue {
        &mut self.queue
    }

    /// When the transmitter becomes free, if that is by `now`, at which departures precede arrivals.
    pub fn due(&mut self, line: &mut Line, now: Time) -> Option<Time> {
        self.count_repeated(line);
        let free = line.free();
        (self.queue.is_busy() && free <= now).then_some(free)
    }

    /// The packet in transmission has left at `now`, which was due. Returns the packet that begins.
    pub fn act(&mut self, line: &mut Line, now: Time) -> Option<Begun> {
        let queued = self.queue.depart(now)?;
        Some(self.begin(line, now, queued))
    }

    /// A packet arrives at `now`, after all that was due. Returns it if it begins to leave at once.
    pub fn arrive(&mut self, line: &mut Line, now: Time, packet: Packet, options: &Options) -> Option<Begun> {
        match self.queue.arrive(now, packet, options) {
            Some(queued) => {
                line.restart(now);
                Some(self.begin(line, now, queued))
            }
            None => {
                line.let_repeat(false);
                None
            }
        }
    }

    fn begin(&mut self, line: &mut Line, at: Time, queued: QueuedPacket) -> Begun {
        self.ends = line.send(at, queued.packet.bytes(), self.queue.rate());
        line.let_repeat(self.queue.passes_through_statelessly() && self.queue.backlog().0 == 0);
        Begun {
            queued,
            departure: self.ends,
            arrival: Some(self.ends + line.delay()),
        }
    }

    /// Takes the packets that the line repeated into the counters, all of which found the port empty.
    fn count_repeated(&mut self, line: &mut Line) {
        if line.has_repeated() {
            // No packet waited.
            self.queue.depart(self.ends);
            let (packets, bytes, lasted) = line.take_repeated();
            self.ends = line.free();
            self.queue
                .count_passed(packets, bytes, lasted, Time(self.ends.0 - lasted));
        }
    }

    /// When the port needs an event: when a packet that waits can begin.
    pub fn next_event(&self, line: &Line) -> Option<Time> {
        (self.queue.backlog().0 > 0).then(|| line.free())
    }

    /// Counters as of `now`, the end of the run.
    pub fn report(&mut self, line: &mut Line, now: Time) -> PacketReport {
        if let Some(at) = self.due(line, now) {
            let begun = self.act(line, at);
            debug_assert!(begun.is_none(), "an event was due");
        }
        self.queue.report(now)
    }
}
