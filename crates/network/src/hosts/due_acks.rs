//! Times from which on the delayed-ACK timers of receivers can send ACKs that reach a port. Before the earliest of
//! them, ACKs pass the port without an event (`lookahead/delayed_acks.rs`).

use crate::clock::TIMER;
use crate::lookahead::delayed_acks::DelayedAcks;
use crate::packets::{Flow, Link};
use longpipe_events::{Key, Span, Time, Tournament};

/// A receiver whose timer expires.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DueTimer {
    pub flow: Flow,
    /// The link into the receiver's host.
    pub link: Link,
    pub time: Time,
}

/// The next ACKs that timers of receivers may send.
#[derive(Clone, Debug)]
pub(crate) struct DueAcks {
    /// For each flow, the link into the receiver's host, and the minimum time from the transmission of an ACK until its
    /// arrival at the port. Empty if no delayed ACK passes the port without an event.
    receivers: Vec<(Link, Span)>,
    /// For each flow, whether packets of its handshake may still be in transit. A SYN is shorter than data, so its answer
    /// may reach the port before that of earlier data.
    in_handshake: Vec<bool>,
    /// Number of flows of which `in_handshake` is true; the maximum after `disable`.
    handshakes: usize,
    /// For each flow, a lower bound on the arrival time of the next ACK that a timer sends.
    arrivals: Tournament,
    /// The earliest time in `arrivals` if all connections are established, otherwise 0; the maximum without receivers.
    earliest: Time,
    /// Minimum time from the departure of data from the trunk until their own ACK arrives at the port.
    latency: Span,
    /// All bits are set if there are receivers, otherwise none is, so that `end` returns 0 without a branch.
    mask: u64,
    /// The link whose port the ACKs reach.
    pub port: Link,
}

impl DueAcks {
    /// Returns the state before the first event.
    pub fn new(delayed: Option<DelayedAcks>) -> DueAcks {
        let Some(DelayedAcks {
            receivers,
            has_handshake,
            latency,
            port,
        }) = delayed
        else {
            return DueAcks {
                receivers: Vec::new(),
                in_handshake: Vec::new(),
                handshakes: 0,
                arrivals: Tournament::new(0),
                earliest: Time(u64::MAX),
                latency: Span(0),
                mask: 0,
                port: Link::new(0),
            };
        };
        let mut acks = DueAcks {
            arrivals: Tournament::new(receivers.len()),
            receivers,
            handshakes: has_handshake.iter().filter(|&&begins| begins).count(),
            in_handshake: has_handshake,
            earliest: Time::ZERO,
            latency,
            mask: u64::MAX,
            port,
        };
        acks.update();
        acks
    }

    /// Sets the time of a receiver's timer; None if there is none.
    pub fn set(&mut self, flow: Flow, time: Option<Time>) {
        let Some(&(_, return_time)) = self.receivers.get(flow.index()) else {
            return;
        };
        let key = time.map_or(Key::NEVER, |time| Key::new(time + return_time, TIMER, flow.0));
        self.arrivals.set(flow.0, key);
        self.update();
    }

    /// Ends the passing of delayed ACKs without an event, because the run is simulated step by step: between two steps, an
    /// agent may change what a sender does.
    pub fn disable(&mut self) {
        if !std::mem::take(&mut self.receivers).is_empty() {
            self.handshakes = usize::MAX;
            self.earliest = Time::ZERO;
        }
    }

    /// Sets `earliest` after a change of a timer or a handshake.
    fn update(&mut self) {
        if self.handshakes == 0 {
            self.earliest = self.arrivals.first().time();
        }
    }

    /// Records that data of a flow have left the trunk, so that no handshake packet follows. Returns whether all
    /// connections are established.
    pub fn on_data(&mut self, flow: Flow) -> bool {
        if let Some(in_handshake) = self.in_handshake.get_mut(flow.index()) {
            self.handshakes -= usize::from(std::mem::take(in_handshake));
            self.update();
        }
        self.handshakes == 0
    }

    /// Returns the time from which on ACKs may arrive that timers send; 0 if the handshake of a connection may not be
    /// over.
    #[inline(always)]
    pub fn earliest(&self) -> Time {
        self.earliest
    }

    /// Returns the time before which no ACKs arrive of data that leave the trunk at `left_trunk` or later; 0 if no
    /// delayed ACK passes the port without an event.
    #[inline(always)]
    pub fn end(&self, left_trunk: Time) -> Time {
        Time((left_trunk.0 + self.latency.0) & self.mask)
    }

    /// Returns the receiver whose timer may send the next ACK.
    pub fn next(&self) -> DueTimer {
        let next = self.arrivals.first();
        let (link, return_time) = self.receivers[next.entity() as usize];
        DueTimer {
            flow: Flow(next.entity()),
            link,
            time: Time(next.time().0 - return_time.0),
        }
    }
}
