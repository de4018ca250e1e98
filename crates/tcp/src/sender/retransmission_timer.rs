//! RTT estimation and the retransmission timeout.

use crate::config::TimerConfig;
use longpipe_events::{Span, Time};
use std::num::NonZeroU64;

/// RTT estimator and RTO. It reads no clock: callers pass the time.
#[derive(Clone, Debug)]
pub enum RttEstimator {
    /// RTO with the coarse ticks of BSD's slow timer.
    Coarse(CoarseTimer),
    /// RTO of RFC 6298, with a fine clock.
    Fine(FineTimer),
}

impl RttEstimator {
    /// Creates an estimator that has no samples. `phase` is the time of the first tick of a coarse clock.
    pub fn new(config: &TimerConfig, phase: Span) -> RttEstimator {
        match *config {
            TimerConfig::Coarse {
                tick_ps,
                phase: _,
                min_rto_ticks,
                max_rto_ticks,
                initial_rto_ticks,
                count_from_one,
                expires_on_tick,
            } => RttEstimator::Coarse(CoarseTimer {
                tick: tick_ps,
                current: ((phase.0 % tick_ps).wrapping_sub(tick_ps), 0),
                phase: phase.0 % tick_ps,
                srtt: 0,
                exact_srtt: 0,
                rttvar: 0,
                rto: initial_rto_ticks,
                backoff: 0,
                min: min_rto_ticks,
                max: max_rto_ticks,
                count_from_one,
                expires_on_tick,
            }),
            TimerConfig::Fine {
                granularity_ps,
                min_rto_ps,
                max_rto_ps,
                initial_rto_ps,
                timestamps: _,
            } => {
                let mut timer = FineTimer {
                    rto: Span(0),
                    granularity: granularity_ps,
                    srtt: None,
                    rttvar: 0,
                    estimate: initial_rto_ps,
                    backoff: 0,
                    min: min_rto_ps,
                    max: max_rto_ps,
                };
                timer.limit();
                RttEstimator::Fine(timer)
            }
        }
    }

    /// Adds the RTT sample of a segment that was sent at `sent`, was not retransmitted (Karn), and was acknowledged at
    /// `now`.
    #[inline]
    pub fn measure(&mut self, sent: Time, now: Time) {
        match self {
            RttEstimator::Coarse(timer) => timer.measure(sent, now),
            RttEstimator::Fine(timer) => timer.measure(now - sent),
        }
    }

    /// Doubles the RTO after a timeout, up to a factor of 64.
    pub fn back_off(&mut self) {
        match self {
            RttEstimator::Coarse(timer) => timer.backoff = (timer.backoff + 1).min(MAX_BACKOFF),
            RttEstimator::Fine(timer) => {
                timer.backoff = (timer.backoff + 1).min(MAX_BACKOFF);
                timer.limit();
            }
        }
    }

    /// Resets the RTO after a SYN was lost and no RTT sample is available: to 3 s (RFC 6298 rule 5.7), or to the
    /// initial value of a coarse timer.
    pub fn reset_after_lost_syn(&mut self) {
        match self {
            RttEstimator::Coarse(timer) => timer.backoff = 0,
            RttEstimator::Fine(timer) => {
                timer.backoff = 0;
                timer.estimate = timer.estimate.max(RTO_AFTER_LOST_SYN.0);
                timer.limit();
            }
        }
    }

    /// Returns SRTT, which a coarse timer computes in ticks; None before the first sample.
    #[inline]
    pub fn srtt(&self) -> Option<Span> {
        match self {
            RttEstimator::Coarse(timer) => (timer.srtt > 0).then(|| timer.srtt()),
            RttEstimator::Fine(timer) => timer.srtt.map(Span),
        }
    }

    /// Returns SRTT for pacing and congestion controllers; None before the first sample. These measure the RTT with a
    /// fine clock even if the RTO has coarse ticks.
    #[inline]
    pub fn exact_srtt(&self) -> Option<Span> {
        match self {
            RttEstimator::Coarse(timer) => (timer.exact_srtt > 0).then_some(Span(timer.exact_srtt)),
            RttEstimator::Fine(timer) => timer.srtt.map(Span),
        }
    }

    /// Returns the RTO, including backoff.
    pub fn rto(&self) -> Span {
        match self {
            RttEstimator::Coarse(timer) => Span(u64::from(timer.rto()) * timer.tick),
            RttEstimator::Fine(timer) => timer.rto,
        }
    }

    /// Returns the duration of the timer [ps] if it does not depend on the time at which the timer is armed.
    #[inline]
    pub fn constant_rto(&self) -> Option<NonZeroU64> {
        match self {
            RttEstimator::Coarse(timer) if timer.expires_on_tick => None,
            _ => NonZeroU64::new(self.rto().0),
        }
    }

    /// Returns the time at which a timer armed at `now` expires.
    #[inline(always)]
    pub fn deadline(&mut self, now: Time) -> Time {
        match self {
            RttEstimator::Coarse(timer) => timer.deadline(now),
            RttEstimator::Fine(timer) => now + timer.rto,
        }
    }
}

/// RTO for the first data if a SYN was lost (RFC 6298 rule 5.7).
const RTO_AFTER_LOST_SYN: Span = Span::seconds(3);

/// Maximum exponent of the RTO's exponential backoff (4.4BSD).
pub const MAX_BACKOFF: u32 = 6;

/// Maximum RTT in ticks; eight times this value must fit in 31 bits.
const MAX_TICKS: u64 = (1 << 28) - 2;

/// RTO in whole ticks; srtt is scaled by 8 and rttvar by 4 (4.4BSD `tcp_xmit_timer`; Jacobson 1988, appendix A).
#[derive(Clone, Debug)]
pub struct CoarseTimer {
    tick: u64,
    phase: u64,
    /// Start [ps] and number of the tick in which the latest query took place. The first tick starts before time zero.
    current: (u64, u64),
    srtt: i32,
    rttvar: i32,
    /// SRTT of RFC 6298 [ps]; 0 before the first sample.
    exact_srtt: u64,
    rto: u32,
    backoff: u32,
    min: u32,
    max: u32,
    count_from_one: bool,
    expires_on_tick: bool,
}

impl CoarseTimer {
    #[inline]
    fn ticks_by(&self, t: Time) -> u64 {
        if t.0.wrapping_sub(self.current.0) < self.tick {
            return self.current.1;
        }
        (t.0 + self.tick - self.phase) / self.tick
    }

    /// Returns the number of ticks that have started by `now`. Most calls concern the same tick as the previous call,
    /// and need no division.
    #[inline(always)]
    fn ticks_by_now(&mut self, now: Time) -> u64 {
        if now.0.wrapping_sub(self.current.0) >= self.tick {
            let ticks = (now.0 + self.tick - self.phase) / self.tick;
            self.current = ((ticks * self.tick + self.phase).wrapping_sub(self.tick), ticks);
        }
        self.current.1
    }

    fn measure(&mut self, sent: Time, now: Time) {
        let elapsed = (self.ticks_by_now(now) - self.ticks_by(sent)).min(MAX_TICKS) as i32;
        let elapsed = if self.count_from_one { elapsed } else { elapsed.max(1) };
        let exact = (now - sent).0;
        self.exact_srtt = match self.exact_srtt {
            0 => exact,
            srtt => moved(srtt, exact, ALPHA_SHIFT),
        };
        if self.srtt == 0 {
            // BSD's tick counter starts at 1 when a measurement begins, and BSD subtracts 1 from every measurement
            // except the first.
            let rtt = elapsed + i32::from(self.count_from_one);
            self.srtt = rtt << 3;
            self.rttvar = rtt << 1;
        } else {
            let delta = elapsed - (self.srtt >> 3);
            self.srtt = (self.srtt + delta).max(1);
            let deviation = delta.abs() - (self.rttvar >> 2);
            self.rttvar = (self.rttvar + deviation).max(1);
        }
        self.backoff = 0;
        self.rto = ((self.srtt >> 3) + self.rttvar) as u32;
    }

    fn rto(&self) -> u32 {
        // The maximum RTO is less than 2^20 ticks.
        (self.rto.clamp(self.min, self.max) << self.backoff).min(self.max)
    }

    fn srtt(&self) -> Span {
        Span((self.srtt as u128 * u128::from(self.tick) / 8) as u64)
    }

    #[inline(always)]
    fn deadline(&mut self, now: Time) -> Time {
        if !self.expires_on_tick {
            return now + Span(u64::from(self.rto()) * self.tick);
        }
        let tick = self.ticks_by_now(now) + u64::from(self.rto());
        Time(tick * self.tick + self.phase - self.tick)
    }
}

/// Binary logarithms of 1/alpha and 1/beta, the weights of an RTT sample in SRTT and RTTVAR (RFC 6298 section 2).
const ALPHA_SHIFT: u32 = 3;
const BETA_SHIFT: u32 = 2;

/// RTO with a fine clock (RFC 6298 section 2).
#[derive(Clone, Debug)]
pub struct FineTimer {
    /// RTO after limits and backoff are applied.
    rto: Span,
    granularity: u64,
    srtt: Option<u64>,
    rttvar: u64,
    /// RTO before limits and backoff are applied [ps].
    estimate: u64,
    backoff: u32,
    min: u64,
    max: u64,
}

impl FineTimer {
    #[inline(always)]
    fn measure(&mut self, rtt: Span) {
        let rtt = rtt.0;
        let srtt = match self.srtt {
            None => {
                self.rttvar = rtt / 2;
                rtt
            }
            Some(srtt) => {
                self.rttvar = moved(self.rttvar, srtt.abs_diff(rtt), BETA_SHIFT);
                moved(srtt, rtt, ALPHA_SHIFT)
            }
        };
        self.srtt = Some(srtt);
        self.backoff = 0;
        self.estimate = srtt.saturating_add(self.rttvar.saturating_mul(4).max(self.granularity));
        self.limit();
    }

    #[inline(always)]
    fn limit(&mut self) {
        // The largest RTO is at most 10^17 ps, less than 2^57.
        // `clamp` would be a call.
        self.rto = Span((self.estimate.max(self.min).min(self.max) << self.backoff).min(self.max));
    }
}

/// Moves an average from `old` towards `new` by 1/2^`shift` of the difference, rounded down (RFC 6298: alpha and beta).
#[inline]
fn moved(old: u64, new: u64, shift: u32) -> u64 {
    old.wrapping_add_signed((new.wrapping_sub(old) as i64) >> shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PhaseConfig;
    use proptest::prelude::*;

    const TICK: u64 = 100_000_000_000;

    fn coarse(phase: u64) -> RttEstimator {
        RttEstimator::new(
            &TimerConfig::Coarse {
                tick_ps: TICK,
                phase: PhaseConfig::Common {},
                min_rto_ticks: 2,
                max_rto_ticks: 640,
                initial_rto_ticks: 30,
                count_from_one: true,
                expires_on_tick: true,
            },
            Span(phase),
        )
    }

    fn fine() -> RttEstimator {
        RttEstimator::new(
            &TimerConfig::Fine {
                granularity_ps: 1_000_000_000,
                min_rto_ps: Span::seconds(1).0,
                max_rto_ps: Span::seconds(60).0,
                initial_rto_ps: Span::seconds(1).0,
                timestamps: false,
            },
            Span(0),
        )
    }

    #[test]
    fn a_coarse_timer_expires_on_the_nth_tick_after_it_was_armed() {
        let mut timer = coarse(TICK / 4);
        assert_eq!(timer.deadline(Time(TICK / 2)), Time(30 * TICK + TICK / 4));
        assert_eq!(timer.deadline(Time(0)), Time(29 * TICK + TICK / 4));
    }

    #[test]
    fn coarse_timer_without_phase_expires_after_whole_ticks() {
        let mut timer = coarse(TICK / 4);
        let RttEstimator::Coarse(state) = &mut timer else {
            unreachable!()
        };
        state.expires_on_tick = false;
        assert_eq!(timer.deadline(Time(TICK / 2)), Time(30 * TICK + TICK / 2));
    }

    #[test]
    fn backoff_doubles_up_to_64_times_and_the_maximum() {
        let mut timer = coarse(0);
        timer.measure(Time(1), Time(2));
        let mut ticks = vec![];
        for _ in 0..9 {
            ticks.push(timer.deadline(Time(0)).0 / TICK);
            timer.back_off();
        }
        assert_eq!(ticks, [3, 6, 12, 24, 48, 96, 192, 192, 192]);
    }

    #[test]
    fn a_measured_tick_follows_bsd_scaled_integers() {
        let mut timer = coarse(0);
        // An RTT of 5 ticks gives srtt = 6·8, rttvar = 6·2 and an RTO of 6 + 12 ticks. The second RTT of 5 ticks gives
        // a delta of −1.
        timer.measure(Time(1), Time(5 * TICK + 1));
        assert_eq!(timer.deadline(Time(0)).0 / TICK, 18);
        timer.measure(Time(1), Time(5 * TICK + 1));
        assert_eq!(timer.deadline(Time(0)).0 / TICK, 5 + 10);
    }

    #[test]
    fn rtt_samples_are_at_least_one_tick() {
        let mut timer = coarse(0);
        let RttEstimator::Coarse(state) = &mut timer else {
            unreachable!()
        };
        state.count_from_one = false;
        timer.measure(Time(1), Time(2));
        assert_eq!(timer.deadline(Time(0)).0 / TICK, 1 + 2);
        timer.measure(Time(1), Time(2));
        assert_eq!(timer.deadline(Time(0)).0 / TICK, 1 + 2);
    }

    proptest! {
        #[test]
        fn moving_average_equals_the_weighted_sum_of_rfc_6298(
            old in 0..1u64 << 62,
            new in 0..1u64 << 62,
        ) {
            for shift in [ALPHA_SHIFT, BETA_SHIFT] {
                let sum = ((1u128 << shift) - 1) * u128::from(old) + u128::from(new);
                prop_assert_eq!(u128::from(moved(old, new, shift)), sum >> shift);
            }
        }
    }

    #[test]
    fn rfc_6298_section_2_first_and_later_measurements() {
        let mut timer = fine();
        timer.measure(Time(0), Time(Span::seconds(2).0));
        assert_eq!(timer.deadline(Time(0)), Time(Span::seconds(2 + 4).0));
        timer.measure(Time(0), Time(Span::seconds(2).0));
        assert_eq!(timer.deadline(Time(0)), Time(Span::seconds(2 + 3).0));
        for _ in 0..9 {
            timer.back_off();
        }
        assert_eq!(timer.deadline(Time(0)), Time(Span::seconds(60).0));
    }
}
