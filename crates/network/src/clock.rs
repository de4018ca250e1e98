//! The clock of a run: the current time, the end of the run, and the event queue.
//!
//! Simultaneous events have this order: departures; cells or packets that reach a switch or router, in the order of the
//! tie-breaking rule; frames and packets that reach their hosts; timers; application starts; updates of VBR sources.
//! Events of the same kind are ordered by number.

use crate::packets::{Flow, Link};
use longpipe_events::{Entity, EventQueue, Order, Span, Time};

/// Departures of packets from ports with a dequeue-time discipline.
pub(crate) const DEPARTURE: Order = 0;
/// Arrivals at a switch or router; the rank from the tie-breaking rule is added.
pub(crate) const CELL: Order = 1 << 32;
/// Arrivals at a host.
pub(crate) const WHOLE_FRAME: Order = 2 << 32;
/// Timers of end points.
pub(crate) const TIMER: Order = 3 << 32;
/// Actions of applications: starts, stops, and requests, datagrams or writes that are due.
pub(crate) const START: Order = 4 << 32;
/// Updates of VBR sources.
pub(crate) const VBR: Order = 5 << 32;

/// Sentinel for an unknown time. Adding a delay to it does not yield a valid time.
pub(crate) const UNKNOWN: Time = Time(1 << 63);

/// Entity that handles an event.
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
    /// A port that has a dequeue-time discipline.
    Port(usize),
}

/// Current time, end of the run, and pending events.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    pub now: Time,
    pub end: Time,
    /// Time up to which events are handled: the end of the run, or an earlier time before which no external packet
    /// enters and no agent acts.
    pub until: Time,
    pub queue: EventQueue,
    /// Number of events handled.
    pub events: u64,
    links: usize,
    flows: usize,
    sources: usize,
}

impl Clock {
    /// Creates the clock of a run that ends at `end`. Most events are scheduled a few times `interval` ahead.
    pub fn new(end: Time, links: usize, flows: usize, sources: usize, interval: Span) -> Clock {
        Clock {
            now: Time::ZERO,
            end,
            until: end,
            // Each link has one entity for its far end and one for its port.
            queue: EventQueue::new(2 * links + 3 * flows + sources, interval),
            events: 0,
            links,
            flows,
            sources,
        }
    }

    /// Returns the number of an actor's entity.
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

    /// Returns the actor for an entity number.
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

    /// Schedules an actor's event, and replaces the pending one, if any.
    #[inline(always)]
    pub fn set(&mut self, actor: Actor, time: Time, order: Order) {
        self.queue.set(self.entity(actor), time, order);
    }

    /// Schedules the next departure from a link's port.
    #[inline(always)]
    pub fn set_departure(&mut self, link: Link, time: Time) {
        self.queue
            .set_dedicated(self.entity(Actor::Port(link.index())), time, DEPARTURE);
    }

    /// Cancels the pending event of an actor.
    #[inline(always)]
    pub fn cancel(&mut self, actor: Actor) {
        self.queue.cancel(self.entity(actor));
    }

    /// Advances the time to an event, and counts the event.
    #[inline(always)]
    pub fn begin(&mut self, time: Time) {
        self.now = time;
        self.events += 1;
    }
}
