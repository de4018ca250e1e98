//! Vanilla: slow start and congestion avoidance; losses are detected by timeout only (frr-96 section 2).

use super::recover::Recover;
use crate::variant::{Parameters, Variant};
use serde::{Deserialize, Serialize};

/// Vanilla has no options.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
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
