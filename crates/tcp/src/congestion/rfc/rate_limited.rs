//! Growth of the window while the sender does not fill it, because the application or the receiver limits it: one rule
//! for any controller that sets only a window.
//!
//! It wraps a congestion controller. Without it, each controller has the rule of its source: `aimd` grows on each ACK, and
//! all others only after a round in which the window was full.

use crate::congestion::control::{Ack, Cause, Control, CwndUpdate};
use crate::congestion::flight::Flight;
use crate::congestion::growth::is_limited;
use crate::congestion::Congestion;
use crate::described::Described;
use longpipe_events::{Span, Time};
use longpipe_json::FromJson;
use serde::Serialize;

/// Determines how the window grows while the sender does not fill it.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RateLimitedConfig {
    /// The rule of the congestion control's source: none for aimd, Linux's for the others.
    #[described(name = "GrowthByControl")]
    Control {},
    /// Growth on each ACK, as in RFC 5681.
    #[described(name = "GrowthOnEachAck")]
    None {},
    /// Growth after a round in which the window was full, or half full in slow start; Linux's tcp_is_cwnd_limited.
    #[described(name = "GrowthByLinux")]
    Linux {},
    /// Growth on ACKs that arrive while the window is full or the sender is paced; RFC 9002 section 7.8.
    #[described(name = "GrowthByRfc9002")]
    Rfc9002 {},
    /// Growth up to a limit by the maximum in flight (maxFS); draft-ietf-ccwg-ratelimited-increase.
    #[described(name = "GrowthByDraft")]
    Ietf {
        /// Whether the limit also reduces a window that already exceeds it, as the draft literally requires.
        #[field(default = false)]
        shrink: bool,
    },
}

impl Default for RateLimitedConfig {
    fn default() -> RateLimitedConfig {
        RateLimitedConfig::Control {}
    }
}

impl RateLimitedConfig {
    /// Returns whether the congestion control's own rule applies.
    pub fn is_by_control(&self) -> bool {
        matches!(self, RateLimitedConfig::Control {})
    }
}

/// A controller whose growth follows one of the rules.
#[derive(Clone, Debug)]
pub struct RateLimited {
    inner: Congestion,
    rule: RateLimitedConfig,
    /// Maximum number of bytes in flight since the window was last reduced (maxFS).
    max_in_flight: u64,
    /// Window [byte] after the latest ACK. A smaller one at the next ACK was reduced in between.
    window: f64,
}

impl RateLimited {
    /// Wraps the controller of a new connection with an initial window of `initial_window` bytes.
    pub fn new(inner: Congestion, rule: RateLimitedConfig, initial_window: f64) -> RateLimited {
        RateLimited {
            inner,
            rule,
            max_in_flight: initial_window as u64,
            window: initial_window,
        }
    }

    /// Updates the maximum number of bytes in flight by those that were in flight before an ACK.
    fn observe(&mut self, ack: &Ack, flight: &Flight) {
        if flight.cwnd() < self.window {
            self.max_in_flight = 0;
        }
        self.max_in_flight = self.max_in_flight.max(flight.max - (flight.una - ack.acked));
    }

    /// Returns the ACK as the wrapped controller sees it: it grows if the rule lets it grow.
    fn seen(&self, ack: &Ack, flight: &Flight) -> Ack {
        let mut seen = *ack;
        let is_full = match self.rule {
            RateLimitedConfig::Control {} => return seen,
            RateLimitedConfig::Linux {} => {
                seen.grows &= is_limited(ack, flight);
                return seen;
            }
            RateLimitedConfig::None {} | RateLimitedConfig::Ietf { .. } => true,
            RateLimitedConfig::Rfc9002 {} => ack.window_limited || ack.held > Span(0),
        };
        seen.grows &= is_full;
        (seen.usage.full, seen.usage.most) = (is_full, 0);
        seen
    }

    /// Returns the window, reduced to the draft's limit: the largest one that the controller would reach by ACKs for
    /// the maximum number of bytes in flight, if the next ACKs enlarge it in proportion to their bytes as this one does.
    fn capped(&self, window: f64, ack: &Ack, flight: &Flight, shrinks: bool) -> f64 {
        let increase = window - flight.cwnd();
        if !(increase > 0.0 && ack.delivered > 0) {
            return window;
        }
        let max_in_flight = self.max_in_flight as f64;
        let limit = max_in_flight + (increase * max_in_flight / ack.delivered as f64).max(flight.mss());
        window.min(if shrinks { limit } else { limit.max(flight.cwnd()) })
    }
}

impl Control for RateLimited {
    fn wrapped(&self) -> Option<&Congestion> {
        Some(&self.inner)
    }

    fn wrapped_mut(&mut self) -> Option<&mut Congestion> {
        Some(&mut self.inner)
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.observe(ack, flight);
        let seen = self.seen(ack, flight);
        let mut update = self.inner.update(flight, |inner, flight| inner.on_ack(&seen, flight));
        if let RateLimitedConfig::Ietf { shrink } = self.rule {
            update.window = self.capped(update.window, ack, flight, shrink);
        }
        self.window = update.window;
        update
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        let update = self
            .inner
            .update(flight, |inner, flight| inner.on_reduction(cause, now, flight));
        self.max_in_flight = 0;
        self.window = update.window;
        update
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::control::Usage;
    use crate::congestion::flight::Limits;
    use crate::congestion::trial::ack_of;
    use crate::congestion::{AimdConfig, CongestionConfig, LinuxRenoConfig};

    const MSS: u64 = 1000;

    /// A connection whose application offers bursts. All windows and bursts are in segments of 1000 bytes.
    struct Connection {
        control: Congestion,
        flight: Flight,
        usage: Usage,
    }

    impl Connection {
        /// Returns a connection with a window of `window` segments and the given ssthresh.
        fn new(config: &CongestionConfig, rule: RateLimitedConfig, (window, threshold): (f64, f64)) -> Connection {
            let [window, threshold] = [window, threshold].map(|segments| segments * MSS as f64);
            let inner = Congestion::new(config);
            Connection {
                control: inner.growing_by(&rule, window),
                flight: Flight::new(Limits::new(window, threshold), 1 << 40, MSS as u32),
                usage: Usage::default(),
            }
        }

        /// Sends a burst of `offered` segments as both windows allow, with an ACK for each. Returns the window.
        fn burst(&mut self, offered: u64) -> f64 {
            let end = self.flight.max + offered * MSS;
            while self.flight.una < end {
                let allowed = end.min(self.flight.una + self.flight.window() / MSS * MSS);
                self.flight.max = self.flight.max.max(allowed);
                let before = self.flight.clone();
                let full = (before.outstanding() + MSS) as f64 > before.cwnd();
                self.flight.una += MSS;
                self.usage.on_ack(before.una, before.max, before.outstanding(), full);
                let ack = Ack {
                    window_limited: full,
                    usage: self.usage,
                    ..ack_of(MSS, Time::ZERO, None, &self.flight)
                };
                self.control.on_ack(&ack, &mut self.flight);
            }
            self.flight.cwnd() / MSS as f64
        }
    }

    fn aimd() -> CongestionConfig {
        CongestionConfig::Aimd(AimdConfig { byte_counting: true })
    }

    fn linux_reno() -> CongestionConfig {
        CongestionConfig::LinuxReno(LinuxRenoConfig::default())
    }

    /// Windows after bursts of 4, 8, 4 and 20 segments in slow start, with an initial window of 10.
    fn windows(config: &CongestionConfig, rule: RateLimitedConfig) -> [f64; 4] {
        let mut connection = Connection::new(config, rule, (10.0, 1e6));
        [4, 8, 4, 20].map(|offered| connection.burst(offered))
    }

    /// Appendix of draft-ietf-ccwg-ratelimited-increase.
    #[test]
    fn windows_of_the_draft_equal_its_appendix() {
        let rule = RateLimitedConfig::Ietf { shrink: false };
        for config in [aimd(), linux_reno()] {
            assert_eq!(windows(&config, rule), [14.0, 20.0, 20.0, 40.0]);
        }
    }

    #[test]
    fn windows_without_a_rule_grow_on_each_ack() {
        for config in [aimd(), linux_reno()] {
            assert_eq!(windows(&config, RateLimitedConfig::None {}), [14.0, 22.0, 26.0, 46.0]);
        }
    }

    /// Linux since 6.1: 10 is not below twice 4, and growth ends at twice 8.
    #[test]
    fn windows_by_linuxs_rule_grow_to_twice_the_burst() {
        for config in [aimd(), linux_reno()] {
            let [first, second, third, last] = windows(&config, RateLimitedConfig::Linux {});
            assert_eq!([first, second, third], [10.0, 16.0, 16.0]);
            assert!((32.0..=36.0).contains(&last), "{last}");
        }
    }

    #[test]
    fn windows_by_rfc_9002_grow_only_when_full() {
        for config in [aimd(), linux_reno()] {
            let [first, second, third, last] = windows(&config, RateLimitedConfig::Rfc9002 {});
            assert_eq!([first, second, third], [10.0, 10.0, 10.0]);
            assert!((14.0..=20.0).contains(&last), "{last}");
        }
    }

    /// An application keeps 20 segments in flight with a window of 100 in congestion avoidance.
    #[test]
    fn a_window_in_avoidance_stays_or_shrinks_as_configured() {
        let after = |rule| {
            let mut connection = Connection::new(&aimd(), rule, (100.0, 1.0));
            connection
                .control
                .on_reduction(Cause::FastRetransmit, Time::ZERO, &mut connection.flight);
            connection.flight.limits.set(100.0 * MSS as f64, 1.0);
            (0..100).map(|_| connection.burst(20)).last().expect("100 bursts")
        };
        assert_eq!(after(RateLimitedConfig::Ietf { shrink: false }), 100.0);
        assert_eq!(after(RateLimitedConfig::Ietf { shrink: true }), 21.0);
        let unlimited = after(RateLimitedConfig::None {});
        assert!((117.0..119.0).contains(&unlimited), "{unlimited}");
    }

    /// A loss at a window of 40 segments leaves 20 of them. The application then keeps 5 segments in flight: the limit is
    /// 21 if 20 segments were in flight after the reduction, and 6 if none were.
    #[test]
    fn the_limit_after_a_reduction_follows_the_data_in_flight() {
        for (in_flight, shrink, expected) in [(20, false, 21.0), (20, true, 21.0), (0, false, 20.0), (0, true, 6.0)] {
            let mut connection = Connection::new(&aimd(), RateLimitedConfig::Ietf { shrink }, (40.0, 1e6));
            let flight = &mut connection.flight;
            flight.max = 40 * MSS;
            connection
                .control
                .on_reduction(Cause::FastRetransmit, Time::ZERO, flight);
            // A window below ssthresh would grow by slow start, with a limit of twice the data in flight.
            flight.limits.set(flight.cwnd(), 1.0);
            flight.una = flight.max - in_flight * MSS;
            connection.burst(0);
            let windows = (0..100).map(|_| connection.burst(5));
            assert_eq!(
                windows.last(),
                Some(expected),
                "{in_flight} in flight, shrink = {shrink}"
            );
        }
    }

    /// A receiver's window of 30 segments limits the sender in slow start. By RFC 9002 the window grows until it
    /// exceeds that window, and `aimd` never exceeds it.
    #[test]
    fn the_window_of_a_limited_receiver_stops_at_twice_the_flight() {
        for (config, rule, expected) in [
            (linux_reno(), RateLimitedConfig::Ietf { shrink: false }, 60.0),
            (linux_reno(), RateLimitedConfig::Linux {}, 60.0),
            (linux_reno(), RateLimitedConfig::Rfc9002 {}, 31.0),
            (aimd(), RateLimitedConfig::Ietf { shrink: false }, 30.0),
        ] {
            let mut connection = Connection::new(&config, rule, (10.0, 1e6));
            connection.flight.rwnd = 30 * MSS as u32;
            assert_eq!(connection.burst(10_000), expected, "{rule:?}");
        }
    }
}
