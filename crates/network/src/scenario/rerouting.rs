//! Routes that change during a flow.

use longpipe_json::FromJson;
use serde::Serialize;
use strum::VariantNames;

/// Later routes of a flow.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ReroutingConfig {
    /// Treatment of packets that have passed their first router.
    #[serde(rename = "under_way")]
    pub in_flight: RerouteInFlight,
    /// Route changes, in ascending order of time.
    pub changes: Vec<RouteChange>,
}

/// Treatment of packets in flight when their route changes.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum RerouteInFlight {
    /// Packets in flight keep the route that was valid when they reached their first router.
    Keep,
    /// Each router forwards packets in flight along the current route, and drops a packet if the router is not on this
    /// route.
    Drop,
}

/// Routes of a flow in both directions, which are valid from a given time on.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct RouteChange {
    /// Time of the change [ps].
    pub at_ps: u64,
    /// Links from the sender to the receiver, in order; if there is no route, links to a switch at which packets are
    /// lost.
    pub route: Vec<usize>,
    /// Links from the receiver to the sender, in order; if there is no route, links to a switch at which ACKs are lost.
    pub return_route: Vec<usize>,
}
