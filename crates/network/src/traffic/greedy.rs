//! An application that always has data to send.

use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use longpipe_tcp::sender::GREEDY;
use serde::Serialize;

/// An application that always has data to send.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct GreedyConfig {}

impl Parameters for GreedyConfig {
    const FACTS: Facts = Facts {
        at_once: true,
        is_bulk: true,
        ..Facts::new(Transport::Tcp)
    };

    fn application(&self, _flow: &NewFlow<'_>) -> NewApplication {
        NewApplication::Bulk(GREEDY)
    }

    fn min_segment(&self, mss: u64) -> u64 {
        mss
    }
}
