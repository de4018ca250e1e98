//! Conditioners of a port (RFC 2475 section 2.3.3): policers between a packet's arrival and the queue discipline; a
//! shaper and aggregation between the queue discipline and the transmitter; jitter and reordering on the wire.

pub mod aggregation;
mod correlated;
pub mod duplication;
pub mod jitter;
pub mod policer;
pub mod tbf;
mod token_bucket;

use crate::packets::drops::DropCause;
use crate::packets::Packet;
use aggregation::AggregationConfig;
use duplication::DuplicationConfig;
use jitter::{JitterConfig, ReorderingConfig};
use longpipe_events::Time;
use longpipe_json::FromJson;
use longpipe_tcp::described::{part, Described, Type};
use longpipe_tcp::Problem;
use policer::{Policer, PolicerConfig};
use serde::Serialize;
use strum::{IntoStaticStr, VariantNames};
use tbf::{Tbf, TbfConfig};

/// Facts about a kind of conditioner, whatever its parameters.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Facts {
    /// Whether the conditioner draws random numbers.
    pub draws: bool,
    /// Whether a link may have several conditioners of this kind.
    pub repeats: bool,
    /// Whether the conditioner is a token bucket, with a rate and a burst.
    pub has_bucket: bool,
    /// Whether packets may overtake each other or arrive twice.
    pub disorders: bool,
    /// Whether a link with medium access may have the conditioner, which then does not decide when packets leave.
    pub beside_access: bool,
}

impl Facts {
    /// Facts of a conditioner that declares none.
    pub const NONE: Facts = Facts {
        draws: false,
        repeats: false,
        has_bucket: false,
        disorders: false,
        beside_access: false,
    };
}

/// Parameters of a conditioner.
pub trait Parameters: Described {
    /// Facts about the kind.
    const FACTS: Facts;
}

/// Declares the conditioners, one per line, each with its name and the type of its parameters.
macro_rules! conditioners {
    ($($(#[$about:meta])* $name:ident($config:ty);)+) => {
        /// A conditioner.
        #[derive(Clone, Debug, FromJson, Serialize, PartialEq, IntoStaticStr, VariantNames)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        #[strum(serialize_all = "kebab-case")]
        pub enum ConditionerConfig {
            $($(#[$about])* $name($config),)+
        }

        impl Described for ConditionerConfig {
            fn described() -> Type {
                let parts = [$(part::<$config>,)+].into_iter().map(|part| part());
                Type::Kinds { kinds: ConditionerConfig::VARIANTS.iter().copied().zip(parts).collect() }
            }
        }

        impl ConditionerConfig {
            /// Returns each kind with the facts about it.
            pub fn kinds() -> impl Iterator<Item = (&'static str, Facts)> {
                let facts = [$(<$config as Parameters>::FACTS,)+];
                ConditionerConfig::VARIANTS.iter().copied().zip(facts)
            }

            /// Returns the first invalid parameter, if any.
            pub fn problem(&self) -> Option<Problem> {
                match self {
                    $(ConditionerConfig::$name(conditioner) => conditioner.invalid(),)+
                }
            }
        }
    };
}

conditioners! {
    /// A token-bucket policer, which drops or marks packets that exceed a rate.
    Policer(PolicerConfig);
    /// A token-bucket shaper before the transmitter, which delays packets that exceed a rate.
    Tbf(TbfConfig);
    /// An additional delay on the wire, drawn for each packet.
    Jitter(JitterConfig);
    /// Reordering: some packets skip the jitter delay.
    Reordering(ReorderingConfig);
    /// Duplication: some packets arrive twice.
    Duplication(DuplicationConfig);
    /// A transmitter that sends packets in batches.
    Aggregation(AggregationConfig);
}

/// Returns the problems of the conditioners of a port, given their kinds: each with the number of a conditioner, its kind,
/// and what is accepted.
pub fn problems_of_all(kinds: &[&str]) -> Vec<(usize, &'static str, String)> {
    let mut problems = vec![];
    for (kind, _) in ConditionerConfig::kinds().filter(|(_, facts)| !facts.repeats) {
        let mut places = (0..kinds.len()).filter(|place| kinds[*place] == kind);
        let Some(first) = places.next() else {
            continue;
        };
        if let Some(second) = places.next() {
            problems.push((second, kind, format!("needs at most one {kind}")));
        }
        let of_combination = match kind {
            "reordering" if !kinds.contains(&"jitter") => {
                "needs jitter at the same port, because reordered packets skip its delay"
            }
            "aggregation" if kinds.contains(&"tbf") => "not together with tbf at the same port",
            _ => continue,
        };
        problems.push((first, kind, of_combination.to_owned()));
    }
    problems
}

/// Bytes that may leave a port after a point in time in addition to a bucket's rate: its tokens, and the bytes that have
/// passed the bucket but have not left the port. Both are `None` for a policer with a bucket for each circuit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCredit {
    /// Bytes in addition to the token rate.
    pub rate_bytes: Option<u64>,
    /// Bytes in addition to the peak rate; `None` without one.
    pub peak_bytes: Option<u64>,
}

impl TokenCredit {
    fn new((tokens, peak_tokens): (i64, Option<i64>), behind_bytes: u64) -> TokenCredit {
        let with_behind = |tokens: i64| behind_bytes.saturating_add_signed(tokens);
        TokenCredit {
            rate_bytes: Some(with_behind(tokens)),
            peak_bytes: peak_tokens.map(with_behind),
        }
    }

    /// Returns the credit of a shaper at `now` if `behind_bytes` bytes have been released but not left the port.
    pub(crate) fn of_shaper(shaper: &Tbf, now: Time, behind_bytes: u64) -> TokenCredit {
        TokenCredit::new(shaper.tokens_bytes(now), behind_bytes)
    }
}

/// A policer's decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The packet continues.
    Pass,
    /// The packet continues and is marked if it is ECN-capable; otherwise, it is dropped with the given cause.
    Mark(DropCause),
    /// The packet is dropped.
    Drop(DropCause),
}

/// The policers before the queue discipline of a port, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policers(Vec<Policer>);

impl Policers {
    /// Creates the policers among a link's conditioners, for `circuits` circuits (two per flow).
    pub fn among(configs: &[ConditionerConfig], circuits: usize) -> Policers {
        let policer = |config: &ConditionerConfig| match config {
            ConditionerConfig::Policer(policer) => Some(Policer::new(policer, circuits)),
            _ => None,
        };
        Policers(configs.iter().filter_map(policer).collect())
    }

    /// Returns the credits of the policers at `now`, in order, if `behind_bytes` bytes have passed them but not left the
    /// port.
    pub fn credits(&self, now: Time, behind_bytes: u64) -> impl Iterator<Item = TokenCredit> + '_ {
        let credit = move |policer: &Policer| match policer.tokens_bytes(now) {
            Some(tokens) => TokenCredit::new(tokens, behind_bytes),
            None => TokenCredit::default(),
        };
        self.0.iter().map(credit)
    }

    /// Returns the arriving packet, which is marked if a policer marks it, or the cause if a policer drops it.
    pub fn arrive(&mut self, now: Time, packet: Packet) -> Result<Packet, DropCause> {
        self.0.iter_mut().try_fold(packet, |packet, policer| {
            match policer.decide(now, packet.vc(), u32::from(packet.bytes())) {
                Decision::Pass => Ok(packet),
                Decision::Mark(_) if packet.is_capable() => Ok(packet.marked()),
                Decision::Mark(cause) | Decision::Drop(cause) => Err(cause),
            }
        })
    }
}
