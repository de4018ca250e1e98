//! Vanilla: slow start and congestion avoidance; losses are detected by timeout only (frr-96 section 2).

use super::recover::Recover;
use crate::described::Described;
use crate::variant::{Parameters, Variant};
use longpipe_json::FromJson;
use serde::Serialize;

/// Retransmits only after a timeout, from the first unacknowledged byte (ATM Forum/96-1761 section 2).
#[derive(Clone, Copy, Debug, Default, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "timeouts only")]
#[described(fact("detection", "A loss was detected"))]
pub struct VanillaConfig {}

impl Parameters for VanillaConfig {}

/// Vanilla needs no state, because it ignores duplicate ACKs.
#[derive(Clone, Debug)]
pub struct Vanilla;

impl Variant for Vanilla {
    type Config = VanillaConfig;

    fn new(_config: &VanillaConfig) -> Vanilla {
        Vanilla
    }
}

impl Recover for Vanilla {}
