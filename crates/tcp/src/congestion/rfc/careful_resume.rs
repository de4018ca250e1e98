//! Careful Resume: starts a connection with half of the window that an earlier connection between the same hosts used
//! (RFC 9959).
//!
//! It wraps a congestion controller. After the initial window has been acknowledged without congestion it jumps to half
//! of the saved window, paced over one round trip (Unvalidated), and leaves growth to the controller while these data
//! are acknowledged (Validating). Congestion in these phases reduces the window to half of the data that the path is
//! known to carry (Safe Retreat).

use crate::congestion::control::{Ack, AckSample, Cause, Control, CwndUpdate, Pacing, RecoveryPhase, Sent, Wants};
use crate::congestion::flight::Flight;
use crate::congestion::flight::Limits;
use crate::congestion::pacing::{self, UNPACED};
use crate::congestion::path_model::{Model, Stage};
use crate::congestion::Congestion;
use crate::described::Described;
use crate::problem::Problem;
use longpipe_events::{Span, Time, PS_PER_SECOND};
use longpipe_json::FromJson;
use serde::Serialize;

/// Determines where saved parameters come from.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CarefulResumeConfig {
    /// A connection starts with the initial window.
    #[described(name = "CarefulResumeOff")]
    Off {},
    /// Starts with what an earlier flow between the same two hosts measured in this run.
    #[described(name = "PreviousPath")]
    Previous {
        /// Maximum window after the jump [bytes]; RFC 9959 section 4.3, max_jump.
        #[field(range = "[1 B, 1 GiB]", word = "unlimited", default = "unlimited")]
        max_jump_bytes: Option<u64>,
        /// Share of PipeSize that becomes ssthresh at the end of Safe Retreat; RFC 9959 section 4.6, Beta.
        #[field(range = "[0.5, 1)", default = 0.5)]
        beta: f64,
        /// Data that PipeSize includes in addition to the data in flight at the jump: data sent and acknowledged since
        /// the jump (the RFC's example), or all data acknowledged since the jump (the text of its rules).
        #[field(default = "sent-since")]
        pipe_size: PipeSize,
        /// Age at which saved parameters expire [time]; RFC 9959 section 4.1, Lifetime (the RFC gives no value).
        #[field(range = "[0 s, 100000 s]", default = "1 h")]
        lifetime_ps: u64,
    },
    /// Starts with given parameters, as if an earlier connection had saved them.
    #[described(name = "SavedPath")]
    Saved {
        /// Maximum window after the jump [bytes]; RFC 9959 section 4.3, max_jump.
        #[field(range = "[1 B, 1 GiB]", word = "unlimited", default = "unlimited")]
        max_jump_bytes: Option<u64>,
        /// Share of PipeSize that becomes ssthresh at the end of Safe Retreat; RFC 9959 section 4.6, Beta.
        #[field(range = "[0.5, 1)", default = 0.5)]
        beta: f64,
        /// Data that PipeSize includes in addition to the data in flight at the jump: data sent and acknowledged since
        /// the jump (the RFC's example), or all data acknowledged since the jump (the text of its rules).
        #[field(default = "sent-since")]
        pipe_size: PipeSize,
        /// Data acknowledged in one RTT [bytes]; RFC 9959, saved_cwnd.
        #[field(range = "[1 B, 1 GiB]")]
        cwnd_bytes: u64,
        /// Minimum RTT [time]; RFC 9959, saved_rtt.
        #[field(range = "[1 us, 100 s]")]
        rtt_ps: u64,
    },
}

/// Parameters of a path that one connection saves for a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedPath {
    /// Bytes acknowledged in one round trip (saved_cwnd).
    pub cwnd_bytes: u64,
    /// Minimum RTT [ps] (saved_rtt).
    pub rtt_ps: u64,
}

/// Data that are counted in PipeSize in addition to the data in flight at the jump. The rules of the RFC differ from
/// its example.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum PipeSize {
    /// Acknowledged data that were sent since the jump, as in the RFC's example (appendix).
    SentSince,
    /// All data acknowledged since the jump, which is the literal meaning of the rules in section 4.3: data in flight
    /// at the jump are counted twice.
    AllAcknowledged,
}

impl Default for CarefulResumeConfig {
    fn default() -> CarefulResumeConfig {
        CarefulResumeConfig::Off {}
    }
}

impl CarefulResumeConfig {
    /// Returns whether earlier connections of the run provide the parameters.
    pub fn uses_earlier_connections(&self) -> bool {
        matches!(self, CarefulResumeConfig::Previous { .. })
    }

    /// Returns whether Careful Resume is off.
    pub fn is_off(&self) -> bool {
        matches!(self, CarefulResumeConfig::Off {})
    }

    /// Returns the options that both sources have: maximum jump, β and PipeSize.
    fn options(&self) -> (Option<u64>, f64, PipeSize) {
        match *self {
            CarefulResumeConfig::Off {} => (None, 0.5, PipeSize::SentSince),
            CarefulResumeConfig::Previous {
                max_jump_bytes,
                beta,
                pipe_size,
                ..
            }
            | CarefulResumeConfig::Saved {
                max_jump_bytes,
                beta,
                pipe_size,
                ..
            } => (max_jump_bytes, beta, pipe_size),
        }
    }

    /// Returns the first invalid parameter, if any.
    pub fn problem(&self) -> Option<Problem> {
        let (_, beta, _) = self.options();
        if !(0.5..1.0).contains(&beta) {
            return Some(Problem::new("careful_resume.beta", beta, "needs 0.5 <= beta < 1"));
        }
        match *self {
            CarefulResumeConfig::Saved { cwnd_bytes, rtt_ps, .. } if cwnd_bytes == 0 || rtt_ps == 0 => {
                let value = format!("{cwnd_bytes} bytes, {rtt_ps} ps");
                Some(Problem::new(
                    "careful_resume",
                    value,
                    "needs a window and an RTT above 0",
                ))
            }
            _ => None,
        }
    }
}

/// Latest observation of a path: saved parameters, or the fact that none may be used after a Safe Retreat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Time of the observation.
    pub time: Time,
    /// Saved parameters; None after a Safe Retreat.
    pub path: Option<SavedPath>,
}

/// Phase of Careful Resume (RFC 9959 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The initial window, up to byte `end`, is not acknowledged yet.
    Reconnaissance { end: Option<u64>, least_rtt: Option<Span> },
    /// Data from byte `first` on have been paced since `since`, for one round trip of `rtt`.
    Unvalidated { first: u64, since: Time, rtt: Span },
    /// Data up to byte `last` were sent in the Unvalidated phase.
    Validating { last: u64 },
    /// Congestion occurred before the data up to byte `last` were acknowledged.
    SafeRetreat { last: u64 },
    /// Safe Retreat is over, but loss recovery is not.
    Recovering,
    /// The wrapped controller alone determines the window.
    Normal,
}

/// A controller that starts with saved parameters.
#[derive(Clone, Debug)]
pub struct CarefulResume {
    inner: Congestion,
    config: CarefulResumeConfig,
    /// Whether the sender is also paced after the Unvalidated phase.
    paces: bool,
    saved: Option<SavedPath>,
    phase: Phase,
    /// Data [byte] that the path is known to carry (PipeSize), and data [byte] that were in flight at the jump and have
    /// not been acknowledged yet.
    pipe_size: u64,
    older: u64,
    /// Initial window [byte].
    initial_window: f64,
    /// End of the current round, and bytes delivered in it.
    round: (u64, u64),
    observed: Option<Observed>,
    /// Smoothed and minimum RTT at the latest ACK.
    srtt: Option<Span>,
    least_rtt: Option<Span>,
}

/// The path is assumed to have changed if the minimum RTT is at most 1/SHORTEST of the saved minimum RTT, or more than
/// LONGEST times the saved minimum RTT.
const SHORTEST: u64 = 2;
const LONGEST: u64 = 10;
/// Minimum window that is saved, in initial windows.
const MIN_SAVED: f64 = 4.0;
/// Minimum window in Safe Retreat [segment].
const MIN_WINDOW: f64 = 2.0;

impl CarefulResume {
    /// Wraps the controller of a new connection; `paces` is true if the sender is paced at cwnd/srtt.
    pub fn new(inner: Congestion, config: &CarefulResumeConfig, paces: bool, initial_window: f64) -> CarefulResume {
        let mut resume = CarefulResume {
            inner,
            config: *config,
            paces,
            saved: None,
            phase: Phase::Normal,
            pipe_size: 0,
            older: 0,
            initial_window,
            round: (0, 0),
            observed: None,
            srtt: None,
            least_rtt: None,
        };
        if let CarefulResumeConfig::Saved { cwnd_bytes, rtt_ps, .. } = *config {
            resume.resume(SavedPath { cwnd_bytes, rtt_ps });
        }
        resume
    }

    /// Returns the age at which parameters that an earlier connection has saved expire; None if they are not used.
    pub fn lifetime(&self) -> Option<Span> {
        match self.config {
            CarefulResumeConfig::Previous { lifetime_ps, .. } => Some(Span(lifetime_ps)),
            _ => None,
        }
    }

    /// Uses saved parameters. Called before the first segment.
    pub fn resume(&mut self, saved: SavedPath) {
        self.saved = Some(saved);
        self.phase = Phase::Reconnaissance {
            end: None,
            least_rtt: None,
        };
    }

    /// Returns whether saved parameters are in use, so that no other connection may use them.
    pub fn is_resuming(&self) -> bool {
        !matches!(self.phase, Phase::Normal | Phase::Recovering)
    }

    /// Returns the connection's observation of its path, for later connections.
    pub fn observed(&self) -> Option<Observed> {
        self.observed
    }

    /// Returns whether loss recovery must not change the window.
    pub fn owns_window(&self) -> bool {
        matches!(self.phase, Phase::SafeRetreat { .. } | Phase::Recovering) || self.inner.owns_window()
    }

    /// Records the data delivered in each round that used the whole window.
    fn observe(&mut self, ack: &Ack, flight: &Flight) {
        self.round.1 += ack.delivered;
        if flight.una < self.round.0 {
            return;
        }
        let delivered = self.round.1;
        self.round = (flight.max, 0);
        let is_large = delivered as f64 >= MIN_SAVED * self.initial_window;
        if let (Phase::Normal, true, true, Some(rtt)) = (self.phase, ack.usage.full, is_large, ack.least_rtt) {
            self.observed = Some(Observed {
                time: ack.now,
                path: Some(SavedPath {
                    cwnd_bytes: delivered,
                    rtt_ps: rtt.0,
                }),
            });
        }
    }

    /// Counts delivered bytes in PipeSize.
    fn count(&mut self, delivered: u64) {
        let older = delivered.min(self.older);
        self.older -= older;
        self.pipe_size += match self.config.options().2 {
            PipeSize::SentSince => delivered - older,
            PipeSize::AllAcknowledged => delivered,
        };
    }

    /// Returns the window after the jump and the RTT for its pacing, if the initial window was acknowledged and the
    /// path seems unchanged. Leaves Careful Resume if the path has changed or the jump would not enlarge the window.
    fn jump(&mut self, ack: &Ack, flight: &Flight) -> Option<(f64, Span)> {
        let (Phase::Reconnaissance { end, least_rtt }, Some(saved)) = (self.phase, self.saved) else {
            return None;
        };
        let end = end.unwrap_or(flight.max);
        let least_rtt = [least_rtt, ack.rtt].into_iter().flatten().min();
        self.phase = Phase::Reconnaissance {
            end: Some(end),
            least_rtt,
        };
        if flight.una < end {
            return None;
        }
        let jump = self.config.options().0.unwrap_or(u64::MAX).min(saved.cwnd_bytes / 2);
        let jump = (jump / u64::from(flight.mss)) as f64 * flight.mss();
        let rtt = least_rtt
            .filter(|rtt| rtt.0 > saved.rtt_ps / SHORTEST && rtt.0 / LONGEST <= saved.rtt_ps && jump > flight.cwnd());
        if rtt.is_none() {
            self.phase = Phase::Normal;
        }
        rtt.map(|least_rtt| (jump, ack.rtt.unwrap_or(least_rtt)))
    }

    /// Ends the Unvalidated phase and returns the window. If the sender did not use the enlarged window, it leaves
    /// Careful Resume.
    fn validate(&mut self, in_flight: u64, flight: &Flight) -> f64 {
        if (in_flight as f64) < self.initial_window || in_flight <= self.pipe_size {
            self.phase = Phase::Normal;
            return (self.pipe_size as f64).max(self.initial_window);
        }
        self.phase = Phase::Validating { last: flight.max };
        in_flight as f64
    }

    /// Returns the pacing rate outside of the Unvalidated phase for a congestion window of `window`.
    fn usual_pacing(&self, window: f64, flight: &Flight) -> Option<Pacing> {
        if !self.paces {
            return Some(UNPACED);
        }
        let flight = Flight {
            limits: Limits::new(window, flight.ssthresh()),
            ..flight.clone()
        };
        pacing::by_window(&flight, self.srtt, self.least_rtt)
    }
}

impl Control for CarefulResume {
    fn wrapped(&self) -> Option<&Congestion> {
        Some(&self.inner)
    }

    fn wrapped_mut(&mut self) -> Option<&mut Congestion> {
        Some(&mut self.inner)
    }

    fn wants(&self) -> Wants {
        self.inner.wants().or(Wants {
            pacing: true,
            sending: true,
            ..Wants::RECORDS
        })
    }

    fn model(&self) -> Option<Model> {
        let stage = match self.phase {
            Phase::Reconnaissance { .. } => Stage::Reconnaissance,
            Phase::Unvalidated { .. } => Stage::Unvalidated,
            Phase::Validating { .. } => Stage::Validating,
            Phase::SafeRetreat { .. } => Stage::SafeRetreat,
            Phase::Recovering | Phase::Normal => return self.inner.model(),
        };
        let saved = self.saved?;
        Some(Model {
            stage,
            bandwidth_bps: (8 * saved.cwnd_bytes) as f64 * PS_PER_SECOND as f64 / saved.rtt_ps as f64,
        })
    }

    fn on_sent(&mut self, sent: &Sent, flight: &Flight) -> Option<Pacing> {
        self.inner.on_sent(sent, flight);
        let fills = (sent.in_flight + u64::from(flight.mss)) as f64 > flight.cwnd();
        if fills && matches!(self.phase, Phase::Unvalidated { .. }) {
            let window = self.validate(sent.in_flight, flight);
            return self.usual_pacing(window, flight);
        }
        None
    }

    fn on_sample(&mut self, sample: &AckSample, flight: &Flight) -> CwndUpdate {
        let (mut flight, held) = (flight.clone(), CwndUpdate::unchanged(flight));
        if let Phase::Unvalidated { .. } = self.phase {
            // This window does not result from slow start, so no criterion of slow start applies to it.
            flight.limits.set(flight.cwnd(), flight.cwnd());
        }
        let update = self
            .inner
            .update(&flight, |inner, flight| inner.on_sample(sample, flight));
        match self.phase {
            Phase::Unvalidated { .. } | Phase::SafeRetreat { .. } | Phase::Recovering => held,
            Phase::Reconnaissance { .. } | Phase::Validating { .. } | Phase::Normal => update,
        }
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> CwndUpdate {
        (self.srtt, self.least_rtt) = (ack.srtt, ack.least_rtt);
        self.observe(ack, flight);
        let held = CwndUpdate::unchanged(flight);
        if let Phase::Unvalidated { first, since, rtt } = self.phase {
            self.count(ack.delivered);
            if flight.una <= first && ack.now.since(since) <= rtt {
                return held;
            }
            let window = self.validate(ack.in_flight, flight);
            return CwndUpdate {
                window,
                pacing: self.usual_pacing(window, flight),
                ..held
            };
        }
        let mut update = self.inner.update(flight, |inner, flight| inner.on_ack(ack, flight));
        if self.paces {
            update.pacing = self.usual_pacing(update.window, flight);
        }
        match self.phase {
            Phase::Reconnaissance { .. } => {
                if let Some((jump, rtt)) = self.jump(ack, flight) {
                    (self.pipe_size, self.older) = (ack.in_flight, ack.in_flight);
                    self.phase = Phase::Unvalidated {
                        first: flight.max,
                        since: ack.now,
                        rtt,
                    };
                    update.window = jump.min(flight.rwnd as f64);
                    let rate = 8.0 * jump * PS_PER_SECOND as f64 / rtt.0 as f64;
                    update.pacing = Some(Pacing {
                        rate_bps: rate as u64,
                        quantum_bytes: flight.mss,
                    });
                }
            }
            Phase::Validating { last } => {
                self.count(ack.delivered);
                if flight.una >= last {
                    self.phase = Phase::Normal;
                }
            }
            Phase::SafeRetreat { last } => {
                self.count(ack.delivered);
                update = held;
                if flight.una >= last {
                    update.threshold = (self.pipe_size as f64 * self.config.options().1).max(MIN_WINDOW * flight.mss());
                    self.phase = if ack.phase == RecoveryPhase::Open {
                        Phase::Normal
                    } else {
                        Phase::Recovering
                    };
                }
            }
            Phase::Recovering => update = held,
            Phase::Unvalidated { .. } | Phase::Normal => {}
        }
        update
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> CwndUpdate {
        let mut update = self
            .inner
            .update(flight, |inner, flight| inner.on_reduction(cause, now, flight));
        let last = match self.phase {
            Phase::SafeRetreat { .. } if cause != Cause::Timeout => return CwndUpdate::unchanged(flight),
            Phase::Unvalidated { .. } if cause != Cause::Timeout => flight.max,
            Phase::Validating { last } if cause != Cause::Timeout => last,
            phase => {
                self.phase = Phase::Normal;
                if phase != Phase::Normal {
                    update.pacing = self.usual_pacing(update.window, flight);
                }
                return update;
            }
        };
        self.observed = Some(Observed { time: now, path: None });
        self.phase = Phase::SafeRetreat { last };
        update.window = (self.pipe_size as f64 / 2.0)
            .max(MIN_WINDOW * flight.mss())
            .min(flight.cwnd());
        update.pacing = self.usual_pacing(update.window, flight);
        update
    }

    fn on_recovered(&mut self, spurious: bool, now: Time, flight: &Flight) -> CwndUpdate {
        if self.phase == Phase::Recovering {
            self.phase = Phase::Normal;
        }
        self.inner
            .update(flight, |inner, flight| inner.on_recovered(spurious, now, flight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::trial::ack_of;
    use crate::congestion::{CongestionConfig, LinuxRenoConfig, WestwoodConfig};

    const MSS: u64 = 1000;
    const RTT: Span = Span::millis(100);

    /// A connection with an initial window of 10 packets, of which one was acknowledged.
    struct Script {
        resume: CarefulResume,
        flight: Flight,
        now: Time,
        pacing: Option<Pacing>,
    }

    impl Script {
        fn new(saved_rtt: Span, pipe_size: PipeSize) -> Script {
            let config = CarefulResumeConfig::Saved {
                cwnd_bytes: 300 * MSS,
                rtt_ps: saved_rtt.0,
                max_jump_bytes: None,
                beta: 0.5,
                pipe_size,
            };
            let inner = Congestion::new(&CongestionConfig::LinuxReno(LinuxRenoConfig::default()));
            let mut script = Script {
                resume: CarefulResume::new(inner, &config, false, (10 * MSS) as f64),
                flight: Flight::new(Limits::new((10 * MSS) as f64, f64::INFINITY), 1 << 30, MSS as u32),
                now: Time(RTT.0),
                pacing: None,
            };
            script.ack(1, 10);
            script
        }

        /// Acknowledges all packets before `una`, when packets before `max` have been sent. Returns the window
        /// [packet].
        fn ack(&mut self, una: u64, max: u64) -> f64 {
            let before = self.flight.una;
            (self.flight.una, self.flight.nxt, self.flight.max) = (una * MSS, max * MSS, max * MSS);
            let ack = ack_of(self.flight.una - before, self.now, Some(RTT), &self.flight);
            let update = self.resume.on_ack(&ack, &self.flight);
            self.take(update)
        }

        fn lose(&mut self) -> f64 {
            let update = self.resume.on_reduction(Cause::FastRetransmit, self.now, &self.flight);
            self.take(update)
        }

        fn take(&mut self, update: CwndUpdate) -> f64 {
            self.flight.limits = Limits::new(update.window, update.threshold);
            self.pacing = update.pacing.or(self.pacing);
            update.window / MSS as f64
        }
    }

    /// Repeats the example of RFC 9959, appendix A.4: 29 packets are in flight at the jump to half of 300, and the 35th
    /// packet sent since is lost. PipeSize is 63, and the window is 31 whole packets. According to the literal rules,
    /// PipeSize is 92.
    #[test]
    fn rfc_9959_a_loss_reduces_the_window_to_half_of_pipe_size() {
        for (pipe_size, window) in [(PipeSize::SentSince, 31.5), (PipeSize::AllAcknowledged, 46.0)] {
            let mut script = Script::new(RTT, pipe_size);
            assert_eq!(script.ack(10, 39), 150.0);
            let pacing = script.pacing.expect("the Unvalidated phase is paced");
            assert_eq!((pacing.rate_bps, pacing.quantum_bytes), (12_000_000, 1000));
            assert_eq!(script.resume.model().map(|model| model.stage), Some(Stage::Unvalidated));
            // The window does not grow while older packets are acknowledged.
            assert_eq!(script.ack(39, 150), 150.0);
            // 34 of the new packets are acknowledged, so 118 are in flight, and the controller increases the window
            // again.
            assert_eq!(script.ack(73, 191), 118.0);
            assert_eq!(script.pacing, Some(UNPACED));
            assert_eq!(script.resume.model().map(|model| model.stage), Some(Stage::Validating));
            assert_eq!(script.lose(), window);
            assert!(script.resume.owns_window());
            assert_eq!(script.resume.observed().map(|observed| observed.path), Some(None));
            // The window does not change until all unvalidated packets are acknowledged, then ssthresh is half of
            // PipeSize.
            assert_eq!(script.ack(190, 191), window);
            let acknowledged = 2.0 * window + 117.0 + 1.0;
            assert_eq!(script.ack(191, 191), window);
            assert_eq!(script.flight.ssthresh(), acknowledged / 2.0 * MSS as f64);
            assert!(!script.resume.is_resuming());
        }
    }

    /// A sender whose data do not fill the window after the jump keeps the validated window (section 4.3).
    #[test]
    fn sender_with_little_data_keeps_pipe_size() {
        let mut script = Script::new(RTT, PipeSize::SentSince);
        script.ack(10, 39);
        // There are 50 packets in total. At the first ACK of a new packet 10 are in flight, and PipeSize is 30.
        assert_eq!(script.ack(40, 50), 30.0);
        assert!(!script.resume.is_resuming());
    }

    /// A minimum RTT of at most half, or more than ten times, the saved one indicates another path (section 4.2.1).
    #[test]
    fn rtt_below_half_of_saved_rtt_prevents_the_jump() {
        let jumps = |saved: Span| Script::new(saved, PipeSize::SentSince).ack(10, 39) == 150.0;
        let tenth = Span(RTT.0 / 10);
        assert_eq!(
            [Span(2 * RTT.0), Span(2 * RTT.0 - 2), tenth, Span(tenth.0 - 1)].map(jumps),
            [false, true, true, false]
        );
    }

    #[test]
    fn a_loss_of_the_initial_window_prevents_the_jump() {
        let mut script = Script::new(RTT, PipeSize::SentSince);
        script.lose();
        assert!(script.ack(10, 39) < 20.0);
        assert!(!script.resume.is_resuming());
    }

    /// Westwood measures its bandwidth from the handshake on. After 12 ACKs at intervals of a tenth of an RTT, a
    /// measurement with data is complete only if the connection was idle before. Without saved parameters, the wrapped
    /// controller behaves as it does alone.
    #[test]
    fn the_wrapped_controller_measures_from_the_handshake_on() {
        let ssthresh = |wrapped: bool, idle: Span| {
            let mut congestion = Congestion::new(&CongestionConfig::Westwood(WestwoodConfig {}));
            if wrapped {
                congestion = congestion.resuming(&CarefulResumeConfig::Off {}, false, (10 * MSS) as f64);
            }
            congestion.set_hz(250);
            congestion.set_preconnect(idle);
            let mut flight = Flight::new(Limits::new((10 * MSS) as f64, f64::INFINITY), 1 << 30, MSS as u32);
            (flight.nxt, flight.max) = (1000 * MSS, 1000 * MSS);
            let mut now = Time(RTT.0);
            for _ in 0..12 {
                flight.una += MSS;
                let sample = AckSample {
                    now,
                    acked: MSS,
                    delivered: MSS,
                    marked: 0,
                    rtt: Some(RTT),
                    has_sack_blocks: false,
                    paced: false,
                    delay: None,
                    delivered_since_sent: None,
                };
                congestion.on_sample(&sample, &mut flight);
                congestion.on_ack(&ack_of(MSS, now, Some(RTT), &flight), &mut flight);
                now += Span(RTT.0 / 10);
            }
            congestion.on_reduction(Cause::Timeout, now, &mut flight);
            flight.ssthresh()
        };
        let (none, second) = (Span(0), Span::seconds(1));
        assert_eq!(ssthresh(true, none), ssthresh(false, none));
        assert_eq!(ssthresh(true, second), ssthresh(false, second));
        assert_ne!(ssthresh(true, none), ssthresh(true, second));
    }
}
