//! Connections that use each option of TCP.

use crate::common::SECOND;
use longpipe_tcp::config::{
    AimdConfig, CongestionConfig, NewRenoConfig, PipeStart, RecoveryConfig, RecoveryKind, RenoConfig, SackConfig,
    TahoeConfig, TcpConfig, TimerConfig, TimerRestart, VegasConfig,
};
use longpipe_tcp::congestion::{LedbatConfig, VegasRules};

/// A named change to the end points, for one recovery algorithm.
pub type Change = (&'static str, RecoveryKind, fn(&mut TcpConfig));

/// Contains at least one change for each option.
pub const OPTIONS: [Change; 42] = {
    use RecoveryKind::{Newreno, Reno, Sack, Tahoe, Vanilla};
    [
        ("vanilla", Vanilla, |_| {}),
        ("tahoe", Tahoe, |_| {}),
        ("reno", Reno, |_| {}),
        ("newreno", Newreno, |_| {}),
        ("sack", Sack, |_| {}),
        ("tahoe-guard", Tahoe, |tcp| tahoe(tcp).guard = true),
        ("reno-guard", Reno, |tcp| reno(tcp).guard = true),
        ("reno-deflate-on-timeout", Reno, |tcp| {
            reno(tcp).deflate_on_timeout = true
        }),
        ("reno-guard-timeouts-only", Reno, |tcp| {
            let reno = reno(tcp);
            (reno.guard, reno.guard_timeouts_only) = (true, true);
        }),
        ("reno-inflate-always", Reno, |tcp| reno(tcp).inflate_always = true),
        ("newreno-no-flywheel", Newreno, |tcp| newreno(tcp).flywheel = false),
        ("newreno-max-burst", Newreno, |tcp| newreno(tcp).max_burst = Some(3)),
        ("newreno-partial-deflation", Newreno, |tcp| {
            newreno(tcp).partial_deflation = true
        }),
        ("newreno-guard", Newreno, |tcp| newreno(tcp).guard = true),
        ("newreno-impatient", Newreno, |tcp| {
            newreno(tcp).timer_restart = TimerRestart::First
        }),
        ("sack-one-block", Sack, |tcp| sack(tcp).blocks = 1),
        ("sack-pipe-outstanding", Sack, |tcp| {
            sack(tcp).pipe = PipeStart::Outstanding
        }),
        ("sack-no-guard", Sack, |tcp| sack(tcp).guard = false),
        ("sack-impatient", Sack, |tcp| {
            sack(tcp).timer_restart = TimerRestart::First
        }),
        ("vegas-vanilla", Vanilla, vegas),
        ("vegas-tahoe", Tahoe, vegas),
        ("vegas-reno", Reno, vegas),
        ("vegas-newreno", Newreno, vegas),
        ("vegas-sack", Sack, vegas),
        ("vegas-eager", Reno, |tcp| {
            tcp.congestion = CongestionConfig::Vegas(VegasConfig {
                alpha: 2.5,
                beta: 4.0,
                gamma: 0.5,
                rules: VegasRules::Brakmo1995,
            });
        }),
        ("estimate-ssthresh", Sack, |tcp| tcp.estimate_ssthresh = true),
        ("one-duplicate", Reno, |tcp| tcp.duplicate_ack_threshold = 1),
        ("six-duplicates", Newreno, |tcp| tcp.duplicate_ack_threshold = 6),
        ("timer-kept", Reno, |tcp| tcp.fast_retransmit_restarts_timer = false),
        ("retransmit-interval", Reno, |tcp| {
            tcp.fast_retransmit_interval_ps = 300 * SECOND / 1000
        }),
        ("byte-counting", Reno, |tcp| {
            tcp.congestion = CongestionConfig::Aimd(AimdConfig { byte_counting: true })
        }),
        ("silly-windows", Sack, |tcp| tcp.silly_window_avoidance = false),
        ("handshake", Sack, |tcp| tcp.handshake = true),
        ("idle-restart", Newreno, |tcp| tcp.idle_restart = true),
        ("initial-window", Sack, |tcp| tcp.initial_window_segments = 4),
        ("initial-ssthresh", Reno, |tcp| tcp.initial_ssthresh_bytes = Some(4096)),
        ("odd-segments", Sack, |tcp| {
            (tcp.mss_bytes, tcp.receiver_window_bytes) = (333, 20_001);
        }),
        ("large-segments", Newreno, |tcp| tcp.mss_bytes = 9180),
        ("small-window", Reno, |tcp| tcp.receiver_window_bytes = 1700),
        ("coarse-window", Sack, |tcp| tcp.window_scale = 10),
        ("ledbat-newreno", Newreno, ledbat),
        ("ledbat-sack", Sack, ledbat),
    ]
};

fn vegas(tcp: &mut TcpConfig) {
    tcp.congestion = CongestionConfig::Vegas(VegasConfig {
        alpha: 1.0,
        beta: 3.0,
        gamma: 1.0,
        rules: VegasRules::Brakmo1995,
    });
}

/// Configures LEDBAT, with the timestamps that it needs.
fn ledbat(tcp: &mut TcpConfig) {
    tcp.congestion = CongestionConfig::Ledbat(LedbatConfig {
        target_ps: SECOND / 100,
        gain: 1.0,
        allowed_increase: 1.0,
        base_history: 10,
        current_filter: 4,
    });
    tcp.timer = TimerConfig::Fine {
        granularity_ps: SECOND / 1000,
        min_rto_ps: SECOND / 5,
        max_rto_ps: 60 * SECOND,
        initial_rto_ps: SECOND,
        timestamps: true,
    };
}

/// Returns the options of the chosen recovery algorithm.
macro_rules! options_of {
    ($($name:ident: $kind:ident($config:ident),)+) => {
        $(fn $name(tcp: &mut TcpConfig) -> &mut $config {
            match &mut tcp.recovery {
                RecoveryConfig::$kind(options) => options,
                other => panic!("{other:?}"),
            }
        })+
    };
}

options_of! {
    tahoe: Tahoe(TahoeConfig),
    reno: Reno(RenoConfig),
    newreno: Newreno(NewRenoConfig),
    sack: Sack(SackConfig),
}
