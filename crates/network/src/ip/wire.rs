//! A directed link of an IP path: an output port, its wire, and the end of the wire.

use crate::conditioners::jitter::LinkJitter;
use crate::impairments::bit_errors::BitErrors;
use crate::impairments::loss::Loss;
use crate::ip::port::cell::{Cells, Place};
use crate::ip::port::constant_rate::{ConstantRatePort, StartedTransmission};
use crate::ip::port::delayed::Delayed;
use crate::ip::port::egress_queue::{EgressQueue, QueuedPacket};
use crate::ip::port::interface::Interface;
use crate::ip::port::line::{End, Line, Repeats};
use crate::ip::port::router::Router;
use crate::ip::port::time_varying::TimeVaryingPort;
use crate::ip::port::variable_rate::VariableRatePort;
use crate::lookahead::queueless::queueless;
use crate::packets::drops::DropCause;
use crate::packets::queued_options::{OtherOptions, Queued};
use crate::packets::{Carried, Circuit, Link, OnWire, Options, Packet};
use crate::scenario::topology::Topology;
use crate::scenario::{LinkConfig, PolicyConfig, Scenario};
use crate::time_varying::TimeVaryingLink;
use longpipe_events::{Rate, Ring, Span, Time};

/// A directed link: an output port with its wire. The fields that most packets use fit into two cache lines, and a size
/// that is a power of two makes indexing fast.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Wire {
    /// Transmitter.
    pub line: Line,
    /// Lookahead of ACKs: an ACK that arrives within this time after its data packet left the trunk precedes the ACKs
    /// of later packets.
    pub ack_lookahead: Span,
    /// Queue of the port.
    pub(crate) port: Port,
    /// Check that is applied to packets at the end of the wire; None if all packets are delivered.
    pub(crate) verdict: Option<Box<DeliveryCheck>>,
    /// Packets that are waiting for their arrival events.
    pub(crate) waiting: Box<PendingArrivals>,
}

/// Packets on a wire that are waiting for their arrival events, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingArrivals {
    pub packets: Ring<Queued>,
    /// Options of the packets other than timestamps.
    options: OtherOptions,
    /// Time of the port's scheduled event, if there is one.
    pub port_event: Option<Time>,
}

/// Decides, at the end of a wire, whether a packet is delivered.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryCheck {
    pub errors: Option<Box<BitErrors>>,
    /// End of the wire.
    end: End,
    /// Whether packets continue on the route that is valid at their arrival.
    pub reroutes: bool,
    /// Numbers of packets and of bytes lost because no route continues from here.
    pub no_route: (u64, u64),
}

impl Wire {
    /// Returns how a packet that arrives uncorrupted is treated.
    #[inline(always)]
    pub fn end(&self) -> End {
        match (&self.verdict, self.line.end) {
            (Some(verdict), End::DecidedOnArrival) => verdict.end,
            (_, end) => end,
        }
    }

    /// Returns whether packets on the wire need arrival events because they may meet packets of other wires.
    pub fn is_shared(&self) -> bool {
        matches!(self.end(), End::Shared | End::Unordered)
    }

    /// Sends a packet that is ready at its host or arrives at the port. Returns the packet's arrival time downstream,
    /// or None if the packet is lost, held or marked. `circuit_and_ecn` returns the index of the packet's circuit at
    /// the port, if needed, and whether the packet can be marked.
    #[inline(always)]
    pub fn send(&mut self, ready: Time, bytes: u16, circuit_and_ecn: impl FnOnce(bool) -> (u32, bool)) -> Option<Time> {
        let departure = if self.line.may_repeat(ready, bytes) {
            self.line.repeat(ready)
        } else {
            match &mut self.port {
                Port::Interface(interface) => interface.queue(&mut self.line, ready, bytes)?,
                Port::Router(router) if router.is_only_tail_drop() => {
                    router.fifo.queue(&mut self.line, ready, bytes)?
                }
                Port::Router(router) => {
                    let circuit_and_ecn = circuit_and_ecn(router.needs_vc_occupancies());
                    router.queue_by_rules(&mut self.line, ready, bytes, circuit_and_ecn)?
                }
                // `Ip::enqueue` queues the packet.
                Port::ConstantRate(_) | Port::VariableRate(_) | Port::Access(_) => return None,
                Port::Delayed(delayed) => return delayed.send(&mut self.line, ready, bytes, circuit_and_ecn(true)),
                Port::TimeVarying(time_varying) => {
                    let (local, _) = circuit_and_ecn(time_varying.needs_vc_occupancies());
                    return time_varying.send(&mut self.line, ready, bytes, local);
                }
            }
        };
        Some(departure + self.line.delay())
    }

    /// Sends a packet for which `send` has just returned None, if it passes an idle port with a queue discipline without
    /// a call to the discipline. Returns the packet's arrival time downstream.
    #[inline(always)]
    pub fn pass_again(&mut self, now: Time, packet: Packet) -> Option<Time> {
        match &mut self.port {
            Port::ConstantRate(port) => port.pass_again(&mut self.line, now, packet),
            _ => None,
        }
    }

    /// Returns the departure time of the packet just sent if it is lost on the wire; used only in observed runs.
    #[inline(always)]
    pub fn take_left_if(&mut self, watched: bool) -> Option<Time> {
        match &mut self.port {
            Port::TimeVarying(time_varying) if watched => time_varying.take_left(),
            _ => None,
        }
    }

    /// Returns the number of packets that a router's port holds when another packet arrives.
    pub fn held(&mut self, now: Time) -> u64 {
        self.port.held(&mut self.line, now)
    }

    /// Returns the departure time of the packet just sent, which arrives at `arrival`.
    pub fn left(&self, arrival: Time) -> Time {
        match &self.port {
            Port::Delayed(delayed) => delayed.last_departure(),
            _ => arrival - self.line.delay(),
        }
    }

    /// Adds a packet that waits for its arrival event, with its `options` if it has any. Returns whether the packet is
    /// the first in the list.
    #[inline(always)]
    pub fn push(&mut self, next: OnWire, options: &Options) -> bool {
        self.line.earliest_event = Time::ZERO;
        self.waiting.push(next, options)
    }

    /// Takes the first waiting packet, and its options if it has any.
    #[inline(always)]
    pub fn pop(&mut self, options: &mut Options) -> Option<OnWire> {
        self.waiting.pop(options)
    }
}

impl PendingArrivals {
    #[inline(always)]
    fn push(&mut self, next: OnWire, options: &Options) -> bool {
        if self.packets.last().is_some_and(|last| last.next.arrival > next.arrival) {
            return self.overtake(next, options);
        }
        self.packets.push(Queued::new(next, options));
        self.options.push(&next.packet, options);
        self.packets.len() == 1
    }

    /// Inserts a packet that arrives before others already waiting.
    #[inline(never)]
    fn overtake(&mut self, next: OnWire, options: &Options) -> bool {
        let head = self.packets.head();
        let place = self.packets.push_before(Queued::new(next, options), head, |other| {
            other.next.arrival > next.arrival
        });
        self.options.insert(options, (&self.packets, place));
        place == head
    }

    #[inline(always)]
    fn pop(&mut self, options: &mut Options) -> Option<OnWire> {
        let first = self.packets.pop()?;
        if first.next.packet.has_options() {
            *options = self.options.pop(&first);
        }
        Some(first.next)
    }
}

/// Queue before a wire.
#[derive(Clone, Debug)]
pub(crate) enum Port {
    /// Interface of a host with an unlimited FIFO queue.
    Interface(Box<Interface>),
    /// Output port of a router at which departure times are known at enqueue.
    Router(Box<Router>),
    /// `Interface` or `Router`, on a link on which only the delay varies over time.
    Delayed(Box<Delayed>),
    /// FIFO queue that drops by occupancy only, with a time-varying transmitter.
    TimeVarying(Box<TimeVaryingPort>),
    /// Queue discipline that decides at dequeue, with a constant-rate transmitter.
    ConstantRate(Box<ConstantRatePort>),
    /// Any queue discipline, with any transmitter.
    VariableRate(Box<VariableRatePort>),
    /// Any queue discipline, with medium access; its cell contains the queue.
    Access(Place),
}

impl Port {
    /// Sends a packet that is ready at its host, or that arrives at a constant-rate port. Returns its departure time,
    /// or None if it is lost.
    pub fn queue(&mut self, line: &mut Line, ready: Time, bytes: u16, circuit_and_ecn: (u32, bool)) -> Option<Time> {
        match self {
            Port::Interface(interface) => interface.queue(line, ready, bytes),
            Port::Router(router) if router.is_only_tail_drop() => router.fifo.queue(line, ready, bytes),
            Port::Router(router) => router.queue_by_rules(line, ready, bytes, circuit_and_ecn),
            Port::Delayed(_)
            | Port::TimeVarying(_)
            | Port::ConstantRate(_)
            | Port::VariableRate(_)
            | Port::Access(_) => None,
        }
    }

    /// Returns the time and cause of the loss of a packet that arrived at `now` and was neither sent, marked nor
    /// queued.
    pub fn take_loss(&mut self, now: Time) -> Option<(Time, DropCause)> {
        match self {
            Port::Interface(_) => Some((now, DropCause::InjectedLoss)),
            Port::Router(router) => Some((now, router.fifo.cause_of_loss())),
            Port::Delayed(delayed) => delayed.port.take_loss(now),
            Port::TimeVarying(time_varying) => time_varying.take_loss(),
            // Egress queues keep a list of drops, because they may also drop packets that arrived earlier.
            Port::ConstantRate(_) | Port::VariableRate(_) | Port::Access(_) => None,
        }
    }

    /// Returns the egress queue, if there is one.
    #[inline]
    pub fn egress_queue(&mut self) -> Option<&mut EgressQueue> {
        match self {
            Port::ConstantRate(port) => Some(port.queue_mut()),
            Port::VariableRate(port) => Some(port.queue_mut()),
            Port::Interface(_) | Port::Router(_) | Port::Delayed(_) | Port::TimeVarying(_) | Port::Access(_) => None,
        }
    }

    /// Returns the arrival times and circuits of the packets of a router's port whose departure times are not known
    /// yet.
    pub fn waiting_packets(&self) -> Vec<(Time, Circuit)> {
        match self {
            Port::ConstantRate(port) if !port.queue().is_host() => port.queue().waiting_packets(),
            Port::VariableRate(port) if !port.queue().is_host() => port.waiting_packets(),
            _ => vec![],
        }
    }

    /// Returns whether the port has an egress queue. The departure times of its packets are then not known at enqueue.
    #[inline]
    pub fn has_egress_queue(&self) -> bool {
        matches!(self, Port::ConstantRate(_) | Port::VariableRate(_))
    }

    /// Returns the time of the next action of an egress queue, if it is due by `now`.
    #[inline]
    pub fn due(&mut self, line: &mut Line, now: Time) -> Option<Time> {
        match self {
            Port::ConstantRate(port) => port.due(line, now),
            Port::VariableRate(port) => port.due(now),
            Port::Interface(_) | Port::Router(_) | Port::Delayed(_) | Port::TimeVarying(_) | Port::Access(_) => None,
        }
    }

    /// Performs the action of an egress queue that is due at `now`. Returns the packet whose transmission starts, if
    /// any.
    #[inline]
    pub fn act(&mut self, line: &mut Line, now: Time) -> Option<StartedTransmission> {
        match self {
            Port::ConstantRate(port) => port.act(line, now),
            Port::VariableRate(port) => port.act(line, now),
            Port::Interface(_) | Port::Router(_) | Port::Delayed(_) | Port::TimeVarying(_) | Port::Access(_) => None,
        }
    }

    /// Adds a packet to an egress queue, after all due actions. Returns the packet if its transmission starts at once.
    #[inline]
    pub fn arrive(
        &mut self,
        line: &mut Line,
        now: Time,
        packet: Packet,
        options: impl Carried,
    ) -> Option<StartedTransmission> {
        match self {
            Port::ConstantRate(port) => port.arrive(line, now, packet, options),
            Port::VariableRate(port) => options.with(|options| port.arrive(line, now, packet, options)),
            Port::Interface(_) | Port::Router(_) | Port::Delayed(_) | Port::TimeVarying(_) | Port::Access(_) => None,
        }
    }

    /// Returns whether packets of a batch that starts now must still be forwarded.
    pub fn is_releasing(&self) -> bool {
        matches!(self, Port::VariableRate(port) if port.is_releasing())
    }

    /// Returns the time of the next event of an egress queue.
    #[inline]
    pub fn next_event(&self, line: &Line) -> Option<Time> {
        match self {
            Port::ConstantRate(port) => port.next_event(line),
            Port::VariableRate(port) => port.next_event(),
            Port::Interface(_) | Port::Router(_) | Port::Delayed(_) | Port::TimeVarying(_) | Port::Access(_) => None,
        }
    }

    /// Returns whether an egress queue may process starts of transmissions late.
    #[inline]
    pub fn may_act_late(&self) -> bool {
        matches!(self, Port::ConstantRate(port) if port.may_act_late())
    }

    /// Returns, for probes, the arrival time of a packet that leaves an egress queue; None at hosts.
    pub fn arrival_of(&self, queued: &QueuedPacket) -> Option<Time> {
        match self {
            Port::VariableRate(port) if port.queue().is_host() => None,
            Port::Access(place) if place.host => None,
            _ => Some(queued.arrival),
        }
    }

    fn held(&mut self, line: &mut Line, now: Time) -> u64 {
        match self {
            Port::Interface(_) => 0,
            Port::Router(router) => {
                router.fifo.settle(line, now);
                router.fifo.held(line, now).0
            }
            Port::Delayed(delayed) => delayed.port.held(line, now),
            Port::TimeVarying(time_varying) => time_varying.held(now),
            Port::ConstantRate(port) => port.queue().held().0,
            Port::VariableRate(port) => port.queue().held().0,
            // `Ip::held` asks the cell.
            Port::Access(_) => 0,
        }
    }
}

/// Returns the port at the beginning of a link, in its idle state, and whether its line may transmit packets without
/// calling the port. If `queueless`, no packet ever waits there; if `late`, the port may process starts of
/// transmissions late.
fn port(
    scenario: &Scenario,
    index: usize,
    (queueless, late): (bool, bool),
    (vcs, seed): (usize, u64),
    cells: &Cells,
) -> (Port, Repeats) {
    if let Some(place) = cells.place(Link::new(index)) {
        return (Port::Access(place), Repeats::Never);
    }
    let link = &scenario.links[index];
    let (rate, loss) = (Rate(link.rate_bps), Loss::new(&link.loss, seed, index as u64));
    let varies = link.varies();
    let host = scenario.is_host(link.from);
    if varies || scenario.has_queue_at_host(link) || link.is_conditioned() {
        let occupancy = link.policy.depends_on_occupancy_only() && link.conditioners.is_empty();
        let only_delay = Delayed::delay_only(link.motion.as_deref()).filter(|_| occupancy);
        if let Some(delay) = only_delay.filter(|_| !scenario.has_queue_at_host(link)) {
            let port = if host {
                Port::Interface(Box::new(Interface::new(rate, loss)))
            } else {
                router(link, &link.policy, loss, (vcs, seed, index))
            };
            return (Port::Delayed(Box::new(Delayed::new(port, delay))), Repeats::Never);
        }
        let transmitter = TimeVaryingLink::of_packets(link, LinkJitter::among(&link.conditioners, seed, index as u64));
        let port = if occupancy {
            let time_varying = TimeVaryingPort::new(transmitter, Time(scenario.duration_ps), (link, host), loss, vcs);
            Port::TimeVarying(Box::new(time_varying))
        } else {
            let queue = EgressQueue::new(scenario, link, seed, index as u64);
            Port::VariableRate(Box::new(VariableRatePort::new(queue, transmitter, varies)))
        };
        return (port, Repeats::Never);
    }
    if host {
        let repeats = if loss.is_none() {
            Repeats::Always
        } else {
            Repeats::Never
        };
        return (Port::Interface(Box::new(Interface::new(rate, loss))), repeats);
    }
    // If no packet waits, none is dropped, marked or overtaken.
    let policy = match queueless {
        true => &PolicyConfig::TAIL_DROP,
        false => &link.policy,
    };
    if policy.serves() {
        let queue = EgressQueue::new(scenario, link, seed, index as u64);
        let slack = Span(if late { link.delay_ps } else { 0 });
        let port = Port::ConstantRate(Box::new(ConstantRatePort::new(queue, slack)));
        return (port, Repeats::WhenAllowed);
    }
    let port = router(link, policy, loss, (vcs, seed, index));
    let repeats = match &port {
        Port::Router(router) if router.is_only_tail_drop() => Repeats::Always,
        _ => Repeats::WhenAllowed,
    };
    (port, repeats)
}

/// Returns the port of a router at which departure times are known at enqueue.
fn router(
    link: &LinkConfig,
    policy: &PolicyConfig,
    loss: Option<Box<Loss>>,
    (vcs, seed, index): (usize, u64, usize),
) -> Port {
    let aqm = policy.aqm(link.rate_bps, seed, index as u64);
    let policy = policy.buffer_policy(link.buffer.map_or(u64::MAX, |buffer| buffer.limit));
    let rate = Rate(link.rate_bps);
    Port::Router(Box::new(Router::new(rate, link.buffer, (policy, aqm), loss, vcs)))
}

/// Returns the idle wires of a scenario with IP packets.
pub(crate) fn wires(
    scenario: &Scenario,
    topology: &Topology,
    (ack_lookaheads, late): (&[Span], bool),
    cells: &Cells,
    seed: u64,
) -> Vec<Wire> {
    let queueless = queueless(scenario, topology);
    let mut reroutes = vec![false; scenario.links.len()];
    for flow in scenario.flows.iter().filter(|flow| flow.rerouting.is_some()) {
        let links = flow.ways(false).chain(flow.ways(true)).flatten();
        links.for_each(|&link| reroutes[link] |= !topology.ends[link].host);
    }
    let wires = scenario.links.iter().enumerate().map(|(index, link)| {
        let end = &topology.ends[index];
        let end = match (end.host, end.unshared) {
            (true, _) => End::Host,
            (false, true) => End::Through,
            (false, false) if link.may_reorder() => End::Unordered,
            (false, false) => End::Shared,
        };
        let errors = BitErrors::new(&link.loss, seed, index as u64);
        let reroutes = reroutes[index];
        let verdict = (errors.is_some() || reroutes).then(|| {
            Box::new(DeliveryCheck {
                errors,
                end,
                reroutes,
                no_route: (0, 0),
            })
        });
        let seen = if verdict.is_some() { End::DecidedOnArrival } else { end };
        let vcs = topology.vcs_of_link[index][0] as usize;
        let (port, repeats) = port(scenario, index, (queueless[index], late), (vcs, seed), cells);
        let mut line = Line::new(Span(link.guarantees().min_delay), seen, repeats);
        // A packet that passes through a router without meeting other packets may always be forwarded at once.
        if seen == End::Through {
            line.earliest_event = Time(scenario.duration_ps);
        }
        Wire {
            line,
            ack_lookahead: ack_lookaheads[index],
            port,
            verdict,
            waiting: Box::default(),
        }
    });
    wires.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wire_fits_into_two_cache_lines() {
        assert_eq!(size_of::<Wire>(), 128);
    }
}
