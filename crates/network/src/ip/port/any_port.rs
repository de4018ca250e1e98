//! The output port at the beginning of a link: one of the kinds of ports, depending on the link and its policy.

use super::cell::{Cells, Place};
use super::constant_rate::{ConstantRatePort, StartedTransmission};
use super::delayed::Delayed;
use super::egress_queue::{EgressQueue, QueuedPacket};
use super::interface::Interface;
use super::line::{Line, Repeats};
use super::router::Router;
use super::time_varying::TimeVaryingPort;
use super::variable_rate::VariableRatePort;
use crate::conditioners::jitter::LinkJitter;
use crate::impairments::loss::Loss;
use crate::packets::drops::DropCause;
use crate::packets::{Carried, Circuit, Link, Packet};
use crate::scenario::{LinkConfig, PolicyConfig, Scenario};
use crate::time_varying::TimeVaryingLink;
use longpipe_events::{Rate, Span, Time};

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
            Port::ConstantRate(port) if port.queue().is_host() => None,
            Port::VariableRate(port) if port.queue().is_host() => None,
            Port::Access(place) if place.host => None,
            _ => Some(queued.arrival),
        }
    }

    /// Returns the number of packets that a router's port holds when another packet arrives; 0 with medium access.
    pub fn held(&mut self, line: &mut Line, now: Time) -> u64 {
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

/// Settings of the port at the beginning of a link.
pub(crate) struct NewPort<'a> {
    pub scenario: &'a Scenario,
    /// Number of the link.
    pub index: usize,
    /// Whether no packet ever waits at the port.
    pub is_queueless: bool,
    /// Whether the port may process starts of transmissions late.
    pub may_act_late: bool,
    /// Number of circuits of the link.
    pub vcs: usize,
    pub seed: u64,
}

impl NewPort<'_> {
    /// Creates the idle port. Also returns whether its line may transmit packets without calling the port.
    pub fn create(&self, cells: &Cells) -> (Port, Repeats) {
        let link = self.link();
        if let Some(place) = cells.place(Link::new(self.index)) {
            (Port::Access(place), Repeats::Never)
        } else if link.varies() || link.is_conditioned() || self.is_limited_fifo_at_host() {
            (self.changing(), Repeats::Never)
        } else {
            self.constant()
        }
    }

    fn link(&self) -> &LinkConfig {
        &self.scenario.links[self.index]
    }

    fn is_host(&self) -> bool {
        self.scenario.is_host(self.link().from)
    }

    fn is_limited_fifo_at_host(&self) -> bool {
        self.scenario.has_queue_at_host(self.link()) && self.link().policy.depends_on_occupancy_only()
    }

    /// Creates the port of a link that changes over time or has conditioners, or of a host with a FIFO queue of limited
    /// length.
    fn changing(&self) -> Port {
        let link = self.link();
        let is_fifo = link.policy.depends_on_occupancy_only() && link.conditioners.is_empty();
        let delay_only = Delayed::delay_only(link.motion.as_deref()).filter(|_| is_fifo);
        if let Some(delay) = delay_only.filter(|_| !self.scenario.has_queue_at_host(link)) {
            let port = if self.is_host() {
                self.interface(self.loss())
            } else {
                self.router(&link.policy)
            };
            return Port::Delayed(Box::new(Delayed::new(port, delay)));
        }
        let jitter = LinkJitter::among(&link.conditioners, self.seed, self.index as u64);
        let transmitter = TimeVaryingLink::of_packets(link, jitter);
        if is_fifo {
            let end = Time(self.scenario.duration_ps);
            let port = TimeVaryingPort::new(transmitter, end, (link, self.is_host()), self.loss(), self.vcs);
            Port::TimeVarying(Box::new(port))
        } else {
            Port::VariableRate(Box::new(VariableRatePort::new(
                self.egress_queue(),
                transmitter,
                link.varies(),
            )))
        }
    }

    /// Creates the port of a link that never changes.
    fn constant(&self) -> (Port, Repeats) {
        let link = self.link();
        if self.scenario.has_queue_at_host(link) {
            return (self.constant_rate(Span(0)), Repeats::Never);
        }
        if self.is_host() {
            let loss = self.loss();
            let repeats = if loss.is_none() {
                Repeats::Always
            } else {
                Repeats::Never
            };
            return (self.interface(loss), repeats);
        }
        // If no packet waits, none is dropped, marked or overtaken.
        let policy = if self.is_queueless {
            &PolicyConfig::TAIL_DROP
        } else {
            &link.policy
        };
        if policy.serves() {
            let slack = Span(if self.may_act_late { link.delay_ps } else { 0 });
            return (self.constant_rate(slack), Repeats::WhenAllowed);
        }
        let port = self.router(policy);
        let repeats = match &port {
            Port::Router(router) if router.is_only_tail_drop() => Repeats::Always,
            _ => Repeats::WhenAllowed,
        };
        (port, repeats)
    }

    fn constant_rate(&self, slack: Span) -> Port {
        Port::ConstantRate(Box::new(ConstantRatePort::new(self.egress_queue(), slack)))
    }

    fn interface(&self, loss: Option<Box<Loss>>) -> Port {
        Port::Interface(Box::new(Interface::new(Rate(self.link().rate_bps), loss)))
    }

    /// Returns the port of a router at which departure times are known at enqueue.
    fn router(&self, policy: &PolicyConfig) -> Port {
        let link = self.link();
        let aqm = policy.aqm(link.rate_bps, self.seed, self.index as u64);
        let policy = policy.buffer_policy(link.buffer.map_or(u64::MAX, |buffer| buffer.limit));
        let rate = Rate(link.rate_bps);
        Port::Router(Box::new(Router::new(
            rate,
            link.buffer,
            (policy, aqm),
            self.loss(),
            self.vcs,
        )))
    }

    fn egress_queue(&self) -> EgressQueue {
        EgressQueue::new(self.scenario, self.link(), self.seed, self.index as u64)
    }

    fn loss(&self) -> Option<Box<Loss>> {
        Loss::new(&self.link().loss, self.seed, self.index as u64)
    }
}
