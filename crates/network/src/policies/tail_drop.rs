//! Tail drop (plain UBR): drops exactly those cells that find the buffer full.

use super::parameters::{Decides, Facts, Mahimahi, Parameters};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

/// Drops a cell or packet that finds the buffer full; plain UBR.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
#[described(label = "tail drop")]
pub struct TailDropConfig {}

impl Parameters for TailDropConfig {
    const FACTS: Facts = Facts::new(Decides::ByOccupancy).of_cells_too().in_mahimahi(Mahimahi {
        name: "droptail",
        arguments: &[],
        constants: &[],
    });

    fn is_inert_without_queue(&self) -> bool {
        true
    }
}
