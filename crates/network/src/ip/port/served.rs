//! An output port that decides when packets leave: a queueing discipline, and a line that asks it for the next packet when it has
//! sent one, each with an event.

use super::discipline::Discipline;
use crate::impairments::loss::Loss;
use crate::ip::port::line::share_used;
use crate::ip::report::PacketReport;
use crate::observe::probe::Probe;
use crate::observe::watch;
use crate::packets::{Options, Packet};
use crate::queues::Queued;
use crate::scenario::{BufferUnit, LinkConfig, Scenario};
use longpipe_events::{Rate, Stream, Time, PS_PER_SECOND};

/// A packet at the port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// When it came.
    pub arrival: Time,
    pub packet: Packet,
    pub options: Options,
    /// Whether it was marked here.
    marked: bool,
    /// Whether its flow's packets say ECT(1).
    scalable: bool,
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
    rate: u64,
    discipline: Discipline,
    loss: Option<Box<Loss>>,
    most_packets: u64,
    most_bytes: u64,
    /// The packet that the line sends.
    in_service: Option<Held>,
    /// When it has left: whole picoseconds and the rest [1/rate ps].
    free: (u64, u64),
    report: PacketReport,
    /// Packets held, summed over time until the last change [packet·ps].
    packet_time: u128,
    changed: Time,
}

impl Served {
    /// An empty port at the beginning of a link, if its policy serves.
    pub fn new(scenario: &Scenario, link: &LinkConfig, seed: u64, index: u64) -> Option<Box<Served>> {
        let discipline = Discipline::new(scenario, &link.policy, Stream::new(seed, "policy", index))?;
        let most = |unit| {
            link.buffer
                .filter(|buffer| buffer.unit == unit)
                .map_or(u64::MAX, |buffer| buffer.limit)
        };
        Some(Box::new(Served {
            rate: link.rate_bps,
            discipline,
            loss: Loss::new(&link.loss, seed, index),
            most_packets: most(BufferUnit::Packets),
            most_bytes: most(BufferUnit::Bytes),
            in_service: None,
            free: (0, 0),
            report: PacketReport::default(),
            packet_time: 0,
            changed: Time::ZERO,
        }))
    }

    /// Of its line.
    pub fn rate(&self) -> Rate {
        Rate(self.rate)
    }

    /// Packets and bytes held, the one in service included.
    pub fn held(&self) -> (u64, u64) {
        let (packets, bytes) = self.discipline.held();
        let in_service = self.in_service.as_ref();
        (
            packets + u64::from(in_service.is_some()),
            bytes + in_service.map_or(0, Queued::bytes),
        )
    }

    /// A packet comes; when the line will have sent it, if it begins at once.
    pub fn arrive(&mut self, now: Time, packet: Packet, options: Options) -> Option<Time> {
        let bytes = u64::from(packet.bytes());
        self.count_time(now);
        self.report.packets_in += 1;
        self.report.bytes_in += bytes;
        if self.loss.as_mut().is_some_and(|loss| loss.loses(now)) {
            self.report.lost_forced += 1;
            self.report.bytes_lost += bytes;
            return None;
        }
        let held = Held {
            arrival: now,
            packet,
            options,
            marked: false,
            scalable: self.discipline.is_scalable(&packet),
        };
        self.enqueue(held);
        let (packets, bytes) = self.held();
        self.report.peak_packets = self.report.peak_packets.max(packets);
        self.report.peak_bytes = self.report.peak_bytes.max(bytes);
        if self.in_service.is_some() {
            return None;
        }
        self.free = (now.0, 0);
        self.serve(now)
    }

    /// A packet takes its place, for which others may have to go.
    fn enqueue(&mut self, held: Held) {
        let in_service = self.in_service.as_ref().map_or((0, 0), |one| (1, one.bytes()));
        let report = &mut self.report;
        self.discipline.sift(&held, |gone| {
            report.lost_refused += 1;
            report.bytes_lost += gone.bytes();
        });
        // Classes have the room of the port each.
        let (packets, bytes) = self.discipline.held_beside(&held);
        let full = packets + in_service.0 >= self.most_packets || bytes + in_service.1 + held.bytes() > self.most_bytes;
        let report = &mut self.report;
        self.discipline.enqueue(held, full, |lost| {
            report.lost_overflow += 1;
            report.bytes_lost += lost.bytes();
        });
    }

    /// The packet in service has left; it, and when the line will have sent the next one.
    pub fn depart(&mut self, now: Time) -> Option<(Held, Option<Time>)> {
        self.count_time(now);
        let left = self.in_service.take()?;
        self.report.packets_out += 1;
        self.report.bytes_out += left.bytes();
        Some((left, self.serve(now)))
    }

    /// The line asks for a packet; when it will have sent it.
    fn serve(&mut self, now: Time) -> Option<Time> {
        let report = &mut self.report;
        let lose = |lost: Held| {
            report.lost_refused += 1;
            report.bytes_lost += lost.bytes();
        };
        self.in_service = self.discipline.dequeue(now, lose);
        let next = self.in_service.as_ref()?;
        self.report.packets_marked += u64::from(next.marked);
        let (whole, part) = self.free;
        let lasts = 8 * u128::from(next.bytes()) * u128::from(PS_PER_SECOND) + u128::from(part);
        let rate = u128::from(self.rate);
        self.free = (whole + (lasts / rate) as u64, (lasts % rate) as u64);
        Some(Time(self.free.0))
    }

    /// The run is over: tells of the packet in service, whose departure is certain though its event never comes.
    pub fn watch_in_service<P: Probe>(&self, probe: &mut P, link: u32) {
        if let Some(held) = &self.in_service {
            let departure = Time(self.free.0);
            watch::packet(probe, link, Some(held.arrival), departure, held.packet, &held.options);
        }
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
