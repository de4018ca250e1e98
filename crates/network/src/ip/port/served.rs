//! An output port that decides when packets leave: a queueing discipline, and what a line that asks it for the next packet when it
//! has sent one leaves behind. The line is somebody else's.

use super::discipline::Discipline;
use crate::drops::{DropCause, Drops};
use crate::impairments::loss::Loss;
use crate::ip::port::line::share_used;
use crate::ip::report::PacketReport;
use crate::packets::NO_OPTIONS;
use crate::packets::{Options, Packet};
use crate::queues::Queued;
use crate::scenario::{BufferUnit, LinkConfig, Scenario};
use longpipe_events::{Rate, Stream, Time};

/// A packet at the port.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// When it came.
    pub arrival: Time,
    pub packet: Packet,
    /// If it has any.
    options: Option<Box<Options>>,
    /// Whether it was marked here.
    marked: bool,
    /// Whether its flow's packets say ECT(1).
    scalable: bool,
}

impl Held {
    /// What it has, which may be nothing.
    pub fn options(&self) -> &Options {
        self.options.as_deref().unwrap_or(&NO_OPTIONS)
    }

    /// Whether it was marked here.
    pub fn was_marked(&self) -> bool {
        self.marked
    }
}

impl Queued for Held {
    fn arrival(&self) -> Time {
        self.arrival
    }

    fn bytes(&self) -> u64 {
        u64::from(self.packet.bytes())
    }

    fn is_low_latency(&self) -> bool {
        self.packet.is_marked() || (self.scalable && self.packet.is_capable())
    }

    fn mark(&mut self) -> bool {
        let capable = self.packet.is_capable();
        if capable {
            (self.packet, self.marked) = (self.packet.marked(), true);
        }
        capable
    }
}

/// The port.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    rate: Rate,
    discipline: Discipline,
    loss: Option<Box<Loss>>,
    most_packets: u64,
    most_bytes: u64,
    /// Bytes of the packet that the line sends.
    in_service: Option<u64>,
    report: PacketReport,
    /// Packets held, summed over time until the last change [packet·ps].
    packet_time: u128,
    changed: Time,
    /// Packets lost here that the engine has yet to take.
    drops: Drops,
}

impl Served {
    /// An empty port at the beginning of a link, if its policy serves.
    pub fn new(scenario: &Scenario, link: &LinkConfig, seed: u64, index: u64) -> Option<Served> {
        let discipline = Discipline::new(scenario, &link.policy, Stream::new(seed, "policy", index))?;
        let most = |unit| {
            link.buffer
                .filter(|buffer| buffer.unit == unit)
                .map_or(u64::MAX, |buffer| buffer.limit)
        };
        Some(Served {
            rate: Rate(link.rate_bps),
            discipline,
            loss: Loss::new(&link.loss, seed, index),
            most_packets: most(BufferUnit::Packets),
            most_bytes: most(BufferUnit::Bytes),
            in_service: None,
            report: PacketReport::default(),
            packet_time: 0,
            changed: Time::ZERO,
            drops: Drops::default(),
        })
    }

    /// Packets lost here that the engine has yet to take.
    pub fn drops(&mut self) -> &mut Drops {
        &mut self.drops
    }

    /// Of its line.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Packets and bytes that wait.
    pub fn waiting(&self) -> (u64, u64) {
        self.discipline.held()
    }

    /// Packets and bytes held, the one in service included.
    pub fn held(&self) -> (u64, u64) {
        let (packets, bytes) = self.waiting();
        match self.in_service {
            Some(in_service) => (packets + 1, bytes + in_service),
            None => (packets, bytes),
        }
    }

    /// Whether a packet that finds none here leaves at once and unmarked, and nothing behind that would matter to a later one.
    pub fn forgets_when_idle(&self) -> bool {
        self.discipline.forgets_when_idle() && self.loss.is_none()
    }

    /// Whether the line sends a packet.
    pub fn is_busy(&self) -> bool {
        self.in_service.is_some()
    }

    /// A packet comes; the one that the line sends now, if it sent none.
    pub fn arrive(&mut self, now: Time, packet: Packet, options: &Options) -> Option<Held> {
        let bytes = u64::from(packet.bytes());
        self.count_time(now);
        self.report.packets_in += 1;
        self.report.bytes_in += bytes;
        if self.loss.as_mut().is_some_and(|loss| loss.loses(now)) {
            self.report.lost_forced += 1;
            self.report.bytes_lost += bytes;
            self.drops.note(now, &packet, DropCause::InjectedLoss);
            return None;
        }
        let held = Held {
            arrival: now,
            packet,
            options: packet.has_options().then(|| Box::new(*options)),
            marked: false,
            scalable: self.discipline.is_scalable(&packet),
        };
        let room = self.most_packets > 0 && bytes <= self.most_bytes;
        if room && self.passes(&held) {
            self.report.peak_packets = self.report.peak_packets.max(1);
            self.report.peak_bytes = self.report.peak_bytes.max(bytes);
            self.in_service = Some(bytes);
            return Some(held);
        }
        self.enqueue(held);
        let (packets, bytes) = self.held();
        self.report.peak_packets = self.report.peak_packets.max(packets);
        self.report.peak_bytes = self.report.peak_bytes.max(bytes);
        if self.in_service.is_some() {
            return None;
        }
        self.serve(now)
    }

    /// Whether nothing is here, so that the packet leaves at once, unmarked, whatever else comes; if so, it does.
    fn passes(&mut self, held: &Held) -> bool {
        if self.in_service.is_some() || self.waiting().0 > 0 {
            return false;
        }
        self.discipline.passes(held)
    }

    /// A packet takes its place, for which others may have to go.
    fn enqueue(&mut self, held: Held) {
        let now = held.arrival;
        let in_service = self.in_service.map_or((0, 0), |bytes| (1, bytes));
        let (report, drops) = (&mut self.report, &mut self.drops);
        self.discipline.sift(&held, |gone| {
            report.lost_refused += 1;
            report.bytes_lost += gone.bytes();
            drops.note(now, &gone.packet, DropCause::AckFilter);
        });
        // Classes have the room of the port each.
        let (packets, bytes) = self.discipline.held_beside(&held);
        let full = packets + in_service.0 >= self.most_packets || bytes + in_service.1 + held.bytes() > self.most_bytes;
        self.discipline.enqueue(held, full, |lost| {
            report.lost_overflow += 1;
            report.bytes_lost += lost.bytes();
            drops.note(now, &lost.packet, DropCause::Overflow);
        });
    }

    /// The packet in service has left; the one that the line sends next.
    pub fn depart(&mut self, now: Time) -> Option<Held> {
        self.count_time(now);
        let bytes = self.in_service.take()?;
        self.report.packets_out += 1;
        self.report.bytes_out += bytes;
        self.serve(now)
    }

    /// The line asks for a packet.
    fn serve(&mut self, now: Time) -> Option<Held> {
        let (report, drops) = (&mut self.report, &mut self.drops);
        let lose = |lost: Held| {
            report.lost_refused += 1;
            report.bytes_lost += lost.bytes();
            drops.note(now, &lost.packet, DropCause::Aqm);
        };
        let next = self.discipline.dequeue(now, lose)?;
        self.in_service = Some(next.bytes());
        self.report.packets_marked += u64::from(next.marked);
        Some(next)
    }

    /// So many packets, of so many bytes and so long each, came one by one where nothing was held; the last one at `now`, and has
    /// yet to leave.
    pub fn pass(&mut self, packets: u64, bytes: u64, lasted: u64, now: Time) {
        let before = packets - 1;
        self.report.packets_in += packets;
        self.report.bytes_in += packets * bytes;
        self.report.packets_out += before;
        self.report.bytes_out += before * bytes;
        self.packet_time += u128::from(before) * u128::from(lasted);
        (self.in_service, self.changed) = (Some(bytes), now);
    }

    fn count_time(&mut self, now: Time) {
        self.packet_time += u128::from(self.held().0) * u128::from((now - self.changed).0);
        self.changed = now;
    }

    /// What it counted, as of `now`, the end of the run.
    pub fn report(&mut self, now: Time) -> PacketReport {
        self.count_time(now);
        let (packets_held, bytes_held) = self.held();
        PacketReport {
            packets_held,
            bytes_held,
            mean_packets: Some(self.packet_time as f64 / now.0 as f64),
            utilization: share_used(self.rate(), self.report.bytes_out, now),
            ..self.report
        }
    }
}
