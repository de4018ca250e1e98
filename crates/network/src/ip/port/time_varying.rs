//! An output port of a time-varying link, at a host or a router. The times of a packet are known when it is admitted,
//! and packets are admitted in order.

use crate::impairments::loss::Loss;
use crate::ip::port::capacity::{counts_bytes, Capacity};
use crate::ip::port::line::Line;
use crate::ip::port::occupancies::VcOccupancies;
use crate::ip::port::wire_losses::{self, WireLosses};
use crate::packets::drops::DropCause;
use crate::policies::{Occupancy, Policy};
use crate::report::packets::{PacketReport, TimeVaryingReport};
use crate::scenario::LinkConfig;
use crate::time_varying::{Passage, TimeVaryingLink, TransmissionOutcome};
use longpipe_events::{Rate, Ring, Time};

/// A packet that is held until a given time.
#[derive(Clone, Copy, Debug, Default)]
struct HeldPacket {
    /// Start of its transmission.
    begins: Time,
    /// End of its transmission, or time of its drop.
    until: Time,
    bytes: u32,
    /// Index of the circuit at this port.
    local: u32,
}

/// The port.
#[derive(Clone, Debug)]
pub struct TimeVaryingPort {
    host: bool,
    /// Whether rate, delay or outages vary over time, so that the report covers them.
    varies: bool,
    rate: Rate,
    motion: TimeVaryingLink,
    loss: Option<Box<Loss>>,
    policy: Policy,
    /// Whether only a full buffer drops packets, and none is lost on the wire: tail drop without injected losses, and
    /// `TimeVaryingLink::is_undisturbed` holds.
    is_undisturbed: bool,
    capacity: Capacity,
    /// Whether the occupancies X and X_i and the buffer size K are in bytes instead of packets.
    by_bytes: bool,
    /// End of the run.
    end: Time,
    /// Packets that leave, and packets that an outage drops; each list is in order.
    leaving: Ring<HeldPacket>,
    doomed: Ring<HeldPacket>,
    /// Departure time of the latest packet, if it is lost on the wire.
    left: Option<Time>,
    /// Time at which an outage drops the latest packet from the queue, if it does.
    dropped: Option<Time>,
    /// Time and cause of the latest packet's loss, if the packet was lost.
    loss_of_last: Option<(Time, DropCause)>,
    /// Packets that an outage loses on the wire, in order.
    on_wire: WireLosses,
    held: u64,
    bytes_held: u64,
    /// Occupancy of each circuit, if the policy needs it.
    by_vc: Option<VcOccupancies>,
    report: PacketReport,
    counted: TimeVaryingReport,
    /// Total time [packet·ps] from arrival to departure, over all admitted packets.
    packet_time: u128,
}

impl TimeVaryingPort {
    /// Creates an empty port for `vcs` circuits, in a run that ends at `end`.
    pub(crate) fn new(
        motion: TimeVaryingLink,
        end: Time,
        (link, host): (&LinkConfig, bool),
        loss: Option<Box<Loss>>,
        vcs: usize,
    ) -> TimeVaryingPort {
        let buffer = link.buffer;
        let policy = link
            .policy
            .buffer_policy(buffer.map_or(u64::MAX, |buffer| buffer.limit));
        TimeVaryingPort {
            host,
            is_undisturbed: motion.is_undisturbed() && loss.is_none() && policy.is_tail_drop(),
            motion,
            loss,
            varies: link.motion.is_some(),
            rate: Rate(link.rate_bps),
            by_vc: policy
                .needs_vc_occupancies()
                .then(|| VcOccupancies::new(counts_bytes(buffer), vcs)),
            policy,
            capacity: Capacity::new(buffer),
            by_bytes: counts_bytes(buffer),
            end,
            leaving: Ring::default(),
            doomed: Ring::default(),
            left: None,
            dropped: None,
            loss_of_last: None,
            on_wire: WireLosses::default(),
            held: 0,
            bytes_held: 0,
            report: PacketReport {
                host,
                ..PacketReport::default()
            },
            counted: TimeVaryingReport::default(),
            packet_time: 0,
        }
    }

    /// Returns whether callers must pass the number of each packet's circuit; if not, they may pass any constant.
    #[inline]
    pub fn needs_vc_occupancies(&self) -> bool {
        self.by_vc.is_some()
    }

    /// Processes a packet of the port's circuit `local` that may leave at `ready` or later. Returns the packet's
    /// arrival time downstream, unless the packet is lost.
    #[inline]
    pub fn send(&mut self, line: &mut Line, ready: Time, bytes: u16, local: u32) -> Option<Time> {
        if self.is_undisturbed {
            return self.send_undisturbed(line, ready, bytes, local);
        }
        self.send_in_full(line, ready, bytes, local)
    }

    /// Shortcut of `send` if `is_undisturbed` holds.
    #[inline(never)]
    fn send_undisturbed(&mut self, line: &mut Line, ready: Time, bytes: u16, local: u32) -> Option<Time> {
        // A host's jitter may delay a packet beyond the end of the run.
        self.settle_leaving(ready.min(self.end));
        let (size, report) = (u64::from(bytes), &mut self.report);
        report.packets_in += 1;
        report.bytes_in += size;
        if !self.capacity.has_room((self.held, self.bytes_held), size) {
            report.lost_overflow += 1;
            report.bytes_lost += size;
            self.loss_of_last = Some((ready.min(self.end), DropCause::Overflow));
            return None;
        }
        let (service, arrival) = self.motion.transmit_undisturbed(ready, bytes)?;
        self.packet_time += u128::from((service.ends - ready).0);
        self.held += 1;
        self.bytes_held += size;
        report.peak_packets = report.peak_packets.max(self.held);
        report.peak_bytes = report.peak_bytes.max(self.bytes_held);
        self.leaving.push(HeldPacket {
            begins: service.begins,
            until: service.ends,
            bytes: u32::from(bytes),
            local,
        });
        line.set_delay(arrival - service.ends);
        Some(arrival)
    }

    #[inline(never)]
    fn send_in_full(&mut self, line: &mut Line, ready: Time, bytes: u16, local: u32) -> Option<Time> {
        // A host's jitter may delay a packet beyond the end of the run.
        self.settle(ready.min(self.end));
        let size = u64::from(bytes);
        self.report.packets_in += 1;
        self.report.bytes_in += size;
        let (packets, room) = self.waiting(ready);
        let (lost, cause) = if self.motion.refuses(ready) {
            (&mut self.counted.lost_outage, DropCause::Outage)
        } else if self.loss.as_mut().is_some_and(|loss| loss.loses(ready)) {
            (&mut self.report.lost_injected, DropCause::InjectedLoss)
        } else if self.policy.refuses(self.occupancy(local)) {
            (&mut self.report.lost_aqm, DropCause::Aqm)
        } else if !self.capacity.has_room((packets, room), size) {
            (&mut self.report.lost_overflow, DropCause::Overflow)
        } else {
            return self.admit(line, ready, bytes, local);
        };
        *lost += 1;
        self.loss_of_last = Some((ready.min(self.end), cause));
        self.report.bytes_lost += size;
        None
    }

    #[inline]
    fn admit(&mut self, line: &mut Line, ready: Time, bytes: u16, local: u32) -> Option<Time> {
        let fate = self.motion.admit(ready, bytes);
        let (begins, until) = match fate {
            TransmissionOutcome::Leaves(service) => (service.begins, service.ends),
            TransmissionOutcome::Dropped(at) => (at, at),
        };
        let held = HeldPacket {
            begins,
            until,
            bytes: u32::from(bytes),
            local,
        };
        self.packet_time += u128::from((until - ready).0);
        self.held += 1;
        self.bytes_held += u64::from(bytes);
        self.report.peak_packets = self.report.peak_packets.max(self.held);
        self.report.peak_bytes = self.report.peak_bytes.max(self.bytes_held);
        if let Some(by_vc) = &mut self.by_vc {
            by_vc.add(local, held.bytes);
        }
        let TransmissionOutcome::Leaves(service) = fate else {
            self.doomed.push(held);
            self.dropped = Some(until);
            self.loss_of_last = Some((until, DropCause::Outage));
            return None;
        };
        self.leaving.push(held);
        match self.motion.pass(ready.min(self.end), service) {
            Passage::Arrives(arrival) => {
                line.set_delay(arrival - service.ends);
                Some(arrival)
            }
            Passage::Lost(at) => {
                self.left = Some(service.ends);
                self.loss_of_last = Some((at, DropCause::Outage));
                self.on_wire.push(at, u64::from(bytes));
                None
            }
        }
    }

    /// Returns the packets and bytes that occupy the buffer at `now`; departures up to `now` must have been processed
    /// (`settle`).
    #[inline]
    fn waiting(&self, now: Time) -> (u64, u64) {
        let begun = self
            .leaving
            .first()
            .filter(|first| self.motion.frees_at_begin() && first.begins <= now);
        begun.map_or((self.held, self.bytes_held), |first| {
            (self.held - 1, self.bytes_held - u64::from(first.bytes))
        })
    }

    #[inline]
    fn occupancy(&self, local: u32) -> Occupancy {
        Occupancy {
            held: if self.by_bytes { self.bytes_held } else { self.held },
            vc_held: self.by_vc.as_ref().map_or(0, |by_vc| by_vc.of(local)),
            active_vcs: self.by_vc.as_ref().map_or(0, |by_vc| by_vc.active),
        }
    }

    /// Returns the rate of the link if it is constant.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Takes the departure time of the latest packet, if it is lost on the wire.
    pub fn take_left(&mut self) -> Option<Time> {
        self.left.take()
    }

    /// Takes the time at which an outage drops the latest packet from a router's queue, if it does.
    pub fn take_dropped(&mut self) -> Option<Time> {
        self.dropped.take().filter(|_| !self.host)
    }

    /// Returns the time and cause of the latest packet's loss, if it was lost.
    pub fn take_loss(&mut self) -> Option<(Time, DropCause)> {
        self.loss_of_last.take()
    }

    /// Returns the number of packets held at `now`.
    pub fn held(&mut self, now: Time) -> u64 {
        self.settle(now);
        self.held
    }

    /// Processes departures up to `now` at a port whose policy does not need the occupancy of each circuit.
    #[inline(always)]
    fn settle_leaving(&mut self, now: Time) {
        let (mut packets, mut bytes) = (0, 0);
        self.leaving.pop_while(|first| {
            let leaves = first.until <= now;
            if leaves {
                packets += 1;
                bytes += u64::from(first.bytes);
            }
            leaves
        });
        self.held -= packets;
        self.bytes_held -= bytes;
        self.report.packets_out += packets;
        self.report.bytes_out += bytes;
    }

    /// Processes departures, drops and losses up to `now`.
    #[inline]
    fn settle(&mut self, now: Time) {
        while let Some(first) = self.leaving.first().copied().filter(|first| first.until <= now) {
            self.leaving.pop();
            self.release(first);
            self.report.packets_out += 1;
            self.report.bytes_out += u64::from(first.bytes);
        }
        while let Some(first) = self.doomed.first().copied().filter(|first| first.until <= now) {
            self.doomed.pop();
            self.release(first);
            self.counted.lost_outage += 1;
            self.report.bytes_lost += u64::from(first.bytes);
        }
        self.on_wire.settle(now, &mut self.counted);
    }

    #[inline]
    fn release(&mut self, packet: HeldPacket) {
        self.held -= 1;
        self.bytes_held -= u64::from(packet.bytes);
        if let Some(by_vc) = &mut self.by_vc {
            by_vc.remove(packet.local, packet.bytes);
        }
    }

    /// Returns the packets and bytes at the port or on the wire at `now` that will never arrive.
    pub fn lost_later(&mut self, now: Time) -> (u64, u64) {
        self.settle(now);
        let add = |(packets, sum), held: &HeldPacket| (packets + 1, sum + u64::from(held.bytes));
        self.doomed.iter().fold(self.on_wire.later(), add)
    }

    /// Returns the counters at `now`, the end of the run. A host's packets count as held until they arrive; `in_flight`
    /// counts the packets and bytes on the wire.
    pub(crate) fn report(&mut self, now: Time, in_flight: (u64, u64)) -> PacketReport {
        self.settle(now);
        let mut report = self.report;
        (report.packets_held, report.bytes_held) = (self.held, self.bytes_held);
        if self.host {
            report.hold_on_wire((in_flight.0 - self.held, in_flight.1 - self.bytes_held));
        } else {
            let leaving = self.leaving.iter().chain(self.doomed.iter());
            let after: u128 = leaving.map(|held| u128::from((held.until - now).0)).sum();
            report.mean_packets = Some((self.packet_time - after) as f64 / now.0 as f64);
        }
        let counted = wire_losses::complete(&mut report, self.counted, &mut self.motion, now);
        report.motion = self.varies.then_some(counted);
        report
    }

    /// Returns whether the packets and bytes held, X_i of every circuit, and N_a are consistent.
    pub fn accounts_agree(&self) -> bool {
        let all = || self.leaving.iter().chain(self.doomed.iter());
        let bytes: u64 = all().map(|held| u64::from(held.bytes)).sum();
        let agrees = |by_vc: &VcOccupancies| by_vc.agree(all().map(|held| (held.local, held.bytes)));
        (all().count() as u64, bytes) == (self.held, self.bytes_held) && self.by_vc.as_ref().is_none_or(agrees)
    }
}

#[cfg(test)]
mod tests;
