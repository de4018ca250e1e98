//! What a recovery holds of the window: it reads it, calls for reductions, and moves it meanwhile by one function.

use super::control::{AckSample, Cause, Pacing};
use super::Congestion;
use crate::flight::Flight;
use crate::journal::{EventCause, Journal};
use longpipe_events::Time;

/// How the window moves other than by its control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Regulation {
    /// So many segments more: they left the network (RFC 2001).
    Inflate(u32),
    /// Less what a partial ACK acknowledged, and a segment more; a segment at least (RFC 2582).
    Deflate {
        /// Bytes acknowledged.
        acked: u64,
    },
    /// To the threshold.
    ToThreshold,
    /// Likewise, unless it is below.
    ToThresholdAtMost,
    /// To one segment: slow start from the beginning.
    ToSegment,
    /// To so many bytes, unless it is below.
    AtMost(f64),
    /// The threshold to so many bytes, unless it is below; the window stays.
    ThresholdAtMost(f64),
    /// To so many bytes.
    To(f64),
    /// To the data in flight and a segment more, so that the first one lost can leave, even if the control moves the window
    /// always (Linux: `tcp_enter_loss`).
    AfterTimeout {
        /// Bytes in flight.
        in_flight: u64,
    },
    /// Back to what they were [byte], each unless it is above: the reduction was spurious (Linux: `tcp_undo_cwnd_reduction`).
    Back {
        /// Congestion window.
        cwnd: f64,
        /// Slow start threshold.
        ssthresh: f64,
    },
}

/// The window of one sender, at one instant.
#[derive(Debug)]
pub struct Reins<'a> {
    flight: &'a mut Flight,
    congestion: &'a mut Congestion,
    /// The rate of a control that has one.
    pacing: Option<&'a mut Option<Pacing>>,
    journal: &'a mut Journal,
    now: Time,
}

impl<'a> Reins<'a> {
    /// Those of a sender.
    #[inline(always)]
    pub fn new(
        flight: &'a mut Flight,
        congestion: &'a mut Congestion,
        pacing: Option<&'a mut Option<Pacing>>,
        journal: &'a mut Journal,
        now: Time,
    ) -> Reins<'a> {
        Reins {
            flight,
            congestion,
            pacing,
            journal,
            now,
        }
    }

    /// Sequence space and window.
    #[inline(always)]
    pub fn flight(&self) -> &Flight {
        self.flight
    }

    /// Reports an ACK to the control before the recovery processes it.
    pub fn sample(&mut self, sample: &AckSample) {
        self.congestion.on_sample(sample, self.flight);
    }

    /// Has the control bring the window and the threshold down.
    pub fn reduce(&mut self, cause: Cause) {
        let before = self.flight.cwnd();
        let pacing = self.congestion.on_reduction(cause, self.now, self.flight);
        self.pace(pacing);
        self.journal.on_reduction(cause, self.now, before, self.flight);
    }

    /// Undoes the latest reduction, which was spurious: restores the window and the threshold [byte].
    pub fn undo(&mut self, cause: EventCause, cwnd: f64, ssthresh: f64) {
        self.regulate(Regulation::Back { cwnd, ssthresh });
        self.recovered(true);
        self.journal.on_undo(cause, self.now, self.flight);
    }

    /// Tells the control that a recovery ended.
    pub fn recovered(&mut self, spurious: bool) {
        let pacing = self.congestion.on_recovered(spurious, self.now, self.flight);
        self.pace(pacing);
    }

    /// Moves the window while the control has no say in it, unless the control moves it always.
    pub fn regulate(&mut self, how: Regulation) {
        if self.congestion.owns_window() && !matches!(how, Regulation::AfterTimeout { .. }) {
            return;
        }
        let (cwnd, ssthresh, mss) = (self.flight.cwnd(), self.flight.ssthresh(), self.flight.mss());
        let (cwnd, ssthresh) = match how {
            Regulation::Inflate(segments) => (cwnd + f64::from(segments) * mss, ssthresh),
            Regulation::Deflate { acked } => ((cwnd - acked as f64 + mss).max(mss), ssthresh),
            Regulation::ToThreshold => (ssthresh, ssthresh),
            Regulation::ToThresholdAtMost => (ssthresh.min(cwnd), ssthresh),
            Regulation::ToSegment => (mss, ssthresh),
            Regulation::AtMost(bytes) => (cwnd.min(bytes), ssthresh),
            Regulation::ThresholdAtMost(bytes) => (cwnd, ssthresh.min(bytes)),
            Regulation::To(bytes) => (bytes, ssthresh),
            Regulation::AfterTimeout { in_flight } => (in_flight as f64 + mss, ssthresh),
            Regulation::Back {
                cwnd: prior_cwnd,
                ssthresh: prior_ssthresh,
            } => (cwnd.max(prior_cwnd), ssthresh.max(prior_ssthresh)),
        };
        self.flight.limits.set(cwnd, ssthresh);
    }

    fn pace(&mut self, pacing: Option<Pacing>) {
        if let (Some(held), Some(_)) = (&mut self.pacing, pacing) {
            **held = pacing;
        }
    }
}
