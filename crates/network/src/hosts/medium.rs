//! A medium carries packets from host to host: as cells through ATM switches, or as IP packets through routers.

use crate::clock::UNKNOWN;
use crate::hosts::Hosts;
use crate::observe::probe::Probe;
use crate::packets::payload::Payload;
use crate::packets::{Circuit, Flow, Link};
use crate::report::state_hash::StateHash;
use crate::report::{InvariantError, MediumReport};
use longpipe_events::Time;

/// A medium. Hosts pass packets to it by `send`, and it calls `Hosts::receive`. Shortcuts also access the end points
/// directly (`ip/shortcut.rs`, `atm/shortcut.rs`).
pub(crate) trait Medium: Send + Sized {
    /// A packet that was sent and may be forwarded at once, because its order among all packets is known.
    type Proven: Default;

    /// Returns whether the packets of a circuit carry their payload; if not, their end points keep the payload.
    fn travels(&self, vc: Circuit) -> bool;

    /// Sends a packet of a circuit in response to a packet that left its trunk (`lookahead/acks.rs`) at `left_trunk`.
    /// The caller forwards the returned packet.
    fn send<P: Probe>(
        &mut self,
        hosts: &mut Hosts<P>,
        vc: Circuit,
        frame: u32,
        payload: &impl Payload,
        left_trunk: Time,
    ) -> Self::Proven;

    /// Sends a packet that is not a response to another packet.
    #[inline(always)]
    fn send_unsolicited<P: Probe>(&mut self, hosts: &mut Hosts<P>, vc: Circuit, frame: u32, payload: &impl Payload) {
        self.send(hosts, vc, frame, payload, UNKNOWN);
    }

    /// Handles the medium's next event if it precedes all events in the queue and is not after the end of the run.
    fn advance<P: Probe>(&mut self, hosts: &mut Hosts<P>) -> bool;

    /// Returns the time of the medium's next event outside the event queue, for callers with external packets.
    fn next_due(&self) -> Option<Time> {
        None
    }

    /// Returns, as of `now`, a lower bound on the time at which an external packet reaches its host if no further
    /// external packet enters; None if no bound is known.
    fn horizon(&self, _now: Time) -> Option<Time> {
        None
    }

    /// Handles the scheduled arrival of the next packet at the end of a link.
    fn on_arrival<P: Probe>(&mut self, _hosts: &mut Hosts<P>, _link: Link) {}

    /// Handles the scheduled update of a VBR source.
    fn on_source<P: Probe>(&mut self, _hosts: &mut Hosts<P>, _source: usize) {}

    /// Handles the scheduled event of a port: the next departure from a queue discipline.
    fn on_port<P: Probe>(&mut self, _hosts: &mut Hosts<P>, _port: usize) {}

    /// Completes the state at the end of the run.
    fn finish<P: Probe>(&mut self, _hosts: &mut Hosts<P>) {}

    /// Returns the earliest time of any timer or application event at the host at the end of `link`; packets may be
    /// delivered early before that time. None if the host has no early delivery.
    fn earliest_event(&mut self, _link: Link) -> Option<&mut Time> {
        None
    }

    /// Returns the arrival time of the first packet that waits for its event at the host at the end of `link`, if any.
    fn first_waiting(&self, _link: Link) -> Option<Time> {
        None
    }

    /// Delivers the first packet that waits for its event at the host at the end of `link`.
    fn deliver_first<P: Probe>(&mut self, _hosts: &mut Hosts<P>, _link: Link) {}

    /// Fast path for the sender of `flow`, whose wait for the pacer ends at the current time: sends the data that the
    /// pacer releases, and sets the sender's timer. Returns false, without any effect, if the sender's timer needs full
    /// processing.
    #[inline(always)]
    fn send_paced<P: Probe>(&mut self, _hosts: &mut Hosts<P>, _flow: Flow) -> bool {
        false
    }

    /// Returns the counters of all links at `now`, the end of the run, after checking their invariants.
    fn report(&mut self, now: Time, hash: &mut StateHash) -> Result<MediumReport, InvariantError>;
}
