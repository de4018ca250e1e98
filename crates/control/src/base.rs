//! A longpipe congestion controller that runs between the decisions of a user's controller.

use longpipe_events::{Span, Stream, Time};
use longpipe_tcp::config::CongestionConfig;
use longpipe_tcp::congestion::control::{Ack, AckSample, Cause, Control, CwndUpdate, LostSegment, Pacing, Sent, Wants};
use longpipe_tcp::congestion::flight::Flight;
use longpipe_tcp::congestion::Congestion;

/// The base controller of one connection. Its hooks are invoked like those of a sender's controller, with the window
/// that the user's controller has set.
#[derive(Debug)]
pub struct Base(Congestion);

impl Base {
    /// Creates the controller of a connection that has sent nothing.
    pub fn new(config: &CongestionConfig) -> Base {
        Base(Congestion::new(config))
    }
}

impl Control for Base {
    fn wants(&self) -> Wants {
        self.0.wants()
    }

    fn draw_from(&mut self, draws: Stream) {
        self.0.draw_from(draws);
    }

    fn set_hz(&mut self, hz: u32) {
        self.0.set_hz(hz);
    }

    fn set_preconnect(&mut self, idle: Span) {
        self.0.set_preconnect(idle);
    }

    fn set_ecn(&mut self, on: bool) {
        self.0.set_ecn(on);
    }

    fn on_start(&mut self, rtt: Span, flight: &Flight) -> CwndUpdate {
        self.0.update(flight, |base, flight| base.on_start(rtt, flight))
    }

    fn on_sent(&mut self, sent: &Sent, flight: &Flight) -> Option<Pacing> {
        self.0.on_sent(sent, flight)
    }

    fn on_sample(&mut self, sample: &AckSample, flight: &Flight) -> CwndUpdate {
        self.0.update(flight, |base, flight| base.on_sample(sample, flight))
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.0.update(flight, |base, flight| base.on_ack(ack, flight))
    }

    fn on_lost(&mut self, lost: &LostSegment, now: Time, flight: &Flight) {
        self.0.on_lost(lost, now, flight);
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        self.0
            .update(flight, |base, flight| base.on_reduction(cause, now, flight))
    }

    fn on_recovered(&mut self, spurious: bool, now: Time, flight: &Flight) -> CwndUpdate {
        self.0
            .update(flight, |base, flight| base.on_recovered(spurious, now, flight))
    }
}
