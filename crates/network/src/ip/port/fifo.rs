//! A router's output port: a FIFO counted in packets or bytes, a buffer policy, a line.
//!
//! Store and forward: a packet arrives with its last bit and keeps its room until its last bit has left. A FIFO fixes
//! that instant when the packet is admitted, so departures need no events: they are settled, in order, when what the
//! port holds has to be known. Where nothing but room is asked for, that is only where there may be more in it than
//! ever before.

use crate::drops::DropCause;
use crate::impairments::loss::Loss;
use crate::ip::port::accounts::Rules;
use crate::ip::port::line::Line;
use crate::packets::ring::Ring;
use crate::policies::acting::Acting;
use crate::policies::{Arrival, Policy, Verdict};
use crate::scenario::{BufferConfig, BufferUnit};
use longpipe_events::{Rate, Time};

/// A packet that was admitted before the last one.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// When its last bit has left.
    departure: Time,
    /// Bytes admitted up to its last one.
    end: u64,
}

/// Counters of a router's port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterCounters {
    /// Packets that entered.
    pub packets_admitted: u64,
    /// Their bytes.
    pub bytes_admitted: u64,
    /// Packets that left.
    pub packets_out: u64,
    /// Packets that found too little room.
    pub lost_overflow: u64,
    /// Packets that the policy refused.
    pub lost_refused: u64,
    /// Packets lost by force.
    pub lost_forced: u64,
    /// Packets that entered marked.
    pub packets_marked: u64,
    /// Bytes lost, in any way.
    pub bytes_lost: u64,
    /// Most packets ever held.
    pub peak_packets: u64,
    /// Most bytes ever held.
    pub peak_bytes: u64,
    /// Time spent by packets from arrival to departure [packet·ps].
    pub packet_time: u128,
}

/// The output port of a router.
#[derive(Clone, Debug)]
pub struct Router {
    /// Of its line.
    pub rate: Rate,
    /// What it asks besides room.
    rules: Option<Box<Rules>>,
    /// Whether that is who holds what.
    by_vc: bool,
    /// Packets not known to have left, in order, but for the last one.
    before: Ring<Held>,
    /// Bytes of the packets known to have left.
    bytes_out: u64,
    counters: RouterCounters,
    /// Most packets held.
    most_packets: u64,
    /// Most bytes held.
    most_bytes: u64,
    /// Why the latest packet was lost that was.
    cause: DropCause,
}

impl Router {
    /// An empty port for `vcs` circuits.
    pub fn new(
        rate: Rate,
        buffer: Option<BufferConfig>,
        (policy, acting): (Policy, Option<Box<Acting>>),
        loss: Option<Box<Loss>>,
        vcs: usize,
    ) -> Router {
        let most = |unit| match buffer {
            Some(buffer) if buffer.unit == unit => buffer.limit,
            _ => u64::MAX,
        };
        let by_bytes = buffer.is_some_and(|buffer| buffer.unit == BufferUnit::Bytes);
        let plain = matches!(policy, Policy::TailDrop) && acting.is_none() && loss.is_none();
        Router {
            rate,
            by_vc: policy.asks_for_vcs(),
            rules: (!plain).then(|| Box::new(Rules::new(loss, (policy, acting), by_bytes, vcs))),
            before: Ring::default(),
            bytes_out: 0,
            counters: RouterCounters::default(),
            most_packets: most(BufferUnit::Packets),
            most_bytes: most(BufferUnit::Bytes),
            cause: DropCause::Overflow,
        }
    }

    /// Whether the numbers of circuits here are asked for.
    #[inline(always)]
    pub fn asks_for_vcs(&self) -> bool {
        self.by_vc
    }

    /// Whether nothing but room is asked for.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.rules.is_none()
    }

    /// A packet arrives that the line may not repeat, where nothing but room is asked for; if it enters, when it leaves.
    #[inline(always)]
    pub fn queue(&mut self, line: &mut Line, now: Time, bytes: u16) -> Option<Time> {
        if line.has_repeated() {
            self.count_repeated(line);
        }
        let size = u64::from(bytes);
        let (held, bytes_held) = self.at_most();
        let counters = &mut self.counters;
        if held >= counters.peak_packets || bytes_held + size > counters.peak_bytes {
            self.settle(line, now);
            let (held, bytes_held) = self.held(line, now);
            let counters = &mut self.counters;
            if held >= self.most_packets || bytes_held + size > self.most_bytes {
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

    /// The same of a packet of the port's circuit `local`, where a rule may refuse or mark it if it is `capable`; of a marked one
    /// `take_marked` tells.
    #[inline(never)]
    pub fn queue_by_rules(
        &mut self,
        line: &mut Line,
        now: Time,
        bytes: u16,
        (local, capable): (u32, bool),
    ) -> Option<Time> {
        let in_service = self.settle_now(line, now);
        line.let_repeat(false);
        let (rules, counters) = (self.rules.as_mut()?, &mut self.counters);
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
        let verdict = if rules.loses(now) {
            counters.lost_forced += 1;
            counters.bytes_lost += arrival.bytes;
            self.cause = DropCause::InjectedLoss;
            return None;
        } else {
            rules.judge(&arrival, held, local)
        };
        if verdict == Verdict::Refuse {
            counters.lost_refused += 1;
            counters.bytes_lost += arrival.bytes;
            self.cause = DropCause::Aqm;
            return None;
        }
        let begins = line.free().max(now);
        let room = held.0 < self.most_packets && held.1 + arrival.bytes <= self.most_bytes;
        if !room {
            counters.lost_overflow += 1;
            counters.bytes_lost += arrival.bytes;
            self.cause = DropCause::Overflow;
            rules.overflow(now);
            return None;
        }
        if held.0 >= counters.peak_packets || held.1 + arrival.bytes > counters.peak_bytes {
            counters.peak_packets = counters.peak_packets.max(held.0 + 1);
            counters.peak_bytes = counters.peak_bytes.max(held.1 + arrival.bytes);
            line.check_backlog(now);
        }
        counters.packets_marked += u64::from(verdict == Verdict::Mark);
        let departure = enter((&mut self.before, counters), line, now, (bytes, self.rate));
        let left = rules.admit(&arrival, begins, departure, local, verdict);
        if begins == now {
            line.let_repeat(rules.is_calm());
        }
        left
    }

    /// Why the latest packet was lost that was.
    pub fn cause_of_loss(&self) -> DropCause {
        self.cause
    }

    /// When the packet leaves that was admitted and marked, if one just was.
    pub fn take_marked(&mut self) -> Option<Time> {
        self.rules.as_mut()?.take_marked()
    }

    /// Packets and bytes held, or more.
    #[inline(always)]
    fn at_most(&self) -> (u64, u64) {
        (self.before.len() + 1, self.counters.bytes_admitted - self.bytes_out)
    }

    /// Settles every departure up to `now`, which precedes whatever arrives at `now`, but for the last packet's.
    #[inline(never)]
    pub fn settle(&mut self, line: &mut Line, now: Time) {
        self.settle_now(line, now);
    }

    /// The same where it is done for each packet; bytes admitted up to the packet in service, if there is one.
    #[inline(always)]
    fn settle_now(&mut self, line: &mut Line, now: Time) -> u64 {
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

    /// Packets and bytes held at `now`, up to which the port is settled.
    #[inline(always)]
    pub fn held(&self, line: &Line, now: Time) -> (u64, u64) {
        if line.free() > now {
            self.at_most()
        } else {
            (0, 0)
        }
    }

    /// Takes the packets that the line repeated into the counters; all before the last one have left.
    #[inline(never)]
    fn count_repeated(&mut self, line: &mut Line) {
        let (packets, bytes, duration) = line.take_repeated();
        let counters = &mut self.counters;
        counters.packets_admitted += packets;
        counters.bytes_admitted += packets * bytes;
        counters.packet_time += u128::from(packets) * u128::from(duration);
        self.bytes_out = counters.bytes_admitted - bytes;
        self.before.clear();
    }

    /// Counters as of `now`, the end of the run; packets still held count their waiting until now.
    pub fn counters_at(&mut self, line: &mut Line, now: Time) -> RouterCounters {
        self.settle(line, now);
        let mut counters = self.counters;
        counters.packets_out = counters.packets_admitted - self.held(line, now).0;
        for departure in self.departures(line, now) {
            counters.packet_time -= u128::from((departure - now).0);
        }
        counters
    }

    /// When the packets held at `now` leave.
    fn departures(&self, line: &Line, now: Time) -> impl Iterator<Item = Time> + '_ {
        let last = line.free();
        let before = self.before.iter().map(|packet| packet.departure);
        before.chain([last]).filter(move |&departure| departure > now)
    }

    /// Whether the packets held at `now` are in order and within all limits, and X, X_i and N_a what they come to.
    pub fn accounts_agree(&mut self, line: &mut Line, now: Time) -> bool {
        self.settle(line, now);
        let (held, bytes_held) = self.held(line, now);
        let counters = &self.counters;
        let within = held <= counters.peak_packets
            && bytes_held <= counters.peak_bytes
            && counters.peak_packets <= self.most_packets
            && counters.peak_bytes <= self.most_bytes;
        let ends: Vec<u64> = self.before.iter().map(|packet| packet.end).collect();
        let ordered = ends.iter().all(|&end| end > self.bytes_out)
            && ends.windows(2).all(|pair| pair[0] < pair[1])
            && self.departures(line, now).is_sorted();
        let by_rules = self
            .rules
            .as_mut()
            .is_none_or(|rules| rules.agree(now, held, bytes_held));
        within && ordered && self.departures(line, now).count() as u64 == held && by_rules
    }
}

/// A packet enters; when it leaves.
#[inline(always)]
fn enter(
    (before, counters): (&mut Ring<Held>, &mut RouterCounters),
    line: &mut Line,
    now: Time,
    (bytes, rate): (u16, Rate),
) -> Time {
    let size = u64::from(bytes);
    if counters.bytes_admitted > 0 {
        before.push(Held {
            departure: line.free(),
            end: counters.bytes_admitted,
        });
    }
    let departure = line.send(now, bytes, rate);
    counters.packets_admitted += 1;
    counters.bytes_admitted += size;
    counters.packet_time += u128::from((departure - now).0);
    departure
}
