//! What a recovery by records is told.

use crate::problem::Problem;
use crate::variant::Parameters;
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};

/// Its parameters.
#[derive(Clone, Copy, Debug, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct RackConfig {
    /// Most SACK blocks in an ACK.
    pub blocks: u32,
    /// Probe the tail when ACKs stay away, instead of waiting for the timer (RFC 8985 section 7).
    pub probe: bool,
    /// Take a reduction back if an ACK shows that nothing had been lost (Eifel, RFC 3522 and RFC 4015), which needs timestamps.
    pub undo: bool,
    /// Receivers tell what came twice, which shows reductions that were none too few, too (RFC 2883).
    #[serde(default, skip_serializing_if = "crate::recovery::is_off")]
    pub dsack: bool,
    /// New data leave first after a timeout, which show whether it was one too many (RFC 5682).
    #[serde(default, skip_serializing_if = "crate::recovery::is_off")]
    pub frto: bool,
    /// A recovery that ends before all copies have arrived is followed by another at once (Linux).
    #[serde(default, skip_serializing_if = "crate::recovery::is_off")]
    pub successive: bool,
}

impl Parameters for RackConfig {
    fn problem(&self) -> Option<Problem> {
        let fine = (1..=3).contains(&self.blocks);
        (!fine).then(|| Problem::new("recovery.blocks", self.blocks, "needs 1 to 3"))
    }
}
