//! Parameters of RACK-TLP.

use crate::problem::Problem;
use crate::variant::{Facts, Parameters};
use serde::{Deserialize, Serialize};

/// Parameters of RACK-TLP.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct RackConfig {
    /// Maximum number of SACK blocks in an ACK.
    pub blocks: u32,
    /// Whether to send a tail loss probe when no ACKs arrive, before the retransmission timer expires (RFC 8985 section
    /// 7).
    pub probe: bool,
    /// Whether to undo spurious reductions that timestamps reveal; timestamps must be enabled (Eifel, RFC 3522 and RFC
    /// 4015).
    pub undo: bool,
    /// Whether receivers send D-SACK blocks (RFC 2883), which are used to detect and undo spurious reductions.
    #[serde(default, skip_serializing_if = "crate::recovery::is_off")]
    pub dsack: bool,
    /// Whether to send new data first after a timeout, to detect a spurious timeout (F-RTO, RFC 5682).
    #[serde(default, skip_serializing_if = "crate::recovery::is_off")]
    pub frto: bool,
    /// Whether a recovery that ends before all retransmissions have arrived is immediately followed by another one
    /// (Linux).
    #[serde(default, skip_serializing_if = "crate::recovery::is_off")]
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

    fn problem(&self) -> Option<Problem> {
        let fine = (1..=3).contains(&self.blocks);
        (!fine).then(|| Problem::new("recovery.blocks", self.blocks, "needs 1 to 3"))
    }
}
