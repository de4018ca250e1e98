//! The FIFO of a router's output port, limited in packets or bytes.
//!
//! Store and forward: a packet arrives with its last bit, and occupies the buffer until its last bit has left. In a
//! FIFO, this time is known on admission, so departures need no events: they are processed, in order, when the
//! occupancy is needed. Without a policy, the occupancy is needed only if it may exceed its previous maximum.

use crate::impairments::loss::Loss;
use crate::ip::port::arrival_rules::ArrivalRule;
use crate::ip::port::capacity::Capacity;
use crate::ip::port::line::{Line, Repeated};
use crate::packets::drops::DropCause;
use crate::policies::{Arrival, Verdict};
use crate::report::packets::PacketReport;
use crate::scenario::BufferConfig;
use longpipe_events::{Rate, Ring, Time};

/// A queued packet other than the latest.
#[derive(Clone, Copy, Debug, Default)]
struct QueuedEnd {
    /// Departure time of its last bit.
    departure: Time,
    /// Number of bytes admitted so far, including this packet.
    end: u64,
}

/// Counters of a router's FIFO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterCounters {
    /// Number of admitted packets.
    pub packets_admitted: u64,
    /// Bytes of the admitted packets.
    pub bytes_admitted: u64,
    /// Number of packets that left.
    pub packets_out: u64,
    /// Number of packets that found the buffer full.
    pub lost_overflow: u64,
    /// Number of packets that the policy dropped.
    pub lost_aqm: u64,
    /// Number of packets dropped by injected loss.
    pub lost_injected: u64,
    /// Number of packets admitted with a mark.
    pub packets_marked: u64,
    /// Bytes lost from all causes.
    pub bytes_lost: u64,
    /// Maximum number of packets held at once.
    pub peak_packets: u64,
    /// Maximum number of bytes held at once.
    pub peak_bytes: u64,
    /// Total time [packet·ps] that packets spent from arrival to departure.
    pub packet_time: u128,
}

/// A FIFO in front of a line, with its limits and counters.
#[derive(Clone, Debug)]
pub struct Fifo {
    /// Rate of the link.
    pub rate: Rate,
    /// Packets that may still be queued, in order, except the latest.
    before: Ring<QueuedEnd>,
    /// Bytes of the packets known to have left.
    bytes_out: u64,
    counters: RouterCounters,
    capacity: Capacity,
    /// Cause of the latest loss.
    cause: DropCause,
}

impl Fifo {
    /// Creates an empty FIFO.
    pub fn new(rate: Rate, buffer: Option<BufferConfig>) -> Fifo {
        Fifo {
            rate,
            before: Ring::default(),
            bytes_out: 0,
            counters: RouterCounters::default(),
            capacity: Capacity::new(buffer),
            cause: DropCause::Overflow,
        }
    }

    /// Processes an arrival if capacity is the only rule and the line's `repeat` does not apply. Returns the departure
    /// time if the packet is admitted.
    #[inline(always)]
    pub fn queue(&mut self, line: &mut Line, now: Time, bytes: u16) -> Option<Time> {
        if line.has_repeated() {
            self.count_repeated(line);
            if line.free() < now {
                return self.queue_alone(line, now, bytes);
            }
        }
        self.queue_behind(line, now, bytes)
    }

    /// Shortcut of `queue` for a packet that finds the port empty and idle.
    #[inline(never)]
    fn queue_alone(&mut self, line: &mut Line, now: Time, bytes: u16) -> Option<Time> {
        let (size, counters) = (u64::from(bytes), &mut self.counters);
        if !self.capacity.has_room((0, 0), size) {
            return self.queue_behind(line, now, bytes);
        }
        debug_assert!(self.before.is_empty(), "all earlier packets have left");
        self.bytes_out = counters.bytes_admitted;
        counters.peak_packets = counters.peak_packets.max(1);
        counters.peak_bytes = counters.peak_bytes.max(size);
        Some(transmit(counters, line, now, (bytes, self.rate)))
    }

    /// Part of `queue` for a packet that may find others at the port.
    #[inline(always)]
    fn queue_behind(&mut self, line: &mut Line, now: Time, bytes: u16) -> Option<Time> {
        let size = u64::from(bytes);
        let (held, bytes_held) = self.at_most();
        let counters = &mut self.counters;
        if held >= counters.peak_packets || bytes_held + size > counters.peak_bytes {
            self.settle(line, now);
            let (held, bytes_held) = self.held(line, now);
            let counters = &mut self.counters;
            if !self.capacity.has_room((held, bytes_held), size) {
                counters.lost_overflow += 1;
                counters.bytes_lost += size;
                self.cause = DropCause::Overflow;
                return None;
            }
            counters.peak_packets = counters.peak_packets.max(held + 1);
            counters.peak_bytes = counters.peak_bytes.max(bytes_held + size);
            line.check_backlog(now);
        }
        Some(enter(
            (&mut self.before, &mut self.counters),
            line,
            now,
            (bytes, self.rate),
        ))
    }

    /// Processes a packet that arrives at `now`, under one rule in addition to injected losses and the capacity;
    /// `capable` packets may be marked. Returns the departure time if the packet is admitted unmarked; that of a marked
    /// packet is stored in `marked`.
    #[inline(always)]
    pub(super) fn queue_by(
        &mut self,
        line: &mut Line,
        (now, bytes, capable): (Time, u16, bool),
        (loss, marked): (&mut Option<Box<Loss>>, &mut Option<Time>),
        rule: &mut impl ArrivalRule,
    ) -> Option<Time> {
        if line.may_repeat_but_for_length(now) {
            let departure = self.queue_uncontrolled(line, now, bytes);
            if departure.is_none() {
                rule.overflow(now);
            }
            return departure;
        }
        let in_service = self.settle_often(line, now);
        line.allow_repeat(false);
        let counters = &mut self.counters;
        let mut arrival = Arrival {
            now,
            bytes: u64::from(bytes),
            capable,
            ..Arrival::default()
        };
        let mut held = (0, 0);
        if line.free() > now {
            arrival.packets_waiting = self.before.len();
            arrival.bytes_waiting = counters.bytes_admitted - in_service;
            held = (arrival.packets_waiting + 1, counters.bytes_admitted - self.bytes_out);
        } else {
            arrival.idle_since = Some(line.free());
        }
        if loss.as_mut().is_some_and(|loss| loss.loses(now)) {
            counters.lost_injected += 1;
            counters.bytes_lost += arrival.bytes;
            self.cause = DropCause::InjectedLoss;
            return None;
        }
        let verdict = rule.decide(&arrival, held);
        if verdict == Verdict::Refuse {
            counters.lost_aqm += 1;
            counters.bytes_lost += arrival.bytes;
            self.cause = DropCause::Aqm;
            return None;
        }
        let begins = line.free().max(now);
        if !self.capacity.has_room(held, arrival.bytes) {
            counters.lost_overflow += 1;
            counters.bytes_lost += arrival.bytes;
            self.cause = DropCause::Overflow;
            rule.overflow(now);
            return None;
        }
        if held.0 >= counters.peak_packets || held.1 + arrival.bytes > counters.peak_bytes {
            counters.peak_packets = counters.peak_packets.max(held.0 + 1);
            counters.peak_bytes = counters.peak_bytes.max(held.1 + arrival.bytes);
            line.check_backlog(now);
        }
        let departure = enter((&mut self.before, counters), line, now, (bytes, self.rate));
        rule.admit(&arrival, begins, departure);
        if begins == now {
            line.allow_repeat(loss.is_none() && rule.ignores_idle_arrivals());
        }
        if verdict == Verdict::Mark {
            counters.packets_marked += 1;
            *marked = Some(departure);
            return None;
        }
        Some(departure)
    }

    /// Shortcut of `queue_by` for a packet of another length than the latest one, at an idle port whose rules permit
    /// `repeat`: it is admitted without further checks.
    #[inline(never)]
    fn queue_uncontrolled(&mut self, line: &mut Line, now: Time, bytes: u16) -> Option<Time> {
        let departure = self.queue(line, now, bytes);
        line.allow_repeat(departure.is_some());
        departure
    }

    /// Returns the cause of the latest loss.
    pub fn cause_of_loss(&self) -> DropCause {
        self.cause
    }

    /// Returns upper bounds on the numbers of packets and bytes held.
    #[inline(always)]
    fn at_most(&self) -> (u64, u64) {
        (self.before.len() + 1, self.counters.bytes_admitted - self.bytes_out)
    }

    /// Processes all departures up to `now`, except the departure of the last packet. Departures precede simultaneous
    /// arrivals.
    #[inline(never)]
    pub fn settle(&mut self, line: &mut Line, now: Time) {
        if line.has_repeated() {
            self.count_repeated(line);
        }
        if let Some(left) = self.before.pop_while(|packet| packet.departure <= now) {
            self.bytes_out = left.end;
        }
    }

    /// Like `settle`, but for callers that call it for each packet, so that usually at most one packet has left. Returns
    /// the number of bytes admitted up to and including the packet in transmission.
    #[inline(always)]
    fn settle_often(&mut self, line: &mut Line, now: Time) -> u64 {
        if line.has_repeated() {
            self.count_repeated(line);
        }
        while let Some(packet) = self.before.first() {
            if packet.departure > now {
                return packet.end;
            }
            self.bytes_out = packet.end;
            self.before.pop();
        }
        self.counters.bytes_admitted
    }

    /// Returns the packets and bytes held at `now`; `settle` must have been called.
    #[inline(always)]
    pub fn held(&self, line: &Line, now: Time) -> (u64, u64) {
        if line.free() > now {
            self.at_most()
        } else {
            (0, 0)
        }
    }

    /// Counts the packets that the line transmitted with `repeat`; all earlier packets have left.
    #[inline(never)]
    fn count_repeated(&mut self, line: &mut Line) {
        let Repeated {
            packets,
            bytes,
            duration,
        } = line.take_repeated();
        let counters = &mut self.counters;
        counters.packets_admitted += packets;
        counters.bytes_admitted += packets * bytes;
        counters.packet_time += u128::from(packets) * u128::from(duration);
        self.bytes_out = counters.bytes_admitted - bytes;
        self.before.clear();
    }

    /// Returns the report of the port at `now`.
    pub(crate) fn report(&mut self, line: &mut Line, now: Time) -> PacketReport {
        let counters = self.counters_at(line, now);
        let (packets_held, bytes_held) = self.held(line, now);
        let bytes_out = counters.bytes_admitted - bytes_held;
        PacketReport {
            packets_in: counters.packets_admitted + counters.lost_overflow + counters.lost_aqm + counters.lost_injected,
            packets_out: counters.packets_out,
            lost_overflow: counters.lost_overflow,
            lost_aqm: counters.lost_aqm,
            lost_injected: counters.lost_injected,
            packets_marked: counters.packets_marked,
            packets_held,
            bytes_in: counters.bytes_admitted + counters.bytes_lost,
            bytes_out,
            bytes_lost: counters.bytes_lost,
            bytes_held,
            peak_packets: counters.peak_packets,
            peak_bytes: counters.peak_bytes,
            mean_packets: Some(counters.packet_time as f64 / now.0 as f64),
            utilization: self.rate.share_used(bytes_out, now),
            ..PacketReport::default()
        }
    }

    /// Returns the counters at `now`, the end of the run. They include the time that the queued packets have waited up
    /// to `now`.
    pub fn counters_at(&mut self, line: &mut Line, now: Time) -> RouterCounters {
        self.settle(line, now);
        let mut counters = self.counters;
        counters.packets_out = counters.packets_admitted - self.held(line, now).0;
        for departure in self.departures(line, now) {
            counters.packet_time -= u128::from((departure - now).0);
        }
        counters
    }

    /// Returns the departure times of the packets held at `now`.
    fn departures(&self, line: &Line, now: Time) -> impl Iterator<Item = Time> + '_ {
        let last = line.free();
        let before = self.before.iter().map(|packet| packet.departure);
        before.chain([last]).filter(move |&departure| departure > now)
    }

    /// Returns whether the packets held at `now` are in order and within all limits.
    pub fn accounts_agree(&mut self, line: &mut Line, now: Time) -> bool {
        self.settle(line, now);
        let (held, bytes_held) = self.held(line, now);
        let counters = &self.counters;
        let within = held <= counters.peak_packets
            && bytes_held <= counters.peak_bytes
            && counters.peak_packets <= self.capacity.packets
            && counters.peak_bytes <= self.capacity.bytes;
        let ends: Vec<u64> = self.before.iter().map(|packet| packet.end).collect();
        let ordered = ends.iter().all(|&end| end > self.bytes_out)
            && ends.windows(2).all(|pair| pair[0] < pair[1])
            && self.departures(line, now).is_sorted();
        within && ordered && self.departures(line, now).count() as u64 == held
    }
}

/// Admits a packet. Returns its departure time.
#[inline(always)]
fn enter(
    (before, counters): (&mut Ring<QueuedEnd>, &mut RouterCounters),
    line: &mut Line,
    now: Time,
    (bytes, rate): (u16, Rate),
) -> Time {
    if counters.bytes_admitted > 0 {
        before.push(QueuedEnd {
            departure: line.free(),
            end: counters.bytes_admitted,
        });
    }
    transmit(counters, line, now, (bytes, rate))
}

/// Transmits a packet after all earlier ones, and counts it. Returns its departure time.
#[inline(always)]
fn transmit(counters: &mut RouterCounters, line: &mut Line, now: Time, (bytes, rate): (u16, Rate)) -> Time {
    let departure = line.send(now, bytes, rate);
    counters.packets_admitted += 1;
    counters.bytes_admitted += u64::from(bytes);
    counters.packet_time += u128::from((departure - now).0);
    departure
}
