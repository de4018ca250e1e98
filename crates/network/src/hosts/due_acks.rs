//! Delayed ACKs that pass a port without an event: the times from which on the timers of receivers can send ACKs that
//! reach the port (`lookahead/delayed_acks.rs`).

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
    /// For each flow, whether its handshake may not be over. A SYN is shorter than data, so its answer may reach the
    /// port before that of earlier data.
    opens: Vec<bool>,
    /// Number of flows whose handshake may not be over.
    opening: usize,
    /// For each flow, a lower bound on the arrival time of the next ACK that a timer sends.
    due: Tournament,
    /// The earliest of these times if all connections are established, otherwise 0; the maximum without receivers.
    earliest: Time,
    /// Minimum time from the departure of data from the trunk until their own ACK arrives at the port.
    latency: Span,
    /// All bits are set if there are receivers.
    mask: u64,
    /// The link whose port the ACKs reach.
    pub port: Link,
}

impl DueAcks {
    /// Returns the state before the first event.
    pub fn new(delayed: Option<DelayedAcks>) -> DueAcks {
        let Some(DelayedAcks {
            receivers,
            opens,
            latency,
            port,
        }) = delayed
        else {
            return DueAcks {
                receivers: Vec::new(),
                opens: Vec::new(),
                opening: 0,
                due: Tournament::new(0),
                earliest: Time(u64::MAX),
                latency: Span(0),
                mask: 0,
                port: Link::new(0),
            };
        };
        let mut acks = DueAcks {
            due: Tournament::new(receivers.len()),
            receivers,
            opening: opens.iter().filter(|&&opens| opens).count(),
            opens,
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
        let Some(&(_, back)) = self.receivers.get(flow.index()) else {
            return;
        };
        let key = time.map_or(Key::NEVER, |time| Key::new(time + back, TIMER, flow.0));
        self.due.set(flow.0, key);
        self.update();
    }

    /// Ends the passing of delayed ACKs without an event, because the run is simulated step by step: between two steps, an
    /// agent may change what a sender does.
    pub fn disable(&mut self) {
        if !std::mem::take(&mut self.receivers).is_empty() {
            self.opening = usize::MAX;
            self.earliest = Time::ZERO;
        }
    }

    fn update(&mut self) {
        if self.opening == 0 {
            self.earliest = self.due.first().time();
        }
    }

    /// Records that data of a flow have left the trunk, so that no handshake packet follows. Returns whether all
    /// connections are established.
    pub fn on_data(&mut self, flow: Flow) -> bool {
        if let Some(opens) = self.opens.get_mut(flow.index()) {
            self.opening -= usize::from(std::mem::take(opens));
            self.update();
        }
        self.opening == 0
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
        let next = self.due.first();
        let (link, back) = self.receivers[next.entity() as usize];
        DueTimer {
            flow: Flow(next.entity()),
            link,
            time: Time(next.time().0 - back.0),
        }
    }
}
