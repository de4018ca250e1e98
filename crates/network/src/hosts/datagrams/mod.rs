//! Datagrams of UDP beside TCP: what their application sends, and what becomes of them.

pub mod delays;
pub(crate) mod source;

use super::Hosts;
use crate::clock::{Actor, START, UNKNOWN};
use crate::medium::Medium;
use crate::observe::probe::Probe;
use crate::packets::contents::Datagram;
use crate::packets::in_transit::{InTransit, REQUEST};
use crate::packets::Circuit;
use crate::report::FlowReport;
use delays::Delays;
use longpipe_events::Time;
use source::Source;

/// Both ends of a flow of datagrams.
#[derive(Clone, Debug)]
pub struct Datagrams {
    source: Source,
    /// Those that travel as cells and have not come.
    way: InTransit<Datagram>,
    /// What was sent, and its payload [byte].
    sent: (u64, u64),
    /// What came, and its payload [byte].
    received: (u64, u64),
    /// One more than the highest number that came.
    expected: u64,
    delays: Delays,
}

impl Datagrams {
    /// Nothing sent.
    pub(crate) fn new(source: Source) -> Box<Datagrams> {
        Box::new(Datagrams {
            source,
            way: InTransit::default(),
            sent: (0, 0),
            received: (0, 0),
            expected: 0,
            delays: Delays::default(),
        })
    }

    /// The datagram of a frame that is on its way as cells.
    pub(crate) fn get(&self, frame: u32) -> &Datagram {
        self.way.get(frame)
    }

    /// Takes it off its way, and those before it, which were lost.
    pub(crate) fn pick(&mut self, frame: u32) -> Datagram {
        self.way.take(frame)
    }

    /// A datagram comes, of this number modulo 2³¹.
    fn take(&mut self, now: Time, frame: u32, datagram: &Datagram) {
        self.received.0 += 1;
        self.received.1 += u64::from(datagram.length);
        // It is near those that came before.
        let ahead = frame.wrapping_sub(self.expected as u32) & !REQUEST;
        if ahead < REQUEST / 2 {
            self.expected += u64::from(ahead) + 1;
        }
        self.delays.take(now - datagram.sent);
    }

    /// What has come of it all.
    pub(crate) fn report(&self, flow: usize) -> DatagramReport {
        DatagramReport {
            flow,
            sent: self.sent.0,
            sent_bytes: self.sent.1,
            received: self.received.0,
            received_bytes: self.received.1,
            lost: self.expected.saturating_sub(self.received.0),
            delays: self.delays.clone(),
        }
    }

    /// What is wrong with the account, if anything is.
    pub(crate) fn broken(&self) -> Option<String> {
        let holds = self.received.0 <= self.expected
            && self.expected <= self.sent.0
            && self.received.1 <= self.sent.1
            && self.delays.count() == self.received.0;
        (!holds).then(|| {
            format!(
                "{:?} sent, {:?} received, {} expected",
                self.sent, self.received, self.expected
            )
        })
    }
}

/// One flow of datagrams: results.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagramReport {
    /// Flow index.
    pub flow: usize,
    /// Datagrams that the application sent.
    pub sent: u64,
    /// Their payload.
    pub sent_bytes: u64,
    /// Datagrams that came.
    pub received: u64,
    /// Their payload.
    pub received_bytes: u64,
    /// Those missing among all up to the last that came (RFC 3550 section 6.4.1).
    pub lost: u64,
    /// How long those that came took, from the application that sends to the one that receives.
    pub delays: Delays,
}

impl DatagramReport {
    /// Tells a flow's results what TCP would have counted: payload that came and that was sent.
    pub(crate) fn tell(&self, report: &mut FlowReport) {
        report.delivered_bytes = self.received_bytes;
        report.highest_sequence_bytes = self.received_bytes;
        report.sender.sent_segments = self.sent;
        report.sender.sent_bytes = self.sent_bytes;
    }
}

/// An application sends what is due now.
pub(super) fn send<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: usize) {
    let (travels, now) = (medium.travels(Circuit::of_data(flow)), hosts.clock.now);
    loop {
        let state = &mut hosts.flows[flow];
        let Some(datagrams) = &mut state.datagrams else { return };
        let start = state.start;
        let Some((at, length)) = datagrams.source.due(start).filter(|due| due.0 <= hosts.clock.end) else {
            return;
        };
        if at > now {
            return hosts.clock.set(Actor::Start(flow), at, START);
        }
        datagrams.source.step();
        datagrams.sent.0 += 1;
        datagrams.sent.1 += u64::from(length);
        let datagram = Datagram { sent: now, length };
        let frame = datagrams.way.number(travels, datagram);
        hosts.probe.sent_datagram(now, flow as u32, frame, &datagram);
        medium.send(hosts, Circuit::of_data(flow), frame, &datagram, UNKNOWN);
    }
}

/// A datagram reaches its application.
pub(super) fn arrive<P: Probe>(hosts: &mut Hosts<P>, flow: usize, frame: u32, datagram: &Datagram) {
    let now = hosts.clock.now;
    hosts.probe.received_datagram(now, flow as u32, frame, datagram);
    if let Some(datagrams) = &mut hosts.flows[flow].datagrams {
        datagrams.take(now, frame, datagram);
    }
}
