//! Comparison of the controllers with the kernel's. `witness.csv` contains windows and thresholds for random sequences
//! of events, computed by the modules of Debian's linux-source-6.1 (6.1.192) compiled for user space.
//!
//! A row is an event that happens `count` times: `ack` (in order), `dup` (a duplicate with a SACK block), `recover`
//! (the duplicate that begins a recovery), `mark` (an ECN echo that begins a reduction), `partial` (an ACK while the
//! window is being reduced), `end` and `undo` (the ACK that ends a reduction, or shows that it was spurious), `rto`,
//! and `drain` (an ACK of all data in flight, after which the sender is idle). HyStart is off, and a reduction sets
//! cwnd to ssthresh at once.

use crate::congestion::control::{Ack, AckSample, Cause, RecoveryPhase, Usage};
use crate::congestion::flight::Flight;
use crate::congestion::flight::Limits;
use crate::congestion::trial::ack_of;
use crate::congestion::{
    BicConfig, Congestion, CongestionConfig, CubicConfig, CubicRules, DctcpConfig, HighspeedConfig, HighspeedRules,
    HtcpConfig, HyblaConfig, HystartConfig, IllinoisConfig, LinuxRenoConfig, ScalableConfig, ScalableRules,
    VegasConfig, VegasRules, VenoConfig, WestwoodConfig,
};
use longpipe_events::{Span, Time};

const WITNESS: &str = include_str!("witness.csv");
const MSS: u64 = 1000;

/// Returns the controller named by a column of the table.
fn config(name: &str) -> CongestionConfig {
    match name {
        "bic" => CongestionConfig::Bic(BicConfig {}),
        "cubic" => CongestionConfig::Cubic(CubicConfig {
            scaling: 0.4,
            beta: 0.7,
            fast_convergence: true,
            reno_friendly: true,
            hystart: HystartConfig::None,
            rules: CubicRules::Linux,
        }),
        "dctcp" => CongestionConfig::Dctcp(DctcpConfig {
            gain: 1.0 / 16.0,
            initial_alpha: 1.0,
        }),
        "highspeed" => CongestionConfig::Highspeed(HighspeedConfig {
            rules: HighspeedRules::Linux,
        }),
        "htcp" => CongestionConfig::Htcp(HtcpConfig {}),
        "hybla" => CongestionConfig::Hybla(HyblaConfig {
            reference_ps: Span::millis(25).0,
        }),
        "illinois" => CongestionConfig::Illinois(IllinoisConfig {}),
        "reno" => CongestionConfig::LinuxReno(LinuxRenoConfig::default()),
        "scalable" => CongestionConfig::Scalable(ScalableConfig {
            increase: 0.01,
            decrease: 0.125,
            low_window_segments: 16,
            rules: ScalableRules::Linux,
        }),
        "vegas" => CongestionConfig::Vegas(VegasConfig {
            alpha: 2.0,
            beta: 4.0,
            gamma: 1.0,
            rules: VegasRules::Linux,
        }),
        "veno" => CongestionConfig::Veno(VenoConfig { backlog: 3.0 }),
        "westwood" => CongestionConfig::Westwood(WestwoodConfig {}),
        name => panic!("no controller for the column {name}"),
    }
}

/// Input columns of a row; times are in microseconds.
struct WitnessEvent<'a> {
    kind: &'a str,
    gap: u64,
    acked: u64,
    marked: bool,
    rtt: Option<Span>,
    srtt: Span,
    limited: bool,
}

/// State of the sender, under the name that the kernel uses.
#[derive(Clone, Copy, PartialEq)]
enum WitnessState {
    Open,
    Disorder,
    Cwr,
    Recovery,
    Loss,
}

/// A sender without a network.
struct WitnessSender {
    control: Congestion,
    flight: Flight,
    now: Time,
    state: WitnessState,
    /// cwnd and ssthresh before the latest reduction.
    prior: (f64, f64),
}

impl WitnessSender {
    fn new(column: &str, handshake: Span) -> WitnessSender {
        let (name, hz) = column.split_once('-').expect("a column is NAME-HZ");
        let mut sender = WitnessSender {
            control: Congestion::new(&config(name)),
            flight: Flight::new(Limits::new(10.0 * MSS as f64, f64::INFINITY), 1 << 50, MSS as u32),
            now: Time::ZERO,
            state: WitnessState::Open,
            prior: (0.0, 0.0),
        };
        // No ACK of the recorded sequences has another window than the one before, not even the first.
        sender.flight.rwnd = 0;
        sender.control.set_hz(hz.parse().expect("ticks per second"));
        sender.control.on_start(handshake, &mut sender.flight);
        sender
    }

    fn windows(&self) -> (u64, u64) {
        let segments = |bytes: f64| bytes as u64 / MSS;
        let threshold = self.flight.ssthresh();
        let threshold = if threshold.is_finite() { segments(threshold) } else { 0 };
        (segments(self.flight.cwnd()), threshold)
    }

    fn happens(&mut self, event: &WitnessEvent) {
        if event.kind == "rto" {
            self.now += Span::micros(event.gap);
            self.prior = (self.flight.cwnd(), self.flight.ssthresh());
            self.control.on_reduction(Cause::Timeout, self.now, &mut self.flight);
            self.state = WitnessState::Loss;
            return;
        }
        let una = self.flight.una;
        self.flight.nxt = self.flight.nxt.max(una + self.flight.cwnd() as u64);
        self.flight.max = self.flight.nxt;
        let duplicate = matches!(event.kind, "dup" | "recover");
        let acked = match event.kind {
            "drain" => self.flight.nxt - una,
            _ if duplicate => 0,
            _ => (event.acked * MSS).min(self.flight.cwnd() as u64),
        };
        let delivered = if duplicate { MSS } else { acked };
        let in_flight = self.flight.nxt - una;
        self.now += Span::micros(event.gap);
        self.flight.una += acked;
        let sample = AckSample {
            now: self.now,
            acked,
            delivered,
            marked: if event.marked { delivered } else { 0 },
            rtt: event.rtt,
            has_sack_blocks: duplicate || event.kind == "partial",
            paced: false,
            delay: None,
            delivered_since_sent: None,
        };
        self.control.on_sample(&sample, &mut self.flight);
        self.recover(event.kind);
        let reduces = matches!(self.state, WitnessState::Cwr | WitnessState::Recovery) || event.kind == "mark";
        let ack = Ack {
            grows: acked > 0 && !reduces,
            open: self.state == WitnessState::Open,
            phase: match self.state {
                WitnessState::Recovery => RecoveryPhase::Recovery,
                WitnessState::Loss => RecoveryPhase::Loss,
                _ => RecoveryPhase::Open,
            },
            delivered,
            marked: sample.marked,
            in_flight_before: in_flight,
            window_limited: event.limited,
            usage: Usage::of(event.limited, if event.limited { in_flight } else { MSS }),
            srtt: Some(event.srtt),
            ..ack_of(acked, self.now, event.rtt, &self.flight)
        };
        self.control.on_ack(&ack, &mut self.flight);
        if event.kind == "mark" {
            self.reduce(Cause::Mark { abe: false }, WitnessState::Cwr);
        }
    }

    /// Performs the actions of loss recovery between `on_sample` and `on_ack`.
    fn recover(&mut self, kind: &str) {
        match (kind, self.state) {
            ("recover", _) => self.reduce(Cause::FastRetransmit, WitnessState::Recovery),
            ("dup", WitnessState::Open) => self.state = WitnessState::Disorder,
            ("end", state) => {
                if matches!(state, WitnessState::Cwr | WitnessState::Recovery) {
                    self.flight.limits.set(self.flight.ssthresh(), self.flight.ssthresh());
                }
                self.control.on_recovered(false, self.now, &mut self.flight);
                self.state = WitnessState::Open;
            }
            ("undo", _) => {
                let (cwnd, ssthresh) = self.prior;
                let limits = (self.flight.cwnd().max(cwnd), self.flight.ssthresh().max(ssthresh));
                self.flight.limits.set(limits.0, limits.1);
                self.control.on_recovered(true, self.now, &mut self.flight);
                self.state = WitnessState::Open;
            }
            ("ack" | "drain" | "mark", WitnessState::Disorder) => self.state = WitnessState::Open,
            _ => {}
        }
    }

    fn reduce(&mut self, cause: Cause, state: WitnessState) {
        self.prior = (self.flight.cwnd(), self.flight.ssthresh());
        self.control.on_reduction(cause, self.now, &mut self.flight);
        self.state = state;
    }
}

/// Compares all windows and thresholds of a controller with the kernel's.
fn agrees_with_the_kernel(name: &str) {
    let mut lines = WITNESS.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let mut compared = 0;
    for (place, column) in (0..)
        .zip(&head)
        .filter(|(_, column)| column.starts_with(&format!("{name}-")))
    {
        let mut sender: Option<(&str, WitnessSender)> = None;
        for (number, row) in (2..).zip(&rows) {
            let value = |place: usize| row[place].parse::<i64>().expect("a number");
            let micros = |place: usize| (value(place) >= 0).then(|| Span::micros(value(place) as u64));
            let event = WitnessEvent {
                kind: row[1],
                gap: value(3) as u64,
                acked: value(4) as u64,
                marked: value(5) == 1,
                rtt: micros(6),
                srtt: micros(7).expect("SRTT is always known"),
                limited: value(8) == 1,
            };
            if sender.as_ref().is_none_or(|(seed, _)| *seed != row[0]) {
                sender = Some((row[0], WitnessSender::new(column, event.srtt)));
            }
            let (_, sender) = sender.as_mut().expect("set above");
            for _ in 0..value(2) {
                sender.happens(&event);
            }
            let (cwnd, ssthresh) = row[place].split_once('/').expect("CWND/SSTHRESH");
            let kernel = [cwnd, ssthresh].map(|segments| segments.parse::<u64>().unwrap_or_default());
            let (cwnd, ssthresh) = sender.windows();
            assert_eq!([cwnd, ssthresh], kernel, "{column}, line {number}: {row:?}");
            compared += 1;
        }
    }
    assert!(compared >= 400, "{compared} rows");
}

macro_rules! agree {
    ($($test:ident: $name:literal;)+) => {
        $(
            #[test]
            fn $test() {
                agrees_with_the_kernel($name);
            }
        )+
    };
}

agree! {
    bic: "bic";
    cubic: "cubic";
    dctcp: "dctcp";
    highspeed: "highspeed";
    htcp: "htcp";
    hybla: "hybla";
    illinois: "illinois";
    reno: "reno";
    scalable: "scalable";
    vegas: "vegas";
    veno: "veno";
    westwood: "westwood";
}
