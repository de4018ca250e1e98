//! TCP Prague: a scalable controller for low-latency (L4S) queues, with the arithmetic of version 0.7 of the L4S team's
//! tcp_prague.c, in its "fractional window" mode.
//!
//! The window may hold a fraction of a packet. Each window of unmarked packets increases it by at most one packet, and
//! by less on paths with a short RTT. A round with marks reduces the window by the fraction `alpha` / 2, where `alpha`
//! is the smoothed share of marked packets. Data are paced.

use crate::congestion::control::{Ack, Cause, Control, CwndUpdate, Pacing, Wants};
use crate::congestion::flight::Flight;
use crate::congestion::growth::is_limited;
use crate::described::Described;
use crate::variant::{Facts, MarkFeedback, Parameters, Variant};
use longpipe_events::{Span, Time};
use longpipe_json::FromJson;
use serde::Serialize;

/// Reduces cwnd by half the share of marked data, and paces (L4S); needs tcp.ecn = {kind = 'accurate', ect = 1}.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "Prague")]
#[described(fact(
    "after_mark",
    "1 - alpha/2 of the window, alpha being the share of marked data (draft-briscoe-iccrg-prague-congestion-control)"
))]
pub struct PragueConfig {
    /// RTT below which connections grow at the same rate, independent of their RTT; up to 100 ms [time]; tcp_prague.c
    /// 0.7, prague_rtt_target.
    #[field(range = "[1 us, 100 s]", default = "25 ms")]
    pub rtt_target_ps: u64,
    /// Number of RTTs after slow start after which growth becomes RTT-independent; tcp_prague.c 0.7,
    /// prague_rtt_transition.
    #[field(range = "[0, 1000000]", default = 4)]
    pub transition: u32,
}

impl Parameters for PragueConfig {
    const FACTS: Facts = Facts {
        is_model: true,
        needs_marks: MarkFeedback::Count,
        ..Facts::DEFAULT
    };
}

/// Number of fractional bits of alpha, and of the window in packets.
const ALPHA_BITS: u32 = 24;
const CWND_BITS: u32 = 20;
/// Fixed-point values of an alpha of 1, and of a window of one packet.
const ALPHA_ONE: u64 = 1 << ALPHA_BITS;
const PACKET: u64 = 1 << CWND_BITS;
/// Weight of a round in alpha: 2^-4.
const GAIN_SHIFT: u32 = 4;
/// Minimum window [packet].
const MIN_WINDOW: u64 = 2;
/// Minimum pacing rate, including headers [byte/s].
const MIN_RATE: u64 = 12_500;
/// Packet size [byte] for which the window increases by one packet per RTT, and size [byte] of a packet's headers with
/// timestamps.
const REFERENCE_MTU: u64 = 1500;
const HEADERS: u64 = 52;
/// Longest RTT to which the increase adapts.
const LONGEST_SCALED: Span = Span::millis(100);
/// Bursts last at most 2^-12 s at the pacing rate (`prague_burst_shift`).
const BURST_SHIFT: u32 = 12;

/// State of one sender.
#[derive(Clone, Debug)]
pub struct Prague {
    config: PragueConfig,
    state: State,
    /// What the latest ACK that reported marks found. It is needed because the kernel first reduces the window for such an ACK and then increases it.
    marked: Option<Box<BeforeMark>>,
    before_loss: BeforeLoss,
}

/// State and windows before an ACK that reported marks, and that ACK.
#[derive(Clone, Copy, Debug)]
struct BeforeMark {
    state: State,
    ack: Ack,
    windows: Windows,
}

/// Windows before the latest loss.
#[derive(Clone, Copy, Debug, Default)]
struct BeforeLoss {
    /// Fractional window [2^-20 packet].
    window: u64,
    /// cwnd [byte].
    cwnd: f64,
}

/// State that ACKs change.
#[derive(Clone, Copy, Debug)]
struct State {
    /// Smoothed share of marked packets, times 16 (`upscaled_alpha`).
    alpha: u64,
    /// Window [2^-20 packet]; 0 before the first ACK (`frac_cwnd`).
    window: u64,
    /// Increase in the window per window of unmarked packets [2^-20 packet] (`ai_ack_increase`).
    increase: u64,
    /// Whether any packet has been marked.
    saw_marks: bool,
    /// Whether a loss is being repaired.
    in_loss: bool,
    /// First byte after the current round, and the number of rounds since the end of slow start.
    round_end: u64,
    round: u32,
    /// Numbers of packets and of marked packets delivered in this round.
    delivered: u64,
    marks: u64,
    /// Time of the latest update of alpha, and of the latest reduction.
    alpha_updated: Time,
    reduced: Time,
}

/// Congestion window and slow-start threshold [packet].
#[derive(Clone, Copy, Debug)]
struct Windows {
    cwnd: u64,
    ssthresh: f64,
}

impl Variant for Prague {
    type Config = PragueConfig;

    fn new(config: &PragueConfig) -> Prague {
        Prague {
            config: *config,
            state: State {
                alpha: 0,
                window: 0,
                increase: PACKET,
                saw_marks: false,
                in_loss: false,
                round_end: 0,
                round: 0,
                delivered: 0,
                marks: 0,
                alpha_updated: Time::ZERO,
                reduced: Time::ZERO,
            },
            marked: None,
            before_loss: BeforeLoss::default(),
        }
    }
}

impl Control for Prague {
    fn wants(&self) -> Wants {
        Wants {
            pacing: true,
            ..Wants::RECORDS
        }
    }

    fn on_start(&mut self, rtt: Span, flight: &Flight) -> CwndUpdate {
        self.begin(flight);
        let windows = Windows::of(flight);
        let pacing = self.pacing(Some(rtt), 0, windows, flight);
        CwndUpdate {
            pacing,
            ..CwndUpdate::unchanged(flight)
        }
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        self.begin(flight);
        let windows = Windows::of(flight);
        self.marked = (ack.marked > 0).then(|| {
            Box::new(BeforeMark {
                state: self.state,
                ack: *ack,
                windows,
            })
        });
        self.process_ack(ack, windows, flight)
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        self.begin(flight);
        match (cause, self.marked.take()) {
            (Cause::Mark { .. }, Some(before)) => {
                let BeforeMark { state, ack, windows } = *before;
                self.state = state;
                self.reduce_for_marks(now, windows);
                self.process_ack(&ack, windows, flight)
            }
            (Cause::Mark { .. }, None) => CwndUpdate::unchanged(flight),
            (Cause::FastRetransmit | Cause::Timeout, _) => {
                self.before_loss = BeforeLoss {
                    window: self.state.window,
                    cwnd: flight.cwnd(),
                };
                self.state.window -= self.state.window >> 1;
                self.state.in_loss = true;
                CwndUpdate::unchanged(flight)
            }
        }
    }

    fn on_recovered(&mut self, spurious: bool, _now: Time, flight: &Flight) -> CwndUpdate {
        let is_undone = spurious && self.state.in_loss;
        self.state.in_loss = false;
        if !is_undone {
            return CwndUpdate::unchanged(flight);
        }
        let BeforeLoss { window, cwnd } = self.before_loss;
        self.state.window = self.state.window.max(window);
        CwndUpdate::window(flight.cwnd().max(cwnd), flight)
    }
}

impl Windows {
    fn of(flight: &Flight) -> Windows {
        Windows {
            cwnd: (flight.cwnd() / flight.mss()) as u64,
            ssthresh: flight.ssthresh() / flight.mss(),
        }
    }

    fn in_slow_start(self) -> bool {
        (self.cwnd as f64) < self.ssthresh
    }
}

impl Prague {
    /// Takes the initial window from the sender.
    fn begin(&mut self, flight: &Flight) {
        if self.state.window == 0 {
            let windows = Windows::of(flight);
            self.state.window = windows.cwnd * PACKET;
            self.state.round = u32::from(!windows.in_slow_start());
        }
    }

    /// Processes an ACK that found the windows `before` (`prague_cong_control`).
    fn process_ack(&mut self, ack: &Ack, before: Windows, flight: &Flight) -> CwndUpdate {
        let mss = u64::from(flight.mss);
        let (delivered, marks) = (ack.delivered.div_ceil(mss), ack.marked.div_ceil(mss));
        self.state.delivered += delivered;
        self.state.marks += marks;
        let windows = self.update_window(ack, (delivered, marks), before, flight);
        let is_independent = self.is_independent(windows);
        let target_elapsed = ack.now.since(self.state.alpha_updated) >= Span(self.config.rtt_target_ps);
        if flight.una >= self.state.round_end && (!is_independent || target_elapsed) {
            self.end_round(ack, windows, flight);
        }
        CwndUpdate {
            window: windows.cwnd as f64 * flight.mss(),
            threshold: windows.ssthresh * flight.mss(),
            pacing: self.pacing(ack.srtt, ack.in_flight.div_ceil(mss), windows, flight),
        }
    }

    /// Increases the fractional window for packets without marks, and moves cwnd towards it by at most one packet
    /// (`prague_update_cwnd`).
    fn update_window(
        &mut self,
        ack: &Ack,
        (delivered, marks): (u64, u64),
        before: Windows,
        flight: &Flight,
    ) -> Windows {
        let mut windows = before;
        if marks > 0 {
            if !self.state.saw_marks {
                self.state.window = (self.state.window + 1) >> 1;
            }
            self.state.saw_marks = true;
        }
        let mut acked = delivered.saturating_sub(marks);
        if acked > 0 && !self.state.in_loss && is_limited(ack, flight) {
            if windows.in_slow_start() {
                let room = if windows.ssthresh.is_finite() {
                    windows.ssthresh as u64 - windows.cwnd
                } else {
                    acked
                };
                windows.cwnd += acked.min(room);
                acked -= acked.min(room);
                self.state.window = windows.cwnd * PACKET;
                if acked == 0 {
                    self.update_increase(ack.srtt);
                    return windows;
                }
            }
            let share = rounded_ratio(acked * self.state.increase * PACKET, self.state.window);
            let mtu = u64::from(flight.mss) + HEADERS;
            self.state.window += acked.max(share * REFERENCE_MTU / mtu);
        }
        let whole_packets = self.state.window.div_ceil(PACKET).max(MIN_WINDOW);
        if windows.cwnd > whole_packets {
            windows.cwnd -= 1;
            windows.ssthresh = windows.cwnd as f64;
            self.update_increase(ack.srtt);
        } else if windows.cwnd < whole_packets {
            windows.cwnd += 1;
            self.update_increase(ack.srtt);
        }
        windows
    }

    /// Reduces the window by half of alpha, at most once per RTT target (`prague_enter_cwr`).
    fn reduce_for_marks(&mut self, now: Time, windows: Windows) {
        let target = Span(self.config.rtt_target_ps);
        if self.is_independent(windows) && now.since(self.state.reduced) < target {
            return;
        }
        self.state.reduced = now;
        let alpha = u128::from(self.state.alpha >> GAIN_SHIFT);
        let product = alpha * u128::from(self.state.window) + u128::from(ALPHA_ONE);
        self.state.window -= (product >> (ALPHA_BITS + 1)) as u64;
    }

    /// Updates alpha from the marks of a round, and begins the next one (`prague_update_alpha`, `prague_new_round`).
    fn end_round(&mut self, ack: &Ack, windows: Windows, flight: &Flight) {
        let state = &mut self.state;
        if state.saw_marks {
            let share = (state.marks << ALPHA_BITS) / state.delivered.max(1);
            state.alpha = (state.alpha - (state.alpha >> GAIN_SHIFT) + share).min(ALPHA_ONE << GAIN_SHIFT);
            state.alpha_updated = ack.now;
        }
        (state.round_end, state.delivered, state.marks) = (flight.nxt, 0, 0);
        if !windows.in_slow_start() {
            state.round = state.round.saturating_add(1);
        }
        self.update_increase(ack.srtt);
    }

    /// Returns whether the rate is already independent of the RTT (`prague_is_rtt_indep`).
    fn is_independent(&self, windows: Windows) -> bool {
        !windows.in_slow_start() && self.state.round >= self.config.transition
    }

    /// Computes the increase per window from the smoothed RTT: (RTT / RTT target)² packets below the target
    /// (`prague_ai_ack_increase`).
    fn update_increase(&mut self, srtt: Option<Span>) {
        // The kernel's unit of the smoothed RTT, an eighth of a microsecond.
        let eighths = |span_ps: u64| span_ps * 8 / 1_000_000;
        let (rtt, target) = (
            srtt.map_or(0, |srtt| eighths(srtt.0)),
            eighths(self.config.rtt_target_ps),
        );
        let scales = self.state.round >= self.config.transition && rtt > 0 && rtt <= eighths(LONGEST_SCALED.0);
        self.state.increase = if scales && rtt < target {
            rounded_ratio((rtt << CWND_BITS) * rtt, target * target)
        } else {
            PACKET
        };
    }

    /// Returns the pacing rate: one window per RTT, or two in the first half of slow start
    /// (`prague_update_pacing_rate`). The kernel computes the rate from whole packets, but paces their payload
    /// (`tcp_update_skb_after_send`), so a sender is always limited by its window.
    fn pacing(&self, srtt: Option<Span>, in_flight: u64, windows: Windows, flight: &Flight) -> Option<Pacing> {
        let eighths = srtt?.0 * 8 / 1_000_000;
        let (mss, mtu) = (u64::from(flight.mss), u64::from(flight.mss) + HEADERS);
        let packets = (self.state.window >> CWND_BITS).max(in_flight);
        let mut rate = (8_000_000 * mtu / eighths.max(1) * packets).max(MIN_RATE);
        if (windows.cwnd as f64) < (windows.ssthresh / 2.0).floor() {
            rate *= 2;
        }
        let burst = (rate / mtu) >> BURST_SHIFT;
        Some(Pacing {
            rate_bps: rate * 8,
            quantum_bytes: (burst.clamp(1, u64::from(u16::MAX)) * mss) as u32,
        })
    }
}

/// Returns a quotient, rounded to the nearest whole number.
fn rounded_ratio(numerator: u64, denominator: u64) -> u64 {
    (numerator + denominator / 2) / denominator
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::control::Usage;
    use crate::congestion::flight::Limits;
    use crate::congestion::trial::ack_of;

    const MSS: u32 = 1448;

    /// A sender in congestion avoidance that always fills its window.
    struct Script {
        prague: Prague,
        flight: Flight,
        now: Time,
        rtt: Span,
    }

    impl Script {
        fn new(window: u64, rtt: Span) -> Script {
            let bytes = (window * u64::from(MSS)) as f64;
            let mut script = Script {
                prague: Prague::new(&PragueConfig {
                    rtt_target_ps: Span::millis(25).0,
                    transition: 4,
                }),
                flight: Flight::new(Limits::new(bytes, bytes), 1 << 40, MSS),
                now: Time::ZERO,
                rtt,
            };
            script.send();
            script
        }

        /// Returns an ACK of one packet without a mark.
        fn blank(&self) -> Ack {
            ack_of(u64::from(MSS), self.now, Some(self.rtt), &self.flight)
        }

        fn send(&mut self) {
            self.flight.nxt = self.flight.una + self.flight.window();
            self.flight.max = self.flight.nxt;
        }

        /// Acknowledges one packet, with a mark if `marked`, so that the ACKs of a window are evenly spaced over an
        /// RTT. If `starts` is true, the sender then begins a reduction.
        fn ack(&mut self, marked: bool, starts: bool) {
            let before = self.flight.outstanding();
            self.now += Span(self.rtt.0 * u64::from(MSS) / before);
            self.flight.una += u64::from(MSS);
            let ack = Ack {
                marked: if marked { u64::from(MSS) } else { 0 },
                ..self.blank()
            };
            let update = self.prague.on_ack(&ack, &self.flight);
            self.flight.limits = Limits::new(update.window, update.threshold);
            if starts {
                let update = self
                    .prague
                    .on_reduction(Cause::Mark { abe: false }, self.now, &self.flight);
                self.flight.limits = Limits::new(update.window, update.threshold);
            }
            self.send();
        }

        /// Acknowledges the packets of one round, the first `marked` of which carry a mark.
        fn round(&mut self, marked: u64) -> u64 {
            let end = self.flight.nxt;
            let mut count = 0;
            while self.flight.una < end {
                self.ack(count < marked, count == 0 && marked > 0);
                count += 1;
            }
            count
        }

        /// Acknowledges the packets of one of Prague's own rounds, the first `marked` of which carry a mark. Returns
        /// their number.
        fn counted_round(&mut self, marked: u64) -> u64 {
            let end = self.prague.state.round_end;
            let mut count = 0;
            while self.flight.una < end {
                self.ack(count < marked, count == 0 && marked > 0);
                count += 1;
            }
            count
        }

        fn window(&self) -> f64 {
            self.prague.state.window as f64 / PACKET as f64
        }
    }

    /// Compares windows, alpha and pacing with results of the functions of tcp_prague.c 0.7 (`prague_cwnd_mode` 0),
    /// compiled separately, for five random sequences of ACKs with RTTs from 1 to 300 ms. Each row is an ACK; `mark`
    /// and `loss` begin a reduction, `end` ends one.
    const WITNESS: &str = include_str!("prague_witness.csv");

    #[test]
    fn windows_alpha_and_pacing_match_the_kernel_module_at_every_ack() {
        let (mut case, mut script) = ("", Script::new(10, Span::millis(1)));
        for row in WITNESS.lines().skip(1) {
            let fields: Vec<&str> = row.split(',').collect();
            let number = |index: usize| fields[index].parse::<u64>().expect(row);
            let bytes = |packets: u64| (packets * u64::from(MSS)) as f64;
            if fields[0] != case {
                case = fields[0];
                script = Script::new(10, Span::millis(1));
                let ssthresh = match case {
                    "3" => f64::INFINITY,
                    "4" => bytes(60),
                    _ => bytes(10),
                };
                script.flight.limits = Limits::new(bytes(10), ssthresh);
            }
            let mss = u64::from(MSS);
            let (now, srtt) = (Time(Span::micros(number(2)).0), Some(Span(number(6) * 125_000)));
            (script.flight.una, script.flight.nxt) = (number(7) * mss, number(8) * mss);
            script.flight.max = script.flight.nxt;
            let (event, limits) = (fields[1], |update: CwndUpdate| {
                Limits::new(update.window, update.threshold)
            });
            if event.starts_with("end") {
                script.prague.on_recovered(false, now, &script.flight);
            }
            if event.ends_with("loss") {
                script.flight.limits = limits(script.prague.on_reduction(Cause::FastRetransmit, now, &script.flight));
            }
            let ack = Ack {
                now,
                delivered: number(3) * mss,
                marked: number(4) * mss,
                usage: Usage::of(number(5) == 1, 0),
                srtt,
                in_flight: number(9) * mss,
                ..script.blank()
            };
            let mut update = script.prague.on_ack(&ack, &script.flight);
            script.flight.limits = limits(update);
            if event.ends_with("mark") {
                update = script
                    .prague
                    .on_reduction(Cause::Mark { abe: false }, now, &script.flight);
                script.flight.limits = limits(update);
            }
            assert_eq!(
                (script.prague.state.window, script.prague.state.alpha),
                (number(12), number(13)),
                "{row}"
            );
            assert_eq!(update.window, bytes(number(10)), "{row}");
            let ssthresh = if number(11) < 0x7fff_ffff {
                bytes(number(11))
            } else {
                f64::INFINITY
            };
            assert_eq!(update.threshold, ssthresh, "{row}");
            let pacing = update.pacing.expect(row);
            assert_eq!(pacing.rate_bps, number(14) * 8, "{row}");
            assert_eq!(u64::from(pacing.quantum_bytes), number(15) * mss, "{row}");
        }
    }

    /// Tests alpha' = alpha - alpha/16 + F/16, where F is the share of marks of a round. The stored value is 16 alpha
    /// in units of 2^-24, truncated as in `prague_update_alpha`.
    #[test]
    fn alpha_follows_its_recurrence_exactly() {
        let mut script = Script::new(200, Span::millis(50));
        // The first ACK ends the initial round, in which nothing was delivered.
        script.ack(false, false);
        let mut expected = 0u64;
        for marked in [20, 0, 7, 1, 150, 3, 0, 0, 40, 12] {
            let total = script.counted_round(marked);
            let share = (marked.min(total) << 24) / total;
            if expected > 0 || marked > 0 {
                expected = (expected - expected / 16 + share).min(16 << 24);
            }
            assert_eq!(script.prague.state.alpha, expected, "{marked} of {total}");
        }
        // If the share of marked packets is constant, alpha approaches this share.
        for _ in 0..200 {
            let total = script.flight.outstanding() / u64::from(MSS);
            script.counted_round(total / 10);
        }
        let alpha = script.prague.state.alpha as f64 / 16.0 / f64::from(1 << 24);
        assert!((0.09..0.101).contains(&alpha), "{alpha}");
    }

    #[test]
    fn first_mark_halves_the_window_and_later_marks_follow_alpha() {
        let mut script = Script::new(100, Span::millis(50));
        script.ack(true, true);
        assert_eq!(script.window(), 50.0);
        script.prague.state.alpha = 16 << 22;
        let before = script.window();
        script.ack(true, true);
        assert!(
            (script.window() - before * 0.875).abs() < 1e-3,
            "{} {before}",
            script.window()
        );
        // cwnd changes by at most one packet per ACK.
        assert_eq!(script.flight.cwnd() / f64::from(MSS), 98.0);
    }

    /// The increase per round is (RTT / 25 ms)² packets below 25 ms, and one packet above. If a share p of the packets
    /// is marked, it is multiplied by 1 - p.
    #[test]
    fn growth_per_round_depends_only_on_rtts_below_the_target() {
        for (rtt, expected) in [(5, 0.04), (10, 0.16), (25, 1.0), (80, 1.0), (200, 1.0)] {
            let mut script = Script::new(500, Span::millis(rtt));
            for _ in 0..5 {
                script.round(0);
            }
            let before = script.window();
            script.round(0);
            let grown = script.window() - before;
            assert!((grown / expected - 1.0).abs() < 0.01, "{rtt} ms: {grown}");
        }
    }

    #[test]
    fn at_short_rtts_reductions_are_at_least_the_rtt_target_apart() {
        let mut script = Script::new(500, Span::millis(5));
        for _ in 0..8 {
            script.round(1);
        }
        let since = |script: &Script| script.prague.state.reduced;
        let first = since(&script);
        script.round(1);
        let within = since(&script);
        for _ in 0..8 {
            script.round(1);
        }
        assert!(within == first || (within - first) >= Span::millis(25));
        assert!((since(&script) - first) >= Span::millis(25));
    }

    #[test]
    fn a_loss_halves_the_window_and_stops_growth_until_it_is_repaired() {
        let mut script = Script::new(100, Span::millis(50));
        let update = script
            .prague
            .on_reduction(Cause::FastRetransmit, script.now, &script.flight);
        assert_eq!((script.window(), update.window), (50.0, script.flight.cwnd()));
        for _ in 0..60 {
            script.ack(false, false);
        }
        assert_eq!((script.window(), script.flight.cwnd()), (50.0, f64::from(50 * MSS)));
        script.prague.on_recovered(false, script.now, &script.flight);
        script.ack(false, false);
        assert!(script.window() > 50.0);
    }

    #[test]
    fn pacing_rate_is_one_window_per_rtt_in_250_us_bursts() {
        let mut script = Script::new(1000, Span::millis(100));
        script.ack(false, false);
        let windows = Windows::of(&script.flight);
        let pacing = script.prague.pacing(Some(script.rtt), 0, windows, &script.flight);
        // The kernel multiplies the rate by the ratio of a packet's length to its payload.
        let expected = 8.0 * 1000.0 * (f64::from(MSS) + HEADERS as f64) / 0.1;
        let pacing = pacing.expect("the RTT is known");
        assert!((pacing.rate_bps as f64 / expected - 1.0).abs() < 1e-3);
        // At 10 000 packets per second, 2 packets take 2^-12 s.
        assert_eq!(pacing.quantum_bytes, 2 * MSS);
    }
}
