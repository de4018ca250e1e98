//! An egress queue in front of any transmitter: a rate over time with outages, delivery opportunities, or a constant rate.
//!
//! The transmitter's schedule depends on no packet, so what happens to a packet is certain when it begins to leave: packets go on then.
//! Only a backlog needs events. Rules where they could be read in several ways:
//!
//! 1. A packet is dequeued when the transmitter can begin it: when the previous packet has left, the outage has ended, or the next
//!    opportunity has come. At that instant it precedes arrivals.
//! 2. A rate of zero, other than an outage, does not delay the begin: one packet is in transmission until the rate rises.
//! 3. An outage that drops waiting packets purges the queue discipline at its begin. Controllers (CoDel's, PIE's) keep their state.
//! 4. An outage refuses an arrival before the link's loss model or the discipline sees it.

use super::constant_rate::Begun;
use super::egress_queue::EgressQueue;
use super::line::Line;
use crate::drops::DropCause;
use crate::ip::report::{MotionReport, PacketReport};
use crate::motion::{Motion, Passage};
use crate::packets::ring::Ring;
use crate::packets::{Options, Packet};
use longpipe_events::Time;

/// What the transmitter does.
#[derive(Clone, Debug)]
enum State {
    /// Nothing: no packet waits.
    Idle,
    /// It will begin a packet at this instant.
    Waiting(Time),
    /// It transmits a packet until this instant.
    Transmitting(Time),
    /// It transmits a packet that an outage drops at this instant.
    Interrupted(Time, Packet),
}

/// A packet that an outage will lose on the wire.
#[derive(Clone, Copy, Debug, Default)]
struct LostOnWire {
    at: Time,
    bytes: u64,
}

/// The port.
#[derive(Clone, Debug)]
pub(crate) struct VariableRatePort {
    queue: EgressQueue,
    transmitter: Motion,
    /// Whether rate, delay or outages vary over time, so that there is a report about it.
    varies: bool,
    state: State,
    /// When the next outage begins that drops waiting packets.
    next_purge: Option<Time>,
    /// Packets to be lost on the wire, in order.
    lost_on_wire: Ring<LostOnWire>,
    counted: MotionReport,
}

impl VariableRatePort {
    /// An idle port; `varies` if the link has a `motion`.
    pub fn new(queue: EgressQueue, mut transmitter: Motion, varies: bool) -> VariableRatePort {
        let next_purge = next_purge(&mut transmitter, None);
        VariableRatePort {
            queue,
            transmitter,
            varies,
            state: State::Idle,
            next_purge,
            lost_on_wire: Ring::default(),
            counted: MotionReport::default(),
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

    /// When the next action of the port is due, if that is by `now`.
    pub fn due(&self, now: Time) -> Option<Time> {
        self.next_action().filter(|&at| at <= now)
    }

    /// When the port next acts. At one instant, the transmitter precedes a purge.
    fn next_action(&self) -> Option<Time> {
        let of_transmitter = match self.state {
            State::Idle => None,
            State::Waiting(at) | State::Transmitting(at) | State::Interrupted(at, _) => Some(at),
        };
        [of_transmitter, self.next_purge].into_iter().flatten().min()
    }

    /// Does what is due at `now`. Returns the packet that begins to leave, if one does.
    pub fn act(&mut self, line: &mut Line, now: Time) -> Option<Begun> {
        match self.state {
            State::Waiting(at) if at == now => return self.begin(line, now),
            State::Transmitting(ends) if ends == now => {
                self.queue.finish(now);
                self.prepare(now);
            }
            State::Interrupted(at, packet) if at == now => {
                self.queue.drop_in_service(now, &packet);
                self.transmitter.stop(now);
                self.prepare(now);
            }
            _ => {
                self.queue.purge(now);
                self.next_purge = next_purge(&mut self.transmitter, Some(now));
                if let State::Waiting(_) = self.state {
                    self.state = State::Idle;
                }
            }
        }
        None
    }

    /// The transmitter is free at `now`: it begins the next packet as soon as it can.
    fn prepare(&mut self, now: Time) {
        self.state = State::Waiting(match self.queue.backlog().0 {
            // The discipline learns at once that the transmitter found nothing.
            0 => now,
            _ => self.transmitter.ready(Time::ZERO),
        });
    }

    /// A packet arrives at `now`, after all that was due. Returns it if it begins to leave at once.
    pub fn arrive(&mut self, line: &mut Line, now: Time, packet: Packet, options: &Options) -> Option<Begun> {
        if self.transmitter.refuses(now) {
            self.queue.refuse(now, &packet);
            return None;
        }
        self.queue.admit(now, packet, options);
        if !matches!(self.state, State::Idle) {
            return None;
        }
        // A dropped arrival leaves nothing to wait for.
        let begins = match self.queue.backlog().0 {
            0 => now,
            _ => self.transmitter.ready(now),
        };
        if begins > now {
            self.state = State::Waiting(begins);
            return None;
        }
        self.begin(line, now)
    }

    /// The transmitter, which `ready` has prepared, begins a packet.
    fn begin(&mut self, line: &mut Line, now: Time) -> Option<Begun> {
        self.state = State::Idle;
        let queued = self.queue.begin_next(now)?;
        let service = self.transmitter.transmit(queued.packet.bytes());
        if let Some(at) = self.transmitter.interrupted(service) {
            self.state = State::Interrupted(at, queued.packet);
            return None;
        }
        self.state = State::Transmitting(service.ends);
        let arrival = match self.transmitter.pass(now, service) {
            Passage::Arrives(arrival) => {
                line.set_delay(arrival - service.ends);
                Some(arrival)
            }
            Passage::Lost(at) => {
                let bytes = u64::from(queued.packet.bytes());
                self.queue.drops().note(at, &queued.packet, DropCause::Outage);
                self.lost_on_wire.push(LostOnWire { at, bytes });
                self.settle_wire(now);
                None
            }
        };
        Some(Begun {
            queued,
            departure: service.ends,
            arrival,
        })
    }

    /// When the port needs an event: when a packet that waits can begin, or any is dropped.
    pub fn next_event(&self) -> Option<Time> {
        let interrupted = matches!(self.state, State::Interrupted(..));
        self.next_action().filter(|_| interrupted || self.queue.backlog().0 > 0)
    }

    /// Counts the packets that were lost on the wire by `now`.
    fn settle_wire(&mut self, now: Time) {
        while let Some(&lost) = self.lost_on_wire.first().filter(|lost| lost.at <= now) {
            self.lost_on_wire.pop();
            self.counted.lost_on_wire += 1;
            self.counted.bytes_lost_on_wire += lost.bytes;
        }
    }

    /// Packets and bytes that the port holds and that have not begun, or will not arrive.
    pub fn not_on_wire(&self) -> (u64, u64) {
        let (packets, bytes) = self.queue.backlog();
        match self.state {
            State::Interrupted(_, packet) => (packets + 1, bytes + u64::from(packet.bytes())),
            State::Idle | State::Waiting(_) | State::Transmitting(_) => (packets, bytes),
        }
    }

    /// Packets and bytes in transmission or on the wire at `now` that outages will lose there.
    pub fn lost_later(&mut self, now: Time) -> (u64, u64) {
        self.settle_wire(now);
        let add = |(packets, bytes), lost: &LostOnWire| (packets + 1, bytes + lost.bytes);
        self.lost_on_wire.iter().fold((0, 0), add)
    }

    /// Settles what is due by `now`, the end of the run.
    pub fn settle(&mut self, line: &mut Line, now: Time) {
        while let Some(at) = self.due(now) {
            let begun = self.act(line, at);
            debug_assert!(begun.is_none(), "an event was due");
        }
    }

    /// Counters as of `now`, the end of the run, up to which the port is settled. `on_wire` are the packets and bytes that have begun and
    /// have not arrived; a host's packets are its own until they arrive.
    pub fn report(&mut self, now: Time, on_wire: (u64, u64)) -> PacketReport {
        let mut report = self.queue.report(now);
        report.packets_out -= self.counted.lost_on_wire;
        report.bytes_out -= self.counted.bytes_lost_on_wire;
        report.bytes_lost += self.counted.bytes_lost_on_wire;
        if report.host {
            let waiting = self.not_on_wire();
            let held = (waiting.0 + on_wire.0, waiting.1 + on_wire.1);
            report.packets_out -= held.0 - report.packets_held;
            report.bytes_out -= held.1 - report.bytes_held;
            (report.packets_held, report.bytes_held) = held;
            (report.peak_packets, report.peak_bytes, report.mean_packets) = (0, 0, None);
        }
        let used = (
            report.packets_out + self.counted.lost_on_wire,
            report.bytes_out + self.counted.bytes_lost_on_wire,
        );
        report.utilization = self.transmitter.share_used(used, now);
        self.counted.lost_outage = self.queue.lost_outage();
        self.counted.overtakings = self.transmitter.overtakings(now);
        self.counted.within_capacity = self.transmitter.can_have_sent(used, now);
        report.motion = self.varies.then_some(self.counted);
        report
    }
}

/// When the next outage begins that drops waiting packets, after `now`.
fn next_purge(transmitter: &mut Motion, now: Option<Time>) -> Option<Time> {
    let (waiting, _) = transmitter.drops()?;
    transmitter.next_drop(now).filter(|_| waiting)
}
