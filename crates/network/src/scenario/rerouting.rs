//! Routes that change while a flow is under way.

use longpipe_reading::Read;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

/// The routes that a flow takes after its first ones.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ReroutingConfig {
    /// What becomes of packets that are beyond their first router.
    pub under_way: UnderWay,
    /// Further routes, by ascending instants.
    pub changes: Vec<RouteChange>,
}

/// What becomes of packets whose route changes.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum UnderWay {
    /// They keep the route that was theirs when they came to their first router.
    Keep,
    /// Each router sends them along the route of the moment, and loses what no longer leads over it.
    Drop,
}

/// Both routes of a flow from an instant on.
#[derive(Clone, Debug, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct RouteChange {
    /// The instant [ps].
    pub at_ps: u64,
    /// Links from the sender to the receiver, in order; or to a switch beyond which there is no way on, and packets are lost.
    pub route: Vec<usize>,
    /// Likewise back.
    pub return_route: Vec<usize>,
}
