//! Serialized form of a connection in resolved scenarios.
//!
//! The names of the loss recovery and of the congestion control in use are separate from their parameters: the
//! algorithms of the first release each have a table of parameters, which is always written. An algorithm that was
//! added later is written as a table in place of its name, `{"kind": "scalable", ...}`; the algorithms of the first
//! release can also be read in this form. The digest of this form identifies stored runs, so it must not change.

use super::{AckConfig, EcnConfig, ReceiverControlConfig, TcpConfig, TimerConfig};
use crate::congestion::{
    AimdConfig, CarefulResumeConfig, CongestionConfig, RapidStartConfig, RateLimitedConfig, VegasConfig, DEFAULT_HZ,
};
use crate::recovery::{NewRenoConfig, RecoveryConfig, RenoConfig, SackConfig, TahoeConfig};
use longpipe_json::{Error, FromJson, Json};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// A connection in its serialized form.
#[derive(FromJson)]
#[serde(deny_unknown_fields)]
struct Flat {
    recovery: Choice<RecoveryConfig>,
    congestion: Choice<CongestionConfig>,
    mss_bytes: u32,
    receiver_window_bytes: u64,
    window_scale: u32,
    initial_window_segments: u32,
    initial_ssthresh_bytes: Option<u64>,
    estimate_ssthresh: bool,
    duplicate_ack_threshold: u32,
    fast_retransmit_restarts_timer: bool,
    fast_retransmit_interval_ps: u64,
    silly_window_avoidance: bool,
    idle_restart: bool,
    /// This field and the following ones are written only if they differ from the default.
    #[serde(default)]
    initial_rtt_ps: u64,
    #[serde(default)]
    preconnect_ps: u64,
    #[serde(default)]
    handshake: bool,
    #[serde(default)]
    pacing: bool,
    #[serde(default)]
    pacing_burst_segments: Option<u32>,
    #[serde(default)]
    hz: Option<u32>,
    #[serde(default)]
    careful_resume: CarefulResumeConfig,
    #[serde(default)]
    rapid_start: RapidStartConfig,
    #[serde(default)]
    rate_limited: RateLimitedConfig,
    timer: TimerConfig,
    ack: AckConfig,
    #[serde(default)]
    receiver_control: ReceiverControlConfig,
    #[serde(default)]
    ecn: EcnConfig,
    byte_counting: Option<bool>,
    vegas: Option<VegasConfig>,
    /// Written only if it differs from the default.
    #[serde(default)]
    tahoe: TahoeConfig,
    reno: Option<RenoConfig>,
    newreno: Option<NewRenoConfig>,
    sack: Option<SackConfig>,
}

impl FromJson for TcpConfig {
    fn from_json(json: Json<'_>) -> Result<TcpConfig, Error> {
        Flat::from_json(json)?.connection()
    }
}

impl<'de> Deserialize<'de> for TcpConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TcpConfig, D::Error> {
        longpipe_json::deserialize(deserializer)
    }
}

impl Flat {
    /// Converts to the sender's configuration.
    fn connection(self) -> Result<TcpConfig, Error> {
        let flat = self;
        let recovery = flat.recovery.or_by_name(|name| {
            Ok(match name {
                "tahoe" => RecoveryConfig::Tahoe(flat.tahoe),
                "reno" => RecoveryConfig::Reno(flat.reno.ok_or_else(|| Error::missing_field("reno"))?),
                "newreno" => RecoveryConfig::Newreno(flat.newreno.ok_or_else(|| Error::missing_field("newreno"))?),
                "sack" => RecoveryConfig::Sack(flat.sack.ok_or_else(|| Error::missing_field("sack"))?),
                name => without_table(name)?,
            })
        })?;
        let congestion = flat.congestion.or_by_name(|name| {
            Ok(match name {
                "aimd" => CongestionConfig::Aimd(AimdConfig {
                    byte_counting: flat
                        .byte_counting
                        .ok_or_else(|| Error::missing_field("byte_counting"))?,
                }),
                "vegas" => CongestionConfig::Vegas(flat.vegas.ok_or_else(|| Error::missing_field("vegas"))?),
                name => without_table(name)?,
            })
        })?;
        Ok(TcpConfig {
            recovery,
            congestion,
            mss_bytes: flat.mss_bytes,
            receiver_window_bytes: flat.receiver_window_bytes,
            window_scale: flat.window_scale,
            initial_window_segments: flat.initial_window_segments,
            initial_ssthresh_bytes: flat.initial_ssthresh_bytes,
            estimate_ssthresh: flat.estimate_ssthresh,
            duplicate_ack_threshold: flat.duplicate_ack_threshold,
            fast_retransmit_restarts_timer: flat.fast_retransmit_restarts_timer,
            fast_retransmit_interval_ps: flat.fast_retransmit_interval_ps,
            silly_window_avoidance: flat.silly_window_avoidance,
            idle_restart: flat.idle_restart,
            initial_rtt_ps: flat.initial_rtt_ps,
            preconnect_ps: flat.preconnect_ps,
            handshake: flat.handshake,
            pacing: flat.pacing,
            pacing_burst_segments: flat.pacing_burst_segments,
            hz: flat.hz.unwrap_or(DEFAULT_HZ),
            careful_resume: flat.careful_resume,
            rapid_start: flat.rapid_start,
            rate_limited: flat.rate_limited,
            timer: flat.timer,
            ack: flat.ack,
            receiver_control: flat.receiver_control,
            ecn: flat.ecn,
        })
    }
}

/// Reads an algorithm that has no table of parameters in this form.
fn without_table<T: FromJson>(name: &str) -> Result<T, Error> {
    T::from_json(Json::Table(vec![("kind".into(), Json::Text(name.into()))]))
}

/// An algorithm, given by its name or by a table with its parameters.
enum Choice<T> {
    Name(String),
    Table(T),
}

impl<T> Choice<T> {
    fn or_by_name(self, find: impl FnOnce(&str) -> Result<T, Error>) -> Result<T, Error> {
        match self {
            Choice::Name(name) => find(&name),
            Choice::Table(table) => Ok(table),
        }
    }
}

impl<T: FromJson> FromJson for Choice<T> {
    fn from_json(json: Json<'_>) -> Result<Choice<T>, Error> {
        match json {
            Json::Text(name) => Ok(Choice::Name(name.into_owned())),
            table => T::from_json(table).map(Choice::Table),
        }
    }
}
