//! UDP datagrams: traffic of their applications, and counters of losses, reordering and delays.

pub(super) mod applications;
mod losses;

use crate::packets::contents::Datagram;
use crate::packets::in_transit::{InTransit, REQUEST};
use crate::packets::Flow;
use crate::report::delays::Delays;
use crate::report::flows::DatagramReport;
use crate::traffic::schedule::Schedule;
use longpipe_events::Time;
use losses::Losses;

/// State of both ends of a datagram flow.
#[derive(Debug)]
pub struct Datagrams {
    schedule: Schedule,
    /// Datagrams in transit as cells.
    way: InTransit<Datagram>,
    /// Number of datagrams sent, and their total payload [byte].
    sent: (u64, u64),
    /// Number of datagrams received, and their total payload [byte], without duplicates.
    received: (u64, u64),
    /// Number of duplicates received.
    duplicates: u64,
    /// Number of datagrams that arrived after one that was sent later.
    reordered: u64,
    /// Highest datagram number received, plus one.
    expected: u64,
    /// Losses, if the path may reorder or duplicate packets. On other paths, missing datagrams are lost.
    losses: Option<Losses>,
    delays: Delays,
}

impl Datagrams {
    /// Returns the state before the first datagram. `keeps_order` is false if the path may reorder or duplicate packets.
    pub(crate) fn new(schedule: Schedule, keeps_order: bool) -> Box<Datagrams> {
        Box::new(Datagrams {
            schedule,
            way: InTransit::default(),
            sent: (0, 0),
            received: (0, 0),
            duplicates: 0,
            reordered: 0,
            expected: 0,
            losses: (!keeps_order).then(Losses::default),
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

    /// Records that a packet with a datagram is duplicated; `frame` is the datagram's number modulo 2³¹.
    pub(super) fn duplicate(&mut self, frame: u32) {
        let number = self.number(frame);
        if let Some(losses) = &mut self.losses {
            losses.duplicate(number);
        }
    }

    /// Records that a packet with a datagram is lost.
    pub(super) fn lose(&mut self, frame: u32) {
        let number = self.number(frame);
        if let Some(losses) = &mut self.losses {
            losses.lose(number, self.expected);
        }
    }

    /// Counts an arriving datagram. Returns false if it is a duplicate.
    fn take(&mut self, now: Time, frame: u32, datagram: &Datagram) -> bool {
        let number = self.number(frame);
        if self.losses.as_mut().is_some_and(|losses| !losses.arrive(number)) {
            self.duplicates += 1;
            return false;
        }
        self.received.0 += 1;
        self.received.1 += u64::from(datagram.length);
        if number >= self.expected {
            self.expected = number + 1;
            if let Some(losses) = &mut self.losses {
                losses.reach(self.expected);
            }
        } else {
            self.reordered += 1;
        }
        self.delays.take(now - datagram.sent);
        true
    }

    /// Returns the number of a datagram, which was sent; `frame` is the number modulo 2³¹.
    fn number(&self, frame: u32) -> u64 {
        // Fewer than 2³¹ datagrams are in transit.
        let last = self.sent.0 - 1;
        last - u64::from((last as u32).wrapping_sub(frame) & !REQUEST)
    }

    /// Returns the counters.
    pub(crate) fn report(&self, flow: Flow) -> DatagramReport {
        DatagramReport {
            flow: flow.index(),
            sent: self.sent.0,
            sent_bytes: self.sent.1,
            received: self.received.0,
            received_bytes: self.received.1,
            duplicates: self.duplicates,
            reordered: self.reordered,
            lost: self
                .losses
                .as_ref()
                .map_or(self.expected - self.received.0, Losses::lost),
            delays: self.delays.clone(),
        }
    }

    /// Returns a conservation law that the counters violate, if any.
    pub(crate) fn broken(&self) -> Option<String> {
        let lost = self.losses.as_ref().map_or(0, Losses::lost);
        let holds = self.received.0 + lost <= self.expected
            && self.received.1 <= self.sent.1
            && self.expected <= self.sent.0
            && self.delays.count() == self.received.0;
        (!holds).then(|| {
            format!(
                "{:?} sent, {:?} received, {} expected, {lost} lost",
                self.sent, self.received, self.expected
            )
        })
    }
}
