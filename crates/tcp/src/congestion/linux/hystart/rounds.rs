//! HyStart++ (RFC 9406): an increased RTT first slows growth for five rounds, then ends slow start.

use super::{Start, SAMPLES};
use crate::congestion::control::Ack;
use crate::congestion::flight::Flight;
use longpipe_events::Span;

/// Bounds on the RTT increase that starts conservative slow start (RFC 9406).
const MIN_INCREASE: Span = Span::millis(4);
const MAX_INCREASE: Span = Span::millis(16);

/// Divisor of growth in conservative slow start (RFC 9406 CSS_GROWTH_DIVISOR).
const DIVISOR: f64 = 4.0;
/// Rounds of conservative slow start (RFC 9406 CSS_ROUNDS).
const CONSERVATIVE_ROUNDS: u32 = 5;

/// State of HyStart++ (RFC 9406).
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// First byte after the round.
    round_end: u64,
    /// Minimum RTT sample of the current round, and of the previous one.
    round_min_rtt: Option<Span>,
    previous_min_rtt: Option<Span>,
    samples: u32,
    /// Conservative slow start, if it has begun.
    conservative: Option<Conservative>,
}

/// Conservative slow start (RFC 9406 CSS).
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// Minimum RTT of the round in which it began (RFC 9406 cssBaselineMinRtt).
    baseline: Span,
    /// Number of rounds since then.
    rounds: u32,
}

impl Rounds {
    /// Processes an ACK in slow start.
    pub(super) fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Start {
        if flight.una > self.round_end {
            if let Some(conservative) = &mut self.conservative {
                conservative.rounds += 1;
            }
            (self.previous_min_rtt, self.round_min_rtt, self.samples) = (self.round_min_rtt, None, 0);
            self.round_end = flight.nxt;
        }
        if let Some(rtt) = ack.rtt {
            self.round_min_rtt = self.round_min_rtt.min(Some(rtt)).or(Some(rtt));
            self.samples += 1;
        }
        if let (true, Some(min_rtt)) = (self.samples >= SAMPLES, self.round_min_rtt) {
            match self.conservative {
                Some(Conservative { baseline, .. }) if min_rtt < baseline => self.conservative = None,
                None if self
                    .previous_min_rtt
                    .is_some_and(|previous| min_rtt >= previous + rtt_threshold(previous)) =>
                {
                    self.conservative = Some(Conservative {
                        baseline: min_rtt,
                        rounds: 0,
                    });
                }
                _ => {}
            }
        }
        match self.conservative {
            None => Start::Grow(1.0),
            Some(conservative) if conservative.rounds >= CONSERVATIVE_ROUNDS => Start::Leave,
            Some(_) => Start::Grow(1.0 / DIVISOR),
        }
    }
}

/// Returns the RTT increase over `baseline` that indicates a growing queue (RFC 9406 RttThresh).
fn rtt_threshold(baseline: Span) -> Span {
    Span((baseline.0 / 8).clamp(MIN_INCREASE.0, MAX_INCREASE.0))
}
