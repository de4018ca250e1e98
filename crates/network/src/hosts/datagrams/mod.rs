//! Datagrams of UDP beside TCP: what their application sends, and what becomes of them.

pub mod delays;
pub(super) mod ends;
pub(crate) mod source;

use crate::packets::contents::Datagram;
use crate::packets::in_transit::{InTransit, REQUEST};
use crate::packets::Flow;
use crate::report::flows::DatagramReport;
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
