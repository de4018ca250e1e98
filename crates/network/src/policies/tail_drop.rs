//! Tail drop (plain UBR): drops exactly those cells that find the buffer full.

use super::parameters::{Decides, Facts, Parameters};
use serde::{Deserialize, Serialize};

/// Tail drop, which has no parameters.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TailDropConfig {}

impl Parameters for TailDropConfig {
    const FACTS: Facts = Facts::new(Decides::ByOccupancy).of_cells_too();

    fn is_inert_without_queue(&self) -> bool {
        true
    }
}
