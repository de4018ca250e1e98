//! Traffic of applications. Each kind is a file with its parameters, what it declares about them, and the state of its
//! application, which does not depend on hosts; `hosts/application.rs` executes applications.

pub mod adaptive_video;
pub mod arrivals;
pub mod bursts;
pub mod cbr;
pub mod client;
pub mod flow_arrivals;
pub mod greedy;
pub mod media;
pub mod on_off;
pub mod parameters;
pub mod poisson;
pub mod schedule;
pub mod self_similar;
pub mod stack;
pub mod stream;
pub mod transfer;
pub mod video;
pub mod web;

use crate::packets::contents::DATAGRAM_HEADER_BYTES;
use adaptive_video::AdaptiveVideoConfig;
use arrivals::ArrivalsConfig;
use cbr::CbrConfig;
use flow_arrivals::FlowArrivalsConfig;
use greedy::GreedyConfig;
use longpipe_events::Span;
use longpipe_json::FromJson;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::described::{self, Described, Type};
use longpipe_tcp::Problem;
use media::MediaConfig;
use on_off::{DatagramsInput, OnOffDatagramsConfig};
use parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use poisson::PoissonConfig;
use self_similar::SelfSimilarConfig;
use serde::Serialize;
use stack::{StackConfig, StackPathConfig};
use stream::StreamConfig;
use strum::VariantNames;
use transfer::TransferConfig;
use video::VideoConfig;
use web::WebConfig;

/// Declares the kinds of traffic, one per line, each with its name and the type of its parameters. Defines the enum of
/// configurations, the table of facts, and a macro that evaluates an expression for the parameters of any kind.
macro_rules! kinds {
    ($dollar:tt; $($(#[$about:meta])* $name:ident($config:ty);)+) => {
        /// Traffic of an application.
        #[derive(Clone, Debug, FromJson, Serialize, PartialEq, VariantNames)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        #[strum(serialize_all = "kebab-case")]
        pub enum TrafficConfig {
            $($(#[$about])* $name($config),)+
        }

        impl TrafficConfig {
            /// Returns each kind with the facts about it.
            pub fn kinds() -> impl Iterator<Item = (&'static str, Facts)> {
                let facts = [$(<$config as Parameters>::FACTS,)+];
                TrafficConfig::VARIANTS.iter().copied().zip(facts)
            }

            /// Returns the facts about the kind.
            pub fn facts(&self) -> Facts {
                match self {
                    $(TrafficConfig::$name(_) => <$config as Parameters>::FACTS,)+
                }
            }
        }

        impl Described for TrafficConfig {
            fn described() -> Type {
                let parts = [$(described::part::<$config>(),)+];
                let kinds = TrafficConfig::VARIANTS.iter().copied().zip(parts).collect();
                Type::Kinds { kinds: described::with_kinds::<DatagramsInput>(kinds, "video") }
            }
        }

        macro_rules! each {
            ($dollar traffic:expr, $dollar parameters:ident => $dollar value:expr) => {
                match $dollar traffic {
                    $(TrafficConfig::$name($dollar parameters) => $dollar value,)+
                }
            };
        }
    };
}

kinds! {
    $;
    /// An application that always has data to send.
    Greedy(GreedyConfig);
    /// One file.
    Transfer(TransferConfig);
    /// Data that the application writes over time.
    Stream(StreamConfig);
    /// Flows that arrive over time, each with its own connection.
    FlowArrivals(FlowArrivalsConfig);
    /// Files, each sent in response to a request from the flow's receiver.
    Web(WebConfig);
    /// Chunks of a video, each sent in response to a request from the player, which is the flow's receiver.
    AdaptiveVideo(AdaptiveVideoConfig);
    /// Frames of live video, whose encoder follows the congestion control.
    Media(MediaConfig);
    /// Datagrams at a constant rate.
    Cbr(CbrConfig);
    /// Datagrams at exponentially distributed intervals.
    Poisson(PoissonConfig);
    /// Datagrams in bursts.
    OnOff(OnOffDatagramsConfig);
    /// Datagrams of many on/off sources.
    SelfSimilar(SelfSimilarConfig);
    /// Datagrams of video frames.
    Video(VideoConfig);
    /// Datagrams from a list.
    Arrivals(ArrivalsConfig);
    /// Traffic of an application on a real protocol stack; its flow is external.
    Stack(StackConfig);
    /// A further path of the connection of a flow with a stack.
    StackPath(StackPathConfig);
}

impl TrafficConfig {
    /// An application that always has data to send.
    pub const GREEDY: TrafficConfig = TrafficConfig::Greedy(GreedyConfig {});

    /// Returns the traffic of an application that sends a file of this size [byte].
    pub const fn transfer(size_bytes: u64) -> TrafficConfig {
        TrafficConfig::Transfer(TransferConfig { size_bytes })
    }

    /// Returns the first invalid parameter, if any, for a flow with valid end points.
    pub(crate) fn problem(&self, tcp: &TcpConfig) -> Option<Problem> {
        each!(self, traffic => traffic.problem(tcp))
    }

    /// Creates the application of a flow.
    pub(crate) fn application(&self, flow: &NewFlow<'_>) -> NewApplication {
        each!(self, traffic => traffic.application(flow))
    }

    /// Returns whether the flow's data are datagrams, without TCP.
    pub fn is_datagrams(&self) -> bool {
        self.facts().transport == Transport::Datagrams
    }

    /// Returns whether the end points are real protocol stacks.
    pub fn is_of_stack(&self) -> bool {
        matches!(self.facts().transport, Transport::Stack | Transport::FurtherPath)
    }

    /// Returns the lengths [byte] of the IP packets that carry the shortest and the longest datagram; None for other
    /// traffic.
    pub fn datagram_bytes(&self) -> Option<[u32; 2]> {
        let payloads = each!(self, traffic => traffic.payloads());
        payloads.map(|payloads| payloads.map(|payload| payload.saturating_add(DATAGRAM_HEADER_BYTES)))
    }

    /// Returns the minimum payload [byte] of a TCP segment; see [`Parameters::min_segment`].
    pub(crate) fn min_segment(&self, mss: u64) -> u64 {
        each!(self, traffic => traffic.min_segment(mss))
    }

    /// Returns the parameter that sets the time between events that occur even if no packet is sent, and the time.
    pub(crate) fn interval(&self, tcp: &TcpConfig) -> Option<(&'static str, Span)> {
        each!(self, traffic => traffic.interval(tcp))
    }

    /// Returns whether the receiver opens the connection.
    pub(crate) fn receiver_connects(&self) -> bool {
        each!(self, traffic => traffic.receiver_connects())
    }
}
