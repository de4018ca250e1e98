//! Parameters of RACK-TLP.

use crate::described::Described;
use crate::variant::{Facts, Parameters};
use longpipe_json::FromJson;
use serde::Serialize;

/// RACK-TLP with proportional rate reduction (RFC 8985, RFC 9937), as in Linux.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "RACK-TLP")]
#[described(fact(
    "detection",
    "RACK declared a segment lost, because one that was sent later had arrived (RFC 8985 section 6.2)"
))]
pub struct RackConfig {
    /// Maximum number of SACK blocks per ACK; 3 fit with a timestamp, RFC 2018 section 3.
    #[field(range = "[1, 3]", default = 3)]
    pub blocks: u32,
    /// Send a tail loss probe after two RTTs without an ACK; RFC 8985 section 7.
    #[field(default = true)]
    pub probe: bool,
    /// Undo a reduction if an ACK shows that it was spurious; needs timestamps (Eifel), D-SACK or F-RTO; RFC 4015.
    #[field(default = true)]
    pub undo: bool,
    /// Receivers send D-SACK blocks: a reduction is undone if all its retransmissions were duplicates, and RACK's
    /// reordering window grows; RFC 2883.
    #[serde(default, skip_serializing_if = "crate::described::is_default")]
    #[field(default = false, later)]
    pub dsack: bool,
    /// F-RTO: after a timeout send new data first; undo the timeout if data that was not retransmitted is then
    /// acknowledged; RFC 5682.
    #[serde(default, skip_serializing_if = "crate::described::is_default")]
    #[field(default = false, later)]
    pub frto: bool,
    /// Start another recovery, with another reduction, at once if retransmissions of later losses are in flight when a
    /// recovery ends; Linux tcp_time_to_recover.
    #[serde(default, skip_serializing_if = "crate::described::is_default")]
    #[field(default = false, later)]
    pub successive: bool,
}

impl Parameters for RackConfig {
    const FACTS: Facts = Facts {
        detects_each_loss: true,
        ..Facts::DEFAULT
    };

    fn facts(&self) -> Facts {
        Facts {
            sack_blocks: self.blocks,
            sends_dsack: self.dsack,
            ..Self::FACTS
        }
    }
}
