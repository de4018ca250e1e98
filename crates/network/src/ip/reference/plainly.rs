//! A port whose queue is served, in the open: the packet in service goes on when it has left.

use crate::drops::Drops;
use crate::ip::port::served::{Held, Served};
use crate::ip::report::PacketReport;
use crate::observe::probe::Probe;
use crate::observe::watch;
use crate::packets::{Flow, Link, Options, Packet};
use longpipe_events::{Time, PS_PER_SECOND};

/// The port, with its line.
#[derive(Clone, Debug)]
pub(super) struct Plainly {
    served: Served,
    /// The packet that the line sends.
    in_service: Option<Held>,
    /// When it has left: whole picoseconds and the rest [1/rate ps].
    free: (u64, u64),
}

impl Plainly {
    /// An idle one.
    pub fn new(served: Served) -> Plainly {
        Plainly {
            served,
            in_service: None,
            free: (0, 0),
        }
    }

    /// Packets held, the one in service included.
    pub fn held(&self) -> u64 {
        self.served.held().0
    }

    /// Packets lost here that the engine has yet to take.
    pub fn drops(&mut self) -> &mut Drops {
        self.served.drops()
    }

    /// The flow of the packet that the line sends, if it was marked here.
    pub fn marked(&self) -> Option<Flow> {
        let held = self.in_service.as_ref().filter(|held| held.was_marked());
        held.map(|held| held.packet.vc().flow())
    }

    /// A packet comes; when the line will have sent it, if it begins at once.
    pub fn arrive(&mut self, now: Time, packet: Packet, options: &Options) -> Option<Time> {
        let begins = self.served.arrive(now, packet, options)?;
        self.free = (now.0, 0);
        Some(self.begin(begins))
    }

    /// The packet in service has left; it, and when the line will have sent the next one.
    pub fn depart(&mut self, now: Time) -> Option<(Held, Option<Time>)> {
        let left = self.in_service.take()?;
        let next = self.served.depart(now).map(|next| self.begin(next));
        Some((left, next))
    }

    fn begin(&mut self, next: Held) -> Time {
        let (whole, part) = self.free;
        let lasts = 8 * u128::from(next.packet.bytes()) * u128::from(PS_PER_SECOND) + u128::from(part);
        let rate = u128::from(self.served.rate().0);
        self.free = (whole + (lasts / rate) as u64, (lasts % rate) as u64);
        self.in_service = Some(next);
        Time(self.free.0)
    }

    /// The run is over: tells of the packet in service, whose departure is certain though its event never comes.
    pub fn watch_in_service<P: Probe>(&self, probe: &mut P, link: Link) {
        if let Some(held) = &self.in_service {
            let departure = Time(self.free.0);
            watch::packet(probe, link, Some(held.arrival), departure, held.packet, held.options());
        }
    }

    /// What it counted, as of `now`, the end of the run.
    pub fn report(&mut self, now: Time) -> PacketReport {
        self.served.report(now)
    }
}
