//! A port whose queue is served, and whose packets go on when they begin to leave: when the line has sent one is certain then.
//!
//! Only what waits needs an event, for the instant at which the next packet begins; where none waits, departures are settled when
//! something comes. Arrivals are told in order, and may be told ahead of time.

use super::line::Line;
use super::served::{Held, Served};
use crate::drops::Drops;
use crate::ip::report::PacketReport;
use crate::packets::{Options, Packet};
use longpipe_events::Time;

/// A packet that begins to leave, and when it has left.
pub(crate) type Begun = (Held, Time);

/// The port.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    served: Served,
    /// When the packet in service has left, but for those that the line repeated since.
    ends: Time,
    /// When the event comes for what waits.
    awaited: Option<Time>,
}

impl Prompt {
    /// An idle one.
    pub fn new(served: Served) -> Prompt {
        Prompt {
            served,
            ends: Time::ZERO,
            awaited: None,
        }
    }

    /// The port itself.
    pub fn served(&self) -> &Served {
        &self.served
    }

    /// Packets lost here that the engine has yet to take.
    pub fn drops(&mut self) -> &mut Drops {
        self.served.drops()
    }

    /// The next packet that begins to leave by `now`, at which departures precede arrivals.
    pub fn next(&mut self, line: &mut Line, now: Time) -> Option<Begun> {
        self.count_repeated(line);
        if !self.served.is_busy() || line.free() > now {
            return None;
        }
        let held = self.served.depart(line.free())?;
        Some(self.begin(line, line.free(), held))
    }

    /// A packet comes at `now`, where all that begins to leave by then is known; it or another, if one begins to leave at once.
    pub fn arrive(&mut self, line: &mut Line, now: Time, packet: Packet, options: &Options) -> Option<Begun> {
        match self.served.arrive(now, packet, options) {
            Some(held) => {
                line.restart(now);
                Some(self.begin(line, now, held))
            }
            None => {
                line.let_repeat(false);
                None
            }
        }
    }

    fn begin(&mut self, line: &mut Line, at: Time, held: Held) -> Begun {
        self.ends = line.send(at, held.packet.bytes(), self.served.rate());
        line.let_repeat(self.served.forgets_when_idle() && self.served.waiting().0 == 0);
        (held, self.ends)
    }

    /// Takes the packets that the line repeated into the counters, all of which found nothing here.
    fn count_repeated(&mut self, line: &mut Line) {
        if line.has_repeated() {
            // Nothing waited.
            self.served.depart(self.ends);
            let (packets, bytes, lasted) = line.take_repeated();
            self.ends = line.free();
            self.served.pass(packets, bytes, lasted, Time(self.ends.0 - lasted));
        }
    }

    /// When the port needs an event, if that is not the one that it had.
    pub fn event(&mut self, line: &Line) -> Event {
        let waits = self.served.waiting().0 > 0;
        let at = waits.then(|| line.free());
        match std::mem::replace(&mut self.awaited, at) {
            before if before == at => Event::AsBefore,
            _ => at.map_or(Event::Never, Event::At),
        }
    }

    /// What it counted as of `now`, the end of the run.
    pub fn report(&mut self, line: &mut Line, now: Time) -> PacketReport {
        let begun = self.next(line, now);
        debug_assert!(begun.is_none(), "an event was due");
        self.served.report(now)
    }
}

/// The event that a port needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    At(Time),
    Never,
    AsBefore,
}
