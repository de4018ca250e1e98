//! Serialized form of a connection in resolved scenarios.
//!
//! The names of the loss recovery and of the congestion control in use are separate from their parameters: the
//! algorithms of the first release each have a table of parameters, which is always written. An algorithm that was
//! added later is written as a table in place of its name, `{"kind": "scalable", ...}`; the algorithms of the first
//! release can also be read in this form. The digest of this form identifies stored runs, so it must not change.

use super::{AckConfig, EcnConfig, TcpConfig, TimerConfig};
use crate::congestion::{AimdConfig, CarefulResumeConfig, CongestionConfig, VegasConfig, DEFAULT_HZ};
use crate::recovery::{NewRenoConfig, RecoveryConfig, RenoConfig, SackConfig, TahoeConfig};
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// A connection in its serialized form.
#[derive(Deserialize)]
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
    timer: TimerConfig,
    ack: AckConfig,
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

// serde's `try_from` is not used because it adds an error type, for which all deserialization code would be compiled
// again.
impl<'de> Deserialize<'de> for TcpConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TcpConfig, D::Error> {
        Flat::deserialize(deserializer)?.connection()
    }
}

impl Flat {
    /// Converts to the sender's configuration.
    fn connection<E: Error>(self) -> Result<TcpConfig, E> {
        let flat = self;
        let recovery = flat.recovery.or_by_name(|name| {
            Ok(match name {
                "tahoe" => RecoveryConfig::Tahoe(flat.tahoe),
                "reno" => RecoveryConfig::Reno(flat.reno.ok_or_else(|| E::missing_field("reno"))?),
                "newreno" => RecoveryConfig::Newreno(flat.newreno.ok_or_else(|| E::missing_field("newreno"))?),
                "sack" => RecoveryConfig::Sack(flat.sack.ok_or_else(|| E::missing_field("sack"))?),
                name => without_table(name)?,
            })
        })?;
        let congestion = flat.congestion.or_by_name(|name| {
            Ok(match name {
                "aimd" => CongestionConfig::Aimd(AimdConfig {
                    byte_counting: flat.byte_counting.ok_or_else(|| E::missing_field("byte_counting"))?,
                }),
                "vegas" => CongestionConfig::Vegas(flat.vegas.ok_or_else(|| E::missing_field("vegas"))?),
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
            timer: flat.timer,
            ack: flat.ack,
            ecn: flat.ecn,
        })
    }
}

/// Deserializes an algorithm that has no table of parameters in this form.
fn without_table<T: DeserializeOwned, E: Error>(name: &str) -> Result<T, E> {
    T::deserialize(MapDeserializer::new([("kind", name)].into_iter()))
}

/// An algorithm, given by its name or by a table with its parameters.
enum Choice<T> {
    Name(String),
    Table(T),
}

impl<T> Choice<T> {
    fn or_by_name<E>(self, find: impl FnOnce(&str) -> Result<T, E>) -> Result<T, E> {
        match self {
            Choice::Name(name) => find(&name),
            Choice::Table(table) => Ok(table),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Choice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Choice<T>, D::Error> {
        struct Reading<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reading<T> {
            type Value = Choice<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name or a table")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Choice<T>, E> {
                Ok(Choice::Name(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Choice<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Choice::Table)
            }
        }

        deserializer.deserialize_any(Reading(PhantomData))
    }
}
