//! UDP datagrams: traffic of their applications, and counters of losses, reordering and delays.

pub mod delays;
pub(super) mod ends;

use crate::hosts::source::Source;
use crate::packets::contents::Datagram;
use crate::packets::in_transit::{InTransit, REQUEST};
use crate::packets::Flow;
use crate::report::flows::DatagramReport;
use delays::Delays;
use longpipe_events::Time;

/// State of both ends of a datagram flow.
#[derive(Clone, Debug)]
pub struct Datagrams {
    source: Source,
    /// Datagrams in transit as cells.
    way: InTransit<Datagram>,
    /// Number of datagrams sent, and their total payload [byte].
    sent: (u64, u64),
    /// Number of datagrams received, and their total payload [byte].
    received: (u64, u64),
    /// Highest datagram number received, plus one.
    expected: u64,
    /// Whether links may duplicate packets, so that more datagrams may be received than were sent.
    may_repeat: bool,
    delays: Delays,
}

impl Datagrams {
    /// Returns the state before the first datagram.
    pub(crate) fn new(source: Source, may_repeat: bool) -> Box<Datagrams> {
        Box::new(Datagrams {
            source,
            way: InTransit::default(),
            sent: (0, 0),
            received: (0, 0),
            expected: 0,
            may_repeat,
            delays: Delays::default(),
        })
    }

    /// Returns the datagram of a frame in transit as cells.
    pub(crate) fn get(&self, frame: u32) -> &Datagram {
        self.way.get(frame)
    }

    /// Removes and returns the datagram of a frame. Also removes earlier datagrams, which were lost.
    pub(crate) fn pick(&mut self, frame: u32) -> Datagram {
        self.way.take(frame)
    }

    /// Counts an arriving datagram; `frame` is its number modulo 2³¹.
    fn take(&mut self, now: Time, frame: u32, datagram: &Datagram) {
        self.received.0 += 1;
        self.received.1 += u64::from(datagram.length);
        // The upper bits are determined by earlier numbers, because the new number is close to them.
        let ahead = frame.wrapping_sub(self.expected as u32) & !REQUEST;
        if ahead < REQUEST / 2 {
            self.expected += u64::from(ahead) + 1;
        }
        self.delays.take(now - datagram.sent);
    }

    /// Returns the counters.
    pub(crate) fn report(&self, flow: Flow) -> DatagramReport {
        DatagramReport {
            flow: flow.index(),
            sent: self.sent.0,
            sent_bytes: self.sent.1,
            received: self.received.0,
            received_bytes: self.received.1,
            lost: self.expected.saturating_sub(self.received.0),
            delays: self.delays.clone(),
        }
    }

    /// Returns a conservation law that the counters violate, if any.
    pub(crate) fn broken(&self) -> Option<String> {
        let once = self.received.0 <= self.expected && self.received.1 <= self.sent.1;
        let holds = (once || self.may_repeat) && self.expected <= self.sent.0 && self.delays.count() == self.received.0;
        (!holds).then(|| {
            format!(
                "{:?} sent, {:?} received, {} expected",
                self.sent, self.received, self.expected
            )
        })
    }
}
