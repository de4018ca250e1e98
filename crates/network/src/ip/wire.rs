//! A directed link of an IP path: an output port, its wire, and where that ends.

use crate::impairments::bit_errors::BitErrors;
use crate::impairments::loss::Loss;
use crate::ip::port::fifo::Router;
use crate::ip::port::interface::Interface;
use crate::ip::port::line::{End, Line};
use crate::ip::port::served::Served;
use crate::packets::ring::Ring;
use crate::packets::{OnWire, Options};
use crate::policies::acting::Acting;
use crate::policies::Policy;
use crate::scenario::topology::Topology;
use crate::scenario::{NodeKind, Scenario};
use longpipe_events::{Rate, Span, Time};

/// An output port with its wire.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Wire {
    /// The transmitter.
    pub line: Line,
    /// Packets that wait for the event of their arrival.
    pub packets: Ring<OnWire>,
    /// Options of the packets that wait and have any, in the same order.
    options: Ring<Options>,
    /// An ACK that arrives less than this after its data packet has left the trunk precedes those of later ones.
    pub lead: Span,
    /// What feeds it.
    pub(crate) port: Port,
    /// Its bit errors, and where it ends.
    pub errors: Option<(Box<BitErrors>, End)>,
}

impl Wire {
    /// What happens at its end to a packet that arrives whole.
    #[inline(always)]
    pub fn end(&self) -> End {
        match (&self.errors, self.line.end) {
            (Some((_, end)), End::Uncertain) => *end,
            (_, end) => end,
        }
    }

    /// A packet of the port's circuit `asked().0`, which can be marked if `asked().1`, is ready to be sent, or arrives at the port;
    /// unless it is lost, held or marked, when it arrives downstream.
    #[inline(always)]
    pub fn send(&mut self, ready: Time, bytes: u16, asked: impl FnOnce() -> (u32, bool)) -> Option<Time> {
        let departure = if self.line.may_repeat(ready, bytes) {
            self.line.repeat(ready)
        } else {
            match &mut self.port {
                Port::Interface(interface) => interface.queue(&mut self.line, ready, bytes)?,
                Port::Router(router) if router.is_plain() => router.queue(&mut self.line, ready, bytes)?,
                Port::Router(router) => router.queue_by_rules(&mut self.line, ready, bytes, asked())?,
                Port::Served(_) => return None,
            }
        };
        Some(departure + self.line.delay())
    }

    /// A packet waits for the event of its arrival; `options` are its own if it has any.
    #[inline(always)]
    pub fn push(&mut self, next: OnWire, options: &Options) {
        self.line.quiet_until = Time::ZERO;
        self.packets.push(next);
        if next.packet.has_options() {
            self.options.push(*options);
        }
    }

    /// Takes the first packet that waits, and its options if it has any.
    #[inline(always)]
    pub fn pop(&mut self, options: &mut Options) -> Option<OnWire> {
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
    /// A host's interface.
    Interface(Interface),
    /// A router's output port.
    Router(Router),
    /// Likewise, whose queue is served.
    Served(Box<Served>),
}

/// Every wire of a scenario of IP packets, idle.
pub(crate) fn wires(scenario: &Scenario, topology: &Topology, leads: &[Span], seed: u64) -> Vec<Wire> {
    let wires = scenario.links.iter().enumerate().map(|(index, link)| {
        let (rate, loss) = (Rate(link.rate_bps), Loss::new(&link.loss, seed, index as u64));
        let end = &topology.ends[index];
        let end = match (end.host, end.unshared) {
            (true, _) => End::Host,
            (false, true) => End::Through,
            (false, false) => End::Shared,
        };
        let errors = BitErrors::new(&link.loss, seed, index as u64).map(|errors| (errors, end));
        let seen = if errors.is_some() { End::Uncertain } else { end };
        let wire = |port, repeats| Wire {
            line: Line::new(Span(link.delay_ps), seen, repeats),
            packets: Ring::default(),
            options: Ring::default(),
            lead: leads[index],
            port,
            errors,
        };
        match scenario.nodes[link.from].kind {
            NodeKind::Host => {
                let repeats = loss.is_none();
                wire(Port::Interface(Interface::new(rate, loss)), repeats)
            }
            NodeKind::Switch => {
                if let Some(served) = Served::new(link, topology.first_step.len(), seed, index as u64) {
                    return wire(Port::Served(served), false);
                }
                let policy = Policy::new(&link.policy, link.buffer.map_or(u64::MAX, |buffer| buffer.limit));
                let vcs = topology.vcs_of_link[index][0] as usize;
                let acting = Acting::new(&link.policy, link.rate_bps, seed, index as u64);
                let router = Router::new(rate, link.buffer, (policy, acting), loss, vcs);
                let repeats = router.is_plain();
                wire(Port::Router(router), repeats)
            }
        }
    });
    wires.collect()
}
