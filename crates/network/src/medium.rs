//! What carries packets from host to host: cells through ATM switches, or IP packets through routers.

use crate::clock::UNKNOWN;
use crate::hosts::Hosts;
use crate::observe::probe::Probe;
use crate::packets::payload::Payload;
use crate::packets::{Circuit, Link};
use crate::report::state_hash::StateHash;
use crate::report::{Carried, InvariantError};
use longpipe_events::Time;

/// A medium. It knows hosts by their packets alone: it takes what they `send` and has them `receive`.
pub(crate) trait Medium: Sized {
    /// A packet that was sent and may go on at once, since its place among all others is certain.
    type Certain: Default;

    /// Whether what packets of a circuit carry travels with them; else their end points keep it.
    fn travels(&self, vc: Circuit) -> bool;

    /// A host sends a packet of a circuit in answer to one that left its trunk at `since`; what is returned has yet to go on.
    fn send<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        vc: Circuit,
        frame: u32,
        payload: &impl Payload,
        since: Time,
    ) -> Self::Certain;

    /// The same of a packet that answers none. In a browser what is small counts, too: one function for all who send so.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    #[cfg_attr(target_family = "wasm", inline(never))]
    fn send_off<P: Probe>(&mut self, hosts: &mut Hosts<P>, vc: Circuit, frame: u32, payload: &impl Payload) {
        self.send(hosts, vc, frame, payload, UNKNOWN);
    }

    /// Handles the medium's next event if it precedes all events in the queue and is not after the end.
    fn advance<P: Probe>(&mut self, hosts: &mut Hosts<P>) -> bool;

    /// Returns the time of the medium's next event outside of the event queue, for callers with external packets.
    fn next_due(&self) -> Option<Time> {
        None
    }

    /// Before which instant no packet of a program outside reaches its host if none enters, as of `now`; none where that isn't
    /// known.
    fn horizon(&self, _now: Time) -> Option<Time> {
        None
    }

    /// What a link brings next has arrived at its end, as the event queue was told.
    fn on_arrival<P: Probe>(&mut self, _hosts: &mut Hosts<P>, _link: Link) {}

    /// Time to look after a VBR source.
    fn on_source<P: Probe>(&mut self, _hosts: &mut Hosts<P>, _source: usize) {}

    /// Time for a port that sweeps to look what has come, or for one that serves to let a packet go.
    fn on_port<P: Probe>(&mut self, _hosts: &mut Hosts<P>, _port: usize) {}

    /// The run is over.
    fn finish<P: Probe>(&mut self, _hosts: &mut Hosts<P>) {}

    /// Up to when nothing but packets concerns the host at the end of a link, which sends at once, if that is known; where this
    /// medium has hosts get packets ahead of time.
    fn quiet_until(&mut self, _link: Link) -> Option<&mut Time> {
        None
    }

    /// When the first packet that waits for its event reaches the host at the end of a link, likewise.
    fn first_waiting(&self, _link: Link) -> Option<Time> {
        None
    }

    /// That packet reaches its host.
    fn deliver_first<P: Probe>(&mut self, _hosts: &mut Hosts<P>, _link: Link) {}

    /// What all links have counted by `now`, the end of the run, checked.
    fn report(&mut self, now: Time, hash: &mut StateHash) -> Result<Carried, InvariantError>;
}
