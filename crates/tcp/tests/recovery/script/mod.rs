//! Packet scripts: a sender and a receiver over a path without a queue, on which some packets are lost or delayed.
//!
//! Times are in RTTs. Packets that are sent at the same time arrive at the same time, in order.

use longpipe_events::{Span, Time};
use longpipe_tcp::config::{
    AckConfig, AimdConfig, CongestionConfig, NewRenoConfig, PipeStart, RackConfig, ReceiverControlConfig,
    RecoveryConfig, RecoveryKind, RenoConfig, Rfc6675Config, SackConfig, TahoeConfig, TcpConfig, TimerConfig,
    TimerRestart, VanillaConfig, VegasConfig, DEFAULT_HZ,
};
use longpipe_tcp::congestion::{CarefulResumeConfig, RapidStartConfig, RateLimitedConfig, VegasRules};
use longpipe_tcp::{AckSegment, DataSegment, Receiver, Sender};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};

pub const MSS: u64 = 1000;
/// RTT [ps]; the minimum RTO is ten RTTs.
pub const RTT: u64 = 100_000_000_000;
const MIN_RTO: u64 = 10 * RTT;

/// AIMD whose growth depends on the number of ACKs, as in 4.4BSD.
pub const AIMD: CongestionConfig = CongestionConfig::Aimd(AimdConfig { byte_counting: false });
/// Vegas with the parameters of the original paper.
pub const VEGAS: CongestionConfig = CongestionConfig::Vegas(VegasConfig {
    alpha: 1.0,
    beta: 3.0,
    gamma: 1.0,
    rules: VegasRules::Brakmo1995,
});

/// A connection whose recovery algorithm has not been chosen yet.
#[derive(Clone, Debug)]
pub struct Draft {
    kind: RecoveryKind,
    tcp: TcpConfig,
    pub tahoe: TahoeConfig,
    pub reno: RenoConfig,
    pub newreno: NewRenoConfig,
    pub sack: SackConfig,
    pub rfc6675: Rfc6675Config,
    pub rack: RackConfig,
}

impl Deref for Draft {
    type Target = TcpConfig;

    fn deref(&self) -> &TcpConfig {
        &self.tcp
    }
}

impl DerefMut for Draft {
    fn deref_mut(&mut self) -> &mut TcpConfig {
        &mut self.tcp
    }
}

impl Draft {
    fn new(kind: RecoveryKind) -> Draft {
        Draft {
            kind,
            tcp: TcpConfig {
                recovery: RecoveryConfig::Vanilla(VanillaConfig {}),
                congestion: AIMD,
                mss_bytes: MSS as u32,
                receiver_window_bytes: 1000 * MSS,
                window_scale: TcpConfig::least_window_scale(1000 * MSS),
                initial_window_segments: 16,
                initial_ssthresh_bytes: None,
                estimate_ssthresh: false,
                duplicate_ack_threshold: 3,
                fast_retransmit_restarts_timer: true,
                fast_retransmit_interval_ps: 0,
                silly_window_avoidance: true,
                idle_restart: false,
                initial_rtt_ps: 0,
                preconnect_ps: 0,
                handshake: false,
                pacing: false,
                pacing_burst_segments: None,
                hz: DEFAULT_HZ,
                careful_resume: CarefulResumeConfig::default(),
                rapid_start: RapidStartConfig::default(),
                receiver_control: ReceiverControlConfig::default(),
                rate_limited: RateLimitedConfig::default(),
                timer: TimerConfig::Fine {
                    granularity_ps: RTT / 100,
                    min_rto_ps: MIN_RTO,
                    max_rto_ps: 64 * MIN_RTO,
                    initial_rto_ps: MIN_RTO,
                    timestamps: false,
                },
                ack: AckConfig::Immediate {},
                ecn: Default::default(),
            },
            tahoe: TahoeConfig { guard: false },
            reno: RenoConfig {
                guard: false,
                deflate_on_timeout: false,
                guard_timeouts_only: false,
                inflate_always: false,
            },
            newreno: NewRenoConfig {
                flywheel: true,
                max_burst: None,
                partial_deflation: false,
                guard: false,
                timer_restart: TimerRestart::Every,
            },
            rfc6675: Rfc6675Config { blocks: 3, fack: false },
            rack: RackConfig {
                blocks: 3,
                probe: false,
                undo: true,
                dsack: false,
                frto: false,
                successive: false,
            },
            sack: SackConfig {
                blocks: 3,
                pipe: PipeStart::Window,
                guard: true,
                timer_restart: TimerRestart::Every,
            },
        }
    }

    /// Returns the configuration of the connection.
    pub fn config(&self) -> TcpConfig {
        TcpConfig {
            recovery: match self.kind {
                RecoveryKind::Vanilla => RecoveryConfig::Vanilla(VanillaConfig {}),
                RecoveryKind::Tahoe => RecoveryConfig::Tahoe(self.tahoe),
                RecoveryKind::Reno => RecoveryConfig::Reno(self.reno),
                RecoveryKind::Newreno => RecoveryConfig::Newreno(self.newreno),
                RecoveryKind::Sack => RecoveryConfig::Sack(self.sack),
                RecoveryKind::Rfc6675 => RecoveryConfig::Rfc6675(self.rfc6675),
                RecoveryKind::Rack => RecoveryConfig::Rack(self.rack),
            },
            ..self.tcp.clone()
        }
    }
}

/// Options of a connection, and the losses and delays of its packets.
#[derive(Clone, Debug)]
pub struct Script {
    draft: Draft,
    segments: u64,
    lost: Vec<u64>,
    lost_acks: Vec<u64>,
    late: BTreeMap<u64, f64>,
}

impl Script {
    /// Creates a script with a file of 40 segments, of which 16 are in the first flight, with an ACK for each segment,
    /// a fine clock, and no losses.
    pub fn new(recovery: RecoveryKind) -> Script {
        Script {
            draft: Draft::new(recovery),
            segments: 40,
            lost: vec![],
            lost_acks: vec![],
            late: BTreeMap::new(),
        }
    }

    /// Sets the length of the file.
    pub fn segments(mut self, segments: u64) -> Script {
        self.segments = segments;
        self
    }

    /// Drops the data packets with these numbers, counted from 0 in the order of transmission.
    pub fn lose(mut self, packets: &[u64]) -> Script {
        self.lost.extend(packets);
        self
    }

    /// Drops the ACKs with these numbers, counted from 0 in the order of transmission.
    pub fn lose_acks(mut self, acks: impl IntoIterator<Item = u64>) -> Script {
        self.lost_acks.extend(acks);
        self
    }

    /// Delays a data packet by a number of RTTs.
    pub fn delay(mut self, packet: u64, round_trips: f64) -> Script {
        self.late.insert(packet, round_trips);
        self
    }

    /// Changes other options.
    pub fn with(mut self, change: impl FnOnce(&mut Draft)) -> Script {
        change(&mut self.draft);
        self
    }

    /// Plays the script until all data are acknowledged, and checks the sender's invariants at each step.
    pub fn play(&self) -> Trace {
        Player::new(self).play()
    }
}

/// A transmitted segment.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub round_trips: f64,
    pub segment: u64,
    pub retransmission: bool,
}

/// All transmissions of a script, and its duration.
#[derive(Clone, Debug)]
pub struct Trace {
    pub sent: Vec<Sent>,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    /// Number of RTTs from the first retransmission until all data sent before it were acknowledged.
    pub repair: f64,
    /// Number of RTTs until all data were acknowledged.
    pub end: f64,
}

impl fmt::Display for Trace {
    /// Writes one line for each time at which segments are sent: `1.0 3* 16-20`, where * marks retransmissions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for instant in self.sent.chunk_by(|a, b| a.round_trips == b.round_trips) {
            write!(f, "{:.1}", instant[0].round_trips)?;
            for run in instant.chunk_by(|a, b| b.segment == a.segment + 1 && a.retransmission == b.retransmission) {
                let (first, last) = (run[0].segment, run[run.len() - 1].segment);
                let star = if run[0].retransmission { "*" } else { "" };
                if first == last {
                    write!(f, " {first}{star}")?;
                } else {
                    write!(f, " {first}-{last}{star}")?;
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

enum Event {
    Data(DataSegment),
    Ack(AckSegment),
    SenderTimer,
    ReceiverTimer,
}

struct Player<'a> {
    script: &'a Script,
    sender: Sender,
    receiver: Receiver,
    now: Time,
    /// Events, ordered by time and then by number, so that packets arrive in the order of transmission.
    events: BTreeMap<(Time, u64), Event>,
    count: u64,
    acks: u64,
    sent: Vec<Sent>,
    repairing: Option<(Time, u64)>,
    repair: f64,
}

impl<'a> Player<'a> {
    fn new(script: &'a Script) -> Player<'a> {
        Player {
            script,
            sender: Sender::new(&script.draft.config(), Span(0)),
            receiver: Receiver::new(&script.draft.config()),
            now: Time(0),
            events: BTreeMap::new(),
            count: 0,
            acks: 0,
            sent: vec![],
            repairing: None,
            repair: 0.0,
        }
    }

    fn play(mut self) -> Trace {
        self.sender.write_up_to(self.script.segments * MSS);
        self.transmit();
        while !self.sender.is_done() {
            let ((time, _), event) = self.events.pop_first().expect("a timer or a packet in flight");
            assert!(time.0 < 1_000_000 * RTT, "the file never gets through\n{:?}", self.sent);
            self.now = time;
            match event {
                Event::Data(segment) => {
                    self.receiver.on_segment(self.now, &segment);
                    self.acknowledge();
                }
                Event::ReceiverTimer => {
                    self.receiver.on_timeout(self.now);
                    self.acknowledge();
                }
                Event::Ack(ack) => {
                    self.sender.on_ack(self.now, &ack);
                    self.transmit();
                }
                Event::SenderTimer => {
                    self.sender.on_timeout(self.now);
                    self.transmit();
                }
            }
        }
        let counters = self.sender.counters();
        assert_eq!(self.receiver.delivered(), self.script.segments * MSS);
        assert_eq!(counters.sent_segments, self.sent.len() as u64);
        assert_eq!(
            counters.retransmitted_segments,
            self.sent.iter().filter(|sent| sent.retransmission).count() as u64
        );
        Trace {
            sent: self.sent,
            timeouts: counters.timeouts,
            fast_retransmits: counters.fast_retransmits,
            repair: self.repair,
            end: round_trips(self.now),
        }
    }

    fn transmit(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            let number = self.sent.len() as u64;
            self.sent.push(Sent {
                round_trips: round_trips(self.now),
                segment: segment.sequence / MSS,
                retransmission: segment.retransmission,
            });
            if segment.retransmission && self.repairing.is_none() {
                self.repairing = Some((self.now, self.sender.flight().max));
            }
            if !self.script.lost.contains(&number) {
                let late = self
                    .script
                    .late
                    .get(&number)
                    .map_or(0, |late| (late * RTT as f64) as u64);
                self.schedule(self.now + Span(RTT / 2 + late), Event::Data(segment));
            }
        }
        let flight = self.sender.flight();
        assert!(flight.una <= flight.nxt && flight.nxt <= flight.max, "{flight:?}");
        assert!(
            flight.max <= flight.una + flight.rwnd(),
            "beyond the receiver's window: {flight:?}"
        );
        if let Some((begin, recover)) = self.repairing.filter(|_| self.repair == 0.0) {
            if flight.una >= recover {
                self.repair = round_trips(Time((self.now - begin).0));
            }
        }
        if let Some(deadline) = self.sender.next_timeout().get() {
            self.schedule(deadline, Event::SenderTimer);
        }
    }

    fn acknowledge(&mut self) {
        if let Some(ack) = self.receiver.poll_transmit(self.now) {
            if !self.script.lost_acks.contains(&self.acks) {
                self.schedule(self.now + Span(RTT / 2), Event::Ack(ack));
            }
            self.acks += 1;
        }
        if let Some(deadline) = self.receiver.next_timeout().get() {
            self.schedule(deadline, Event::ReceiverTimer);
        }
    }

    fn schedule(&mut self, time: Time, event: Event) {
        self.events.insert((time, self.count), event);
        self.count += 1;
    }
}

fn round_trips(time: Time) -> f64 {
    time.0 as f64 / RTT as f64
}
