//! The clock of a run: what time it is, when the run ends, and who acts next.
//!
//! At one instant, departures come first, then cells or packets that reach a switch or router in the order of the tie rule,
//! then frames and packets that reach their hosts, then timers, then applications that begin, then VBR that is looked
//! after; equals by number.

use crate::packets::{Flow, Link};
use longpipe_events::{Agenda, Entity, Order, Span, Time};

/// Packets that leave a port whose queue is served.
pub(crate) const DEPARTURE: Order = 0;
/// What reaches a switch or a router; the rank of the tie rule is added.
pub(crate) const CELL: Order = 1 << 32;
/// What reaches a host.
pub(crate) const WHOLE_FRAME: Order = 2 << 32;
/// Timers of end points.
pub(crate) const TIMER: Order = 3 << 32;
/// Applications that begin.
pub(crate) const START: Order = 4 << 32;
/// VBR sources that are looked after.
pub(crate) const VBR: Order = 5 << 32;

/// No time from which any lead would reach another one.
pub(crate) const UNKNOWN: Time = Time(1 << 63);

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// The far end of a link.
    Link(Link),
    /// The timers of a flow's sending host.
    Sender(Flow),
    /// The timers of a flow's receiving host.
    Receiver(Flow),
    /// A flow's application.
    Start(Flow),
    /// A VBR source.
    Source(usize),
    /// A port that sweeps, or whose queue is served.
    Port(usize),
}

/// Time, and who acts at which.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    pub now: Time,
    pub end: Time,
    /// What happens later waits: the end, unless somebody outside may yet send before it.
    pub until: Time,
    pub agenda: Agenda,
    /// Events handled.
    pub events: u64,
    links: usize,
    flows: usize,
    sources: usize,
}

impl Clock {
    /// Time zero of a run that lasts until `end`; most events are set a few times `interval` ahead.
    pub fn new(end: Time, links: usize, flows: usize, sources: usize, interval: Span) -> Clock {
        Clock {
            now: Time::ZERO,
            end,
            until: end,
            // Each link has an end, and a port.
            agenda: Agenda::new(2 * links + 3 * flows + sources, interval),
            events: 0,
            links,
            flows,
            sources,
        }
    }

    /// The number under which the agenda knows somebody.
    #[inline(always)]
    pub fn entity(&self, actor: Actor) -> Entity {
        let entity = match actor {
            Actor::Link(link) => link.index(),
            Actor::Sender(flow) => self.links + flow.index(),
            Actor::Receiver(flow) => self.links + self.flows + flow.index(),
            Actor::Start(flow) => self.links + 2 * self.flows + flow.index(),
            Actor::Source(source) => self.links + 3 * self.flows + source,
            Actor::Port(port) => self.links + 3 * self.flows + self.sources + port,
        };
        entity as Entity
    }

    /// Whom the agenda knows under a number.
    #[inline(always)]
    pub fn actor(&self, entity: Entity) -> Actor {
        let index = entity as usize;
        if index < self.links {
            return Actor::Link(Link::new(index));
        }
        let index = index - self.links;
        if index >= 3 * self.flows {
            let index = index - 3 * self.flows;
            return index
                .checked_sub(self.sources)
                .map_or(Actor::Source(index), Actor::Port);
        }
        let flow = Flow::new(index % self.flows);
        match index / self.flows {
            0 => Actor::Sender(flow),
            1 => Actor::Receiver(flow),
            _ => Actor::Start(flow),
        }
    }

    /// Has somebody act at a time.
    #[inline(always)]
    pub fn set(&mut self, actor: Actor, time: Time, order: Order) {
        self.agenda.set(self.entity(actor), time, order);
    }

    /// Has the port of a link act for what waits there, as it does time and again.
    #[inline(always)]
    pub fn set_departure(&mut self, link: Link, time: Time) {
        self.agenda
            .set_beside(self.entity(Actor::Port(link.index())), time, DEPARTURE);
    }

    /// Has somebody not act.
    #[inline(always)]
    pub fn cancel(&mut self, actor: Actor) {
        self.agenda.cancel(self.entity(actor));
    }

    /// An event of its own happens, at a time.
    #[inline(always)]
    pub fn begin(&mut self, time: Time) {
        self.now = time;
        self.events += 1;
    }
}
