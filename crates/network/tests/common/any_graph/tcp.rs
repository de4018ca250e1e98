//! Random TCP connections with every option of the configuration.

use super::pace::{any_packets, part, Pace, Packets};
use crate::common::{random::any_recovery, SECOND};
use longpipe_tcp::config::{
    AckConfig, AimdConfig, CongestionConfig, CongestionKind, EcnConfig, NewRenoConfig, PhaseConfig, PipeStart,
    RackConfig, ReceiverControlConfig, RecoveryConfig, RecoveryKind, RenoConfig, Rfc6675Config, SackConfig,
    TahoeConfig, TcpConfig, TimerConfig, TimerRestart, VanillaConfig, VegasConfig, DEFAULT_HZ, MAX_WINDOW_SCALE,
};
use longpipe_tcp::congestion::{
    Bbr3Config, BbrConfig, BicConfig, C4Config, C4Rules, CarefulResumeConfig, CopaConfig, CubicConfig, CubicRules,
    DctcpConfig, HighspeedRules, HtcpConfig, HyblaConfig, HystartConfig, IllinoisConfig, LedbatConfig, LinuxRenoConfig,
    PipeSize, PragueConfig, RapidStartConfig, RateLimitedConfig, ScalableRules, VegasRules, VenoConfig, WestwoodConfig,
    YeahConfig,
};
use proptest::prelude::*;
use strum::IntoEnumIterator;

/// Draft of a connection, which does not depend on the time scale.
#[derive(Clone, Debug)]
pub struct TcpDraft {
    pub mss: u32,
    recovery: RecoveryKind,
    congestion: CongestionKind,
    /// Receiver's window: a number of segments, and additional bytes.
    window: (u64, u32),
    scale_beyond: u32,
    initial_window: u32,
    ssthresh: Option<u64>,
    duplicates: u32,
    interval: Packets,
    /// One bit for each binary choice.
    choices: u32,
    /// Parameters of the congestion controller, each from 0 to 599.
    parameters: [u16; 3],
    burst: Option<u32>,
    blocks: u32,
    timer: TimerDraft,
    ack: Option<(u32, Packets)>,
}

#[derive(Clone, Debug)]
struct TimerDraft {
    fine: bool,
    /// Tick or granularity of the timer's clock.
    tick: Packets,
    phase: Option<u16>,
    /// Minimum, initial and maximum RTO, in ticks or in multiples of four packet times.
    min: u32,
    initial: u32,
    max: u32,
}

fn any_mss() -> impl Strategy<Value = u32> {
    prop_oneof![
        6 => Just(512u32),
        2 => prop::sample::select(vec![1u32, 8, 40, 88, 536, 1460]),
        2 => 1u32..1500,
        1 => prop::sample::select(vec![9180u32, 65_000]),
    ]
}

fn any_timer() -> impl Strategy<Value = TimerDraft> {
    (
        any::<bool>(),
        prop_oneof![4 => any_packets(30), 1 => any_packets(500), 1 => Just((0, 0))],
        prop_oneof![2 => Just(None), 1 => Just(Some(0)), 1 => any::<u16>().prop_map(Some)],
        prop_oneof![3 => 1u32..6, 1 => 1u32..100],
        prop_oneof![3 => 1u32..60, 1 => 1u32..1000],
        prop_oneof![3 => 64u32..1000, 1 => 0u32..10],
    )
        .prop_map(|(fine, tick, phase, min, initial, max)| TimerDraft {
            fine,
            tick,
            phase,
            min,
            initial,
            max,
        })
}

fn any_congestion() -> impl Strategy<Value = CongestionKind> {
    let others: Vec<_> = CongestionKind::iter()
        .filter(|&kind| !matches!(kind, CongestionKind::Aimd | CongestionKind::Module))
        .collect();
    prop_oneof![4 => Just(CongestionKind::Aimd), 1 => prop::sample::select(others)]
}

/// Strategy: a connection.
pub fn any_tcp() -> impl Strategy<Value = TcpDraft> {
    let window = prop_oneof![
        2 => (1u64..4, Just(0u32)),
        4 => (1u64..130, Just(0)),
        2 => (1u64..400, 0u32..1500),
        1 => Just((1u64 << 30, 0)),
    ];
    let ssthresh = prop_oneof![3 => Just(None), 1 => (0u64..40_000).prop_map(Some), 1 => Just(Some(1024))];
    let ack = prop_oneof![
        2 => Just(None),
        1 => (prop_oneof![4 => 1u32..4, 1 => 4u32..40, 1 => Just(u32::MAX)], any_packets(300)).prop_map(Some),
    ];
    (
        (any_mss(), any_recovery(), any_congestion()),
        (window, prop_oneof![6 => Just(0u32), 1 => 0u32..15]),
        prop_oneof![3 => Just(1u32), 3 => 1u32..12, 1 => 12u32..1000],
        ssthresh,
        prop_oneof![4 => Just(3u32), 1 => 1u32..6, 1 => Just(u32::MAX)],
        prop_oneof![3 => Just((0, 0)), 1 => any_packets(500)],
        any::<u32>(),
        prop::array::uniform3(0u16..600),
        prop::option::weighted(0.3, 0u32..6),
        1u32..4,
        any_timer(),
        ack,
    )
        .prop_map(
            |(
                (mss, recovery, congestion),
                (window, scale_beyond),
                initial_window,
                ssthresh,
                duplicates,
                interval,
                choices,
                parameters,
                burst,
                blocks,
                timer,
                ack,
            )| TcpDraft {
                mss,
                recovery,
                congestion,
                window,
                scale_beyond,
                initial_window,
                ssthresh,
                duplicates,
                interval,
                choices,
                parameters,
                burst,
                blocks,
                timer,
                ack,
            },
        )
}

/// Removes ECN from a connection whose packets cannot be marked.
pub fn without_marks(tcp: &mut TcpConfig) {
    tcp.ecn = EcnConfig::Off {};
    if let CongestionConfig::Dctcp(_) | CongestionConfig::Prague(_) | CongestionConfig::UdpPrague(_) = tcp.congestion {
        tcp.congestion = CongestionConfig::Aimd(AimdConfig { byte_counting: false });
    }
}

impl TcpDraft {
    /// Returns the TCP configuration at the given time scale.
    pub fn build(&self, pace: Pace) -> TcpConfig {
        let (segments, bytes) = self.window;
        let window = (segments * u64::from(self.mss) + u64::from(bytes)).min(1 << 30);
        let timer = self.timer.build(
            pace,
            pace.packets(self.timer.tick),
            self.congestion == CongestionKind::Ledbat,
            [16, 17, 18].map(|bit| self.choice(bit)),
        );
        TcpConfig {
            recovery: self.recovery(),
            congestion: self.congestion(),
            mss_bytes: self.mss,
            receiver_window_bytes: window,
            window_scale: (TcpConfig::least_window_scale(window) + self.scale_beyond).min(MAX_WINDOW_SCALE),
            initial_window_segments: self.initial_window,
            initial_ssthresh_bytes: self.ssthresh,
            estimate_ssthresh: self.choice(0),
            duplicate_ack_threshold: self.duplicates,
            fast_retransmit_restarts_timer: self.choice(1),
            fast_retransmit_interval_ps: pace.packets(self.interval),
            silly_window_avoidance: self.choice(3),
            idle_restart: self.choice(4),
            handshake: self.choice(27) && self.choice(28),
            initial_rtt_ps: if self.choice(25) && !(self.choice(27) && self.choice(28)) {
                pace.packets(self.interval).min(100_000 * SECOND)
            } else {
                0
            },
            preconnect_ps: if self.choice(31) && !(self.choice(27) && self.choice(28)) {
                pace.packets(self.interval).min(1_000 * SECOND)
            } else {
                0
            },
            pacing: self.choice(22) && self.choice(23),
            pacing_burst_segments: self.choice(24).then(|| 1 + u32::from(self.parameters[2] % 50)),
            hz: [DEFAULT_HZ, 24, 100, 1024][usize::from(self.parameters[2] % 4)],
            careful_resume: self.careful_resume(pace),
            rapid_start: self.rapid_start(),
            rate_limited: self.rate_limited(),
            receiver_control: self.receiver_control(&timer),
            timer,
            ack: self.ack.map_or(AckConfig::Immediate {}, |(segments, timeout)| {
                let timeout_ps = pace.packets(timeout).clamp(1, 1_000 * SECOND);
                let quick = u32::from(self.parameters[2] % 40);
                match self.choice(26) {
                    true => AckConfig::Linux {
                        timeout_ps,
                        quick,
                        least_round_trip: self.choice(27),
                        sack_delay_ps: if self.choice(28) {
                            pace.packets(self.interval).min(1_000 * SECOND)
                        } else {
                            0
                        },
                        write_every_ps: if self.choice(29) {
                            pace.packets(self.interval).min(1_000 * SECOND)
                        } else {
                            0
                        },
                        growing_window: self.choice(30),
                    },
                    false => AckConfig::Delayed {
                        segments,
                        timeout_ps,
                        quick: if self.choice(21) { quick } else { 0 },
                    },
                }
            }),
            ecn: self.ecn(),
        }
    }

    /// Returns the receiver's control; an eighth of the connections with timestamps use rLEDBAT.
    fn receiver_control(&self, timer: &TimerConfig) -> ReceiverControlConfig {
        let has_timestamps = matches!(timer, TimerConfig::Fine { timestamps: true, .. });
        match has_timestamps && self.choice(20) && self.choice(23) && self.choice(24) {
            true => ReceiverControlConfig::Rledbat {
                target_ps: 1 + u64::from(self.parameters[1]) * 100_000_000,
            },
            false => ReceiverControlConfig::Off,
        }
    }

    /// Returns how saved parameters are used; half of the connections that support Careful Resume use them.
    fn careful_resume(&self, pace: Pace) -> CarefulResumeConfig {
        let can = self.recovery().kind() == RecoveryKind::Rack && !self.congestion().facts().is_model;
        let max_jump_bytes = self.choice(19).then(|| 100 * u64::from(self.parameters[0] + 1));
        let beta = 0.5 + f64::from(self.parameters[1]) / 1201.0;
        let pipe_size = if self.choice(20) {
            PipeSize::SentSince
        } else {
            PipeSize::AllAcknowledged
        };
        let is_alone = self.rapid_start().is_off();
        match (can && is_alone && self.choice(5), self.choice(6)) {
            (false, _) => CarefulResumeConfig::Off {},
            (true, false) => CarefulResumeConfig::Previous {
                lifetime_ps: pace.packets((10_000, 0)),
                max_jump_bytes,
                beta,
                pipe_size,
            },
            (true, true) => CarefulResumeConfig::Saved {
                cwnd_bytes: u64::from(self.mss) * u64::from(self.parameters[2] + 1),
                rtt_ps: pace.packets(self.interval) + 1,
                max_jump_bytes,
                beta,
                pipe_size,
            },
        }
    }

    /// Returns the rule of Rapid Start, which half of the connections that support it use.
    fn rapid_start(&self) -> RapidStartConfig {
        if self.recovery().kind() != RecoveryKind::Rack || !self.sets_only_window() {
            return RapidStartConfig::Off;
        }
        match self.parameters[0] % 4 {
            0 => RapidStartConfig::Draft,
            1 => RapidStartConfig::Quicly,
            _ => RapidStartConfig::Off,
        }
    }

    fn sets_only_window(&self) -> bool {
        !self.congestion().facts().is_model && !matches!(self.congestion(), CongestionConfig::Module(_))
    }

    /// Returns the rule for growth while the window is not full; a fifth of the connections have their control's own.
    fn rate_limited(&self) -> RateLimitedConfig {
        if !self.sets_only_window() {
            return RateLimitedConfig::Control {};
        }
        match self.parameters[2] % 5 {
            0 => RateLimitedConfig::None {},
            1 => RateLimitedConfig::Linux {},
            2 => RateLimitedConfig::Rfc9002 {},
            3 => RateLimitedConfig::Ietf {
                shrink: self.choice(19),
            },
            _ => RateLimitedConfig::Control {},
        }
    }

    /// Returns the ECN mode; half of the connections have none.
    fn ecn(&self) -> EcnConfig {
        match (self.congestion, self.choice(22), self.choice(23)) {
            (CongestionKind::Prague | CongestionKind::UdpPrague, ..) => EcnConfig::Accurate {
                abe: self.choice(24),
                option: self.choice(23),
            },
            (CongestionKind::Dctcp, ..) | (_, true, _) if self.choice(29) && self.choice(30) => EcnConfig::Accurate {
                abe: self.choice(24),
                option: self.choice(23),
            },
            (CongestionKind::Dctcp, ..) | (_, true, true) => EcnConfig::Dctcp {},
            (_, true, false) => EcnConfig::Classic { abe: self.choice(24) },
            (_, false, _) => EcnConfig::Off {},
        }
    }

    fn choice(&self, bit: u32) -> bool {
        self.choices >> bit & 1 == 1
    }

    fn timer_restart(&self, bit: u32) -> TimerRestart {
        if self.choice(bit) {
            TimerRestart::Every
        } else {
            TimerRestart::First
        }
    }

    fn recovery(&self) -> RecoveryConfig {
        let kind = if self.congestion().facts().is_model {
            RecoveryKind::Rack
        } else {
            self.recovery
        };
        match kind {
            RecoveryKind::Vanilla => RecoveryConfig::Vanilla(VanillaConfig {}),
            RecoveryKind::Tahoe => RecoveryConfig::Tahoe(TahoeConfig { guard: self.choice(19) }),
            RecoveryKind::Reno => RecoveryConfig::Reno(RenoConfig {
                guard: self.choice(5),
                deflate_on_timeout: self.choice(6),
                guard_timeouts_only: self.choice(7),
                inflate_always: self.choice(8),
            }),
            RecoveryKind::Newreno => RecoveryConfig::Newreno(NewRenoConfig {
                flywheel: self.choice(9),
                max_burst: self.burst,
                partial_deflation: self.choice(10),
                guard: self.choice(11),
                timer_restart: self.timer_restart(12),
            }),
            RecoveryKind::Sack => RecoveryConfig::Sack(SackConfig {
                blocks: self.blocks,
                pipe: if self.choice(13) {
                    PipeStart::Outstanding
                } else {
                    PipeStart::Window
                },
                guard: self.choice(14),
                timer_restart: self.timer_restart(15),
            }),
            RecoveryKind::Rfc6675 => RecoveryConfig::Rfc6675(Rfc6675Config {
                blocks: self.blocks,
                fack: self.choice(19),
            }),
            RecoveryKind::Rack => RecoveryConfig::Rack(RackConfig {
                blocks: self.blocks,
                probe: self.choice(19),
                undo: self.choice(20),
                dsack: self.choice(29),
                frto: self.choice(30),
                successive: self.choice(31),
            }),
        }
    }

    fn congestion(&self) -> CongestionConfig {
        match self.congestion {
            CongestionKind::Aimd => CongestionConfig::Aimd(AimdConfig {
                byte_counting: self.choice(2),
            }),
            CongestionKind::Cubic => CongestionConfig::Cubic(CubicConfig {
                scaling: f64::from(self.parameters[0] + 1) / 64.0,
                beta: (f64::from(self.parameters[1]) + 1.0) / 601.0,
                fast_convergence: self.choice(16),
                reno_friendly: self.choice(17),
                hystart: match self.parameters[2] % 5 {
                    0 => HystartConfig::None,
                    1 => HystartConfig::Linux,
                    2 => HystartConfig::Search,
                    3 => HystartConfig::Search4,
                    _ => HystartConfig::PlusPlus,
                },
                rules: if self.choice(18) {
                    CubicRules::Linux
                } else {
                    CubicRules::Rfc9438
                },
            }),
            CongestionKind::Dctcp => CongestionConfig::Dctcp(DctcpConfig {
                gain: f64::from(self.parameters[0] + 1) / 600.0,
                initial_alpha: f64::from(self.parameters[1]) / 600.0,
            }),
            CongestionKind::Highspeed => CongestionConfig::Highspeed(longpipe_tcp::congestion::HighspeedConfig {
                rules: if self.choice(16) {
                    HighspeedRules::Linux
                } else {
                    HighspeedRules::Rfc3649
                },
            }),
            CongestionKind::Scalable => {
                let [increase, decrease, low_window] = self.parameters.map(|drawn| u32::from(drawn) + 1);
                CongestionConfig::Scalable(longpipe_tcp::congestion::ScalableConfig {
                    increase: f64::from(increase) / 600.0,
                    decrease: f64::from(decrease) / 600.0,
                    low_window_segments: low_window,
                    rules: if self.choice(16) {
                        ScalableRules::Linux
                    } else {
                        ScalableRules::Kelly2003
                    },
                })
            }
            CongestionKind::Module => unreachable!("needs a file"),
            CongestionKind::Bbr => CongestionConfig::Bbr(BbrConfig {}),
            CongestionKind::Bbr3 => CongestionConfig::Bbr3(Bbr3Config {}),
            CongestionKind::Bic => CongestionConfig::Bic(BicConfig {}),
            CongestionKind::Htcp => CongestionConfig::Htcp(HtcpConfig {}),
            CongestionKind::Hybla => CongestionConfig::Hybla(HyblaConfig {
                reference_ps: u64::from(self.parameters[0] + 1) * SECOND / 10_000,
            }),
            CongestionKind::Illinois => CongestionConfig::Illinois(IllinoisConfig {}),
            CongestionKind::Ledbat => CongestionConfig::Ledbat(LedbatConfig {
                target_ps: u64::from(self.parameters[0] + 1) * SECOND / 5_000,
                gain: f64::from(self.parameters[1] + 1) / 600.0,
                allowed_increase: f64::from(self.parameters[2] + 1) / 100.0,
                base_history: 1 + u32::from(self.parameters[1] % 12),
                current_filter: 1 + u32::from(self.parameters[0] % 9),
            }),
            CongestionKind::LedbatPlusPlus => {
                CongestionConfig::LedbatPlusPlus(longpipe_tcp::congestion::LedbatPlusPlusConfig {
                    target_ps: u64::from(self.parameters[0] + 1) * SECOND / 5_000,
                    decrease: f64::from(self.parameters[1] + 1) / 60.0,
                    slowdown_interval: 1.0 + f64::from(self.parameters[2]) / 20.0,
                    base_history: 1 + u32::from(self.parameters[1] % 12),
                    current_filter: 1 + u32::from(self.parameters[0] % 9),
                })
            }
            CongestionKind::C4 => CongestionConfig::C4(C4Config {
                rules: if self.choice(16) {
                    C4Rules::Specification
                } else {
                    C4Rules::Picoquic
                },
                drain: 0.5 + f64::from(self.parameters[0]) / 1201.0,
                cruise_eras: 1 + u32::from(self.parameters[1] % 10),
            }),
            CongestionKind::Copa => CongestionConfig::Copa(CopaConfig {
                delta: f64::from(self.parameters[0] + 1) / 60.0,
                competitive: self.choice(16),
            }),
            CongestionKind::Prague => CongestionConfig::Prague(PragueConfig {
                rtt_target_ps: (1 + u64::from(self.parameters[0])) * SECOND / 6000,
                transition: u32::from(self.parameters[1] % 10),
            }),
            CongestionKind::Scream => CongestionConfig::Scream(longpipe_tcp::congestion::ScreamConfig {
                rules: match self.parameters[2] % 3 {
                    0 => longpipe_tcp::congestion::ScreamRules::August2026,
                    1 => longpipe_tcp::congestion::ScreamRules::March2025,
                    _ => longpipe_tcp::congestion::ScreamRules::October2024,
                },
                target_ps: u64::from(self.parameters[0] + 1) * SECOND / 5_000,
                scalable: self.choice(16),
                max_rate_bps: self.choice(17).then(|| 10_000 * (1 + u64::from(self.parameters[1]))),
                burst_ps: u64::from(self.parameters[2]) * SECOND / 100_000,
                pacing_headroom: if self.choice(23) { 1.5 } else { 1.0 },
            }),
            CongestionKind::UdpPrague => CongestionConfig::UdpPrague(longpipe_tcp::congestion::UdpPragueConfig {
                initial_rate_bps: 100_000 * (1 + u64::from(self.parameters[0])),
                max_rate_bps: 1_000_000 * (1 + u64::from(self.parameters[1])),
            }),
            CongestionKind::LinuxReno => CongestionConfig::LinuxReno(LinuxRenoConfig {
                hystart: match self.parameters[2] % 4 {
                    0 => HystartConfig::None,
                    1 => HystartConfig::Search,
                    2 => HystartConfig::Search4,
                    _ => HystartConfig::PlusPlus,
                },
            }),
            CongestionKind::Veno => CongestionConfig::Veno(VenoConfig {
                backlog: f64::from(self.parameters[0] + 1) / 64.0,
            }),
            CongestionKind::Westwood => CongestionConfig::Westwood(WestwoodConfig {}),
            CongestionKind::Yeah => CongestionConfig::Yeah(YeahConfig {}),
            CongestionKind::Vegas => {
                let [alpha, more, gamma] = self.parameters.map(|drawn| (f64::from(drawn) + 1.0) / 64.0);
                CongestionConfig::Vegas(VegasConfig {
                    alpha,
                    beta: alpha + more,
                    gamma,
                    rules: if self.choice(16) {
                        VegasRules::Linux
                    } else {
                        VegasRules::Brakmo1995
                    },
                })
            }
        }
    }
}

impl TimerDraft {
    /// Returns the timer; `stamps` is true if timestamps are required.
    fn build(&self, pace: Pace, tick: u64, stamps: bool, [first, second, third]: [bool; 3]) -> TimerConfig {
        let max = self.min.max(self.initial).max(self.max);
        if self.fine || stamps {
            let longest = 100_000 * SECOND;
            let [min_rto_ps, initial_rto_ps, max_rto_ps] =
                [self.min, self.initial, max].map(|times| longest.min(pace.packets((4, 0)) * u64::from(times)));
            return TimerConfig::Fine {
                granularity_ps: tick,
                min_rto_ps,
                max_rto_ps,
                initial_rto_ps,
                timestamps: first || stamps,
            };
        }
        let tick_ps = tick.clamp(1, 100 * SECOND).max(pace.packets((1, 0)).min(100 * SECOND));
        TimerConfig::Coarse {
            tick_ps,
            phase: match self.phase {
                Some(share) => PhaseConfig::Fixed {
                    at_ps: part(tick_ps, share),
                },
                None if first => PhaseConfig::PerFlow {},
                None => PhaseConfig::Common {},
            },
            min_rto_ticks: self.min,
            max_rto_ticks: max,
            initial_rto_ticks: self.initial,
            count_from_one: second,
            expires_on_tick: third,
        }
    }
}
