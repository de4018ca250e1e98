//! A directed link of an IP path: an output port, its wire, and the end of the wire.

use crate::impairments::bit_errors::BitErrors;
use crate::ip::port::any_port::{NewPort, Port};
use crate::ip::port::cell::Cells;
use crate::ip::port::line::{End, Line};
use crate::lookahead::queueless::queueless;
use crate::packets::queued_options::{OtherOptions, Queued};
use crate::packets::{OnWire, Options, Packet};
use crate::scenario::link_ends::LinkEnd;
use crate::scenario::topology::Topology;
use crate::scenario::{LinkConfig, Scenario};
use longpipe_events::{Ring, Span, Time};

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

/// Returns the idle wires of a scenario with IP packets; `late_ports` may process starts of transmissions late.
pub(crate) fn wires(
    scenario: &Scenario,
    topology: &Topology,
    ack_lookaheads: &[Span],
    late_ports: bool,
    cells: &Cells,
    seed: u64,
) -> Vec<Wire> {
    let queueless = queueless(scenario, topology);
    let reroutes = rerouting_links(scenario, topology);
    let wires = scenario.links.iter().enumerate().map(|(index, link)| {
        let end = end_of(link, &topology.ends[index]);
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
        let visible_end = if verdict.is_some() { End::DecidedOnArrival } else { end };
        let new_port = NewPort {
            scenario,
            index,
            is_queueless: queueless[index],
            may_act_late: late_ports,
            vcs: topology.vcs_of_link[index][0] as usize,
            seed,
        };
        let (port, repeats) = new_port.create(cells);
        let mut line = Line::new(Span(link.guarantees().min_delay), visible_end, repeats);
        // A packet that passes through a router without meeting other packets may always be forwarded at once.
        if visible_end == End::Through {
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

/// Returns, by link, whether flows with changing routes may continue on another route from its end.
fn rerouting_links(scenario: &Scenario, topology: &Topology) -> Vec<bool> {
    let mut reroutes = vec![false; scenario.links.len()];
    for flow in scenario.flows.iter().filter(|flow| flow.rerouting.is_some()) {
        let links = flow.ways(false).chain(flow.ways(true)).flatten();
        links.for_each(|&link| reroutes[link] |= !topology.ends[link].host);
    }
    reroutes
}

/// Returns the kind of a wire's end.
fn end_of(link: &LinkConfig, end: &LinkEnd) -> End {
    match (end.host, end.unshared) {
        (true, _) => End::Host,
        (false, true) => End::Through,
        (false, false) if link.may_reorder() => End::Unordered,
        (false, false) => End::Shared,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wire_fits_into_two_cache_lines() {
        assert_eq!(size_of::<Wire>(), 128);
    }
}
