//! A port whose queue discipline decides at dequeue, event by event: a packet goes on when it has left.

use super::port::Moves;
use crate::ip::port::egress_queue::{EgressQueue, QueuedPacket};
use crate::ip::port::line::share_used;
use crate::ip::report::PacketReport;
use crate::motion::Service;
use crate::observe::probe::Probe;
use crate::observe::watch;
use crate::packets::{Link, Options, Packet};
use longpipe_events::{Time, PS_PER_SECOND};

/// What the transmitter does.
#[derive(Clone, Debug)]
enum State {
    Idle,
    /// It will begin a packet at this instant.
    Ready(Time),
    /// The shaper holds a packet until this instant.
    Shaped(Time, QueuedPacket),
    /// It transmits a packet.
    Transmitting(QueuedPacket, Service),
}

/// The port. Where the transmitter varies over time, the caller passes it as `moves`.
#[derive(Clone, Debug)]
pub(super) struct DiscPort {
    queue: EgressQueue,
    state: State,
    /// When a transmitter of constant rate becomes free: whole picoseconds and the rest [1/rate ps].
    free: (u64, u64),
}

impl DiscPort {
    /// An idle port.
    pub fn new(queue: EgressQueue) -> DiscPort {
        DiscPort {
            queue,
            state: State::Idle,
            free: (0, 0),
        }
    }

    /// Packets held, the packet in transmission included.
    pub fn held(&self) -> u64 {
        self.queue.held().0
    }

    /// Its queue.
    pub fn queue(&mut self) -> &mut EgressQueue {
        &mut self.queue
    }

    /// A packet arrives. Returns when the transmitter acts next, if this arrival decides it.
    pub fn arrive(
        &mut self,
        mut moves: Option<&mut Moves>,
        now: Time,
        packet: Packet,
        options: &Options,
    ) -> Option<Time> {
        if moves.as_mut().is_some_and(|moves| moves.motion.refuses(now)) {
            self.queue.refuse(now, &packet);
            return None;
        }
        self.queue.admit(now, packet, options);
        match self.state {
            State::Idle => self.prepare(moves, now, now),
            State::Ready(_) | State::Shaped(..) | State::Transmitting(..) => None,
        }
    }

    /// An event of the transmitter. Returns the packet that has left, if one has, and when the transmitter acts next; `None` if the
    /// event is obsolete.
    pub fn on_transmitter(
        &mut self,
        mut moves: Option<&mut Moves>,
        now: Time,
    ) -> Option<(Option<QueuedPacket>, Option<Time>)> {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Ready(at) if at == now => Some((None, self.begin(moves, now))),
            State::Shaped(at, packet) if at == now => {
                let begins = moves.as_mut().map_or(now, |moves| moves.motion.ready(now));
                if begins > now {
                    self.state = State::Shaped(begins, packet);
                    return Some((None, Some(begins)));
                }
                Some((None, Some(self.transmit(moves, now, packet))))
            }
            State::Transmitting(packet, service) if service.ends == now => {
                if let Some(moves) = &mut moves {
                    moves.left = service;
                }
                self.queue.finish(now);
                let next = self.prepare(moves, Time::ZERO, now);
                Some((Some(packet), next))
            }
            other => {
                self.state = other;
                None
            }
        }
    }

    /// An outage begins that may drop packets. Returns when the transmitter acts next, if the outage decides it.
    pub fn on_outage(&mut self, moves: &mut Moves, now: Time) -> Option<Time> {
        let (waiting, in_service) = moves.motion.drops()?;
        let mut interrupted = false;
        if let State::Transmitting(packet, _) = &self.state {
            if in_service {
                interrupted = true;
                self.queue.drop_in_service(now, &packet.packet);
                moves.motion.stop(now);
                self.state = State::Idle;
            }
        }
        if waiting {
            if let State::Shaped(_, held) = &self.state {
                self.queue.drop_in_service(now, &held.packet);
            }
            self.queue.purge(now);
            if let State::Ready(_) | State::Shaped(..) = self.state {
                self.state = State::Idle;
            }
        }
        match interrupted {
            true => self.prepare(Some(moves), Time::ZERO, now),
            false => None,
        }
    }

    /// The transmitter is free: it begins a packet as soon as it can, if one waits that came at `came`.
    fn prepare(&mut self, mut moves: Option<&mut Moves>, came: Time, now: Time) -> Option<Time> {
        if self.queue.backlog().0 == 0 {
            // The discipline learns that the transmitter found nothing.
            return self.begin(moves, now);
        }
        let begins = match &mut moves {
            Some(moves) => moves.motion.ready(came),
            None => now,
        };
        if begins > now {
            self.state = State::Ready(begins);
            return Some(begins);
        }
        if came == now && !self.queue.is_host() && !self.queue.has_conditioners() {
            // A router's port of constant rate begins afresh: what the last departure was rounded by is dropped.
            self.free = (now.0, 0);
        }
        self.begin(moves, now)
    }

    fn begin(&mut self, moves: Option<&mut Moves>, now: Time) -> Option<Time> {
        let next = self.queue.begin_next(now)?;
        let released = self.queue.release(now, &next);
        if released > now {
            self.state = State::Shaped(released, next);
            return Some(released);
        }
        Some(self.transmit(moves, now, next))
    }

    fn transmit(&mut self, moves: Option<&mut Moves>, now: Time, packet: QueuedPacket) -> Time {
        let bytes = packet.packet.bytes();
        let service = match moves {
            Some(moves) => moves.motion.transmit(bytes),
            None => Service {
                begins: now,
                ends: self.send(now, bytes),
            },
        };
        self.state = State::Transmitting(packet, service);
        service.ends
    }

    /// A transmitter of constant rate sends a packet. Returns when it has.
    fn send(&mut self, now: Time, bytes: u16) -> Time {
        let (whole, part) = self.free.max((now.0, 0));
        let lasts = 8 * u128::from(bytes) * u128::from(PS_PER_SECOND) + u128::from(part);
        let rate = u128::from(self.queue.rate().0);
        self.free = (whole + (lasts / rate) as u64, (lasts % rate) as u64);
        Time(self.free.0)
    }

    /// The run is over: notifies a probe of the packet in transmission, whose departure is certain though its event never comes.
    pub fn watch_in_service<P: Probe>(&self, moves: Option<&Moves>, probe: &mut P, link: Link) {
        let State::Transmitting(queued, service) = &self.state else {
            return;
        };
        let interrupted = moves.and_then(|moves| moves.motion.clone().interrupted(*service));
        if interrupted.is_none() {
            let came = (!self.queue.is_host()).then_some(queued.arrival);
            watch::packet(probe, link, came, service.ends, queued.packet, queued.options());
        }
    }

    /// Counters as of `now`, the end of the run; a host's packets are its own until they arrive, those on the wire too.
    pub fn report(&mut self, moves: Option<&mut Moves>, now: Time, on_wire: (u64, u64)) -> PacketReport {
        let mut report = self.queue.report(now);
        if report.host {
            report.packets_held += on_wire.0;
            report.bytes_held += on_wire.1;
            report.packets_out -= on_wire.0;
            report.bytes_out -= on_wire.1;
            (report.peak_packets, report.peak_bytes, report.mean_packets) = (0, 0, None);
            report.utilization = share_used(self.queue.rate(), report.bytes_out, now);
        }
        if let Some(moves) = moves {
            moves.report.lost_outage = self.queue.lost_outage();
            moves.tell(&mut report, now);
        }
        report
    }
}
