//! Vanilla: slow start and congestion avoidance; a loss is found by timeout alone (frr-96 section 2).

use super::recover::Recover;
use crate::variant::{Parameters, Variant};
use longpipe_reading::Read;
use serde::{Deserialize, Serialize};

/// It leaves nothing open.
#[derive(Clone, Copy, Debug, Default, Deserialize, Read, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct VanillaConfig {}

impl Parameters for VanillaConfig {}

/// Duplicate ACKs mean nothing.
#[derive(Clone, Debug)]
pub struct Vanilla;

impl Variant for Vanilla {
    type Config = VanillaConfig;

    fn new(_config: &VanillaConfig) -> Vanilla {
        Vanilla
    }
}

impl Recover for Vanilla {}
