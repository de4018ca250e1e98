//! What there is beside a congestion control that asks for more than how much an ACK acknowledged.

use crate::config::TcpConfig;
use crate::congestion::control::{Pacing, Usage, Wants};
use crate::flight::Flight;
use crate::ledger::Ledger;
use crate::pacer::{self, Pacer};
use longpipe_events::{Span, Time};

/// What it is told from, and the rate that it answered.
#[derive(Clone, Debug)]
pub struct Told {
    /// A record of what is under way, if it wants one, or the recovery does.
    pub ledger: Option<Ledger>,
    /// The shortest round trip that the timer measured.
    pub least_rtt: Option<Span>,
    /// How far the latest window was used.
    pub usage: Usage,
    /// At which rate it would have segments leave.
    pub pacing: Option<Pacing>,
    /// Holds segments back to that rate, where pacing is asked for.
    pub pacer: Option<Pacer>,
    /// Whether the rate goes by the window.
    by_window: bool,
    /// Whether the control hears of transmissions.
    pub hears_sending: bool,
}

impl Told {
    /// Nothing so far, of a connection so configured.
    pub fn new(wants: Wants, config: &TcpConfig) -> Told {
        let most = config.pacing_burst_segments.map_or(u64::MAX, u64::from);
        Told {
            ledger: (wants.records || wants.losses).then(|| Ledger::new(wants)),
            least_rtt: None,
            usage: Usage::default(),
            pacing: None,
            pacer: (config.pacing || wants.pacing)
                .then(|| Pacer::new(most.saturating_mul(u64::from(config.mss_bytes)))),
            by_window: config.pacing && !wants.pacing,
            hears_sending: wants.sending,
        }
    }

    /// Bytes under way: not acknowledged, nor reported by SACK blocks where records are kept.
    #[inline]
    pub fn in_flight(&self, flight: &Flight) -> u64 {
        match &self.ledger {
            Some(ledger) => ledger.in_flight(flight.max),
            None => flight.outstanding(),
        }
    }

    /// At which rate it would have segments leave, for a recovery that calls for reductions.
    pub fn pacing(&mut self) -> &mut Option<Pacing> {
        &mut self.pacing
    }

    /// It answered an ACK or a reduction.
    #[inline]
    pub fn pace(&mut self, pacing: Option<Pacing>) {
        if pacing.is_some() {
            self.pacing = pacing;
        }
    }

    /// An ACK moved the window, and with it a rate that goes by it.
    #[inline]
    pub fn pace_by_window(&mut self, flight: &Flight, srtt: Option<Span>, least_rtt: Option<Span>) {
        if self.by_window {
            self.pacing = pacer::by_window(flight, srtt, least_rtt);
        }
    }

    /// For how long the next segment is held back.
    #[inline]
    pub fn held(&self, now: Time) -> Span {
        self.pacer.as_ref().map_or(Span(0), |pacer| pacer.held(now))
    }

    /// Whether a segment of that length has to wait for its time.
    #[inline]
    pub fn holds(&mut self, now: Time, length: u32) -> bool {
        self.pacer
            .as_mut()
            .is_some_and(|pacer| pacer.holds(now, u64::from(length)))
    }
}
