//! Loss recovery's access to the window: recovery reads the window, requests reductions from the controller, and
//! adjusts the window through `adjust`.

use crate::congestion::control::{AckSample, Cause, Pacing};
use crate::congestion::flight::Flight;
use crate::congestion::{with_usual, Congestion, Controller, WindowAdjustment};
use crate::journal::{EventCause, Journal};
use longpipe_events::Time;

/// Access to the window of one sender at one point in time.
#[derive(Debug)]
pub struct WindowHandle<'a> {
    flight: &'a mut Flight,
    congestion: &'a mut Congestion,
    /// Pacing rate, for a controller that sets one.
    pacing: Option<&'a mut Option<Pacing>>,
    journal: &'a mut Journal,
    now: Time,
}

impl<'a> WindowHandle<'a> {
    /// Creates the handle for a sender.
    #[inline(always)]
    pub fn new(
        flight: &'a mut Flight,
        congestion: &'a mut Congestion,
        pacing: Option<&'a mut Option<Pacing>>,
        journal: &'a mut Journal,
        now: Time,
    ) -> WindowHandle<'a> {
        WindowHandle {
            flight,
            congestion,
            pacing,
            journal,
            now,
        }
    }

    /// Returns the sequence space and the window.
    #[inline(always)]
    pub fn flight(&self) -> &Flight {
        self.flight
    }

    /// Reports an ACK to the controller before the recovery processes it.
    #[inline(always)]
    pub fn sample(&mut self, sample: &AckSample) {
        let WindowHandle { flight, congestion, .. } = self;
        let pacing = with_usual!(&mut **congestion, controller => controller.take_sample(sample, flight));
        self.pace(pacing);
    }

    /// Requests a reduction from the controller.
    pub fn reduce(&mut self, cause: Cause) {
        let before = self.flight.cwnd();
        let pacing = self.congestion.on_reduction(cause, self.now, self.flight);
        self.pace(pacing);
        self.journal.on_reduction(cause, self.now, before, self.flight);
    }

    /// Undoes the latest reduction, which was spurious: restores the window and the threshold [byte].
    pub fn undo(&mut self, cause: EventCause, cwnd: f64, ssthresh: f64) {
        self.adjust(WindowAdjustment::Back { cwnd, ssthresh });
        self.recovered(true);
        self.journal.on_undo(cause, self.now, self.flight);
    }

    /// Reports the end of a recovery to the controller.
    pub fn recovered(&mut self, spurious: bool) {
        let pacing = self.congestion.on_recovered(spurious, self.now, self.flight);
        self.pace(pacing);
    }

    /// Adjusts the window during loss recovery, unless the controller owns the window.
    pub fn adjust(&mut self, how: WindowAdjustment) {
        self.congestion.adjust(how, self.flight);
    }

    fn pace(&mut self, pacing: Option<Pacing>) {
        if let (Some(held), Some(_)) = (&mut self.pacing, pacing) {
            **held = pacing;
        }
    }
}
