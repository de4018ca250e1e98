//! The probe of a run with a picture.

use crate::picture::Picture;
use longpipe_events::Time;
use longpipe_network::{Datagram, Flow, Link, Probe, Recorder};
use longpipe_tcp::{AckSegment, DataSegment};

/// Collects the picture, and the traces that the scenario requests. Its methods are not inlined, because the engine
/// calls each of them from many places.
pub struct Watched {
    pub picture: Picture,
    pub recorder: Recorder,
}

impl Probe for Watched {
    #[inline(never)]
    fn window(&mut self, now: Time, flow: Flow, cwnd: f64, ssthresh: f64) {
        self.picture.window(now, flow, cwnd, ssthresh);
        self.recorder.window(now, flow, cwnd, ssthresh);
    }

    fn wants_queue(&self) -> bool {
        true
    }

    #[inline(never)]
    fn queue(&mut self, now: Time, link: Link, held: u64) {
        self.picture.queue(now, link, held);
        self.recorder.queue(now, link, held);
    }

    #[inline(never)]
    fn sent(&mut self, now: Time, flow: Flow, frame: u32, segment: &DataSegment) {
        self.picture.sent(now, flow, frame, segment);
        self.recorder.sent(now, flow, frame, segment);
    }

    #[inline(never)]
    fn received(&mut self, now: Time, flow: Flow, frame: u32, segment: &DataSegment) {
        self.picture.received(now, flow, frame, segment);
    }

    #[inline(never)]
    fn acknowledged(&mut self, now: Time, flow: Flow, frame: u32, ack: &AckSegment) {
        self.picture.acknowledged(now, flow, frame, ack);
        self.recorder.acknowledged(now, flow, frame, ack);
    }

    #[inline(never)]
    fn sent_datagram(&mut self, now: Time, flow: Flow, frame: u32, datagram: &Datagram) {
        self.picture.sent_datagram(now, flow, frame, datagram);
    }

    #[inline(never)]
    fn received_datagram(&mut self, now: Time, flow: Flow, frame: u32, datagram: &Datagram, first: bool) {
        self.picture.received_datagram(now, flow, frame, datagram, first);
    }
}
