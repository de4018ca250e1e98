//! A directed link of an IP path: an output port, its wire, and where that ends.

use crate::certainty::queueless::queueless;
use crate::drops::DropCause;
use crate::impairments::bit_errors::BitErrors;
use crate::impairments::loss::Loss;
use crate::ip::lanes::insert_options;
use crate::ip::port::constant_rate::{Begun, ConstantRatePort};
use crate::ip::port::delayed::Delayed;
use crate::ip::port::egress_queue::{EgressQueue, QueuedPacket};
use crate::ip::port::fifo::Router;
use crate::ip::port::interface::Interface;
use crate::ip::port::line::{End, Line, Repeats};
use crate::ip::port::moving::Moving;
use crate::ip::port::variable_rate::VariableRatePort;
use crate::motion::Motion;
use crate::packets::ring::Ring;
use crate::packets::{OnWire, Options, Packet};
use crate::policies::acting::Acting;
use crate::policies::Policy;
use crate::scenario::topology::Topology;
use crate::scenario::{LinkConfig, NodeKind, PolicyConfig, Scenario};
use longpipe_events::{Rate, Span, Time};

/// An output port with its wire. Two lines of cache, a power of two, hold what most packets touch.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Wire {
    /// The transmitter.
    pub line: Line,
    /// An ACK that arrives less than this after its data packet has left the trunk precedes those of later ones.
    pub lead: Span,
    /// What feeds it.
    pub(crate) port: Port,
    /// What decides at its end about each packet, if anything does.
    pub(crate) verdict: Option<Box<Verdict>>,
    /// Packets that wait for the event of their arrival.
    pub(crate) waiting: Box<Waiting>,
}

/// Packets on a wire that wait for the event of their arrival, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    pub packets: Ring<OnWire>,
    /// Options of those that have any, in the same order.
    options: Ring<Options>,
    /// When the event of the wire's port is scheduled, if one is.
    pub port_event: Option<Time>,
}

/// What decides at the end of a wire whether a packet goes on.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub errors: Option<Box<BitErrors>>,
    /// Where the wire ends.
    end: End,
    /// Whether packets come that go on by the route of the moment.
    pub reroutes: bool,
    /// Packets and bytes that no route led on from there.
    pub strays: (u64, u64),
}

impl Wire {
    /// What happens at its end to a packet that arrives whole.
    #[inline(always)]
    pub fn end(&self) -> End {
        match (&self.verdict, self.line.end) {
            (Some(verdict), End::Uncertain) => verdict.end,
            (_, end) => end,
        }
    }

    /// Whether packets that wait on it for their events may meet those of other wires.
    pub fn is_shared(&self) -> bool {
        matches!(self.end(), End::Shared | End::Unordered)
    }

    /// A packet is ready to be sent, or arrives at the port; unless it is lost, held or marked, when it arrives downstream. What
    /// `asked` says, with the number of its circuit at the port if that is needed, is that and whether it can be marked.
    #[inline(always)]
    pub fn send(&mut self, ready: Time, bytes: u16, asked: impl FnOnce(bool) -> (u32, bool)) -> Option<Time> {
        let departure = if self.line.may_repeat(ready, bytes) {
            self.line.repeat(ready)
        } else {
            match &mut self.port {
                Port::Interface(interface) => interface.queue(&mut self.line, ready, bytes)?,
                Port::Router(router) if router.is_plain() => router.queue(&mut self.line, ready, bytes)?,
                Port::Router(router) => {
                    let asked = asked(router.asks_for_vcs());
                    router.queue_by_rules(&mut self.line, ready, bytes, asked)?
                }
                _ => return self.send_otherwise(ready, bytes, asked(true)),
            }
        };
        Some(departure + self.line.delay())
    }

    /// The same where arrival and departure are further apart than the delay, or the departure is not known yet.
    #[inline(never)]
    fn send_otherwise(&mut self, ready: Time, bytes: u16, asked: (u32, bool)) -> Option<Time> {
        match &mut self.port {
            Port::Delayed(delayed) => delayed.send(&mut self.line, ready, bytes, asked),
            Port::Moving(moving) => moving.send(&mut self.line, ready, bytes, asked.0),
            Port::Interface(_) | Port::Router(_) | Port::ConstantRate(_) | Port::VariableRate(_) => None,
        }
    }

    /// When the packet leaves that was just sent in vain, if the wire alone loses it; asked for where somebody watches.
    #[inline(always)]
    pub fn take_left_if(&mut self, watched: bool) -> Option<Time> {
        match &mut self.port {
            Port::Moving(moving) if watched => moving.take_left(),
            _ => None,
        }
    }

    /// Packets that a router's port holds when another one comes.
    pub fn held(&mut self, now: Time) -> u64 {
        self.port.held(&mut self.line, now)
    }

    /// When the packet left that was just sent and arrives at `arrival`.
    pub fn left(&self, arrival: Time) -> Time {
        match &self.port {
            Port::Delayed(delayed) => delayed.left(),
            _ => arrival - self.line.delay(),
        }
    }

    /// A packet waits for the event of its arrival; `options` are its own if it has any. Whether it is the first that does.
    #[inline(always)]
    pub fn push(&mut self, next: OnWire, options: &Options) -> bool {
        self.line.quiet_until = Time::ZERO;
        self.waiting.push(next, options)
    }

    /// Takes the first packet that waits, and its options if it has any.
    #[inline(always)]
    pub fn pop(&mut self, options: &mut Options) -> Option<OnWire> {
        self.waiting.pop(options)
    }
}

impl Waiting {
    #[inline(always)]
    fn push(&mut self, next: OnWire, options: &Options) -> bool {
        if self.packets.last().is_some_and(|last| last.arrival > next.arrival) {
            return self.overtake(next, options);
        }
        self.packets.push(next);
        if next.packet.has_options() {
            self.options.push(*options);
        }
        self.packets.len() == 1
    }

    /// The same of one that arrives before others.
    #[inline(never)]
    fn overtake(&mut self, next: OnWire, options: &Options) -> bool {
        let head = self.packets.head();
        let place = self
            .packets
            .push_before(next, head, |other| other.arrival > next.arrival);
        if next.packet.has_options() {
            insert_options(&mut self.options, options, (&self.packets, place));
        }
        place == head
    }

    #[inline(always)]
    fn pop(&mut self, options: &mut Options) -> Option<OnWire> {
        let next = self.packets.pop()?;
        if next.packet.has_options() {
            *options = self.options.pop().unwrap_or_default();
        }
        Some(next)
    }
}

/// What feeds a wire.
#[derive(Clone, Debug)]
pub(crate) enum Port {
    /// A host's interface with an unlimited FIFO.
    Interface(Box<Interface>),
    /// A router's output port whose packets' departures are certain at enqueue.
    Router(Box<Router>),
    /// Either, where the delay alone varies over time.
    Delayed(Box<Delayed>),
    /// A FIFO that decides by occupancy alone, where the transmitter varies over time.
    Moving(Box<Moving>),
    /// A queue discipline that decides at dequeue, in front of a transmitter of constant rate.
    ConstantRate(Box<ConstantRatePort>),
    /// Any queue discipline, in front of any transmitter.
    VariableRate(Box<VariableRatePort>),
}

impl Port {
    /// A packet is ready to be sent, or arrives at a port of constant rate. Returns when it leaves, unless it is lost.
    pub fn queue(&mut self, line: &mut Line, ready: Time, bytes: u16, asked: (u32, bool)) -> Option<Time> {
        match self {
            Port::Interface(interface) => interface.queue(line, ready, bytes),
            Port::Router(router) if router.is_plain() => router.queue(line, ready, bytes),
            Port::Router(router) => router.queue_by_rules(line, ready, bytes, asked),
            Port::Delayed(_) | Port::Moving(_) | Port::ConstantRate(_) | Port::VariableRate(_) => None,
        }
    }

    /// When and why the packet is lost that came at `now` and neither left, nor was marked, nor waits here.
    pub fn take_loss(&mut self, now: Time) -> Option<(Time, DropCause)> {
        match self {
            Port::Interface(_) => Some((now, DropCause::InjectedLoss)),
            Port::Router(router) => Some((now, router.cause_of_loss())),
            Port::Delayed(delayed) => delayed.port.take_loss(now),
            Port::Moving(moving) => moving.take_loss(),
            // It keeps a list of its own: it also drops packets that came earlier.
            Port::ConstantRate(_) | Port::VariableRate(_) => None,
        }
    }

    /// The egress queue, if there is one.
    pub fn egress_queue(&mut self) -> Option<&mut EgressQueue> {
        match self {
            Port::ConstantRate(port) => Some(port.queue_mut()),
            Port::VariableRate(port) => Some(port.queue_mut()),
            Port::Interface(_) | Port::Router(_) | Port::Delayed(_) | Port::Moving(_) => None,
        }
    }

    /// Whether packets may wait here whose departures are not known.
    pub fn has_egress_queue(&self) -> bool {
        matches!(self, Port::ConstantRate(_) | Port::VariableRate(_))
    }

    /// When the next action of an egress queue is due, if that is by `now`.
    pub fn due(&mut self, line: &mut Line, now: Time) -> Option<Time> {
        match self {
            Port::ConstantRate(port) => port.due(line, now),
            Port::VariableRate(port) => port.due(now),
            Port::Interface(_) | Port::Router(_) | Port::Delayed(_) | Port::Moving(_) => None,
        }
    }

    /// Does what is due at `now` at an egress queue. Returns the packet that begins to leave, if one does.
    pub fn act(&mut self, line: &mut Line, now: Time) -> Option<Begun> {
        match self {
            Port::ConstantRate(port) => port.act(line, now),
            Port::VariableRate(port) => port.act(line, now),
            Port::Interface(_) | Port::Router(_) | Port::Delayed(_) | Port::Moving(_) => None,
        }
    }

    /// A packet arrives at an egress queue, after all that was due. Returns it if it begins to leave at once.
    pub fn arrive(&mut self, line: &mut Line, now: Time, packet: Packet, options: &Options) -> Option<Begun> {
        match self {
            Port::ConstantRate(port) => port.arrive(line, now, packet, options),
            Port::VariableRate(port) => port.arrive(line, now, packet, options),
            Port::Interface(_) | Port::Router(_) | Port::Delayed(_) | Port::Moving(_) => None,
        }
    }

    /// When an egress queue needs an event.
    pub fn next_event(&self, line: &Line) -> Option<Time> {
        match self {
            Port::ConstantRate(port) => port.next_event(line),
            Port::VariableRate(port) => port.next_event(),
            Port::Interface(_) | Port::Router(_) | Port::Delayed(_) | Port::Moving(_) => None,
        }
    }

    /// When a packet that leaves an egress queue arrived there, as probes are notified: `None` at hosts.
    pub fn arrival_of(&self, queued: &QueuedPacket) -> Option<Time> {
        match self {
            Port::VariableRate(port) if port.queue().is_host() => None,
            _ => Some(queued.arrival),
        }
    }

    fn held(&mut self, line: &mut Line, now: Time) -> u64 {
        match self {
            Port::Interface(_) => 0,
            Port::Router(router) => {
                router.settle(line, now);
                router.held(line, now).0
            }
            Port::Delayed(delayed) => delayed.port.held(line, now),
            Port::Moving(moving) => moving.held(now),
            Port::ConstantRate(port) => port.queue().held().0,
            Port::VariableRate(port) => port.queue().held().0,
        }
    }
}

/// The idle port at the beginning of a link, and when its line may repeat itself. `queueless`: no packet ever waits there.
fn port(scenario: &Scenario, index: usize, queueless: bool, (vcs, seed): (usize, u64)) -> (Port, Repeats) {
    let link = &scenario.links[index];
    let (rate, loss) = (Rate(link.rate_bps), Loss::new(&link.loss, seed, index as u64));
    let varies = link.motion.is_some();
    let host = scenario.nodes[link.from].kind == NodeKind::Host;
    if varies || scenario.has_queue_at_host(link) {
        let only_delay = Delayed::only(link.motion.as_deref()).filter(|_| link.policy.looks_alone());
        if let Some(delay) = only_delay.filter(|_| !scenario.has_queue_at_host(link)) {
            let port = if host {
                Port::Interface(Box::new(Interface::new(rate, loss)))
            } else {
                router(link, &link.policy, loss, (vcs, seed, index))
            };
            return (Port::Delayed(Box::new(Delayed::new(port, delay))), Repeats::Never);
        }
        let transmitter = Motion::of_packets(link);
        let port = match EgressQueue::new(scenario, link, seed, index as u64) {
            Some(queue) => Port::VariableRate(Box::new(VariableRatePort::new(queue, transmitter, varies))),
            None => {
                let moving = Moving::new(transmitter, Time(scenario.duration_ps), (link, host), loss, vcs);
                Port::Moving(Box::new(moving))
            }
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
    // Where no packet waits, none is dropped, marked or overtaken.
    let policy = match queueless {
        true => &PolicyConfig::TailDrop {},
        false => &link.policy,
    };
    if policy.serves() {
        if let Some(queue) = EgressQueue::new(scenario, link, seed, index as u64) {
            let port = Port::ConstantRate(Box::new(ConstantRatePort::new(queue)));
            return (port, Repeats::WhenLet);
        }
    }
    let port = router(link, policy, loss, (vcs, seed, index));
    let repeats = match &port {
        Port::Router(router) if router.is_plain() => Repeats::Always,
        _ => Repeats::WhenLet,
    };
    (port, repeats)
}

/// The port of a router in which departures are certain at enqueue.
fn router(
    link: &LinkConfig,
    policy: &PolicyConfig,
    loss: Option<Box<Loss>>,
    (vcs, seed, index): (usize, u64, usize),
) -> Port {
    let acting = Acting::new(policy, link.rate_bps, seed, index as u64);
    let policy = Policy::new(policy, link.buffer.map_or(u64::MAX, |buffer| buffer.limit));
    let rate = Rate(link.rate_bps);
    Port::Router(Box::new(Router::new(rate, link.buffer, (policy, acting), loss, vcs)))
}

/// Every wire of a scenario of IP packets, idle.
pub(crate) fn wires(scenario: &Scenario, topology: &Topology, leads: &[Span], seed: u64) -> Vec<Wire> {
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
            Box::new(Verdict {
                errors,
                end,
                reroutes,
                strays: (0, 0),
            })
        });
        let seen = if verdict.is_some() { End::Uncertain } else { end };
        let vcs = topology.vcs_of_link[index][0] as usize;
        let (port, repeats) = port(scenario, index, queueless[index], (vcs, seed));
        let mut line = Line::new(Span(link.promise().least_delay), seen, repeats);
        // A packet that passes a router without meeting others may always go on at once.
        if seen == End::Through {
            line.quiet_until = Time(scenario.duration_ps);
        }
        Wire {
            line,
            lead: leads[index],
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
    fn a_wire_takes_two_lines_of_cache() {
        assert_eq!(size_of::<Wire>(), 128);
    }
}
