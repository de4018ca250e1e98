//! The probe of a run with a picture.

use crate::picture::Picture;
use longpipe_network::observe::probe::{Detail, Event, Probe};
use longpipe_network::Recorder;

/// Collects the picture, and the traces that the scenario requests.
pub struct Watched {
    pub picture: Picture,
    pub recorder: Recorder,
}

impl Watched {
    /// Passes an event on. This function is not inlined, because the engine reports events in many places.
    #[inline(never)]
    fn pass_on(&mut self, event: Event<'_>) {
        self.picture.observe(event);
        self.recorder.observe(event);
    }
}

impl Probe for Watched {
    fn wants(&self, detail: Detail) -> bool {
        self.picture.wants(detail)
    }

    #[inline(always)]
    fn observe(&mut self, event: Event<'_>) {
        if matches!(
            event,
            Event::Window { .. }
                | Event::Queue(..)
                | Event::Sent(..)
                | Event::Received(..)
                | Event::Acknowledged(..)
                | Event::SentDatagram(..)
                | Event::ReceivedDatagram(..)
        ) {
            self.pass_on(event);
        }
    }
}
