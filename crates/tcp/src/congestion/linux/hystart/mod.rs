//! Early exit from slow start, before a loss: HyStart exits when the RTT grows or ACKs arrive in a long train, SEARCH
//! when the delivered data fall behind the data sent one RTT earlier.

mod rounds;
mod trains;

use crate::congestion::control::Ack;
use crate::congestion::flight::Flight;
use crate::congestion::linux::search::Search;
use crate::described::Described;
use longpipe_json::FromJson;
use rounds::Rounds;
use serde::Serialize;
pub use trains::{whole_micros, TrainSample, Trains};

/// Criterion for an early exit from slow start.
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum HystartConfig {
    /// Slow start ends only at ssthresh or after a loss.
    #[default]
    None,
    /// Linux: ends slow start after an increase in the RTT or a long train of ACKs (Ha and Rhee 2011).
    Linux,
    /// HyStart++: an increased RTT first slows growth for five rounds (RFC 9406).
    PlusPlus,
    /// SEARCH: ends slow start when deliveries fall behind the data sent one RTT before (draft-chung-ccwg-search-09).
    Search,
    /// SEARCH 4.0: also drains the queue at the end of slow start, until the window is what the path delivered in one RTT.
    #[serde(rename = "search-4")]
    Search4,
}

/// Decision about the window in slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// Increases cwnd by this fraction of the delivered data.
    Grow(f64),
    /// Leaves slow start: sets ssthresh to cwnd.
    Leave,
    /// Sets cwnd [byte], in slow start. Slow start ends with this window if `leaves` is true.
    Drain { window: f64, leaves: bool },
}

/// State of one sender.
#[derive(Clone, Debug)]
pub enum Hystart {
    /// Slow start ends only at ssthresh or after a loss.
    None,
    /// Linux's HyStart.
    Linux(Trains),
    /// HyStart++.
    PlusPlus(Rounds),
    /// SEARCH.
    Search(Search),
}

/// Maximum increase of cwnd per ACK in HyStart++ without pacing [segment] (RFC 9406 section 4.3, L).
const MAX_PER_ACK: f64 = 8.0;
/// Minimum number of RTT samples per round (RFC 9406 N_RTT_SAMPLE; Linux).
const SAMPLES: u32 = 8;

impl Hystart {
    /// Creates the state for the first slow start.
    pub fn new(config: HystartConfig) -> Hystart {
        match config {
            HystartConfig::None => Hystart::None,
            HystartConfig::Linux => Hystart::Linux(Trains::default()),
            HystartConfig::PlusPlus => Hystart::PlusPlus(Rounds::default()),
            HystartConfig::Search => Hystart::Search(Search::default()),
            HystartConfig::Search4 => Hystart::Search(Search::draining()),
        }
    }

    /// Processes an ACK in slow start.
    pub fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Start {
        match self {
            Hystart::None => Start::Grow(1.0),
            Hystart::Linux(trains) => match TrainSample::of(ack, flight) {
                Some(sample) if trains.ends_at(&sample) => Start::Leave,
                _ => Start::Grow(1.0),
            },
            Hystart::PlusPlus(rounds) => rounds.on_ack(ack, flight),
            Hystart::Search(search) => search.on_ack(ack, flight),
        }
    }

    /// Returns whether duplicate ACKs must be processed, too: SEARCH needs all deliveries, also those that only
    /// duplicate ACKs report.
    pub fn counts_duplicates(&self) -> bool {
        matches!(self, Hystart::Search(_))
    }

    /// Returns the maximum increase of cwnd per ACK [segment].
    pub fn most_per_ack(&self) -> f64 {
        match self {
            Hystart::PlusPlus(_) => MAX_PER_ACK,
            _ => f64::INFINITY,
        }
    }

    /// Disables HyStart++ and SEARCH after a reduction, because they apply only to the first slow start (RFC 9406
    /// section 4.3).
    pub fn on_reduction(&mut self) {
        if let Hystart::PlusPlus(_) | Hystart::Search(_) = self {
            *self = Hystart::None;
        }
    }

    /// After a timeout, starts a round that lasts until all bytes before `end` are acknowledged
    /// (`bictcp_hystart_reset`).
    pub fn on_timeout(&mut self, now_us: u64, end: u64) {
        if let Hystart::Linux(trains) = self {
            *trains = Trains::begin(now_us, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::control::AckSample;
    use crate::congestion::flight::Limits;
    use crate::congestion::trial::ack_of;
    use crate::congestion::{Congestion, CongestionConfig, CubicConfig, CubicRules};
    use longpipe_events::{Span, Time};

    const MSS: u32 = 1000;

    /// A sender in its first slow start that always fills its window.
    struct Script {
        control: Congestion,
        flight: Flight,
        now: Time,
        least: Option<Span>,
        paced: bool,
    }

    impl Script {
        fn new(hystart: HystartConfig) -> Script {
            let config = CubicConfig {
                scaling: 0.4,
                beta: 0.7,
                fast_convergence: true,
                reno_friendly: true,
                hystart,
                rules: CubicRules::Linux,
            };
            let mut flight = Flight::new(Limits::new(10_000.0, f64::INFINITY), 1 << 30, MSS);
            (flight.nxt, flight.max) = (10_000, 10_000);
            Script {
                control: Congestion::new(&CongestionConfig::Cubic(config)),
                flight,
                now: Time::ZERO,
                least: None,
                paced: false,
            }
        }

        /// Acknowledges `segments` segments `gap` after the previous ACK; `rtt` is the ACK's RTT sample [ms]. Returns
        /// cwnd and ssthresh. With 0 segments, the ACK is a duplicate that reports one segment by SACK.
        fn ack(&mut self, gap: Span, segments: u64, rtt: u64) -> (u64, Option<u64>) {
            self.now += gap;
            let (acked, rtt) = (segments * u64::from(MSS), Some(Span::millis(rtt)));
            let delivered = acked.max(u64::from(MSS));
            self.least = self.least.min(rtt).or(rtt);
            self.flight.una += acked;
            let ack = Ack {
                grows: acked > 0,
                open: acked > 0,
                delivered,
                srtt: self.least,
                least_rtt: self.least,
                paced: self.paced,
                ..ack_of(acked, self.now, rtt, &self.flight)
            };
            let sample = AckSample {
                now: self.now,
                acked,
                delivered,
                marked: 0,
                rtt,
                has_sack_blocks: acked == 0,
                paced: self.paced,
                delay: None,
                delivered_since_sent: None,
            };
            self.control.on_sample(&sample, &mut self.flight);
            self.control.on_ack(&ack, &mut self.flight);
            self.flight.nxt = self.flight.una + self.flight.window();
            self.flight.max = self.flight.nxt;
            let segments = |bytes: f64| bytes as u64 / u64::from(MSS);
            let threshold = self.flight.ssthresh();
            (
                segments(self.flight.cwnd()),
                threshold.is_finite().then(|| segments(threshold)),
            )
        }
    }

    /// The kernel's own test of an increased RTT: the ninth sample ends slow start, at 36 segments.
    #[test]
    fn linux_ninth_rtt_sample_above_threshold_ends_slow_start() {
        let mut script = Script::new(HystartConfig::Linux);
        assert_eq!(script.ack(Span::millis(200), 10, 200), (20, None));
        assert_eq!(script.ack(Span::millis(240), 2, 240), (22, None));
        for window in (24..=36).step_by(2) {
            assert_eq!(script.ack(Span::millis(1), 2, 240), (window, None));
        }
        assert_eq!(script.ack(Span::millis(1), 2, 240), (36, Some(36)));
    }

    /// hystart_update of Linux 6.1 uses the sample of every ACK in slow start (`cubictcp_acked`), even before loss
    /// recovery begins.
    #[test]
    fn linux_samples_of_duplicate_acks_count() {
        let mut script = Script::new(HystartConfig::Linux);
        assert_eq!(script.ack(Span::millis(200), 10, 200), (20, None));
        for _ in 0..8 {
            assert_eq!(script.ack(Span::millis(1), 0, 240), (20, None));
        }
        assert_eq!(script.ack(Span::millis(1), 0, 240), (20, Some(20)));
    }

    /// `tcp_ack` of Linux 6.1 calls `tcp_clean_rtx_queue`, and with it hystart_update, before `tcp_cong_control`: the
    /// threshold is the window before loss recovery changes it for this ACK.
    #[test]
    fn linux_the_threshold_is_the_window_before_loss_recovery() {
        let mut script = Script::new(HystartConfig::Linux);
        script.ack(Span::millis(200), 10, 200);
        for _ in 0..8 {
            script.ack(Span::millis(1), 0, 240);
        }
        script.now += Span::millis(1);
        let sample = AckSample {
            now: script.now,
            acked: 0,
            delivered: u64::from(MSS),
            marked: 0,
            rtt: Some(Span::millis(240)),
            has_sack_blocks: true,
            paced: false,
            delay: None,
            delivered_since_sent: None,
        };
        script.control.on_sample(&sample, &mut script.flight);
        assert_eq!((script.flight.cwnd(), script.flight.ssthresh()), (20_000.0, 20_000.0));
    }

    /// The kernel's own test of a decreased RTT, which first lowers the minimum of the round.
    #[test]
    fn linux_decreasing_ninth_rtt_sample_keeps_slow_start() {
        let mut script = Script::new(HystartConfig::Linux);
        script.ack(Span::millis(200), 10, 200);
        for _ in 0..8 {
            script.ack(Span::millis(3), 2, 200);
        }
        assert_eq!(script.ack(Span::millis(3), 2, 150), (38, None));
    }

    /// The kernel's own test in which two segments are sent per 100 ms, with rounds that start with the first ACK
    /// (fixed in tcp_cubic.c in January 2025, and in 6.1.176): slow start ends at the ninth sample of the second round.
    /// Before the fix it ended at 48 segments.
    #[test]
    fn linux_slow_bottleneck_ends_slow_start_at_36_segments() {
        let mut script = Script::new(HystartConfig::Linux);
        let mut found = vec![];
        for number in 1..=30 {
            // Each segment waits for the previous ones.
            let (window, _) = script.ack(Span::millis(100), 2, 200 + 100 * (number / 5) * 2);
            found.push(window);
        }
        assert_eq!([4, 9, 14, 19, 29].map(|number| found[number]), [20, 30, 36, 36, 37]);
    }

    #[test]
    fn linux_a_train_longer_than_half_an_rtt_ends_slow_start() {
        let mut script = Script::new(HystartConfig::Linux);
        script.ack(Span::millis(100), 10, 100);
        // Rounds of 20 and 40 ACKs are too short; the 51 ms of the third round exceed half an RTT plus 0.5 ms for a
        // burst.
        let out = (1..200).find(|_| script.ack(Span::millis(1), 1, 100).1.is_some());
        assert_eq!(out, Some(20 + 40 + 52));
        // Pacing itself spreads a window over half an RTT: 101 ms is too short for the fourth round, 102 ms is not.
        let mut paced = Script::new(HystartConfig::Linux);
        paced.paced = true;
        paced.ack(Span::millis(100), 10, 100);
        let out = (1..400).find(|_| paced.ack(Span::millis(1), 1, 100).1.is_some());
        assert_eq!(out, Some(20 + 40 + 80 + 103));
        let mut sparse = Script::new(HystartConfig::Linux);
        sparse.ack(Span::millis(100), 10, 100);
        assert!((1..200).all(|_| sparse.ack(Span::millis(3), 1, 100).1.is_none()));
    }

    /// RFC 9406 section 4.2: after eight samples in which the RTT has increased by 4 ms or by 1/8, cwnd grows by a
    /// quarter of the usual amount for five rounds; then slow start ends.
    #[test]
    fn rfc_9406_slow_start_ends_after_five_rounds_of_css() {
        let mut script = Script::new(HystartConfig::PlusPlus);
        let (mut rounds, mut windows) = (0, vec![]);
        while rounds < 20 {
            let in_flight = script.flight.outstanding() / u64::from(MSS);
            let rtt = if rounds < 3 { 100 } else { 113 };
            let (mut window, mut threshold) = (0, None);
            for number in 0..in_flight {
                let gap = if number == 0 { 100 } else { 0 };
                (window, threshold) = script.ack(Span::millis(gap), 1, rtt);
            }
            windows.push(window);
            rounds += 1;
            if threshold.is_some() {
                break;
            }
        }
        // The first seven ACKs of the fourth round increase cwnd by the full amount, and the following ones by a
        // quarter of it.
        assert_eq!(windows[..3], [20, 40, 80]);
        assert_eq!(windows[3], 80 + 7 + (80 - 7) / 4);
        let slow = windows[3..8].windows(2).map(|pair| pair[1] as f64 / pair[0] as f64);
        assert!(
            slow.into_iter().all(|growth| (1.24..1.26).contains(&growth)),
            "{windows:?}"
        );
        assert_eq!(rounds, 9);
    }

    #[test]
    fn rfc_9406_an_rtt_below_the_css_baseline_resumes_slow_start() {
        let mut script = Script::new(HystartConfig::PlusPlus);
        let mut windows = [0; 3];
        for (window, rtt) in windows.iter_mut().zip([100, 113, 100]) {
            for _ in 0..script.flight.outstanding() / u64::from(MSS) {
                *window = script.ack(Span::millis(5), 1, rtt).0;
            }
        }
        // The eighth sample of a round decides whether its RTT is increased.
        let (second, third) = (20.0 + 7.0 + 13.0 / 4.0, 7.0 / 4.0 + 23.0);
        assert_eq!(windows, [20, second as u64, (second + third) as u64]);
    }
}
