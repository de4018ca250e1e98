//! An egress queue followed by a transmitter of any kind: a time-varying rate with outages, transmission opportunities,
//! or a constant rate.
//!
//! The schedule of the transmitter is independent of packets. The outcome for a packet is therefore known when its
//! transmission starts, and the packet is forwarded at that time. Only a backlog needs events. Where several
//! interpretations are possible, these rules apply:
//!
//! 1. A packet is dequeued when the transmitter can start to send it: when the previous packet has left, the outage has
//!    ended, or the next opportunity has come. At that time, it precedes arrivals.
//! 2. A rate of zero, other than an outage, does not delay the start: one packet is in transmission until the rate
//!    rises.
//! 3. An outage that drops waiting packets purges the queue discipline when it begins. Controllers (CoDel, PIE) keep
//!    their state.
//! 4. An outage drops an arriving packet before the link's loss model or the discipline processes it.
//! 5. A shaper holds the packet that was dequeued until there are tokens for it; an outage that drops waiting packets
//!    drops it.
//! 6. Aggregation takes a batch of packets when the transmitter can start it; they leave together. Packets of a batch
//!    in transmission occupy no space in the buffer. A packet that was dequeued and did not fit waits for the next
//!    batch.
//! 7. A queue discipline that shapes releases no packet before its time. From then on the packet waits until the
//!    transmitter can start it.

use super::constant_rate::StartedTransmission;
use super::egress_queue::{EgressQueue, QueuedPacket};
use super::line::Line;
use super::wire_losses::{self, WireLosses};
use crate::packets::drops::DropCause;
use crate::packets::{Circuit, Options, Packet};
use crate::report::packets::{PacketReport, TimeVaryingReport};
use crate::time_varying::{Passage, Service, TimeVaryingLink};
use longpipe_events::{MaybeTime, Time};
use std::collections::VecDeque;

/// State of the transmitter.
#[derive(Clone, Debug)]
enum TransmitterState {
    /// Idle: no packet waits.
    Idle,
    /// The transmission of a packet starts at this time.
    Waiting(Time),
    /// The queue discipline holds all packets until this time.
    Held(Time),
    /// The shaper holds a packet until this time.
    Shaped(Time, Box<QueuedPacket>),
    /// The remaining packets of a batch whose transmission starts now must still be forwarded.
    Releasing(Service, VecDeque<QueuedPacket>),
    /// A transmission ends at this time.
    Transmitting(Time),
    /// An outage drops the packet or batch in transmission at this time.
    Interrupted(Time, Vec<QueuedPacket>),
}

/// The port.
#[derive(Clone, Debug)]
pub(crate) struct VariableRatePort {
    queue: EgressQueue,
    transmitter: TimeVaryingLink,
    /// Whether rate, delay or outages vary over time, so that the report covers them.
    varies: bool,
    state: TransmitterState,
    /// Start of the next outage that drops waiting packets.
    next_purge: Option<Time>,
    lost_on_wire: WireLosses,
    counted: TimeVaryingReport,
}

impl VariableRatePort {
    /// Creates an idle port. `varies` is true if the link is time-varying.
    pub fn new(queue: EgressQueue, mut transmitter: TimeVaryingLink, varies: bool) -> VariableRatePort {
        let next_purge = next_purge(&mut transmitter, None);
        VariableRatePort {
            queue,
            transmitter,
            varies,
            state: TransmitterState::Idle,
            next_purge,
            lost_on_wire: WireLosses::default(),
            counted: TimeVaryingReport::default(),
        }
    }

    /// Returns the queue.
    pub fn queue(&self) -> &EgressQueue {
        &self.queue
    }

    /// Returns the arrival times and circuits of the packets whose departure times are not known yet.
    pub fn waiting_packets(&self) -> Vec<(Time, Circuit)> {
        let mut waiting = self.queue.waiting_packets();
        match &self.state {
            TransmitterState::Shaped(_, held) => waiting.push(held.entry()),
            TransmitterState::Releasing(_, rest) => waiting.extend(rest.iter().map(QueuedPacket::entry)),
            TransmitterState::Interrupted(_, lost) => waiting.extend(lost.iter().map(QueuedPacket::entry)),
            TransmitterState::Idle
            | TransmitterState::Waiting(_)
            | TransmitterState::Held(_)
            | TransmitterState::Transmitting(_) => {}
        }
        waiting
    }

    /// Returns the queue, so that its drops and marks can be collected.
    pub fn queue_mut(&mut self) -> &mut EgressQueue {
        &mut self.queue
    }

    /// If the port's next action is due by `now`, returns the time of the action.
    pub fn due(&self, now: Time) -> Option<Time> {
        self.next_action().filter(|&at| at <= now)
    }

    /// Returns the time of the port's next action. An action of the transmitter precedes a simultaneous purge.
    fn next_action(&self) -> Option<Time> {
        let of_transmitter = match &self.state {
            TransmitterState::Idle => None,
            TransmitterState::Releasing(service, _) => Some(service.begins),
            TransmitterState::Waiting(at)
            | TransmitterState::Held(at)
            | TransmitterState::Shaped(at, _)
            | TransmitterState::Transmitting(at)
            | TransmitterState::Interrupted(at, _) => Some(*at),
        };
        [of_transmitter, self.next_purge].into_iter().flatten().min()
    }

    /// Performs the action due at `now`. Returns the packet whose transmission starts, if any.
    pub fn act(&mut self, line: &mut Line, now: Time) -> Option<StartedTransmission> {
        match &self.state {
            &TransmitterState::Waiting(at) if at == now => return self.begin(line, now),
            &TransmitterState::Held(at) if at == now => return self.begin_when_ready(line, now),
            &TransmitterState::Shaped(at, _) if at == now => return self.release(line, now),
            TransmitterState::Releasing(service, _) if service.begins == now => return self.release_next(line, now),
            &TransmitterState::Transmitting(ends) if ends == now => {
                self.queue.finish(now);
                self.prepare(now);
            }
            TransmitterState::Interrupted(at, packets) if *at == now => {
                self.queue.drop_in_service(now, packets);
                self.transmitter.stop(now);
                // The transmitter becomes free after the purge, so the discipline is informed of its empty queue.
                if self.next_purge == Some(now) {
                    self.purge(now);
                }
                self.prepare(now);
            }
            _ => {
                if let TransmitterState::Shaped(_, held) = &self.state {
                    self.queue.drop_in_service(now, [&**held]);
                }
                self.purge(now);
                if let TransmitterState::Waiting(_) | TransmitterState::Held(_) | TransmitterState::Shaped(..) =
                    self.state
                {
                    self.state = TransmitterState::Idle;
                }
            }
        }
        None
    }

    /// Drops the waiting packets, because an outage begins at `now`.
    fn purge(&mut self, now: Time) {
        self.queue.purge(now);
        self.next_purge = next_purge(&mut self.transmitter, Some(now));
    }

    /// Schedules the start of the next transmission; the transmitter is free at `now`.
    fn prepare(&mut self, now: Time) {
        self.state = TransmitterState::Waiting(match self.queue.backlog().0 {
            // The discipline is called at once, so that it is informed of its empty queue.
            0 => now,
            _ => self.transmitter.ready(Time::ZERO),
        });
    }

    /// Processes an arrival at `now`, after all earlier actions. Returns the packet if its transmission starts at once.
    pub fn arrive(
        &mut self,
        line: &mut Line,
        now: Time,
        packet: Packet,
        options: &Options,
    ) -> Option<StartedTransmission> {
        if self.transmitter.refuses(now) {
            self.queue.refuse(now, &packet);
            return None;
        }
        self.queue.admit(now, packet, options);
        if !matches!(self.state, TransmitterState::Idle) {
            return None;
        }
        self.begin_when_ready(line, now)
    }

    /// If the transmitter, which is free, can start a transmission at `now`, starts it; otherwise, schedules its start.
    fn begin_when_ready(&mut self, line: &mut Line, now: Time) -> Option<StartedTransmission> {
        // If no packet waits, there is nothing to start.
        let begins = match self.queue.backlog().0 {
            0 => now,
            _ => self.transmitter.ready(now),
        };
        if begins > now {
            self.state = TransmitterState::Waiting(begins);
            return None;
        }
        self.begin(line, now)
    }

    /// Starts a transmission unless the discipline or the shaper holds the packet back; `ready` has prepared the
    /// transmitter for it.
    fn begin(&mut self, line: &mut Line, now: Time) -> Option<StartedTransmission> {
        self.state = TransmitterState::Idle;
        if self.queue.forms_batches() {
            self.begin_batch(now);
            return None;
        }
        let Some(queued) = self.queue.begin_next(now) else {
            self.hold(now);
            return None;
        };
        let released = self.queue.release(now, &queued);
        if released > now {
            self.state = TransmitterState::Shaped(released, Box::new(queued));
            return None;
        }
        self.transmit(line, now, queued)
    }

    /// Schedules another attempt if packets wait although the discipline released none at `now`.
    fn hold(&mut self, now: Time) {
        if let Some(released) = self.queue.held_until(now) {
            self.state = TransmitterState::Held(released);
        }
    }

    /// Passes the packet for which the shaper now has tokens to the transmitter, which starts as soon as it can.
    fn release(&mut self, line: &mut Line, now: Time) -> Option<StartedTransmission> {
        let TransmitterState::Shaped(_, held) = std::mem::replace(&mut self.state, TransmitterState::Idle) else {
            return None;
        };
        let begins = self.transmitter.ready(now);
        if begins > now {
            self.state = TransmitterState::Shaped(begins, held);
            return None;
        }
        self.transmit(line, now, *held)
    }

    fn transmit(&mut self, line: &mut Line, now: Time, queued: QueuedPacket) -> Option<StartedTransmission> {
        let service = self.transmitter.transmit(u64::from(queued.packet.bytes()));
        if let Some(at) = self.transmitter.interrupted(service) {
            self.state = TransmitterState::Interrupted(at, vec![queued]);
            return None;
        }
        self.state = TransmitterState::Transmitting(service.ends);
        Some(self.pass(line, now, queued, service))
    }

    /// Starts the transmission of a batch; `release_next` returns its packets one by one.
    fn begin_batch(&mut self, now: Time) {
        let batch = self.queue.begin_batch(now, self.transmitter.rate_bps(now));
        if batch.packets.is_empty() {
            self.hold(now);
            return;
        }
        let service = self.transmitter.transmit(batch.line_bytes);
        self.state = match self.transmitter.interrupted(service) {
            Some(at) => TransmitterState::Interrupted(at, batch.packets.into()),
            None => TransmitterState::Releasing(service, batch.packets),
        };
    }

    /// Returns the next packet of the batch whose transmission starts.
    fn release_next(&mut self, line: &mut Line, now: Time) -> Option<StartedTransmission> {
        let TransmitterState::Releasing(service, packets) = &mut self.state else {
            return None;
        };
        let service = *service;
        let queued = packets.pop_front()?;
        if packets.is_empty() {
            self.state = TransmitterState::Transmitting(service.ends);
        }
        Some(self.pass(line, now, queued, service))
    }

    /// Returns whether packets of a batch that starts now must still be forwarded.
    pub fn is_releasing(&self) -> bool {
        matches!(self.state, TransmitterState::Releasing(..))
    }

    /// Passes a packet over the wire.
    fn pass(&mut self, line: &mut Line, now: Time, queued: QueuedPacket, service: Service) -> StartedTransmission {
        let arrival = match self.transmitter.pass(now, service) {
            Passage::Arrives(arrival) => {
                line.set_delay(arrival - service.ends);
                arrival.into()
            }
            Passage::Lost(at) => {
                self.queue.drops().note(at, &queued.packet, DropCause::Outage);
                self.lost_on_wire.push(at, u64::from(queued.packet.bytes()));
                self.lost_on_wire.settle(now, &mut self.counted);
                MaybeTime::NONE
            }
        };
        StartedTransmission {
            queued,
            departure: service.ends,
            arrival,
        }
    }

    /// Returns the time of the next event: the start of a waiting packet's transmission, or a drop.
    pub fn next_event(&self) -> Option<Time> {
        let holds = matches!(
            self.state,
            TransmitterState::Shaped(..) | TransmitterState::Releasing(..) | TransmitterState::Interrupted(..)
        );
        self.next_action().filter(|_| holds || self.queue.backlog().0 > 0)
    }

    /// Returns the numbers of held packets and bytes whose transmission has not started, or that will not arrive.
    pub fn not_on_wire(&self) -> (u64, u64) {
        let (packets, bytes) = self.queue.backlog();
        match &self.state {
            TransmitterState::Shaped(_, held) => (packets + 1, bytes + u64::from(held.packet.bytes())),
            TransmitterState::Releasing(_, rest) => sum((packets, bytes), rest),
            TransmitterState::Interrupted(_, lost) => sum((packets, bytes), lost),
            TransmitterState::Idle
            | TransmitterState::Waiting(_)
            | TransmitterState::Held(_)
            | TransmitterState::Transmitting(_) => (packets, bytes),
        }
    }

    /// Returns the packets and bytes in transmission or on the wire at `now` that outages will lose there.
    pub fn lost_later(&mut self, now: Time) -> (u64, u64) {
        self.lost_on_wire.settle(now, &mut self.counted);
        self.lost_on_wire.later()
    }

    /// Performs all actions by `now`, the end of the run.
    pub fn settle(&mut self, line: &mut Line, now: Time) {
        while let Some(at) = self.due(now) {
            let begun = self.act(line, at);
            debug_assert!(begun.is_none(), "an event was due");
        }
    }

    /// Returns the counters at `now`, the end of the run; `settle` must have been called. `on_wire` is the number of
    /// packets and bytes whose transmission has started but that have not arrived; a host's packets count as held until
    /// they arrive.
    pub fn report(&mut self, now: Time, on_wire: (u64, u64)) -> PacketReport {
        let mut report = self.queue.report_at_host(now, self.not_on_wire(), on_wire);
        self.counted.lost_outage = self.queue.lost_outage();
        let counted = wire_losses::complete(&mut report, self.counted, &mut self.transmitter, now);
        report.motion = self.varies.then_some(counted);
        report
    }
}

/// Adds packets and their bytes to a sum.
fn sum<'a>(to: (u64, u64), packets: impl IntoIterator<Item = &'a QueuedPacket>) -> (u64, u64) {
    let add = |(count, bytes), queued: &QueuedPacket| (count + 1, bytes + u64::from(queued.packet.bytes()));
    packets.into_iter().fold(to, add)
}

/// Returns the start of the next outage after `now` that drops waiting packets.
fn next_purge(transmitter: &mut TimeVaryingLink, now: Option<Time>) -> Option<Time> {
    transmitter.drops().filter(|drops| drops.waiting)?;
    transmitter.next_drop(now)
}
