//! Early exit from slow start, before a loss: HyStart exits when the RTT grows or ACKs arrive in a long train, SEARCH
//! when the delivered data fall behind the data sent one RTT earlier.

use crate::congestion::control::Ack;
use crate::congestion::flight::Flight;
use crate::congestion::linux::search::Search;
use crate::congestion::linux::{micros, Socket};
use crate::described::Described;
use longpipe_events::{Span, Time};
use longpipe_json::FromJson;
use serde::Serialize;

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
/// Bounds on the RTT increase that starts conservative slow start (RFC 9406).
const MIN_MORE: Span = Span::millis(4);
const MAX_MORE: Span = Span::millis(16);

/// Returns the RTT increase over `base` that indicates a growing queue (RFC 9406 RttThresh).
fn more(base: Span) -> Span {
    Span((base.0 / 8).clamp(MIN_MORE.0, MAX_MORE.0))
}

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

    /// Returns whether ACKs that do not increase the window must also be processed: SEARCH needs all deliveries,
    /// including those that only duplicate ACKs report.
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

/// Slow start of a Linux controller, in whole segments.
#[derive(Clone, Debug)]
pub struct SlowStart {
    /// Criterion for leaving slow start early.
    pub hystart: Hystart,
    /// Fraction of the delivered data by which the window grows; less than 1 only with HyStart++.
    share: f64,
    /// Fraction of a segment that remains from earlier growth.
    remainder: f64,
}

impl SlowStart {
    /// Creates the state for the first slow start.
    pub fn new(config: HystartConfig) -> SlowStart {
        SlowStart {
            hystart: Hystart::new(config),
            share: 1.0,
            remainder: 0.0,
        }
    }

    /// Processes an ACK in slow start.
    pub fn on_ack(&mut self, ack: &Ack, flight: &Flight, socket: &mut Socket) {
        match self.hystart.on_ack(ack, flight) {
            Start::Leave => socket.snd_ssthresh = socket.snd_cwnd,
            Start::Grow(share) => self.share = share,
            Start::Drain { window, leaves } => {
                self.share = 0.0;
                socket.snd_cwnd = (window / flight.mss()) as u32;
                if leaves {
                    socket.snd_ssthresh = socket.snd_cwnd;
                }
            }
        }
    }

    /// Returns the number of segments by which the window grows in slow start when `acked` segments are acknowledged.
    pub fn credit(&mut self, acked: u32) -> u32 {
        let credit = self.remainder + self.share * f64::from(acked).min(self.hystart.most_per_ack());
        let whole = credit as u32;
        self.remainder = credit - f64::from(whole);
        whole
    }
}

/// Inputs of Linux's HyStart (`hystart_update`). Times are in whole microseconds of the kernel's clock.
#[derive(Clone, Copy, Debug)]
pub struct TrainSample {
    /// Arrival time of the ACK.
    pub now_us: u64,
    /// First unacknowledged byte and next byte to send.
    pub una: u64,
    pub nxt: u64,
    /// Congestion window [segment].
    pub cwnd: u32,
    /// RTT sample, and minimum RTT sample of the connection.
    pub rtt_us: u64,
    pub min_rtt_us: u64,
    /// Pacing rate [byte/s], and whether the sender is paced.
    pub pacing_rate: u64,
    pub is_paced: bool,
}

impl TrainSample {
    /// Returns the inputs from an ACK at a sender that does not follow Linux's code; None if there is no RTT sample.
    fn of(ack: &Ack, flight: &Flight) -> Option<TrainSample> {
        let micros = |span: Span| u64::from(micros(ack.now, span));
        let rate = |srtt: Span| (2.0 * flight.cwnd() / srtt.as_seconds()) as u64;
        Some(TrainSample {
            now_us: whole_micros(ack.now),
            una: flight.una,
            nxt: flight.nxt,
            cwnd: (flight.cwnd() / flight.mss()) as u32,
            rtt_us: micros(ack.rtt?),
            min_rtt_us: micros(ack.least_rtt?),
            pacing_rate: ack.srtt.map_or(u64::MAX, rate),
            is_paced: ack.paced,
        })
    }

    /// Returns the maximum length of an ACK train that does not end slow start.
    ///
    /// If the sender is paced, this is the minimum RTT plus the time to send a burst at the pacing rate, which counts
    /// as at most 1 ms (`hystart_ack_delay`). Otherwise it is half of that sum. The limit is higher for paced senders
    /// because pacing alone may spread a window over half an RTT.
    fn longest_train_us(&self) -> u64 {
        let burst_us = BURST * MICROS_PER_SECOND / self.pacing_rate.max(1);
        let whole = self.min_rtt_us + burst_us.min(MAX_BURST_US);
        match self.is_paced {
            true => whole,
            false => whole / 2,
        }
    }
}

/// Returns a time truncated to whole microseconds, as read from a clock of this resolution.
pub fn whole_micros(time: Time) -> u64 {
    time.0 / 1_000_000
}

/// State of Linux's HyStart (tcp_cubic.c). Times are in microseconds.
#[derive(Clone, Debug, Default)]
pub struct Trains {
    /// First byte after the round.
    end: u64,
    began_us: u64,
    latest_us: u64,
    least_us: Option<u64>,
    samples: u32,
    /// Whether the criterion has been met.
    found: bool,
}

/// Minimum window for Linux's HyStart [segment].
const MIN_WINDOW: u32 = 16;
/// Maximum gap within a train of ACKs.
const TRAIN_GAP_US: u64 = 2000;
/// Four maximum bursts of Linux's sender [byte]; sending them extends a train by at most 1 ms.
const BURST: u64 = 4 * 65_536;
const MAX_BURST_US: u64 = 1000;
/// Bounds on the RTT increase that ends slow start (HYSTART_DELAY_THRESH).
const MIN_MORE_US: u64 = 4000;
const MAX_MORE_US: u64 = 16_000;
const MICROS_PER_SECOND: u64 = 1_000_000;

impl Trains {
    fn begin(now_us: u64, end: u64) -> Trains {
        Trains {
            end,
            began_us: now_us,
            latest_us: now_us,
            ..Trains::default()
        }
    }

    /// Processes the RTT sample of an ACK in slow start. Returns whether slow start ends: ssthresh becomes cwnd.
    pub fn ends_at(&mut self, sample: &TrainSample) -> bool {
        if self.found {
            return false;
        }
        // Rounds start with the first ACK, regardless of the window (fixed in tcp_cubic.c in January 2025).
        if sample.una > self.end {
            *self = Trains::begin(sample.now_us, sample.nxt);
        }
        if sample.cwnd < MIN_WINDOW {
            return false;
        }
        if sample.now_us - self.latest_us <= TRAIN_GAP_US {
            self.latest_us = sample.now_us;
            self.found = sample.now_us - self.began_us > sample.longest_train_us();
        }
        self.least_us = self.least_us.min(Some(sample.rtt_us)).or(Some(sample.rtt_us));
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            let more_us = (sample.min_rtt_us / 8).clamp(MIN_MORE_US, MAX_MORE_US);
            self.found |= self.least_us > Some(sample.min_rtt_us + more_us);
        }
        self.found
    }
}

/// State of HyStart++ (RFC 9406).
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// First byte after the round.
    end: u64,
    least: Option<Span>,
    least_before: Option<Span>,
    samples: u32,
    /// Conservative slow start: the RTT at which it started, and the number of rounds since then.
    conservative: Option<(Span, u32)>,
}

/// Divisor of growth in conservative slow start (RFC 9406 CSS_GROWTH_DIVISOR).
const DIVISOR: f64 = 4.0;
/// Rounds of conservative slow start (RFC 9406 CSS_ROUNDS).
const CONSERVATIVE_ROUNDS: u32 = 5;

impl Rounds {
    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> Start {
        if flight.una > self.end {
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
            }
            (self.least_before, self.least, self.samples) = (self.least, None, 0);
            self.end = flight.nxt;
        }
        if let Some(rtt) = ack.rtt {
            self.least = self.least.min(Some(rtt)).or(Some(rtt));
            self.samples += 1;
        }
        if let (true, Some(least)) = (self.samples >= SAMPLES, self.least) {
            match self.conservative {
                Some((baseline, _)) if least < baseline => self.conservative = None,
                None if self.least_before.is_some_and(|before| least >= before + more(before)) => {
                    self.conservative = Some((least, 0));
                }
                _ => {}
            }
        }
        match self.conservative {
            None => Start::Grow(1.0),
            Some((_, rounds)) if rounds >= CONSERVATIVE_ROUNDS => Start::Leave,
            Some(_) => Start::Grow(1.0 / DIVISOR),
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

    /// A timeout calls bictcp_hystart_reset, as in Linux 6.1.
    #[test]
    fn linux_a_timeout_starts_a_round_of_all_data_sent() {
        let mut hystart = Hystart::new(HystartConfig::Linux);
        hystart.on_timeout(7, 50_000);
        let Hystart::Linux(trains) = hystart else {
            panic!("{hystart:?}");
        };
        assert_eq!((trains.end, trains.began_us, trains.latest_us), (50_000, 7, 7));
        assert_eq!((trains.samples, trains.least_us, trains.found), (0, None, false));
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
